package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
)

// Explain returns the plan of a query for missions, one line per step. For PostgreSQL
// it includes the number of rows that the step read.
func (s *Store) Explain(ctx context.Context, q MissionQuery) (plan []string, read int, err error) {
	question, args := q.sql()
	return s.explain(ctx, question, args...)
}

// ExplainDeliveries returns the plan of a query for deliveries, as Explain does.
func (s *Store) ExplainDeliveries(ctx context.Context, f DeliveryFilter) (plan []string, read int, err error) {
	question, args := f.sql(time.Now())
	return s.explain(ctx, question, args...)
}

// ExplainSweep returns the plans of the sweeper's queries: timers that are due, timers
// that were computed with older rules, overdue payments, and pending alerts that are due;
// and of the queries for when these are due.
func (s *Store) ExplainSweep(ctx context.Context, now int64, limit int, rules int64) (plans [][]string, read int,
	err error) {
	for _, question := range []string{dueSLAs, staleSLAs, duePayments, duePendingAlerts} {
		args := []any{now, limit}
		if strings.Contains(question, "$5") {
			args = append(args, rules)
		}
		question = strings.NewReplacer("$3", "$1", "$4", "$2", "$5", "$3").Replace(question)
		plan, n, err := s.explain(ctx, question, args...)
		if err != nil {
			return nil, 0, err
		}
		plans, read = append(plans, plan), read+n
	}
	for _, due := range dueTimes {
		if due.topic != TopicDeadlines {
			continue
		}
		plan, _, err := s.explain(ctx, "SELECT ("+due.query+")")
		if err != nil {
			return nil, 0, err
		}
		plans = append(plans, plan)
	}
	return plans, read, nil
}

