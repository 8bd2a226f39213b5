// Package guest is the SDK for scorers written in Go: the ABI "scorer/1" of
// wasm/ABI.md, and the arithmetic of scorecards. A scorer hands Serve a function
// that fills in a Result; compiled by TinyGo it is a module of the standard
// class, by the Go tool chain one of the class wasi-null. Native tests call the
// function as it is.
//
// The header for C, the module for AssemblyScript and the crate for Rust lie in
// folders beside it. The package must not allocate while it scores: memory that
// grows then is a fault.
package guest
