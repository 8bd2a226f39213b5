// Plays a scenario with the TypeScript client: play.mjs SCENARIO VARIABLES, both JSON files.
import { readFileSync } from "node:fs";
import { Fieldmark, FieldmarkError, verifyWebhook } from "../typescript/dist/index.js";

function fill(value, variables) {
  if (typeof value === "string" && value.startsWith("$")) return variables[value.slice(1)];
  if (Array.isArray(value)) return value.map((v) => fill(v, variables));
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, fill(v, variables)]));
  }
  return value;
}

function matches(want, got) {
  if (want && typeof want === "object" && !Array.isArray(want)) {
    if ("some" in want) return got.some((g) => matches(want.some, g));
    if ("length" in want) return got.length === want.length;
    return got !== null && typeof got === "object" && Object.entries(want).every(([k, v]) => k in got && matches(v, got[k]));
  }
  if (Array.isArray(want)) return want.length === got.length && want.every((w, i) => matches(w, got[i]));
  return want === got;
}

async function call(client, name, args) {
  switch (name) {
    case "find": case "poll": return all(client[name](...args));
    case "deliveries": return all(client.deliveries(args[0], args[1] ? { state: args[1] } : {}));
    case "verify": return verifyWebhook(...args);
    case "cancel": return client.cancel(args[0], args[1] ?? undefined, args[2]);
    default: return client[name](...args);
  }
}

async function all(items) {
  const out = [];
  for await (const item of items) out.push(item);
  return out;
}

const [steps, variables] = process.argv.slice(2, 4).map((path) => JSON.parse(readFileSync(path, "utf8")));
for (const step of steps) {
  const client = new Fieldmark({ baseUrl: variables.url + fill(step.base ?? "", variables), key: variables.key,
    timeout: (step.timeout ?? 15) * 1000 });
  let got, code;
  for (let n = 0; n < fill(step.repeat ?? 1, variables); n++) {
    variables.n = `${variables.player}-${n}`;
    code = undefined;
    try {
      got = await call(client, step.call, fill(step.args ?? [], variables));
    } catch (error) {
      if (!(error instanceof FieldmarkError)) throw error;
      [got, code] = [error.detail, error.code];
    }
    if (code !== step.error || "want" in step && !matches(fill(step.want, variables), got)) {
      process.exitCode = 1;
      console.log(`${step.name}: ${code} ${JSON.stringify(got)?.slice(0, 2000)}`);
    }
  }
  for (const [name, path] of Object.entries(step.save ?? {})) {
    variables[name] = path.split("/").reduce((value, part) => value[part], got);
  }
}
