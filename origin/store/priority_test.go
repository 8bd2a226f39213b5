package store_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin/store"
)

// TestLowPriorityWrites: while others write, they wait for 32 times what the last of them took, those with reduced
// priority for 14 times, at most a second; when the others stop, they go on. A statement takes no time in the bubble;
// the functions of the writes do.
func TestLowPriorityWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := store.Open(t.Context(), storetest.New(t))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		// write makes a write that takes a time, and returns how long it waited.
		write := func(ctx context.Context, takes time.Duration) (waited time.Duration, err error) {
			asked := time.Now()
			err = s.Write(ctx, func(context.Context, *store.Tx) error {
				waited = time.Since(asked)
				time.Sleep(takes)
				return nil
			})
			return waited, err
		}
		low, reduced := store.WithLowPriority(t.Context()), store.WithReducedPriority(t.Context())
		priority := low
		expect := func(when string, takes, least, most time.Duration) {
			t.Helper()
			if waited, err := write(priority, takes); err != nil || waited < least || waited > most {
				t.Errorf("%s: a write waited %v, %v; want %v to %v", when, waited, err, least, most)
			}
		}
		const ms = time.Millisecond
		expect("alone", 10*ms, 0, 0)
		expect("alone, after another", 10*ms, 0, 0)

		var live sync.WaitGroup
		busy, stop := context.WithCancel(t.Context())
		live.Go(func() {
			for busy.Err() == nil {
				if waited, err := write(t.Context(), ms); err != nil || waited > time.Second+ms {
					t.Errorf("a live write waited %v, %v", waited, err)
				}
				time.Sleep(ms) // the client handles its response
			}
		})
		time.Sleep(time.Second) // the pause after the writes so far is over
		expect("beside others", 10*ms, 0, ms)
		expect("beside others, after 10 ms", 20*ms, 320*ms, 360*ms)
		expect("beside others, after 20 ms", time.Second, 640*ms, 680*ms)
		expect("beside others, after 1 s", time.Second, time.Second, 1002*ms)

		priority = reduced
		expect("beside others, with reduced priority", 10*ms, 0, ms)
		expect("beside others, with reduced priority, after 10 ms", 20*ms, 140*ms, 180*ms)
		priority = low

		impatient, cancel := context.WithTimeout(low, 100*ms)
		defer cancel()
		if waited, err := write(impatient, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a write that was canceled while it waited: %v after %v", err, waited)
		}
		stop()
		live.Wait()
		expect("when the others have stopped", 0, 0, 5*ms)
	})
}
