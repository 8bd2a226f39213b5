// Package stream carries one request of a multiplexed connection (HTTP/2, HTTP/3) as an
// HTTP/1.1 exchange on a connection in memory.
//
// A transport writes the head of the request and the bytes of its body; a server reads
// them from a net.Conn as HTTP/1.1, and writes an HTTP/1.1 response, whose parts the
// transport gets. After the request the connection is at its end, so nothing that a client
// sends can become a second request (RFC 9113, 10.3).
//
// The package is independent of frames, windows and routes.
package stream
