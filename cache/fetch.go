package cache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
)

// maxAttempts limits how often one Fetch waits for a fill when purges arrive during
// each: twice is bad luck, and a fourth wait would hardly end within a request.
const maxAttempts = 3

// Fill makes the entry of a key. It runs on a goroutine of the cache, with a
// context that ends after Config.FillTimeout or at Close and carries no values of
// the caller. A client that disconnects cannot cancel a fill that others wait for.
// A fill may outlive the call that started it, so it must not hold borrowed
// buffers.
type Fill func(ctx context.Context) (*Entry, error)

// Fetch returns the entry under key, filling it if necessary.
//
//   - Fresh: it is returned; nothing is allocated.
//   - Stale: it is returned at once, and one refresh of the key runs in the background.
//   - Otherwise one fill of the key runs, and every caller waits for it until its own
//     ctx ends. If the fill fails or ctx ends first, an entry that may be served on
//     errors is returned, else the error.
//
// A failed fill is not repeated for a second, and callers in that time get its
// result, unless it failed with ErrRefused. ErrGone is a result of the source and
// not a failure: the fill is repeated after 50 ms, and at once after a purge. key
// may be a view of a borrowed buffer; see Fill for what fill may hold.
func (c *Cache) Fetch(ctx context.Context, key string, fill Fill) (*Entry, Source, error) {
	hash := c.hash(key)
	s := c.shard(hash)
	if b := s.get(hash, key); b != nil {
		e, now := b.entry.Load(), c.now()
		if c.state(e, now) == Fresh {
			if b.early.Load() || c.drawEarly(e, now) {
				c.refresh(s, hash, key, fill)
			}
			c.events.Hit()
			return e, SourceHit, nil
		}
	}
	e, source, err := c.fetch(ctx, s, hash, key, fill)
	c.countSource(source)
	return e, source, err
}

// drawEarly decides at random whether this reader starts a refresh before e expires
// (XFetch, Vattani et al., beta 1). The probability rises towards the end and with
// the fill time, so that one of many readers is likely to start it in time.
func (c *Cache) drawEarly(e *Entry, now int64) bool {
	h := &e.deadlines
	return now >= h.earlyFrom && h.delta*rand.ExpFloat64() >= float64(h.freshUntil-now)
}

// refresh starts a fill that no caller waits for, unless one is running or just
// ended.
func (c *Cache) refresh(s *shard, hash uint64, key string, fill Fill) {
	s.flights.mu.Lock()
	defer s.flights.mu.Unlock()
	if s.flights.byKey[key] == nil {
		_, _ = c.startFill(s, hash, key, fill, false) // the next reader tries again
	}
}

// fetch is Fetch for an entry that is not fresh.
func (c *Cache) fetch(ctx context.Context, s *shard, hash uint64, key string, fill Fill) (*Entry, Source, error) {
	var last *Entry // result of the previous attempt, perhaps not in memory yet
	for round := 1; ; round++ {
		p := c.plan(s, hash, key, fill, last)
		if p.flight == nil {
			return p.entry, p.source, p.err
		}
		select {
		case <-p.flight.done:
		case <-ctx.Done():
			return c.fallBack(p.entry, fmt.Errorf("wait for a fill: %w", ctx.Err()))
		}
		if p.flight.err != nil {
			if p.source == SourceCoalesced && errors.Is(p.flight.err, ErrRefused) {
				round-- // the refusal concerns the other caller; ctx limits how often this repeats
				continue
			}
			if round < maxAttempts && c.goneBeforePurge(p.flight) {
				continue
			}
			return c.fallBack(p.entry, p.flight.err)
		}
		e := p.flight.entry
		if !c.tags.purged(e) {
			if c.state(e, c.now()) == ErrorOnly { // an old entry from another process
				return e, SourceOnError, nil
			}
			return e, p.source, nil
		}
		// A purge arrived during the fill, or the fill could return only what it
		// had.
		switch {
		case round < maxAttempts && c.purgedSince(p.flight):
			last = e
		case c.tags.hardPurged(e):
			return nil, SourceNone, ErrPurged
		default:
			return e, SourceStale, nil
		}
	}
}

