// Package fieldmark defines the types that edge, origin and Go clients share: brands
// and their facts, scores, missions, keys, modules, events and webhooks, and the few
// pure rules that both edge and origin apply.
//
// Types such as Slug, Digest and KeyToken are created only by their Parse functions, so
// a value is always valid. The JSON of a type is its wire format and webhook payload:
// it changes by addition only and is pinned by golden files.
//
// The package imports the standard library only. It does no I/O, reads no clock, starts
// no goroutine, and contains no secrets: secrets, leases and attempt counters belong to
// package origin/store.
package fieldmark
