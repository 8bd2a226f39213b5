//go:build race

package examples_test

const slow = 50 // times fewer facts: the race detector looks at every step
