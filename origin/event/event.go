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
	e.ForEdges = ForEdges(&e.Event)
	if err := tx.AppendEvent(ctx, &e); err != nil {
		return 0, err
	}
	if account == "" {
		return e.Number, nil
	}
	// deliveries are rows of the same transaction: an endpoint that is created later gets later
	// events only
	endpoints, err := tx.Subscribers(ctx, account, time.Now()) // they expire in real time, also in a test world
	if err != nil {
		return 0, err
	}
	for i := range endpoints {
		if !endpoints[i].Subscribes(e.Type, e.Labels) || to != nil && !to(endpoints[i].ID) {
			continue
		}
		// Beyond the limit the event can still be polled.
		if ok, err := TakeDelivery(ctx, tx, account); err != nil || !ok {
			return e.Number, err
		}
		if err := tx.AddDelivery(ctx, fieldmark.NewID(fieldmark.PrefixDelivery, now), &endpoints[i], e.Number,
			e.Subject,
			now); err != nil {
			return 0, err
		}
	}
	return e.Number, nil
}

// TakeDelivery counts a delivery to an endpoint of an account, and reports whether the account may have it: a test
// world has fieldmark.TestDeliveriesPerDay, by the real time, and others have no limit.
func TakeDelivery(ctx context.Context, tx *store.Tx, account string) (bool, error) {
	if !fieldmark.IsTestAccount(account) {
		return true, nil
	}
	today := time.Now().Unix() / int64(24*time.Hour/time.Second)
	return tx.TakeDelivery(ctx, account, today, fieldmark.TestDeliveriesPerDay)
}
