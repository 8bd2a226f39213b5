package eventlog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache/stream"
)

const (
	// silentAfter is how long a beat may stay the same. Its writer renews it each second.
	silentAfter = 3 * time.Second
	// lateBlock is how long a read waits for entries when the beat is late. After a failover of the database another
	// epoch begins, and no entry of the one before ends a wait.
	lateBlock = 250 * time.Millisecond
	// retryEvery is the mean time until a stream that failed is tried again; each time differs
	// by half, so that a fleet does not return at once.
	retryEvery = 5 * time.Second
	// checkEvery is the mean time between two comparisons with the origin.
	checkEvery = 30 * time.Second
	// checkGrace is how long the stream may lack an event that the origin has.
	checkGrace = 5 * time.Second
	// distrustFor is how long a stream is not used after it lacked one. Who can write to it could
	// hide purges, so an operator should look at it.
	distrustFor = time.Hour
)

// Why a Source stopped using the stream, as labels of metrics.
const (
	Failed   = "error"    // Redis does not answer, or refuses
	Silent   = "beat"     // no origin writes
	OldEpoch = "epoch"    // the stream is of another database
	Mismatch = "mismatch" // the origin has events that the stream lacks, or lacks events that it has
)

// Reasons returns every reason.
func Reasons() []string { return []string{Failed, Silent, OldEpoch, Mismatch} }

// Poll requests the events after a cursor from the origin, and waits for them for up to wait.
type Poll func(ctx context.Context, after fieldmark.EventCursor, wait time.Duration) (fieldmark.EventPage, error)

// Config is what a Source needs.
type Config struct {
	URL  string // of the nearest replica of the Redis with the stream; empty: the origin is polled
	Poll Poll
	Log  *slog.Logger
	// Callbacks for metrics; required.
	OnGap      func()              // the stream lacked events, and the origin was polled
	OnFallback func(reason string) // the stream is not used for a while
	OnSource   func(stream bool)   // where the last page came from
}

// Source returns pages of the log. It must not be used by several goroutines at once.
type Source struct {
	cfg    Config
	reader *stream.Reader // nil: there is no stream
	log    string         // the log followed; its id is the epoch of the stream

	streaming     bool
	warned        bool      // since it was used last
	retryAt       time.Time // of a stream that is not used
	beat          string    // the last one
	beatAt        time.Time // when it was first seen: the clock of its writer may differ
	missing       bool      // the last read lacked entries that its beat names
	originVersion string    // as the origin said last
	cdn           *fieldmark.CDNLifetime

	checkAt    time.Time // of the next comparison
	expected   int64     // an event that the origin has; 0: none that the stream lacked
	expectedBy time.Time
}

// New checks cfg. It does not connect.
func New(cfg Config) (*Source, error) {
	s := &Source{cfg: cfg}
	if cfg.URL == "" {
		return s, nil
	}
	var err error
	s.reader, err = stream.NewReader(cfg.URL)
	return s, err
}

// Close closes the connections.
func (s *Source) Close() error {
	if s.reader == nil {
		return nil
	}
	return s.reader.Close()
}

// Next returns the events of a log after a cursor. If the log has no later event, it waits for up to wait, and less
// with the stream.
func (s *Source) Next(ctx context.Context, log string, at fieldmark.EventCursor, wait time.Duration) (
	fieldmark.EventPage, error) {
	if s.reader == nil {
		return s.cfg.Poll(ctx, at, wait)
	}
	now := time.Now()
	if s.log != log {
		s.log, s.streaming, s.retryAt, s.beat, s.expected = log, false, now, "", 0
	}
	if now.Before(s.retryAt) {
		return s.poll(ctx, at, min(wait, s.retryAt.Sub(now)))
	}
	if s.streaming && !now.Before(s.checkAt) {
		if page, done, err := s.check(ctx, at); done || err != nil {
			return page, err
		}
	}
	page, reason, err := s.read(ctx, at, wait)
	if ctx.Err() != nil {
		return page, ctx.Err()
	}
	if reason != "" {
		s.fallBack(reason, err)
		return s.poll(ctx, at, 0)
	}
	if !s.streaming {
		s.cfg.Log.Info("following the stream", slog.Int64("event", at.Number))
		s.warned = false
		// The first comparison is soon: it also brings what the stream does not have.
		s.streaming, s.checkAt = true, now
	}
	if page.Log == "" { // a gap
		s.cfg.OnGap()
		return s.poll(ctx, at, 0)
	}
	s.cfg.OnSource(true)
	return page, nil
}

func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d) }

// poll reads a page from the origin.
func (s *Source) poll(ctx context.Context, at fieldmark.EventCursor, wait time.Duration) (fieldmark.EventPage, error) {
	s.cfg.OnSource(false)
	page, err := s.cfg.Poll(ctx, at, wait)
	if err == nil {
		s.originVersion, s.cdn = page.Edition, page.CDN
	}
	return page, err
}

