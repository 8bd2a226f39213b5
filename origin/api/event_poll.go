package api

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
)

// eventPolls serves all edges that wait at the same event from one poll of the
// log. Every commit wakes every edge of a fleet: without sharing, the origin would
// read and encode the same page, up to 4 MB, once for each of them.
type eventPolls struct {
	// read returns an encoded page of the log, after waiting up to wait for events.
	read func(ctx context.Context, at eventPosition, wait time.Duration) ([]byte, error)

	mu    sync.Mutex
	polls map[eventPosition]*eventPoll
}

// eventPosition is what an edge asks for. Edges with the same position get the
// same page.
type eventPosition struct {
	after fieldmark.EventCursor
	limit int
}

// eventPoll is one poll of the log and the requests that wait for it.
type eventPoll struct {
	waiting int // requests; guarded by eventPolls.mu
	cancel  context.CancelFunc
	done    chan struct{} // closed when the fields below are set

	page     []byte
	err      error
	panicked string
}

// get returns the page at a position as soon as there are events, and at the
// latest after wait. It reads the log itself when the wait of the request is over
// before the shared poll ends.
func (p *eventPolls) get(ctx context.Context, at eventPosition, wait time.Duration) ([]byte, error) {
	if wait <= 0 {
		return p.read(ctx, at, 0)
	}
	poll := p.join(ctx, at)
	defer p.leave(at, poll)
	timeout := time.NewTimer(wait)
	defer timeout.Stop()
	select {
	case <-poll.done:
		if poll.panicked != "" {
			panic(poll.panicked)
		}
		return poll.page, poll.err
	case <-timeout.C:
		return p.read(ctx, at, 0)
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for events after %d: %w", at.after.Number, ctx.Err())
	}
}

// join adds a request to the poll at a position and starts the poll for the first.
// The poll does not end with the request that started it.
func (p *eventPolls) join(ctx context.Context, at eventPosition) *eventPoll {
	p.mu.Lock()
	defer p.mu.Unlock()
	if poll, ok := p.polls[at]; ok {
		poll.waiting++
		return poll
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	poll := &eventPoll{waiting: 1, cancel: cancel, done: make(chan struct{})}
	p.polls[at] = poll
	go func() {
		defer close(poll.done)
		defer func() {
			if v := recover(); v != nil {
				poll.panicked = fmt.Sprintf("%v\n%s", v, debug.Stack())
			}
			p.remove(at, poll)
		}()
		poll.page, poll.err = p.read(ctx, at, fieldmark.MaxWait*time.Second)
	}()
	return poll
}

// leave removes a request from its poll. The last one cancels the poll and waits
// until it has ended, so that no poll outlives the requests it serves.
func (p *eventPolls) leave(at eventPosition, poll *eventPoll) {
	p.mu.Lock()
	poll.waiting--
	last := poll.waiting == 0
	if last && p.polls[at] == poll {
		delete(p.polls, at)
	}
	p.mu.Unlock()
	if last {
		poll.cancel()
		<-poll.done
	}
}

// remove makes later requests start a new poll.
func (p *eventPolls) remove(at eventPosition, poll *eventPoll) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.polls[at] == poll {
		delete(p.polls, at)
	}
}
