// Package pooler adapts connections to a pooler that gives each transaction another session of the
// server, such as pgbouncer in transaction mode.
//
// What comes in are the configuration of a connection and the statements that begin a transaction;
// what goes out are those that need no session. The package opens no connection.
package pooler
