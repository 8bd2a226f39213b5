package store

import (
	"context"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
)

// Key is an API key and what proves it.
type Key struct {
	fieldmark.Key
	Hash        string // of the token, in base 64
	HashVersion int    // how it was made
}

const keyColumns = `id, public, hash, hash_version, account, name, scopes, created_at, expires_at, revoked_at, last_used_at, rate_reads, rate_writes`

func scanKey(row scanner) (k Key, err error) {
	var rate fieldmark.RateLimit
	err = row.Scan(&k.ID, &k.Prefix, &k.Hash, &k.HashVersion, &k.Account, &k.Name, document{&k.Scopes},
		instant{&k.CreatedAt}, maybe{&k.ExpiresAt}, maybe{&k.RevokedAt}, maybe{&k.LastUsedAt}, &rate.Reads, &rate.Writes)
	if rate != (fieldmark.RateLimit{}) {
		k.RateLimit = &rate
	}
	return k, none(err)
}

// AddKey adds a key.
func (t *Tx) AddKey(ctx context.Context, k *Key) error {
	scopes, err := text(k.Scopes)
	if err != nil {
		return fmt.Errorf("write the scopes of key %s: %w", k.ID, err)
	}
	var rate fieldmark.RateLimit
	if k.RateLimit != nil {
		rate = *k.RateLimit
	}
	_, err = t.exec(ctx, `INSERT INTO api_key (id, public, hash, hash_version, account, name, scopes, created_at, expires_at, rate_reads, rate_writes)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		k.ID, k.Prefix, k.Hash, k.HashVersion, k.Account, k.Name, scopes, k.CreatedAt.Micros(), micros(k.ExpiresAt), rate.Reads, rate.Writes)
	if err != nil {
		return fmt.Errorf("add key %s: %w", k.ID, err)
	}
	return nil
}

// KeyByPublic reads a key by the public part of its token.
func (s *Store) KeyByPublic(ctx context.Context, public string) (Key, error) {
	k, err := scanKey(s.queryRow(ctx, `SELECT `+keyColumns+` FROM api_key WHERE public = $1`, public))
	if err != nil {
		return Key{}, fmt.Errorf("read a key by its public part: %w", err)
	}
	return k, nil
}

// Key reads a key as the transaction sees it.
func (t *Tx) Key(ctx context.Context, id string) (Key, error) {
	k, err := scanKey(t.queryRow(ctx, `SELECT `+keyColumns+` FROM api_key WHERE id = $1`, id))
	if err != nil {
		return Key{}, fmt.Errorf("read key %s: %w", id, err)
	}
	return k, nil
}

// Keys lists up to limit keys, the newest first.
func (s *Store) Keys(ctx context.Context, limit int) ([]Key, error) {
	rows, err := s.query(ctx, `SELECT `+keyColumns+` FROM api_key ORDER BY id DESC LIMIT $1`, limit)
	list, err := collect(rows, err, scanKey)
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	return list, nil
}

// RevokeKey notes that a key was revoked.
func (t *Tx) RevokeKey(ctx context.Context, id string, at fieldmark.Time) error {
	if _, err := t.exec(ctx, `UPDATE api_key SET revoked_at = $1 WHERE id = $2`, at.Micros(), id); err != nil {
		return fmt.Errorf("revoke key %s: %w", id, err)
	}
	return nil
}

// TouchKey notes that a key was used.
func (t *Tx) TouchKey(ctx context.Context, id string, at time.Time) error {
	if _, err := t.exec(ctx, `UPDATE api_key SET last_used_at = $1 WHERE id = $2`, at.UnixMicro(), id); err != nil {
		return fmt.Errorf("touch key %s: %w", id, err)
	}
	return nil
}
