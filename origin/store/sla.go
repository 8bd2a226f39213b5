package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/sla"
)

// Rules are the policies and calendars in force: those of the program, and in
// their place what an operator set. They must not be changed.
type Rules struct {
	Revision  int64 // 0 while nothing was ever set
	Policies  map[fieldmark.Priority]fieldmark.SLAPolicy
	Calendars map[string]fieldmark.SLACalendar
}

// The kinds of rule.
const (
	rulePolicy   = "policy"
	ruleCalendar = "calendar"
)

const askRules = `SELECT kind, name, body, revision FROM sla_rule`

// newRules are those of the program.
func newRules() *Rules {
	r := &Rules{Policies: map[fieldmark.Priority]fieldmark.SLAPolicy{}, Calendars: map[string]fieldmark.SLACalendar{}}
	for _, p := range sla.DefaultPolicies() {
		r.Policies[p.Priority] = p
	}
	for _, c := range sla.DefaultCalendars() {
		r.Calendars[c.Name] = c
	}
	return r
}

func readRules(ctx context.Context, from asker) (*Rules, error) {
	r := newRules()
	rows, err := from.query(ctx, askRules)
	_, err = collect(rows, err, func(row scanner) (none struct{}, err error) { return none, r.take(row) })
	if err != nil {
		return nil, fmt.Errorf("read the rules of clocks: %w", err)
	}
	return r, nil
}

// take reads a rule that was set.
func (r *Rules) take(row scanner) error {
	var kind, name, body string
	var revision int64
	if err := row.Scan(&kind, &name, &body, &revision); err != nil {
		return err
	}
	r.Revision = max(r.Revision, revision)
	return r.put(kind, name, body)
}

// put takes a rule as it is kept.
func (r *Rules) put(kind, name, body string) (err error) {
	switch {
	case body == "":
	case kind == rulePolicy:
		var p fieldmark.SLAPolicy
		err = json.Unmarshal([]byte(body), &p)
		r.Policies[p.Priority] = p
	case kind == ruleCalendar:
		var c fieldmark.SLACalendar
		err = json.Unmarshal([]byte(body), &c)
		r.Calendars[name] = c
	}
	return err
}

// Rules reads the rules in force.
func (s *Store) Rules(ctx context.Context) (*Rules, error) { return readRules(ctx, s) }

// Rules reads the rules as the transaction sees them. Every new mission asks for
// them, so members of a group share the answer.
func (t *Tx) Rules(ctx context.Context) (r *Rules, err error) {
	if t.group.rules == nil {
		t.group.rules, err = readRules(ctx, t)
	}
	return t.group.rules, err
}

// PutPolicy sets the policy of a priority; nil is the program's own again.
func (t *Tx) PutPolicy(ctx context.Context, priority fieldmark.Priority, p *fieldmark.SLAPolicy, at time.Time) error {
	return t.putRule(ctx, rulePolicy, string(priority), p, p == nil, at)
}

// PutCalendar sets a calendar; nil takes it away, or is the program's own again.
func (t *Tx) PutCalendar(ctx context.Context, name string, c *fieldmark.SLACalendar, at time.Time) error {
	return t.putRule(ctx, ruleCalendar, name, c, c == nil, at)
}

// putRule makes the revision of all rules one greater. Clocks that were counted
// by an older one are found by it and counted again.
func (t *Tx) putRule(ctx context.Context, kind, name string, rule any, away bool, at time.Time) error {
	body := ""
	if !away {
		var err error
		if body, err = text(rule); err != nil {
			return fmt.Errorf("write %s %s: %w", kind, name, err)
		}
	}
	_, err := t.exec(ctx, `INSERT INTO sla_rule (kind, name, body, revision, updated_at)
		VALUES ($1, $2, $3, (SELECT COALESCE(MAX(r.revision), 0) + 1 FROM sla_rule r), $4)
		ON CONFLICT (kind, name) DO UPDATE SET body = excluded.body, revision = excluded.revision, updated_at = excluded.updated_at`,
		kind, name, body, at.UnixMicro())
	if err != nil {
		return fmt.Errorf("put %s %s: %w", kind, name, err)
	}
	t.group.rules = nil
	t.touched[TopicDeadlines] = true
	return nil
}

// SLA is what the record keeps of a mission's clocks.
type SLA struct {
	Policy   fieldmark.Priority
	Timers   []sla.Timer
	Revision int             // counts changes that were none of the mission
	Rules    int64           // the revision they were counted by
	DueAt    *fieldmark.Time // when there is something to take down next
}

// wire is what a mission shows of its clocks.
func (s *SLA) wire() *fieldmark.SLA {
	return &fieldmark.SLA{Policy: string(s.Policy), Revision: s.Revision, Metrics: sla.Clocks(s.Timers)}
}

// counted is the revision of the rules while any clock counts, and NULL after.
func (s *SLA) counted() any {
	if sla.Active(s.Timers) {
		return s.Rules
	}
	return nil
}

// AddSLA starts the clocks of a mission.
func (t *Tx) AddSLA(ctx context.Context, m *Mission, s *SLA) error {
	timers, err := text(s.Timers)
	if err != nil {
		return fmt.Errorf("write the clocks of mission %s: %w", m.ID, err)
	}
	err = t.add(ctx, `INSERT INTO sla (mission, policy, timers, revision, rules, due_at) VALUES ($1, $2, $3, $4, $5, $6)`,
		m.ID, string(s.Policy), timers, s.Revision, s.counted(), micros(s.DueAt))
	if err != nil {
		return fmt.Errorf("add the clocks of mission %s: %w", m.ID, err)
	}
	m.Clocks, m.SLA = s, s.wire()
	return nil
}

