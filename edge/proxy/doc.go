// Package proxy passes requests on to an origin and stores responses that may be shared: a
// shared HTTP cache in front of any HTTP origin.
//
// The input is a fasthttp request; the response comes from memory where package
// cache/rfc9111 allows it, and otherwise from an http.RoundTripper. This package acts on
// those decisions: it looks up and stores variants, coalesces equal requests into one to
// the origin, streams large bodies, compresses stored ones, and invalidates what is purged.
//
// The package does not depend on the content of responses, on how an origin is chosen, or
// on the edge's own routes.
package proxy
