// Recomputes a score in the browser of the reader: fetches the facts and the module that a score document names by
// digest, checks both digests, verifies the proof that the public log has the score (C2SP tlog-tiles, RFC 6962), runs
// the module by the ABI scorer/1 (wasm/ABI.md) and compares the results.
// The same file is the page's script and its worker: a module runs in a worker, which is ended after a second.
"use strict";

const recomputeScript = globalThis.document?.currentScript.src;
const runLimit = 1000; // milliseconds of one call; edges allow a few
const maxValue = 1e12; // of an input, in thousandths, in both directions
const states = { unknown: 0, measured: 1, not_applicable: 2 };

// ModuleProblem is what a module did wrong, or why it cannot run here.
class ModuleProblem extends Error {}

// The worker. Each message is a module to load, a section to read or inputs to score, and gets one answer.

function serveModule() {
  let module, manifest;
  onmessage = ({ data }) => {
    try {
      if (data.code) {
        module = new WebAssembly.Module(data.code);
        manifest = readManifest(module);
        postMessage({ done: manifest });
      } else if (data.section) {
        postMessage({ done: readSection(module, data.section) });
      } else {
        postMessage({ done: runModule(module, manifest, data) });
      }
    } catch (error) {
      postMessage({ fault: error.message, stack: error.stack });
    }
  };
  postMessage({ done: "ready" });
}

// readManifest returns the manifest of a module that can run here.
function readManifest(module) {
  const imports = WebAssembly.Module.imports(module);
  if (imports.length) {
    throw new ModuleProblem(imports.every(i => i.module === "wasi_snapshot_preview1")
      ? "The module belongs to the class wasi-null: it needs the host functions of an edge, so it cannot be run here."
      : "The module has imports, so it cannot be run here.");
  }
  return readSection(module, "scorer.manifest");
}

// readSection returns the content of a custom section: the manifest or the golden vectors.
function readSection(module, name) {
  const [section] = WebAssembly.Module.customSections(module, name);
  if (!section) throw new ModuleProblem(`The module has no section ${name}.`);
  return json(section);
}

// runModule scores inputs on a new instance, so that every call finds the same state.
function runModule(module, manifest, { values, marks }) {
  const { exports } = new WebAssembly.Instance(module, {});
  // The form of a module that edges run counts down what is left of a call's fuel and depth.
  const meters = ["fuel", "depth"].flatMap(n => exports["fieldmark." + n] || []), budgets = meters.map(m => m.value);
  for (const name of ["scorer_v1_input", "scorer_v1_score"]) {
    if (typeof exports[name] !== "function") throw new ModuleProblem(`The module does not export ${name}.`);
  }
  exports._initialize?.();
  const to = exports.scorer_v1_input() >>> 0, memory = exports.memory, size = memory.buffer.byteLength;
  const n = values.length;
  if (to % 8 || to + 9 * n > size) throw new ModuleProblem(`It wants its inputs at ${to}, in a memory of ${size}.`);
  const input = new DataView(memory.buffer, to);
  values.forEach((v, i) => {
    const value = marks[i] === 1 ? Math.max(-maxValue, Math.min(maxValue, v)) : 0;
    input.setBigInt64(8 * i, BigInt(value), true);
    input.setUint8(8 * n + i, marks[i]);
  });
  meters.forEach((m, i) => m.value = budgets[i]);
  let from;
  try {
    from = exports.scorer_v1_score() >>> 0;
  } catch (error) {
    const spent = meters.findIndex(m => m.value < 0);
    if (spent >= 0) error.message = `The call used more than its ${["fuel", "depth"][spent]} of ${budgets[spent]}.`;
    throw error;
  }
  if (!from) throw new ModuleProblem("The module could not score these inputs.");
  if (memory.buffer.byteLength !== size) throw new ModuleProblem("The module must not grow its memory while scoring.");
  const result = readResult(manifest, memory.buffer, from);
  return meters.length ? { ...result, fuel: Number(budgets[0] - meters[0].value), budget: Number(budgets[0]) } : result;
}

