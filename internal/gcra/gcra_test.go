package gcra_test

import (
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/internal/gcra"
)

// A burst is allowed at once, then one request in each interval, whenever they come.
func TestWait(t *testing.T) {
	const interval, burst = time.Second, 3
	var used time.Duration // the time up to which the rate is used
	allowed := 0
	for now := time.Duration(0); now < 10*time.Second; now += 250 * time.Millisecond {
		for {
			wait := gcra.Wait(used-now, interval, burst)
			if wait > 0 {
				if again := gcra.Wait(used-now-wait, interval, burst); again != 0 {
					t.Fatalf("at %s: after a wait of %s another of %s", now, wait, again)
				}
				break
			}
			used = max(used, now) + interval
			allowed++
		}
	}
	if want := burst + 9; allowed != want {
		t.Errorf("allowed in 10 s: got %d, want %d", allowed, want)
	}
}
