package publiclog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/internal/translog"
	"github.com/fieldmark/fieldmark/origin/store"
)

const (
	// pageEvents and pageBytes bound the events of one step.
	pageEvents, pageBytes = 500, 1 << 20
	// pageBrands bounds the brands that one step compares: its transaction keeps other writers waiting.
	pageBrands = 500
	// gather is the time after a change in which further ones join its checkpoint.
	gather = 100 * time.Millisecond
	// lease is how long an origin that has appended is the one that appends. It saves other origins
	// transactions in vain; the position in the log is what keeps them from appending twice.
	lease = 2 * time.Second
	// leasedPoll is how often an origin checks whether the one with the lease has appended a change.
	leasedPoll = 500 * time.Millisecond
	// recheck bounds the time after which the changes of an origin that stopped are appended.
	recheck = time.Minute
	// retryFirst and retryMost bound the pause after a failure, which doubles.
	retryFirst, retryMost = 100 * time.Millisecond, 30 * time.Second
	// maxBehind is how many events without a score the stored position may be behind: moving it is a write.
	maxBehind = 10_000
)

// Run appends changes of scores until ctx ends.
func (l *Log) Run(ctx context.Context) error {
	// Without a name there is nothing to sign under.
	if l.cfg.Name == "" {
		return nil
	}
	pause := retryFirst
	for ctx.Err() == nil {
		grown := l.cfg.Store.Watch(store.TopicEdgeEvents) // before the read: a change between them is seen
		wait, err := recheck, error(nil)
		l.cfg.Jobs.Protect(func() { wait, err = l.step(ctx) })
		if err != nil {
			if ctx.Err() == nil {
				l.errors.Add(1)
				l.cfg.Log.Error("append to the public log", slog.Any("error", err))
			}
			// Without the channel, so that events do not shorten the pause after a failure.
			wait, grown = pause, nil
			pause = min(2*pause, retryMost)
		} else {
			pause = retryFirst
		}
		if wait <= 0 {
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-grown:
			_ = timeout.Sleep(ctx, gather) // the loop ends with ctx
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	return nil
}

// work is what one step appends.
// It is read outside of the transaction, which must be short.
type work struct {
	events []fieldmark.Event
	to     int64 // the event that the log has everything up to afterwards
	sweep  bool  // events are missing, so every brand is to be compared
	done   bool  // there are no later events
}

// step appends a part of what is new, and returns how long there is nothing to do unless events come.
func (l *Log) step(ctx context.Context) (wait time.Duration, err error) {
	all, epoch, err := l.cfg.Store.PublicLogs(ctx)
	if err != nil {
		return 0, err
	}
	// The epoch names the history of the database; a restore begins another one.
	if len(all) == 0 || all[0].Epoch != epoch {
		return 0, l.begin(ctx)
	}
	state := &all[0]
	// Events without a score move only the position in memory, which costs no write.
	position := max(state.Event, l.seen)
	if l.number != state.Number {
		position, l.number = state.Event, state.Number
	}
	at, events, err := l.cfg.Store.LogTail(ctx, position, pageEvents, pageBytes,
		[]fieldmark.EventType{fieldmark.EventBrandAudited})
	if err != nil {
		return 0, err
	}
	w := work{to: at.Head, done: true}
	// Events were pruned before they were read, so what changed is found by comparing.
	w.sweep = at.Head > position && (at.Oldest == 0 || at.Oldest > position+1)
	for _, e := range events {
		if concernsScores(&e) {
			w.events = append(w.events, e)
		}
	}
	// A page may end before the head; then the next step goes on at once.
	if n := len(events); n > 0 {
		w.to = events[n-1].Number
		w.done = w.to >= at.Head
	}
	if len(w.events) == 0 && !w.sweep && state.Sweep == nil && w.to-state.Event < maxBehind {
		l.seen = w.to
		return waitAfter(w.done), nil
	}
	// Its holder will most likely append them; this origin only checks again.
	if state.LeaseOwner != l.cfg.Jobs.Worker() && time.Now().Before(state.LeaseUntil) {
		return leasedPoll, nil
	}
	more, err := l.write(ctx, state, &w)
	if err != nil {
		return 0, err
	}
	return waitAfter(w.done && !more), nil
}

// waitAfter returns no pause while there is more to append.
func waitAfter(done bool) time.Duration {
	if done {
		return recheck
	}
	return 0
}

// concernsScores reports whether an event may change what module scores which facts.
func concernsScores(e *fieldmark.Event) bool {
	return e.Brand != "" || e.Type == fieldmark.EventModuleActivated || e.Type == fieldmark.EventModuleRolledBack
}

// begin begins a log: the first of a database, or the one after it was restored or failed over to a standby.
// The old log ends as the backup or the standby has it: to continue it would sign another history for sizes
// that were published, if leaves were lost.
func (l *Log) begin(ctx context.Context) error {
	var next store.PublicLog
	var ended *store.PublicLog
	err := l.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		all, epoch, err := tx.PublicLogs(ctx)
		if err != nil {
			return err
		}
		if len(all) > 0 && all[0].Epoch == epoch {
			return nil // another origin was first
		}
		// The sweep compares every brand, so earlier events need not be read.
		head, err := tx.Head(ctx)
		if err != nil {
			return err
		}
		next = store.PublicLog{Number: 1, Name: l.cfg.Name, Epoch: epoch, Event: head, Sweep: new(fieldmark.Slug),
			Key: 1, KeyAt: time.Now()}
		if len(all) > 0 {
			ended = &all[0]
			// The key goes on: verifiers that trust it accept the new log under its number.
			next.Number, next.Key, next.KeyAt = ended.Number+1, ended.Key, ended.KeyAt
		}
		if err := l.sign(ctx, newBatch(tx, &next, fieldmark.ModulePlan{})); err != nil {
			return err
		}
		return tx.PutPublicLog(ctx, &next)
	})
	if err != nil {
		return fmt.Errorf("begin a public log: %w", err)
	}
	if ended != nil {
		l.cfg.Log.Warn("the database was restored or failed over, or its event log renamed: a new public log begins, "+
			"and witnesses report it", slog.Int64("ended", ended.Number), slog.Int64("endedSize", ended.Size),
			slog.Int64("began", next.Number))
	} else if next.Number > 0 {
		l.cfg.Log.Info("public log of scores begun", slog.String("origin", Origin(&next)))
	}
	return nil
}

