// Package job runs background work. Rows that are due are claimed under leases in
// the database, so that any number of processes may share them; a Runner works on
// what it claimed and renews the leases of that alone.
package job