// readResult reads a result and refuses one that an edge would refuse.
function readResult(manifest, memory, from) {
  const points = manifest.components.flatMap(c => c.signals.map(s => s.points)), m = points.length;
  if (from + 16 + 8 * m > memory.byteLength) throw new ModuleProblem("Its result lies outside of its memory.");
  const view = new DataView(memory, from, 16 + 8 * m);
  const result = { score: view.getInt32(0, true), gates: view.getUint32(4, true), marks: [] };
  let reached = 0, measured = 0, wrong = view.getUint32(8, true) !== m || view.getUint32(12, true) !== 0 ||
    result.gates >= 2 ** manifest.gates.length;
  for (let i = 0; i < m; i++) {
    const mark = view.getInt32(16 + 8 * i, true);
    wrong ||= mark < -2 || mark > 1000 || view.getUint32(20 + 8 * i, true) !== 0;
    if (mark >= 0) {
      reached += points[i] * mark;
      measured += points[i];
    }
    result.marks.push(mark);
  }
  if (wrong || result.score !== (measured ? ratio(100 * reached, measured) : -1)) {
    throw new ModuleProblem("Its result is not valid.");
  }
  return result;
}

// The page. Numbers are integers in thousandths, as in wasm/scoring, until they are shown.

const ratio = (n, d) => d ? Math.floor((2 * n + d) / (2 * d)) : 0;
const tenth = m => Math.floor((m + 50) / 100) * 100;
const decimal = m => m / 1000;

// ModuleRunner runs one module in a worker. Calls are made one after the other.
class ModuleRunner {
  constructor(code) {
    this.code = code;
  }

  // load compiles the module and returns its manifest.
  load() {
    return this.send();
  }

  // score runs the module on inputs: values in thousandths, marks as numbers of states.
  score(inputs) {
    return this.send(inputs);
  }

  // vectors returns the golden vectors.
  vectors() {
    return this.send({ section: "scorer.vectors" });
  }

  async send(message) {
    try {
      if (!this.worker) {
        this.worker = new Worker(recomputeScript);
        await this.answer(30 * runLimit); // the script is loaded
        const manifest = await this.answer(runLimit, { code: this.code });
        if (!message) return manifest;
      }
      return await this.answer(runLimit, message);
    } catch (error) {
      this.end(); // it may be in any state
      throw error;
    }
  }

  answer(limit, message) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new ModuleProblem(
        `The module did not end within ${limit / 1000} s, so it was stopped.`)), limit);
      const settle = f => event => {
        clearTimeout(timer);
        f(event);
      };
      this.worker.onerror = settle(() => reject(new ModuleProblem("The worker could not be started.")));
      this.worker.onmessage = settle(({ data }) => {
        if (data.fault === undefined) return resolve(data.done);
        reject(Object.assign(new ModuleProblem(data.fault), { stack: data.stack }));
      });
      if (message) this.worker.postMessage(message);
    });
  }

  end() {
    this.worker?.terminate();
    this.worker = undefined;
  }
}

// load fetches a part of the proof, whose bytes must have a digest if one is given.
async function load(what, address, digest) {
  const response = await fetch(address);
  if (!response.ok) throw new ModuleProblem(`The ${what} could not be fetched: status ${response.status}.`);
  const body = await response.arrayBuffer();
  if (digest) {
    const got = "sha256:" + hex(await sha256(new Uint8Array(body)));
    if (got !== digest) throw new ModuleProblem(`The digest of the ${what} is ${got}, the score names ${digest}.`);
  }
  return { body, headers: response.headers };
}

const json = body => JSON.parse(new TextDecoder().decode(body));

// count writes a number of things, as the pages do: "1 byte", "2,000 bytes".
const count = (n, noun) => n.toLocaleString("en") + " " + noun + (n === 1 ? "" : "s");

const hex = bytes => [...bytes].map(b => b.toString(16).padStart(2, "0")).join("");
const utf8 = text => new TextEncoder().encode(text);
const sha256 = async (...parts) => new Uint8Array(await crypto.subtle.digest("SHA-256", await new Blob(parts).arrayBuffer()));

// base64 decodes what encodes to the same text: atob ignores the bits that base64 does not use.
function base64(text) {
  const binary = atob(text);
  if (btoa(binary) !== text) throw new Error("base64");
  return Uint8Array.from(binary, c => c.charCodeAt(0));
}

