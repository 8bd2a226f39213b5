package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/fieldmark/fieldmark"
)

// Reports of edges, counts of nodes, backups, and the queries behind issues.

// StatsReader reads statistics and reports of edge nodes.
type StatsReader struct{ querier }

// StatsTx writes statistics and reports of edge nodes, in a transaction.
type StatsTx struct {
	StatsReader
	*tx
}

// maxBucketAge is how far before a report a bucket may begin; an edge keeps fewer of them.
const maxBucketAge = 2 * time.Hour

// PutNode stores the report of a node and returns its previous one, which is
// zero for a new node. The counts of each minute are added once, however often
// the node reports them.
func (t StatsTx) PutNode(ctx context.Context, r fieldmark.NodeReport) (before fieldmark.NodeReport, err error) {
	list, err := nodes(ctx, t, `SELECT report, seen_at FROM node WHERE id = $1`, r.Node)
	if err != nil {
		return before, err
	}
	if len(list) == 1 {
		before = list[0]
	}
	r.CountedUntil = before.CountedUntil
	for _, b := range r.Buckets[:min(len(r.Buckets), fieldmark.MaxNodeBuckets)] {
		age := r.SeenAt.Std().Sub(b.At.Std())
		if !b.At.Std().After(r.CountedUntil.Std()) || age < 0 || age > maxBucketAge {
			continue
		}
		if err := t.AddMetric(ctx, b); err != nil {
			return before, err
		}
		r.CountedUntil = b.At
	}
	r.Buckets = nil // they are rows of their own
	text, err := json.Marshal(r)
	if err == nil {
		_, err = t.exec(ctx, `INSERT INTO node (id, report, seen_at) VALUES ($1, $2, $3)
			ON CONFLICT (id) DO UPDATE SET report = excluded.report, seen_at = excluded.seen_at`, r.Node,
			string(text), r.SeenAt.Micros())
	}
	if err != nil {
		return before, fmt.Errorf("put node %s: %w", r.Node, err)
	}
	return before, nil
}

// Nodes lists the nodes that reported since a time, by their id.
func (db StatsReader) Nodes(ctx context.Context, since fieldmark.Time, limit int) ([]fieldmark.NodeReport, error) {
	return nodes(ctx, db, `SELECT report, seen_at FROM node WHERE seen_at >= $1 ORDER BY id LIMIT $2`, since.Micros(),
		limit)
}

func nodes(ctx context.Context, db querier, text string, args ...any) ([]fieldmark.NodeReport, error) {
	rows, err := db.query(ctx, text, args...)
	list, err := collect(rows, err, func(row scanner) (r fieldmark.NodeReport, err error) {
		var report string
		var at int64
		if err := row.Scan(&report, &at); err != nil {
			return r, err
		}
		err = json.Unmarshal([]byte(report), &r)
		r.SeenAt = fieldmark.AtMicros(at)
		return r, err
	})
	if err != nil {
		return nil, fmt.Errorf("read nodes: %w", err)
	}
	return list, nil
}

// PutUptime records that a report of an edge was stored: it extends the newest period of
// uptime, or begins one if that ended more than gap ago. Two reports in one instant may
// begin two; they overlap and count as one.
func (t StatsTx) PutUptime(ctx context.Context, now fieldmark.Time, gap time.Duration) error {
	var newest int64
	if err := t.queryRow(ctx, `SELECT COALESCE(MAX(ended_at), 0) FROM uptime`).Scan(&newest); err != nil {
		return fmt.Errorf("read the uptime: %w", err)
	}
	var err error
	if at := now.Micros(); at-newest > gap.Microseconds() {
		_, err = t.exec(ctx, `INSERT INTO uptime (began_at, ended_at) VALUES ($1, $1) ON CONFLICT DO NOTHING`, at)
	} else if at > newest {
		_, err = t.exec(ctx, `UPDATE uptime SET ended_at = $1 WHERE ended_at = $2`, at, newest)
	}
	if err != nil {
		return fmt.Errorf("put the uptime: %w", err)
	}
	return nil
}

