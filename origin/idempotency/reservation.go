package idempotency

import (
	"context"
	"log/slog"
	"time"

	"github.com/fieldmark/fieldmark/origin/store"
)

// Reservation is a key that one request holds. The request saves its response under
// the key or releases it. If it does neither, because the process stops, repeats
// are CodeIdempotencyInFlight until Retention ends, so that the request runs at
// most once.
type Reservation struct {
	s       *Service
	key     Key
	outcome *store.Outcome
}

// Reserve reserves a key for a request whose effects and response are not one
// transaction: it sends something, runs long checks or works in batches. If a
// response was saved before, Reserve returns it and no Reservation.
func (s *Service) Reserve(ctx context.Context, k Key) (r *Reservation, saved Response, err error) {
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if saved, err = s.Load(ctx, tx, k); err != nil || saved.Replayed {
			return err
		}
		return s.Save(ctx, tx, k, Response{Status: reserved})
	})
	if err != nil || saved.Replayed {
		return nil, saved, err
	}
	return &Reservation{s: s, key: k, outcome: &store.Outcome{}}, Response{}, nil
}

// Context returns the context that the request must use for its effects, so that
// Release can detect them.
func (r *Reservation) Context(ctx context.Context) context.Context {
	return store.WithOutcome(ctx, r.outcome)
}

// Save saves the response for Retention. It is encrypted, because it may hold a
// secret that is shown once.
func (r *Reservation) Save(ctx context.Context, a Response) error {
	body := r.s.cipher.Seal(r.key.owner(), string(a.Body))
	return r.s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.SaveResponse(ctx, store.SavedResponse{Account: r.key.Account, Key: r.key.Name, Request: r.key.Request,
			Status: a.Status, Fields: a.Fields, Body: []byte(body), Sealed: true, At: time.Now()})
	})
}

// Release frees the key of a request that failed, so that it may be repeated. If
// the request may have had an effect, because it wrote something before it failed
// or the outcome of a commit is unknown, the key stays reserved: a repeat would
// have the effect twice.
func (r *Reservation) Release(ctx context.Context) error {
	if r.outcome.MayHaveCommitted() {
		r.s.log.Warn("idempotency key stays reserved: its request failed after it may have had an effect",
			slog.String("account", r.key.Account))
		return nil
	}
	return r.s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.DeleteSavedResponse(ctx, r.key.Account, r.key.Name)
	})
}
