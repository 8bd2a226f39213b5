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

// SLARules are the policies and calendars in force: those of the program, and in
// their place what an operator set. They must not be changed.
type SLARules struct {
	Revision      int64 // 0 while nothing was ever set
	Policies      map[fieldmark.Priority]fieldmark.SLAPolicy
	BusinessHours map[string]fieldmark.SLACalendar
}

// The kinds of rule.
const (
	rulePolicy   = "policy"
	ruleCalendar = "calendar"
)

const rulesQuery = `SELECT kind, name, body, revision FROM sla_rule`

// newRules are those of the program.
func defaultRules() *SLARules {
	r := &SLARules{Policies: map[fieldmark.Priority]fieldmark.SLAPolicy{}, BusinessHours: map[string]fieldmark.SLACalendar{}}
	for _, p := range sla.DefaultPolicies() {
		r.Policies[p.Priority] = p
	}
	for _, c := range sla.DefaultCalendars() {
		r.BusinessHours[c.Name] = c
	}
	return r
}

// scan reads a rule that was set.
func (r *SLARules) scan(row commit.Scanner) error {
	var kind, name, body string
	var revision int64
	if err := row.Scan(&kind, &name, &body, &revision); err != nil {
		return err
	}
	r.Revision = max(r.Revision, revision)
	return r.put(kind, name, body)
}

// put takes a rule as it is kept.
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

// SLARules reads the rules as the transaction sees them. Every new mission asks for
// them, so members of a group share the answer.
func (t MissionTx) SLARules(ctx context.Context) (r *SLARules, err error) {
	if t.state.rules == nil {
		t.state.rules, err = t.MissionReader.SLARules(ctx)
	}
	return t.state.rules, err
}

// PutSLAPolicy sets the policy of a priority; nil is the program's own again.
func (t MissionTx) PutSLAPolicy(ctx context.Context, priority fieldmark.Priority, p *fieldmark.SLAPolicy, at time.Time) error {
	return t.putRule(ctx, rulePolicy, string(priority), p, p == nil, at)
}

// PutBusinessHours sets a calendar; nil takes it away, or is the program's own again.
func (t MissionTx) PutBusinessHours(ctx context.Context, name string, c *fieldmark.SLACalendar, at time.Time) error {
	return t.putRule(ctx, ruleCalendar, name, c, c == nil, at)
}

// putRule makes the revision of all rules one greater. Clocks that were counted
// by an older one are found by it and counted again.
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
		ON CONFLICT (kind, name) DO UPDATE SET body = excluded.body, revision = excluded.revision, updated_at = excluded.updated_at`,
		kind, name, body, at.UnixMicro())
	if err != nil {
		return fmt.Errorf("put %s %s: %w", kind, name, err)
	}
	t.state.rules = nil
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
func (s *SLA) public() *fieldmark.SLA {
	return &fieldmark.SLA{Policy: string(s.Policy), Revision: s.Revision, Metrics: sla.Clocks(s.Timers)}
}

// counted is the revision of the rules while any clock counts, and NULL after.
func (s *SLA) activeRevision() any {
	if sla.Active(s.Timers) {
		return s.Rules
	}
	return nil
}

// AddSLA starts the clocks of a mission.
func (t MissionTx) AddSLA(ctx context.Context, m *Mission, s *SLA) error {
	timers, err := jsonText(s.Timers)
	if err != nil {
		return fmt.Errorf("write the clocks of mission %s: %w", m.ID, err)
	}
	err = t.queueInsert(ctx, `INSERT INTO sla (mission, policy, timers, revision, rules, due_at) VALUES ($1, $2, $3, $4, $5, $6)`,
		m.ID, string(s.Policy), timers, s.Revision, s.activeRevision(), nullMicros(s.DueAt))
	if err != nil {
		return fmt.Errorf("add the clocks of mission %s: %w", m.ID, err)
	}
	m.StoredSLA, m.SLA = s, s.public()
	return nil
}

// PutSLA writes where the clocks of a mission stand now, and ends any lease.
func (t MissionTx) PutSLA(ctx context.Context, m *Mission, s *SLA) error {
	timers, err := jsonText(s.Timers)
	if err != nil {
		return fmt.Errorf("write the clocks of mission %s: %w", m.ID, err)
	}
	_, err = t.exec(ctx, `UPDATE sla SET policy = $1, timers = $2, revision = $3, rules = $4, due_at = $5, lease_until = NULL, lease_owner = NULL
		WHERE mission = $6`, string(s.Policy), timers, s.Revision, s.activeRevision(), nullMicros(s.DueAt), m.ID)
	if err != nil {
		return fmt.Errorf("put the clocks of mission %s: %w", m.ID, err)
	}
	m.StoredSLA, m.SLA = s, s.public()
	return nil
}

// AddSLAEvent takes down that something is told of a clock under the id of an
// event, and reports false if it was told before.
func (t MissionTx) AddSLAEvent(ctx context.Context, mission string, c sla.Change, event string, at time.Time) (bool, error) {
	n, err := t.exec(ctx, `INSERT INTO sla_event (mission, metric, cycle, kind, turn, event, at) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (mission, metric, cycle, kind, turn) DO NOTHING`, mission, string(c.Metric), c.Cycle, string(c.Type), c.Turn, event, at.UnixMicro())
	if err != nil {
		return false, fmt.Errorf("note %s of mission %s: %w", c.Type, mission, err)
	}
	return n > 0, nil
}

// ClaimSLAs takes up to limit missions whose clocks have something to take
// down, or were counted by older rules than those in force, for owner until the
// lease ends. Both are read off an index: what it costs follows what is due.
func (t MissionTx) ClaimSLAs(ctx context.Context, owner string, now, lease time.Time, limit int) ([]string, error) {
	due, err := t.claim(ctx, `UPDATE sla SET lease_until = $1, lease_owner = $2 WHERE mission IN (`+dueSLAs+`) RETURNING mission`,
		lease.UnixMicro(), owner, now.UnixMicro(), limit)
	if err != nil || len(due) >= limit {
		return due, err
	}
	r, err := t.SLARules(ctx)
	if err != nil || r.Revision == 0 {
		return due, err
	}
	stale, err := t.claim(ctx, `UPDATE sla SET lease_until = $1, lease_owner = $2 WHERE mission IN (`+staleSLAs+`) RETURNING mission`,
		lease.UnixMicro(), owner, now.UnixMicro(), limit-len(due), r.Revision)
	return append(due, stale...), err
}
