// Package mux holds what connections of HTTP/2 and HTTP/3 have in common: limits against
// floods, the list of decoded fields, the coding of integers and strings in header
// blocks, urgencies, and responses from memory.
//
// The package knows no frames and no routes.
package mux
