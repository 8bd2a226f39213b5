// Package storetest gives each test a database of its own, on every engine.
//
// What comes in is a test; what goes out is the store.Config of an empty, migrated
// database that is removed when the test ends. Main runs the tests of a package
// once with SQLite and once with a PostgreSQL server that it starts and stops. The
// package knows how to run a database server, and nothing about tables. It is for
// tests only.
package storetest
