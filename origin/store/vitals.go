package store

import (
	"context"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
)

// maxCounted bounds what Vitals counts one by one: beyond it "very many" is all
// an operator needs, and a look must not cost more the worse things are.
const maxCounted = 100_000

// Vitals are what an operator watches of a record.
type Vitals struct {
	Event   int64         // number of the newest event
	Backlog int           // deliveries that wait for us, maxCounted at most
	Oldest  time.Duration // how long the one of them that is due longest has been due
	Held    int           // deliveries that wait for their endpoint, maxCounted at most
	Stopped int           // endpoints that get nothing at present
	Failing int           // endpoints whose deliveries fail
	Open    int           // enabled endpoints whose circuit is open

	Missions map[fieldmark.MissionStatus]int // that somebody still has to do something about, by where they stand; maxCounted at most in all
	Due      int                             // SLA timers and pending alerts that are due and not processed yet, maxCounted at most
	Late     time.Duration                   // how long the latest of those
}

// Vitals looks at the record as of now.
func (s *Store) Vitals(ctx context.Context, now time.Time) (v Vitals, err error) {
	if v.Event, err = s.Head(ctx); err != nil {
		return v, err
	}
	var due int64
	// What is held is late by the receiver's doing: it must not look like ours.
	const waiting = `(SELECT d.due_at FROM endpoint p JOIN delivery d ON d.endpoint = p.id WHERE d.state = 'due' AND d.lease_owner IS NULL AND `
	if err = s.queryRow(ctx, `SELECT COUNT(*), COALESCE(MIN(due_at), 0) FROM `+waiting+`p.state = 'enabled' AND COALESCE(p.open_until, 0) <= $1 LIMIT $2) AS ours`,
		now.UnixMicro(), maxCounted).Scan(&v.Backlog, &due); err != nil {
		return v, fmt.Errorf("count deliveries: %w", err)
	}
	if err = s.queryRow(ctx, `SELECT COUNT(*) FROM `+waiting+`(p.state <> 'enabled' OR COALESCE(p.open_until, 0) > $1) LIMIT $2) AS held`,
		now.UnixMicro(), maxCounted).Scan(&v.Held); err != nil {
		return v, fmt.Errorf("count held deliveries: %w", err)
	}
	if late := now.Sub(time.UnixMicro(due)); due > 0 && late > 0 {
		v.Oldest = late
	}
	err = s.queryRow(ctx, `SELECT COUNT(CASE WHEN state <> 'enabled' THEN 1 END), COUNT(CASE WHEN state = 'enabled' AND failing_since IS NOT NULL THEN 1 END),
		COUNT(CASE WHEN state = 'enabled' AND open_until > $1 THEN 1 END)
		FROM endpoint WHERE deleted_at IS NULL`, now.UnixMicro()).Scan(&v.Stopped, &v.Failing, &v.Open)
	if err != nil {
		return v, fmt.Errorf("count endpoints: %w", err)
	}
	return v, s.missionVitals(ctx, now, &v)
}

// missionVitals counts missions and clocks.
func (s *Store) missionVitals(ctx context.Context, now time.Time, v *Vitals) error {
	v.Missions = map[fieldmark.MissionStatus]int{}
	for _, status := range fieldmark.OpenStatuses() {
		v.Missions[status] = 0
	}
	rows, err := s.query(ctx, `SELECT status, COUNT(*) FROM (SELECT status FROM mission
		WHERE status IN ('NEW', 'SCHEDULED', 'DISPATCHED', 'EN_ROUTE', 'IN_PROGRESS', 'ON_HOLD', 'UNABLE_TO_COMPLETE') LIMIT $1) AS those GROUP BY status`, maxCounted)
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
	if err := s.queryRow(ctx, `SELECT COUNT(*), COALESCE(MIN(due_at), 0) FROM (SELECT due_at FROM sla WHERE due_at <= $1
			UNION ALL SELECT due_at FROM pending_alert WHERE due_at <= $1 ORDER BY due_at LIMIT $2) AS late`,
		now.UnixMicro(), maxCounted).Scan(&v.Due, &due); err != nil {
		return fmt.Errorf("count clocks: %w", err)
	}
	if due > 0 {
		v.Late = now.Sub(time.UnixMicro(due))
	}
	return nil
}

// maxActivity bounds the rows that Activity reads of each kind.
const maxActivity = 10_000

// Activity counts what happened lately.
type Activity struct {
	Sent, Failed int // deliveries that ended since a time, maxActivity at most together
	Breached     int // open missions of which an SLA target is breached, maxActivity at most
}

// Activity counts deliveries that ended since a time and breached SLAs of open
// missions. Delivery ids are in order of creation, so the newest rows of the
// primary key are enough.
func (s *Store) Activity(ctx context.Context, since time.Time) (a Activity, err error) {
	err = s.queryRow(ctx, `SELECT COUNT(CASE WHEN state = 'done' THEN 1 END), COUNT(CASE WHEN state = 'failed' THEN 1 END)
		FROM (SELECT state, updated_at FROM delivery ORDER BY id DESC LIMIT $1) AS newest WHERE updated_at >= $2`,
		maxActivity, since.UnixMicro()).Scan(&a.Sent, &a.Failed)
	if err != nil {
		return a, fmt.Errorf("count deliveries: %w", err)
	}
	err = s.queryRow(ctx, `SELECT COUNT(*) FROM (SELECT m.id FROM mission m
		WHERE m.status IN ('NEW', 'SCHEDULED', 'DISPATCHED', 'EN_ROUTE', 'IN_PROGRESS', 'ON_HOLD', 'UNABLE_TO_COMPLETE')
		AND EXISTS (SELECT 1 FROM sla_event e WHERE e.mission = m.id AND e.kind = $1) LIMIT $2) AS breached`,
		string(fieldmark.EventSLABreached), maxActivity).Scan(&a.Breached)
	if err != nil {
		return a, fmt.Errorf("count breached missions: %w", err)
	}
	return a, nil
}
