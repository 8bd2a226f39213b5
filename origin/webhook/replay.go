package webhook

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// Limits of lists and replays.
const (
	MaxDeliveries   = 500 // in one response
	maxReplays      = 50  // in one response, and concurrently
	replayStep      = 200 // rows read in one transaction, to let other writers in
	maxPolledEvents = 500 // in one response
	maxPolledBytes  = 4 << 20
	pruneBatch      = 500 // rows deleted in one transaction
	replayPause     = 10 * time.Millisecond
)

// errNoDelivery is the same for an unknown id and for an id of another account.
func errNoDelivery() error {
	return fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such delivery")
}

// DeliveryPage selects deliveries to list.
type DeliveryPage struct {
	Endpoint string // empty: those of every endpoint
	Worlds   bool   // without Endpoint: those of test worlds, instead of all live ones
	State    fieldmark.DeliveryState
	Type     string // of the event, or a prefix and .*, for Stats.Search; empty: every type
	Cursor   string
	Limit    int
}

// searched is how many deliveries a search considers, which takes 10 ms: a rare type must not read
// all of them. The next page continues where the search ended.
const searched = 5_000

// Search is Deliveries by type of event, and of states without an index of their own. A page
// may be empty although there are more.
func (s *Stats) Search(ctx context.Context, p DeliveryPage) (fieldmark.List[fieldmark.Delivery], error) {
	if p.Type == "" && (p.State == "" || p.State == fieldmark.DeliveryFailed) {
		return s.service.Deliveries(ctx, p)
	}
	found := fieldmark.List[fieldmark.Delivery]{Data: []fieldmark.Delivery{}}
	before, err := parseDeliveryCursor(p.Cursor)
	f := store.DeliveryFilter{Endpoint: p.Endpoint, Worlds: p.Worlds, Shown: p.State, Type: p.Type, Before: before,
		Limit: p.Limit}
	if err == nil {
		f.From, err = s.service.store.OldestDelivery(ctx, f, searched)
	}
	if err == nil {
		found.Data, err = s.service.store.Deliveries(ctx, f, time.Now())
	}
	if err != nil {
		return found, err
	}
	last := f.From
	if len(found.Data) == p.Limit {
		last = found.Data[p.Limit-1].ID
	}
	if last != "" {
		found.HasMore, found.NextCursor = true, base64.RawURLEncoding.EncodeToString([]byte(last))
	}
	return found, nil
}

// Deliveries lists deliveries, the newest first. The state held is a part of due: the endpoint
// decides which of the two it is. Limit 0 is MaxDeliveries.
func (s *Service) Deliveries(ctx context.Context, p DeliveryPage) (fieldmark.List[fieldmark.Delivery], error) {
	var none fieldmark.List[fieldmark.Delivery]
	before, err := parseDeliveryCursor(p.Cursor)
	if err != nil {
		return none, err
	}
	if p.Limit <= 0 || p.Limit > MaxDeliveries {
		p.Limit = MaxDeliveries
	}
	if p.State == fieldmark.DeliveryHeld {
		p.State = fieldmark.DeliveryDue
	}
	rows, err := s.store.Deliveries(ctx, store.DeliveryFilter{Endpoint: p.Endpoint, Worlds: p.Worlds, State: p.State,
		Before: before, Limit: p.Limit + 1}, time.Now())
	if err != nil {
		return none, err
	}
	list := fieldmark.List[fieldmark.Delivery]{Data: rows}
	if len(rows) > p.Limit {
		list.Data, list.HasMore = rows[:p.Limit], true
		list.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(rows[p.Limit-1].ID))
	}
	return list, nil
}

// parseDeliveryCursor returns the id in a cursor; an empty cursor is an empty id.
func parseDeliveryCursor(cursor string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	id, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || !fieldmark.CheckID(fieldmark.PrefixDelivery, string(id)) {
		return "", fieldmark.Errorf(fieldmark.CodeInvalidCursor, "take the cursor from nextCursor of the page before")
	}
	return string(id), nil
}

