package event

import (
	"context"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/store/replica"
)

// Limits of one page of the log.
const (
	MaxPage      = 1000
	maxPageBytes = 4 << 20 // of data: an edge decodes a page in one piece
)

// Log reads the event log. Its methods may be called from any goroutine. While readers wait, one
// goroutine reads the database for all of them.
type Log struct {
	store *store.Store
	tail  *tail
}

// NewLog returns the log of a database.
func NewLog(s *store.Store) *Log { return &Log{store: s, tail: newTail(s)} }

// Head returns the number of the newest event, or 0 if the log is empty. Deleted events are
// counted: numbers are never used again.
func (l *Log) Head(ctx context.Context) (int64, error) { return l.store.Head(ctx) }

// ReadAt calls read, under whose context reads may see a replica that shows every change up to
// an event of a named log; see store.Store.ReadAt.
func (l *Log) ReadAt(ctx context.Context, log string, number int64, read func(context.Context) error) error {
	return l.store.ReadAt(ctx, replica.Position{Log: log, Event: number}, read)
}

// Query selects a page of the log.
type Query struct {
	After fieldmark.EventCursor
	// Limit of the events of the page; 0: MaxPage
	Limit int
	// Edges leaves out the events that edges do not act on, and the data that they do not need. The
	// page has Through.
	Edges bool
	// Wait for an event, at most fieldmark.MaxWait seconds.
	Wait time.Duration
	// Late: the wait is over; return what is known without a read of the database.
	Late bool
}

// Read returns events after a cursor. If the log has no later event, it waits. Three kinds of page
// are returned immediately, because new events would not make them usable for the reader: a page whose
// Head is below the cursor, a page that has Diverged from it (the reader applied events that this
// log does not have), and a page of a log that was renamed. The wait also ends with ctx, such as
// when the edge leaves.
//
// An event of this process ends the wait at once if edges act on it. Others, and those of other
// processes, are seen within pollInterval; the wait of an edge ends for them after advanceEvery at
// the latest, with an empty page that has Through.
func (l *Log) Read(ctx context.Context, q Query) (fieldmark.EventPage, error) {
	if q.Limit <= 0 || q.Limit > MaxPage {
		q.Limit = MaxPage
	}
	q.Wait = min(max(q.Wait, 0), fieldmark.MaxWait*time.Second)
	if q.Late {
		q.Wait = 0
	}
	timeout := time.NewTimer(q.Wait)
	defer timeout.Stop()
	read := l.readAll
	if q.Edges {
		read = l.readForEdges
	}
	page, err := read(ctx, &q, timeout.C)
	if err == nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return fieldmark.EventPage{}, fmt.Errorf("wait for events after %d: %w", q.After.Number, err)
	}
	return page, nil
}

// After is Read of complete events.
func (l *Log) After(ctx context.Context, after fieldmark.EventCursor, wait time.Duration, limit int) (
	fieldmark.EventPage, error) {
	return l.Read(ctx, Query{After: after, Wait: wait, Limit: limit})
}

// usable reports whether new events would make an empty page usable for the reader.
func usable(page *fieldmark.EventPage, after fieldmark.EventCursor) bool {
	return page.Head >= after.Number && !page.Diverged(after)
}

// readAll reads complete events, for readers that do not set Edges. They read the database
// themselves, but only when the log has grown.
func (l *Log) readAll(ctx context.Context, q *Query, timeout <-chan time.Time) (fieldmark.EventPage, error) {
	if q.Wait <= 0 {
		return l.page(ctx, q.After.Number, q.Limit)
	}
	l.tail.join()
	defer l.tail.release()
	for name := ""; ; {
		// Before the read: an event between them ends the wait.
		grown := l.tail.growth()
		page, err := l.page(ctx, q.After.Number, q.Limit)
		if err != nil || len(page.Events) > 0 || !usable(&page, q.After) || name != "" && page.Log != name {
			return page, err
		}
		name = page.Log
		select {
		case <-grown:
		case <-timeout:
			return page, nil
		case <-ctx.Done():
			return page, ctx.Err()
		}
	}
}

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

// readForEdges reads what edges act on from memory.
func (l *Log) readForEdges(ctx context.Context, q *Query, timeout <-chan time.Time) (fieldmark.EventPage, error) {
	t := l.tail
	t.join()
	defer t.release()
	// What was read too long ago, or in vain, is read again before it is used.
	need := t.needed()
	verified := false // a read began after this call
	for name := ""; ; {
		view, err := t.view(ctx, need, q.After.Number, q.Limit)
		if err != nil {
			return fieldmark.EventPage{}, err
		}
		page := view.page
		if !view.held {
			return l.older(ctx, q.After.Number, q.Limit)
		}
		ok := usable(&page, q.After)
		if ok && (len(page.Events) > 0 || q.After.Number < view.announced) || name != "" && page.Log != name {
			return page, nil
		}
		// Another origin may have read the log later than this one: only a newer read shows that the
		// log lacks what the reader has applied. And a reader that does not wait needs the answer now.
		if !verified && (!ok || q.Wait <= 0 && !q.Late) {
			verified, need = true, t.request()
			continue
		}
		if !ok || q.Wait <= 0 {
			return page, nil
		}
		name = page.Log
		select {
		case <-view.changed:
			// A failed read ends the wait with its error.
			need = max(need, t.lastDone())
		case <-timeout:
			return page, nil
		case <-ctx.Done():
			return page, ctx.Err()
		}
	}
}

// older reads a page from before the events in memory, for an edge that is far behind.
func (l *Log) older(ctx context.Context, after int64, limit int) (page fieldmark.EventPage, err error) {
	at, events, err := l.store.LogTail(ctx, after, limit, maxPageBytes, edgeDataTypes())
	if err != nil {
		return page, err
	}
	page.Log, page.Head, page.Oldest, page.AfterID = at.Name, at.Head, at.Oldest, at.AfterID
	for i := range events {
		if ForEdges(&events[i]) {
			page.Events = append(page.Events, events[i])
		}
	}
	if n := len(events); n > 0 {
		page.Through, page.ThroughID = events[n-1].Number, events[n-1].ID
	}
	return page, nil
}
