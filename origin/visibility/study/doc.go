// Package study reads studies of answers in form 2 and computes their results.
//
// A document has the counts of one engine by question and day, for a whole panel of brands. Input are
// documents of JSON or CSV; output are checked documents with one canonical encoding and digest, the
// results that pages and scores show, and changes between two studies. The package does no I/O and uses
// no database: the origin and those who verify a result use it alike.
package study