// PruneUptime deletes the periods of uptime that ended before a time.
func (t StatsTx) PruneUptime(ctx context.Context, before fieldmark.Time) error {
	if _, err := t.exec(ctx, `DELETE FROM uptime WHERE ended_at < $1`, before.Micros()); err != nil {
		return fmt.Errorf("prune the uptime: %w", err)
	}
	return nil
}

// Uptime is a period in which edges reported without a gap.
type Uptime struct{ Began, Ended fieldmark.Time }

// Uptimes lists the periods of uptime that ended at or after a time, the newest first.
func (db StatsReader) Uptimes(ctx context.Context, since fieldmark.Time, limit int) ([]Uptime, error) {
	rows, err := db.query(ctx, `SELECT began_at, ended_at FROM uptime WHERE ended_at >= $1 ORDER BY ended_at DESC
		LIMIT $2`, since.Micros(), limit)
	list, err := collect(rows, err, func(row scanner) (u Uptime, err error) {
		err = row.Scan(timeCol{&u.Began}, timeCol{&u.Ended})
		return u, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the uptime: %w", err)
	}
	return list, nil
}

// DeleteNode deletes a node and reports whether it existed.
func (t StatsTx) DeleteNode(ctx context.Context, id string) (bool, error) {
	n, err := t.exec(ctx, `DELETE FROM node WHERE id = $1`, id)
	if err != nil {
		return false, fmt.Errorf("delete node %s: %w", id, err)
	}
	return n > 0, nil
}

// PruneNodes deletes nodes that have not reported since a time.
func (t StatsTx) PruneNodes(ctx context.Context, since fieldmark.Time) error {
	if _, err := t.exec(ctx, `DELETE FROM node WHERE seen_at < $1`, since.Micros()); err != nil {
		return fmt.Errorf("prune nodes: %w", err)
	}
	return nil
}

// Stats is what an operator monitors in a database.
type Stats struct {
	Event       int64         // number of the newest event
	Backlog     int           // deliveries to be sent, to endpoints that accept messages
	Oldest      time.Duration // how long the oldest of them has been due
	Held        int           // deliveries held because of their endpoint
	Stopped     int           // endpoints that are paused or disabled
	Failing     int           // endpoints whose deliveries fail
	CircuitOpen int           // enabled endpoints whose circuit is open

	Missions map[fieldmark.MissionStatus]int // open missions by status
	Due      int                             // due SLA timers and pending alerts
	MaxDelay time.Duration                   // the longest delay of those
}

// Stats reads the statistics as of now. It counts at most a number of rows of each kind: reading
// must not cost more the worse things are. Open missions have that limit in total.
func (db StatsReader) Stats(ctx context.Context, now time.Time, most int) (v Stats, err error) {
	if v.Event, err = EventReader(db).Head(ctx); err != nil {
		return v, err
	}
	late, err := db.Overdue(ctx, now)
	if err != nil {
		return v, err
	}
	if !late.Deliveries.IsZero() {
		v.Oldest = now.Sub(late.Deliveries)
	}
	if !late.Timers.IsZero() {
		v.MaxDelay = now.Sub(late.Timers)
	}
	// Held deliveries are late because of the receiver and are counted apart.
	for _, of := range []struct {
		count    *int
		endpoint string
	}{{&v.Backlog, `p.state = 'enabled' AND COALESCE(p.open_until, 0) <= $1`},
		{&v.Held, `(p.state <> 'enabled' OR COALESCE(p.open_until, 0) > $1)`}} {
		// CROSS JOIN makes SQLite step into the index of each endpoint, instead of reading all deliveries.
		err = db.queryRow(ctx, `SELECT COUNT(*) FROM (SELECT d.id FROM endpoint p CROSS JOIN delivery d
			WHERE d.endpoint = p.id AND d.state = 'due' AND d.lease_owner IS NULL AND p.world = '' AND `+of.endpoint+`
			LIMIT $2) AS those`,
			now.UnixMicro(), most).Scan(of.count)
		if err != nil {
			return v, fmt.Errorf("count deliveries: %w", err)
		}
	}
	err = db.queryRow(ctx, `SELECT COUNT(CASE WHEN state <> 'enabled' THEN 1 END), COUNT(CASE WHEN state = 'enabled'
		AND failing_since IS NOT NULL THEN 1 END),
		COUNT(CASE WHEN state = 'enabled' AND open_until > $1 THEN 1 END)
		FROM endpoint WHERE deleted_at IS NULL AND world = ''`, now.UnixMicro()).Scan(
		&v.Stopped, &v.Failing, &v.CircuitOpen)
	if err != nil {
		return v, fmt.Errorf("count endpoints: %w", err)
	}
	return v, db.missionStats(ctx, now, most, &v)
}

// missionStats counts missions, timers and pending alerts.
func (db StatsReader) missionStats(ctx context.Context, now time.Time, most int, v *Stats) error {
	v.Missions = map[fieldmark.MissionStatus]int{}
	for _, status := range fieldmark.OpenStatuses() {
		v.Missions[status] = 0
	}
	rows, err := db.query(ctx, `SELECT status, COUNT(*) FROM (SELECT status FROM mission
		WHERE world = ''
			AND status IN ('NEW', 'SCHEDULED', 'DISPATCHED', 'EN_ROUTE', 'IN_PROGRESS', 'ON_HOLD', 'UNABLE_TO_COMPLETE')
			LIMIT $1) AS those GROUP BY status`, most)
	if err != nil {
		return fmt.Errorf("count missions: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var status fieldmark.MissionStatus
		var n int
		if err := rows.Scan(&status, &n); err != nil {
			return fmt.Errorf("count missions: %w", err)
		}
		v.Missions[status] = n
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("count missions: %w", err)
	}
	if err := db.queryRow(ctx, `SELECT COUNT(*) FROM (SELECT due_at FROM sla WHERE due_at <= $1 AND world = ''
		UNION ALL SELECT due_at FROM pending_alert WHERE due_at <= $1 AND world = '' LIMIT $2) AS late`,
		now.UnixMicro(), most).Scan(&v.Due); err != nil {
		return fmt.Errorf("count due timers: %w", err)
	}
	return nil
}

// The lengths of the periods that are counted, and how long their rows are kept: at most
// 12,240 rows, however many nodes count.
const (
	MetricMinute = time.Minute
	MetricHour   = time.Hour
	keepMinutes  = 7 * 24 * time.Hour
	keepHours    = 90 * 24 * time.Hour
)

// AddMetric adds the counts of a minute.
func (t StatsTx) AddMetric(ctx context.Context, b fieldmark.MetricBucket) error {
	if err := t.putMetric(ctx, MetricMinute, b); err != nil {
		return err
	}
	return t.putMetric(ctx, MetricHour, b)
}

// putMetric adds counts to the row of the period of a length that contains a time.
func (t StatsTx) putMetric(ctx context.Context, step time.Duration, b fieldmark.MetricBucket) error {
	b.At = fieldmark.At(b.At.Std().Truncate(step))
	seconds := int64(step / time.Second)
	var row fieldmark.MetricBucket
	err := queryErr(t.queryRow(ctx, `SELECT body FROM metric WHERE step = $1 AND at = $2`, seconds,
		b.At.Micros()).Scan(jsonCol{&row}))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("read a metric: %w", err)
	}
	row.Add(b)
	row.At = b.At
	text, err := jsonText(row)
	if err == nil {
		_, err = t.exec(ctx, `INSERT INTO metric (step, at, body) VALUES ($1, $2, $3)
			ON CONFLICT (step, at) DO UPDATE SET body = excluded.body`, seconds, b.At.Micros(), text)
	}
	if err != nil {
		return fmt.Errorf("put a metric: %w", err)
	}
	return nil
}

// PruneMetrics deletes the rows that are too old at a time.
func (t StatsTx) PruneMetrics(ctx context.Context, now time.Time) error {
	if _, err := t.exec(ctx, `DELETE FROM metric WHERE step = $1 AND at < $2 OR step = $3 AND at < $4`,
		int64(MetricMinute/time.Second), now.Add(-keepMinutes).UnixMicro(), int64(MetricHour/time.Second),
		now.Add(-keepHours).UnixMicro()); err != nil {
		return fmt.Errorf("prune metrics: %w", err)
	}
	return nil
}

// Metrics lists the rows of periods of a length that began at or after a time, the oldest
// first.
func (db StatsReader) Metrics(ctx context.Context, step time.Duration,
	since time.Time) ([]fieldmark.MetricBucket, error) {
	rows, err := db.query(ctx, `SELECT body FROM metric WHERE step = $1 AND at >= $2 ORDER BY at`,
		int64(step/time.Second), since.UnixMicro())
	list, err := collect(rows, err, func(row scanner) (b fieldmark.MetricBucket, err error) {
		return b, row.Scan(jsonCol{&b})
	})
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	return list, nil
}

// AddBackup records that the database was backed up, instead of earlier backups.
func (t StatsTx) AddBackup(ctx context.Context, at time.Time) error {
	_, err := t.exec(ctx, `DELETE FROM backup WHERE at <= $1`, at.UnixMicro())
	if err == nil {
		_, err = t.exec(ctx, `INSERT INTO backup (at) VALUES ($1) ON CONFLICT DO NOTHING`, at.UnixMicro())
	}
	if err != nil {
		return fmt.Errorf("record a backup: %w", err)
	}
	return nil
}

// LastBackup returns when the database was last backed up, or the zero Time, and when it was
// created.
func (db StatsReader) LastBackup(ctx context.Context) (at, created time.Time, err error) {
	err = db.queryRow(ctx, `SELECT (SELECT MAX(at) FROM backup), (SELECT MIN(created_at) FROM account)`).Scan(
		exactTime{&at}, exactTime{&created})
	if err != nil {
		return at, created, fmt.Errorf("read the last backup: %w", queryErr(err))
	}
	return at, created, nil
}

// UnhealthyEndpoints lists endpoints that are not enabled or whose deliveries fail.
func (db StatsReader) UnhealthyEndpoints(ctx context.Context, now time.Time, limit int) ([]Endpoint, error) {
	rows, err := db.query(ctx, `SELECT `+endpointColumns+` FROM endpoint
		WHERE deleted_at IS NULL AND world = '' AND (expires_at IS NULL OR expires_at > $1)
		AND (state <> 'enabled' OR failing_since IS NOT NULL OR open_until IS NOT NULL) ORDER BY id LIMIT $2`,
		now.UnixMicro(), limit)
	list, err := collect(rows, err, scanEndpoint)
	if err != nil {
		return nil, fmt.Errorf("list unhealthy endpoints: %w", err)
	}
	return list, nil
}

// CountDue counts the unsent deliveries to an endpoint, limit at most.
func (db StatsReader) CountDue(ctx context.Context, endpoint string, limit int) (n int, err error) {
	err = db.queryRow(ctx, `SELECT COUNT(*) FROM (SELECT id FROM delivery WHERE endpoint = $1 AND state = 'due'
		AND lease_owner IS NULL LIMIT $2) AS due`, endpoint, limit).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the deliveries to %s: %w", endpoint, queryErr(err))
	}
	return n, nil
}

