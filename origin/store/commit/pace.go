package commit

import (
	"context"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark/internal/timeout"
)

const (
	// pauseFactor times the duration of a transaction with low-priority writes is the pause before the
	// next one, so these have at most a 33rd of the time of the writer while others write.
	pauseFactor = 32
	// maxPause bounds that pause: low-priority work makes progress however much others write, and
	// keeps leases, which it renews several times as often.
	maxPause = 1 * time.Second
	// idleAfter is the time without other writes after which a pause ends early. Clients that wait for
	// their responses write again sooner.
	idleAfter = 5 * time.Millisecond
)

// pacer delays low-priority writes while others write.
type pacer struct {
	mu    sync.Mutex
	busy  int       // other writes that wait or run
	ended time.Time // when the last of them ended
	next  time.Time // when a low-priority write need not wait any more
}

// begin counts a write without low priority until end.
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

// ran begins the pause after a transaction with low-priority writes.
func (p *pacer) ran(took time.Duration) {
	p.mu.Lock()
	p.next = time.Now().Add(min(pauseFactor*took, maxPause))
	p.mu.Unlock()
}

// wait returns when a low-priority write may begin: after the pause, or when others have stopped writing.
func (p *pacer) wait(ctx context.Context) error {
	for {
		p.mu.Lock()
		idle := idleAfter // until others may have stopped
		if p.busy == 0 {
			idle -= time.Since(p.ended)
		}
		left := min(time.Until(p.next), idle)
		p.mu.Unlock()
		if left <= 0 {
			return ctx.Err()
		}
		if err := timeout.Sleep(ctx, left); err != nil {
			return err
		}
	}
}
