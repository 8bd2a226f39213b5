// Package examples has complete scorers in several languages, each with an equivalent
// card and a tutorial: a strict one in C and in Rust, a lenient one in AssemblyScript,
// one for shops in Go. `fieldmark module new` creates a project from one of them.
package examples