// Overdue contains when the oldest unfinished work was due; zero times: nothing is due.
type Overdue struct {
	Deliveries time.Time // to endpoints that accept messages
	Timers     time.Time // of SLAs, and pending alerts
	Audits     time.Time // that no process works on
	Auditing   int       // audits that run, at most 1
}

// Overdue reads when the oldest unfinished work was due.
func (db StatsReader) Overdue(ctx context.Context, now time.Time) (o Overdue, err error) {
	// One step into an index for each endpoint, however many deliveries it has.
	err = db.queryRow(ctx, `SELECT MIN(due) FROM (SELECT (SELECT MIN(d.due_at) FROM delivery d
			WHERE d.endpoint = p.id AND d.state = 'due' AND d.lease_owner IS NULL) AS due
		FROM endpoint p WHERE p.state = 'enabled' AND p.open_until IS NULL AND p.deleted_at IS NULL
			AND p.world = '') AS first
		WHERE due <= $1`, now.UnixMicro()).Scan(exactTime{&o.Deliveries})
	if err == nil {
		err = db.queryRow(ctx, `SELECT MIN(due_at) FROM (SELECT MIN(due_at) AS due_at FROM sla WHERE due_at <= $1
				AND world = ''
			UNION ALL SELECT MIN(due_at) FROM pending_alert WHERE due_at <= $1 AND world = '') AS late`,
			now.UnixMicro()).Scan(exactTime{&o.Timers})
	}
	if err == nil {
		err = db.queryRow(ctx, `SELECT (SELECT MIN(due_at) FROM audit WHERE due_at <= $1 AND failure = ''
			AND (lease_until IS NULL OR lease_until <= $1)),
			(SELECT COUNT(*) FROM (SELECT brand FROM audit WHERE lease_until > $1 LIMIT 1) AS running)`,
			now.UnixMicro()).Scan(exactTime{&o.Audits}, &o.Auditing)
	}
	if err != nil {
		return o, fmt.Errorf("read what is overdue: %w", queryErr(err))
	}
	return o, nil
}

