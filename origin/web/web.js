// Everything works without this script: it adds copy buttons and updates pages
// that show work in progress.
"use strict";
for (const code of document.querySelectorAll("[data-copy]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet";
  const label = word => {
    button.textContent = word;
    if (code.dataset.copy) button.setAttribute("aria-label", word + " " + code.dataset.copy);
  };
  label("Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      label("Copied");
    } catch {
      getSelection().selectAllChildren(code); // clipboard access denied: select the text instead
      label("Press Ctrl+C");
    }
  });
  code.after(button);
}
// An element with an id is replaced in place, so that the reader keeps the focus and the
// position. The page is loaded again when it is gone: the work is done.
const live = document.querySelector("[data-live]");
const refresh = async () => {
  if (document.visibilityState === "visible") {
    if (!live.id) return location.reload();
    try {
      const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
      const fresh = page.getElementById(live.id);
      if (!fresh?.hasAttribute("data-live")) return location.reload();
      live.replaceChildren(...fresh.childNodes);
    } catch {} // the connection may return
  }
  setTimeout(refresh, 3000);
};
if (live) setTimeout(refresh, 3000);
