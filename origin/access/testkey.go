package access

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// CreateTest creates a test key of the account of a live key, with all scopes that test keys may
// have unless the request names some. A world with fieldmark.TestKeys live keys is a conflict.
func (s *Keys) CreateTest(ctx context.Context, account string, r fieldmark.TestKeyRequest) (fieldmark.NewKey, error) {
	if r.Scopes == nil {
		r.Scopes = slices.DeleteFunc(fieldmark.Scopes(), func(s fieldmark.Scope) bool { return !s.AllowsTest() })
	}
	return s.Create(ctx, account, fieldmark.KeyRequest{Name: r.Name, Scopes: r.Scopes, ExpiresInDays: r.ExpiresInDays,
		Agent: r.Agent, Test: true})
}

// TestKeys lists the test keys of an account, the newest first.
func (s *Keys) TestKeys(ctx context.Context, account string) ([]fieldmark.Key, error) {
	rows, err := s.store.KeysOf(ctx, fieldmark.TestAccount(account), MaxKeys)
	list := make([]fieldmark.Key, len(rows))
	for i, row := range rows {
		list[i] = row.Key
	}
	return list, err
}

// RevokeTest revokes a test key of an account. Another key is CodeNotFound.
func (s *Keys) RevokeTest(ctx context.Context, account, id string) error {
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		k, err := tx.Key(ctx, id)
		if err == nil && k.Account != fieldmark.TestAccount(account) {
			err = store.ErrNotFound
		}
		if err != nil || k.RevokedAt != nil {
			return store.NotFound(err, "there is no such key")
		}
		_, err = s.RevokeIn(ctx, tx, k, "")
		return err
	})
}

// makeWorld creates the test account of an account, unless it exists. It filters missions by the
// same labels, and has the time zone and the rule for times of devices of the account.
func makeWorld(ctx context.Context, tx *store.Tx, account string, now time.Time) error {
	a, err := tx.Account(ctx, account)
	if err != nil {
		return err
	}
	a.ID, a.Name = fieldmark.TestAccount(account), cmp.Or(a.Name, account)+" (test)"
	a.Note, a.Offer, a.Parent, a.CreatedAt = "", "", "", fieldmark.At(now)
	_, err = tx.AddAccount(ctx, a)
	return err
}

// validateTestKey returns what is wrong with a request for a test key beyond what is wrong with any.
func validateTestKey(r *fieldmark.KeyRequest) (bad validation.Errors) {
	for i, scope := range r.Scopes {
		if !scope.AllowsTest() {
			bad.Add(fmt.Sprintf("/scopes/%d", i), "conflict", "a test key cannot have this scope")
		}
	}
	if r.ExpiresInDays < 0 || r.ExpiresInDays > fieldmark.TestKeyDays {
		bad.Add("/expiresInDays", "range", fmt.Sprintf("must be 1 to %d for a test key", fieldmark.TestKeyDays))
	}
	return bad
}
