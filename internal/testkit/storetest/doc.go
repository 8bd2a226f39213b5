// Package storetest gives each test a separate database, on every engine.
//
// Input: a test. Output: the store.Config of an empty, migrated database that is
// removed when the test ends. Main runs the tests of a package once with SQLite and
// once with a PostgreSQL server that it starts and stops. The package runs database
// servers and must not depend on any table. It is for tests only.
package storetest
