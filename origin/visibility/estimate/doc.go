// Package estimate computes what a study of answers shows: rates with their intervals,
// differences between brands, ranks, changes between studies and the size of a study.
//
// Input are counts by question and day. The question is the unit of sampling: runs and days
// repeat a question, so an interval rests on how much questions differ and not on the number
// of answers. All arithmetic is in integers, so every node computes the same result. The
// package is independent of brands, engines and files, and does no I/O.
package estimate
