package cdn

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/store"
)

const (
	// coalesce is how long events are collected for one purge: a change of a brand has several.
	coalesce = 100 * time.Millisecond
	// secondAfter is the delay of the second purge. A CDN may request from an edge that has not applied the
	// event yet; edges apply one within a second.
	secondAfter = 2 * time.Second
	// idleWait is how long a follower waits for events before it reads its settings again.
	idleWait = time.Second
	// retryFirst and retryMost bound the pause after a failed purge, which doubles. A CDN that is
	// back must be exact two seconds later, and one request a second is no load.
	retryFirst, retryMost = 100 * time.Millisecond, time.Second
	// saveEvery is how often the position is stored while events come: after a crash the purges of
	// this time are repeated.
	saveEvery = time.Second
)

// errEnded ends a follower whose CDN was changed or deleted, or that has lost its lease.
var errEnded = errors.New("the CDN has other settings or another worker")

// claim claims the CDNs that no worker follows. A CDN is read first: it rarely changes, and a claim
// is a write.
func (s *Service) claim(ctx context.Context, limit int) (jobs []job.Job, err error) {
	all, err := s.cfg.Store.CDNs(ctx, time.Now())
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		// A refused token is tried again when an administrator changes or tests the CDN, not at each claim:
		// APIs lock out addresses that repeat a wrong one.
		if c.Leased || c.State == fieldmark.CDNRefused || len(jobs) >= limit {
			continue
		}
		var won bool
		err := s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			now := time.Now()
			won, err = tx.ClaimCDN(ctx, c.Name, s.cfg.Jobs.Worker(), now, now.Add(job.LeaseDuration))
			return err
		})
		if err != nil {
			return jobs, err
		}
		if won {
			jobs = append(jobs, job.Job{Lease: store.Lease{Kind: store.LeaseCDN, ID: c.Name},
				Do: func(ctx context.Context) { s.follow(ctx, c.Name) }})
		}
	}
	return jobs, nil
}

// batch is a purge that is sent a second time.
type batch struct {
	keys  []string
	upTo  fieldmark.EventCursor
	again time.Time
}

// follower purges the changes of the event log from one CDN, until its lease ends.
type follower struct {
	s       *Service
	row     store.CDN             // as it was stored last
	target  *target               // where to send purges
	at      fieldmark.EventCursor // read up to here, and purged once
	waiting []batch               // purged once, the oldest first
	done    fieldmark.EventCursor // purged twice up to here
	savedAt time.Time             // when the row was written last

	open        []*unconfirmed // purged twice, but an edge may have been behind; the oldest first
	confirmedAt time.Time      // when the reports of edges were read last
	prober      *prober
}

// follow purges a CDN until its lease ends. It ends when settings change; the next claim follows the CDN
// with the new ones.
func (s *Service) follow(ctx context.Context, name string) {
	row, err := s.cfg.Store.CDN(ctx, name)
	if err == nil {
		f := &follower{s: s, row: row, at: row.At, done: row.At, prober: newProber(s, row)}
		if from := row.Status.Confirmed; from != nil {
			f.at, f.done = *from, *from // what an edge may have been behind for is purged again
		}
		if f.target, err = s.target(&row); err == nil {
			// The first that ends, ends both: a CDN that is probed but no longer purged must not stay verified
			// by badges that happen not to change.
			g, ctx := errgroup.WithContext(ctx)
			g.Go(func() error { return f.run(ctx) })
			g.Go(func() error { return f.prober.run(ctx) })
			err = g.Wait()
		}
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, errEnded) && !errors.Is(err, errRefused) {
		s.cfg.Log.Error("purge a CDN", slog.String("cdn", name), slog.Any("error", err))
	}
}

