package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store/check"
	"github.com/fieldmark/fieldmark/origin/store/commit"
)

// Missions, alerts that wait, notes, and requests that edges accepted.

// MissionReader reads missions, SLA timers, payments, calendar feeds and saved responses.
type MissionReader struct{ querier }

// MissionTx writes missions, SLA timers, payments, calendar feeds and saved responses, in a transaction.
type MissionTx struct {
	MissionReader
	*tx
}

// NewestAlertMission reads the newest mission that an alert with a key opened:
// its external id is the key, a hyphen and a suffix. The error is ErrNotFound if
// it does not exist.
func (t MissionTx) NewestAlertMission(ctx context.Context, account, source, key string) (Mission, error) {
	// A dot is the character after the hyphen, so this is one range of the index on
	// natural keys.
	m, err := scanMission(t.queryRow(ctx, `SELECT `+missionColumns+` FROM mission
		WHERE account = $1 AND source_key = $2 AND external_id >= $3 AND external_id < $4 ORDER BY id DESC LIMIT 1`,
		account, sourceKey(source), key+"-", key+"."))
	if err == nil {
		err = addDetails(ctx, t, []*Mission{&m})
	}
	if err != nil {
		return Mission{}, fmt.Errorf("read the newest mission of an alert: %w", err)
	}
	return m, nil
}

// CountAlertMissions counts the missions that alerts opened under an external
// id: the id itself, and the id with a hyphen and a suffix.
func (t MissionTx) CountAlertMissions(ctx context.Context, account, source, externalID string) (int, error) {
	var n int
	err := t.queryRow(ctx, `SELECT COUNT(*) FROM mission WHERE account = $1 AND source_key = $2
		AND (external_id = $3 OR external_id >= $4 AND external_id < $5)`,
		account, sourceKey(source), externalID, externalID+"-", externalID+".").Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the missions of an alert: %w", queryErr(err))
	}
	return n, nil
}

// PutOccurrences stores how often the alert of a mission was received, with the
// version and the stamp of the mission. A repetition that is only counted
// changes neither.
func (t MissionTx) PutOccurrences(ctx context.Context, m *Mission) error {
	seen, err := nullJSON(m.Occurrences)
	if err != nil {
		return fmt.Errorf("write the occurrences of mission %s: %w", m.ID, err)
	}
	_, err = t.exec(ctx, `UPDATE mission SET occurrences = $1, version = $2, updated_at = $3 WHERE id = $4`,
		seen, m.Version, m.ChangedAt, m.ID)
	if err != nil {
		return fmt.Errorf("write the occurrences of mission %s: %w", m.ID, err)
	}
	return nil
}

// PutPendingAlert sets when the alert of an ended mission opens another one, in
// place of an earlier time. The alert is stored as JSON.
func (t MissionTx) PutPendingAlert(ctx context.Context, account, mission string, alert any, due time.Time) error {
	body, err := jsonText(alert)
	if err != nil {
		return fmt.Errorf("write the pending alert of mission %s: %w", mission, err)
	}
	_, err = t.exec(ctx, `INSERT INTO pending_alert (mission, alert, due_at, world) VALUES ($1, $2, $3, $4)
		ON CONFLICT (mission) DO UPDATE SET alert = excluded.alert, due_at = excluded.due_at, lease_until = NULL,
			lease_owner = NULL`,
		mission, body, due.UnixMicro(), fieldmark.World(account))
	if err != nil {
		return fmt.Errorf("put the pending alert of mission %s: %w", mission, err)
	}
	return nil
}

// PendingAlert decodes the pending alert of a mission into alert; the error is
// ErrNotFound if it does not exist.
func (t MissionTx) PendingAlert(ctx context.Context, mission string, alert any) error {
	err := t.queryRow(ctx, `SELECT alert FROM pending_alert WHERE mission = $1`, mission).Scan(jsonCol{alert})
	if err != nil {
		return fmt.Errorf("read the pending alert of mission %s: %w", mission, queryErr(err))
	}
	return nil
}

// DeletePendingAlert deletes the pending alert of a mission, if there is one.
func (t MissionTx) DeletePendingAlert(ctx context.Context, mission string) error {
	if _, err := t.exec(ctx, `DELETE FROM pending_alert WHERE mission = $1`, mission); err != nil {
		return fmt.Errorf("delete the pending alert of mission %s: %w", mission, err)
	}
	return nil
}

