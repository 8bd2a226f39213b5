// Package mux holds what connections of HTTP/2 and HTTP/3 have in common: limits against
// floods, the list of decoded fields, the coding of integers and strings in header
// blocks, urgencies, and responses from memory.
//
// The package is independent of frames and routes.
package mux