// run reads the log from the position and never skips an event: each is purged at once, and a second
// time after secondAfter. The position is saved last in each turn, so what is stored was purged: a crash repeats
// purges and loses none.
func (f *follower) run(ctx context.Context) error {
	for {
		if err := f.check(ctx); err != nil {
			return err
		}
		wait := idleWait
		if len(f.waiting) > 0 {
			// The second purge must not wait for the next event.
			wait = max(min(wait, time.Until(f.waiting[0].again)), 0)
		}
		page, err := f.s.cfg.Events.Read(ctx, event.Query{After: f.at, Edges: true, Wait: wait})
		if err != nil {
			return err
		}
		if why := f.lost(&page); why != "" {
			err = f.empty(ctx, &page, why)
		} else {
			err = f.apply(ctx, &page)
		}
		if err == nil {
			err = f.repeat(ctx)
		}
		if err == nil {
			err = f.confirm(ctx)
		}
		if err == nil {
			err = f.savePosition(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// check returns errEnded if the row was changed or deleted by an administrator.
// The version is compared on each turn: a purge must not be sent with an old token.
func (f *follower) check(ctx context.Context) error {
	row, err := f.s.cfg.Store.CDN(ctx, f.row.Name)
	if errors.Is(err, store.ErrNotFound) || err == nil && row.Version != f.row.Version {
		return errEnded
	}
	return err
}

// lost returns why the events after the position are not known; empty if they are.
// Then it is unknown what changed, and only a purge of everything is safe.
func (f *follower) lost(page *fieldmark.EventPage) string {
	switch {
	case page.Log != f.row.Log:
		return "the database is another one, as after a restore or a failover"
	case page.Head < f.at.Number || page.Diverged(f.at):
		return "the database has lost events"
	case page.Oldest > f.at.Number+1:
		return "older events are no longer kept"
	}
	return ""
}

// empty purges everything once, after edges had time to notice the same loss. A second purge would have everything
// requested from the edges twice, at the worst time for them.
func (f *follower) empty(ctx context.Context, page *fieldmark.EventPage, why string) error {
	f.s.cfg.Log.Warn("a CDN is purged of everything", slog.String("cdn", f.row.Name), slog.String("because", why))
	if err := timeout.Sleep(ctx, secondAfter); err != nil {
		return err
	}
	if err := f.send(ctx, []string{fieldmark.KeyAll}); err != nil {
		return err
	}
	now := fieldmark.At(time.Now())
	f.waiting, f.open, f.row.Log, f.at = nil, nil, page.Log, fieldmark.EventCursor{Number: page.Head}
	f.done = f.at
	f.row.Status.EmptiedAt, f.row.Status.EmptiedFor = &now, why
	return f.save(ctx, f.at)
}

// apply purges what events changed, with what changes until they are collected.
func (f *follower) apply(ctx context.Context, page *fieldmark.EventPage) error {
	if len(page.Events) == 0 {
		f.at = page.Next(f.at)
		return nil
	}
	// An idle log is answered at once with the first event of a change; the others follow it closely.
	if err := timeout.Sleep(ctx, coalesce); err != nil {
		return err
	}
	// Read again: the events of one change arrive within this pause.
	all, err := f.s.cfg.Events.Read(ctx, event.Query{After: f.at, Edges: true, Late: true})
	// A loss between the two reads is found again on the next turn, before anything of the other log is purged.
	if err != nil || f.lost(&all) != "" || len(all.Events) == 0 {
		return err
	}
	keys, upTo := keysOf(all.Events), all.Next(f.at)
	if len(keys) > 0 {
		if err := f.send(ctx, keys); err != nil {
			return err
		}
		f.waiting = append(f.waiting, batch{keys, upTo, time.Now().Add(secondAfter)})
	}
	f.at = upTo
	return nil
}

// repeat sends the second purges that are due as one. Without any, all events read are complete.
func (f *follower) repeat(ctx context.Context) error {
	var keys keySet
	due := 0
	for now := time.Now(); due < len(f.waiting) && !now.Before(f.waiting[due].again); due++ {
		for _, key := range f.waiting[due].keys {
			keys.put(key)
		}
	}
	if due > 0 {
		// One request for all that is due: calls are what the plans of CDNs limit.
		from, upTo := f.done, f.waiting[due-1].upTo
		if err := f.sendHard(ctx, keys.all()); err != nil {
			return err
		}
		f.done, f.waiting = upTo, f.waiting[due:]
		f.open = append(f.open, &unconfirmed{batch: batch{keys: keys.all(), upTo: upTo}, from: from, sent: time.Now()})
	}
	if len(f.waiting) == 0 {
		f.done = f.at
	}
	return nil
}

// sendHard is send of a purge after which no response from before is served, where the CDN can.
func (f *follower) sendHard(ctx context.Context, keys []string) error {
	f.target.hard = true
	defer func() { f.target.hard = false }()
	return f.send(ctx, keys)
}

// savePosition stores the positions if they moved and saveEvery has passed. A worker that repeats purges of
// before does not move the position back.
func (f *follower) savePosition(ctx context.Context) error {
	to, stored := f.confirmedTo(), f.row.Status.Confirmed
	same := to == stored || to != nil && stored != nil && *to == *stored
	if f.done.Number <= f.row.At.Number && same || time.Since(f.savedAt) < saveEvery {
		return nil
	}
	at := f.done
	if at.Number < f.row.At.Number {
		at = f.row.At
	}
	f.row.Status.Confirmed = to
	return f.save(ctx, at)
}

// send purges keys until the CDN accepts them. It returns an error only if that is pointless.
func (f *follower) send(ctx context.Context, keys []string) error {
	if f.row.Settings.Kind.ByAddress() && slices.Contains(keys, fieldmark.KeyAll) {
		f.s.cfg.Log.Warn("a CDN that is purged by address cannot be purged of everything; the rest expires",
			slog.String("cdn", f.row.Name))
	}
	// There is no last attempt: giving a purge up would leave outdated responses for their whole lifetime.
	pause := retryFirst
	for {
		err := f.s.purge(ctx, f.target, keys)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			f.prober.purged(keys)
			return f.succeeded(ctx)
		}
		if noted := f.failed(ctx, err); noted != nil {
			return noted
		}
		if errors.Is(err, errRefused) {
			return err
		}
		wait := pause
		if limited, ok := errors.AsType[limitedError](err); ok {
			wait = max(wait, limited.after)
		}
		if err := f.wait(ctx, wait); err != nil {
			return err
		}
		pause = min(2*pause, retryMost)
	}
}

// wait waits for d while the settings of the CDN stay the same.
func (f *follower) wait(ctx context.Context, d time.Duration) error {
	// In parts, so that new settings end a wait of up to maxRetryAfter.
	for d > 0 {
		part := min(d, idleWait)
		if err := timeout.Sleep(ctx, part); err != nil {
			return err
		}
		if err := f.check(ctx); err != nil {
			return err
		}
		d -= part
	}
	return nil
}

// succeeded ends a failure. The time of an ordinary purge is stored with the next position.
func (f *follower) succeeded(ctx context.Context) error {
	now := fieldmark.At(time.Now())
	f.row.Status.PurgedAt = &now
	if f.row.State == fieldmark.CDNActive {
		return nil
	}
	f.s.cfg.Log.Info("purges of a CDN succeed again", slog.String("cdn", f.row.Name))
	f.row.State, f.row.Status.LastError, f.row.Status.FailingSince = fieldmark.CDNActive, "", nil
	return f.save(ctx, f.row.At)
}

// failed stores a failure when it begins, and when its reason changes.
func (f *follower) failed(ctx context.Context, reason error) error {
	state := fieldmark.CDNFailing
	if errors.Is(reason, errRefused) {
		state = fieldmark.CDNRefused
	}
	text := reason.Error()
	// Otherwise an outage would write the row at each retry.
	if f.row.State == state && f.row.Status.LastError == text {
		return nil
	}
	f.s.cfg.Log.Warn("a CDN was not purged", slog.String("cdn", f.row.Name), slog.Any("error", reason))
	f.row.State, f.row.Status.LastError = state, text
	if f.row.Status.FailingSince == nil {
		now := fieldmark.At(time.Now())
		f.row.Status.FailingSince = &now
	}
	if state == fieldmark.CDNRefused {
		// Nothing is purged from now on, so edges must not wait for two minutes of failures.
		return f.refuse(ctx)
	}
	return f.save(ctx, f.row.At)
}

// refuse stores that the token was refused, and that the CDN is no longer verified.
func (f *follower) refuse(ctx context.Context) error {
	now := time.Now()
	return f.s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return changing(ctx, tx, func() error {
			held, err := tx.MoveCDN(ctx, &f.row, f.s.cfg.Jobs.Worker(), now)
			if err == nil && !held {
				return errEnded
			}
			stored, err := tx.CDN(ctx, f.row.Name) // the prober writes it too
			if err != nil || stored.Probe.State == "" {
				return err
			}
			stored.Probe = nextProbe(&stored, "", errRefused, now)
			_, err = tx.PutProbe(ctx, &stored, f.s.cfg.Jobs.Worker(), now)
			return err
		})
	})
}

// save stores the position and the status.
func (f *follower) save(ctx context.Context, at fieldmark.EventCursor) error {
	f.row.At, f.savedAt = at, time.Now()
	held := false
	err := f.s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		// It writes only while this worker has the lease: two followers must not overwrite each other.
		held, err = tx.MoveCDN(ctx, &f.row, f.s.cfg.Jobs.Worker(), time.Now())
		return err
	})
	if err == nil && !held {
		err = errEnded
	}
	return err
}

