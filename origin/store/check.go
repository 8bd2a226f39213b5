package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	modernc "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/fieldmark/fieldmark"
)

// rule is something that must hold of the record: a question whose every answer
// is a row that breaks it.
type rule struct{ name, question string }

// rules are asked by Inspect, beside those of the engine. Each names the rows that break it.
var rules = []rule{
	{"the log counts its events", `SELECT l.number FROM log l
		WHERE l.number <> (SELECT COALESCE(MAX(e.number), 0) FROM event e)`},
	{"event numbers have no gap", `SELECT e.number FROM event e
		WHERE e.number > (SELECT MIN(f.number) FROM event f)
		AND NOT EXISTS (SELECT 1 FROM event f WHERE f.number = e.number - 1)`},
	{"every mission was created by an event", `SELECT m.id FROM mission m
		WHERE ` + untrimmed("m.created_at") + ` AND NOT EXISTS (SELECT 1 FROM event e WHERE e.subject = m.id AND e.type = 'mission.created')`},
	{"every completed mission has its event", `SELECT m.id FROM mission m
		WHERE m.completed_at IS NOT NULL AND ` + untrimmed("m.completed_at") + `
		AND NOT EXISTS (SELECT 1 FROM event e WHERE e.subject = m.id AND e.type = 'mission.completed')`},
	{"every closed or canceled mission has its event", `SELECT m.id FROM mission m
		WHERE (m.closed_at IS NOT NULL AND ` + untrimmed("m.closed_at") + ` AND NOT EXISTS (SELECT 1 FROM event e WHERE e.subject = m.id AND e.type = 'mission.closed'))
		OR (m.canceled_at IS NOT NULL AND ` + untrimmed("m.canceled_at") + ` AND NOT EXISTS (SELECT 1 FROM event e WHERE e.subject = m.id AND e.type = 'mission.canceled'))`},
	{"a mission's status and priority are known", `SELECT m.id FROM mission m
		WHERE m.status NOT IN ('NEW', 'SCHEDULED', 'DISPATCHED', 'EN_ROUTE', 'IN_PROGRESS', 'ON_HOLD', 'COMPLETED', 'UNABLE_TO_COMPLETE', 'CLOSED', 'CANCELED')
		OR m.priority NOT IN ('LOW', 'MEDIUM', 'HIGH', 'CRITICAL') OR (m.held <> '') <> (m.status = 'ON_HOLD')`},
	{"no change is later than the newest stamp", `SELECT m.id FROM mission m
		WHERE m.version > 1 AND m.updated_at > (SELECT MAX(l.at) FROM log l) AND (SELECT MAX(l.at) FROM log l) > 0`},
	{"a kept answer names a mission of its account", `SELECT i.name FROM idempotency i
		WHERE i.mission IS NOT NULL AND NOT EXISTS (SELECT 1 FROM mission m WHERE m.id = i.mission AND m.account = i.account)`},
	// Earlier versions of the program raised the version for a repeated alert
	// without an event; heard is how many versions may be of that kind.
	{"a mission has one event per version", `SELECT m.id FROM mission m
		WHERE ` + untrimmed("m.created_at") + ` AND m.version - (SELECT COUNT(*) FROM event e
			WHERE e.subject = m.id AND e.type LIKE 'mission.%') NOT BETWEEN 0 AND m.heard`},
	{"a delivery has its endpoint and its event", `SELECT d.id FROM delivery d
		WHERE NOT EXISTS (SELECT 1 FROM endpoint p WHERE p.id = d.endpoint)
		OR NOT EXISTS (SELECT 1 FROM event e WHERE e.number = d.event)`},
	{"a delivery counts its attempts", `SELECT d.id FROM delivery d
		WHERE d.attempts <> (SELECT COUNT(*) FROM attempt a WHERE a.delivery = d.id)`},
	{"only due deliveries are leased", `SELECT d.id FROM delivery d WHERE d.state <> 'due' AND d.lease_until IS NOT NULL`},
	{"a delivery's state is known", `SELECT d.id FROM delivery d WHERE d.state NOT IN ('due', 'waiting', 'done', 'failed')`},
	{"somebody looks at what is due", `SELECT p.id FROM endpoint p
		WHERE p.deleted_at IS NULL AND p.state = 'enabled' AND p.wake_at IS NULL
		AND EXISTS (SELECT 1 FROM delivery d WHERE d.endpoint = p.id AND d.state = 'due' AND d.lease_owner IS NULL)
		AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.endpoint = p.id AND d.lease_owner IS NOT NULL)`},
	{"what waits for its turn has somebody before it", `SELECT d.id FROM delivery d
		WHERE d.state = 'waiting' AND NOT EXISTS (SELECT 1 FROM delivery b
			WHERE b.endpoint = d.endpoint AND b.topic = d.topic AND b.state = 'due')`},
	{"what was told of a clock is an event", `SELECT s.mission FROM sla_event s
		WHERE ` + untrimmed("s.at") + ` AND NOT EXISTS (SELECT 1 FROM event e WHERE e.id = s.event AND e.type = s.kind AND e.subject = s.mission)`},
	{"an event of a clock was noted", `SELECT e.id FROM event e
		WHERE e.type LIKE 'sla.%' AND NOT EXISTS (SELECT 1 FROM sla_event s WHERE s.event = e.id)`},
	{"the clocks of a mission that is over stand still", `SELECT s.mission FROM sla s JOIN mission m ON m.id = s.mission
		WHERE m.status IN ('CLOSED', 'CANCELED') AND (s.due_at IS NOT NULL OR s.rules IS NOT NULL)`},
	{"only clocks that count are due", `SELECT s.mission FROM sla s WHERE s.due_at IS NOT NULL AND s.rules IS NULL`},
	{"a payment's state is known", `SELECT p.id FROM payment p WHERE p.status NOT IN ('NONE', 'PENDING', 'DUE', 'PROCESSING', 'PAID',
		'FAILED', 'OVERDUE', 'PARTIALLY_REFUNDED', 'REFUNDED', 'CANCELED')`},
	{"a payment has the event of its state", `SELECT p.id FROM payment p WHERE p.status NOT IN ('NONE', 'PENDING')
		AND ` + untrimmed("p.updated_at") + ` AND NOT EXISTS (SELECT 1 FROM event e WHERE e.subject = p.id AND e.type = CASE p.status
			WHEN 'PARTIALLY_REFUNDED' THEN 'payment.refunded' ELSE 'payment.' || lower(p.status) END)`},
	{"a payment is overdue once", `SELECT e.subject FROM event e WHERE e.type = 'payment.overdue' GROUP BY e.subject HAVING COUNT(*) > 1`},
	{"refunds come to what was refunded", `SELECT p.id FROM payment p
		WHERE p.refunded <> (SELECT COALESCE(SUM(r.amount), 0) FROM refund r WHERE r.payment = p.id) OR p.refunded > p.amount`},
	{"a brand's facts are its newest revision", `SELECT b.slug FROM brand b
		WHERE b.facts_digest IS NOT NULL AND NOT EXISTS (SELECT 1 FROM revision r WHERE r.brand = b.slug
			AND r.digest = b.facts_digest AND r.last_at = b.facts_at
			AND r.first_at = (SELECT MAX(q.first_at) FROM revision q WHERE q.brand = b.slug))`},
}

