// Package offer manages offers, the named sets of limits of accounts, what accounts have used of
// their limits, and group accounts: sub-accounts that share the limits of their parent. It is
// independent of HTTP and has no SQL.
package offer
