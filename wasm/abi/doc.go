// Package abi is the contract between a host and a scoring module: the names, limits
// and byte layouts of "scorer/1". Every number that crosses the boundary is an
// integer in thousandths, so that a score is equal bit by bit on every host. The
// specification is ../ABI.md.
//
// Input: the bytes of a module, of its two custom sections and of a result. Output:
// fully validated values: a Manifest, its Vectors, a Result. Every parser is strict
// and bounded, because the bytes may come from an untrusted source.
//
// The package runs nothing and must not use engines, scorecards, facts or brands.
package abi
