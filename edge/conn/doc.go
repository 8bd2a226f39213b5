// Package conn accepts the connections of clients and serves HTTP/1.1 on them.
//
// Simple GET requests, about nine in ten, are parsed here and served by the FastPath
// function of the Config; every other request is checked by package framing, byte by byte,
// and handed to fasthttp, one request at a time. An idle connection holds no buffer.
// Connections are limited in total and per client network, and every read and write has a
// deadline.
//
// The package does not depend on what is served: badges, routes or the cache. It is
// configured through Config.
package conn
