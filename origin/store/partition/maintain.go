package partition

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Keep is the retention of each table. A zero time keeps everything.
type Keep struct {
	Events     time.Time // at and after which events are kept
	Deliveries time.Time // at and after which deliveries are kept
	Delivery   string    // the id that a delivery of that time has at least
}

// Status is the state of the partitions.
type Status struct {
	Ranges  []Range // none: the tables are not divided
	Ahead   int     // how many of them have no event yet
	Emptied bool    // deliveries were deleted, which others may have waited for
}

// Maintain makes partitions that will be needed and drops those whose rows are all old. A partition of
// deliveries is emptied before: it has to exist as long as a delivery of its events can be added. It
// stops at the first partition that is still needed, so that event numbers have no gap. If a
// reader keeps a lock, it returns an error and changes nothing more.
func (d Database) Maintain(ctx context.Context, keep Keep) (s Status, err error) {
	all, err := d.Ranges(ctx)
	if err != nil || len(all) == 0 {
		return s, err
	}
	newest, err := head(ctx, d.DB)
	if err != nil {
		return s, err
	}
	err = errors.Join(d.extend(ctx, all, newest), d.dropOld(ctx, all, newest, keep, &s))
	all, listErr := d.Ranges(ctx)
	s.Ranges, s.Ahead = all, free(all, newest)
	return s, errors.Join(err, listErr)
}

// free returns how many ranges begin after a number.
func free(all []Range, after int64) (n int) {
	for _, r := range all {
		if r.From > after {
			n++
		}
	}
	return n
}

// extend adds the partitions that are missing.
func (d Database) extend(ctx context.Context, all []Range, newest int64) error {
	if free(all, newest) >= ahead {
		return nil
	}
	err := d.change(ctx, func(tx *sql.Tx) error {
		all, err := ranges(ctx, tx) // another process may have added them
		if err != nil {
			return err
		}
		last := all[len(all)-1]
		return extend(ctx, tx, last.To, last.To-last.From, ahead-free(all, newest))
	})
	if err != nil {
		return fmt.Errorf("add partitions: %w", err)
	}
	return run(ctx, d.DB, analyze)
}

// dropOld empties and drops old partitions.
func (d Database) dropOld(ctx context.Context, all []Range, newest int64, keep Keep, s *Status) error {
	tail := true // all ranges before this one were dropped
	for _, r := range all {
		if r.To > newest { // the newest event stays, so that the numbering goes on
			return nil
		}
		used, err := has(ctx, d.DB, `SELECT 1 FROM `+r.table("delivery"))
		if err == nil && used && !keep.Deliveries.IsZero() {
			used, err = d.empty(ctx, r, keep)
			s.Emptied = s.Emptied || !used
		}
		if err == nil && !used && tail && !keep.Events.IsZero() {
			tail, err = d.drop(ctx, r, keep)
		} else {
			tail = false
		}
		if err != nil {
			return fmt.Errorf("drop events from %d: %w", r.From, err)
		}
	}
	return nil
}

// has reports whether a query for rows finds one.
func has(ctx context.Context, db query, rows string, args ...any) (found bool, err error) {
	return found, db.QueryRowContext(ctx, `SELECT EXISTS (`+rows+`)`, args...).Scan(&found)
}

// empty deletes the deliveries of a range and their attempts if none is kept: it was created since, or
// queued again, or a worker holds it. It reports whether one is. TRUNCATE takes no time for rows, and
// locks these two partitions only.
func (d Database) empty(ctx context.Context, r Range, keep Keep) (used bool, err error) {
	deliveries := r.table("delivery")
	kept := func(db query) (bool, error) { // each condition has an index
		return has(ctx, db, `SELECT 1 FROM `+deliveries+` WHERE id >= $1
			UNION ALL SELECT 1 FROM `+deliveries+` WHERE lease_owner IS NOT NULL
			UNION ALL SELECT 1 FROM `+deliveries+` WHERE state = 'due' AND updated_at >= $2
			UNION ALL SELECT 1 FROM `+deliveries+` WHERE state = 'waiting' AND updated_at >= $2`,
			keep.Delivery, keep.Deliveries.UnixMicro())
	}
	if used, err = kept(d.DB); err != nil || used {
		return used, err
	}
	err = d.change(ctx, func(tx *sql.Tx) error {
		if used, err = kept(tx); err != nil || used { // beside which nothing is written
			return err
		}
		return run(ctx, tx, `TRUNCATE `+r.table("attempt")+`, `+deliveries)
	})
	return used, err
}

// drop drops a range without deliveries if all its events are old, and reports whether it did.
func (d Database) drop(ctx context.Context, r Range, keep Keep) (bool, error) {
	var last sql.NullInt64
	err := d.DB.QueryRowContext(ctx, `SELECT (SELECT at FROM `+r.table("event")+` ORDER BY number DESC LIMIT 1)`).
		Scan(&last)
	if err != nil || last.Int64 >= keep.Events.UnixMicro() {
		return false, err
	}
	dropped := false
	err = d.change(ctx, func(tx *sql.Tx) error {
		used, err := has(ctx, tx, `SELECT 1 FROM `+r.table("delivery")) // of a replay meanwhile
		if err != nil || used {
			return err
		}
		dropped = true
		return run(ctx, tx, lockTables,
			fmt.Sprintf(`DROP TABLE %s, %s, %s`, r.table("attempt"), r.table("delivery"), r.table("event")))
	})
	return dropped && err == nil, err
}
