package event

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Audience is who receives an event about a brand: accounts, each with the endpoints that
// the event is delivered to. An account without endpoints finds the event when it polls.
type Audience map[string]map[string]bool

// EmitBrand appends an event about a brand for each account of its BrandAudience. It must
// run in the transaction of the change, before the change ends the claim of an account that
// should receive it.
func EmitBrand(ctx context.Context, tx *store.Tx, slug fieldmark.Slug, t fieldmark.EventType, data any) error {
	to, err := BrandAudience(ctx, tx, slug, t)
	if err != nil {
		return err
	}
	return to.Emit(ctx, tx, slug, t, data)
}

// BrandAudience returns who receives events of a type about a brand: the account that manages
// it, and accounts whose endpoints watch the public brand and subscribe to the type. The
// pattern * matches only events of brands that the account manages: an account does not
// expect the events of its missions and those of other companies on the same subscription.
// Events of claims are private to the account that manages the brand.
func BrandAudience(ctx context.Context, tx *store.Tx, slug fieldmark.Slug, t fieldmark.EventType) (Audience, error) {
	to := Audience{}
	if err := to.addManager(ctx, tx, slug, t); err != nil {
		return nil, err
	}
	if strings.HasPrefix(string(t), "claim.") {
		return to, nil
	}
	b, err := tx.Brand(ctx, slug)
	if err != nil || !b.Public {
		return to, err
	}
	watches, err := tx.Watches(ctx, slug)
	if err != nil {
		return nil, err
	}
	for _, w := range watches {
		if Named(w.Events, t) {
			to.add(w.Account, w.Endpoint)
		}
	}
	return to, nil
}

// addManager adds the account that manages a brand, with its endpoints that subscribe to the
// type.
func (a Audience) addManager(ctx context.Context, tx *store.Tx, slug fieldmark.Slug, t fieldmark.EventType) error {
	claim, err := tx.ClaimOf(ctx, slug)
	if errors.Is(err, store.ErrNotFound) || err == nil && claim.Account == "" {
		return nil
	}
	if err != nil {
		return err
	}
	a[claim.Account] = map[string]bool{}
	endpoints, err := tx.Subscribers(ctx, claim.Account, time.Now())
	for i := range endpoints {
		if endpoints[i].Subscribes(t) {
			a.add(claim.Account, endpoints[i].ID)
		}
	}
	return err
}

// Named reports whether a pattern other than * matches an event type.
func Named(patterns []string, t fieldmark.EventType) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return p != "*" && fieldmark.MatchEvent(p, t) })
}

func (a Audience) add(account, endpoint string) {
	if a[account] == nil {
		a[account] = map[string]bool{}
	}
	a[account][endpoint] = true
}

// Emit appends an event about a brand for each account of the audience.
func (a Audience) Emit(ctx context.Context, tx *store.Tx, slug fieldmark.Slug, t fieldmark.EventType, data any) error {
	for _, account := range slices.Sorted(maps.Keys(a)) {
		e := store.Event{Event: fieldmark.Event{Type: t}, Subject: string(slug)}
		if _, err := EmitTo(ctx, tx, account, e, data, func(id string) bool { return a[account][id] }); err != nil {
			return fmt.Errorf("emit %s of %s: %w", t, slug, err)
		}
	}
	return nil
}
