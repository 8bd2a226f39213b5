package cdn

import (
	"context"
	"slices"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/store"
)

// verifiedFor is how long a CDN counts as verified after its last successful probe that was stored. It exceeds
// failedAfter, saveProbe and the longest pause between two probes, and ends the long lifetime also if no process
// probes any more.
const verifiedFor = 4 * time.Minute

// lifetimeRate is how often the lifetime is read in a second at most. An edge that starts causes three reads, which
// do not wait; edges that start together, or that compare the stream with the log, share reads.
const lifetimeRate = 4

// Lifetime returns the lifetime that edges state for CDNs: zero without CDNs, and while one of them is not
// verified. It may be up to maxAge old: each page of the log for an edge has it, and an edge that has applied
// a later cdn.changed ignores it. With 0 it is read after the call, by this call or by another one.
func (s *Service) Lifetime(ctx context.Context, maxAge time.Duration) (fieldmark.CDNLifetime, error) {
	s.mu.Lock()
	known, at, need := s.lifetime, s.lifetimeAt, s.lifetimeReads+1
	s.mu.Unlock()
	if !at.IsZero() && time.Since(at) < maxAge {
		return known, nil
	}
	// Not under the mutex: while the database is slow, calls that accept what is known must not wait.
	select {
	case s.lifetimeTurn <- struct{}{}:
	case <-ctx.Done():
		return fieldmark.CDNLifetime{}, ctx.Err()
	}
	defer func() { <-s.lifetimeTurn }()
	s.mu.Lock()
	known, at = s.lifetime, s.lifetimeTimes[s.lifetimeReads%lifetimeRate]
	done := s.lifetimeReads >= need && s.lifetimeErr == nil
	s.mu.Unlock()
	if done {
		return known, nil
	}
	if err := timeout.Sleep(ctx, time.Second-time.Since(at)); err != nil {
		return fieldmark.CDNLifetime{}, err
	}
	return s.readLifetime(ctx)
}

// readLifetime reads the lifetime. One goroutine at a time may call it.
func (s *Service) readLifetime(ctx context.Context) (l fieldmark.CDNLifetime, err error) {
	now := time.Now()
	s.mu.Lock()
	s.lifetimeTimes[s.lifetimeReads%lifetimeRate] = now
	s.lifetimeReads++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.lifetimeErr = err; err == nil {
			s.lifetime, s.lifetimeAt = l, now
		}
	}()
	head, err := s.cfg.Store.Head(ctx) // before the rows, which are not older then
	if err != nil {
		return fieldmark.CDNLifetime{}, err
	}
	rows, err := s.cfg.Store.CDNs(ctx, now)
	if err != nil {
		return fieldmark.CDNLifetime{}, err
	}
	l = lifetimeOf(rows, now.Add(-verifiedFor))
	l.AsOf = head
	return l, nil
}

// lifetimeOf returns the lifetime with these CDNs, the shortest that one of them has, if probes of all have
// succeeded since a time.
//
// All must be verified, because CDNs can be chained: one that is purged and then filled from another that is
// outdated would keep that for the whole lifetime. For the same reason a single cache that is purged by
// address keeps the short lifetime everywhere: it cannot be purged of addresses with a query.
func lifetimeOf(rows []store.CDN, since time.Time) (l fieldmark.CDNLifetime) {
	for i := range rows {
		c := &rows[i]
		field, seconds := c.Settings.Kind.LifetimeField(), c.Settings.Seconds
		if field == "" || c.State == fieldmark.CDNRefused || c.Probe.State != fieldmark.CDNVerified ||
			c.Probe.VerifiedAt.Std().Before(since) {
			return fieldmark.CDNLifetime{}
		}
		if seconds == 0 {
			seconds = fieldmark.CDNSeconds
		}
		if l.Seconds == 0 || seconds < l.Seconds {
			l.Seconds = seconds
		}
		if !slices.Contains(l.Fields, field) {
			l.Fields = append(l.Fields, field)
		}
	}
	slices.Sort(l.Fields)
	return l
}

// changing runs a change of CDNs in a transaction, and emits an event if the lifetime for CDNs differs after
// it. The event is in the transaction of the change, so an edge that has read it has also applied what was
// purged before.
func changing(ctx context.Context, tx *store.Tx, change func() error) error {
	now := time.Now()
	before, err := tx.CDNs(ctx, now)
	if err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	after, err := tx.CDNs(ctx, now)
	if err != nil {
		return err
	}
	// Edges may still state a lifetime that ended because of its age.
	old, l := lifetimeOf(before, time.Time{}), lifetimeOf(after, now.Add(-verifiedFor))
	if old.Seconds == l.Seconds && slices.Equal(old.Fields, l.Fields) {
		return nil
	}
	_, err = event.Emit(ctx, tx, "", store.Event{Event: fieldmark.Event{Type: fieldmark.EventCDNChanged}}, l)
	return err
}
