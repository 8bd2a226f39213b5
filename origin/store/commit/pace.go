package commit

import (
	"context"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark/internal/timeout"
)

// Priority is how long a write waits while others of normal priority write.
type Priority uint8

// Priorities of writes. Those below Normal wait for each other's transactions only if they have the same one.
const (
	Normal  Priority = iota
	Reduced          // it has at most a fifteenth of the time of the writer
	Low              // at most a 33rd

	priorities
)

// pauseFactors times the duration of a transaction with writes of a priority is the pause before the next one.
var pauseFactors = [priorities]time.Duration{Reduced: 14, Low: 32}

const (
	// maxPause bounds that pause: work of low priority makes progress however much others write, and
	// keeps leases, which it renews several times as often.
	maxPause = 1 * time.Second
	// idleAfter is the time without other writes after which a pause ends early. Clients that wait for
	// their responses write again sooner.
	idleAfter = 5 * time.Millisecond
)

// pacer delays writes below Normal while others write.
type pacer struct {
	mu    sync.Mutex
	busy  int                   // writes of priority Normal that wait or run
	ended time.Time             // when the last of them ended
	next  [priorities]time.Time // when a write of a priority need not wait any more
}

// begin counts a write of priority Normal until end.
func (p *pacer) begin() {
	p.mu.Lock()
	p.busy++
	p.mu.Unlock()
}

func (p *pacer) end() {
	p.mu.Lock()
	p.busy--
	p.ended = time.Now()
	p.mu.Unlock()
}

// ran begins the pause after a transaction with writes of a priority.
func (p *pacer) ran(of Priority, took time.Duration) {
	p.mu.Lock()
	p.next[of] = time.Now().Add(min(pauseFactors[of]*took, maxPause))
	p.mu.Unlock()
}

// wait returns when a write of a priority may begin: after the pause, or when others have stopped writing.
func (p *pacer) wait(ctx context.Context, of Priority) error {
	for {
		p.mu.Lock()
		idle := idleAfter // until others may have stopped
		if p.busy == 0 {
			idle -= time.Since(p.ended)
		}
		left := min(time.Until(p.next[of]), idle)
		p.mu.Unlock()
		if left <= 0 {
			return ctx.Err()
		}
		if err := timeout.Sleep(ctx, left); err != nil {
			return err
		}
	}
}
