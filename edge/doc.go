// Package edge is one node of the front, from socket to bytes.
//
// Requests come in; badges, score documents, the leaderboard and pages go out.
// What the edge answers itself it derives: facts come from an origin, the
// active scoring module turns them into scores, and everything else is a pure
// function of scores. All of it is a cache entry that may be thrown away at any
// moment. The origin's event log names the entries that are no longer valid, so
// nothing waits for a lifetime to expire. All other requests are passed on to the
// origin.
//
// It is the only home of fasthttp. It must not know the origin's rules, its
// database or an administrator's pages.
package edge
