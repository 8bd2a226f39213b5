package logstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache/stream"
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/store"
)

const (
	// batchEvents bounds one append: a script blocks Redis while it runs.
	batchEvents = 500
	// batchBytes bounds the entries of one append.
	batchBytes = 256 << 10
	// beatEvery is the longest time between two beats; edges stop trusting a stream after three.
	beatEvery = time.Second
	// retryFirst and retryMost bound the pause after a failure, which doubles. After a failover of the database edges
	// follow the stream of the lost timeline until there is another one.
	retryFirst, retryMost = 100 * time.Millisecond, 500 * time.Millisecond
	// releaseAfter is how long the mirror fails before another origin may try: its network may differ.
	releaseAfter = 10 * time.Second
	// claimEvery is how often an origin without the lease checks whether it is free.
	claimEvery = time.Second
	// beyondLog is past every number an event can have.
	beyondLog = 1 << 53
)

// Config is what a Mirror needs.
type Config struct {
	Store  *store.Store
	Events *event.Log
	Jobs   *job.Runner
	Log    *slog.Logger
	URL    string // of the primary Redis (see cache.RedisConfig); empty: there is no mirror
}

// Mirror copies the log into a stream. Its methods may be called from any goroutine.
type Mirror struct {
	cfg    Config
	writer *stream.Writer // nil without a URL; only the job uses it

	mu        sync.Mutex
	status    Status
	reachedAt time.Time // when the stream had the whole log last; since then it lags
}

// Status is the state of the mirror, for metrics.
type Status struct {
	Enabled    bool
	Fence      int64 // fencing token of this origin; 0: it is not the one that writes
	Head       int64 // the event up to which the stream goes
	LagEvents  int64 // events of the log after it
	LagSeconds float64
}

// New checks cfg. It does not connect.
func New(cfg Config) (*Mirror, error) {
	m := &Mirror{cfg: cfg}
	if cfg.URL == "" {
		return m, nil
	}
	var err error
	m.writer, err = stream.NewWriter(cfg.URL)
	m.status.Enabled = true
	return m, err
}

// Status returns the state of the mirror.
func (m *Mirror) Status() Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.status
	if s.Fence > 0 {
		s.LagSeconds = max(time.Since(m.reachedAt)-beatEvery, 0).Seconds()
	}
	return s
}

// Run mirrors the log whenever this process has the lease, until ctx ends.
func (m *Mirror) Run(ctx context.Context) error {
	if m.writer == nil {
		return nil
	}
	for ctx.Err() == nil {
		fence, err := m.claim(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			m.cfg.Log.Error("claim the mirror of the log", slog.Any("error", err))
		case fence > 0:
			lease := store.Lease{Kind: store.LeaseMirror, ID: store.MirrorName}
			m.cfg.Jobs.Hold(lease)
			m.cfg.Jobs.Protect(func() { m.run(ctx, fence) })
			m.cfg.Jobs.Release(lease)
		}
		_ = timeout.Sleep(ctx, claimEvery) // the loop ends with ctx
	}
	return m.writer.Close()
}

// claim claims the lease unless another origin has it; then it returns 0.
func (m *Mirror) claim(ctx context.Context) (fence int64, err error) {
	leased, err := m.cfg.Store.MirrorLeased(ctx, time.Now()) // a claim is a write
	if err != nil || leased {
		return 0, err
	}
	err = m.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		now := time.Now()
		fence, err = tx.ClaimMirror(ctx, m.cfg.Jobs.Worker(), now, now.Add(job.LeaseDuration))
		return err
	})
	return fence, err
}

// run writes the stream until another writer has a later token, Redis fails for releaseAfter, or ctx ends.
func (m *Mirror) run(ctx context.Context, fence int64) {
	m.mu.Lock()
	m.status.Fence = fence
	if m.reachedAt.IsZero() {
		m.reachedAt = time.Now()
	}
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		m.status.Fence = 0
		m.mu.Unlock()
	}()
	f := &follower{m: m, fence: fence}
	pause, failing := retryFirst, time.Time{}
	for ctx.Err() == nil {
		err := f.step(ctx)
		if err == nil {
			if !failing.IsZero() {
				m.cfg.Log.Info("the log is mirrored again", slog.Int64("event", f.at.Number))
			}
			pause, failing = retryFirst, time.Time{}
			continue
		}
		if ctx.Err() != nil {
			return
		}
		f.epoch = ""
		if errors.Is(err, stream.ErrFenced) || errors.Is(err, stream.ErrEpoch) {
			m.cfg.Log.Info("another origin mirrors the log", slog.Any("error", err))
			return
		}
		if failing.IsZero() {
			failing = time.Now()
			m.cfg.Log.Warn("the log is not mirrored; edges poll it", slog.Any("error", err))
		}
		if time.Since(failing) > releaseAfter {
			return
		}
		if timeout.Sleep(ctx, pause) != nil {
			return
		}
		pause = min(2*pause, retryMost)
	}
}