// CountBrands counts the brands, limit at most.
func (db StatsReader) CountBrands(ctx context.Context, limit int) (n int, err error) {
	err = db.queryRow(ctx, `SELECT COUNT(*) FROM (SELECT slug FROM brand LIMIT $1) AS listed`, limit).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count brands: %w", queryErr(err))
	}
	return n, nil
}

// OpenSLAs are missions whose SLA needs attention, MaxOpenSLAs of each kind at most.
type OpenSLAs struct {
	Breached, AtRisk           int       // missions with a timer that is breached and has not stopped, or is at risk
	BreachedSince, AtRiskSince time.Time // of the first of them; zero: none
}

// MaxOpenSLAs limits the counts of OpenSLAs: reading must not cost more the worse things are.
const MaxOpenSLAs = 10_000

// OpenSLAs counts the missions whose SLA is breached or at risk at present.
func (db StatsReader) OpenSLAs(ctx context.Context) (o OpenSLAs, err error) {
	err = db.queryRow(ctx, `SELECT COUNT(*), MIN(breached_at) FROM (SELECT breached_at FROM sla
		WHERE breached_at IS NOT NULL AND world = '' ORDER BY breached_at LIMIT $1) AS open`, MaxOpenSLAs).Scan(
		&o.Breached,
		exactTime{&o.BreachedSince})
	if err == nil {
		err = db.queryRow(ctx, `SELECT COUNT(*), MIN((SELECT MIN(e.at) FROM sla_event e WHERE e.mission = open.mission
			AND e.kind = 'sla.at_risk')) FROM (SELECT mission FROM sla WHERE at_risk_due IS NOT NULL AND world = ''
			ORDER BY at_risk_due LIMIT $1) AS open`, MaxOpenSLAs).Scan(&o.AtRisk, exactTime{&o.AtRiskSince})
	}
	if err != nil {
		return o, fmt.Errorf("count missions by their SLA: %w", queryErr(err))
	}
	return o, nil
}

