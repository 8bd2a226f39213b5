// Runs a scorecard or a scoring module that an author chooses. The origin compiles the card, or checks the module, and
// stores neither. The module runs in a worker of recompute.js, which is loaded for the first run; facts stay in the
// browser.
"use strict";

const maxModule = 4 << 20, maxCard = 256 << 10; // bytes, as the origin allows

// loadRuns loads recompute.js, which defines what the functions below use.
function loadRuns(page) {
  return page.runs ||= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = page.dataset.runs;
    script.onload = resolve;
    script.onerror = () => {
      page.runs = undefined; // the next run tries again
      reject(new Error("The script that runs modules could not be loaded."));
    };
    document.head.append(script);
  });
}

// post sends a body to the playground of the origin. A refusal is a ModuleProblem with the mistakes of the card.
async function post(call, type, body) {
  const response = await fetch("/api/v1/playground/" + call, { method: "POST", headers: { "Content-Type": type }, body });
  const answer = await response.json();
  if (response.ok) return answer;
  throw Object.assign(new ModuleProblem(answer.detail || answer.title), { mistakes: answer.errors || [] });
}

// checkSource returns the report of a card or a module. A module that could not be checked can run all the same.
async function checkSource(source) {
  if (source.card !== undefined) {
    return post("cards", source.card.trimStart().startsWith("{") ? "application/json" : "application/yaml", source.card);
  }
  try {
    return await post("modules", "application/wasm", source.code);
  } catch (error) {
    return { unchecked: error.message };
  }
}

// showReport shows what the check found. Only a card has lines.
function showReport(page, out, report) {
  const all = [...report.problems || [], ...report.warnings || []], { check } = report;
  out("verdict").className = check ? report.problems.length ? "fault" : "fine" : "";
  out("verdict").textContent = !check ? "Not checked: " + report.unchecked : report.problems.length
    ? "This module may not be activated." : "This module may be activated.";
  out("problems").replaceChildren(...all.map(f => finding(page, f)));
  const rows = check ? [["digest", check.digest], ["class", check.class],
    ["limits", check.limits.map(l => `${l.name} ${l.used} of ${l.max}`).join(", ")]] : [];
  const trial = check?.trial;
  if (trial) {
    rows.push(["calls", `${trial.calls}: ${trial.compared} in two engines, ${trial.directions} along directions`],
      ["fuel", `${trial.fuel} units for its golden vectors, ${trial.worstFuel} at worst`],
      ["cost", `at worst ${trial.worstShare.toFixed(2)} % of what an edge allows for a call`]);
  }
  out("report").replaceChildren(element("tbody", {}, ...rows.map(([name, value]) => element("tr", {},
    element("th", { scope: "row" }, name), element("td", {}, value)))));
  out("checked").hidden = false;
}

// finding is an entry of a list, with a button that selects its line in the card.
function finding(page, { line, detail }) {
  if (!line) return element("li", {}, detail);
  const go = element("button", { type: "button", class: "line" }, "Line " + line);
  go.onclick = () => {
    const card = page.querySelector("#card"), lines = card.value.split("\n");
    const from = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    card.focus();
    card.setSelectionRange(from, from + (lines[line - 1] || "").length);
  };
  return element("li", {}, go, " ", detail);
}

// showFiles lists what the author may keep: the card, the golden vectors and the module.
function showFiles(page, out, files) {
  for (const url of page.files || []) URL.revokeObjectURL(url);
  page.files = [];
  out("files").replaceChildren(...files.filter(([, content]) => content).map(([name, content, type]) => {
    const href = URL.createObjectURL(new Blob([content], { type }));
    page.files.push(href);
    return element("li", {}, element("a", { href, download: name }, name));
  }));
}

// playModule runs the module of a source: its golden vectors, and the score of facts that can be changed.
async function playModule(page, out, source, report) {
  page.runner?.end();
  const code = report.module ? base64(report.module).buffer : source.code;
  // The form that counts fuel gives the same results, and ends where an edge would end it.
  const runner = page.runner = new ModuleRunner(report.metered ? base64(report.metered).buffer : code);
  const manifest = await runner.load(), { inputs, gates } = manifest, signals = manifest.components.flatMap(c => c.signals);
  out("module").textContent = `${manifest.name} ${manifest.version}, ${count(code.byteLength, "byte")}, ` +
    `${count(inputs.length, "input")}, ${count(signals.length, "signal")}, ${count(gates.length, "gate")}`;
  const vectors = await runner.vectors();
  out("vectors").textContent = await runVectors(runner, vectors);
  showFiles(page, out, [["card.json", report.card, "application/json"],
    ["vectors.json", JSON.stringify(vectors) + "\n", "application/json"], [manifest.name + ".wasm", code, "application/wasm"]]);
  const start = page.facts ? bind(manifest, page.facts) : { values: inputs.map(() => 0), marks: inputs.map(() => 0) };
  const traces = new Map(); // by the stack in the browser: one place is asked for once
  const changed = oneAtATime(async () => {
    const now = controls.inputs();
    try {
      showResult(out, manifest, now, await runner.score(now));
    } catch (error) {
      for (const name of ["gates", "fuel", "vector"]) out(name).replaceChildren();
      showMarks(out);
      out("score").textContent = faultText(error.message, browserStack(error.stack));
      if (!report.check || !/wasm/.test(error.stack)) return;
      if (!traces.has(error.stack)) traces.set(error.stack, await traceCall(code, now));
      const fault = traces.get(error.stack);
      if (fault) out("score").textContent = faultText(fault.detail, fault.stack);
    }
  });
  const form = page.querySelector(".runs-facts");
  form.replaceChildren();
  const controls = new FactControls(form, manifest, start, changed);
  page.querySelector("[data-undo]").onclick = () => controls.reset();
  out("played").hidden = false;
  await changed();
}

