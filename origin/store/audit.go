package store

import (
	"context"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
)

// The queue of audits, and suspicions of manipulation.

// AuditJob is a queued audit: the crawl of a brand.
type AuditJob struct {
	Brand       fieldmark.Slug
	RequestedAt time.Time // identifies the request, to the microsecond
	Attempts    int       // including the current one
	Owner       string    // of the lease
}

// EnqueueAudit requests an audit at a time, which may be in the future. A queued audit keeps its time
// or gets this one, whichever is earlier, and all its attempts; a running one runs again
// at the earliest time requested meanwhile; a failed one starts over.
//
// ClaimAudits makes due_at equal to requested_at, so that a later requested_at of a leased
// audit is another request. One microsecond separates requests of the same time, or of clocks that differ.
func (t BrandTx) EnqueueAudit(ctx context.Context, slug fieldmark.Slug, at time.Time) error {
	_, err := t.exec(ctx, `INSERT INTO audit (brand, requested_at, due_at, attempts, lease_until, share)
		VALUES ($1, $2, $2, 0, NULL, $3)
		ON CONFLICT (brand) DO UPDATE SET failure = '',
			requested_at = CASE WHEN audit.lease_until IS NULL THEN excluded.requested_at
				WHEN excluded.requested_at <= audit.due_at THEN audit.due_at + 1
				WHEN audit.requested_at > audit.due_at AND audit.requested_at < excluded.requested_at
				THEN audit.requested_at ELSE excluded.requested_at END,
			due_at = CASE WHEN audit.failure = '' AND (audit.lease_until IS NOT NULL OR audit.due_at < excluded.due_at)
				THEN audit.due_at ELSE excluded.due_at END,
			attempts = CASE WHEN audit.lease_until IS NULL THEN 0 ELSE audit.attempts `+
		`END`, string(slug), at.UnixMicro(), ShareOf(string(slug)))
	if err != nil {
		return fmt.Errorf("enqueue the audit of %s: %w", slug, err)
	}
	t.touched[TopicAudits] = true
	return nil
}

// ClaimAudits leases up to limit due audits to owner. A claim counts as an
// attempt even if the process stops. It includes all requests so far, also those for a
// later time; attempts before the last request do not count. The audits are of some shares.
func (t BrandTx) ClaimAudits(ctx context.Context, owner string, now, lease time.Time, limit int,
	of Shares) ([]AuditJob, error) {
	rows, err := t.query(ctx, `UPDATE audit SET lease_until = $1, lease_owner = $4,
			requested_at = CASE WHEN requested_at > $2 THEN $2 ELSE requested_at END,
			due_at = CASE WHEN requested_at > $2 THEN $2 ELSE requested_at END,
			attempts = CASE WHEN requested_at > due_at THEN 1 ELSE attempts + 1 END
		WHERE brand IN (`+of.first(`brand`, `audit`, `due_at <= $2 AND failure = '' AND (lease_until IS NULL
			OR lease_until <= $2)`, `due_at, brand`, `$3`)+`)
		AND (lease_until IS NULL OR lease_until <= $2)
		RETURNING brand, requested_at, attempts`, lease.UnixMicro(), now.UnixMicro(), limit, owner)
	list, err := collect(rows, err, func(row scanner) (a AuditJob, err error) {
		var requested int64
		err = row.Scan(&a.Brand, &requested, &a.Attempts)
		a.RequestedAt, a.Owner = time.UnixMicro(requested), owner
		return a, err
	})
	if err != nil {
		return nil, fmt.Errorf("claim audits: %w", err)
	}
	return list, nil
}

// CompleteAudit removes a finished audit from the queue. If it was enqueued
// again in the meantime, it becomes due at the time requested.
func (t BrandTx) CompleteAudit(ctx context.Context, a AuditJob) error {
	ended, err := t.exec(ctx, `DELETE FROM audit WHERE brand = $1 AND requested_at <= $2`, string(a.Brand),
		a.RequestedAt.UnixMicro())
	if err == nil && ended == 0 {
		err = t.restartAudit(ctx, a)
	}
	if err != nil {
		return fmt.Errorf("complete the audit of %s: %w", a.Brand, err)
	}
	return nil
}

