// Everything works without this script: it adds copy buttons and reloads pages
// that show work in progress.
"use strict";
// A notice belongs to the request that caused it, not to the next reload.
const here = new URL(location);
if (here.searchParams.has("done")) {
  here.searchParams.delete("done");
  history.replaceState(null, "", here);
}
for (const code of document.querySelectorAll("[data-copy]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code); // clipboard access denied: select the text instead
      button.textContent = "Press Ctrl+C";
    }
  });
  code.after(button);
}
if (document.querySelector("[data-live]")) {
  setInterval(() => document.visibilityState === "visible" && location.reload(), 3000);
}
