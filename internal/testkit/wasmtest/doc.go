// Package wasmtest makes scoring modules for tests of those who run them: sound
// ones that tell their versions apart by their scores, and one that passes every
// check and then goes wrong. It is for tests alone.
package wasmtest
