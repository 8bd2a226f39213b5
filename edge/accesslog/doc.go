// Package accesslog writes a line for each request into a file.
//
// Callers give it entries; it formats them and keeps the lines in memory until one goroutine
// has written them. Callers never wait for the file: lines that do not fit into the memory
// are dropped and counted. An entry has no header fields, no query and no body, so that a log
// holds no keys; what it has of a request is escaped, so that no request can forge a line.
//
// The package must not know routes, connections or caches.
package accesslog