// EndingKeys lists the API keys in use that expire between two times, the first to expire
// first.
func (db StatsReader) EndingKeys(ctx context.Context, from, until time.Time, limit int) ([]Key, error) {
	rows, err := db.query(ctx, `SELECT `+keyColumns+` FROM api_key WHERE revoked_at IS NULL AND replaced_by IS NULL
		AND expires_at > $1 AND expires_at <= $2
		AND EXISTS (SELECT 1 FROM account a WHERE a.id = api_key.account AND a.world = '')
		ORDER BY expires_at, id LIMIT $3`, from.UnixMicro(),
		until.UnixMicro(), limit)
	list, err := collect(rows, err, func(row scanner) (Key, error) { return scanKey(row) })
	if err != nil {
		return nil, fmt.Errorf("list keys that expire: %w", err)
	}
	return list, nil
}

// EventTime returns the time of the first event after a number, or the zero Time.
func (db StatsReader) EventTime(ctx context.Context, after int64) (at time.Time, err error) {
	err = queryErr(db.queryRow(ctx, `SELECT at FROM event WHERE number > $1 ORDER BY number LIMIT 1`,
		after).Scan(exactTime{&at}))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return at, fmt.Errorf("read the time of an event: %w", err)
	}
	return at, nil
}

// NumberBefore returns the number of the newest event before a time, or 0. Ids begin with
// their time.
func (db StatsReader) NumberBefore(ctx context.Context, at time.Time) (n int64, err error) {
	err = queryErr(db.queryRow(ctx, `SELECT number FROM event WHERE id < $1 ORDER BY id DESC LIMIT 1`,
		fieldmark.FirstID(fieldmark.PrefixEvent, at)).Scan(&n))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return 0, fmt.Errorf("read the number of an event: %w", err)
	}
	return n, nil
}

