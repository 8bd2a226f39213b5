// Package abi is what a host and a scoring module agree on: the names, the
// limits and the byte layouts of "scorer/1". Every number that crosses the
// boundary is an integer in thousandths, so a score is the same to the bit on
// every host. The written contract is ../ABI.md.
//
// What comes in is the bytes of a module, of its two custom sections and of a
// result; what goes out are values that were checked in full: a Manifest, its
// Vectors, a Result. Every reader is strict and bounded, for the bytes may come
// from a stranger.
//
// The package runs nothing. It knows no engine, no card, no facts and no brand.
package abi
