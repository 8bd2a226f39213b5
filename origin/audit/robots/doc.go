// Package robots evaluates robots.txt files (RFC 9309) for any crawler, and lists the
// crawlers of answer engines.
//
// It must not know how a file is fetched, nor what a permission is worth.
package robots
