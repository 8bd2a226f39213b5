// Package cachetest holds what tests of caches share: the suite that every
// arrangement of tiers passes, and real Redis servers, alone, under Sentinels or
// as a cluster, that tests may kill, freeze and start again.
//
// What comes in: a test. What goes out: a verdict, or the address of a server
// that ends with the test. The package must not know what the cache is used for.
package cachetest
