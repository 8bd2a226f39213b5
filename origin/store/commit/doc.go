// Package commit combines the work of concurrent callers: a Group runs their
// writes in one durable transaction, a Loader answers their reads with one query.
//
// What comes in are functions that run statements; what goes out is whether each
// of them is on disk. The package is independent of tables: the store passes how a
// transaction begins, what to read ahead and what to write before the commit.
package commit
