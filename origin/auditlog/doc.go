// Package auditlog keeps the log of what administrators, API keys and commands
// did, each entry written in the transaction of the act. The entries are chained
// by keyed sums, so that a changed or removed entry is found. (The audits of
// websites are in package brand.)
package auditlog
