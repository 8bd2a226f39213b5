// Package spool stores requests that create missions durably on an edge while no origin can be reached,
// and sends them to an origin in their order when one answers again.
//
// A request is accepted when its row is committed and synced to disk: there is one copy of it, on
// the disk of the edge. It leaves the spool when an origin has decided it, by carrying it out or by
// refusing it. A request may be sent several times; its idempotency key and the identifiers of
// its mission make sure that it takes effect once.
//
// The package has no HTTP server: the edge reads requests and decides which ones may be accepted.
package spool
