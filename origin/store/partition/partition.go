package partition

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Bounds of the event numbers that a partition has. The default is about a month of 10 million
// missions a day without webhooks, or of a million with them. Every lookup by id searches each
// partition, so a log that is kept for 90 days should have a handful, and less than MinStep numbers
// would only be needed by a test. MaxStep keeps sums of numbers far from the limit of 64 bits.
const (
	DefaultStep = 20_000_000
	MinStep     = 1_000
	MaxStep     = 1_000_000_000_000
)

// ahead is how many partitions are made before they are needed. Origins check once an hour; with a
// partition a month, they may fail to make one for three months.
const ahead = 3

// olderWithin is how long ago an origin of a release that does not store the event of an attempt may
// have recorded one: if it still runs, its attempts would fail.
const olderWithin = 24 * time.Hour

// lockTimeout bounds the wait for a lock that blocks reads, while others queue behind it. It is below
// PostgreSQL's deadlock_timeout of 1 s, so that this side fails first.
const lockTimeout = 500 * time.Millisecond

// backfillPage is how many attempts one statement reads to store their events: some 100 ms of work.
const backfillPage = 10_000

// bound is the name of the constraint that proves to PostgreSQL, without reading a table, that its rows
// are within a partition. It exists only while Divide runs.
const bound = "partition_bound"

// tables are the tables with their columns of event numbers.
var tables = []struct{ name, column string }{{"event", "number"}, {"delivery", "event"}, {"attempt", "event"}}

// Database is a PostgreSQL database.
type Database struct {
	DB   *sql.DB // of the role that owns the tables; for Maintain, transactions may be read-only by default
	Lock string  // statement that waits for all writers, and keeps them waiting until the transaction ends
}

// Range is a range of event numbers that a partition of each table has.
type Range struct {
	From, To int64 // the first number, and the first one after it
}

// table returns the name of the partition of a table.
func (r Range) table(of string) string { return fmt.Sprintf("%s_from_%d", of, r.From) }

// query runs a query: sql.DB or sql.Tx.
type query interface {
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row
}

// Ranges lists the ranges in order; none if the tables are not divided.
func (d Database) Ranges(ctx context.Context) ([]Range, error) { return ranges(ctx, d.DB) }

// list selects the first number of each range and the one after its last.
const list = `SELECT COALESCE(CAST((regexp_match(b, 'FROM \(''?(\d+)'))[1] AS BIGINT), 0) AS low,
	CAST((regexp_match(b, 'TO \(''?(\d+)'))[1] AS BIGINT) AS high FROM (SELECT pg_get_expr(c.relpartbound, c.oid) AS b
	FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = to_regclass('event')) AS bounds
	ORDER BY 2`

// Broken is a rule of fieldmark db check: it selects the newest event if all partitions have events, and what a run
// of Divide left that was killed, which is removed by another run.
const Broken = `SELECT 'event ' || l.number FROM log l WHERE (SELECT MAX(r.low) FROM (` + list + `) AS r) <= l.number
	UNION ALL SELECT conname::text FROM pg_constraint WHERE conname = '` + bound + `'
	AND connamespace = current_schema()::regnamespace`

