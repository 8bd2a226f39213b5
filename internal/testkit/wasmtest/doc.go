// Package wasmtest makes scoring modules for tests of packages that run them: valid
// modules whose scores identify their versions, and one that passes every check and
// then traps. It is for tests only.
package wasmtest
