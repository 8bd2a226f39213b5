// Package h2 serves HTTP/2 connections (RFC 9113).
//
// Frames are parsed in place from the bytes of a read. A request that the FastPath of the
// Config answers is answered in the loop that reads, without a goroutine or a stream;
// every other one becomes an HTTP/1.1 exchange (package stream), which the Serve function
// of the Config serves in a goroutine. What all streams of one read are sent goes out in one
// write.
//
// Every kind of frame that costs the server more than the client is charged to a bucket
// (package mux); an empty bucket ends the connection with ENHANCE_YOUR_CALM.
//
// The package is independent of routes. Section numbers in its comments are of RFC 9113.
package h2
