package recordtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Size is how many rows Fill writes.
type Size struct {
	// Missions are the missions of the account default, created over the last 90 days. One in
	// OpenEvery is open; a third of those has a visit within three weeks. Each has one event.
	Missions, OpenEvery int
	// Endpoints is how many of the newest missions' events were sent to every endpoint in the
	// database: the number of deliveries is Deliveries × endpoints.
	Deliveries int
	// Unsent is the share of the deliveries that is due and has no attempt, in per cent. Of the
	// others, one in a hundred has failed.
	Unsent int
	// AuditLog is the number of entries of the audit log, Keys of accounts with one API key each.
	AuditLog, Keys int
	// Metrics fills the counts of 7 days of minutes and of 90 days of hours.
	Metrics bool
}

// span is the time over which the missions were created.
const span = 90 * 24 * time.Hour

// Fill fills a database in which no process works, and updates the statistics of the planner.
func Fill(t testing.TB, cfg store.Config, size Size) {
	t.Helper()
	now := time.Now().Truncate(time.Millisecond)
	script := []string{missions(size, now), labels, timers(now, false), timers(now, true), breaches, events, eventLog}
	if size.Deliveries > 0 {
		script = append(script, deliveries(size), attempts)
	}
	if size.AuditLog > 0 {
		script = append(script, auditLog(size.AuditLog, now))
	}
	if size.Keys > 0 {
		script = append(script, accounts(size.Keys, now), keys)
	}
	if size.Metrics {
		script = append(script, metrics(t, now, 60, 7*24*60), metrics(t, now, 3600, 90*24))
	}
	analyze := "ANALYZE"
	if cfg.URL != "" {
		analyze = "VACUUM ANALYZE" // the server of tests runs no autovacuum
	}
	storetest.Exec(t, cfg, append(script, analyze)...)
}

// numbers is a table n of the numbers i from 0.
func numbers(count int) string {
	return fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT CAST(0 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < %d) `,
		count-1)
}

// id is an expression for the id of row i that was created at a time, in microseconds, as
// fieldmark.NewID forms it: its first ten digits are the time.
func id(prefix, micros, i string) string {
	const digits = `substr('0123456789abcdefghjkmnpqrstvwxyz', CAST(%s AS INTEGER) + 1, 1)`
	text := "'" + prefix + "_'"
	for shift := 43; shift >= 3; shift -= 5 {
		text += " || " + fmt.Sprintf(digits, fmt.Sprintf("((%s) / 1000 >> %d) & 31", micros, shift))
	}
	return text + " || " + fmt.Sprintf(digits, fmt.Sprintf("(((%s) / 1000 & 7) << 2) + 1", micros)) +
		" || CAST(100000000000000 + " + i + " AS TEXT) || '0'"
}

// missions are the missions of the account default: their titles, sources, priorities and
// assignees repeat.
func missions(size Size, now time.Time) string {
	created := fmt.Sprintf("%d - (%d - i) * %d", now.UnixMicro(), size.Missions,
		span.Microseconds()/int64(size.Missions))
	open := fmt.Sprintf("i %% %d = 0", size.OpenEvery)
	visit := fmt.Sprintf("CASE WHEN i %% %d = 0 THEN %d + (i / %d %% 504) * 3600000000 ", 3*size.OpenEvery,
		now.Truncate(time.Hour).Add(-7*24*time.Hour).UnixMicro(), 3*size.OpenEvery)
	return numbers(size.Missions) + `INSERT INTO mission (id, account, source_key, external_id, fingerprint, request,
		status, held, created_at, updated_at, version, priority, search_text, scheduled_start, scheduled_end, assignee,
		completed_at)
		SELECT ` + id(fieldmark.PrefixMission, created, "i") + `, 'default', 'crm', 'INC' || CAST(1000000 + i AS TEXT),
		'f', '{"externalId":"INC' || CAST(1000000 + i AS TEXT) || '","source":"crm","title":"Replace the mast ' || i ||
		' at the gate","description":"` + strings.Repeat("What was seen, and what is to be done. ", 5) +
		`","priority":"' || rank || '","labels":{"site":"s' || (i % 50) || '","team":"north"}}',
		CASE WHEN NOT ` + open + ` THEN CASE i % 9 WHEN 0 THEN 'CANCELED' WHEN 1 THEN 'COMPLETED' ELSE 'CLOSED' END
			WHEN i % 7 = 0 THEN 'ON_HOLD' WHEN i % 3 = 0 THEN 'SCHEDULED' ELSE 'NEW' END, '', at, at, 1, rank,
		'replace the mast ' || i || ' at the gate' || '
' || 'INC' || CAST(1000000 + i AS TEXT) || '
tech-' || (i % 40),
		` + visit + `END, ` + visit + ` + 3600000000 END,
		'{"id":"tech-' || (i % 40) || '","name":"Technician ' || (i % 40) || '"}',
		CASE WHEN NOT ` + open + ` THEN at END
		FROM (SELECT i, ` + created + ` AS at, CASE i % 4 WHEN 0 THEN 'LOW' WHEN 1 THEN 'MEDIUM' WHEN 2 THEN 'HIGH'
			ELSE 'CRITICAL' END AS rank FROM n) AS rows`
}

const labels = `INSERT INTO mission_label (account, key, value, mission)
	SELECT account, 'site', 's' || CAST(CAST(substr(external_id, 5) AS BIGINT) % 50 AS TEXT), id FROM mission`

// isOpen is the condition of an open mission, and isLate of one whose response was late.
const (
	isOpen = `status IN ('NEW', 'SCHEDULED', 'ON_HOLD')`
	isLate = `CAST(substr(external_id, 5) AS BIGINT) % 7 = 3`
)

