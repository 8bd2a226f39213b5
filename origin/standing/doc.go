// Package standing computes the score of each brand once, after an audit, an activation of
// a module, and when age changes it, and sends score.changed to the endpoints that watch the
// brand. Edges derive the scores that they serve themselves; both run the same module over
// the same facts.
package standing
