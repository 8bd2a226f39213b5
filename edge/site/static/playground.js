// Runs a scoring module that an author chooses, in a worker of recompute.js, which is loaded before. The module and
// the facts stay in the browser: nothing is sent.
"use strict";

// playModule shows a module: its golden vectors, and the score of facts that can be changed.
async function playModule(page, code) {
  const out = name => page.querySelector(`[data-out=${name}]`);
  page.runner?.end();
  const runner = page.runner = new ModuleRunner(code), manifest = await runner.load();
  const inputs = manifest.inputs, signals = manifest.components.flatMap(c => c.signals);
  out("module").textContent = `${manifest.name} ${manifest.version}, ${code.byteLength} bytes, ` +
    `${inputs.length} inputs, ${signals.length} signals, ${manifest.gates.length} gates`;
  out("vectors").textContent = await runVectors(runner);
  const form = page.querySelector(".runs-facts");
  const start = page.facts ? bind(manifest, page.facts) : { values: inputs.map(() => 0), marks: inputs.map(() => 0) };
  const changed = oneAtATime(async () => {
    const now = controls.inputs();
    try {
      const result = await runner.score(now);
      showResult(out, manifest, now, result);
    } catch (error) {
      out("score").textContent = error.message;
      for (const name of ["gates", "marks", "vector"]) out(name).replaceChildren();
    }
  });
  form.replaceChildren();
  const controls = new FactControls(form, manifest, start, changed);
  page.querySelector("[data-undo]").onclick = () => controls.reset();
  out("played").hidden = false;
  await changed();
}

// runVectors runs the golden vectors of a module and says which result differs from what it must be.
async function runVectors(runner) {
  const vectors = await runner.vectors();
  for (const [i, v] of vectors.entries()) {
    const got = await runner.score({ values: v.values, marks: [...v.states].map(Number) });
    if (got.score !== v.score || got.gates !== v.gates || got.marks.join() !== v.marks.join()) {
      return `Golden vector ${i}: got score ${got.score}, gates ${got.gates}, marks ${got.marks}; ` +
        `want score ${v.score}, gates ${v.gates}, marks ${v.marks}.`;
    }
  }
  return `All ${vectors.length} golden vectors give their results.`;
}

// showResult shows the score with gates applied, the mark of each signal, and the call as a golden vector.
function showResult(out, manifest, inputs, result) {
  const gates = manifest.gates.filter((_, i) => result.gates / 2 ** i & 1);
  const none = result.score < 0 || gates.some(g => g.id === "unreachable");
  const limited = tenth(Math.min(result.score, ...gates.map(g => g.limit * 1000)));
  out("score").textContent = none ? "no score" : decimal(limited) + " of 100";
  out("gates").textContent = gates.map(g => `Limited to ${g.limit} by ${g.id}.`).join(" ");
  let next = 0;
  out("marks").replaceChildren(...manifest.components.map(c => element("tbody", {},
    element("tr", {}, element("th", { scope: "rowgroup", colspan: 3 }, c.label)), ...c.signals.map(s => {
      const mark = result.marks[next++];
      return element("tr", {}, element("th", { scope: "row" }, s.label),
        element("td", {}, mark < 0 ? ["does not apply", "unknown"][-1 - mark] : String(mark)),
        element("td", {}, mark < 0 ? "–" : `${decimal(mark * s.points)} of ${s.points}`));
    }))));
  out("vector").textContent = JSON.stringify({ values: inputs.values, states: inputs.marks.join(""),
    score: result.score, gates: result.gates, marks: result.marks });
}

// factsOf fetches the facts of a brand, whose digest its score names.
async function factsOf(slug) {
  const path = "/api/v1/score/" + encodeURIComponent(slug), doc = json((await load("score", path)).body);
  if (!doc.factsDigest) throw new ModuleProblem("This brand has no public facts.");
  return { ...json((await load("facts", `${path}/facts/${doc.factsDigest}`, doc.factsDigest)).body), asOf: doc.asOf };
}

(page => {
  const status = page.querySelector("[role=status]"), form = page.querySelector("[data-load]");
  const file = form.querySelector("[type=file]"), brand = form.querySelector("[name=brand]");
  const play = async () => {
    status.className = "";
    status.textContent = "Running …";
    try {
      const slug = brand.value.trim();
      page.facts = slug ? await factsOf(slug) : undefined;
      await playModule(page, page.code);
      status.textContent = "";
    } catch (error) {
      page.querySelector("[data-out=played]").hidden = true;
      status.className = "fault";
      status.textContent = error.message;
    }
  };
  const choose = async chosen => {
    const limit = 4 << 20; // bytes of the largest module that any class allows
    if (!chosen) return;
    if (chosen.size > limit) {
      status.className = "fault";
      status.textContent = `The file has ${chosen.size} bytes, a module at most ${limit}.`;
      return;
    }
    page.code = await chosen.arrayBuffer();
    await play();
  };
  page.hidden = false;
  file.onchange = () => choose(file.files[0]);
  form.onsubmit = event => {
    event.preventDefault();
    if (page.code) play();
    else file.focus();
  };
  page.ondragover = event => event.preventDefault();
  page.ondrop = event => {
    event.preventDefault();
    choose(event.dataTransfer.files[0]);
  };
})(document.getElementById("playground"));