// signedBy reports whether a checkpoint has a signature by one of the keys of a log, each as name+id+base64.
async function signedBy(checkpoint, keys) {
  const end = checkpoint.indexOf("\n\n") + 1, text = utf8(checkpoint.slice(0, end));
  for (const [, name, signature] of checkpoint.slice(end).matchAll(/^\u2014 (\S+) (\S+)$/gm)) {
    for (const key of keys) {
      const [owner, id, ...rest] = key.split("+"), bytes = base64(signature);
      if (owner !== name || id !== hex(bytes.slice(0, 4))) continue;
      const ed25519 = await crypto.subtle.importKey("raw", base64(rest.join("+")).slice(1), "Ed25519", false, ["verify"]);
      if (await crypto.subtle.verify("Ed25519", ed25519, bytes.slice(4), text)) return true;
    }
  }
  return false;
}

// rootOf returns the root that a leaf and the hashes of its proof lead to (RFC 9162, section 2.1.3.2), in hexadecimal.
async function rootOf(leaf, index, size, hashes) {
  const half = n => Math.floor(n / 2);
  let at = index, last = size - 1, root = leaf;
  for (const h of hashes) {
    if (at % 2 || at === last) {
      root = await sha256(Uint8Array.of(1), h, root);
      while (at && at % 2 === 0) [at, last] = [half(at), half(last)];
    } else {
      root = await sha256(Uint8Array.of(1), root, h);
    }
    [at, last] = [half(at), half(last)];
  }
  return last ? "" : hex(root);
}

