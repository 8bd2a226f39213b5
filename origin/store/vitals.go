package store

import (
	"context"
	"fmt"
	"time"
)

// maxCounted bounds what Vitals counts one by one: beyond it "very many" is all
// an operator needs, and a look must not cost more the worse things are.
const maxCounted = 100_000

// Vitals are what an operator watches of a record.
type Vitals struct {
	Event   int64         // number of the newest event
	Backlog int           // deliveries that wait, maxCounted at most
	Oldest  time.Duration // how long the one that is due longest has been due
	Stopped int           // endpoints that get nothing for now
	Failing int           // endpoints whose deliveries fail
}

// Vitals looks at the record as of now.
func (s *Store) Vitals(ctx context.Context, now time.Time) (v Vitals, err error) {
	if v.Event, err = s.Head(ctx); err != nil {
		return v, err
	}
	var due int64
	if err = s.queryRow(ctx, `SELECT COUNT(*), COALESCE(MIN(due_at), 0) FROM
		(SELECT due_at FROM delivery WHERE state = 'due' AND lease_owner IS NULL LIMIT $1) AS waiting`, maxCounted).Scan(&v.Backlog, &due); err != nil {
		return v, fmt.Errorf("count deliveries: %w", err)
	}
	if late := now.Sub(time.UnixMicro(due)); due > 0 && late > 0 {
		v.Oldest = late
	}
	err = s.queryRow(ctx, `SELECT COUNT(CASE WHEN state <> 'enabled' THEN 1 END), COUNT(CASE WHEN state = 'enabled' AND failing_since IS NOT NULL THEN 1 END)
		FROM endpoint WHERE deleted_at IS NULL`).Scan(&v.Stopped, &v.Failing)
	if err != nil {
		return v, fmt.Errorf("count endpoints: %w", err)
	}
	return v, nil
}
