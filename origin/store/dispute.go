package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/fieldmark/fieldmark"
)

// DisputeQuery selects disputes, the newest first.
type DisputeQuery struct {
	Brand     fieldmark.Slug         // empty: of all brands
	State     fieldmark.DisputeState // empty: all
	Undecided bool                   // only those that can still change
	Signal    string                 // empty: of all findings
	// of an account that manages the brand; empty: of the public and of owners
	Account string
	Before  string // only ids below this one; empty: from the newest
	Limit   int
}

const disputeColumns = `id, brand, signal, kind, state, body, email, passages, opened_at, decided_at, decided_by,
	answer, account, evidence, facts, rules`

func scanDispute(row scanner) (d fieldmark.Dispute, err error) {
	err = row.Scan(&d.ID, &d.Brand, &d.Signal, &d.Kind, &d.State, &d.Text, &d.Email, jsonCol{&d.Passages},
		timeCol{&d.OpenedAt}, nullTime{&d.DecidedAt}, &d.DecidedBy, &d.Answer, &d.Account,
		jsonCol{&d.Evidence}, jsonCol{&d.Facts}, &d.Rules)
	return d, queryErr(err)
}

// Disputes lists disputes.
func (db BrandReader) Disputes(ctx context.Context, q DisputeQuery) ([]fieldmark.Dispute, error) {
	text, args := `SELECT `+disputeColumns+` FROM dispute WHERE 1 = 1`, []any{}
	where := func(column, value string) {
		if value != "" {
			args = append(args, value)
			text += fmt.Sprintf(` AND %s = $%d`, column, len(args))
		}
	}
	where("brand", string(q.Brand))
	where("signal", q.Signal)
	where("account", q.Account)
	where("state", string(q.State))
	if q.Undecided {
		text += ` AND state IN ('open', 'rechecking', 'in_review')`
	}
	if q.Before != "" {
		args = append(args, q.Before)
		text += fmt.Sprintf(` AND id < $%d`, len(args))
	}
	args = append(args, q.Limit)
	rows, err := db.query(ctx, text+fmt.Sprintf(` ORDER BY id DESC LIMIT $%d`, len(args)), args...)
	list, err := collect(rows, err, scanDispute)
	if err != nil {
		return nil, fmt.Errorf("list disputes: %w", err)
	}
	return list, nil
}

// Dispute reads a dispute; the error is ErrNotFound if it does not exist.
func (db BrandReader) Dispute(ctx context.Context, id string) (fieldmark.Dispute, error) {
	d, err := scanDispute(db.queryRow(ctx, `SELECT `+disputeColumns+` FROM dispute WHERE id = $1`, id))
	if err != nil {
		return fieldmark.Dispute{}, fmt.Errorf("read dispute %s: %w", id, err)
	}
	return d, nil
}

// PutDispute creates a dispute, or changes its state and decision.
func (t BrandTx) PutDispute(ctx context.Context, d fieldmark.Dispute) error {
	passages, err := jsonText(d.Passages)
	evidence, evidenceErr := jsonText(d.Evidence)
	facts, factsErr := jsonText(d.Facts)
	if err = errors.Join(err, evidenceErr, factsErr); err == nil {
		_, err = t.exec(ctx, `INSERT INTO dispute (`+disputeColumns+`)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
			ON CONFLICT (id) DO UPDATE SET state = excluded.state, decided_at = excluded.decided_at,
				decided_by = excluded.decided_by, answer = excluded.answer, rules = excluded.rules`,
			d.ID, string(d.Brand), d.Signal, string(d.Kind), string(d.State), d.Text, d.Email, passages,
			d.OpenedAt.Micros(), nullMicros(d.DecidedAt), d.DecidedBy, d.Answer,
			d.Account, evidence, facts, d.Rules)
	}
	if err != nil {
		return fmt.Errorf("put dispute %s: %w", d.ID, err)
	}
	return nil
}

// LapseDisputes ends the disputes of an account that no longer manages a brand.
func (t BrandTx) LapseDisputes(ctx context.Context, slug fieldmark.Slug, account string, at fieldmark.Time) error {
	_, err := t.exec(ctx, `UPDATE dispute SET state = 'lapsed', decided_at = $1 WHERE brand = $2 AND account = $3
		AND account <> '' AND state IN ('open', 'rechecking', 'in_review')`, at.Micros(), string(slug), account)
	if err != nil {
		return fmt.Errorf("end the disputes of %s by %s: %w", slug, account, err)
	}
	return nil
}
