// Package logstream mirrors the event log in a Redis stream for edges.
//
// In go the log and a lease in the database, out come entries of package cache/stream. The mirror
// follows the committed log, so Redis never delays a commit, and edges that cannot use the stream poll
// the log. One origin writes at a time; the fencing token of its lease makes Redis refuse others. The
// package must not depend on who follows the stream, or how.
package logstream
