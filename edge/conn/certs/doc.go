// Package certs holds the TLS certificates of an edge and its TLS configuration: which
// certificate a client gets, protocol versions, cipher suites, ALPN and session tickets.
//
// Certificates come in through Set, from files, from the origin or self-signed; a tls.Config
// goes out, which uses the new certificates for the next handshake. Open connections are
// not affected. The package must not know what is served over the connections, nor how
// certificates are ordered.
package certs