// timers are the SLA timers of open missions: the resolution runs, and the response of the late
// ones is breached.
func timers(now time.Time, late bool) string {
	at := func(d time.Duration) *fieldmark.Time { t := fieldmark.At(now.Add(d)); return &t }
	response := fieldmark.SLAClock{Name: fieldmark.SLAResponse, State: fieldmark.SLARunning, Cycle: 1,
		TargetMinutes: 4 * 60, StartedAt: *at(-time.Hour), DueAt: at(30 * 24 * time.Hour)}
	resolution := response
	resolution.Name, resolution.DueAt = fieldmark.SLAResolution, at(60*24*time.Hour)
	which, breached, deadline := "NOT "+isLate, "NULL", response.DueAt
	if late {
		which, breached, deadline = isLate, "created_at", at(-time.Hour)
		response.State, response.DueAt, response.BreachedAt = fieldmark.SLABreached, deadline, deadline
	}
	body, _ := json.Marshal([]fieldmark.SLAClock{response, resolution}) // has no value that fails
	return fmt.Sprintf(`INSERT INTO sla (mission, policy, timers, revision, rules, due_at, account, deadline,
		breached_at) SELECT id, priority, '%s', 1, 0, %d, account, %d, %s FROM mission WHERE %s AND %s`, body,
		resolution.DueAt.Micros(), deadline.Micros(), breached, isOpen, which)
}

// breaches are an event of every late mission, closed ones too.
const breaches = `INSERT INTO sla_event (mission, metric, cycle, kind, turn, event, at)
	SELECT id, 'response', 1, 'sla.breached', 0, 'evt_' || substr(id, 5), created_at FROM mission WHERE ` + isLate

const events = `INSERT INTO event (number, id, type, at, subject, brand, tags, data, account, actor)
	SELECT (SELECT number FROM log) + CAST(substr(external_id, 4) AS BIGINT) - 999999, 'evt_' || substr(id, 5),
	'mission.created', created_at, id, '', '[]', request, account, 'key key_0' FROM mission`

const eventLog = `UPDATE log SET number = (SELECT MAX(number) FROM event)`

// deliveries are those of the newest events to every endpoint: of a hundred events size.Unsent are due and one
// failed; the others are done after one attempt.
func deliveries(size Size) string {
	return fmt.Sprintf(`INSERT INTO delivery (id, endpoint, event, state, attempts, due_at, last_status, last_error,
		created_at, updated_at, topic)
		SELECT 'dlv_' || substr(e.id, 5, 10) || CAST(100000000000000 + e.number * 100 + p.place AS TEXT) || '0', p.id,
		e.number, state, CASE state WHEN 'due' THEN 0 ELSE 1 END, e.at,
		CASE state WHEN 'due' THEN 0 WHEN 'failed' THEN 500 ELSE 204 END,
		CASE state WHEN 'failed' THEN 'answered 500' ELSE '' END, e.at, e.at + 100000, ''
		FROM (SELECT number, id, at, CASE WHEN number %% 100 < %d THEN 'due' WHEN number %% 100 = 99 THEN 'failed'
			ELSE 'done' END AS state FROM event WHERE type = 'mission.created' ORDER BY number DESC LIMIT %d) AS e
		CROSS JOIN (SELECT id, row_number() OVER (ORDER BY id) AS place FROM endpoint) AS p`, size.Unsent,
		size.Deliveries)
}

const attempts = `INSERT INTO attempt (delivery, number, at, millis, status, error, body, detail)
	SELECT id, 1, updated_at - 90000, 90, last_status, last_error, 'ok', '' FROM delivery WHERE attempts = 1`

// auditLog are entries whose checksums are wrong.
func auditLog(count int, now time.Time) string {
	return numbers(count) + fmt.Sprintf(`INSERT INTO audit_log (number, at, kind, actor, act, target, was, becomes,
		address, agent, request, sum) SELECT i + 1 + (SELECT COALESCE(MAX(number), 0) FROM audit_log),
		%d - (%d - i) * 60000000, 'person', 'admin-' || (i %% 20), 'endpoint.update', 'end_' || i, '', '', '192.0.2.1',
		'Mozilla/5.0', 'r', '' FROM n`, now.UnixMicro(), count)
}

// accounts are customers without keys: they make the tables of accounts as large as in production.
func accounts(count int, now time.Time) string {
	return numbers(count) + fmt.Sprintf(`INSERT INTO account (id, created_at) SELECT 'customer-' || i, %d FROM n`,
		now.UnixMicro())
}

const keys = `INSERT INTO api_key (id, public, hash, hash_version, account, name, scopes, created_at)
	SELECT 'key_' || CAST(1000000000000 + row_number() OVER (ORDER BY id) AS TEXT) || '0000000000000', id, '', 1, id,
	'robot', '["mission:read"]', created_at FROM account WHERE id LIKE 'customer-%'`

// metrics are full periods of a number of seconds up to now.
func metrics(t testing.TB, now time.Time, seconds, count int64) string {
	latency := make([]int64, 16)
	latency[6], latency[9] = 990, 10
	rows := make([]string, count)
	for i := range rows {
		at := fieldmark.At(now.Truncate(time.Duration(seconds) * time.Second).Add(
			-time.Duration(int64(i)*seconds) * time.Second))
		body, err := json.Marshal(fieldmark.MetricBucket{At: at, Latency: latency,
			MetricCounts: fieldmark.MetricCounts{Requests: 1000, Hits: 990, Misses: 10, Sent: 40, Audits: 1}})
		if err != nil {
			t.Fatal(err)
		}
		rows[i] = fmt.Sprintf("(%d, %d, '%s')", seconds, at.Micros(), body)
	}
	return `INSERT INTO metric (step, at, body) VALUES ` + strings.Join(rows, ", ")
}
