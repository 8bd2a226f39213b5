package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/store"
)

// setState changes an endpoint's state in memory; the caller writes it. Enabling an endpoint
// resets its health, because its owner states that it works: otherwise an open circuit would
// keep the messages back. Only the time of the last success stays.
func setState(ctx context.Context, tx *store.Tx, row *store.Endpoint, to fieldmark.EndpointState, reason string) error {
	at := fieldmark.At(row.ChangedAt)
	row.State, row.StateReason, row.StateAt = to, reason, &at
	if to == fieldmark.EndpointPaused && reason == "" {
		row.StateReason = reasonPaused
	}
	if to != fieldmark.EndpointEnabled {
		return nil
	}
	row.StateReason = ""
	h, err := health(row)
	if err != nil {
		return err
	}
	fresh := &Health{LastSuccess: h.LastSuccess}
	b, err := json.Marshal(fresh)
	row.Health, row.OpenUntil = string(b), time.Time{}
	return errors.Join(err, putHealth(ctx, tx, row.ID, fresh))
}

// discardHeld fails the held deliveries that the owner chose to skip, before the endpoint is
// enabled. It works in batches, because there may be a month of them. before bounds it to
// deliveries that existed when the owner decided. It stops if another request has enabled the
// endpoint meanwhile.
func (s *Service) discardHeld(ctx context.Context, id string, choice fieldmark.HeldChoice) error {
	if choice == "" || choice == fieldmark.HeldDeliver {
		return nil
	}
	now := time.Now()
	before := fieldmark.NewID(fieldmark.PrefixDelivery, now)
	for n := int64(maxSkippedAtOnce); n == maxSkippedAtOnce; {
		err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			if stopped, err := isStopped(ctx, tx, id, now); err != nil || !stopped {
				n = 0
				return err
			}
			var err error
			n, err = tx.SkipHeldDeliveries(ctx, id, reasonSkipped, choice == fieldmark.HeldNewest, before, now,
				maxSkippedAtOnce)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// isStopped reports whether an endpoint is paused or disabled, so that its
// deliveries are held. Another request may have enabled it since it was read.
func isStopped(ctx context.Context, tx *store.Tx, id string, now time.Time) (bool, error) {
	e, err := tx.Endpoint(ctx, id, now)
	return e.State != fieldmark.EndpointEnabled, store.NotFound(err, "there is no such endpoint")
}

// expediteHeld makes all held deliveries due, before the endpoint is enabled.
// Otherwise the owner would wait for hours of retry schedule to see that the
// endpoint works.
func (s *Service) expediteHeld(ctx context.Context, id string) error {
	now := time.Now()
	for n := int64(maxSkippedAtOnce); n == maxSkippedAtOnce; {
		err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			if stopped, err := isStopped(ctx, tx, id, now); err != nil || !stopped {
				n = 0
				return err
			}
			to, err := tx.Subscriber(ctx, id)
			if err != nil {
				return store.NotFound(err, "there is no such endpoint")
			}
			n, err = tx.ExpediteDeliveries(ctx, &to, "", now, maxSkippedAtOnce)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// disable disables an endpoint and notifies its account. Its deliveries are held, and are sent
// after the owner has enabled it.
func (s *Service) disable(ctx context.Context, tx *store.Tx, e *store.Endpoint, h *Health, reason string,
	now time.Time) error {
	at := fieldmark.At(now)
	e.State, e.StateReason, e.StateAt, e.ChangedAt = fieldmark.EndpointDisabled, reason, &at, now
	if err := tx.PutEndpoint(ctx, e); err != nil {
		return err
	}
	s.log.Warn("webhook endpoint disabled", "endpoint", e.ID, "reason", reason)
	return emitNotice(ctx, tx, e, h, fieldmark.EventWebhookDisabled)
}

// emitNotice notifies an account about one of its endpoints. The event is delivered to the
// other endpoints of the account.
func emitNotice(ctx context.Context, tx *store.Tx, e *store.Endpoint, h *Health, kind fieldmark.EventType) error {
	since := h.FailingSince
	if since.IsZero() { // a successful response disabled it
		since = fieldmark.At(time.Now())
	}
	_, err := event.Emit(ctx, tx, e.Account, store.Event{Event: fieldmark.Event{Type: kind}, Subject: e.ID},
		fieldmark.EndpointNotice{
			EndpointID: e.ID, URL: e.URL, State: e.State, Reason: e.StateReason, FailingSince: since,
			LastError: h.LastError,
		})
	return err
}

// reviewHealth warns about endpoints that fail and disables those that have failed for days,
// whether or not messages are sent to them. An endpoint without messages has no attempts, and
// its failure would never be reviewed otherwise.
func (s *maintainer) reviewHealth(ctx context.Context) error {
	ids, err := s.store.FailingEndpoints(ctx, time.Now().Add(-FirstWarning), maxExpiredAtOnce)
	if err != nil {
		return err
	}
	var failed error
	for _, id := range ids {
		err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			return s.updateHealth(ctx, tx, id, nil)
		})
		failed = errors.Join(failed, err) // one bad row does not keep the others from being reviewed
	}
	return failed
}