// keySet collects keys, each once, in the order in which they are put.
type keySet struct {
	list []string
	seen map[string]bool
}

// put adds a key if it is not in the set.
func (k *keySet) put(key string) {
	if k.seen == nil {
		k.seen = map[string]bool{}
	}
	if !k.seen[key] {
		k.seen[key], k.list = true, append(k.list, key)
	}
}

// all returns the keys; KeyAll includes every other.
func (k *keySet) all() []string {
	if k.seen[fieldmark.KeyAll] {
		return []string{fieldmark.KeyAll}
	}
	return k.list
}

// keysOf returns the surrogate keys of what events changed. What changes a brand or a module changes
// ranks, too. A purge without tags is one of everything.
func keysOf(events []fieldmark.Event) []string {
	// In order of events, so that the earliest change is purged first.
	var keys keySet
	for i := range events {
		if e := &events[i]; e.Type == fieldmark.EventCachePurged && len(e.Tags) == 0 {
			keys.put(fieldmark.KeyAll)
		} else if e.Type == fieldmark.EventModuleRolledBack {
			// The edge has dropped what the module computed that it rolled back; a CDN may have some of it.
			keys.put(string(fieldmark.TagModule))
			keys.put(string(fieldmark.TagBoard))
		}
		for _, tag := range events[i].Tags {
			if key, ok := tag.SurrogateKey(); ok {
				keys.put(key)
				keys.put(string(fieldmark.TagBoard))
			}
		}
	}
	return keys.all()
}
