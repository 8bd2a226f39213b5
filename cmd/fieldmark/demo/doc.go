// Package demo contains the demo: websites of brands, and the code that registers and
// audits them.
//
// Handler serves the sites by the Host field of a request, from an excellent one to one
// that cannot be reached. They were written for this repository and are embedded in it.
// Edition serves an earlier state: it leaves out files and lines that were added later.
// Seeder creates an administrator, keys and brands in a running origin.
//
// The package must not contain facts or scores: audits find them as on any site.
package demo
