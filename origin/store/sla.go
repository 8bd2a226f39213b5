package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/sla"
	"github.com/fieldmark/fieldmark/origin/store/commit"
)

// SLARules are the active SLA policies and business hours: the defaults of the
// program and what an operator set instead. They must not be changed.
type SLARules struct {
	Revision      int64 // 0 if an operator never set any
	Policies      map[fieldmark.Priority]fieldmark.SLAPolicy
	BusinessHours map[string]fieldmark.SLACalendar
}

// The kinds of rules in table sla_rule.
const (
	rulePolicy   = "policy"
	ruleCalendar = "calendar"
)

const rulesQuery = `SELECT kind, name, body, revision FROM sla_rule`

// defaultRules returns the rules of the program.
func defaultRules() *SLARules {
	r := &SLARules{Policies: map[fieldmark.Priority]fieldmark.SLAPolicy{},
		BusinessHours: map[string]fieldmark.SLACalendar{}}
	for _, p := range sla.DefaultPolicies() {
		r.Policies[p.Priority] = p
	}
	for _, c := range sla.DefaultCalendars() {
		r.BusinessHours[c.Name] = c
	}
	return r
}

// scan reads a row of table sla_rule.
func (r *SLARules) scan(row commit.Scanner) error {
	var kind, name, body string
	var revision int64
	if err := row.Scan(&kind, &name, &body, &revision); err != nil {
		return err
	}
	r.Revision = max(r.Revision, revision)
	return r.put(kind, name, body)
}

// put decodes a rule; an empty body means the default.
func (r *SLARules) put(kind, name, body string) (err error) {
	switch {
	case body == "":
	case kind == rulePolicy:
		var p fieldmark.SLAPolicy
		err = json.Unmarshal([]byte(body), &p)
		r.Policies[p.Priority] = p
	case kind == ruleCalendar:
		var c fieldmark.SLACalendar
		err = json.Unmarshal([]byte(body), &c)
		r.BusinessHours[name] = c
	}
	return err
}

// SLARules reads the active rules.
func (db MissionReader) SLARules(ctx context.Context) (*SLARules, error) {
	r := defaultRules()
	rows, err := db.query(ctx, rulesQuery)
	_, err = collect(rows, err, func(row scanner) (none struct{}, err error) { return none, r.scan(row) })
	if err != nil {
		return nil, fmt.Errorf("read the SLA rules: %w", err)
	}
	return r, nil
}

// SLARules reads the active rules. Every new mission needs them, so all writes
// of a transaction share the result.
func (t MissionTx) SLARules(ctx context.Context) (r *SLARules, err error) {
	if t.state.rules == nil {
		t.state.rules, err = t.MissionReader.SLARules(ctx)
	}
	return t.state.rules, err
}

// PutSLAPolicy sets the policy of a priority; nil restores the default.
func (t MissionTx) PutSLAPolicy(ctx context.Context, priority fieldmark.Priority, p *fieldmark.SLAPolicy,
	at time.Time) error {
	return t.putRule(ctx, rulePolicy, string(priority), p, p == nil, at)
}

// PutBusinessHours sets business hours by name; nil deletes them or restores the
// default.
func (t MissionTx) PutBusinessHours(ctx context.Context, name string, c *fieldmark.SLACalendar, at time.Time) error {
	return t.putRule(ctx, ruleCalendar, name, c, c == nil, at)
}

// putRule stores a rule and raises the revision of all rules. SLAs computed with
// an older revision are found by it and computed again.
func (t MissionTx) putRule(ctx context.Context, kind, name string, rule any, away bool, at time.Time) error {
	body := ""
	if !away {
		var err error
		if body, err = jsonText(rule); err != nil {
			return fmt.Errorf("write %s %s: %w", kind, name, err)
		}
	}
	_, err := t.exec(ctx, `INSERT INTO sla_rule (kind, name, body, revision, updated_at)
		VALUES ($1, $2, $3, (SELECT COALESCE(MAX(r.revision), 0) + 1 FROM sla_rule r), $4)
		ON CONFLICT (kind, name) DO UPDATE SET body = excluded.body, revision = excluded.revision,
			updated_at = excluded.updated_at`,
		kind, name, body, at.UnixMicro())
	if err != nil {
		return fmt.Errorf("put %s %s: %w", kind, name, err)
	}
	t.state.rules = nil
	t.touched[TopicDeadlines] = true
	return nil
}