// Delivery returns a delivery to an endpoint with all its attempts. A delivery to another
// endpoint is CodeNotFound.
func (s *Service) Delivery(ctx context.Context, endpoint, id string) (fieldmark.DeliveryRecord, error) {
	r, err := s.store.Delivery(ctx, id, time.Now())
	if errors.Is(err, store.ErrNotFound) || err == nil && r.EndpointID != endpoint {
		return r, errNoDelivery()
	}
	return r, err
}

// Resend sends a message again that was delivered or has failed, under the same id.
// A message that waits for a retry becomes due at once.
func (s *Service) Resend(ctx context.Context, endpoint, id string) (fieldmark.DeliveryRecord, error) {
	if _, err := s.Delivery(ctx, endpoint, id); err != nil {
		return fieldmark.DeliveryRecord{}, err
	}
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		to, err := tx.Subscriber(ctx, endpoint)
		if err != nil {
			return store.NotFound(err, "there is no such endpoint")
		}
		e, err := tx.Endpoint(ctx, endpoint, time.Now())
		if err != nil {
			return store.NotFound(err, "there is no such endpoint")
		}
		subject, err := tx.DeliverySubject(ctx, id)
		if err != nil {
			return store.NotFound(err, "there is no such delivery")
		}
		now := time.Now()
		if queued, err := tx.RequeueDelivery(ctx, id, &to, subject, now); err != nil {
			return err
		} else if queued {
			return countDelivery(ctx, tx, e.Account)
		}
		_, err = tx.ExpediteDeliveries(ctx, &to, id, now, 1)
		return err
	})
	if err != nil {
		return fieldmark.DeliveryRecord{}, fmt.Errorf("send delivery %s again: %w", id, err)
	}
	return s.Delivery(ctx, endpoint, id)
}

// StartReplay starts to send messages again. The replay continues in the background, also after
// a restart, until all are queued. It selects either what failed since a time, or all events
// after a number; events that are no longer kept, or beyond the history of the account's offer,
// are left out.
func (s *Service) StartReplay(ctx context.Context, account, endpoint string,
	r fieldmark.ReplayRequest) (fieldmark.Replay, error) {
	var none fieldmark.Replay
	row, err := s.store.Endpoint(ctx, endpoint, time.Now())
	if err := of(&row, account, err); err != nil {
		return none, err
	}
	var bad validation.Errors
	if (r.FailedSince == nil) == (r.AfterEvent == nil) {
		bad.Add("", "required", "say failedSince or afterEvent, one of the two")
	}
	if r.MissingOnly && r.AfterEvent == nil {
		bad.Add("/missingOnly", "conflict", "goes with afterEvent")
	}
	if r.AfterEvent != nil && *r.AfterEvent < 0 {
		bad.Add("/afterEvent", "range", "must be at least 0")
	}
	if err := validation.Errors(bad).Err(); err != nil {
		return none, err
	}
	now := time.Now()
	if r.Until == nil { // later events are sent anyway
		until, err := s.replayEnd(ctx, row.Account, now)
		if err != nil {
			return none, fmt.Errorf("start a replay: %w", err)
		}
		r.Until = &until
	}
	replay := store.Replay{Replay: fieldmark.Replay{
		ID: fieldmark.NewID(fieldmark.PrefixReplay, now), EndpointID: endpoint, ReplayRequest: r,
		State:     fieldmark.ReplayRunning,
		CreatedAt: fieldmark.At(now), UpdatedAt: fieldmark.At(now),
	}}
	if r.AfterEvent != nil {
		replay.LastEvent = *r.AfterEvent
	}
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.AddReplay(ctx, &replay) })
	if err != nil {
		return none, fmt.Errorf("start a replay: %w", err)
	}
	return replay.Replay, nil
}

