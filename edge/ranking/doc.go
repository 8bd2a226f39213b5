// Package ranking holds rankings of brands by score as immutable snapshots.
//
// Scores come in as rows; pages of leaderboards, ranks, search results and cursors
// come out. A snapshot never changes: a changed brand makes another snapshot, which
// shares all but a few kilobytes with the one before, so readers need no lock and old
// rankings that cursors point into cost next to nothing.
//
// It must not know HTTP, the cache, the event log or the modules that score.
package ranking