// restartAudit makes an audit due that was enqueued again while its owner ran
// it.
func (t BrandTx) restartAudit(ctx context.Context, a AuditJob) error {
	t.touched[TopicAudits] = true
	_, err := t.exec(ctx, `UPDATE audit SET lease_until = NULL, lease_owner = NULL, attempts = 0, due_at = requested_at
		WHERE brand = $1 AND lease_owner = $2`, string(a.Brand), a.Owner)
	return err
}

// RetryAudit schedules a failed audit again, unless its lease was lost. If it was enqueued
// again in the meantime, it starts over, and at the time requested if that is earlier.
func (t BrandTx) RetryAudit(ctx context.Context, a AuditJob, due time.Time) error {
	_, err := t.exec(ctx, `UPDATE audit SET lease_until = NULL, lease_owner = NULL,
			due_at = CASE WHEN requested_at > $4 AND requested_at < $1 THEN requested_at ELSE $1 END,
			attempts = CASE WHEN requested_at > $4 THEN 0 ELSE attempts END
		WHERE brand = $2 AND lease_owner = $3`,
		due.UnixMicro(), string(a.Brand), a.Owner, a.RequestedAt.UnixMicro())
	if err != nil {
		return fmt.Errorf("retry the audit of %s: %w", a.Brand, err)
	}
	t.touched[TopicAudits] = true
	return nil
}

// FailAudit ends an audit without facts. The reason is kept until the next is
// enqueued; if that was in the meantime, it becomes due at the time requested.
func (t BrandTx) FailAudit(ctx context.Context, a AuditJob, reason string) error {
	failed, err := t.exec(ctx, `UPDATE audit SET failure = $1, lease_until = NULL, lease_owner = NULL WHERE brand = $2
		AND requested_at <= $3 AND lease_owner = $4`,
		reason, string(a.Brand), a.RequestedAt.UnixMicro(), a.Owner)
	if err == nil && failed == 0 {
		err = t.restartAudit(ctx, a)
	}
	if err != nil {
		return fmt.Errorf("fail the audit of %s: %w", a.Brand, err)
	}
	return nil
}

// CountAudits counts queued and running audits.
func (db BrandReader) CountAudits(ctx context.Context, now time.Time) (waiting, running int, err error) {
	err = db.queryRow(ctx, `SELECT COUNT(*), COUNT(CASE WHEN lease_until > $1 THEN 1 END) FROM audit
		WHERE failure = ''`, now.UnixMicro()).Scan(&waiting, &running)
	if err != nil {
		return 0, 0, fmt.Errorf("count audits: %w", err)
	}
	return waiting - running, running, nil
}

// UnscheduledBrands lists brands without a date for the next audit.
func (t BrandTx) UnscheduledBrands(ctx context.Context, limit int) ([]fieldmark.Slug, error) {
	return t.slugs(ctx, "list unscheduled brands", `SELECT slug FROM brand WHERE audit_due IS NULL
		AND unlisted_at IS NULL ORDER BY slug LIMIT $1`, limit)
}

// OutdatedBrands lists brands whose facts were found by other rules and whose
// next audit is after a time.
func (t BrandTx) OutdatedBrands(ctx context.Context, rules string, after time.Time,
	limit int) ([]fieldmark.Slug, error) {
	return t.slugs(ctx, "list outdated brands", `SELECT slug FROM brand
		WHERE audit_due > $1 AND audit_rules <> $2 AND facts_digest IS NOT NULL ORDER BY slug LIMIT $3`,
		after.UnixMicro(), rules, limit)
}

// DueBrands lists brands whose next audit is due, the longest overdue first.
func (t BrandTx) DueBrands(ctx context.Context, now time.Time, limit int) ([]fieldmark.Slug, error) {
	return t.slugs(ctx, "list due brands", `SELECT slug FROM brand WHERE audit_due <= $1
		AND unlisted_at IS NULL ORDER BY audit_due, slug LIMIT $2`, now.UnixMicro(), limit)
}

