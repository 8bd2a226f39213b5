package offer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// Config is what a Service needs. All fields are required.
type Config struct {
	Store    *store.Store
	AuditLog *auditlog.Log
	Keys     *access.Keys

	Endpoints int           // the limit of an account whose offer has none
	History   time.Duration // how long the service keeps events; below 0: forever
}

// Service manages offers. Its methods may be called from any goroutine.
type Service struct {
	store    *store.Store
	auditLog *auditlog.Log

	Groups *Groups

	endpoints int
	history   time.Duration
}

// New returns a Service.
func New(cfg Config) *Service {
	return &Service{store: cfg.Store, auditLog: cfg.AuditLog, endpoints: cfg.Endpoints, history: cfg.History,
		Groups: &Groups{store: cfg.Store, auditLog: cfg.AuditLog, keys: cfg.Keys}}
}

// defaults are the offers of an installation that has none.
// An administrator may change or delete them.
func defaults() []fieldmark.Offer {
	limits := func(reads, writes, endpoints, missions, days int) fieldmark.OfferLimits {
		return fieldmark.OfferLimits{ReadsPerMinute: reads, WritesPerMinute: writes, Endpoints: endpoints,
			MissionsPerDay: missions, HistoryDays: days}
	}
	return []fieldmark.Offer{
		// The rates are those of one key without an offer.
		{ID: "standard", Name: "Standard", Kind: fieldmark.OfferStandard, Limits: limits(600, 300, 10, 1000, 30),
			MaxKeyDays: fieldmark.DefaultKeyDays},
		{ID: "group", Name: "Group", Kind: fieldmark.OfferGroup, Limits: limits(3000, 1500, 50, 10_000, 90),
			MaxKeyDays: fieldmark.DefaultKeyDays},
		{ID: "enterprise", Name: "Enterprise", Kind: fieldmark.OfferEnterprise,
			Limits: limits(6000, 3000, 50, 100_000, 0)},
	}
}

// EnsureDefaults creates the default offers in a database without offers. It may be called any number of times.
// Several processes may start at once: the check and the writes share a transaction. A deleted
// default offer comes back only when no offer is left at all.
func (s *Service) EnsureDefaults(ctx context.Context) error {
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if some, err := tx.Offers(ctx, 1); err != nil || len(some) > 0 {
			return err
		}
		for _, o := range defaults() {
			o.Version, o.CreatedAt = 1, fieldmark.At(time.Now())
			o.UpdatedAt = o.CreatedAt
			if err := tx.PutOffer(ctx, &o); err != nil {
				return err
			}
		}
		return nil
	})
}

// List returns all offers in the order of their ids.
// There are at most fieldmark.MaxOffers, so the list has no pages.
func (s *Service) List(ctx context.Context) ([]fieldmark.Offer, error) {
	return s.store.Offers(ctx, fieldmark.MaxOffers)
}

// Get returns an offer; one that does not exist is CodeNotFound.
func (s *Service) Get(ctx context.Context, id string) (fieldmark.Offer, error) {
	o, err := s.store.Offer(ctx, id)
	return o, notFound(err)
}

// notFound turns a missing row into the CodeNotFound that callers see.
func notFound(err error) error {
	return store.NotFound(err, "there is no such offer")
}

// Put creates an offer, or replaces one whose version is among versions; nil means any, and an
// empty list none. It applies to all accounts of the offer at once. A change that changes
// nothing keeps the version and adds no audit log entry.
func (s *Service) Put(ctx context.Context, id string, r fieldmark.OfferRequest, versions []int) (o fieldmark.Offer,
	err error) {
	bad := Validate(&r)
	if !fieldmark.ValidAccount(id) { // the same characters, because both appear in commands and addresses
		bad.Add("/id", "pattern", "must be 1 to 64 of a-z, 0-9, - and _, beginning with a letter or digit")
	}
	if err := bad.Err(); err != nil {
		return o, err
	}
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		// The transaction may run twice after a conflict, so everything it changes is set
		// inside it.
		now := fieldmark.At(time.Now())
		o = fieldmark.Offer{ID: id, Name: r.Name, Kind: r.Kind, Limits: r.Limits, Scopes: r.Scopes,
			MaxKeyDays: r.MaxKeyDays, Note: r.Note, Version: 1, CreatedAt: now, UpdatedAt: now}
		old, err := tx.Offer(ctx, id)
		created := errors.Is(err, store.ErrNotFound)
		if err != nil && !created {
			return err
		}
		if versions != nil && !slices.Contains(versions, old.Version) {
			return fieldmark.Errorf(fieldmark.CodeVersionMismatch, "the offer has version %d", old.Version)
		}
		if created {
			if err := s.requireRoom(ctx, tx); err != nil {
				return err
			}
			if err := tx.PutOffer(ctx, &o); err != nil {
				return err
			}
			return s.auditLog.Append(ctx, tx, "offer.created", id, nil, o)
		}
		// A repeated request, such as one of a deployment script, leaves version and audit log
		// as they are.
		if same(old, r) {
			o = old
			return nil
		}
		// Sub-accounts take their limits from the offer of their parent. Without a group offer
		// they would have none.
		if old.Kind == fieldmark.OfferGroup && r.Kind != fieldmark.OfferGroup {
			if err := requireNoGroups(ctx, tx, id); err != nil {
				return err
			}
		}
		o.Version, o.CreatedAt, o.Accounts = old.Version+1, old.CreatedAt, old.Accounts
		if err := tx.PutOffer(ctx, &o); err != nil {
			return err
		}
		return s.auditLog.Append(ctx, tx, "offer.updated", id, old, o)
	})
	if err != nil {
		return o, fmt.Errorf("put offer %s: %w", id, err)
	}
	return o, nil
}

