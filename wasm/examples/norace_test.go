//go:build !race

package examples_test

const slow = 1
