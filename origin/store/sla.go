package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/sla"
	"github.com/fieldmark/fieldmark/origin/store/commit"
)

// SLA policies and timers, calendar feeds, planned visits and links of technicians.

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
func (t MissionTx) putRule(ctx context.Context, kind, name string, rule any, removed bool, at time.Time) error {
	body := ""
	if !removed {
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
	t.touched[TopicDeadlines], t.touched[TopicTestDeadlines] = true, true
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
	err = t.queueInsert(ctx, `INSERT INTO sla (mission, policy, timers, revision, rules, due_at, account, deadline,
		breached_at, at_risk_due, world) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		m.ID, string(s.Policy), timers, s.Revision, s.activeRevision(), nullMicros(s.DueAt), m.Account,
		nullMicros(sla.Deadline(s.Timers)), nullMicros(sla.Breached(s.Timers)), nullMicros(sla.AtRisk(s.Timers)),
		fieldmark.World(m.Account))
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
		deadline = $6, breached_at = $7, at_risk_due = $8, account = $9, lease_until = NULL, lease_owner = NULL
		WHERE mission = $10`, string(s.Policy), timers, s.Revision, s.activeRevision(), nullMicros(s.DueAt),
		nullMicros(sla.Deadline(s.Timers)), nullMicros(sla.Breached(s.Timers)), nullMicros(sla.AtRisk(s.Timers)),
		m.Account, m.ID) // origins before migration 35 add SLAs without an account
	if err != nil {
		return fmt.Errorf("put the SLA of mission %s: %w", m.ID, err)
	}
	m.StoredSLA, m.SLA = s, s.public()
	return nil
}

// ClearEndedSLAs removes the due times of missions that have ended. Only origins before migration 35 leave them
// there, in an upgrade of one origin after the other; they would stay in lists and issues.
func (t MissionTx) ClearEndedSLAs(ctx context.Context) error {
	_, err := t.exec(ctx, `UPDATE sla SET deadline = NULL, breached_at = NULL, at_risk_due = NULL
		WHERE mission IN (`+endedSLAs+`)`)
	if err != nil {
		return fmt.Errorf("clear the due times of ended missions: %w", err)
	}
	return nil
}

const endedSLAs = `SELECT s.mission FROM sla s JOIN mission m ON m.id = s.mission
	WHERE s.deadline IS NOT NULL AND m.status IN ('CLOSED', 'CANCELED')`

// EndedSLAs reports whether ClearEndedSLAs has something to do.
func (db MissionReader) EndedSLAs(ctx context.Context) (any bool, err error) {
	if err := db.queryRow(ctx, `SELECT EXISTS (`+endedSLAs+`)`).Scan(&any); err != nil {
		return false, fmt.Errorf("look for due times of ended missions: %w", queryErr(err))
	}
	return any, nil
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
// cost depends on what is due, not on how many missions there are. It claims live ones or,
// with worlds, those of test worlds.
func (t MissionTx) ClaimSLAs(ctx context.Context, owner string, now, lease time.Time, limit int,
	worlds bool) ([]string, error) {
	byTime, byRules := dueSLAs, staleSLAs
	if worlds {
		byTime, byRules = worldSLAs, worldStaleSLAs
	}
	due, err := t.claim(ctx, `UPDATE sla SET lease_until = $1, lease_owner = $2 WHERE mission IN (`+byTime+`)
		RETURNING mission`,
		lease.UnixMicro(), owner, now.UnixMicro(), limit)
	if err != nil || len(due) >= limit {
		return due, err
	}
	r, err := t.SLARules(ctx)
	if err != nil || r.Revision == 0 {
		return due, err
	}
	stale, err := t.claim(ctx, `UPDATE sla SET lease_until = $1, lease_owner = $2 WHERE mission IN (`+byRules+`)
		RETURNING mission`,
		lease.UnixMicro(), owner, now.UnixMicro(), limit-len(due), r.Revision)
	return append(due, stale...), err
}

// Calendar is an iCalendar feed of planned missions and the hash of its token.
type Calendar struct {
	fieldmark.Calendar
	Hash string // of the token in its URL, in base 64
	Feed FeedState
}

// FeedState is the version of a feed that was served last.
type FeedState struct {
	ETag      string          // empty before the first request
	ChangedAt *fieldmark.Time // of the last change; grows by at least a second each time
	Head      int64           // number of the newest event when its missions were read
}

const calendarColumns = `id, account, name, scope, assignees, details, hash, created_at, rotated_at, revoked_at,
	last_used_at,
	COALESCE(feed_etag, ''), feed_changed_at, COALESCE(feed_head, 0)`

func scanCalendar(row scanner) (c Calendar, err error) {
	var details int64
	err = row.Scan(&c.ID, &c.Account, &c.Name, &c.Scope, jsonCol{&c.Assignees}, &details, &c.Hash,
		timeCol{&c.CreatedAt}, nullTime{&c.RotatedAt}, nullTime{&c.RevokedAt}, nullTime{&c.LastUsedAt},
		&c.Feed.ETag, nullTime{&c.Feed.ChangedAt}, &c.Feed.Head)
	c.Details = details != 0
	return c, queryErr(err)
}

// AddCalendar adds a calendar.
func (t MissionTx) AddCalendar(ctx context.Context, c *Calendar) error {
	assignees, err := jsonText(c.Assignees)
	if err != nil {
		return fmt.Errorf("write the assignees of calendar %s: %w", c.ID, err)
	}
	_, err = t.exec(ctx, `INSERT INTO calendar (id, account, name, scope, assignees, details, hash, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		c.ID, c.Account, c.Name, string(c.Scope), assignees, boolInt(c.Details), c.Hash, c.CreatedAt.Micros())
	if err != nil {
		return fmt.Errorf("add calendar %s: %w", c.ID, err)
	}
	return nil
}

// Calendar reads a calendar; the error is ErrNotFound if it does not exist.
func (t MissionTx) Calendar(ctx context.Context, id string) (Calendar, error) {
	c, err := scanCalendar(t.queryRow(ctx, `SELECT `+calendarColumns+` FROM calendar WHERE id = $1`, id))
	if err != nil {
		return Calendar{}, fmt.Errorf("read calendar %s: %w", id, err)
	}
	return c, nil
}

// CalendarByHash reads a calendar by the hash of its token; the error is
// ErrNotFound if it does not exist.
func (db MissionReader) CalendarByHash(ctx context.Context, hash string) (Calendar, error) {
	c, err := scanCalendar(db.queryRow(ctx, `SELECT `+calendarColumns+` FROM calendar WHERE hash = $1`, hash))
	if err != nil {
		return Calendar{}, fmt.Errorf("read a calendar by its token: %w", err)
	}
	return c, nil
}

// Calendars lists up to limit calendars, the newest first.
func (db MissionReader) Calendars(ctx context.Context, limit int) ([]Calendar, error) {
	rows, err := db.query(ctx, `SELECT `+calendarColumns+` FROM calendar ORDER BY id DESC LIMIT $1`, limit)
	list, err := collect(rows, err, scanCalendar)
	if err != nil {
		return nil, fmt.Errorf("list calendars: %w", err)
	}
	return list, nil
}

// RotateCalendar stores the hash of a new token.
func (t MissionTx) RotateCalendar(ctx context.Context, id, hash string, at fieldmark.Time) error {
	if _, err := t.exec(ctx, `UPDATE calendar SET hash = $1, rotated_at = $2 WHERE id = $3`, hash, at.Micros(),
		id); err != nil {
		return fmt.Errorf("rotate calendar %s: %w", id, err)
	}
	return nil
}

// RevokeCalendar marks a calendar as revoked.
func (t MissionTx) RevokeCalendar(ctx context.Context, id string, at fieldmark.Time) error {
	if _, err := t.exec(ctx, `UPDATE calendar SET revoked_at = $1 WHERE id = $2`, at.Micros(), id); err != nil {
		return fmt.Errorf("revoke calendar %s: %w", id, err)
	}
	return nil
}

// PutFeed stores the version of a feed.
func (t MissionTx) PutFeed(ctx context.Context, id string, f FeedState) error {
	_, err := t.exec(ctx, `UPDATE calendar SET feed_etag = $1, feed_changed_at = $2, feed_head = $3 WHERE id = $4`,
		f.ETag, nullMicros(f.ChangedAt), f.Head, id)
	if err != nil {
		return fmt.Errorf("put the feed of calendar %s: %w", id, err)
	}
	return nil
}

// TouchCalendar stores when a calendar was requested.
func (t MissionTx) TouchCalendar(ctx context.Context, id string, at time.Time) error {
	if _, err := t.exec(ctx, `UPDATE calendar SET last_used_at = $1 WHERE id = $2`, at.UnixMicro(), id); err != nil {
		return fmt.Errorf("touch calendar %s: %w", id, err)
	}
	return nil
}

// PlanQuery selects the missions of a calendar.
type PlanQuery struct {
	Account   string
	Assignees []string  // nil means all
	From      time.Time // missions that end after this
	Today     time.Time // those that end after this take precedence, the earliest first
	Until     time.Time // missions that start before this
	Ended     time.Time // missions canceled before this are left out
	Limit     int
}

// where returns the condition that both queries share, and its arguments.
func (p *PlanQuery) where() (string, []any) {
	args := []any{p.Account, p.From.UnixMicro(), p.Until.UnixMicro(), p.Ended.UnixMicro()}
	condition := `account = $1 AND scheduled_end > $2 AND scheduled_start < $3
		AND NOT (status IN ('CANCELED', 'UNABLE_TO_COMPLETE') AND COALESCE(canceled_at, updated_at) < $4)`
	if p.Assignees != nil {
		marks := make([]string, len(p.Assignees))
		for i, id := range p.Assignees {
			args = append(args, id)
			marks[i] = fmt.Sprintf("$%d", len(args))
		}
		condition += ` AND assignee_id IN (` + strings.Join(marks, ", ") + `)`
	}
	return condition, args
}

// PlanVersion returns a text that stays the same as long as PlannedMissions
// returns the same missions. Stamps grow, so a mission that enters or changes
// raises the newest stamp, and one that leaves lowers the count.
func (db MissionReader) PlanVersion(ctx context.Context, p PlanQuery) (string, error) {
	condition, args := p.where()
	var n, newest int64
	err := db.queryRow(ctx, `SELECT COUNT(*), COALESCE(MAX(updated_at), 0) FROM mission WHERE `+condition,
		args...).Scan(&n, &newest)
	if err != nil {
		return "", fmt.Errorf("read the version of a plan: %w", queryErr(err))
	}
	return fmt.Sprintf("%d %d", n, newest), nil
}

// PlannedMissions lists missions by their start.
func (db MissionReader) PlannedMissions(ctx context.Context, p PlanQuery) ([]Mission, error) {
	condition, args := p.where()
	list := func(side, order string, limit int) ([]Mission, error) {
		all := append(slices.Clone(args), p.Today.UnixMicro(), limit)
		rows, err := db.query(ctx, fmt.Sprintf(`SELECT %s FROM mission WHERE %s AND scheduled_end %s $%d ORDER BY %s
			LIMIT $%d`,
			missionColumns, condition, side, len(args)+1, order, len(args)+2), all...)
		return collect(rows, err, scanMission)
	}
	coming, err := list(">", "scheduled_start, id", p.Limit)
	if err != nil {
		return nil, fmt.Errorf("list planned missions: %w", err)
	}
	var past []Mission
	if room := p.Limit - len(coming); room > 0 {
		if past, err = list("<=", "scheduled_start DESC, id DESC", room); err != nil {
			return nil, fmt.Errorf("list past missions: %w", err)
		}
		slices.Reverse(past)
	}
	return append(past, coming...), nil
}

// LiveCalendars counts the calendars of an account that are not revoked.
func (t MissionTx) LiveCalendars(ctx context.Context, account string) (n int, err error) {
	err = t.queryRow(ctx, `SELECT COUNT(*) FROM calendar WHERE account = $1 AND revoked_at IS NULL`, account).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the calendars of %s: %w", account, err)
	}
	return n, nil
}

// NewestCalendar returns the id of the newest calendar, or "".
func (t MissionTx) NewestCalendar(ctx context.Context) (string, error) {
	return t.newest(ctx, `SELECT COALESCE(MAX(id), '') FROM calendar`)
}

// TechnicianReader reads links to pages of technicians.
type TechnicianReader struct{ querier }

// TechnicianTx writes links to pages of technicians, in a transaction.
type TechnicianTx struct {
	TechnicianReader
	*tx
}

// TechnicianLink is a link to the page of a technician, and what its secrets are compared with.
type TechnicianLink struct {
	fieldmark.TechnicianLink
	Hash        string // of the token in its address, in base 64
	Generation  int    // how often its address was replaced
	PINHash     string // in base 64; empty: it has no PIN
	PINFailures int    // wrong PINs since PINSince
	PINSince    *fieldmark.Time
}

const linkColumns = `id, account, assignee_id, assignee_name, hash, generation, pin_hash, pin_failures, pin_since,
	ends_at, created_at, rotated_at, revoked_at, last_used_at`

func scanLink(row scanner) (l TechnicianLink, err error) {
	err = row.Scan(&l.ID, &l.Account, &l.Assignee.ID, &l.Assignee.Name, &l.Hash, &l.Generation, &l.PINHash,
		&l.PINFailures, nullTime{&l.PINSince}, timeCol{&l.Until}, timeCol{&l.CreatedAt}, nullTime{&l.RotatedAt},
		nullTime{&l.RevokedAt}, nullTime{&l.LastUsedAt})
	l.PIN = l.PINHash != ""
	return l, queryErr(err)
}

// AddTechnicianLink adds a link. The assignee must have no other that is not revoked.
func (t TechnicianTx) AddTechnicianLink(ctx context.Context, l *TechnicianLink) error {
	_, err := t.exec(ctx, `INSERT INTO technician_link (id, account, assignee_id, assignee_name, hash, generation,
		pin_hash, ends_at, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, l.ID, l.Account, l.Assignee.ID,
		l.Assignee.Name, l.Hash, l.Generation, l.PINHash, l.Until.Micros(), l.CreatedAt.Micros())
	if err != nil {
		return fmt.Errorf("add technician link %s: %w", l.ID, err)
	}
	return nil
}

// UpdateTechnicianLink stores what may change of a link, apart from its last use.
func (t TechnicianTx) UpdateTechnicianLink(ctx context.Context, l *TechnicianLink) error {
	_, err := t.exec(ctx, `UPDATE technician_link SET hash = $1, generation = $2, ends_at = $3, rotated_at = $4,
		revoked_at = $5, pin_failures = $6, pin_since = $7 WHERE id = $8`, l.Hash, l.Generation, l.Until.Micros(),
		nullMicros(l.RotatedAt), nullMicros(l.RevokedAt), l.PINFailures, nullMicros(l.PINSince), l.ID)
	if err != nil {
		return fmt.Errorf("update technician link %s: %w", l.ID, err)
	}
	return nil
}

// TouchTechnicianLink stores when a link was used.
func (t TechnicianTx) TouchTechnicianLink(ctx context.Context, id string, at time.Time) error {
	_, err := t.exec(ctx, `UPDATE technician_link SET last_used_at = $1 WHERE id = $2`, at.UnixMicro(), id)
	if err != nil {
		return fmt.Errorf("touch technician link %s: %w", id, err)
	}
	return nil
}

// TechnicianLink reads a link; the error is ErrNotFound if it does not exist.
func (db TechnicianReader) TechnicianLink(ctx context.Context, id string) (TechnicianLink, error) {
	return db.link(ctx, `id = $1`, id)
}

// TechnicianLinkByHash reads a link by the hash of its token; the error is ErrNotFound if it does
// not exist.
func (db TechnicianReader) TechnicianLinkByHash(ctx context.Context, hash string) (TechnicianLink, error) {
	return db.link(ctx, `hash = $1`, hash)
}

// LiveTechnicianLink reads the link of an assignee that is not revoked, also if it has ended; the
// error is ErrNotFound without one.
func (db TechnicianReader) LiveTechnicianLink(ctx context.Context, account, assignee string) (TechnicianLink, error) {
	return db.link(ctx, `account = $1 AND assignee_id = $2 AND revoked_at IS NULL`, account, assignee)
}

func (db TechnicianReader) link(ctx context.Context, condition string, args ...any) (TechnicianLink, error) {
	l, err := scanLink(db.queryRow(ctx, `SELECT `+linkColumns+` FROM technician_link WHERE `+condition, args...))
	if err != nil {
		return l, fmt.Errorf("read a technician link: %w", err)
	}
	return l, nil
}

// TechnicianLinks lists up to limit links, the newest first.
func (db TechnicianReader) TechnicianLinks(ctx context.Context, limit int) ([]TechnicianLink, error) {
	rows, err := db.query(ctx, `SELECT `+linkColumns+` FROM technician_link ORDER BY id DESC LIMIT $1`, limit)
	list, err := collect(rows, err, scanLink)
	if err != nil {
		return nil, fmt.Errorf("list technician links: %w", err)
	}
	return list, nil
}

// LiveTechnicianLinks counts the links of an account that are not revoked.
func (t TechnicianTx) LiveTechnicianLinks(ctx context.Context, account string) (n int, err error) {
	err = t.queryRow(ctx, `SELECT COUNT(*) FROM technician_link WHERE account = $1 AND revoked_at IS NULL`,
		account).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the technician links of %s: %w", account, err)
	}
	return n, nil
}

// AddDetails reads the SLA timers and payments of missions.
func (db TechnicianReader) AddDetails(ctx context.Context, list []Mission) error {
	for page := range slices.Chunk(list, detailSizes[len(detailSizes)-1]) {
		some := make([]*Mission, len(page))
		for i := range page {
			some[i] = &page[i]
		}
		if err := addDetails(ctx, db.querier, some); err != nil {
			return err
		}
	}
	return nil
}
