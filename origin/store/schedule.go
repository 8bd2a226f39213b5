package store

import (
	"context"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
)

// UnscheduledBrands lists brands that have no day to be audited on.
func (t *Tx) UnscheduledBrands(ctx context.Context, limit int) ([]fieldmark.Slug, error) {
	return t.slugs(ctx, "list brands without a day", `SELECT slug FROM brand WHERE audit_due IS NULL ORDER BY slug LIMIT $1`, limit)
}

// OutdatedBrands lists brands whose facts were found by other rules and whose
// next audit is not before a time.
func (t *Tx) OutdatedBrands(ctx context.Context, rules string, after time.Time, limit int) ([]fieldmark.Slug, error) {
	return t.slugs(ctx, "list brands audited by other rules", `SELECT slug FROM brand
		WHERE audit_due > $1 AND audit_rules <> $2 AND facts_digest IS NOT NULL ORDER BY slug LIMIT $3`, after.UnixMicro(), rules, limit)
}

// DueBrands lists brands whose day has come, the longest overdue first.
func (t *Tx) DueBrands(ctx context.Context, now time.Time, limit int) ([]fieldmark.Slug, error) {
	return t.slugs(ctx, "list brands to be audited", `SELECT slug FROM brand WHERE audit_due <= $1 ORDER BY audit_due, slug LIMIT $2`, now.UnixMicro(), limit)
}

func (t *Tx) slugs(ctx context.Context, what, question string, args ...any) ([]fieldmark.Slug, error) {
	rows, err := t.query(ctx, question, args...)
	list, err := collect(rows, err, func(row scanner) (s fieldmark.Slug, err error) { return s, row.Scan(&s) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return list, nil
}

// ScheduleAudit sets the day of a brand's next audit.
func (t *Tx) ScheduleAudit(ctx context.Context, slug fieldmark.Slug, due time.Time) error {
	if _, err := t.exec(ctx, `UPDATE brand SET audit_due = $1 WHERE slug = $2`, due.UnixMicro(), string(slug)); err != nil {
		return fmt.Errorf("schedule the audit of %s: %w", slug, err)
	}
	return nil
}

// NoteAudit sets the day of the next audit after one by the given rules.
func (t *Tx) NoteAudit(ctx context.Context, slug fieldmark.Slug, due time.Time, rules string) error {
	if _, err := t.exec(ctx, `UPDATE brand SET audit_due = $1, audit_rules = $2 WHERE slug = $3`, due.UnixMicro(), rules, string(slug)); err != nil {
		return fmt.Errorf("note the audit of %s: %w", slug, err)
	}
	return nil
}

// NoteStep notes how far an audit has come, while its lease is the owner's.
func (t *Tx) NoteStep(ctx context.Context, brand fieldmark.Slug, owner, step string, steps int) error {
	_, err := t.exec(ctx, `UPDATE audit SET step = $1, steps = $2 WHERE brand = $3 AND lease_owner = $4`, step, steps, string(brand), owner)
	if err != nil {
		return fmt.Errorf("note a step of the audit of %s: %w", brand, err)
	}
	return nil
}

// Audits lists audits in line, those that run first and those that failed last.
func (s *Store) Audits(ctx context.Context, now time.Time, limit int) ([]fieldmark.AuditRun, error) {
	rows, err := s.query(ctx, `SELECT brand, requested_at, due_at, attempts, CASE WHEN lease_until > $1 THEN 1 ELSE 0 END AS running, step, steps, failure
		FROM audit ORDER BY running DESC, failure, due_at, brand LIMIT $2`, now.UnixMicro(), limit)
	list, err := collect(rows, err, func(row scanner) (a fieldmark.AuditRun, err error) {
		var running int64
		err = row.Scan(&a.Brand, instant{&a.RequestedAt}, instant{&a.DueAt}, &a.Attempts, &running, &a.Step, &a.Steps, &a.Failure)
		if a.Running = running == 1; !a.Running {
			a.Step, a.Steps = "", 0
		}
		return a, err
	})
	if err != nil {
		return nil, fmt.Errorf("list audits: %w", err)
	}
	return list, nil
}
