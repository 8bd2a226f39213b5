// Package cachetest has what cache tests share: a suite that every combination of
// tiers must pass, and real Redis servers (alone, with Sentinels or as a cluster)
// that tests can kill, freeze and restart.
//
// Input: a test. Output: test failures, or the address of a server that ends with
// the test. The package must not depend on the use of the cache.
package cachetest
