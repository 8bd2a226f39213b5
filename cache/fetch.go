package cache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
)

// maxAttempts is how often one Fetch waits for a fill when purges overtake each:
// twice is bad luck, and a fourth wait would hardly end within a request.
const maxAttempts = 3

// Fill makes the entry of a key. It runs on a goroutine of the cache under a
// context of the cache, which ends after Config.FillTimeout or with Close and
// carries nothing of the caller's: what the fill needs it must hold, and as
// it may outlive the call that brought it, it must hold no borrowed buffer.
type Fill func(ctx context.Context) (*Entry, error)

// Fetch returns the entry under key, filling it if need be.
//
//   - Fresh: returned, nothing allocated.
//   - Stale: returned at once; one refresh of the key runs behind.
//   - Otherwise one fill of the key runs and all who ask wait for it, each
//     until its own ctx ends. An entry that may be served on errors is
//     returned when the fill fails or ctx ends first; else the error is.
//
// A failed fill is not repeated for a second: who asks meanwhile gets what the
// others got, unless it failed with ErrRefused. One that failed with ErrGone is an answer of the source and not
// trouble: it is repeated after 50 ms, and at once after a purge. key may be made over a borrowed buffer; see Fill for what fill
// may hold.
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

// drawEarly draws whether this reader should have e refreshed before it expires
// (XFetch, Vattani et al., beta 1): the likelier the nearer the end and the
// slower the fill, so that of many readers one is likely to come in time.
func (c *Cache) drawEarly(e *Entry, now int64) bool {
	h := &e.deadlines
	return now >= h.earlyFrom && h.delta*rand.ExpFloat64() >= float64(h.freshUntil-now)
}

// refresh begins a fill nobody waits for, unless one is under way or at hand.
func (c *Cache) refresh(s *shard, hash uint64, key string, fill Fill) {
	s.flights.mu.Lock()
	defer s.flights.mu.Unlock()
	if s.flights.byKey[key] == nil {
		_, _ = c.startFill(s, hash, key, fill, false) // the next reader tries again
	}
}

// fetch is Fetch without its short way.
func (c *Cache) fetch(ctx context.Context, s *shard, hash uint64, key string, fill Fill) (*Entry, Source, error) {
	var last *Entry // what the round before gave, perhaps not in memory yet
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
				round-- // it says nothing of this caller; ctx bounds how often others are refused first
				continue
			}
			if round < maxAttempts && c.goneBeforePurge(p.flight) {
				continue
			}
			return c.fallBack(p.entry, p.flight.err)
		}
		e := p.flight.entry
		if !c.tags.purged(e) {
			if c.state(e, c.now()) == ErrorOnly { // all that another process had left
				return e, SourceOnError, nil
			}
			return e, p.source, nil
		}
		// A purge has overtaken the fill, or it could give only what it had.
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

// plan is what to do about a key that is not simply fresh: with a flight, wait
// for it; without, answer.
type plan struct {
	flight *flight
	entry  *Entry // the answer, or what to fall back on
	source Source
	err    error
}

func (c *Cache) plan(s *shard, hash uint64, key string, fill Fill, last *Entry) plan {
	s.flights.mu.Lock()
	defer s.flights.mu.Unlock()
	if s.flights.closed {
		return plan{err: ErrClosed}
	}
	// Under the lock, so that a fill which ends now is seen here or there.
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
			// Nothing happened since that fill: another would give the same.
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

// fresher chooses between an entry a fill gave and what memory had.
func (c *Cache) fresher(filled, e *Entry, state State) (*Entry, State) {
	if st := c.state(filled, c.now()); st != Miss && st >= state {
		return filled, st
	}
	return e, state
}

// fallBackPlan answers with what there is, as no fill will give better now.
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

// goneBeforePurge reports whether f found nothing at the source and something was purged
// since it began: what was missing may be there now.
func (c *Cache) goneBeforePurge(f *flight) bool {
	return errors.Is(f.err, ErrGone) && c.purgedSince(f)
}

// fallBack answers with e if it may be served on errors, else with err.
func (c *Cache) fallBack(e *Entry, err error) (*Entry, Source, error) {
	if e != nil && !errors.Is(err, ErrGone) && c.state(e, c.now()) != Miss {
		return e, SourceOnError, nil
	}
	return nil, SourceNone, err
}

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
