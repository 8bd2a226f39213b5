package store

import (
	"context"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
)

// Audit is an audit that was asked for.
type Audit struct {
	Brand       fieldmark.Slug
	RequestedAt time.Time // names the request, to the microsecond
	Attempts    int       // begun, this one included
	Owner       string    // who claimed it
}

// RequestAudit puts a brand in line. One that waits already keeps its place; one
// that is being audited will be audited again; one that failed starts over.
func (t *Tx) RequestAudit(ctx context.Context, slug fieldmark.Slug, at time.Time) error {
	_, err := t.exec(ctx, `INSERT INTO audit (brand, requested_at, due_at, attempts, lease_until) VALUES ($1, $2, $2, 0, NULL)
		ON CONFLICT (brand) DO UPDATE SET requested_at = excluded.requested_at, failure = '',
			due_at = CASE WHEN audit.failure = '' THEN audit.due_at ELSE excluded.due_at END,
			attempts = CASE WHEN audit.failure = '' THEN audit.attempts ELSE 0 END`, string(slug), at.UnixMicro())
	if err != nil {
		return fmt.Errorf("request an audit of %s: %w", slug, err)
	}
	t.touched[TopicAudits] = true
	return nil
}

// ClaimAudits claims up to limit due audits for owner until the lease ends. A claim
// counts as an attempt whether its process survives it or not.
func (t *Tx) ClaimAudits(ctx context.Context, owner string, now, lease time.Time, limit int) ([]Audit, error) {
	rows, err := t.query(ctx, `UPDATE audit SET lease_until = $1, lease_owner = $4, attempts = attempts + 1
		WHERE brand IN (SELECT a.brand FROM audit a WHERE a.due_at <= $2 AND a.failure = '' AND (a.lease_until IS NULL OR a.lease_until <= $2)
			ORDER BY a.due_at, a.brand LIMIT $3)
		AND (lease_until IS NULL OR lease_until <= $2)
		RETURNING brand, requested_at, attempts`, lease.UnixMicro(), now.UnixMicro(), limit, owner)
	list, err := collect(rows, err, func(row scanner) (a Audit, err error) {
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

// EndAudit takes a finished audit out of line; one that was asked for again
// meanwhile becomes due at once.
func (t *Tx) EndAudit(ctx context.Context, a Audit) error {
	ended, err := t.exec(ctx, `DELETE FROM audit WHERE brand = $1 AND requested_at <= $2`, string(a.Brand), a.RequestedAt.UnixMicro())
	if err == nil && ended == 0 {
		err = t.restartAudit(ctx, a)
	}
	if err != nil {
		return fmt.Errorf("end the audit of %s: %w", a.Brand, err)
	}
	return nil
}

// restartAudit makes an audit due that was asked for again while its owner ran it.
func (t *Tx) restartAudit(ctx context.Context, a Audit) error {
	t.touched[TopicAudits] = true
	_, err := t.exec(ctx, `UPDATE audit SET lease_until = NULL, lease_owner = NULL, attempts = 0, due_at = requested_at
		WHERE brand = $1 AND lease_owner = $2`, string(a.Brand), a.Owner)
	return err
}

// RetryAudit puts a failed audit back in line for later, unless its lease was lost.
func (t *Tx) RetryAudit(ctx context.Context, a Audit, due time.Time) error {
	_, err := t.exec(ctx, `UPDATE audit SET lease_until = NULL, lease_owner = NULL, due_at = $1 WHERE brand = $2 AND lease_owner = $3`,
		due.UnixMicro(), string(a.Brand), a.Owner)
	if err != nil {
		return fmt.Errorf("put back the audit of %s: %w", a.Brand, err)
	}
	return nil
}

// FailAudit ends an audit without facts, for a reason that is kept until the next
// is asked for; if one was asked for meanwhile, that one becomes due at once.
func (t *Tx) FailAudit(ctx context.Context, a Audit, reason string) error {
	failed, err := t.exec(ctx, `UPDATE audit SET failure = $1, lease_until = NULL, lease_owner = NULL WHERE brand = $2 AND requested_at <= $3 AND lease_owner = $4`,
		reason, string(a.Brand), a.RequestedAt.UnixMicro(), a.Owner)
	if err == nil && failed == 0 {
		err = t.restartAudit(ctx, a)
	}
	if err != nil {
		return fmt.Errorf("fail the audit of %s: %w", a.Brand, err)
	}
	return nil
}

// AuditLine counts the audits that wait and those that run.
func (s *Store) AuditLine(ctx context.Context, now time.Time) (waiting, running int, err error) {
	err = s.queryRow(ctx, `SELECT COUNT(*), COUNT(CASE WHEN lease_until > $1 THEN 1 END) FROM audit WHERE failure = ''`, now.UnixMicro()).Scan(&waiting, &running)
	if err != nil {
		return 0, 0, fmt.Errorf("count audits: %w", err)
	}
	return waiting - running, running, nil
}
