// Package replica reads from a copy of the database on another server, which may lag.
//
// What comes in are the copy and the position that a reader needs; what goes out is a snapshot
// of the copy that has reached it, or none. The position is read in the snapshot itself, from
// the row that numbers events, so that it holds for everything else that the snapshot shows. The
// package is independent of tables: the store passes how the position is read.
package replica
