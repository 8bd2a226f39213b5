package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
)

// StatsReader reads statistics and reports of edge nodes.
type StatsReader struct{ querier }

// StatsTx writes statistics and reports of edge nodes, in a transaction.
type StatsTx struct {
	StatsReader
	*tx
}

// PutNode stores the report of a node and returns its previous one, which is
// zero for a new node.
func (t StatsTx) PutNode(ctx context.Context, r fieldmark.NodeReport) (before fieldmark.NodeReport, err error) {
	list, err := nodes(ctx, t, `SELECT report, seen_at FROM node WHERE id = $1`, r.Node)
	if err != nil {
		return before, err
	}
	if len(list) == 1 {
		before = list[0]
	}
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

// PruneNodes deletes nodes that have not reported since a time.
func (t StatsTx) PruneNodes(ctx context.Context, since fieldmark.Time) error {
	if _, err := t.exec(ctx, `DELETE FROM node WHERE seen_at < $1`, since.Micros()); err != nil {
		return fmt.Errorf("prune nodes: %w", err)
	}
	return nil
}

// maxCount bounds how many rows Stats counts of each kind: a larger number tells
// an operator nothing more, and reading must not cost more the worse things are.
const maxCount = 100_000

// Stats is what an operator monitors in a database.
type Stats struct {
	Event       int64         // number of the newest event
	Backlog     int           // deliveries due to be sent, maxCount at most
	Oldest      time.Duration // how long the oldest of them has been due
	Held        int           // deliveries held because of their endpoint, maxCount at most
	Stopped     int           // endpoints that are paused or disabled
	Failing     int           // endpoints whose deliveries fail
	CircuitOpen int           // enabled endpoints whose circuit is open

	Missions map[fieldmark.MissionStatus]int // open missions by status, maxCount at most in total
	Due      int                             // due SLA timers and pending alerts, maxCount at most
	MaxDelay time.Duration                   // the longest delay of those
}

// Stats reads the statistics as of now.
func (db StatsReader) Stats(ctx context.Context, now time.Time) (v Stats, err error) {
	if v.Event, err = EventReader(db).Head(ctx); err != nil {
		return v, err
	}
	var due int64
	// Held deliveries are late because of the receiver and are counted apart.
	const waiting = `(SELECT d.due_at FROM endpoint p JOIN delivery d ON d.endpoint = p.id WHERE d.state = 'due'
		AND d.lease_owner IS NULL AND `
	if err = db.queryRow(ctx, `SELECT COUNT(*), COALESCE(MIN(due_at), 0) FROM `+waiting+`p.state = 'enabled'
		AND COALESCE(p.open_until, 0) <= $1 LIMIT $2) AS ours`,
		now.UnixMicro(), maxCount).Scan(&v.Backlog, &due); err != nil {
		return v, fmt.Errorf("count deliveries: %w", err)
	}
	if err = db.queryRow(ctx, `SELECT COUNT(*) FROM `+waiting+`(p.state <> 'enabled' OR COALESCE(p.open_until,
		0) > $1) LIMIT $2) AS held`,
		now.UnixMicro(), maxCount).Scan(&v.Held); err != nil {
		return v, fmt.Errorf("count held deliveries: %w", err)
	}
	if late := now.Sub(time.UnixMicro(due)); due > 0 && late > 0 {
		v.Oldest = late
	}
	err = db.queryRow(ctx, `SELECT COUNT(CASE WHEN state <> 'enabled' THEN 1 END), COUNT(CASE WHEN state = 'enabled'
		AND failing_since IS NOT NULL THEN 1 END),
		COUNT(CASE WHEN state = 'enabled' AND open_until > $1 THEN 1 END)
		FROM endpoint WHERE deleted_at IS NULL`, now.UnixMicro()).Scan(&v.Stopped, &v.Failing, &v.CircuitOpen)
	if err != nil {
		return v, fmt.Errorf("count endpoints: %w", err)
	}
	return v, db.missionStats(ctx, now, &v)
}

// missionStats counts missions, timers and pending alerts.
func (db StatsReader) missionStats(ctx context.Context, now time.Time, v *Stats) error {
	v.Missions = map[fieldmark.MissionStatus]int{}
	for _, status := range fieldmark.OpenStatuses() {
		v.Missions[status] = 0
	}
	rows, err := db.query(ctx, `SELECT status, COUNT(*) FROM (SELECT status FROM mission
		WHERE status IN ('NEW', 'SCHEDULED', 'DISPATCHED', 'EN_ROUTE', 'IN_PROGRESS', 'ON_HOLD', 'UNABLE_TO_COMPLETE')
			LIMIT $1) AS those GROUP BY status`, maxCount)
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
	var due int64
	if err := db.queryRow(ctx, `SELECT COUNT(*), COALESCE(MIN(due_at), 0) FROM (SELECT due_at FROM sla
		WHERE due_at <= $1
			UNION ALL SELECT due_at FROM pending_alert WHERE due_at <= $1 ORDER BY due_at LIMIT $2) AS late`,
		now.UnixMicro(), maxCount).Scan(&v.Due, &due); err != nil {
		return fmt.Errorf("count due timers: %w", err)
	}
	if due > 0 {
		v.MaxDelay = now.Sub(time.UnixMicro(due))
	}
	return nil
}

// maxActivity bounds the rows that Activity reads of each kind.
const maxActivity = 10_000

// Activity counts recent events.
type Activity struct {
	Sent, Failed int // deliveries that ended since a time, maxActivity at most together
	Breached     int // open missions of which an SLA target is breached, maxActivity at most
}

// Activity counts deliveries that ended since a time, and open missions with a
// breached SLA. Delivery ids are in order of creation, so it reads only the
// newest rows.
func (db StatsReader) Activity(ctx context.Context, since time.Time) (a Activity, err error) {
	err = db.queryRow(ctx, `SELECT COUNT(CASE WHEN state = 'done' THEN 1 END), COUNT(CASE WHEN state = 'failed'
		THEN 1 END)
		FROM (SELECT state, updated_at FROM delivery ORDER BY id DESC LIMIT $1) AS newest WHERE updated_at >= $2`,
		maxActivity, since.UnixMicro()).Scan(&a.Sent, &a.Failed)
	if err != nil {
		return a, fmt.Errorf("count deliveries: %w", err)
	}
	err = db.queryRow(ctx, `SELECT COUNT(*) FROM (SELECT m.id FROM mission m
		WHERE m.status IN ('NEW', 'SCHEDULED', 'DISPATCHED', 'EN_ROUTE', 'IN_PROGRESS', 'ON_HOLD', 'UNABLE_TO_COMPLETE')
		AND EXISTS (SELECT 1 FROM sla_event e WHERE e.mission = m.id AND e.kind = $1) LIMIT $2) AS breached`,
		string(fieldmark.EventSLABreached), maxActivity).Scan(&a.Breached)
	if err != nil {
		return a, fmt.Errorf("count breached missions: %w", err)
	}
	return a, nil
}
