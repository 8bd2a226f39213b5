// Package scoring computes assessments: score, range, confidence, grade, eligibility,
// visibility and advice, from the marks of a module and the facts of a site.
//
// Input: marks, facts, visibility samples and the time. Output: parts of a
// fieldmark.Score. All arithmetic is in integers, so that every node computes the same
// bytes. The package must not depend on the engine that runs modules, and does no I/O.
package scoring
