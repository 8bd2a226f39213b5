// Package recordtest fills a database with as many rows as a large installation has.
//
// Input: the configuration of a migrated database and the numbers of rows. Output: missions with
// labels, visits and SLA timers, their events, and deliveries with attempts, written with a few
// statements within a minute or two. The rows have the form of real ones, but events have no
// checksums. It is for benchmarks only.
package recordtest
