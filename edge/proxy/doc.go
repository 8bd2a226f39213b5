// Package proxy passes requests on to an origin and keeps what may be shared: a
// shared HTTP cache in front of any HTTP origin.
//
// A fasthttp request comes in; an answer goes out, from memory where package
// cache/rfc9111 allows it and from an http.RoundTripper where not. This package
// acts on those decisions: it looks up and stores variants, coalesces equal requests
// into one to the origin, streams large bodies, compresses stored ones, and
// invalidates what is purged.
//
// It must not know what the answers are about, how an origin is chosen, or what
// the edge answers itself.
package proxy
