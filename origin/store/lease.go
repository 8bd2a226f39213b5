package store

import (
	"context"
	"fmt"
	"time"
)

// leased are the tables whose rows are worked on under leases. A lease that is
// over is nobody's, whoever stands in it.
var leased = []string{"delivery", "audit", "preview"}

// RenewLeases moves the end of all leases of owner that are not over.
func (t *Tx) RenewLeases(ctx context.Context, owner string, now, until time.Time) error {
	for _, table := range leased {
		_, err := t.exec(ctx, `UPDATE `+table+` SET lease_until = $1 WHERE lease_owner = $2 AND lease_until > $3`,
			until.UnixMicro(), owner, now.UnixMicro())
		if err != nil {
			return fmt.Errorf("renew the leases of %s: %w", table, err)
		}
	}
	return nil
}

// FreeLeases ends all leases of owner; those of everybody where owner is empty,
// which is right only when no worker runs.
func (t *Tx) FreeLeases(ctx context.Context, owner string) error {
	for _, table := range leased {
		n, err := t.exec(ctx, `UPDATE `+table+` SET lease_until = NULL, lease_owner = NULL
			WHERE lease_until IS NOT NULL AND (lease_owner = $1 OR $1 = '')`, owner)
		if err != nil {
			return fmt.Errorf("free the leases of %s: %w", table, err)
		}
		if n > 0 {
			t.touched[TopicDeliveries], t.touched[TopicAudits], t.touched[TopicPreviews] = true, true, true
		}
	}
	return nil
}