// verifyProof verifies that the public log has a score document, and returns the time of its leaf.
async function verifyProof(doc, now) {
  const { log, index, record, salt, hashes, checkpoint } = doc.proof;
  const wrong = why => new ModuleProblem(`The proof of the public log does not hold: ${why}.`);
  const known = json((await load("list of public logs", "/api/v1/log")).body).data.find(l => l.origin === log);
  if (!known) throw wrong(`there is no log ${log}`);
  const claimed = `fieldmark score/1\nbrand ${doc.slug}\nfacts ${doc.factsDigest}\nmodule ${doc.module.digest}\ntime `;
  const time = record.slice(claimed.length, -1);
  if (!record.startsWith(claimed) || !(Date.parse(time) < now + 3e5)) throw wrong("its record is of another score");
  const [origin, size, root] = checkpoint.split("\n");
  if (origin !== log || !(index >= 0 && index < size)) throw wrong("its checkpoint does not have the leaf");
  try {
    if (!await signedBy(checkpoint, known.keys)) throw wrong("its checkpoint is not signed by the log");
    const key = await crypto.subtle.importKey("raw", base64(salt), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    const leaf = await sha256(Uint8Array.of(0), await crypto.subtle.sign("HMAC", key, utf8(record)));
    if (await rootOf(leaf, index, size, hashes.map(base64)) !== hex(base64(root))) {
      throw wrong("its hashes do not lead from the leaf to the root");
    }
  } catch (error) {
    if (error instanceof ModuleProblem) throw error;
    if (error.name === "NotSupportedError") throw new ModuleProblem("This browser cannot verify signatures of the log (Ed25519).");
    throw wrong("it is malformed"); // a salt, a hash or a signature
  }
  return time;
}

// bind puts facts into the order of the inputs of a module. A missing fact is unknown.
function bind(manifest, facts) {
  const known = new Map(facts.facts.map(f => [f.id, f])), values = [], marks = [];
  for (const { name, unit } of manifest.inputs) {
    const fact = known.get(name), state = fact ? states[fact.state] : 0;
    if (state === 1 && fact.unit !== unit) {
      throw new ModuleProblem(`The fact ${name} is in ${fact.unit}, the module reads it in ${unit}.`);
    }
    values.push(state === 1 ? fact.value : 0);
    marks.push(state);
  }
  return { values, marks };
}

// assess returns what follows from a result, in the words of a score document.
function assess(manifest, facts, inputs, result, now) {
  const value = new Map(manifest.inputs.map((input, i) => [input.name, inputs.values[i]]));
  let next = 0, points = 0, measured = 0, applicable = 0;
  const components = manifest.components.map(c => {
    const of = { id: c.id, points: 0, measured: 0 };
    of.signals = c.signals.map(s => {
      const mark = result.marks[next++], status = ["not_applicable", "unknown"][-1 - mark] || "measured";
      if (mark !== -1) applicable += s.points;
      if (mark < 0) return { id: s.id, status, value: null, points: 0 };
      of.points += s.points * mark;
      of.measured += s.points;
      return { id: s.id, status, value: decimal(s.inputs.length === 1 ? value.get(s.inputs[0]) : mark),
        points: decimal(s.points * mark) };
    });
    points += of.points;
    measured += of.measured;
    return { ...of, points: decimal(of.points) };
  });
  const gates = manifest.gates.filter((_, i) => result.gates / 2 ** i & 1);
  const confidence = confidenceOf(facts, measured, applicable, now);
  const exact = ratio(100 * points, measured);
  const none = facts.refused || confidence < 400 || gates.some(g => g.id === "unreachable");
  return {
    score: none ? null : decimal(tenth(Math.min(exact, ...gates.map(g => g.limit * 1000)))),
    practice: none ? null : decimal(tenth(exact)), confidence: decimal(confidence),
    gates: gates.map(g => ({ id: g.id, limit: g.limit })), components,
  };
}

// confidenceOf is the measured share, less for few pages and old facts.
function confidenceOf(facts, measured, applicable, now) {
  const age = (now - Date.parse(facts.asOf)) / 864e5;
  const aged = age <= 14 ? 1000 : age <= 30 ? 900 : age <= 90 ? 750 : 500;
  const complete = facts.sample && facts.pages > 0 && !facts.sample.seed;
  const sample = complete ? 1000 : Math.min(1000, 700 + 30 * facts.pages);
  return ratio(measured * 1000 * sample * aged, applicable * 1e6);
}

// published returns the same members of a score document.
function published(doc) {
  return {
    score: doc.score, practice: doc.practice && doc.practice.score, confidence: doc.confidence.value,
    gates: doc.gates.map(g => ({ id: g.id, limit: g.limit })),
    components: doc.components.map(c => ({ id: c.id, points: c.points, measured: c.measured,
      signals: c.signals.map(s => ({ id: s.id, status: s.status, value: s.value, points: s.points })) })),
  };
}

// recompute verifies the score of a brand. A proof that cannot be checked is a ModuleProblem.
async function recompute(slug, step = () => {}) {
  if (!globalThis.crypto?.subtle) throw new ModuleProblem("Browsers compute digests only on pages of https addresses.");
  const path = "/api/v1/score/" + slug;
  let proven = true;
  const { body, headers } = await load("score", path + "?proof=1").catch(() => {
    proven = false; // the log is off, or does not have a change of this second yet
    return load("score", path);
  });
  const doc = json(body);
  const now = Date.parse(headers.get("Fieldmark-Assessed-At")); // the age of the facts counts as of then
  const facts = await load("facts", `${path}/facts/${doc.factsDigest}`, doc.factsDigest);
  step(`Digest of the facts verified, ${count(facts.body.byteLength, "byte")}:`, doc.factsDigest);
  const module = await load("module", "/api/v1/modules/" + doc.module.digest, doc.module.digest);
  step(`Digest of the module verified, ${count(module.body.byteLength, "byte")}:`, doc.module.digest);
  if (proven) {
    const time = await verifyProof(doc, Date.parse(headers.get("Date")) || Date.now());
    step(`Leaf ${doc.proof.index} of the public log verified, since ${time.slice(0, 19)}Z:`, doc.proof.log);
  } else {
    step("The server has no proof of this score in a public log.");
  }
  const proof = { doc, facts: { ...json(facts.body), asOf: doc.asOf }, runner: new ModuleRunner(module.body), now };
  const manifest = proof.manifest = await proof.runner.load();
  proof.inputs = bind(manifest, proof.facts);
  proof.mine = assess(manifest, proof.facts, proof.inputs, await proof.runner.score(proof.inputs), now);
  proof.ours = published(doc);
  proof.identical = JSON.stringify(proof.mine) === JSON.stringify(proof.ours);
  return proof;
}

// element makes an element with attributes and children.
function element(name, attributes, ...children) {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(attributes || {})) if (v !== false) e.setAttribute(k, v === true ? "" : v);
  e.append(...children);
  return e;
}

