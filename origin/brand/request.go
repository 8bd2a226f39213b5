package brand

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// putRequest stores a request of an owner in place of the pending one of its kind.
// An owner has one pending request of each kind: the newest replaces the one before.
func (s *Owners) putRequest(ctx context.Context, tx *store.Tx, account string, slug fieldmark.Slug,
	kind fieldmark.RequestKind, change fieldmark.BrandChange) (fieldmark.BrandRequest, error) {
	now := time.Now()
	at := fieldmark.At(now)
	r := fieldmark.BrandRequest{ID: fieldmark.NewID(fieldmark.PrefixChange, now), Brand: slug, Account: account,
		Kind: kind, State: fieldmark.RequestPending, Change: change, RequestedAt: at}
	pending, err := tx.BrandRequests(ctx, slug, fieldmark.RequestPending, "", maxOwnRequests)
	if err != nil {
		return r, err
	}
	for i := range pending {
		if old := &pending[i]; old.Kind == kind {
			old.State, old.DecidedAt = fieldmark.RequestReplaced, &at
			if err := tx.PutBrandRequest(ctx, old); err != nil {
				return r, err
			}
		}
	}
	return r, tx.PutBrandRequest(ctx, &r)
}

// Requests lists up to limit requests of owners in a state, the newest first, with ids below
// before.
// An empty state lists all.
func (s *Owners) Requests(ctx context.Context, state fieldmark.RequestState, before string,
	limit int) ([]fieldmark.BrandRequest, error) {
	return s.store.BrandRequests(ctx, "", state, before, limit)
}

// Request returns a request of an owner.
func (s *Owners) Request(ctx context.Context, id string) (fieldmark.BrandRequest, error) {
	r, err := s.store.BrandRequest(ctx, id)
	return r, store.NotFound(err, "there is no such request")
}

// Waiting counts what waits for an administrator. A contest of a brand also ends without one.
type Waiting struct {
	Disputes, Requests, Contests int
	Access                       int // requests for API keys
}

// Waiting counts what waits for an administrator.
func (s *Service) Waiting(ctx context.Context) (w Waiting, err error) {
	w.Disputes, w.Requests, w.Contests, w.Access, err = s.store.CountWaiting(ctx)
	return w, err
}

// DecideRequest approves or rejects a pending request of an owner. An approved one changes
// the brand.
// The first decision is final. A rejection needs a reason, which the owner sees.
func (s *Owners) DecideRequest(ctx context.Context, id string, d fieldmark.RequestDecision) (
	r fieldmark.BrandRequest, err error) {
	var bad validation.Errors
	if d.State != fieldmark.RequestApproved && d.State != fieldmark.RequestRejected {
		bad.Add("/state", "enum", "must be approved or rejected")
	}
	d.Answer = strings.TrimSpace(bad.Multiline("/answer", d.Answer))
	switch n := utf8.RuneCountInString(d.Answer); {
	case n > fieldmark.MaxDisputeAnswer:
		bad.Add("/answer", "range", fmt.Sprintf("must have at most %d characters", fieldmark.MaxDisputeAnswer))
	case n == 0 && d.State == fieldmark.RequestRejected:
		bad.Add("/answer", "required", "give the reason")
	}
	if err := bad.Err(); err != nil {
		return r, err
	}
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		// Checked in the transaction: the owner may have replaced it.
		if r, err = tx.BrandRequest(ctx, id); err != nil {
			return store.NotFound(err, "there is no such request")
		}
		if r.State != fieldmark.RequestPending {
			return fieldmark.Errorf(fieldmark.CodeRequestDecided, "this request was %s on %s", r.State,
				date(*r.DecidedAt))
		}
		before, at := r, fieldmark.At(time.Now())
		r.State, r.Answer, r.DecidedAt, r.DecidedBy = d.State, d.Answer, &at, auditlog.ActorName(ctx)
		if err := tx.PutBrandRequest(ctx, &r); err != nil {
			return err
		}
		if r.State == fieldmark.RequestApproved {
			if err := s.apply(ctx, tx, &r); err != nil {
				return err
			}
		}
		return s.auditLog.Append(ctx, tx, "brand_request.decided", r.ID, before, r)
	})
	if err != nil {
		return r, fmt.Errorf("decide request %s: %w", id, err)
	}
	return r, nil
}

// apply makes the change of an approved request to the brand as it is now. A profile is validated again: the rules
// may have changed since.
func (s *Owners) apply(ctx context.Context, tx *store.Tx, r *fieldmark.BrandRequest) error {
	b, err := tx.Brand(ctx, r.Brand)
	if err != nil {
		return err
	}
	if r.Kind == fieldmark.RequestProfile {
		profile := r.Change.ApplyProfile(b.Profile())
		if err := validateProfile(b.Brand, profile); err != nil {
			return err
		}
		_, err := s.applyProfile(ctx, tx, b.Brand, profile)
		return err
	}
	// A request names the aliases to add; those that exist stay.
	aliases, err := tx.Aliases(ctx, r.Brand)
	if err != nil {
		return err
	}
	_, err = s.brands.setAliases(ctx, tx, r.Brand, slices.Concat(aliases, r.Change.Aliases))
	return err
}
