// Everything works without this: a button that copies, and a page that looks again.
"use strict";
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
      getSelection().selectAllChildren(code); // no leave to: at least it is chosen
      button.textContent = "Press Ctrl C";
    }
  });
  code.after(button);
}
if (document.querySelector("[data-live]")) {
  setInterval(() => document.visibilityState === "visible" && location.reload(), 3000);
}