// SLA is the state of the SLA timers of a mission.
type SLA struct {
	Policy   fieldmark.Priority
	Timers   []sla.Timer
	Revision int             // counts changes besides those of the mission
	Rules    int64           // revision of the rules the timers were computed with
	DueAt    *fieldmark.Time // when the next timer event is due
}

// public returns the part that is in the JSON of a mission.
func (s *SLA) public() *fieldmark.SLA {
	return &fieldmark.SLA{Policy: string(s.Policy), Revision: s.Revision, Metrics: sla.Clocks(s.Timers)}
}

// activeRevision returns the revision of the rules while a timer runs, and NULL
// after.
func (s *SLA) activeRevision() any {
	if sla.Active(s.Timers) {
		return s.Rules
	}
	return nil
}

// AddSLA adds the SLA of a mission.
func (t MissionTx) AddSLA(ctx context.Context, m *Mission, s *SLA) error {
	timers, err := jsonText(s.Timers)
	if err != nil {
		return fmt.Errorf("write the SLA of mission %s: %w", m.ID, err)
	}
	err = t.queueInsert(ctx, `INSERT INTO sla (mission, policy, timers, revision, rules, due_at) VALUES ($1, $2, $3,
		$4, $5, $6)`,
		m.ID, string(s.Policy), timers, s.Revision, s.activeRevision(), nullMicros(s.DueAt))
	if err != nil {
		return fmt.Errorf("add the SLA of mission %s: %w", m.ID, err)
	}
	m.StoredSLA, m.SLA = s, s.public()
	return nil
}

// PutSLA stores the SLA of a mission and ends its lease.
func (t MissionTx) PutSLA(ctx context.Context, m *Mission, s *SLA) error {
	timers, err := jsonText(s.Timers)
	if err != nil {
		return fmt.Errorf("write the SLA of mission %s: %w", m.ID, err)
	}
	_, err = t.exec(ctx, `UPDATE sla SET policy = $1, timers = $2, revision = $3, rules = $4, due_at = $5,
		lease_until = NULL, lease_owner = NULL
		WHERE mission = $6`, string(s.Policy), timers, s.Revision, s.activeRevision(), nullMicros(s.DueAt), m.ID)
	if err != nil {
		return fmt.Errorf("put the SLA of mission %s: %w", m.ID, err)
	}
	m.StoredSLA, m.SLA = s, s.public()
	return nil
}

// AddSLAEvent stores that a timer event has been emitted under an event id, and
// reports false if it had been before. That makes each timer event unique.
func (t MissionTx) AddSLAEvent(ctx context.Context, mission string, c sla.Change, event string,
	at time.Time) (bool, error) {
	n, err := t.exec(ctx, `INSERT INTO sla_event (mission, metric, cycle, kind, turn, event, at) VALUES ($1, $2, $3,
		$4, $5, $6, $7)
		ON CONFLICT (mission, metric, cycle, kind, turn) DO NOTHING`, mission, string(c.Metric), c.Cycle,
		string(c.Type), c.Turn, event, at.UnixMicro())
	if err != nil {
		return false, fmt.Errorf("add %s of mission %s: %w", c.Type, mission, err)
	}
	return n > 0, nil
}

// ClaimSLAs leases up to limit missions to owner whose next timer event is due,
// or whose timers were computed with older rules. Both come from an index: the
// cost depends on what is due, not on how many missions there are.
func (t MissionTx) ClaimSLAs(ctx context.Context, owner string, now, lease time.Time, limit int) ([]string, error) {
	due, err := t.claim(ctx, `UPDATE sla SET lease_until = $1, lease_owner = $2 WHERE mission IN (`+dueSLAs+`)
		RETURNING mission`,
		lease.UnixMicro(), owner, now.UnixMicro(), limit)
	if err != nil || len(due) >= limit {
		return due, err
	}
	r, err := t.SLARules(ctx)
	if err != nil || r.Revision == 0 {
		return due, err
	}
	stale, err := t.claim(ctx, `UPDATE sla SET lease_until = $1, lease_owner = $2 WHERE mission IN (`+staleSLAs+`)
		RETURNING mission`,
		lease.UnixMicro(), owner, now.UnixMicro(), limit-len(due), r.Revision)
	return append(due, stale...), err
}