const stateWords = { unknown: "unknown", not_applicable: "does not apply", measured: "measured" };
const shown = s => !s ? "–" : s.status === "measured" ? String(s.points) : stateWords[s.status];
const total = a => a.score === null ? "no score" : a.score + " of 100";

// compareSignals fills the table: each signal, ours beside that of the browser.
function compareSignals(table, proof) {
  for (const [i, c] of proof.manifest.components.entries()) {
    const ours = proof.ours.components[i], mine = proof.mine.components[i];
    const rows = c.signals.map((s, j) => {
      const a = ours?.signals[j], b = mine.signals[j], same = JSON.stringify(a) === JSON.stringify(b);
      const by = a && b.points !== a.points ? "differs by " + decimal(Math.round(1000 * (b.points - a.points))) : "differs";
      return element("tr", {}, element("th", { scope: "row" }, s.label, " ", element("span", { class: "of" },
        "of " + s.points)), element("td", {}, shown(a)), element("td", {}, shown(b)),
      element("td", { class: same ? "fine" : "fault" }, same ? "identical" : by));
    });
    table.append(element("tbody", {}, element("tr", {}, element("th", { scope: "rowgroup", colspan: 4 }, c.label)),
      ...rows));
  }
}

// FactControls are the inputs of a module as controls, each by its unit: a switch, a slider or a number, and
// whether it was measured. changed is called after each change.
class FactControls {
  constructor(form, manifest, inputs, changed) {
    Object.assign(this, { manifest, original: inputs, rows: [], changed });
    const placed = new Set();
    const add = (label, names) => {
      const mine = names.filter(n => !placed.has(n) && placed.add(n));
      if (mine.length) {
        form.append(element("fieldset", {}, element("legend", {}, label), ...mine.map(n => this.row(n))));
      }
    };
    for (const c of manifest.components) for (const s of c.signals) add(s.label, s.inputs);
    add("Gates", manifest.inputs.map(input => input.name));
  }

  row(name) {
    const i = this.manifest.inputs.findIndex(input => input.name === name), { unit } = this.manifest.inputs[i];
    const id = "fact-" + name, bounds = { id, "data-unit": unit };
    const control = unit === "bool" ? element("input", { ...bounds, type: "checkbox", role: "switch" })
      : element("input", { ...bounds, min: 0, type: unit === "share" ? "range" : "number",
        max: unit === "share" ? 1 : maxValue / 1000, step: unit === "share" ? .001 : "any" });
    const state = element("select", { "aria-label": "State of " + name },
      ...Object.keys(states).map(s => element("option", { value: s }, stateWords[s])));
    const reading = element("output", { for: id });
    const row = this.rows[i] = { control, state, reading, unit };
    control.oninput = state.oninput = () => {
      this.read(row);
      this.changed();
    };
    this.set(i, this.original.values[i], this.original.marks[i]);
    return element("div", { class: "fact-row" }, element("label", { for: id }, name, " ",
      element("span", { class: "of" }, unit === "bool" ? "yes or no" : unit.replaceAll("_", " "))), control, reading, state);
  }

  set(i, value, mark) {
    const row = this.rows[i];
    if (row.unit === "bool") row.control.checked = value >= 1000;
    else row.control.value = decimal(value);
    row.state.value = Object.keys(states)[mark];
    this.read(row);
  }

  read(row) {
    row.control.disabled = row.state.value !== "measured";
    row.reading.value = row.unit === "bool" ? (row.control.checked ? "yes" : "no")
      : row.unit === "share" ? decimal(Math.round(row.control.value * 1e5)) + " %" : "";
  }

  // inputs returns what the controls say, for the module.
  inputs() {
    const marks = this.rows.map(row => states[row.state.value]);
    return { marks, values: this.rows.map((row, i) => marks[i] !== 1 ? 0 : row.unit === "bool"
      ? (row.control.checked ? 1000 : 0) : Math.round(1000 * (row.control.valueAsNumber || 0))) };
  }