// requireRoom returns an error if there are MaxOffers offers.
// The limit keeps the list of offers, which pages and commands show whole, readable.
func (s *Service) requireRoom(ctx context.Context, tx *store.Tx) error {
	all, err := tx.Offers(ctx, fieldmark.MaxOffers)
	if err == nil && len(all) >= fieldmark.MaxOffers {
		return fieldmark.Errorf(fieldmark.CodeTooMany, "there are at most %d offers", fieldmark.MaxOffers)
	}
	return err
}

// requireNoGroups returns an error if an account with an offer has sub-accounts.
func requireNoGroups(ctx context.Context, tx *store.Tx, id string) error {
	n, err := tx.SubAccountsUnder(ctx, id)
	if err == nil && n > 0 {
		return validation.Error("/kind", "conflict", "accounts with this offer have sub-accounts; it must stay group")
	}
	return err
}

// same reports whether a request would leave an offer as it is. Scopes are compared in order:
// Validate has sorted those of the request, and stored ones were sorted before.
func same(o fieldmark.Offer, r fieldmark.OfferRequest) bool {
	return o.Name == r.Name && o.Kind == r.Kind && o.Limits == r.Limits && slices.Equal(o.Scopes, r.Scopes) &&
		o.MaxKeyDays == r.MaxKeyDays && o.Note == r.Note
}

// Delete removes an offer whose version is among versions; nil means any. An offer that
// accounts have is CodeOfferInUse.
// Accounts are never left without the limits that were agreed: they get another offer first.
func (s *Service) Delete(ctx context.Context, id string, versions []int) error {
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		old, err := tx.Offer(ctx, id)
		if err != nil {
			return notFound(err)
		}
		if versions != nil && !slices.Contains(versions, old.Version) {
			return fieldmark.Errorf(fieldmark.CodeVersionMismatch, "the offer has version %d", old.Version)
		}
		if old.Accounts > 0 {
			return fieldmark.Errorf(fieldmark.CodeOfferInUse,
				"the number of accounts with this offer is %d; give them another one first", old.Accounts)
		}
		if err := tx.DeleteOffer(ctx, id); err != nil {
			return err
		}
		return s.auditLog.Append(ctx, tx, "offer.deleted", id, old, nil)
	})
	if err != nil {
		return fmt.Errorf("delete offer %s: %w", id, err)
	}
	return nil
}

// Validate returns everything that is wrong with an offer, and sorts its scopes.
func Validate(r *fieldmark.OfferRequest) validation.Errors {
	var bad validation.Errors
	if n := utf8.RuneCountInString(r.Name); n < 1 || n > fieldmark.MaxOfferName {
		bad.Add("/name", "range", fmt.Sprintf("must have 1 to %d characters", fieldmark.MaxOfferName))
	}
	bad.Line("/name", r.Name)
	if utf8.RuneCountInString(r.Note) > fieldmark.MaxOfferNote {
		bad.Add("/note", "range", fmt.Sprintf("must have at most %d characters", fieldmark.MaxOfferNote))
	}
	bad.Line("/note", r.Note)
	if !slices.Contains(fieldmark.OfferKinds(), r.Kind) {
		bad.Add("/kind", "enum", fmt.Sprintf("must be one of %v", fieldmark.OfferKinds()))
	}
	for _, f := range []struct {
		pointer    string
		n, highest int
	}{
		{"/limits/readsPerMinute", r.Limits.ReadsPerMinute, fieldmark.MaxRate},
		{"/limits/writesPerMinute", r.Limits.WritesPerMinute, fieldmark.MaxRate},
		{"/limits/endpoints", r.Limits.Endpoints, fieldmark.MaxOfferEndpoints},
		{"/limits/missionsPerDay", r.Limits.MissionsPerDay, fieldmark.MaxMissionsPerDay},
		{"/limits/historyDays", r.Limits.HistoryDays, fieldmark.MaxOfferHistory},
		{"/maxKeyDays", r.MaxKeyDays, fieldmark.MaxKeyDays},
	} {
		if f.n < 0 || f.n > f.highest {
			bad.Add(f.pointer, "range", fmt.Sprintf("must be 1 to %d, or 0 for the default of the service", f.highest))
		}
	}
	// Sorted, so that duplicates are neighbours and equal requests are stored equally.
	slices.Sort(r.Scopes)
	for i, scope := range r.Scopes {
		pointer := fmt.Sprintf("/scopes/%d", i)
		if !slices.Contains(fieldmark.Scopes(), scope) {
			bad.Add(pointer, "enum", fmt.Sprintf("must be one of %v", fieldmark.Scopes()))
		} else if scope == fieldmark.ScopeAdmin {
			bad.Add(pointer, "enum", "keys for the admin API are not subject to offers")
		} else if i > 0 && r.Scopes[i-1] == scope {
			bad.Add(pointer, "conflict", "is listed twice")
		} else if scope == fieldmark.ScopeAccountManage && r.Kind != fieldmark.OfferGroup {
			bad.Add(pointer, "conflict", "only a group offer can have it")
		}
	}
	return bad
}
