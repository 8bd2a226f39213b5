// Package edge is an edge node: it serves badges, score documents, the leaderboard and
// pages.
//
// The edge derives its own responses: facts come from an origin, the active scoring module
// turns them into scores, and everything else is a pure function of scores. Every response
// is a cache entry that may be evicted at any time. The origin's event log names the
// entries that are no longer valid, so changes are visible before a lifetime expires. All
// other requests are passed on to the origin.
//
// It is the only package tree that uses fasthttp. It does not depend on the origin's rules,
// its database or the admin pages.
package edge