// faultText says what failed, and in which calls, the innermost first.
function faultText(detail, stack) {
  const where = stack.map(f => f.function + (f.source ? ` (${f.source})` : "")).join(", called by ");
  return where ? `${detail}, in ${where}` : detail;
}

// browserStack returns the functions with names in a stack of the browser, the innermost first.
function browserStack(stack) {
  return [...(stack || "").matchAll(/^\s*(?:at )?([^\s@(/]+)(?: \(|@).*wasm-function/gm)].slice(0, 5)
    .map(m => ({ function: m[1] }));
}

// traceCall has the origin repeat a call that failed, which finds the lines of its source; undefined if it cannot.
async function traceCall(code, inputs) {
  const url = await new Promise(done => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result);
    reader.readAsDataURL(new Blob([code]));
  });
  try {
    return (await post("calls", "application/json", JSON.stringify({ module: url.split(",")[1], values: inputs.values,
      states: inputs.marks.join("") }))).fault;
  } catch {
    return undefined; // the functions of the browser are shown
  }
}

// runVectors runs the golden vectors of a module and says which result differs from what it must be.
async function runVectors(runner, vectors) {
  for (const [i, v] of vectors.entries()) {
    let got;
    try {
      got = await runner.score({ values: v.values, marks: [...v.states].map(Number) });
    } catch (error) {
      return `Golden vector ${i}: ${error.message}`;
    }
    if (got.score !== v.score || got.gates !== v.gates || got.marks.join() !== v.marks.join()) {
      return `Golden vector ${i}: got score ${got.score}, gates ${got.gates}, marks ${got.marks}; ` +
        `want score ${v.score}, gates ${v.gates}, marks ${v.marks}.`;
    }
  }
  return `${count(vectors.length, "golden vector")} passed.`;
}

// showMarks replaces the rows of the table of marks, below its head.
function showMarks(out, ...bodies) {
  out("marks").replaceChildren(out("marks").tHead, ...bodies);
}

// showResult shows the score with gates applied, the mark of each signal, and the call as a golden vector.
function showResult(out, manifest, inputs, result) {
  const gates = manifest.gates.filter((_, i) => result.gates / 2 ** i & 1);
  const none = result.score < 0 || gates.some(g => g.id === "unreachable");
  const limited = tenth(Math.min(result.score, ...gates.map(g => g.limit * 1000)));
  out("score").textContent = none ? "no score" : decimal(limited) + " of 100";
  out("gates").textContent = gates.map(g => `Limited to ${g.limit} by ${g.id}.`).join(" ");
  out("fuel").textContent = result.budget ? `${result.fuel} units of fuel, ` +
    `${(100 * result.fuel / result.budget).toFixed(2)} % of what an edge allows` : "";
  let next = 0;
  showMarks(out, ...manifest.components.map(c => element("tbody", {},
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
  const out = name => page.querySelector(`[data-out=${name}]`);
  const status = page.querySelector("[role=status]"), form = page.querySelector("[data-load]");
  const file = form.querySelector("[type=file]"), { brand, card } = form.elements;
  let source; // what the author chose last, with its report
  const say = (text, fault) => {
    status.className = fault ? "fault" : "";
    status.textContent = text;
  };
  let last = Promise.resolve(); // the run under way; the next one waits for it
  const play = () => last = last.then(async () => {
    say("Running …");
    out("mistakes").replaceChildren();
    const chosen = source;
    try {
      await loadRuns(page);
      const slug = brand.value.trim();
      page.facts = slug ? await factsOf(slug) : undefined;
      if (!chosen.report || chosen.report.unchecked) {
        out("checked").hidden = true;
        chosen.report = await checkSource(chosen);
        showReport(page, out, chosen.report);
      }
      await playModule(page, out, chosen, chosen.report);
      say("");
    } catch (error) {
      out("played").hidden = true;
      out("mistakes").replaceChildren(...(error.mistakes || []).map(m => finding(page, m)));
      say(error.message, true);
    }
  });
  const start = chosen => {
    source = chosen;
    return play();
  };
  const choose = async chosen => {
    if (!chosen) return;
    const isCard = /\.(json|ya?ml)$/i.test(chosen.name), limit = isCard ? maxCard : maxModule;
    if (chosen.size > limit) return say(`The file has ${count(chosen.size, "byte")}; at most ${count(limit, "byte")} are allowed.`, true);
    if (!isCard) return start({ code: await chosen.arrayBuffer() });
    card.value = await chosen.text();
    await start({ card: card.value });
  };
  page.hidden = false;
  card.oninput = () => {
    source = { card: card.value };
    file.value = "";
  };
  file.onchange = () => choose(file.files[0]);
  form.onsubmit = event => {
    event.preventDefault();
    if (source && source.card !== "") play();
    else card.focus();
  };
  page.ondragover = event => event.preventDefault();
  page.ondrop = event => {
    if (!event.dataTransfer.files.length) return; // text that is dropped on the card
    event.preventDefault();
    choose(event.dataTransfer.files[0]);
  };
})(document.getElementById("playground"));
