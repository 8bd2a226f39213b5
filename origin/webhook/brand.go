package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// checkBrands returns the errors of what an endpoint watches.
func checkBrands(r *fieldmark.EndpointRequest) (bad validation.Errors) {
	switch {
	case len(r.Brands) > fieldmark.MaxWatchedBrands:
		bad.Add("/brands", "too_long", fmt.Sprintf("at most %d brands", fieldmark.MaxWatchedBrands))
	case len(r.Brands) > 0 && !namesBrandEvents(r.Events, false):
		bad.Add("/events", "required",
			"must contain a type of event about brands, such as score.changed; * matches those of brands you manage")
	}
	for i, slug := range r.Brands {
		if slices.Contains(r.Brands[:i], slug) {
			bad.Add(fmt.Sprintf("/brands/%d", i), "conflict", "is there twice")
		}
	}
	if t := r.ScoreThreshold; t != nil && (*t < minThreshold || *t > maxThreshold) {
		bad.Add("/scoreThreshold", "range", fmt.Sprintf("must be %v to %v points", minThreshold, maxThreshold))
	}
	return bad
}

// namesBrandEvents reports whether a pattern other than * matches events about brands, private
// ones included or not.
func namesBrandEvents(patterns []string, private bool) bool {
	return slices.ContainsFunc(event.Kinds(), func(k event.Kind) bool {
		return k.Type.AboutBrand() && (private || !event.Private(k.Type)) && event.Named(patterns, k.Type)
	})
}

// requireBrands returns the errors of an endpoint that subscribes to events about brands, but
// would receive none: it names no brand, and its account manages none.
func requireBrands(ctx context.Context, db store.ClaimReader, account string,
	r *fieldmark.EndpointRequest) (bad validation.Errors, err error) {
	if len(r.Brands) > 0 || !namesBrandEvents(r.Events, true) {
		return nil, nil
	}
	managed, err := db.ManagedBrands(ctx, account)
	if err == nil && len(managed) == 0 {
		bad.Add("/brands", "required", "must list the brands whose events are sent, because you manage no brand")
	}
	return bad, err
}

// checkAccount returns the error of an account that has as many endpoints, or watches as many
// brands, as it may with another endpoint for brands.
func checkAccount(ctx context.Context, tx *store.Tx, e *store.Endpoint, now time.Time) error {
	live, err := tx.Subscribers(ctx, e.Account, now)
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(slices.Clone(live), func(s store.Subscriber) bool { return s.ID == e.ID })
	small, err := tx.MadeByClaim(ctx, e.Account)
	if err != nil {
		return err
	}
	switch {
	case fieldmark.IsTestAccount(e.Account) && len(others) >= fieldmark.TestEndpoints:
		err = tooManyEndpoints(fieldmark.TestEndpoints)
	case small && len(others) >= fieldmark.ClaimEndpoints:
		err = tooManyEndpoints(fieldmark.ClaimEndpoints)
	case e.Customer != "":
		err = checkCustomer(e, others)
	case withoutCustomer(others) >= MaxEndpoints:
		err = tooManyEndpoints(MaxEndpoints)
	}
	if err != nil {
		return err
	}
	if err := checkOffer(ctx, tx, e); err != nil || !small {
		return err
	}
	n, err := tx.CountWatches(ctx, e.Account, e.ID)
	if err == nil && n+len(e.Brands) > fieldmark.ClaimWatches {
		err = validation.Error("/brands", "too_long",
			fmt.Sprintf("all endpoints of your account watch at most %d brands", fieldmark.ClaimWatches))
	}
	return err
}

func tooManyEndpoints(most int) error {
	return validation.Error("", "conflict", fmt.Sprintf("your account has at most %d endpoints", most))
}

// checkOffer returns CodeTooMany if the offer of an account allows no other endpoint. The
// sub-accounts of a group share the limit.
func checkOffer(ctx context.Context, tx *store.Tx, e *store.Endpoint) error {
	o, err := tx.OfferOf(ctx, e.Account)
	if errors.Is(err, store.ErrNotFound) || err == nil && o.Limits.Endpoints == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	n, err := tx.GroupEndpoints(ctx, e.Account, e.ID)
	if err == nil && n >= o.Limits.Endpoints {
		err = fieldmark.Errorf(fieldmark.CodeTooMany, "the offer of the account allows %d endpoints",
			o.Limits.Endpoints)
	}
	return err
}

// watched resolves the brands that an endpoint watches: aliases to their brands, sorted.
func watched(ctx context.Context, tx *store.Tx, brands []fieldmark.Slug) ([]fieldmark.Slug, error) {
	var bad validation.Errors
	var found []fieldmark.Slug
	for i, slug := range brands {
		to, err := tx.ResolveAlias(ctx, slug)
		if errors.Is(err, store.ErrNotFound) {
			to, err = slug, nil
		}
		if err != nil {
			return nil, err
		}
		b, err := tx.Brand(ctx, to)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		if !b.Public {
			bad.Add(fmt.Sprintf("/brands/%d", i), "not_found", "there is no such brand")
		}
		found = append(found, to)
	}
	slices.Sort(found)
	return slices.Compact(found), bad.Err()
}