// fallBack stops using the stream for a while.
func (s *Source) fallBack(reason string, err error) {
	if s.streaming || !s.warned {
		s.warned = true
		s.cfg.Log.Warn("the stream is not used; polling the origin", "reason", reason, "err", err)
	}
	pause := jitter(retryEvery)
	if reason == Mismatch {
		pause = distrustFor
	}
	s.streaming, s.missing, s.expected, s.retryAt = false, false, 0, time.Now().Add(pause)
	s.cfg.OnFallback(reason)
}

// read reads the stream. Without a reason not to use it, a page without a log means a gap.
func (s *Source) read(ctx context.Context, at fieldmark.EventCursor, wait time.Duration) (
	page fieldmark.EventPage, reason string, err error) {
	block := min(wait, stream.Block)
	switch {
	case !s.streaming || s.missing:
		block = 0
	case time.Since(s.beatAt) >= stream.Block:
		block = min(block, lateBlock)
	}
	batch, err := s.reader.Read(ctx, s.log, at.Number, block)
	now := time.Now()
	switch {
	case errors.Is(err, stream.ErrEpoch):
		return page, OldEpoch, err
	case err != nil:
		return page, Failed, err
	case batch.Beat == nil:
		return page, Silent, errors.New("the stream has no beat")
	}
	if batch.Raw != s.beat {
		s.beat, s.beatAt = batch.Raw, now
	}
	if now.Sub(s.beatAt) > silentAfter {
		return page, Silent, fmt.Errorf("no new beat for %v", now.Sub(s.beatAt).Round(time.Millisecond))
	}
	page, complete := assemble(&batch, at)
	page.Edition, page.CDN = s.originVersion, s.cdn
	next := page.Next(at)
	switch {
	case !complete && next == at && (s.missing || len(batch.Entries) > 0):
		s.missing = false
		return fieldmark.EventPage{}, "", nil
	case !complete:
		s.missing = true // what is missing came after the entries were read, or the next read finds a gap
	default:
		s.missing = false
	}
	page.Log = s.log
	if s.expected > 0 && next.Number >= s.expected {
		s.expected = 0
	}
	if s.expected > 0 && now.After(s.expectedBy) {
		return page, Mismatch, fmt.Errorf("the stream lacks event %d", s.expected)
	}
	return page, "", nil
}

// assemble makes a page of what follows a cursor without a gap, and reports whether it reaches the beat.
func assemble(b *stream.Batch, at fieldmark.EventCursor) (page fieldmark.EventPage, complete bool) {
	for i := range b.Entries {
		e := &b.Entries[i]
		if e.Number <= at.Number {
			continue
		}
		if e.Previous > at.Number {
			break
		}
		page.Events = append(page.Events, newEvent(e))
		at = fieldmark.EventCursor{Number: e.Number, ID: e.ID}
	}
	complete = b.Beat.Last <= at.Number
	if complete && b.Beat.Head > at.Number {
		at = fieldmark.EventCursor{Number: b.Beat.Head, ID: b.Beat.HeadID}
	}
	page.Through, page.ThroughID = at.Number, at.ID
	// The stream may be behind an edge that polled meanwhile.
	page.Head = max(b.Beat.Head, at.Number)
	return page, complete
}

func newEvent(e *stream.Entry) fieldmark.Event {
	ev := fieldmark.Event{Number: e.Number, ID: e.ID, Type: fieldmark.EventType(e.Type),
		Time: fieldmark.AtMicros(e.Micros), Brand: fieldmark.Slug(e.Brand)}
	if e.Tags != "" {
		for tag := range strings.SplitSeq(e.Tags, ",") {
			ev.Tags = append(ev.Tags, fieldmark.Tag(tag))
		}
	}
	if e.Data != "" {
		ev.Data = []byte(e.Data)
	}
	return ev
}

// check compares the stream with the origin. If the log is another one, or lacks what the stream has, its
// page is returned, with done: the edge starts over.
func (s *Source) check(ctx context.Context, at fieldmark.EventCursor) (page fieldmark.EventPage, done bool, err error) {
	s.checkAt = time.Now().Add(jitter(checkEvery))
	if page, err = s.cfg.Poll(ctx, at, 0); err != nil {
		if ctx.Err() != nil {
			return page, true, ctx.Err()
		}
		return page, false, nil // the stream goes on while the origin is unreachable
	}
	s.originVersion, s.cdn = page.Edition, page.CDN
	if page.Log != s.log || page.Head < at.Number || page.Diverged(at) {
		s.fallBack(Mismatch, fmt.Errorf("the log of the origin is %q and ends with %d", page.Log, page.Head))
		return page, true, nil
	}
	if n := len(page.Events); n > 0 && s.expected == 0 {
		s.expected, s.expectedBy = page.Events[n-1].Number, time.Now().Add(checkGrace)
	}
	return page, false, nil
}
