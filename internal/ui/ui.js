// Every page works without this script: it shows times in the zone of the reader and adds copy
// buttons. Announce tells screen readers what happened.
"use strict";
const announce = (() => {
  const status = document.createElement("p");
  status.className = "sr";
  status.setAttribute("role", "status");
  document.body.append(status);
  return text => { status.textContent = text; };
})();
(() => {
  const format = options => new Intl.DateTimeFormat("en-GB", options);
  const clock = format({ hour: "2-digit", minute: "2-digit" });
  const day = format({ day: "numeric", month: "short" });
  const year = format({ day: "numeric", month: "short", year: "numeric" });
  const exact = format({ day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit",
    second: "2-digit", timeZoneName: "short" });
  const date = (at, now) => (at.getFullYear() === now.getFullYear() ? day : year).format(at);
  // As relative in ui.go.
  const relative = minutes => {
    const n = Math.abs(minutes);
    if (n < 1) return "just now";
    const text = n < 60 ? n + " min" : n < 2880 ? Math.trunc(n / 60) + " h" : Math.trunc(n / 1440) + " days";
    return minutes < 0 ? "in " + text : text + " ago";
  };
  const showTime = element => {
    const at = new Date(element.dateTime), now = new Date(), kind = element.dataset.time;
    if (isNaN(at)) return;
    element.title = exact.format(at);
    if (kind === "day") return void (element.textContent = year.format(at));
    let text = date(at, now);
    // As Span in ui.go: the element before is the start.
    if (kind === "end" && text === date(new Date(element.previousElementSibling.dateTime), now)) {
      return void (element.textContent = clock.format(at));
    }
    if (kind === "ago" && text === date(now, now)) text = clock.format(at);
    else text += ", " + clock.format(at);
    const minutes = Math.trunc((now - at) / 60000);
    if (kind === "ago" && Math.abs(minutes) < 43200) text = relative(minutes) + ", " + text;
    element.textContent = text;
  };
  const times = root => root.querySelectorAll("time[data-time]").forEach(showTime);

  const addCopy = element => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    const label = word => {
      button.textContent = word;
      button.setAttribute("aria-label", word + " " + (element.dataset.copy || "this text"));
    };
    label("Copy");
    button.onclick = async () => {
      try {
        await navigator.clipboard.writeText(element.textContent);
        label("Copied");
      } catch { // clipboard access denied: select the text instead
        getSelection().selectAllChildren(element);
        label("Press Ctrl+C");
      }
      announce(button.textContent);
      setTimeout(() => { label("Copy"); announce(""); }, 5000);
    };
    element.after(button);
  };
  const enhance = root => {
    times(root);
    root.querySelectorAll("[data-copy]").forEach(addCopy);
  };
  enhance(document);
  const zone = document.querySelector("[data-zone]");
  if (zone) zone.textContent = zone.dataset.zone.replace("%s", Intl.DateTimeFormat().resolvedOptions().timeZone);
  setInterval(() => times(document), 60000);
  // Parts of pages are replaced while work is in progress.
  new MutationObserver(list => {
    for (const change of list) for (const node of change.addedNodes) if (node.nodeType === 1) enhance(node);
  }).observe(document.body, { childList: true, subtree: true });
})();
