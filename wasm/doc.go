// Package wasm runs untrusted scoring modules. It is the only package that uses the
// WebAssembly engine.
//
// Input: the bytes of a module and the Facts of an audit. Output: an Assessment. A
// module can only compute marks from numbers: it has no imports (or, in the class
// wasi-null, none with an effect) and does not receive the brand, and the host
// validates every result and recomputes its total. The texts that a page shows with
// a mark come from the module's manifest, which is read before anything runs.
//
// An Engine loads modules. A Registry holds the active one, swaps it under load and
// rolls back a faulty one. Check validates a module and returns every problem it
// finds.
//
// The package must not depend on the source of modules and facts, the names of brands,
// or the caching and display of scores.
package wasm