// DueSuspectedBrands lists those of DueBrands with a suspicion that is not confirmed.
func (t BrandTx) DueSuspectedBrands(ctx context.Context, now time.Time, limit int) ([]fieldmark.Slug, error) {
	return t.slugs(ctx, "list due brands with suspicions", `SELECT slug FROM brand WHERE audit_due <= $1
		AND unlisted_at IS NULL AND EXISTS (SELECT 1 FROM suspicion s WHERE s.brand = brand.slug AND s.confirmed = 0)
		ORDER BY audit_due, slug LIMIT $2`, now.UnixMicro(), limit)
}

func (t BrandTx) slugs(ctx context.Context, what, question string, args ...any) ([]fieldmark.Slug, error) {
	rows, err := t.query(ctx, question, args...)
	list, err := collect(rows, err, func(row scanner) (s fieldmark.Slug, err error) { return s, row.Scan(&s) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return list, nil
}

// ScheduleAudit sets the time of the next audit of a brand; zero is never.
func (t BrandTx) ScheduleAudit(ctx context.Context, slug fieldmark.Slug, due time.Time) error {
	if _, err := t.exec(ctx, `UPDATE brand SET audit_due = $1 WHERE slug = $2`, dueMicros(due),
		string(slug)); err != nil {
		return fmt.Errorf("schedule the audit of %s: %w", slug, err)
	}
	return nil
}

// RecordAudit stores the rules of a completed audit and the time of the next
// one; zero is never.
func (t BrandTx) RecordAudit(ctx context.Context, slug fieldmark.Slug, due time.Time, rules string) error {
	if _, err := t.exec(ctx, `UPDATE brand SET audit_due = $1, audit_rules = $2 WHERE slug = $3`, dueMicros(due),
		rules, string(slug)); err != nil {
		return fmt.Errorf("record the audit of %s: %w", slug, err)
	}
	return nil
}

// RecordRefusal counts the audits in a row that the site of a brand refused, or resets the
// count. It returns the count.
func (t BrandTx) RecordRefusal(ctx context.Context, slug fieldmark.Slug, refused bool) (count int, err error) {
	err = t.queryRow(ctx, `UPDATE brand SET audit_refusals = CASE WHEN $1 = 1 THEN audit_refusals + 1 ELSE 0 END
		WHERE slug = $2 RETURNING audit_refusals`, boolInt(refused), string(slug)).Scan(&count)
	if err != nil {
		return 0, fmt.Errorf("count the refused audits of %s: %w", slug, queryErr(err))
	}
	return count, nil
}

// dueMicros returns the stored form of a time, NULL for zero.
func dueMicros(due time.Time) any {
	if due.IsZero() {
		return nil
	}
	return due.UnixMicro()
}

// UpdateAuditProgress stores the step an audit has reached, if the owner still
// has its lease.
func (t BrandTx) UpdateAuditProgress(ctx context.Context, brand fieldmark.Slug, owner, step string, steps int) error {
	_, err := t.exec(ctx, `UPDATE audit SET step = $1, steps = $2 WHERE brand = $3 AND lease_owner = $4`, step, steps,
		string(brand), owner)
	if err != nil {
		return fmt.Errorf("update the progress of the audit of %s: %w", brand, err)
	}
	return nil
}

const auditRunColumns = `brand, requested_at, due_at, attempts, CASE WHEN lease_until > $1 THEN 1
	ELSE 0 END AS running, step, steps, failure`

func scanAuditRun(row scanner) (a fieldmark.AuditRun, err error) {
	var running int64
	err = row.Scan(&a.Brand, timeCol{&a.RequestedAt}, timeCol{&a.DueAt}, &a.Attempts, &running, &a.Step, &a.Steps,
		&a.Failure)
	if a.Running = running == 1; !a.Running {
		a.Step, a.Steps = "", 0
	}
	return a, err
}

// AuditRuns lists audits: running, queued, and failed ones last.
func (db BrandReader) AuditRuns(ctx context.Context, now time.Time, limit int) ([]fieldmark.AuditRun, error) {
	rows, err := db.query(ctx, `SELECT `+auditRunColumns+` FROM audit ORDER BY running DESC, failure, due_at, brand
		LIMIT $2`, now.UnixMicro(), limit)
	list, err := collect(rows, err, scanAuditRun)
	if err != nil {
		return nil, fmt.Errorf("list audits: %w", err)
	}
	return list, nil
}

// AuditRun reads the audit of a brand: running, queued or failed; nil without an audit.
func (db BrandReader) AuditRun(ctx context.Context, slug fieldmark.Slug, now time.Time) (*fieldmark.AuditRun, error) {
	rows, err := db.query(ctx, `SELECT `+auditRunColumns+` FROM audit WHERE brand = $2`, now.UnixMicro(), string(slug))
	list, err := collect(rows, err, scanAuditRun)
	if err != nil {
		return nil, fmt.Errorf("read the audit of %s: %w", slug, err)
	}
	if len(list) == 0 {
		return nil, nil
	}
	return &list[0], nil
}

// Suspicion is a suspicion of a brand.
type Suspicion struct {
	fieldmark.Suspicion
	Confirmed bool // by the audit that found it last: the facts contain it
}

// PutSuspicions replaces the suspicions of a brand.
func (t BrandTx) PutSuspicions(ctx context.Context, slug fieldmark.Slug, list []Suspicion) error {
	fail := func(err error) error { return fmt.Errorf("put the suspicions of brand %s: %w", slug, err) }
	if _, err := t.exec(ctx, `DELETE FROM suspicion WHERE brand = $1`, string(slug)); err != nil {
		return fail(err)
	}
	for i, s := range list {
		body, err := jsonText(s.Suspicion)
		if err != nil {
			return fail(err)
		}
		if _, err := t.exec(ctx, `INSERT INTO suspicion (brand, position, body, confirmed) VALUES ($1, $2, $3, $4)`,
			string(slug), i, body, boolInt(s.Confirmed)); err != nil {
			return fail(err)
		}
	}
	return nil
}

// Suspicions lists the suspicions of a brand that its last audit found.
func (db BrandReader) Suspicions(ctx context.Context, slug fieldmark.Slug) ([]Suspicion, error) {
	rows, err := db.query(ctx, `SELECT body, confirmed FROM suspicion WHERE brand = $1 ORDER BY position`, string(slug))
	list, err := collect(rows, err, func(row scanner) (s Suspicion, err error) {
		var confirmed int64
		err = row.Scan(jsonCol{&s.Suspicion}, &confirmed)
		s.Confirmed = confirmed == 1
		return s, err
	})
	if err != nil {
		return nil, fmt.Errorf("list the suspicions of brand %s: %w", slug, err)
	}
	return list, nil
}

// SuspectedBrands lists brands with suspicions that are not confirmed.
func (db BrandReader) SuspectedBrands(ctx context.Context, limit int) ([]fieldmark.Slug, error) {
	rows, err := db.query(ctx, `SELECT DISTINCT brand FROM suspicion WHERE confirmed = 0 ORDER BY brand LIMIT $1`,
		limit)
	list, err := collect(rows, err, func(row scanner) (s fieldmark.Slug, err error) { return s, row.Scan(&s) })
	if err != nil {
		return nil, fmt.Errorf("list brands with suspicions: %w", err)
	}
	return list, nil
}

// NextAudit returns the time of the next audit of a brand; nil if none is
// scheduled.
func (db BrandReader) NextAudit(ctx context.Context, slug fieldmark.Slug) (due *fieldmark.Time, err error) {
	err = db.queryRow(ctx, `SELECT audit_due FROM brand WHERE slug = $1`, string(slug)).Scan(nullTime{&due})
	if err != nil {
		return nil, fmt.Errorf("read the next audit of brand %s: %w", slug, queryErr(err))
	}
	return due, nil
}
