package spool

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/timeout"
)

const (
	// maxSenders is how many requests are sent at once: as many share a commit of the origin, which lets new requests
	// write first. An origin that is overloaded gets fewer.
	maxSenders = 64
	// windowSize and windowBytes end what is read from the file at once, the bytes after the request that reaches
	// them. Eleven of the largest notifications do: each has 1 MiB and is copied a few times while it is sent. 512 of
	// them would take more memory than the smallest edge has, 512 MiB.
	windowSize  = 512
	windowBytes = 16 << 20
	// sendTimeout bounds one request; the origin's own timeout is 5 s.
	sendTimeout = 10 * time.Second
	// retryMin and retryMax bound the pause after a pass in which requests could not be decided.
	retryMin = 250 * time.Millisecond
	retryMax = 5 * time.Second
	// maxFailures and giveUpAfter are when a request is given up that fails while others of its time succeed: often
	// enough to be no chance, and late enough that a faulty origin was replaced, but before maxAge, at which the
	// spool accepts nothing more for any sender.
	maxFailures = 10
	giveUpAfter = maxAge / 2
)

// Run sends accepted requests to an origin until ctx ends. Requests of one source are sent one after the other, in the
// order in which they were accepted.
func (s *Spool) Run(ctx context.Context, send Sender) error {
	pause, senders := retryMin, maxSenders
	for {
		decided, failed, err := s.drainOnce(ctx, send, senders)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			s.log.Error("read the spool", "err", err)
		}
		if err != nil || failed {
			if decided > 0 {
				pause = retryMin // an origin answers: what failed was a single request
			}
			// Full jitter: edges must not all return at the moment at which an origin does.
			_ = timeout.Sleep(ctx, pause/2+rand.N(pause))
			pause, senders = min(2*pause, retryMax), max(senders/2, 1)
			continue
		}
		pause, senders = retryMin, min(2*senders, maxSenders)
		select {
		case <-s.stored:
		case <-ctx.Done():
			return nil
		}
	}
}

// attempt is a failed attempt to send a request.
type attempt struct {
	seq      int64 // of the request
	internal bool  // an origin answered with an internal error
}

// drainOnce sends every request in the file once, except those behind one of their source that was not
// decided. It ends early when nothing could be decided: no origin answers then.
func (s *Spool) drainOnce(ctx context.Context, send Sender, senders int) (decided int, failed bool, err error) {
	blocked := map[lane]attempt{}
	decided, err = s.sendAll(ctx, send, senders, blocked)
	if ctx.Err() == nil {
		s.countFailures(blocked, decided > 0)
	}
	return decided, len(blocked) > 0, err
}

// sendAll sends the requests in the file, window by window, until windowSize of them were read since the last that
// was decided. One window is not enough to tell that no origin answers: a few large notifications of one account fill
// it, and an origin may put these off all day.
func (s *Spool) sendAll(ctx context.Context, send Sender, senders int, blocked map[lane]attempt) (decided int,
	err error) {
	for after, undecided := int64(0), 0; undecided < windowSize && ctx.Err() == nil; {
		window, err := s.nextWindow(ctx, after)
		if err != nil || len(window) == 0 {
			return decided, err
		}
		after = window[len(window)-1].seq
		n, err := s.sendWindow(ctx, send, senders, window, blocked)
		if decided += n; err != nil {
			return decided, err
		}
		if undecided += len(window); n > 0 || len(blocked) == 0 { // unreadable rows do not count
			undecided = 0
		}
	}
	return decided, nil
}

// nextWindow reads the requests after a number that are sent next, at least one if there is one.
func (s *Spool) nextWindow(ctx context.Context, after int64) (window []entry, err error) {
	size := int64(0)
	err = s.each(ctx, after, func(e entry) bool {
		window, size = append(window, e), size+e.size
		return len(window) < windowSize && size < s.window
	})
	return window, err
}

