package store

import (
	"context"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
)

// Kept is an answer that is kept for repeats of the request it was given to.
type Kept struct {
	Account, Key string
	Request      fieldmark.Digest
	Mission      string // the mission it is about; empty when it is about none or several
	Status       int
	Fields       map[string]string
	Body         []byte
	Sealed       bool // the body is encrypted
	At           time.Time
}

const keptColumns = `k.request, COALESCE(k.mission, ''), k.status, k.fields, k.body, k.sealed = 1, k.at`

// scanKept reads an answer behind other columns.
func scanKept(row scanner, before ...any) (k Kept, err error) {
	err = row.Scan(append(before, &k.Request, &k.Mission, &k.Status, document{&k.Fields}, &k.Body, &k.Sealed, clock{&k.At})...)
	return k, none(err)
}

func kept(ctx context.Context, from asker, account, key string, since time.Time) (Kept, error) {
	k, err := scanKept(from.queryRow(ctx, `SELECT `+keptColumns+` FROM idempotency k
		WHERE k.account = $1 AND k.name = $2 AND k.at > $3`, account, key, since.UnixMicro()))
	if err != nil {
		return Kept{}, fmt.Errorf("look for a kept answer: %w", err)
	}
	k.Account, k.Key = account, key
	return k, nil
}

// Kept reads the answer kept under an account's key since a time; the error is
// ErrNone where there is none.
func (s *Store) Kept(ctx context.Context, account, key string, since time.Time) (Kept, error) {
	if s.dialect.prepares {
		return kept(ctx, s, account, key, since)
	}
	k, err := s.kept.get(ctx, KeptName{account, key})
	if err == nil && !k.At.After(since) {
		err = ErrNone
	}
	if err != nil {
		return Kept{}, fmt.Errorf("look for a kept answer: %w", none(err))
	}
	k.Account, k.Key = account, key
	return k, nil
}

const askKept = `SELECT n.i, ` + keptColumns + ` FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS n (account, name, i),
	LATERAL (SELECT * FROM idempotency k WHERE k.account = n.account AND k.name = n.name LIMIT 1) k`

func keptNames(names []KeptName) []any {
	return columns(names, func(n KeptName) []string { return []string{n.Account, n.Key} })
}

// keptBy asks for several callers.
func (s *Store) keptBy(ctx context.Context, names []KeptName) (map[KeptName]Kept, error) {
	return answers(ctx, s, names, askKept, keptNames(names), scanKept)
}

// Kept reads a kept answer as the transaction sees it.
func (t *Tx) Kept(ctx context.Context, account, key string, since time.Time) (Kept, error) {
	k, known := t.group.known.kept[KeptName{account, key}]
	if !known {
		return kept(ctx, t, account, key, since)
	}
	if k == nil || !k.At.After(since) {
		return Kept{}, fmt.Errorf("look for a kept answer: %w", ErrNone)
	}
	return *k, nil
}

// Keep keeps an answer in place of one that is too old.
func (t *Tx) Keep(ctx context.Context, k Kept) error {
	fields, err := text(k.Fields)
	if err != nil {
		return fmt.Errorf("write the fields of an answer: %w", err)
	}
	var mission any
	if k.Mission != "" {
		mission = k.Mission
	}
	err = t.add(ctx, `INSERT INTO idempotency (account, name, request, mission, status, fields, body, at, sealed)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (account, name) DO UPDATE SET request = excluded.request, mission = excluded.mission,
			status = excluded.status, fields = excluded.fields, body = excluded.body, at = excluded.at, sealed = excluded.sealed`,
		k.Account, k.Key, string(k.Request), mission, k.Status, fields, string(k.Body), k.At.UnixMicro(), bit(k.Sealed))
	if err != nil {
		return fmt.Errorf("keep an answer: %w", err)
	}
	name := KeptName{k.Account, k.Key}
	if _, known := t.group.known.kept[name]; known {
		t.group.known.kept[name], t.kept = &k, append(t.kept, name)
	}
	return nil
}

// DropKept deletes what is kept under an account's key.
func (t *Tx) DropKept(ctx context.Context, account, key string) error {
	if _, err := t.exec(ctx, `DELETE FROM idempotency WHERE account = $1 AND name = $2`, account, key); err != nil {
		return fmt.Errorf("delete a kept answer: %w", err)
	}
	if name := (KeptName{account, key}); t.group.known.kept != nil {
		delete(t.group.known.kept, name)
	}
	return nil
}

// SweepKept deletes up to limit answers kept since before a time, the oldest
// first, and says how many.
func (t *Tx) SweepKept(ctx context.Context, before time.Time, limit int) (int64, error) {
	n, err := t.exec(ctx, `DELETE FROM idempotency WHERE (account, name) IN
		(SELECT account, name FROM idempotency WHERE at <= $1 ORDER BY at LIMIT $2)`, before.UnixMicro(), limit)
	if err != nil {
		return 0, fmt.Errorf("sweep kept answers: %w", err)
	}
	return n, nil
}