  // query returns the changed facts as parameters of an address.
  query() {
    const now = this.inputs(), q = new URLSearchParams();
    this.manifest.inputs.forEach(({ name }, i) => {
      const { values, marks } = this.original;
      if (now.marks[i] !== marks[i]) q.set(name, marks[i] === 1 || now.marks[i] !== 1 ? Object.keys(states)[now.marks[i]] : decimal(now.values[i]));
      else if (now.values[i] !== values[i]) q.set(name, decimal(now.values[i]));
    });
    return q.toString();
  }

  // apply sets the facts that an address names.
  apply(query) {
    const q = new URLSearchParams(query);
    this.manifest.inputs.forEach(({ name }, i) => {
      const text = q.get(name), value = Number(text);
      if (text in states) this.set(i, this.original.values[i], states[text]);
      else if (text && Number.isFinite(value)) this.set(i, Math.max(-maxValue, Math.min(maxValue, Math.round(1000 * value))), 1);
    });
  }

  reset() {
    this.manifest.inputs.forEach((_, i) => this.set(i, this.original.values[i], this.original.marks[i]));
    this.changed();
  }
}

// oneAtATime returns a function that runs f now, or once more after the run under way.
function oneAtATime(f) {
  let running = false, again = false;
  return async () => {
    if (running) return again = true;
    running = true;
    do {
      again = false;
      await f();
    } while (again);
    running = false;
  };
}

// playWhatIf lets the reader change facts; the score follows, and the address keeps them.
function playWhatIf(section, proof) {
  const find = name => section.querySelector(`[data-out=${name}]`), before = proof.mine;
  const changed = oneAtATime(async () => {
    const inputs = controls.inputs(), query = controls.query();
    history.replaceState(null, "", query ? "?" + query : location.pathname);
    try {
      const after = assess(proof.manifest, proof.facts, inputs, await proof.runner.score(inputs), proof.now);
      const moved = decimal(Math.round(1000 * (after.score - before.score)));
      find("score").textContent = total(after);
      find("moved").textContent = after.score === null || before.score === null || !moved ? "" : moved > 0 ? "+" + moved : "−" + -moved;
      find("gates").textContent = after.gates.map(g => `Limited to ${g.limit} by ${g.id}.`).join(" ");
      find("signals").replaceChildren(...proof.manifest.components.flatMap((c, i) => c.signals.flatMap((s, j) => {
        const a = before.components[i].signals[j], b = after.components[i].signals[j];
        return shown(a) === shown(b) ? [] : [element("li", {}, `${s.label}: ${shown(a)} → ${shown(b)} of ${s.points}`)];
      })));
    } catch (error) {
      find("score").textContent = error.message;
      find("moved").textContent = find("gates").textContent = "";
      find("signals").replaceChildren();
    }
  });
  const form = section.querySelector("form");
  const controls = new FactControls(form, proof.manifest, proof.inputs, changed);
  form.onsubmit = event => event.preventDefault();
  section.querySelector("button").onclick = () => controls.reset();
  controls.apply(location.search);
  section.hidden = false;
  changed();
}

// verifyHere is the page of a brand.
async function verifyHere(section) {
  const verdict = section.querySelector("[role=status]"), steps = section.querySelector("[data-out=steps]");
  section.hidden = false;
  try {
    const proof = await recompute(section.dataset.slug, (text, of = "") => steps.append(element("li", {}, text + " ",
      element("code", {}, of))));
    const table = section.querySelector("table");
    compareSignals(table, proof);
    table.parentElement.hidden = false;
    verdict.className = proof.identical ? "fine" : "fault";
    verdict.textContent = proof.identical ? `identical: ${total(proof.mine)}, in your browser and here`
      : `different: ${total(proof.mine)} in your browser, ${total(proof.ours)} here`;
    playWhatIf(document.getElementById("what-if"), proof);
  } catch (error) {
    verdict.className = "fault";
    verdict.textContent = error.message;
  }
}

if (!recomputeScript) serveModule();
else if (document.getElementById("recompute")) verifyHere(document.getElementById("recompute"));