// PutSLA writes where the clocks of a mission stand now, and ends any lease.
func (t *Tx) PutSLA(ctx context.Context, m *Mission, s *SLA) error {
	timers, err := text(s.Timers)
	if err != nil {
		return fmt.Errorf("write the clocks of mission %s: %w", m.ID, err)
	}
	_, err = t.exec(ctx, `UPDATE sla SET policy = $1, timers = $2, revision = $3, rules = $4, due_at = $5, lease_until = NULL, lease_owner = NULL
		WHERE mission = $6`, string(s.Policy), timers, s.Revision, s.counted(), micros(s.DueAt), m.ID)
	if err != nil {
		return fmt.Errorf("put the clocks of mission %s: %w", m.ID, err)
	}
	m.Clocks, m.SLA = s, s.wire()
	return nil
}

// NoteSLAEvent takes down that something is told of a clock under the id of an
// event, and reports false if it was told before.
func (t *Tx) NoteSLAEvent(ctx context.Context, mission string, c sla.Change, event string, at time.Time) (bool, error) {
	n, err := t.exec(ctx, `INSERT INTO sla_event (mission, metric, cycle, kind, turn, event, at) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (mission, metric, cycle, kind, turn) DO NOTHING`, mission, string(c.Metric), c.Cycle, string(c.Type), c.Turn, event, at.UnixMicro())
	if err != nil {
		return false, fmt.Errorf("note %s of mission %s: %w", c.Type, mission, err)
	}
	return n > 0, nil
}

// ClaimClocks takes up to limit missions whose clocks have something to take
// down, or were counted by older rules than those in force, for owner until the
// lease ends. Both are read off an index: what it costs follows what is due.
func (t *Tx) ClaimClocks(ctx context.Context, owner string, now, lease time.Time, limit int) ([]string, error) {
	due, err := t.claim(ctx, `UPDATE sla SET lease_until = $1, lease_owner = $2 WHERE mission IN (`+dueClocks+`) RETURNING mission`,
		lease.UnixMicro(), owner, now.UnixMicro(), limit)
	if err != nil || len(due) >= limit {
		return due, err
	}
	r, err := t.Rules(ctx)
	if err != nil || r.Revision == 0 {
		return due, err
	}
	stale, err := t.claim(ctx, `UPDATE sla SET lease_until = $1, lease_owner = $2 WHERE mission IN (`+staleClocks+`) RETURNING mission`,
		lease.UnixMicro(), owner, now.UnixMicro(), limit-len(due), r.Revision)
	return append(due, stale...), err
}

// What is due to the sweeper, as parts of its claims.
const (
	dueClocks = `SELECT s.mission FROM sla s WHERE s.due_at <= $3 AND (s.lease_until IS NULL OR s.lease_until <= $3)
		ORDER BY s.due_at LIMIT $4`
	staleClocks = `SELECT s.mission FROM sla s WHERE s.rules < $5 AND (s.lease_until IS NULL OR s.lease_until <= $3)
		ORDER BY s.rules LIMIT $4`
	duePayments = `SELECT p.id FROM payment p WHERE p.check_at <= $3 AND (p.lease_until IS NULL OR p.lease_until <= $3)
		ORDER BY p.check_at LIMIT $4`
	duePendingAlerts = `SELECT p.mission FROM pending_alert p WHERE p.due_at <= $3 AND (p.lease_until IS NULL OR p.lease_until <= $3)
		ORDER BY p.due_at LIMIT $4`
)

func (t *Tx) claim(ctx context.Context, question string, args ...any) ([]string, error) {
	rows, err := t.query(ctx, question, args...)
	ids, err := collect(rows, err, func(row scanner) (id string, err error) { return id, row.Scan(&id) })
	if err != nil {
		return nil, fmt.Errorf("claim what is due: %w", err)
	}
	return ids, nil
}

// fillSizes are how many missions one question about their clocks and payments
// names: a text for each number there is would be prepared for each.
var fillSizes = []int{1, 51, 201}

// fill adds to missions what stands in other tables: clocks and payment.
func fill(ctx context.Context, from asker, list []*Mission) error {
	if len(list) == 0 {
		return nil
	}
	size := len(list)
	for _, n := range fillSizes {
		if n >= len(list) {
			size = n
			break
		}
	}
	byID := make(map[string]*Mission, len(list))
	ids := make([]any, size)
	for i := range ids {
		m := list[min(i, len(list)-1)] // the rest of the places names the last again
		ids[i], byID[m.ID] = m.ID, m
	}
	var marks strings.Builder
	for i := range ids {
		fmt.Fprintf(&marks, ", $%d", i+1)
	}
	rows, err := from.query(ctx, `SELECT m.id, s.policy, s.timers, s.revision, s.rules, s.due_at, `+paymentColumns+`
		FROM mission m LEFT JOIN sla s ON s.mission = m.id LEFT JOIN payment p ON p.mission = m.id
		WHERE m.id IN (`+marks.String()[2:]+`)`, ids...)
	_, err = collect(rows, err, func(row scanner) (none struct{}, err error) {
		var id string
		var policy *fieldmark.Priority
		var revision, counted *int64
		var s SLA
		var p paymentScan
		if err := row.Scan(append([]any{&id, &policy, document{&s.Timers}, &revision, &counted, maybe{&s.DueAt}}, p.into()...)...); err != nil {
			return none, err
		}
		m := byID[id]
		if policy != nil {
			s.Policy, s.Revision = *policy, int(*revision)
			if counted != nil {
				s.Rules = *counted
			}
			m.Clocks, m.SLA = &s, s.wire()
		}
		if pay := p.payment(); pay != nil {
			m.Paid, m.Payment = pay, &pay.Payment
		}
		return none, nil
	})
	if err != nil {
		return fmt.Errorf("read clocks and payments: %w", err)
	}
	return nil
}
