// Package validity tests a score against studies of answers: whether brands that score higher are named
// and cited more often. Brands are compared within a study only, because questions of two studies have no
// common scale.
//
// Input are values of brands by study, output is a document with rank correlations, their intervals and
// permutation tests. The random numbers of both are seeded by the digest of the input, so the same input
// gives the same document. The package uses no database and does no I/O.
package validity
