package origin

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/trace"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Bounds of one page of the log.
const (
	MaxEvents      = 1000
	maxEventBytes  = 4 << 20                // of data: an edge decodes a page in one piece
	eventLookAgain = 500 * time.Millisecond // how late another process's event may be seen; edges promise a second
)

// tell appends an event and makes it due to every endpoint of the account that
// asked for it. It belongs into the transaction of the change it tells of.
// Account is empty for what no endpoint can ask for.
func (s *Service) tell(ctx context.Context, tx *store.Tx, account string, e store.Event, data any) (int64, error) {
	now := time.Now()
	body, err := json.Marshal(data)
	if err != nil {
		return 0, fmt.Errorf("write the data of %s for %s: %w", e.Type, e.Subject, err)
	}
	if e.ID == "" {
		e.ID = fieldmark.NewID(fieldmark.PrefixEvent, now)
	}
	e.Time, e.Data, e.Account, e.Trace = fieldmark.At(now), body, account, trace.From(ctx).String()
	if err := tx.AppendEvent(ctx, &e); err != nil {
		return 0, err
	}
	if account == "" {
		return e.Number, nil
	}
	endpoints, err := tx.Subscribers(ctx, account, now)
	if err != nil {
		return 0, err
	}
	for i := range endpoints {
		if !endpoints[i].Wants(e.Type) {
			continue
		}
		if err := tx.AddDelivery(ctx, fieldmark.NewID(fieldmark.PrefixDelivery, now), &endpoints[i], e.Number, e.Subject, now); err != nil {
			return 0, err
		}
	}
	return e.Number, nil
}

// Head returns the number of the newest event, 0 while there is none.
func (s *Service) Head(ctx context.Context) (int64, error) { return s.store.Head(ctx) }

// Events returns the events after a number, as EventsAfter does.
func (s *Service) Events(ctx context.Context, after int64, wait time.Duration, limit int) (fieldmark.EventPage, error) {
	return s.EventsAfter(ctx, fieldmark.EventCursor{Number: after}, wait, limit)
}

// EventsAfter returns the events after a cursor. When there is none yet, it waits
// up to wait, at most fieldmark.MaxWait seconds. A page whose Head is below the
// cursor, or that has Diverged from it, is returned at once: the follower has
// applied events that this log does not have. So is one of a log that was renamed.
func (s *Service) EventsAfter(ctx context.Context, after fieldmark.EventCursor, wait time.Duration, limit int) (fieldmark.EventPage, error) {
	if limit <= 0 || limit > MaxEvents {
		limit = MaxEvents
	}
	timeout := time.NewTimer(min(max(wait, 0), fieldmark.MaxWait*time.Second))
	defer timeout.Stop()
	again := time.NewTicker(eventLookAgain)
	defer again.Stop()
	for log := ""; ; {
		grown := s.store.Watch(store.TopicEvents)
		page, err := s.page(ctx, after.Number, limit)
		if err != nil || len(page.Events) > 0 || page.Head < after.Number || page.Diverged(after) || wait <= 0 {
			return page, err
		}
		if log != "" && page.Log != log {
			return page, nil // it was renamed
		}
		log = page.Log
		select {
		case <-grown:
		case <-again.C:
		case <-timeout.C:
			return page, nil
		case <-ctx.Done():
			return fieldmark.EventPage{}, fmt.Errorf("wait for events after %d: %w", after.Number, ctx.Err())
		}
	}
}

func (s *Service) page(ctx context.Context, after int64, limit int) (page fieldmark.EventPage, err error) {
	if page.Events, err = s.store.Events(ctx, after, limit, maxEventBytes); err != nil {
		return fieldmark.EventPage{}, err
	}
	at, err := s.store.LogStatus(ctx, after)
	if err != nil {
		return fieldmark.EventPage{}, err
	}
	page.Log, page.Head, page.Oldest, page.AfterID = at.Name, at.Head, at.Oldest, at.AfterID
	return page, nil
}
