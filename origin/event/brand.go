package event

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Audience is who receives an event about a brand: accounts, each with the endpoints that
// the event is delivered to. An account without endpoints finds the event when it polls.
// It is computed once for a change and used for several events of it.
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
func BrandAudience(ctx context.Context, tx *store.Tx, slug fieldmark.Slug, t fieldmark.EventType) (Audience, error) {
	watches, err := tx.Watches(ctx, slug)
	if err != nil || len(watches) == 0 {
		return nil, err
	}
	b, err := tx.Brand(ctx, slug)
	if err != nil {
		return nil, err
	}
	// Events of a claim are of its account alone, also of a public brand.
	private := !b.Public || Private(t)
	to := Audience{}
	for _, w := range watches {
		switch {
		case w.Manages:
			to.add(w.Account, w.Endpoint, slices.ContainsFunc(w.Events, func(p string) bool {
				return fieldmark.MatchEvent(p, t)
			}))
		case !private && Named(w.Events, t):
			to.add(w.Account, w.Endpoint, true)
		}
	}
	return to, nil
}

// Private reports whether events of a type are for the account alone that manages the brand.
// They would reveal who owns a brand.
func Private(t fieldmark.EventType) bool { return strings.HasPrefix(string(t), "claim.") }

// Named reports whether a pattern other than * matches an event type.
func Named(patterns []string, t fieldmark.EventType) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return p != "*" && fieldmark.MatchEvent(p, t) })
}

// add enters an account, and its endpoint if that subscribes.
func (a Audience) add(account, endpoint string, subscribes bool) {
	if a[account] == nil {
		a[account] = map[string]bool{}
	}
	if subscribes {
		a[account][endpoint] = true
	}
}

// Emit appends an event about a brand for each account of the audience. The accounts are in the
// order of their ids, so that equal changes have equal logs.
func (a Audience) Emit(ctx context.Context, tx *store.Tx, slug fieldmark.Slug, t fieldmark.EventType, data any) error {
	for _, account := range slices.Sorted(maps.Keys(a)) {
		e := store.Event{Event: fieldmark.Event{Type: t}, Subject: string(slug)}
		if _, err := EmitTo(ctx, tx, account, e, data, func(id string) bool { return a[account][id] }); err != nil {
			return fmt.Errorf("emit %s of %s: %w", t, slug, err)
		}
	}
	return nil
}
