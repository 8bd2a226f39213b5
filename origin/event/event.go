package event

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/trace"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Limits of one page of the log.
const (
	MaxPage      = 1000
	maxPageBytes = 4 << 20                // of data: an edge decodes a page in one piece
	pollInterval = 500 * time.Millisecond // the delay until another process's event is seen; edges promise a second
)

// Emit appends an event and creates a delivery to every endpoint of the account
// that subscribes to it. It must run in the transaction of the change, so that
// both are committed or neither. Account is empty for events that no endpoint can
// subscribe to. It returns the number of the event.
//
// Numbers follow the order of commits: the transaction that takes a number holds the one row
// that counts them until it ends, so a reader that has seen a number misses no lower one.
func Emit(ctx context.Context, tx *store.Tx, account string, e store.Event, data any) (int64, error) {
	return EmitTo(ctx, tx, account, e, data, nil)
}

// EmitTo is Emit with deliveries only to the endpoints that to reports true for; nil: to all
// that subscribe.
func EmitTo(ctx context.Context, tx *store.Tx, account string, e store.Event, data any,
	to func(endpoint string) bool) (int64, error) {
	// The times of all rows of a change are the same.
	now, err := tx.Now(ctx, account)
	if err != nil {
		return 0, err
	}
	body, err := json.Marshal(data)
	if err != nil {
		return 0, fmt.Errorf("encode the data of %s for %s: %w", e.Type, e.Subject, err)
	}
	// The caller sets the id of an event that it also returns to its client.
	if e.ID == "" {
		// of the real time, also in a test world: the log is pruned and searched by it
		e.ID = fieldmark.NewID(fieldmark.PrefixEvent, time.Now())
	}
	e.Time, e.Data, e.Account, e.Trace = fieldmark.At(now), body, account, trace.From(ctx).String()
	if err := tx.AppendEvent(ctx, &e); err != nil {
		return 0, err
	}
	if account == "" {
		return e.Number, nil
	}
	// deliveries are rows of the same transaction: an endpoint that is created later gets later
	// events only
	endpoints, err := tx.Subscribers(ctx, account, now)
	if err != nil {
		return 0, err
	}
	for i := range endpoints {
		if !endpoints[i].Subscribes(e.Type, e.Labels) || to != nil && !to(endpoints[i].ID) {
			continue
		}
		if fieldmark.IsTestAccount(account) {
			// Beyond the limit the event can still be polled.
			today := time.Now().Unix() / int64(24*time.Hour/time.Second)
			if ok, err := tx.TakeDelivery(ctx, account, today, fieldmark.TestDeliveriesPerDay); err != nil || !ok {
				return e.Number, err
			}
		}
		if err := tx.AddDelivery(ctx, fieldmark.NewID(fieldmark.PrefixDelivery, now), &endpoints[i], e.Number,
			e.Subject,
			now); err != nil {
			return 0, err
		}
	}
	return e.Number, nil
}

// Log reads the event log. Its methods may be called from any goroutine. Readers poll it; a
// commit of the same process wakes them at once, that of another one within pollInterval.
type Log struct{ store *store.Store }

// NewLog returns the log of a database.
func NewLog(s *store.Store) *Log { return &Log{store: s} }

// Head returns the number of the newest event, or 0 if the log is empty. Deleted events are
// counted: numbers are never used again.
func (l *Log) Head(ctx context.Context) (int64, error) { return l.store.Head(ctx) }

// After returns up to limit events after a cursor. If the log has no later event, it waits for
// up to wait, at most fieldmark.MaxWait seconds. Three kinds of page are returned immediately,
// because new events would not make them usable for the reader: a page whose Head is below the
// cursor, a page that has Diverged from it (the reader applied events that this log does not
// have), and a page of a log that was renamed. The wait also ends with ctx, such as when the
// edge leaves.
func (l *Log) After(ctx context.Context, after fieldmark.EventCursor, wait time.Duration,
	limit int) (fieldmark.EventPage, error) {
	if limit <= 0 || limit > MaxPage {
		limit = MaxPage
	}
	timeout := time.NewTimer(min(max(wait, 0), fieldmark.MaxWait*time.Second))
	defer timeout.Stop()
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	// Watch is called before each read: an event between them wakes the reader.
	for name := ""; ; {
		// Watch is called before the read: an event between them wakes the reader.
		grown := l.store.Watch(store.TopicEvents)
		page, err := l.page(ctx, after.Number, limit)
		if err != nil || len(page.Events) > 0 || page.Head < after.Number || page.Diverged(after) || wait <= 0 {
			return page, err
		}
		// The log was renamed while this reader waited: what it knows is of another log.
		// The log was renamed while this reader waited.
		if name != "" && page.Log != name {
			return page, nil
		}
		name = page.Log
		select {
		case <-grown:
		case <-poll.C:
		case <-timeout.C:
			return page, nil
		case <-ctx.Done():
			return fieldmark.EventPage{}, fmt.Errorf("wait for events after %d: %w", after.Number, ctx.Err())
		}
	}
}

// page returns the events after a number and the state of the log that a reader compares with
// its own.
// page returns the events after a number and the state of the log that a reader compares with
// its own.
func (l *Log) page(ctx context.Context, after int64, limit int) (page fieldmark.EventPage, err error) {
	if page.Events, err = l.store.Events(ctx, after, limit, maxPageBytes); err != nil {
		return fieldmark.EventPage{}, err
	}
	at, err := l.store.LogStatus(ctx, after)
	if err != nil {
		return fieldmark.EventPage{}, err
	}
	page.Log, page.Head, page.Oldest, page.AfterID = at.Name, at.Head, at.Oldest, at.AfterID
	return page, nil
}
