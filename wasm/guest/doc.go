// Package guest is the SDK for scorers written in Go: the ABI "scorer/1" of
// wasm/ABI.md, and the arithmetic of scorecards. A scorer passes Serve a function
// that fills in a Result. Compiled by TinyGo it is a module of the standard class,
// by the Go tool chain one of the class wasi-null. Native tests call the function
// directly.
//
// The header for C, the module for AssemblyScript and the crate for Rust are in
// subfolders. The package must not allocate while scoring, because growing the
// memory is a fault.
package guest
