package store

import (
	"context"
	"fmt"
	"time"
)

// LeaseKind is a table whose rows are processed under leases. An expired lease
// belongs to no worker, whatever owner the row names.
type LeaseKind string

// The kinds of lease.
const (
	LeaseDelivery LeaseKind = "delivery"
	LeaseAudit    LeaseKind = "audit"
	LeasePreview  LeaseKind = "preview"
	LeaseSLA      LeaseKind = "sla"
	LeasePayment  LeaseKind = "payment"
	LeaseAlert    LeaseKind = "pending_alert"

	LeaseCertificate LeaseKind = "certificate"
)

// leaseKeys are the key columns of the tables.
var leaseKeys = map[LeaseKind]string{
	LeaseDelivery: "id", LeaseAudit: "brand", LeasePreview: "digest", LeaseSLA: "mission", LeasePayment: "id",
	LeaseAlert: "mission", LeaseCertificate: "name",
}

// Lease identifies a leased row.
type Lease struct {
	Kind LeaseKind
	ID   string
}

// RenewLease extends a lease of owner that has not expired.
func (t *Tx) RenewLease(ctx context.Context, l Lease, owner string, now, until time.Time) error {
	err := t.queueExec(ctx, `UPDATE `+string(l.Kind)+` SET lease_until = $1 WHERE `+leaseKeys[l.Kind]+` = $2
		AND lease_owner = $3 AND lease_until > $4`,
		until.UnixMicro(), l.ID, owner, now.UnixMicro())
	if err != nil {
		return fmt.Errorf("renew the lease of %s %s: %w", l.Kind, l.ID, err)
	}
	return nil
}

// uncountClaim undoes the count of a claim when a worker stops in order. After a
// crash, when the leases of all workers are released, the count stays.
var uncountClaim = map[LeaseKind]string{
	LeaseDelivery: `, claims = claims - CASE WHEN $1 = '' THEN 0 ELSE 1 END`,
	LeasePreview:  `, claims = claims - CASE WHEN $1 = '' THEN 0 ELSE 1 END`,
	LeaseAudit:    `, attempts = attempts - CASE WHEN $1 = '' THEN 0 ELSE 1 END`,
}

// ReleaseLeases ends all leases of owner; those of all owners if it is empty,
// which is right only while no worker runs.
func (t *Tx) ReleaseLeases(ctx context.Context, owner string) error {
	for table := range leaseKeys {
		n, err := t.exec(ctx, `UPDATE `+string(table)+` SET lease_until = NULL,
			lease_owner = NULL`+uncountClaim[table]+`
			WHERE lease_owner IS NOT NULL AND (lease_owner = $1 OR $1 = '')`, owner)
		if err != nil {
			return fmt.Errorf("release the leases of %s: %w", table, err)
		}
		if n > 0 {
			t.touched[TopicDeliveries], t.touched[TopicAudits], t.touched[TopicPreviews],
				t.touched[TopicDeadlines], t.touched[TopicCertificates] = true, true, true, true, true
		}
	}
	return t.ScheduleEndpoints(ctx)
}

// Subqueries that select due rows for claims, by index.
const (
	dueSLAs = `SELECT s.mission FROM sla s WHERE s.due_at <= $3 AND (s.lease_until IS NULL OR s.lease_until <= $3)
		ORDER BY s.due_at LIMIT $4`
	staleSLAs = `SELECT s.mission FROM sla s WHERE s.rules < $5 AND (s.lease_until IS NULL OR s.lease_until <= $3)
		ORDER BY s.rules LIMIT $4`
	duePayments = `SELECT p.id FROM payment p WHERE p.check_at <= $3 AND (p.lease_until IS NULL OR p.lease_until <= $3)
		ORDER BY p.check_at LIMIT $4`
	duePendingAlerts = `SELECT p.mission FROM pending_alert p WHERE p.due_at <= $3 AND (p.lease_until IS NULL
		OR p.lease_until <= $3)
		ORDER BY p.due_at LIMIT $4`
)

func (t *tx) claim(ctx context.Context, question string, args ...any) ([]string, error) {
	rows, err := t.query(ctx, question, args...)
	ids, err := collect(rows, err, func(row scanner) (id string, err error) { return id, row.Scan(&id) })
	if err != nil {
		return nil, fmt.Errorf("claim due rows: %w", err)
	}
	return ids, nil
}
