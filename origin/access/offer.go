package access

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// keyLimits are the limits of the keys of an account.
type keyLimits struct {
	fieldmark.Offer
	sub bool // the account is a sub-account
}

// limitsOf returns the limits of the keys of an account. Without an offer they may have every scope
// but account:manage, which needs a group offer.
func limitsOf(ctx context.Context, tx *store.Tx, account string) (l keyLimits, err error) {
	a, err := tx.Account(ctx, account)
	if err != nil {
		return l, err
	}
	l.sub = a.Parent != ""
	if l.Offer, err = tx.OfferOf(ctx, account); errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return l, err
}

// allows reports whether a key may have a scope. One of a sub-account must not reach its siblings.
func (l *keyLimits) allows(scope fieldmark.Scope) bool {
	return l.Allows(scope) && !(l.sub && scope == fieldmark.ScopeAccountManage)
}

// CheckOffer returns every error of a key with these scopes and this lifetime that the offer of its account
// does not allow.
func CheckOffer(ctx context.Context, tx *store.Tx, account string, scopes []fieldmark.Scope, days int) error {
	o, err := limitsOf(ctx, tx, account)
	if err != nil {
		return err
	}
	var bad validation.Errors
	for i, scope := range scopes {
		if !o.allows(scope) {
			bad.Add(fmt.Sprintf("/scopes/%d", i), "conflict", "the offer of the account does not allow this scope")
		}
	}
	if o.MaxKeyDays > 0 && (days < 0 || days > o.MaxKeyDays) {
		bad.Add("/expiresInDays", "range",
			fmt.Sprintf("the offer of the account allows at most %d days", o.MaxKeyDays))
	}
	return bad.Err()
}

// limitKey takes from a key the scopes that the offer of its account does not allow, and the
// lifetime beyond that of the offer. A rotation must not fail for it: the key to replace may have
// leaked, and it has lost the same scopes already.
func limitKey(ctx context.Context, tx *store.Tx, k *store.Key, now time.Time) error {
	o, err := limitsOf(ctx, tx, fieldmark.LiveAccount(k.Account))
	if err != nil {
		return err
	}
	k.Scopes = slices.DeleteFunc(slices.Clone(k.Scopes), func(s fieldmark.Scope) bool { return !o.allows(s) })
	if len(k.Scopes) == 0 {
		return fieldmark.Errorf(fieldmark.CodeInsufficientScope,
			"the offer of the account allows no scope of this key; revoke it instead")
	}
	if o.MaxKeyDays > 0 {
		latest := fieldmark.At(now.AddDate(0, 0, o.MaxKeyDays))
		if k.ExpiresAt == nil || k.ExpiresAt.Std().After(latest.Std()) {
			k.ExpiresAt = &latest
		}
	}
	return nil
}
