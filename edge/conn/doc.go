// Package conn accepts the connections of clients and serves HTTP/1.1 on them.
//
// Accepted connections come in. Simple GET requests, which are nine in ten, are
// parsed here and answered by the FastPath function of the Config; every other
// request is checked by package framing, byte by byte, and handed to fasthttp, one
// request at a time. An idle connection holds no buffer. Connections are limited in
// total and per client network, and every read and write has a deadline.
//
// The package must not know what is served: no badge, no route and no cache. It
// learns what it needs through Config.
package conn