// ExplainWorlds returns the plans of the queries about test worlds, and how many rows each reads, as Explain does.
// world is the id of one; now is in microseconds.
func (s *Store) ExplainWorlds(ctx context.Context, world string, now int64) (map[string][]string, map[string]int,
	error) {
	plans, read := map[string][]string{}, map[string]int{}
	explain := func(name, question string, args ...any) error {
		plan, n, err := s.explain(ctx, question, args...)
		if plans[name], read[name] = plan, n; err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	claim := strings.NewReplacer("$3", "$1", "$4", "$2", "$5", "$3")
	old := "evt_00000000000000000000000001"
	errs := []error{
		explain("timers to claim", claim.Replace(worldSLAs), now, 50),
		explain("timers of old rules", claim.Replace(worldStaleSLAs), now, 50, 1),
		explain("payments to claim", claim.Replace(worldPayments), now, 50),
		explain("alerts to claim", claim.Replace(worldPendingAlerts), now, 50),
		explain("what is due", dueQuery(nil), "worker"),
		explain("what is due to shares", dueQuery(map[Work]Shares{WorkDeliveries: SharesOf(1, 4),
			WorkAudits: SharesOf(1, 4)}), "worker"),
		explain("endpoints to claim", dueWorldEndpoints+byWake, now, 50),
		explain("worlds to reset", worldsToReset, 50),
		explain("idle worlds", idleWorlds, 50, now),
		explain("worlds with events", worldsWithEvents, 50, old),
		explain("deliveries to delete", deliveriesOfWorld+` LIMIT $2`, world, 50),
		explain("misplaced deliveries", misplacedDeliveries, world),
		explain("old deliveries", oldDeliveriesOfWorld, world, 50, old),
		explain("missions to delete", missionsOfWorld, world, 50),
		explain("events to erase", eventsOfWorld, world, "~", 50),
	}
	for _, worlds := range []bool{false, true} {
		for _, status := range []fieldmark.PaymentStatus{"", fieldmark.PaymentPending} {
			question, args := (&PaymentQuery{Status: status, Worlds: worlds, Limit: 50}).sql()
			errs = append(errs, explain(fmt.Sprint("payments of worlds: ", worlds, status), question, args...))
		}
		for _, state := range []fieldmark.DeliveryState{"", fieldmark.DeliveryFailed} {
			question, args := (&DeliveryFilter{State: state, Worlds: worlds, Limit: 50}).sql(time.UnixMicro(now))
			errs = append(errs, explain(fmt.Sprint("deliveries of worlds: ", worlds, state), question, args...))
		}
	}
	for _, status := range [][]fieldmark.MissionStatus{nil, {fieldmark.MissionNew}} {
		question, args := (&MissionQuery{Status: status, Worlds: true, Limit: 50}).sql()
		errs = append(errs, explain(fmt.Sprint("missions of worlds: ", status), question, args...))
	}
	return plans, read, errors.Join(errs...)
}

// FillSLA adds timers to the missions of Fill. Every tenth timer runs; the first due of
// them are due at now, the others much later. It bypasses the rules of the store.
func (s *Store) FillSLA(ctx context.Context, now int64, due int) error {
	fill := `INSERT INTO sla (mission, policy, timers, revision, rules, due_at)
		SELECT m.id, 'MEDIUM', '[]', 0, CASE WHEN m.created_at % 10 = 0 THEN 0 END,
		CASE WHEN m.created_at % 10 = 0 AND m.created_at < ` + fmt.Sprint(10*due) + ` THEN ` + fmt.Sprint(now) + ` - 1
			WHEN m.created_at % 10 = 0 THEN ` + fmt.Sprint(now) + ` + 1000000 * (1 + m.created_at) END FROM mission m`
	if s.dialect.shared {
		_, err := s.readers.ExecContext(ctx, `BEGIN READ WRITE; SET LOCAL statement_timeout = 0; `+fill+
			`; ANALYZE sla; COMMIT`)
		return err
	}
	return s.Write(ctx, func(ctx context.Context, t *Tx) error {
		_, err := t.exec(ctx, fill)
		return err
	})
}

// explain returns the plan of a query.
func (s *Store) explain(ctx context.Context, question string, args ...any) (plan []string, read int, err error) {
	if !s.dialect.shared {
		rows, err := s.readers.QueryContext(ctx, `EXPLAIN QUERY PLAN `+question, args...)
		plan, err = collect(rows, err, func(row scanner) (detail string, err error) {
			var id, parent, unused int
			return detail, row.Scan(&id, &parent, &unused, &detail)
		})
		return plan, 0, err
	}
	var text string
	if err := s.readers.QueryRowContext(ctx, `EXPLAIN (ANALYZE, FORMAT JSON) `+question,
		args...).Scan(&text); err != nil {
		return nil, 0, err
	}
	var top []struct{ Plan node }
	if err := json.Unmarshal([]byte(text), &top); err != nil {
		return nil, 0, err
	}
	top[0].Plan.walk(&plan, &read)
	return plan, read, nil
}

// node is a step of a PostgreSQL query plan.
type node struct {
	Type    string  `json:"Node Type"`
	Table   string  `json:"Relation Name"`
	Index   string  `json:"Index Name"`
	Cond    string  `json:"Index Cond"`
	Rows    float64 `json:"Actual Rows"`
	Loops   float64 `json:"Actual Loops"`
	Removed float64 `json:"Rows Removed by Filter"`
	Plans   []node
}

func (n *node) walk(plan *[]string, read *int) {
	if n.Table != "" || n.Index != "" {
		*read += int((n.Rows + n.Removed) * n.Loops)
	}
	*plan = append(*plan, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", n.Type, n.Table, n.Index, n.Cond)))
	for _, p := range n.Plans {
		p.walk(plan, read)
	}
}

// BrandRow returns the row of a brand by the names of its columns.
func (s *Store) BrandRow(ctx context.Context, slug fieldmark.Slug) (map[string]any, error) {
	rows, err := s.readers.QueryContext(ctx, `SELECT * FROM brand WHERE slug = $1`, string(slug))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	if !rows.Next() {
		return nil, errors.Join(ErrNotFound, rows.Err())
	}
	row := map[string]any{}
	err = rows.Scan(into...)
	for i, name := range columns {
		row[name] = values[i]
	}
	return row, errors.Join(err, rows.Close())
}

// Fill adds n missions of one account with every status, priority and source, without
// appending events. The statuses are distributed as unevenly as in production.
func (s *Store) Fill(ctx context.Context, account string, n int) error {
	numbers := `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ` + fmt.Sprint(n-1) + `)`
	pad := `substr('00000000' || CAST(i AS TEXT), -8)`
	if s.dialect.shared {
		numbers = `WITH n(i) AS (SELECT generate_series(0, ` + fmt.Sprint(n-1) + `)::bigint)`
		pad = `lpad(i::text, 8, '0')`
	}
	request := `'{"externalId":"' || i || '","source":"s' || (i % 7) || '","title":"Replace the fan of the unit on ` +
		`the roof","priority":"MEDIUM","description":"` +
		strings.Repeat("What was seen, and what is to be done. ", 12) + `"}'`
	fill := numbers + ` INSERT INTO mission (id, account, source_key, external_id, fingerprint, request, status, ` +
		`held, created_at, updated_at, version, priority)
		SELECT 'msn_' || ` + pad + ` || '000000000000000000', '` + account + `', 's' || (i % 7), 'x' || i, ` +
		`'f', ` + request + `,
		CASE WHEN i % 1000 = 0 THEN 'ON_HOLD' WHEN i % 100 = 1 THEN 'NEW' WHEN i % 10 = 2 THEN 'COMPLETED' ELSE ` +
		`'CLOSED' END,
		'', i, i, 1, CASE WHEN i % 500 = 3 THEN 'CRITICAL' WHEN i % 3 = 0 THEN 'LOW' ELSE 'MEDIUM' END FROM n`
	steps := []string{`INSERT INTO account (id, created_at) VALUES ('` + account + `', 0) ON CONFLICT (id) DO NOTHING`,
		fill}
	// a million rows exceed the transaction timeout; PostgreSQL updates statistics by itself
	if s.dialect.shared {
		_, err := s.readers.ExecContext(ctx, `BEGIN READ WRITE; SET LOCAL statement_timeout = 0; `+
			strings.Join(steps, "; ")+`; ANALYZE mission; COMMIT`)
		return err
	}
	return s.Write(ctx, func(ctx context.Context, t *Tx) error {
		for _, step := range steps {
			if _, err := t.exec(ctx, step); err != nil {
				return err
			}
		}
		return nil
	})
}

// Bound limits the SQLite file to its current size plus more pages, which simulates a
// full disk. A negative number removes the limit.
func (s *Store) Bound(ctx context.Context, more int) error {
	return s.Write(ctx, func(ctx context.Context, t *Tx) error {
		var pages int
		if err := t.queryRow(ctx, `PRAGMA page_count`).Scan(&pages); err != nil {
			return err
		}
		if pages += more; more < 0 {
			pages = 1 << 30
		}
		return t.queryRow(ctx, fmt.Sprintf(`PRAGMA max_page_count=%d`, pages)).Scan(&pages)
	})
}

// Waiting returns the number of writes that wait for the running group.
func (s *Store) Waiting() int { return s.group.Waiting() }

// MigrateTo brings the schema up to a version.
func MigrateTo(ctx context.Context, cfg Config, version int64) error {
	if cfg.URL == "" {
		if err := createFile(cfg.Path); err != nil {
			return err
		}
	}
	d, db, err := openRaw(cfg, writerPragmas)
	if err != nil {
		return err
	}
	defer db.Close()
	p, err := newProvider(d, db)
	if err != nil {
		return err
	}
	_, err = p.UpTo(ctx, version)
	return err
}