// untrimmed is the condition that what happened at a time is still in the log,
// with a minute to spare for clocks that differ.
func untrimmed(at string) string {
	return at + ` > (SELECT CASE WHEN MIN(o.number) > 1 THEN MIN(o.at) + 60000000 ELSE 0 END FROM event o)`
}

// maxFindings bounds what one kind of damage may add to a report.
const maxFindings = 100

// Finding is something that must hold of the record, and what breaks it.
type Finding struct {
	Rule   string
	Broken []string // names the rows that break it, the first hundred; empty when it holds
}

// Inspect reads the whole record and reports on every rule. It is for tests and
// for an operator's peace of mind, not for the request path.
func (s *Store) Inspect(ctx context.Context) ([]Finding, error) {
	var report []Finding
	for _, r := range slices.Concat(rules, s.dialect.engine) {
		rows, err := s.query(ctx, fmt.Sprintf(`SELECT * FROM (%s) AS broken LIMIT %d`, r.question, maxFindings))
		broken, err := collect(rows, err, func(row scanner) (name string, err error) { return name, row.Scan(&name) })
		if broken, err = damaged(broken, err); err != nil {
			return report, fmt.Errorf("check that %s: %w", r.name, err)
		}
		report = append(report, Finding{Rule: r.name, Broken: broken})
	}
	named := Finding{Rule: "a digest names its bytes"}
	for _, question := range []string{`SELECT digest, body FROM facts`, `SELECT digest, body FROM module`} {
		rows, err := s.query(ctx, question)
		wrong, err := collectDigests(rows, err)
		if wrong, err = damaged(wrong, err); err != nil {
			return report, fmt.Errorf("check that %s: %w", named.Rule, err)
		}
		named.Broken = append(named.Broken, wrong...)
	}
	summed := Finding{Rule: "every event matches its checksum"}
	var err error
	if summed.Broken, err = damaged(damagedEvents(ctx, s.query)); err != nil {
		return report, fmt.Errorf("check that %s: %w", summed.Rule, err)
	}
	return append(report, named, summed), nil
}

// damaged turns the engine's word that its file is damaged into a row that breaks
// a rule, so that the other rules are checked as well.
func damaged(broken []string, err error) ([]string, error) {
	e, ok := errors.AsType[*modernc.Error](err)
	if !ok || e.Code()&0xff != sqlite3.SQLITE_CORRUPT && e.Code() != sqlite3.SQLITE_NOTADB {
		return broken, err
	}
	return append(broken, "(unreadable) "+e.Error()+"; restore a backup with fieldmark restore"), nil
}

// collectDigests names the documents that are not what their digest says.
func collectDigests(rows *sql.Rows, err error) (wrong []string, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() && len(wrong) < maxFindings {
		var digest fieldmark.Digest
		var body []byte
		if err := rows.Scan(&digest, &body); err != nil {
			return nil, err
		}
		if fieldmark.DigestOf(sha256.Sum256(body)) != digest {
			wrong = append(wrong, string(digest))
		}
	}
	return wrong, rows.Err()
}

// Check returns every way in which the record is wrong, as one error.
func (s *Store) Check(ctx context.Context) error {
	report, err := s.Inspect(ctx)
	wrong := []error{err}
	for _, f := range report {
		for _, name := range f.Broken {
			wrong = append(wrong, fmt.Errorf("%s: not %s", f.Rule, name))
		}
	}
	return errors.Join(wrong...)
}
