package waittest

import (
	"testing"
	"time"
)

const (
	// Limit bounds a wait. Only a failure takes so long: beside busy loops and with the race detector,
	// milliseconds become seconds.
	Limit = 2 * time.Minute
	// minPause is for conditions that read a variable, and maxPause for those that need a request.
	minPause, maxPause = 2 * time.Millisecond, 200 * time.Millisecond
	// pauseFactor is how many times as long as the condition took the pause after it is: a waiting test
	// uses at most a quarter of one processor.
	pauseFactor = 3
)

// Until waits until ok returns true, and fails the test after Limit.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	if !Poll(ok) {
		t.Fatalf("waited %v until %s", Limit, what)
	}
}

// Poll waits until ok returns true. It returns false after Limit.
func Poll(ok func() bool) bool {
	for began := time.Now(); time.Since(began) < Limit; {
		called := time.Now()
		if ok() {
			return true
		}
		time.Sleep(min(max(pauseFactor*time.Since(called), minPause), maxPause))
	}
	return false
}
