// Package ranking holds rankings of brands by score as immutable snapshots.
//
// The input is rows with scores; the output is pages of leaderboards, ranks, search results
// and cursors. A snapshot never changes: a changed brand creates another snapshot, which
// shares all but a few kilobytes with the previous one. Readers therefore need no lock, and
// old snapshots that cursors refer to cost almost no memory.
//
// The package does not depend on HTTP, the cache, the event log or the modules that score.
package ranking