func ranges(ctx context.Context, db query) (all []Range, err error) {
	rows, err := db.QueryContext(ctx, list)
	if err != nil {
		return nil, fmt.Errorf("list partitions: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var r Range
		if err := rows.Scan(&r.From, &r.To); err != nil {
			return nil, fmt.Errorf("list partitions: %w", err)
		}
		all = append(all, r)
	}
	return all, rows.Err()
}

// head returns the number of the newest event.
func head(ctx context.Context, db query) (n int64, err error) {
	if err = db.QueryRowContext(ctx, `SELECT COALESCE(MAX(number), 0) FROM log`).Scan(&n); err != nil {
		err = fmt.Errorf("read the number of the newest event: %w", err)
	}
	return n, err
}

// change runs do in a transaction beside which nothing is written.
func (d Database) change(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := d.DB.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after the commit there is nothing to roll back
	err = run(ctx, tx, `SET TRANSACTION READ WRITE`,
		fmt.Sprintf(`SET LOCAL lock_timeout = %d`, lockTimeout.Milliseconds()), d.Lock)
	if err == nil {
		err = do(tx)
	}
	if err == nil {
		err = tx.Commit()
	}
	return err
}

// run executes statements in order.
func run(ctx context.Context, db interface {
	ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error)
}, statements ...string) error {
	for _, text := range statements {
		if _, err := db.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return nil
}

// lockTables waits until nothing reads the tables.
const lockTables = `LOCK TABLE event, delivery, attempt IN ACCESS EXCLUSIVE MODE`

// Errors of Divide.
var (
	ErrStep = fmt.Errorf("the step must be from %d to %d", MinStep, int64(MaxStep))
	// ErrOlder: what older programs write has no partition.
	ErrOlder = errors.New("an origin of an older release recorded an attempt within a day; update all origins first, " +
		"and repeat this a day after the last one was updated")
)

// Divide makes partitions of step event numbers each, the first of which has all existing rows, and
// reports what it does. Tables that are divided keep their step. Origins may be running: reads
// and writes wait only while names change, which reads and writes no rows. If it fails, or is stopped, the
// tables are as before, and it can be repeated.
func (d Database) Divide(ctx context.Context, step int64, report func(string)) (err error) {
	if step < MinStep || step > MaxStep {
		return ErrStep
	}
	all, err := d.Ranges(ctx)
	if err != nil || len(all) > 0 {
		return err
	}
	var older bool
	err = d.DB.QueryRowContext(ctx, `SELECT COALESCE(MAX(at), 0) > $1 FROM attempt WHERE event IS NULL`,
		time.Now().Add(-olderWithin).UnixMicro()).Scan(&older)
	if err != nil {
		return fmt.Errorf("look for attempts of older programs: %w", err)
	}
	if older {
		return ErrOlder
	}
	if err := d.backfill(ctx, report); err != nil {
		return err
	}
	newest, err := head(ctx, d.DB)
	if err != nil {
		return err
	}
	first := Range{To: (newest/step + 2) * step} // more than a step is free while the tables are read
	defer func() {
		if err != nil { // a constraint that stays would refuse numbers of a later partition
			err = errors.Join(err, d.unbind(context.WithoutCancel(ctx)))
		}
	}()
	if err := d.bind(ctx, first, report); err != nil {
		return err
	}
	report("waiting for writers, to change the tables")
	err = d.change(ctx, func(tx *sql.Tx) error { return divide(ctx, tx, first, step) })
	if err != nil {
		return fmt.Errorf("divide the tables: %w", err)
	}
	return run(ctx, d.DB, analyze)
}

// analyze gives the planner statistics of the whole tables: autovacuum processes partitions only.
const analyze = `ANALYZE event, delivery, attempt`

// backfill stores the events of attempts that older programs recorded.
func (d Database) backfill(ctx context.Context, report func(string)) error {
	delivery, number, total := "", int64(0), int64(0)
	for {
		var n int64
		err := d.DB.QueryRowContext(ctx, `WITH page AS (SELECT delivery, number, event FROM attempt
				WHERE (delivery, number) > ($1, $2) ORDER BY delivery, number LIMIT $3),
			stored AS (UPDATE attempt a SET event = d.event FROM page p JOIN delivery d ON d.id = p.delivery
				WHERE p.event IS NULL AND a.delivery = p.delivery AND a.number = p.number RETURNING 1)
			SELECT delivery, number, (SELECT COUNT(*) FROM stored) FROM page
			ORDER BY delivery DESC, number DESC LIMIT 1`,
			delivery, number, backfillPage).Scan(&delivery, &number, &n)
		if errors.Is(err, sql.ErrNoRows) {
			break
		}
		if err != nil {
			return fmt.Errorf("store the events of attempts: %w", err)
		}
		total += n
	}
	report(fmt.Sprintf("stored the events of %d attempts", total))
	return nil
}

// bind lets PostgreSQL read the tables, beside writers, to see that all rows are in a range.
func (d Database) bind(ctx context.Context, r Range, report func(string)) error {
	if err := d.unbind(ctx); err != nil { // of a run that was killed
		return err
	}
	for _, t := range tables {
		report("reading table " + t.name)
		err := d.change(ctx, func(tx *sql.Tx) error {
			return run(ctx, tx, fmt.Sprintf(
				`ALTER TABLE %s ADD CONSTRAINT %s CHECK (%s IS NOT NULL AND %s < %d) NOT VALID`, t.name, bound,
				t.column, t.column, r.To))
		})
		if err == nil {
			err = run(ctx, d.DB, fmt.Sprintf(`ALTER TABLE %s VALIDATE CONSTRAINT %s`, t.name, bound))
		}
		if err != nil {
			return fmt.Errorf("compare table %s with the first partition: %w", t.name, err)
		}
	}
	return nil
}

// unbind removes what bind added.
func (d Database) unbind(ctx context.Context) error {
	return d.change(ctx, func(tx *sql.Tx) error {
		for _, t := range tables {
			if err := run(ctx, tx, fmt.Sprintf(`ALTER TABLE %s DROP CONSTRAINT IF EXISTS %s`, t.name,
				bound)); err != nil {
				return err
			}
		}
		return nil
	})
}
