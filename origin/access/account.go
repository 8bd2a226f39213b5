package access

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// DefaultAccount owns what is created without naming an account.
const DefaultAccount = "default"

// MaxAccounts limits the number of accounts, so that one response lists all of them.
const MaxAccounts = 1000

// Accounts are the tenants: keys, calendars, endpoints and missions belong to one.
type Accounts struct {
	store    *store.Store
	auditLog *auditlog.Log
}

// Put creates an account or changes its name and note, and reports whether it was created. A
// change that changes nothing adds no audit log entry.
func (s *Accounts) Put(ctx context.Context, id string, r fieldmark.AccountRequest) (a fieldmark.Account, made bool,
	err error) {
	return s.PutAfter(ctx, nil, id, r)
}

// AccountVersion identifies the values of an account, for forms.
func AccountVersion(a *fieldmark.Account) string { return validation.VersionOf(a) }

// PutAfter is Put for an HTML form, which has every value: seen is the version of the account when the form was opened,
// "" if it is the form for a new one, and nil is no condition. An account that was changed or created since is
// CodeVersionMismatch, so that a form does not undo the change of another one. The same new account again is not.
func (s *Accounts) PutAfter(ctx context.Context, seen *string, id string, r fieldmark.AccountRequest) (
	a fieldmark.Account, made bool, err error) {
	bad := ValidateAccount(&r)
	if !fieldmark.ValidAccount(id) {
		bad.Add("/id", "pattern", "must be 1 to 64 of a-z, 0-9, - and _, beginning with a letter or digit")
	}
	if err := validation.Errors(bad).Err(); err != nil {
		return a, false, err
	}
	a = fieldmark.Account{ID: id, Name: r.Name, Note: r.Note, CreatedAt: fieldmark.At(time.Now()),
		FilterLabels: r.FilterLabels}
	if r.TimeZone != nil {
		a.TimeZone = *r.TimeZone
	}
	if r.DeviceTime != nil {
		a.DeviceTime = *r.DeviceTime
	}
	if r.Offer != nil {
		a.Offer = *r.Offer
	}
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if r.Offer != nil {
			if err := requireOffer(ctx, tx, id, a.Offer); err != nil {
				return err
			}
		}
		if made, err = s.CreateIn(ctx, tx, a); err != nil || made {
			return err
		}
		old, err := tx.Account(ctx, id)
		if err != nil {
			return err
		}
		again := seen != nil && *seen == "" && a.Name == old.Name && a.Note == old.Note
		if err := validation.IsCurrent(seen, AccountVersion(&old)); err != nil && !again {
			return err
		}
		if a.CreatedAt = old.CreatedAt; r.FilterLabels == nil {
			a.FilterLabels = old.FilterLabels
		}
		if r.TimeZone == nil {
			a.TimeZone = old.TimeZone
		}
		if r.DeviceTime == nil {
			a.DeviceTime = old.DeviceTime
		}
		if r.Offer == nil {
			a.Offer = old.Offer
		}
		relabeled := !slices.Equal(a.FilterLabels, old.FilterLabels)
		// A PUT that is repeated must not fill the audit log.
		if a.Name == old.Name && a.Note == old.Note && !relabeled && a.TimeZone == old.TimeZone &&
			a.DeviceTime == old.DeviceTime && a.Offer == old.Offer {
			return nil
		}
		if err := tx.UpdateAccount(ctx, a, relabeled); err != nil {
			return err
		}
		return s.auditLog.Append(ctx, tx, "account.updated", id, old, a)
	})
	if err != nil {
		return a, false, fmt.Errorf("put account %s: %w", id, err)
	}
	return a, made, nil
}

// requireOffer returns an error unless an account may have an offer: one that exists, and a group
// offer if the account has sub-accounts. An empty offer passes only without sub-accounts.
func requireOffer(ctx context.Context, tx *store.Tx, account, offer string) error {
	var kind fieldmark.OfferKind
	if offer != "" {
		o, err := tx.Offer(ctx, offer)
		if errors.Is(err, store.ErrNotFound) {
			return validation.Error("/offer", "unknown", "there is no such offer")
		}
		if err != nil {
			return err
		}
		kind = o.Kind
	}
	if kind == fieldmark.OfferGroup {
		return nil
	}
	n, err := tx.CountSubAccounts(ctx, account)
	if err == nil && n > 0 {
		return validation.Error("/offer", "conflict", "the account has sub-accounts; its offer must be a group offer")
	}
	return err
}

// SetOfferIn gives an account another offer, in a transaction.
func (s *Accounts) SetOfferIn(ctx context.Context, tx *store.Tx, id, offer string) error {
	if err := requireOffer(ctx, tx, id, offer); err != nil {
		return err
	}
	old, err := tx.Account(ctx, id)
	if err != nil || old.Offer == offer {
		return err
	}
	a := old
	a.Offer = offer
	if err := tx.UpdateAccount(ctx, a, false); err != nil {
		return err
	}
	return s.auditLog.Append(ctx, tx, "account.updated", id, old, a)
}

// CreateIn creates an account in a transaction and reports whether its id was free. The limit is
// checked after the row was added: the error takes the row back.
func (s *Accounts) CreateIn(ctx context.Context, tx *store.Tx, a fieldmark.Account) (bool, error) {
	if made, err := tx.AddAccount(ctx, a); err != nil || !made {
		return false, err
	}
	n, err := tx.CountAccounts(ctx)
	if err != nil {
		return false, err
	}
	if n > MaxAccounts {
		return false, validation.Error("", "conflict", fmt.Sprintf("there are at most %d accounts", MaxAccounts))
	}
	return true, s.auditLog.Append(ctx, tx, "account.created", a.ID, nil, a)
}

// List returns the accounts in the order of their ids.
func (s *Accounts) List(ctx context.Context) ([]fieldmark.Account, error) {
	return s.store.Accounts(ctx, MaxAccounts)
}

// RequireAccount returns CodeNotFound unless the account exists and is a live one: those who name
// an account cannot name the test account of another. It runs in the transaction that creates an
// object of the account.
// A check before the transaction could pass for an account that is deleted meanwhile.
func RequireAccount(ctx context.Context, tx *store.Tx, account string) error {
	if fieldmark.IsTestAccount(account) {
		return fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such account")
	}
	return RequireOwner(ctx, tx, account)
}

// RequireOwner is RequireAccount for the account of the key of a request, which may be a test
// account.
func RequireOwner(ctx context.Context, tx *store.Tx, account string) error {
	ok, err := tx.HasAccount(ctx, account)
	if err == nil && !ok {
		return fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such account")
	}
	return err
}
