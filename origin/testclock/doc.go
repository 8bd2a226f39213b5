// Package testclock advances the clocks of test worlds.
//
// The time of a world is the real time plus an offset, which only grows. An advance is a row under a lease: its worker
// reads when the next timer or delivery of the world is due, moves the clock there, fires what is due, and goes on
// until the goal. So events have the order and the times that they would have had, and another process continues
// where one stopped.
//
// The package is independent of HTTP. Packages mission and webhook define what fires.
package testclock
