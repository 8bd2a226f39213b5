// Updates pages that show work in progress.
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
