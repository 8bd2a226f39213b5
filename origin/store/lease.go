package store

import (
	"context"
	"fmt"
	"time"
)

// LeaseKind is a table whose rows are worked on under leases. A lease that is
// over belongs to no worker, whichever the row names.
type LeaseKind string

// The kinds of lease.
const (
	LeaseDelivery LeaseKind = "delivery"
	LeaseAudit    LeaseKind = "audit"
	LeasePreview  LeaseKind = "preview"
	LeaseClocks   LeaseKind = "sla"
	LeasePayment  LeaseKind = "payment"
	LeaseAlert    LeaseKind = "pending_alert"
)

// leased maps each kind to the column that names its rows.
var leased = map[LeaseKind]string{
	LeaseDelivery: "id", LeaseAudit: "brand", LeasePreview: "digest", LeaseClocks: "mission", LeasePayment: "id", LeaseAlert: "mission",
}

// Lease names a row that is worked on.
type Lease struct {
	Kind LeaseKind
	ID   string
}

// RenewLease moves the end of a lease of owner, if it is not over.
func (t *Tx) RenewLease(ctx context.Context, l Lease, owner string, now, until time.Time) error {
	err := t.post(ctx, `UPDATE `+string(l.Kind)+` SET lease_until = $1 WHERE `+leased[l.Kind]+` = $2 AND lease_owner = $3 AND lease_until > $4`,
		until.UnixMicro(), l.ID, owner, now.UnixMicro())
	if err != nil {
		return fmt.Errorf("renew the lease of %s %s: %w", l.Kind, l.ID, err)
	}
	return nil
}

// unclaimed takes back the count of a claim whose worker ends in order. Leases of
// all workers are freed after a process ended without that.
var unclaimed = map[LeaseKind]string{
	LeaseDelivery: `, claims = claims - CASE WHEN $1 = '' THEN 0 ELSE 1 END`,
	LeasePreview:  `, claims = claims - CASE WHEN $1 = '' THEN 0 ELSE 1 END`,
	LeaseAudit:    `, attempts = attempts - CASE WHEN $1 = '' THEN 0 ELSE 1 END`,
}

// FreeLeases ends all leases of owner; those of everybody where owner is empty,
// which is right only when no worker runs.
func (t *Tx) FreeLeases(ctx context.Context, owner string) error {
	for table := range leased {
		n, err := t.exec(ctx, `UPDATE `+string(table)+` SET lease_until = NULL, lease_owner = NULL`+unclaimed[table]+`
			WHERE lease_owner IS NOT NULL AND (lease_owner = $1 OR $1 = '')`, owner)
		if err != nil {
			return fmt.Errorf("free the leases of %s: %w", table, err)
		}
		if n > 0 {
			t.touched[TopicDeliveries], t.touched[TopicAudits], t.touched[TopicPreviews], t.touched[TopicDeadlines] = true, true, true, true
		}
	}
	return t.WakeAll(ctx)
}

// EndLeases frees deliveries whose lease is over, and has their endpoints looked
// at.
func (t *Tx) EndLeases(ctx context.Context, now time.Time) error {
	rows, err := t.query(ctx, `UPDATE delivery SET lease_until = NULL, lease_owner = NULL
		WHERE lease_owner IS NOT NULL AND lease_until <= $1 RETURNING endpoint`, now.UnixMicro())
	endpoints, err := collect(rows, err, scanText)
	if err != nil {
		return fmt.Errorf("end leases: %w", err)
	}
	for _, id := range endpoints {
		if err := t.Wake(ctx, id, now); err != nil {
			return err
		}
		t.touched[TopicDeliveries] = true
	}
	return nil
}

// WakeAll has every endpoint looked at that nobody would look at although
// something is due to it: after a stop, and where an older program wrote.
func (t *Tx) WakeAll(ctx context.Context) error {
	n, err := t.exec(ctx, `UPDATE endpoint SET wake_at = 0 WHERE wake_at IS NULL AND state = 'enabled' AND deleted_at IS NULL
		AND EXISTS (SELECT 1 FROM delivery d WHERE d.endpoint = endpoint.id AND d.state = 'due' AND d.lease_owner IS NULL)`)
	if err != nil {
		return fmt.Errorf("wake endpoints: %w", err)
	}
	if n > 0 {
		t.touched[TopicDeliveries] = true
		clear(t.group.endpoints)
	}
	return nil
}
