// Package offer manages offers, the named sets of limits of accounts, and what accounts have
// used of their limits. It knows no HTTP and no SQL.
package offer
