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

// AddAccount makes an account and reports whether its id was free.
func (t *Tx) AddAccount(ctx context.Context, a fieldmark.Account) (bool, error) {
	n, err := t.exec(ctx, `INSERT INTO account (id, name, note, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO NOTHING`,
		a.ID, a.Name, a.Note, a.CreatedAt.Micros())
	if err != nil {
		return false, fmt.Errorf("add account %s: %w", a.ID, err)
	}
	return n == 1, nil
}

// NameAccount changes what an account is called.
func (t *Tx) NameAccount(ctx context.Context, a fieldmark.Account) error {
	if _, err := t.exec(ctx, `UPDATE account SET name = $1, note = $2 WHERE id = $3`, a.Name, a.Note, a.ID); err != nil {
		return fmt.Errorf("name account %s: %w", a.ID, err)
	}
	return nil
}

const accountColumns = `id, name, note, created_at`

func scanAccount(row scanner) (a fieldmark.Account, err error) {
	err = row.Scan(&a.ID, &a.Name, &a.Note, instant{&a.CreatedAt})
	return a, none(err)
}

// Account reads an account as the transaction sees it.
func (t *Tx) Account(ctx context.Context, id string) (fieldmark.Account, error) {
	a, err := scanAccount(t.queryRow(ctx, `SELECT `+accountColumns+` FROM account WHERE id = $1`, id))
	if err != nil {
		return a, fmt.Errorf("read account %s: %w", id, err)
	}
	return a, nil
}

// Accounts lists accounts by id.
func (s *Store) Accounts(ctx context.Context, limit int) ([]fieldmark.Account, error) {
	rows, err := s.query(ctx, `SELECT `+accountColumns+` FROM account ORDER BY id LIMIT $1`, limit)
	list, err := collect(rows, err, scanAccount)
	if err != nil {
		return nil, fmt.Errorf("list accounts: %w", err)
	}
	return list, nil
}

// HasAccount reports whether there is an account with the given id.
func (t *Tx) HasAccount(ctx context.Context, id string) (bool, error) {
	var n int64
	if err := t.queryRow(ctx, `SELECT COUNT(*) FROM account WHERE id = $1`, id).Scan(&n); err != nil {
		return false, fmt.Errorf("look for account %s: %w", id, err)
	}
	return n > 0, nil
}
