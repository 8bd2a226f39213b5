// Package proxy passes requests on to an origin and keeps what may be shared: a
// shared HTTP cache in front of any HTTP origin.
//
// A fasthttp request comes in; an answer goes out, from memory where package
// cache/rfc9111 allows it and from an http.RoundTripper where not. This package
// acts on those decisions: it finds and stores variants, lets a crowd that asks
// the same cold question ask it once, streams what is large, compresses what
// pays, and forgets what it is told to forget.
//
// It must not know what the answers are about, how an origin is chosen, or what
// the edge answers itself.
package proxy
