package store

import (
	"context"
	"fmt"

	"github.com/fieldmark/fieldmark"
)

// PutAccount makes an account unless it is there.
func (t *Tx) PutAccount(ctx context.Context, id string, at fieldmark.Time) error {
	_, err := t.exec(ctx, `INSERT INTO account (id, created_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING`, id, at.Micros())
	if err != nil {
		return fmt.Errorf("put account %s: %w", id, err)
	}
	return nil
}

// HasAccount reports whether there is an account with the given id.
func (t *Tx) HasAccount(ctx context.Context, id string) (bool, error) {
	var n int64
	if err := t.queryRow(ctx, `SELECT COUNT(*) FROM account WHERE id = $1`, id).Scan(&n); err != nil {
		return false, fmt.Errorf("look for account %s: %w", id, err)
	}
	return n > 0, nil
}