// replayEnd returns the end of a replay that starts now: later than every event
// that the account has. Events have the time of the origin that appended them,
// whose clock may be ahead of this one.
func (s *Service) replayEnd(ctx context.Context, account string, now time.Time) (fieldmark.Time, error) {
	newest, err := s.store.NewestEventTime(ctx, account)
	if err != nil {
		return fieldmark.Time{}, err
	}
	if newest.After(now) {
		now = newest
	}
	return fieldmark.At(now.Add(time.Millisecond)), nil
}

// Replays lists the newest replays of an endpoint. There are at most maxReplays.
func (s *Service) Replays(ctx context.Context, account, endpoint string) ([]fieldmark.Replay, error) {
	row, err := s.store.Endpoint(ctx, endpoint, time.Now())
	if err := of(&row, account, err); err != nil {
		return nil, err
	}
	rows, err := s.store.Replays(ctx, endpoint, maxReplays)
	if err != nil {
		return nil, err
	}
	list := make([]fieldmark.Replay, len(rows))
	for i, r := range rows {
		list[i] = r.Replay
	}
	return list, nil
}

// replayer queues the messages of replays.
type replayer struct{ *Service }

// replay works on replays until ctx ends. Several origins may work on one: each
// step reads from the database how far it is. A replay whose step fails waits until
// running replays are published again; the others go on.
func (s *replayer) replay(ctx context.Context) error {
	failed := map[string]bool{} // since they were published
	for {
		begun := s.store.Watch(store.TopicReplays)
		running, err := s.store.RunningReplays(ctx, maxReplays)
		if err != nil && ctx.Err() == nil {
			s.log.Error("list running replays", slog.Any("error", err))
		}
		var next <-chan time.Time
		for _, r := range running {
			if failed[r.ID] || ctx.Err() != nil {
				continue
			}
			if failed[r.ID] = !s.tryStep(ctx, r.ID); !failed[r.ID] {
				next = time.After(replayPause) // between batches, other writers get their turn
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-begun:
			clear(failed)
		case <-next:
		}
	}
}

// tryStep runs one step and reports whether it succeeded. A panic is a
// failure of this replay alone.
func (s *replayer) tryStep(ctx context.Context, id string) (ok bool) {
	s.jobs.Protect(func() {
		err := s.step(ctx, id)
		if ok = err == nil; !ok && ctx.Err() == nil {
			s.log.Error("replay webhooks", slog.String("replay", id), slog.Any("error", err))
		}
	})
	return ok
}

// step processes the next batch of a replay. Its position is written in the same transaction as
// the deliveries: a step that runs again continues where the last commit ended, so no message
// is queued twice.
func (s *replayer) step(ctx context.Context, id string) error {
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		r, err := tx.RunningReplay(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		now := time.Now()
		e, err := tx.Endpoint(ctx, r.EndpointID, now)
		if errors.Is(err, store.ErrNotFound) {
			r.State = fieldmark.ReplayDone
			return tx.PutReplay(ctx, &r)
		}
		if err != nil {
			return err
		}
		var past []store.PastEvent
		if r.AfterEvent != nil {
			past, err = tx.PastEvents(ctx, e.ID, e.Account, r.LastEvent, r.Until.Std(), replayStep)
		} else {
			past, err = tx.FailedDeliveries(ctx, e.ID, r.LastDelivery, r.FailedSince.Std(), r.Until.Std(), replayStep)
		}
		if err != nil {
			return err
		}
		to, err := tx.Subscriber(ctx, e.ID)
		if err != nil {
			return err
		}
		since, err := historyStart(ctx, tx, e.Account)
		if err != nil {
			return err
		}
		for i, p := range past {
			r.LastEvent, r.LastDelivery = p.Event, p.Delivery
			r.Looked++
			if p.At.Std().Before(since) {
				continue
			}
			// A microsecond apart, so that they are sent in the order in which they happened.
			queued, err := requeue(ctx, tx, e.Account, &to, &r, p, now.Add(time.Duration(i)*time.Microsecond))
			if err != nil {
				return err
			}
			if queued {
				r.Queued++
			}
		}
		if len(past) < replayStep {
			r.State = fieldmark.ReplayDone
		}
		r.UpdatedAt = fieldmark.At(now)
		return tx.PutReplay(ctx, &r)
	})
}

