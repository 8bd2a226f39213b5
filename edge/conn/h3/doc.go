// Package h3 serves HTTP/3 connections (RFC 9114) on the streams of quic-go.
//
// A request that Handler.Respond answers is answered in the loop that accepts streams,
// without a goroutine; every other one becomes an HTTP/1.1 exchange (package stream), which
// Handler.Serve serves in a goroutine. Fields are compressed with the static table alone
// (RFC 9204): no stream waits for another, and a header block cannot refer to itself.
//
// The library bounds windows, streams and handshakes as this package configures it
// (listener.go). Frames that cost the server more than the client are charged to buckets of
// package mux; an empty bucket ends the connection with H3_EXCESSIVE_LOAD.
//
// The package is independent of routes. Section numbers in its comments are of RFC 9114.
package h3