// sendWindow sends the requests of a window, those of one lane in their order, and deletes those that were
// decided. It adds the lanes of the others to blocked.
func (s *Spool) sendWindow(ctx context.Context, send Sender, senders int, window []entry,
	blocked map[lane]attempt) (decided int, err error) {
	byLane := map[lane][]*entry{}
	var order []lane
	for i := range window {
		if window[i].damage != nil {
			s.setAside(&window[i])
			continue
		}
		l := window[i].lane
		if byLane[l] == nil {
			order = append(order, l)
		}
		byLane[l] = append(byLane[l], &window[i])
	}
	var mu sync.Mutex // guards blocked and done
	var done []*entry
	work := make(chan lane)
	var wg sync.WaitGroup
	for range senders {
		wg.Go(func() {
			for l := range work {
				sent := s.sendLane(ctx, send, byLane[l])
				mu.Lock()
				done = append(done, sent...)
				if len(sent) < len(byLane[l]) {
					e := byLane[l][len(sent)]
					blocked[l] = attempt{e.seq, fieldmark.IsCode(e.failure, fieldmark.CodeInternal)}
				}
				mu.Unlock()
			}
		})
	}
	for _, l := range order {
		mu.Lock()
		_, skip := blocked[l]
		mu.Unlock()
		if !skip {
			work <- l
		}
	}
	close(work)
	wg.Wait()
	return len(done), s.delete(done)
}

// countFailures counts failed attempts of which the requests may be the reason: an origin answered with an internal
// error, or carried others out. That no origin answers is no reason to give a request up.
func (s *Spool) countFailures(failed map[lane]attempt, others bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range failed {
		if others || a.internal {
			s.failed[a.seq]++
		}
	}
}

// givenUp returns the failed attempts of a request that is given up; 0: it is not.
func (s *Spool) givenUp(e *entry) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.failed[e.seq]; n >= maxFailures && s.now().Sub(e.acceptedAt) >= giveUpAfter {
		return n
	}
	return 0
}

// sendLane sends requests one after the other until one is not decided, and returns those that were.
func (s *Spool) sendLane(ctx context.Context, send Sender, lane []*entry) []*entry {
	for i, e := range lane {
		if ctx.Err() != nil {
			return lane[:i]
		}
		e.request.ID = s.id(e.seq)
		e.request.AgeMillis = max(s.now().Sub(e.acceptedAt).Milliseconds(), 0)
		e.request.Failures = s.givenUp(e)
		if e.request.IdempotencyKey == "" && e.request.ExternalID != "" {
			e.request.IdempotencyKey = "spl_" + e.request.ID
		}
		sendCtx, cancel := context.WithTimeout(ctx, sendTimeout)
		answer, err := send(sendCtx, e.request)
		cancel()
		if err != nil {
			s.failures.Add(1)
			e.failure = err
			return lane[:i]
		}
		s.delivered.Add(1)
		if answer.State == fieldmark.IntakeRefused {
			s.refused.Add(1)
			s.log.Warn("an origin refused a request that was accepted", "id", e.request.ID, "code", answer.Code,
				"key", e.request.Key)
		}
	}
	return lane
}

// delete removes requests that an origin has decided. If the process ends before, they are sent again, and the
// origin answers with the same decisions.
func (s *Spool) delete(done []*entry) error {
	if len(done) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), commitLimit) // also while the edge stops
	defer cancel()
	numbers := make([]any, len(done))
	for i, e := range done {
		numbers[i] = e.seq
	}
	_, err := s.db.ExecContext(ctx, `DELETE FROM request WHERE seq IN (?`+strings.Repeat(", ?", len(done)-1)+`)`,
		numbers...)
	if err != nil {
		return fmt.Errorf("delete requests that were decided: %w", err)
	}
	s.mu.Lock()
	for _, e := range done {
		s.count(e.account, e.lane, -1, e.size)
		delete(s.failed, e.seq)
	}
	s.mu.Unlock()
	return s.findOldest(ctx)
}