// write appends in one transaction, unless another origin appended since state was read. It reports
// whether brands are left to compare.
func (l *Log) write(ctx context.Context, state *store.PublicLog, w *work) (more bool, err error) {
	err = l.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		all, epoch, err := tx.PublicLogs(ctx)
		if err != nil {
			return err
		}
		// Compared in the transaction: of two origins that read the same state, one appends.
		if len(all) == 0 || all[0].Epoch != epoch || all[0].Number != state.Number || all[0].Event != state.Event ||
			all[0].Size != state.Size {
			more = true
			return nil
		}
		log := &all[0]
		plan, err := tx.ModulePlan(ctx)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		b := newBatch(tx, log, plan)
		if err := l.verify(ctx, b); err != nil {
			return err
		}
		if plan.Digest != "" { // without a module nothing is scored, and its activation begins a sweep
			if err := b.addWork(ctx, w); err != nil {
				return err
			}
		}
		// A sweep goes on page by page, so that no transaction is long.
		more = log.Sweep != nil
		log.Event = max(log.Event, w.to)
		log.LeaseOwner, log.LeaseUntil = l.cfg.Jobs.Worker(), time.Now().Add(lease)
		if err := b.write(ctx); err != nil {
			return err
		}
		// Without new leaves the checkpoint stays, and witnesses see no empty change.
		if log.Size != state.Size {
			if err := l.sign(ctx, b); err != nil {
				return err
			}
		}
		return tx.PutPublicLog(ctx, log)
	})
	if err != nil {
		return false, fmt.Errorf("append to public log %d: %w", state.Number, err)
	}
	return more, nil
}

// addWork appends the scores that events changed, and compares a page of brands during a sweep.
func (b *batch) addWork(ctx context.Context, w *work) error {
	if w.sweep {
		b.log.Sweep = new(fieldmark.Slug)
	}
	var changed []fieldmark.Slug // by events without facts: they are compared as they are after all others
	for i := range w.events {
		e := &w.events[i]
		// Another module may change every score, so all brands are compared.
		if e.Brand == "" {
			b.log.Sweep = new(fieldmark.Slug)
			continue
		}
		var audited struct {
			FactsDigest fieldmark.Digest `json:"factsDigest"`
		}
		if len(e.Data) > 0 {
			if err := json.Unmarshal(e.Data, &audited); err != nil {
				return fmt.Errorf("read event %d: %w", e.Number, err)
			}
		}
		if audited.FactsDigest == "" {
			changed = append(changed, e.Brand)
		} else if err := b.add(ctx, e.Brand, audited.FactsDigest, e.Time.Std()); err != nil {
			return err
		}
	}
	if !w.done { // the present facts of brands are those of later events
		if len(changed) > 0 {
			b.log.Sweep = new(fieldmark.Slug)
		}
		return nil
	}
	now := time.Now().Truncate(time.Millisecond) // as times of events are
	for _, slug := range changed {
		if err := b.add(ctx, slug, "", now); err != nil {
			return err
		}
	}
	if b.log.Sweep == nil {
		return nil
	}
	// By slug from where the page before ended, so that a sweep survives a restart.
	page, err := b.tx.PublicLogBrands(ctx, *b.log.Sweep, pageBrands)
	if err != nil {
		return err
	}
	for i := range page {
		brand := &page[i]
		// The row in the database is older than what this batch has appended.
		if known := b.brands[brand.Slug]; known != nil {
			brand = known
		}
		if err := b.addBrand(ctx, brand, brand.Facts, now); err != nil {
			return err
		}
	}
	if b.log.Sweep = nil; len(page) == pageBrands {
		b.log.Sweep = &page[len(page)-1].Slug
	}
	return nil
}

// verify returns an error if the leaves of a log do not match its checkpoint: then the database was
// changed by something else, and a signature would make the change look genuine.
func (l *Log) verify(ctx context.Context, b *batch) error {
	keys, err := l.keys(b.log)
	if err != nil {
		return err
	}
	signed, _, err := translog.OpenCheckpoint([]byte(b.log.Checkpoint), keys...)
	if err != nil {
		return err
	}
	// Computed from the stored tiles, not from the memory of this process.
	root, err := b.root(ctx)
	if err != nil {
		return err
	}
	if signed.N != b.log.Size || signed.Hash != root {
		return fmt.Errorf("its checkpoint is of %d leaves with the root %s, and the database has %d with %s",
			signed.N, signed.Hash, b.log.Size, root)
	}
	return nil
}