// requeue queues one message of a replay, if it matches, is not already queued, and the account may
// have another delivery today. A delivery that exists keeps its id, so that receivers recognize the
// message.
func requeue(ctx context.Context, tx *store.Tx, account string, to *store.Subscriber, r *store.Replay,
	p store.PastEvent, at time.Time) (bool, error) {
	switch {
	case !to.Filter.Matches(p.Labels): // it may have changed since a delivery was made
		return false, nil
	case r.AfterEvent == nil: // it has failed
	case !to.Subscribes(p.Type, p.Labels) || p.Type == fieldmark.EventPing:
		return false, nil
	case p.Delivery == "" && p.Type.AboutBrand():
		return false, nil // of a brand that the endpoint did not watch, or less than its threshold
	case r.MissingOnly && p.State == fieldmark.DeliveryDone:
		return false, nil
	}
	if ok, err := event.TakeDelivery(ctx, tx, account); err != nil || !ok {
		return false, err
	}
	if p.Delivery == "" {
		return true, tx.AddDelivery(ctx, fieldmark.NewID(fieldmark.PrefixDelivery, at), to, p.Event, p.Subject, at)
	}
	return tx.RequeueDelivery(ctx, p.Delivery, to, p.Subject, at)
}

// Poll selects events of an account.
type Poll struct {
	After    int64    // number of the last event that is known
	Types    []string // patterns like those of an endpoint; none: all events
	Endpoint string   // also only those that this endpoint selects by its patterns and its filter; empty: all
	Thin     bool     // with ids instead of data
	Limit    int      // 0: maxPolledEvents
}

// PollEvents lists an account's events after a number, in the format of webhooks. Events beyond the
// history of the account's offer are left out. Numbers that are no longer kept are CodeCursorExpired.
func (s *Service) PollEvents(ctx context.Context, account string, p Poll) (fieldmark.PolledEvents, error) {
	after, limit := p.After, p.Limit
	none := fieldmark.PolledEvents{Data: []fieldmark.PolledEvent{}, Next: after}
	if limit <= 0 || limit > maxPolledEvents {
		limit = maxPolledEvents
	}
	endpoint, err := polledEndpoint(ctx, s.store, account, p.Endpoint)
	if err != nil {
		return none, err
	}
	// Read the head first: the page must not claim to cover events that it did not
	// read.
	head, err := s.store.Head(ctx)
	if err != nil {
		return none, err
	}
	oldest, err := s.store.Oldest(ctx)
	if err != nil {
		return none, err
	}
	if after > 0 && after < oldest-1 {
		return none, fieldmark.Errorf(fieldmark.CodeCursorExpired,
			"events up to %d are no longer kept; begin again with after=0 and read missions for what lies before",
			oldest-1)
	}
	since, err := historyStart(ctx, s.store, account)
	if err != nil {
		return none, err
	}
	rows, err := s.store.AccountEvents(ctx, account, after, limit+1)
	if err != nil {
		return none, err
	}
	page := none
	page.Next = max(after, head)
	size := 0
	for i := range rows {
		e := &rows[i]
		if size += len(e.Data); i == limit || size > maxPolledBytes && i > 0 {
			page.HasMore, page.Next = true, rows[i-1].Number
			break
		}
		page.Next = max(page.Next, e.Number)
		if !matches(p.Types, e.Type) || e.Time.Std().Before(since) || !selects(&endpoint, e.Type, e.Labels) {
			continue
		}
		m := Message{Envelope: fieldmark.Envelope{ID: e.ID, Type: e.Type, Timestamp: e.Time, Data: e.Data},
			Subject: e.Subject, Account: e.Account}
		envelope := m.Envelope
		if p.Thin {
			if envelope, err = m.Thin(); err != nil {
				return none, err
			}
		}
		page.Data = append(page.Data, fieldmark.PolledEvent{Number: e.Number, Envelope: envelope})
	}
	return page, nil
}

