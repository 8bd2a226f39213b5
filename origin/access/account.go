package access

import (
	"context"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// DefaultAccount owns what is created without naming an account.
const DefaultAccount = "default"

// RequireAccount returns CodeNotFound unless the account exists.
func RequireAccount(ctx context.Context, tx *store.Tx, account string) error {
	ok, err := tx.HasAccount(ctx, account)
	if err == nil && !ok {
		return fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such account")
	}
	return err
}