// ActivatedAt returns when the active module was activated, or the zero Time if its event is no
// longer stored.
func (db StatsReader) ActivatedAt(ctx context.Context) (at time.Time, err error) {
	err = queryErr(db.queryRow(ctx, `SELECT at FROM event WHERE number = (SELECT MAX(event)
		FROM activation)`).Scan(exactTime{&at}))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return at, fmt.Errorf("read the time of the activation: %w", err)
	}
	return at, nil
}

// refusedWindow is how long a refused write counts as an outage: a full disk refuses only what
// needs room, so others may succeed in between.
const refusedWindow = 30 * time.Second

// outage records since when the database cannot be reached, or refuses writes. It is safe for
// concurrent use.
type outage struct {
	unreachable            atomic.Int64 // since, in microseconds; 0: it can be reached
	refusedFrom, refusedTo atomic.Int64 // the first and the last refused write, in microseconds
}

// record records the outcome of a write.
func (o *outage) record(err error, now time.Time) {
	e, ok := errors.AsType[*fieldmark.Error](err)
	switch {
	case err == nil:
		if o.unreachable.Load() != 0 { // write the shared cache line only when it changes
			o.unreachable.Store(0)
		}
	case ok && e.Detail == detailUnreachable:
		o.unreachable.CompareAndSwap(0, now.UnixMicro())
	case ok && e.Detail == detailRefuses:
		if now.Sub(time.UnixMicro(o.refusedTo.Swap(now.UnixMicro()))) > refusedWindow {
			o.refusedFrom.Store(now.UnixMicro())
		}
	}
}

// Outage returns since when the database cannot be reached, and since when it refuses writes;
// zero times: it works. Both are as of the last write of this process.
func (s *Store) Outage(now time.Time) (unreachable, refuses time.Time) {
	if at := s.outage.unreachable.Load(); at != 0 {
		unreachable = time.UnixMicro(at)
	}
	if to := s.outage.refusedTo.Load(); to != 0 && now.Sub(time.UnixMicro(to)) <= refusedWindow {
		refuses = time.UnixMicro(s.outage.refusedFrom.Load())
	}
	return unreachable, refuses
}