// polledEndpoint reads the endpoint whose events a client polls. Without an id it is the zero endpoint,
// which selects every event.
func polledEndpoint(ctx context.Context, db *store.Store, account, id string) (e store.Endpoint, err error) {
	if id == "" {
		return e, nil
	}
	e, err = db.Endpoint(ctx, id, time.Now())
	return e, of(&e, account, err)
}

// historyStart returns the time before which the offer of an account gives it no events; the zero
// time without such a limit.
func historyStart(ctx context.Context, db interface {
	OfferOf(ctx context.Context, account string) (fieldmark.Offer, error)
}, account string) (time.Time, error) {
	o, err := db.OfferOf(ctx, account)
	if errors.Is(err, store.ErrNotFound) || err == nil && o.Limits.HistoryDays == 0 {
		return time.Time{}, nil
	}
	return time.Now().AddDate(0, 0, -o.Limits.HistoryDays), err
}

func matches(patterns []string, t fieldmark.EventType) bool {
	for _, p := range patterns {
		if fieldmark.MatchEvent(p, t) {
			return true
		}
	}
	return len(patterns) == 0
}

// prune deletes what is older than the retention settings, in batches, and deliveries that are
// older than the history of the offer of their account. Several processes may prune at once: each
// batch deletes what it finds. Events of one account are not deleted, because edges follow all of
// them.
func (s *maintainer) prune(ctx context.Context) error {
	offers, err := s.store.Offers(ctx, fieldmark.MaxOffers)
	if err != nil {
		return err
	}
	now := time.Now()
	trim := func(keep time.Duration, some func(context.Context, *store.Tx, time.Time) (int64, error)) error {
		for n := int64(math.MaxInt64); keep > 0 && n >= pruneBatch && ctx.Err() == nil; {
			err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
				n, err = some(ctx, tx, now.Add(-keep))
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	for _, o := range offers {
		// 0 days are all that are kept.
		err := trim(time.Duration(o.Limits.HistoryDays)*24*time.Hour,
			func(ctx context.Context, tx *store.Tx, before time.Time) (int64, error) {
				return tx.PruneOfferDeliveries(ctx, o.ID, before, now, pruneBatch)
			})
		if err != nil {
			return err
		}
	}
	if divided, err := s.prunePartitions(ctx, now); divided || err != nil {
		return err
	}
	return errors.Join(
		trim(s.keepDeliveries, func(ctx context.Context, tx *store.Tx, before time.Time) (int64, error) {
			return tx.PruneDeliveries(ctx, before, now, pruneBatch)
		}),
		trim(s.keepEvents, func(ctx context.Context, tx *store.Tx, before time.Time) (int64, error) {
			return tx.PruneEvents(ctx, before, pruneBatch)
		}),
	)
}

// prunePartitions drops partitions whose rows are all older than the retention settings, and reports whether there are
// partitions. Then rows are not deleted one by one, so that the newest ones of a partition keep it whole.
func (s *maintainer) prunePartitions(ctx context.Context, now time.Time) (bool, error) {
	since := func(keep time.Duration) (at time.Time) {
		if keep > 0 {
			at = now.Add(-keep)
		}
		return at
	}
	status, err := s.store.MaintainPartitions(ctx, since(s.keepEvents), since(s.keepDeliveries))
	if status.Emptied { // others may have waited for a delivery
		err = errors.Join(err, s.store.Write(ctx,
			func(ctx context.Context, tx *store.Tx) error { return tx.PromoteWaiting(ctx, "", now) }))
	}
	return len(status.Ranges) > 0, err
}
