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
// The board: a card that is dragged to another day or assignee posts the form that its link Move opens, which
// also works with the keyboard.
const board = document.querySelector("[data-board]");
if (board) {
  let card = null;
  const minutes = text => Date.parse(text + "Z") / 60000; // wall clock: days of 23 hours count as 24
  const moveTo = cell => {
    const { mission, version, start, end } = card.dataset;
    const { who, name } = cell.parentElement.dataset;
    if (!start) { // it has no time yet: the form asks for one
      const at = new URL(card.querySelector(".move a").href);
      at.searchParams.set("day", cell.dataset.day);
      at.searchParams.set("who", who);
      return location.assign(at);
    }
    const from = cell.dataset.day + start.slice(10);
    const until = new Date((minutes(from) + minutes(end) - minutes(start)) * 60000).toISOString().slice(0, 16);
    const form = document.createElement("form");
    form.method = "post";
    form.action = "/admin/missions/" + mission + "/plan";
    const fields = { version, back: board.dataset.board, zone: board.dataset.timezone, do: "save", start: from, end: until,
      assignee: who, "assignee-name": name };
    for (const [key, value] of Object.entries(fields)) {
      const input = document.createElement("input");
      input.type = "hidden";
      input.name = key;
      input.value = value;
      form.append(input);
    }
    document.body.append(form);
    form.submit();
  };
  for (const one of document.querySelectorAll(".card[data-mission]")) one.draggable = true;
  document.addEventListener("dragstart", e => {
    card = e.target.closest?.(".card[data-mission]");
    if (card) e.dataTransfer.setData("text/plain", card.dataset.mission);
  });
  const cellOf = e => card && e.target.closest?.("td[data-day]");
  board.addEventListener("dragover", e => {
    const cell = cellOf(e);
    if (cell) e.preventDefault();
    for (const old of board.querySelectorAll(".drop")) if (old !== cell) old.classList.remove("drop");
    cell?.classList.add("drop");
  });
  board.addEventListener("drop", e => {
    const cell = cellOf(e);
    if (!cell || cell === card.parentElement) return;
    e.preventDefault();
    moveTo(cell);
  });
}
const zones = document.querySelector("[data-zones]");
if (zones) zones.append(new Option("", Intl.DateTimeFormat().resolvedOptions().timeZone));
// A second click does not send a form twice. A page that comes back from the history sends again.
const sent = new Set();
addEventListener("submit", event => {
  if (event.defaultPrevented || event.target.method !== "post") return;
  if (sent.has(event.target)) event.preventDefault();
  sent.add(event.target);
});
addEventListener("pageshow", () => sent.clear());
