// Package wasm runs scoring modules, also those written by a stranger. It is
// the only home of the WebAssembly engine.
//
// What comes in is a module's bytes and the Facts of an audit; what goes out is
// an Assessment. A module computes marks out of numbers and nothing else: it
// has no imports (or, in the class wasi-null, none that does anything), learns no
// brand, and its every answer is checked and added up again by the host. What a page shows beside a mark stands in the module's
// manifest, which is read before anything runs.
//
// An Engine loads modules; a Registry keeps the active one, swaps it under load
// and takes a bad one back. Check says everything that speaks against a module.
//
// The package must not know where modules and facts come from, what a brand is
// called, or how a score is cached or shown.
package wasm
