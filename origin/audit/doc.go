// Package audit reads a brand's site as an answer engine would and measures facts.
//
// Input: the address of a home page and the name of the brand. Output:
// fieldmark.Facts, with every fact of the vocabulary measured, not applicable or
// unknown, each with evidence a person can check. The crawler identifies itself,
// obeys robots.txt, makes one request per second and stops after twenty. The
// extractors are pure functions of what was fetched, one file per group of facts, so
// the same site gives the same facts byte by byte. Text that the style of a page hides (see
// package style) is no text of the page; it is examined for what is written to steer models.
//
// The package must not know what a fact is worth: weights, curves and gates belong to
// the scoring module. It stores nothing and never executes what it reads.
package audit
