package origin

import (
	"context"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// MaxAccounts bounds a list of accounts.
const MaxAccounts = 1000

// PutAccount makes an account or changes what it is called, and reports whether
// it was made.
func (s *Service) PutAccount(ctx context.Context, id string, r fieldmark.AccountRequest) (a fieldmark.Account, made bool, err error) {
	bad := validation.Errors(r.Check())
	if !fieldmark.ValidAccount(id) {
		bad.Add("/id", "pattern", "must be 1 to 64 of a-z, 0-9, - and _, beginning with a letter or digit")
	}
	if err := validation.Errors(bad).Err(); err != nil {
		return a, false, err
	}
	a = fieldmark.Account{ID: id, Name: r.Name, Note: r.Note, CreatedAt: fieldmark.At(time.Now())}
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if made, err = tx.AddAccount(ctx, a); err != nil {
			return err
		}
		if made {
			return s.AuditLog.Append(ctx, tx, "account.create", id, nil, a)
		}
		old, err := tx.Account(ctx, id)
		if err != nil {
			return err
		}
		if a.CreatedAt = old.CreatedAt; a == old {
			return nil
		}
		if err := tx.NameAccount(ctx, a); err != nil {
			return err
		}
		return s.AuditLog.Append(ctx, tx, "account.update", id, old, a)
	})
	if err != nil {
		return a, false, fmt.Errorf("put account %s: %w", id, err)
	}
	return a, made, nil
}

// Accounts lists accounts by id.
func (s *Service) Accounts(ctx context.Context) ([]fieldmark.Account, error) {
	return s.store.Accounts(ctx, MaxAccounts)
}
