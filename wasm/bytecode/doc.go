// Package bytecode has the parts of the WebAssembly binary format (Core
// Specification 5) that scoring modules use: opcodes, value types, section numbers,
// LEB128 and a bounded reader. The compiler of scorecards writes with it; the
// validator and the metering rewriter read and write with it.
//
// Input: bytes that may come from an untrusted module. Output: numbers and slices of
// them. The package must not depend on the scorer ABI, limits or engines.
package bytecode