// plan is what to do about a key that is not fresh: wait for flight or, if it is
// nil, return the rest.
type plan struct {
	flight *flight
	entry  *Entry // the result, or the entry to fall back on
	source Source
	err    error
}

// plan decides what to do about a key under the lock of its shard, and starts a fill
// if one is needed. last is the result of the previous attempt.
func (c *Cache) plan(s *shard, hash uint64, key string, fill Fill, last *Entry) plan {
	s.flights.mu.Lock()
	defer s.flights.mu.Unlock()
	if s.flights.closed {
		return plan{err: ErrClosed}
	}
	// Looked up under the lock, so that a fill that ends now is seen in one place
	// or the other.
	e, state := c.lookup(s, hash, key)
	if last != nil {
		e, state = c.fresher(last, e, state)
	}
	f := s.flights.byKey[key]
	if f != nil && f.ended {
		if f.err != nil && !c.goneBeforePurge(f) {
			return c.fallBackPlan(e, state, f.err)
		}
		if f.err == nil {
			e, state = c.fresher(f.entry, e, state)
		}
		switch {
		case state == Fresh:
			return plan{entry: e, source: SourceHit}
		case f.err == nil && state != Miss && !c.purgedSince(f):
			// No purge since that fill: another would return the same.
			return c.fallBackPlan(e, state, nil)
		}
		f = nil
	} else if state == Fresh {
		return plan{entry: e, source: SourceHit}
	}
	source, err := SourceCoalesced, error(nil)
	if f == nil {
		source = SourceFill
		f, err = c.startFill(s, hash, key, fill, state != Stale)
	}
	switch {
	case state == Stale:
		return plan{entry: e, source: SourceStale}
	case err != nil:
		return c.fallBackPlan(e, state, err)
	}
	return plan{flight: f, entry: e, source: source}
}

// fresher returns the entry of a fill or the one in memory, whichever may be used
// more freely.
func (c *Cache) fresher(filled, e *Entry, state State) (*Entry, State) {
	if st := c.state(filled, c.now()); st != Miss && st >= state {
		return filled, st
	}
	return e, state
}

// fallBackPlan returns what is available, because no fill will improve it now.
func (c *Cache) fallBackPlan(e *Entry, state State, err error) plan {
	if errors.Is(err, ErrGone) {
		state = Miss
	}
	switch state {
	case Fresh:
		return plan{entry: e, source: SourceHit}
	case Stale:
		return plan{entry: e, source: SourceStale}
	case ErrorOnly:
		return plan{entry: e, source: SourceOnError}
	}
	return plan{source: SourceNone, err: err}
}

// purgedSince reports whether anything was purged since f began.
func (c *Cache) purgedSince(f *flight) bool {
	return c.tags.purges.Load() != f.purges
}

// goneBeforePurge reports whether f found nothing at the source and a purge came
// after it began: the resource may exist now.
func (c *Cache) goneBeforePurge(f *flight) bool {
	return errors.Is(f.err, ErrGone) && c.purgedSince(f)
}

// fallBack returns e if it may be served on errors, else err.
func (c *Cache) fallBack(e *Entry, err error) (*Entry, Source, error) {
	if e != nil && !errors.Is(err, ErrGone) && c.state(e, c.now()) != Miss {
		return e, SourceOnError, nil
	}
	return nil, SourceNone, err
}

// countSource calls the event of a Fetch that was not a plain hit.
func (c *Cache) countSource(source Source) {
	switch source {
	case SourceHit:
		c.events.Hit()
	case SourceStale:
		c.events.Stale()
	case SourceCoalesced:
		c.events.Coalesced()
	case SourceOnError:
		c.events.OnError()
	default:
		c.events.Miss()
	}
}