// ClaimPendingAlerts leases up to limit due pending alerts to owner and returns
// their missions: live ones or, with worlds, those of test worlds.
func (t MissionTx) ClaimPendingAlerts(ctx context.Context, owner string, now, lease time.Time, limit int,
	worlds bool) ([]string, error) {
	due := duePendingAlerts
	if worlds {
		due = worldPendingAlerts
	}
	return t.claim(ctx, `UPDATE pending_alert SET lease_until = $1, lease_owner = $2
		WHERE mission IN (`+due+`) RETURNING mission`,
		lease.UnixMicro(), owner, now.UnixMicro(), limit)
}

// Mission is a mission with the columns that are not part of its JSON.
type Mission struct {
	fieldmark.Mission
	Account     string
	Fingerprint fieldmark.Digest        // of the request that created it
	HeldFrom    fieldmark.MissionStatus // the status before ON_HOLD; empty in other statuses
	ChangedAt   int64                   // the stamp of its newest change, in microseconds; UpdatedAt is rounded down
	Sequence    int                     // changes of start, end, place and status (RFC 5545, section 3.8.7.4)
	MovedAt     *fieldmark.Time         // when it entered its status, as later reports are compared with

	StoredSLA     *SLA     // nil for missions from before there were SLAs
	StoredPayment *Payment // nil without a payment

	opened  *fieldmark.MissionRequest // the request that created it, if it was changed since
	request string                    // the encoded request of a mission to be added
}

// EncodeRequest encodes the request of a new mission before the transaction, which
// shortens the time that other writes wait. The request must not change afterwards.
func (m *Mission) EncodeRequest() (err error) {
	if m.request, err = jsonText(m.MissionRequest); err != nil {
		return fmt.Errorf("write mission %s: %w", m.ID, err)
	}
	return nil
}

// OriginalRequest returns the request that created the mission.
func (m *Mission) OriginalRequest() fieldmark.MissionRequest {
	if m.opened != nil {
		return *m.opened
	}
	return m.MissionRequest
}

// sourceKey folds the case of a source for comparison.
func sourceKey(source string) string { return strings.ToLower(source) }

// MissionKey is the natural key of a mission.
type MissionKey struct{ Account, Source, ExternalID string }

func (n MissionKey) normalized() MissionKey {
	n.Source = sourceKey(n.Source)
	return n
}

// prefetchMissions returns a query for the natural keys that exist.
func (state *txState) prefetchMissions(missions []MissionKey) commit.Query {
	names := columns(missions, func(n MissionKey) []string { return []string{n.Account, n.Source, n.ExternalID} })
	return commit.Query{Text: takenMissions, Args: names, Scan: func(row commit.Scanner) error {
		var i int
		err := row.Scan(&i)
		if err == nil {
			state.prefetched.missions[missions[i-1]] = true
		}
		return err
	}}
}

// takenMissions finds which natural keys exist. Without statistics of a new
// table, PostgreSQL would use any index that begins with the account and keep
// that plan; the row comparison fits one index only. LIMIT keeps it from reading
// the whole index.
const takenMissions = `SELECT n.i FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS n (account,
	source_key, external_id, i),
		LATERAL (SELECT m.account, m.source_key, m.external_id FROM mission m
			WHERE (m.account, m.source_key, m.external_id) >= (n.account, n.source_key, n.external_id)
			ORDER BY m.account, m.source_key, m.external_id LIMIT 1) m
		WHERE m.account = n.account AND m.source_key = n.source_key AND m.external_id = n.external_id`

const missionColumns = `id, account, fingerprint, request, intake, status, held, reason, created_at, updated_at,
	updated_at,
	scheduled_at, dispatched_at, started_at, completed_at, canceled_at, closed_at, version,
	scheduled_start, scheduled_end, assignee, occurrences, sequence, moved_at, occurred_at`

