// Package playground compiles scorecards and checks modules that anyone sends, for the page on which authors
// try them. A Runner does the work in a separate process; this package limits how often and how many at a
// time. Nothing that is sent is stored or logged: a budget in the database names the network of a client only.
// The package has no WebAssembly runtime and reads no brand.
package playground
