// Package offer manages offers, the named sets of limits of accounts, what accounts have used of
// their limits, and group accounts: sub-accounts that share the limits of their parent. It knows
// no HTTP and no SQL.
package offer
