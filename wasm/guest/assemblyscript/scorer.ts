// The ABI "scorer/1" for AssemblyScript: wasm/ABI.md in one file, and the
// arithmetic of scorecards. Everything is in thousandths.

export const UNKNOWN: u8 = 0;
export const MEASURED: u8 = 1;
export const NOT_APPLICABLE: u8 = 2;

const MARK_NOT_APPLICABLE: i32 = -1;
const MARK_UNKNOWN: i32 = -2;
const NO_SCORE: i32 = -1;

// 256 inputs of 8 bytes and their states; a header and 256 signals of 8 bytes.
const input = memory.data(256 * 9, 8);
const result = memory.data(16 + 256 * 8, 8);

let inputs: i32 = 0;
let signals: i32 = 0;
let reached: i64 = 0;
let measured: i64 = 0;

/** Where the host writes so many inputs; to be returned by scorer_v1_input. */
export function layout(count: i32): i32 {
  inputs = count;
  return input as i32;
}

/** Begins a result. */
export function begin(count: i32): void {
  inputs = count;
  signals = 0;
  reached = 0;
  measured = 0;
  store<u32>(result, 0, 4);
  store<u32>(result, 0, 12);
}

export function value(i: i32): i64 {
  return load<i64>(input + (i << 3));
}

export function state(i: i32): u8 {
  return load<u8>(input + (inputs << 3) + i);
}

/** Whether an input was measured and is below a limit. */
export function below(i: i32, limit: i64): bool {
  return state(i) == MEASURED && value(i) < limit;
}

/** The mark between two points of a line, rounded half up. */
export function between(v: i64, x0: i64, y0: i64, x1: i64, y1: i64): i64 {
  if (v <= x0) return y0;
  if (v > x1) return y1;
  const d = x1 - x0;
  return (2 * y0 * (x1 - v) + 2 * y1 * (v - x0) + d) / (2 * d);
}

// The parts of the signal at hand.
let sum: i64 = 0;
let weight: i64 = 0;
let unknown: bool = false;

/** Adds a part to the signal at hand. */
export function part(i: i32, w: i64, mark: i64): void {
  const s = state(i);
  if (s == UNKNOWN) unknown = true;
  if (s != MEASURED) return;
  sum += w * mark;
  weight += w;
}

/** Ends the signal at hand, which is worth so many points, by the mean of its parts. */
export function mean(points: i64): void {
  let mark: i32 = MARK_UNKNOWN;
  if (!unknown) mark = weight == 0 ? MARK_NOT_APPLICABLE : i32((2 * sum + weight) / (2 * weight));
  store<i32>(result + 16 + (signals << 3), mark);
  store<u32>(result + 20 + (signals << 3), 0);
  signals++;
  if (mark >= 0) {
    reached += points * i64(mark);
    measured += points;
  }
  sum = 0;
  weight = 0;
  unknown = false;
}

/** Notes that a gate caught. */
export function gate(i: i32): void {
  store<u32>(result, load<u32>(result, 4) | (1 << i), 4);
}

/** Ends the result; to be returned by scorer_v1_score. */
export function end(): i32 {
  store<i32>(result, measured == 0 ? NO_SCORE : i32((200 * reached + measured) / (2 * measured)));
  store<u32>(result, signals, 8);
  return result as i32;
}
