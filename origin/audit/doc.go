// Package audit reads a brand's site as an answer engine would and says what is
// there.
//
// What comes in is the address of a home page and the name of the brand; what
// goes out is fieldmark.Facts, every fact of the vocabulary measured, not
// applicable or unknown, each with evidence a person can check. The crawler is
// polite: it has a name of its own, obeys robots.txt for itself first, asks one
// thing a second, and stops after twenty. The extractors are pure functions of
// what was fetched, one file per group of signals, so the same site gives the
// same facts to the byte.
//
// The package must not know what a fact is worth: weights, curves and gates are
// the scoring module's. It stores nothing and never runs what it reads.
package audit