// follower is the position of the writer.
type follower struct {
	m     *Mirror
	fence int64
	epoch string                // empty: not known
	owns  bool                  // the epoch was set
	at    fieldmark.EventCursor // the stream has everything up to here
	top   int64                 // number of the last entry of the stream; 0: it is empty
	last  int64                 // no event for edges is between this number and at
}

// step appends what is new in the log, and a beat. It is safe to repeat.
func (f *follower) step(ctx context.Context) error {
	if f.epoch == "" {
		if err := f.attach(ctx); err != nil {
			return err
		}
	}
	wait := beatEvery
	if !f.owns { // edges follow the epoch before until SetEpoch below
		wait = 0
	}
	page, err := f.m.cfg.Events.Read(ctx, event.Query{After: f.at, Limit: batchEvents, Edges: true, Wait: wait})
	if err != nil {
		return err
	}
	if page.Log != f.epoch || page.Head < f.at.Number || page.Diverged(f.at) {
		f.epoch = "" // the database was replaced
		return nil
	}
	entries, next, last := f.entries(&page)
	want := f.top
	if n := len(entries); n > 0 {
		want = entries[n-1].Number
	}
	top, err := f.m.writer.Append(ctx, f.epoch, f.fence, f.top, entries,
		stream.Beat{Head: next.Number, Last: last, HeadID: next.ID})
	if err != nil {
		return err
	}
	if top != want && top != 0 {
		// Another writer appended, or a replica without the newest entries became the primary.
		return f.resume(top, page.Head)
	}
	f.at, f.last, f.top = next, last, top
	if err := f.m.writer.SetEpoch(ctx, f.epoch, !f.owns); err != nil {
		return err
	}
	f.owns = true
	f.m.reached(next.Number, page.Head)
	return nil
}

// attach finds out where the stream of the log ends.
func (f *follower) attach(ctx context.Context) error {
	page, err := f.m.cfg.Events.Read(ctx, event.Query{After: fieldmark.EventCursor{Number: beyondLog}, Edges: true})
	if err != nil {
		return err
	}
	// A stream without entries begins at the head of the log; its beat has the number.
	top, err := f.m.writer.Append(ctx, page.Log, f.fence, -1, nil, stream.Beat{Head: page.Head, Last: page.Head})
	if err != nil {
		return err
	}
	f.epoch, f.owns = page.Log, false
	if top == 0 {
		f.at, f.top, f.last = fieldmark.EventCursor{Number: page.Head}, 0, page.Head
		return nil
	}
	return f.resume(top, page.Head)
}

// resume continues after the last entry of the stream.
func (f *follower) resume(top, head int64) error {
	if top > head {
		f.epoch = ""
		return fmt.Errorf("the stream has event %d, but the log ends with %d", top, head)
	}
	f.at, f.top, f.last = fieldmark.EventCursor{Number: top}, top, top
	return nil
}

// entries returns the entries of a page, the cursor after them, and the last number for edges before it.
// Events that are too large are left out: followers see the gap.
func (f *follower) entries(page *fieldmark.EventPage) (list []stream.Entry, next fieldmark.EventCursor, last int64) {
	last = max(f.last, page.Oldest-1)
	if page.Oldest <= f.at.Number+1 {
		last = f.last
	}
	size := 0
	for i := range page.Events {
		e := &page.Events[i]
		entry := newEntry(e, last)
		last = e.Number
		if entry.Size() > stream.MaxEntry {
			continue
		}
		list = append(list, entry)
		if size += entry.Size(); size > batchBytes {
			return list, fieldmark.EventCursor{Number: e.Number, ID: e.ID}, last
		}
	}
	return list, page.Next(f.at), last
}

func newEntry(e *fieldmark.Event, previous int64) stream.Entry {
	tags := make([]string, len(e.Tags))
	for i, t := range e.Tags {
		tags[i] = string(t) // without spaces and commas
	}
	return stream.Entry{Number: e.Number, Previous: previous, Micros: e.Time.Micros(), ID: e.ID, Type: string(e.Type),
		Brand: string(e.Brand), Tags: strings.Join(tags, ","), Data: string(e.Data)}
}

// reached records how far the stream goes.
func (m *Mirror) reached(at, head int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.status.Head, m.status.LagEvents = at, max(head-at, 0)
	if at >= head {
		m.reachedAt = time.Now()
	}
}
