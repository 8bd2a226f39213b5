// Package eventlog reads the event log of the origin for an edge: from a Redis stream that mirrors
// it, if there is one, and else by polling the origin.
//
// In go a stream and a function that polls, out come pages of the log as the origin sends them. The
// stream saves requests, but the origin decides: gaps are read there, and the entries of the stream are
// compared with it. The package must not know what events do to an edge.
package eventlog