func scanMission(row scanner) (m Mission, err error) {
	var start, end *fieldmark.Time
	err = row.Scan(&m.ID, &m.Account, &m.Fingerprint, jsonCol{&m.MissionRequest}, jsonCol{&m.opened}, &m.Status,
		&m.HeldFrom,
		jsonCol{&m.StatusReason}, timeCol{&m.CreatedAt}, timeCol{&m.UpdatedAt}, &m.ChangedAt,
		nullTime{&m.ScheduledAt}, nullTime{&m.DispatchedAt},
		nullTime{&m.StartedAt}, nullTime{&m.CompletedAt}, nullTime{&m.CanceledAt}, nullTime{&m.ClosedAt}, &m.Version,
		nullTime{&start}, nullTime{&end}, jsonCol{&m.Assignee}, jsonCol{&m.Occurrences}, &m.Sequence,
		nullTime{&m.MovedAt}, nullTime{&m.OccurredAt})
	m.Offline = m.OccurredAt != nil
	if start != nil && end != nil {
		m.Scheduled = &fieldmark.Span{Start: *start, End: *end}
	}
	return m, queryErr(err)
}

const insertMission = `INSERT INTO mission (id, account, source_key, external_id, fingerprint, request, status, held,
	created_at, updated_at, version, priority, occurrences, search_text, world)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`

// AddMission adds a mission and reports whether its natural key was free. If
// that was prefetched, the insert is queued without waiting for the server.
func (t MissionTx) AddMission(ctx context.Context, m *Mission) (bool, error) {
	if m.request == "" {
		if err := m.EncodeRequest(); err != nil {
			return false, err
		}
	}
	seen, err := nullJSON(m.Occurrences)
	if err != nil {
		return false, fmt.Errorf("write the occurrences of mission %s: %w", m.ID, err)
	}
	name := MissionKey{m.Account, m.Source, m.ExternalID}.normalized()
	args := []any{m.ID, m.Account, name.Source, m.ExternalID, string(m.Fingerprint), m.request, string(m.Status),
		string(m.HeldFrom),
		m.CreatedAt.Micros(), m.ChangedAt, m.Version, string(m.Priority), seen, m.searchText(),
		fieldmark.World(m.Account)}
	taken, known := t.state.prefetched.missions[name]
	if known && taken {
		return false, nil
	}
	n := int64(1)
	if known {
		t.state.prefetched.missions[name], t.missions = true, append(t.missions, name)
		err = t.queueInsert(ctx, insertMission, args...)
	} else {
		n, err = t.exec(ctx, insertMission+` ON CONFLICT (account, source_key, external_id) DO NOTHING`, args...)
	}
	if err == nil && n > 0 {
		err = t.addLabels(ctx, m)
	}
	if err != nil {
		return false, fmt.Errorf("add mission %s: %w", m.ID, err)
	}
	return n > 0, nil
}

// MissionBySource reads a mission by its natural key; the error is ErrNotFound
// if it does not exist.
func (t MissionTx) MissionBySource(ctx context.Context, account, source, externalID string) (Mission, error) {
	m, err := scanMission(t.queryRow(ctx, `SELECT `+missionColumns+` FROM mission
		WHERE account = $1 AND source_key = $2 AND external_id = $3`, account, sourceKey(source), externalID))
	if err == nil {
		err = addDetails(ctx, t, []*Mission{&m})
	}
	if err != nil {
		return Mission{}, fmt.Errorf("read a mission by its source: %w", err)
	}
	return m, nil
}

// Mission reads a mission; the error is ErrNotFound if it does not exist.
func (db MissionReader) Mission(ctx context.Context, id string) (Mission, error) {
	m, err := scanMission(db.queryRow(ctx, `SELECT `+missionColumns+` FROM mission WHERE id = $1`, id))
	if err == nil {
		err = addDetails(ctx, db, []*Mission{&m})
	}
	if err != nil {
		return Mission{}, fmt.Errorf("read mission %s: %w", id, err)
	}
	return m, nil
}

// UpdateMissionStatus stores the status, the assignee and the schedule of a
// mission.
func (t MissionTx) UpdateMissionStatus(ctx context.Context, m *Mission) error {
	reason, err := nullJSON(m.StatusReason)
	if err != nil {
		return fmt.Errorf("write the reason of mission %s: %w", m.ID, err)
	}
	assignee, err := nullJSON(m.Assignee)
	if err != nil {
		return fmt.Errorf("write the assignee of mission %s: %w", m.ID, err)
	}
	var start, end any
	if m.Scheduled != nil {
		start, end = m.Scheduled.Start.Micros(), m.Scheduled.End.Micros()
	}
	_, err = t.exec(ctx, `UPDATE mission SET status = $1, held = $2, reason = $3, updated_at = $4, scheduled_at = $5,
		dispatched_at = $6, started_at = $7, completed_at = $8, canceled_at = $9, closed_at = $10, version = $11,
		scheduled_start = $12, scheduled_end = $13, assignee = $14, sequence = $15, search_text = $16,
		moved_at = $17, occurred_at = $18 WHERE id = $19`,
		string(m.Status), string(m.HeldFrom), reason, m.ChangedAt, nullMicros(m.ScheduledAt),
		nullMicros(m.DispatchedAt),
		nullMicros(m.StartedAt), nullMicros(m.CompletedAt), nullMicros(m.CanceledAt), nullMicros(m.ClosedAt), m.Version,
		start, end, assignee, m.Sequence, m.searchText(), nullMicros(m.MovedAt), nullMicros(m.OccurredAt), m.ID)
	if err != nil {
		return fmt.Errorf("update the status of mission %s: %w", m.ID, err)
	}
	return nil
}

