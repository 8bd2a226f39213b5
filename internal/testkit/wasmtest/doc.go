// Package wasmtest makes scoring modules for tests of packages that run them: valid
// modules whose scores identify their versions, ones that pass every check and then trap,
// loop or return nonsense, and the examples of each language. It is for tests only.
package wasmtest
