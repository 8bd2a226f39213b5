// Package storetest gives each test a record of its own, on every engine.
//
// What comes in is a test; what goes out is the store.Config of an empty,
// migrated record that is gone when the test ends. Main runs a package's tests
// once over SQLite and once over a PostgreSQL that it starts and ends itself.
// The package knows how to find and run a database server, and nothing of what
// is kept in one. It is for tests alone.
package storetest
