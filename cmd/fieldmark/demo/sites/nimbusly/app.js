const cards = [
  ["Swap in two taps", "Ask a colleague, and the plan changes for everybody once both agree."],
  ["Rest times watched", "Eleven hours between two shifts are kept unless the law where you are allows less."],
  ["Holidays that are fair", "Everyone sees how the popular weeks were shared out over the last three years."],
  ["On every phone", "No app to install; a link is enough, and it works in the cellar of the hospital too."],
];
const root = document.getElementById("root");
const hero = document.createElement("div");
hero.className = "hero";
const title = document.createElement("h1");
title.textContent = "Shifts that people can live with";
const lead = document.createElement("p");
lead.textContent = "Nimbusly is a shared calendar for hospitals, bakeries, fire brigades and everyone else who does not work from nine to five.";
hero.append(title, lead);
const grid = document.createElement("div");
grid.className = "grid";
for (const [name, text] of cards) {
  const card = document.createElement("section");
  card.className = "card";
  const h = document.createElement("h2");
  h.textContent = name;
  const p = document.createElement("p");
  p.textContent = text;
  card.append(h, p);
  grid.append(card);
}
root.append(hero, grid);