// UpdateMissionRequest stores the changed request of a mission; was is the
// request before the change.
func (t MissionTx) UpdateMissionRequest(ctx context.Context, m *Mission, was fieldmark.MissionRequest) error {
	if m.opened == nil {
		m.opened = &was
	}
	opened, err := jsonText(m.opened)
	if err != nil {
		return fmt.Errorf("write the original request of mission %s: %w", m.ID, err)
	}
	request, err := jsonText(m.MissionRequest)
	if err != nil {
		return fmt.Errorf("write mission %s: %w", m.ID, err)
	}
	_, err = t.exec(ctx, `UPDATE mission SET request = $1, intake = $2, priority = $3, updated_at = $4, version = $5
		WHERE id = $6`,
		request, opened, string(m.Priority), m.ChangedAt, m.Version, m.ID)
	if err != nil {
		return fmt.Errorf("update the request of mission %s: %w", m.ID, err)
	}
	if maps.Equal(was.Labels, m.Labels) {
		return nil
	}
	return t.putLabels(ctx, m)
}

// detailSizes are the numbers of missions in a query for details: each number is
// prepared once, so there are few.
var detailSizes = []int{1, 51, 201}

// addDetails reads the SLAs and payments of missions.
func addDetails(ctx context.Context, db querier, list []*Mission) error {
	if len(list) == 0 {
		return nil
	}
	size := len(list)
	for _, n := range detailSizes {
		if n >= len(list) {
			size = n
			break
		}
	}
	byID := make(map[string]*Mission, len(list))
	ids := make([]any, size)
	for i := range ids {
		m := list[min(i, len(list)-1)] // repeats the last to fill the query
		ids[i], byID[m.ID] = m.ID, m
	}
	var marks strings.Builder
	for i := range ids {
		fmt.Fprintf(&marks, ", $%d", i+1)
	}
	rows, err := db.query(ctx, `SELECT m.id, s.policy, s.timers, s.revision, s.rules, s.due_at, `+paymentColumns+`
		FROM mission m LEFT JOIN sla s ON s.mission = m.id LEFT JOIN payment p ON p.mission = m.id
		WHERE m.id IN (`+marks.String()[2:]+`)`, ids...)
	_, err = collect(rows, err, func(row scanner) (none struct{}, err error) {
		var id string
		var policy *fieldmark.Priority
		var revision, counted *int64
		var s SLA
		var p paymentScan
		if err := row.Scan(append([]any{&id, &policy, jsonCol{&s.Timers}, &revision, &counted, nullTime{&s.DueAt}},
			p.into()...)...); err != nil {
			return none, err
		}
		m := byID[id]
		if policy != nil {
			s.Policy, s.Revision = *policy, int(*revision)
			if counted != nil {
				s.Rules = *counted
			}
			m.StoredSLA, m.SLA = &s, s.public()
		}
		if pay := p.payment(); pay != nil {
			m.StoredPayment, m.Payment = pay, &pay.Payment
		}
		return none, nil
	})
	if err != nil {
		return fmt.Errorf("read SLAs and payments: %w", err)
	}
	return nil
}

// NoteReader reads notes about missions.
type NoteReader struct{ querier }

// NoteTx writes notes about missions, in a transaction.
type NoteTx struct {
	NoteReader
	*tx
}

const noteColumns = `id, text, visibility, author_id, author_name, COALESCE(external_id, ''), created_at, redacted_at,
	occurred_at`

func scanNote(row scanner) (n fieldmark.Note, err error) {
	err = row.Scan(&n.ID, &n.Text, &n.Visibility, &n.Author.ID, &n.Author.Name, &n.ExternalID,
		timeCol{&n.CreatedAt}, nullTime{&n.RedactedAt}, nullTime{&n.OccurredAt})
	return n, queryErr(err)
}

