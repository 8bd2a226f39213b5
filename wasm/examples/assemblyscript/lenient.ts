// A lenient scorer: a start earns most of the marks. card.json says the same.
import { begin, below, between, end, gate, layout, mean, part, value } from "./scorer";

// In the order of the manifest.
const REACHABLE = 0, WORDS = 1, TITLE = 2, DESCRIPTION = 3, OK = 4;
const INPUTS = 5;

export function scorer_v1_input(): i32 {
  return layout(INPUTS);
}

export function scorer_v1_score(): i32 {
  begin(INPUTS);
  part(WORDS, 1, between(value(WORDS), 0, 200, 150000, 1000));
  mean(40);
  part(TITLE, 2, between(value(TITLE), 0, 0, 800, 1000));
  part(DESCRIPTION, 1, between(value(DESCRIPTION), 0, 300, 800, 1000));
  mean(30);
  part(OK, 1, between(value(OK), 500, 0, 900, 1000));
  mean(30);
  if (below(REACHABLE, 1000)) gate(0);
  return end();
}
