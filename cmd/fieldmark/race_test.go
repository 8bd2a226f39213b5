//go:build race

package main

// raceDetector reports whether the tests and the processes they start run under the race
// detector.
const raceDetector = true