// AddNote adds a note to a mission. The caller has checked that its external id is free.
func (t NoteTx) AddNote(ctx context.Context, mission string, n fieldmark.Note) error {
	var externalID any
	if n.ExternalID != "" {
		externalID = n.ExternalID
	}
	_, err := t.exec(ctx, `INSERT INTO mission_note (id, mission, external_id, text, visibility, author_id, author_name,
		created_at, occurred_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, n.ID, mission, externalID, n.Text,
		string(n.Visibility), n.Author.ID, n.Author.Name, n.CreatedAt.Micros(), nullMicros(n.OccurredAt))
	if err != nil {
		return fmt.Errorf("add note %s of mission %s: %w", n.ID, mission, err)
	}
	return nil
}

// NoteByExternalID reads the note of a mission that has an external id; the error is ErrNotFound
// without one.
func (t NoteTx) NoteByExternalID(ctx context.Context, mission, externalID string) (fieldmark.Note, error) {
	n, err := scanNote(t.queryRow(ctx, `SELECT `+noteColumns+` FROM mission_note
		WHERE mission = $1 AND external_id = $2`, mission, externalID))
	if err != nil {
		return n, fmt.Errorf("read a note of mission %s: %w", mission, err)
	}
	return n, nil
}

// Note reads a note of a mission; the error is ErrNotFound if it does not exist.
func (t NoteTx) Note(ctx context.Context, mission, id string) (fieldmark.Note, error) {
	n, err := scanNote(t.queryRow(ctx, `SELECT `+noteColumns+` FROM mission_note
		WHERE mission = $1 AND id = $2`, mission, id))
	if err != nil {
		return n, fmt.Errorf("read note %s of mission %s: %w", id, mission, err)
	}
	return n, nil
}

// CountNotes counts the notes of a mission, and those of them whose external id begins with a
// prefix of ASCII characters.
func (t NoteTx) CountNotes(ctx context.Context, mission, prefix string) (all, prefixed int, err error) {
	err = t.queryRow(ctx, `SELECT COUNT(*), COUNT(CASE WHEN substr(external_id, 1, $2) = $3 THEN 1 END)
		FROM mission_note WHERE mission = $1`, mission, len(prefix), prefix).Scan(&all, &prefixed)
	if err != nil {
		return 0, 0, fmt.Errorf("count the notes of mission %s: %w", mission, queryErr(err))
	}
	return all, prefixed, nil
}

// Notes lists up to limit notes of a mission after an id, the oldest first; with a visibility
// only those that have it.
func (db NoteReader) Notes(ctx context.Context, mission, after string, visibility fieldmark.NoteVisibility,
	limit int) ([]fieldmark.Note, error) {
	rows, err := db.query(ctx, `SELECT `+noteColumns+` FROM mission_note
		WHERE mission = $1 AND id > $2 AND ($3 = '' OR visibility = $3) ORDER BY id LIMIT $4`,
		mission, after, string(visibility), limit)
	list, err := collect(rows, err, scanNote)
	if err != nil {
		return nil, fmt.Errorf("list the notes of mission %s: %w", mission, err)
	}
	return list, nil
}

// RedactNote removes the text of a note from its row and from its events, whose checksums are
// written again. Deliveries that were sent keep it at their receivers.
func (t NoteTx) RedactNote(ctx context.Context, mission string, n fieldmark.Note) error {
	fail := func(err error) error { return fmt.Errorf("redact note %s: %w", n.ID, err) }
	_, err := t.exec(ctx, `UPDATE mission_note SET text = '', redacted_at = $1 WHERE id = $2`,
		n.RedactedAt.Micros(), n.ID)
	if err != nil {
		return fail(err)
	}
	rows, err := t.query(ctx, `SELECT `+check.EventColumns+` FROM event WHERE subject = $1 AND type = $2`, mission,
		string(fieldmark.EventMissionNoted))
	events, err := collect(rows, err, scanEventRow)
	if err != nil {
		return fail(err)
	}
	for _, row := range events {
		var data fieldmark.MissionNoted
		text, _ := row[eventData].(string)
		if err := json.Unmarshal([]byte(text), &data); err != nil {
			return fail(err)
		}
		if data.Note.ID != n.ID {
			continue
		}
		data.Note.Text, data.Note.RedactedAt = "", n.RedactedAt
		if row[eventData], err = jsonText(data); err != nil {
			return fail(err)
		}
		sum, _ := check.Checksum(t.state.args(row[:]))
		if _, err := t.exec(ctx, `UPDATE event SET data = $1, sum = $2 WHERE number = $3`, row[eventData], sum,
			row[0]); err != nil {
			return fail(err)
		}
	}
	return nil
}

// IntakeReader reads the results of requests that edges accepted without an origin.
type IntakeReader struct{ querier }

// IntakeTx writes them, in a transaction.
type IntakeTx struct {
	IntakeReader
	*tx
}

// Intake is a request that an origin has decided. Account and Key are empty if there is no such key.
type Intake struct {
	fieldmark.Intake
	Account, Key string
}

const intakeColumns = `id, account, key_id, state, source, external_id, missions, code, detail, accepted_at, decided_at`

// scanIntake reads a request after other columns.
func scanIntake(row scanner, before ...any) (r Intake, err error) {
	err = row.Scan(append(before, &r.ID, &r.Account, &r.Key, &r.State, &r.Source, &r.ExternalID,
		jsonCol{&r.Missions}, &r.Code, &r.Detail, timeCol{&r.AcceptedAt}, nullTime{&r.DecidedAt})...)
	return r, queryErr(err)
}

// Intake reads a request; the error is ErrNotFound if none was decided with the id.
func (db IntakeReader) Intake(ctx context.Context, id string) (Intake, error) {
	return scanIntake(db.queryRow(ctx, `SELECT `+intakeColumns+` FROM intake WHERE id = $1`, id))
}

// Intake is IntakeReader.Intake for callers that may share a query and a result.
func (s *Store) Intake(ctx context.Context, id string) (Intake, error) {
	if s.dialect.Prepare {
		return s.IntakeReader.Intake(ctx, id)
	}
	r, err := s.intake.Get(ctx, id)
	return r, queryErr(err)
}

// loadIntake returns a function that reads requests for several callers.
func loadIntake(db querier) func(context.Context, []string) (map[string]Intake, error) {
	return func(ctx context.Context, ids []string) (map[string]Intake, error) {
		return load(ctx, db, ids, `SELECT n.i, `+intakeColumns+` FROM unnest($1::text[]) WITH ORDINALITY
			AS n (asked, i) JOIN intake ON id = n.asked`, []any{ids}, scanIntake)
	}
}

// RefusedIntake lists up to limit requests that were refused, the latest first, without those of test worlds.
func (db IntakeReader) RefusedIntake(ctx context.Context, limit int) ([]Intake, error) {
	rows, err := db.query(ctx, `SELECT `+intakeColumns+` FROM intake WHERE state = 'refused'
		AND account NOT LIKE '%~test' ORDER BY decided_at DESC, id DESC LIMIT $1`, limit)
	return collect(rows, err, func(row scanner) (Intake, error) { return scanIntake(row) })
}

// AddIntake adds a request that was decided, unless there is one with its id.
func (t IntakeTx) AddIntake(ctx context.Context, r *Intake) error {
	missions, err := jsonText(r.Missions)
	if err != nil {
		return fmt.Errorf("add accepted request %s: %w", r.ID, err)
	}
	return t.queueInsert(ctx, `INSERT INTO intake (`+intakeColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (id) DO NOTHING`, r.ID, r.Account, r.Key,
		string(r.State), r.Source, r.ExternalID, missions, string(r.Code), r.Detail, r.AcceptedAt.Micros(),
		r.DecidedAt.Micros())
}

// PruneIntake deletes up to limit requests in a state that were decided before a time, and returns how many.
func (t IntakeTx) PruneIntake(ctx context.Context, state fieldmark.IntakeState, before time.Time,
	limit int) (int64, error) {
	return t.exec(ctx, `DELETE FROM intake WHERE id IN (SELECT i.id FROM intake i WHERE i.state = $1
		AND i.decided_at < $2 LIMIT $3)`, string(state), before.UnixMicro(), limit)
}

// eventData is the index of the data in check.EventColumns.
const eventData = 7

// scanEventRow reads check.EventColumns.
func scanEventRow(row scanner) (values [10]any, err error) {
	var into [len(values)]any
	for i := range values {
		into[i] = &values[i]
	}
	return values, row.Scan(into[:]...)
}
