// Package waittest lets tests wait for what other goroutines and processes bring about.
//
// Input: a condition. Output: whether it became true. The condition is polled, with a pause that grows with
// its cost: a test that waits must leave the processors to what it waits for.
package waittest
