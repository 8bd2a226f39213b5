// Package examples holds complete scorers in several languages, each with the
// card that says the same and a page that teaches: a strict one in C and in Rust,
// a lenient one in AssemblyScript, one for shops in Go. They are what `fieldmark
// module new` begins a project with.
package examples
