// Package partition divides the event log of a PostgreSQL database, its deliveries and their attempts
// into partitions by event number, so that old ones are dropped in place of being deleted row by row.
//
// What comes in is a connection pool and what to keep; what goes out are tables. The three tables have
// the same boundaries. A calendar month would have to be part of every key; a number is the key.
//
// A partition has the unique indexes of the table before it was divided. No foreign key leads from one
// of the three tables to another: to drop a partition, PostgreSQL would compare it with all rows that
// may refer to it. fieldmark db check verifies these references.
package partition
