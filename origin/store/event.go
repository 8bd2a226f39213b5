package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store/check"
	"github.com/fieldmark/fieldmark/origin/store/commit"
)

// The event log, and the CDNs that follow it.

// EventReader reads the event log.
type EventReader struct{ querier }

// EventTx writes the event log, in a transaction.
type EventTx struct {
	EventReader
	*tx
}

// Event is an event and its subject.
type Event struct {
	fieldmark.Event
	Subject string            // id of a mission or key, name of a module, or slug of a brand
	Account string            // whose endpoints may receive it; empty for internal events
	Trace   string            // traceparent of the cause; only written
	Actor   string            // who caused it: 'person NAME' or 'key ID'; empty for timers and jobs
	Labels  map[string]string // of the mission that it is about, at its time; nil without a mission

	ForEdges bool // its commit also touches TopicEdgeEvents; only written
}

// logState numbers events inside a transaction. The row of table log is read once
// and written once, however many events there are.
type logState struct {
	read     bool
	head     int64 // number of the newest event before the transaction
	numbered int64 // events of the transaction
	stamp    int64 // the newest, in microseconds
	stamped  bool  // stamp is later than what was read
}

const logQuery = `SELECT number, at FROM log WHERE name = $1`

func (l *logState) scan(row commit.Scanner) error {
	l.read = true
	return row.Scan(&l.head, &l.stamp)
}

// readLog reads the row of the log, once for each transaction.
func (t *tx) readLog(ctx context.Context) (*logState, error) {
	l := &t.state.log
	if l.read {
		return l, nil
	}
	if err := t.queryRow(ctx, logQuery, logName).Scan(&l.head, &l.stamp); err != nil {
		return nil, err
	}
	l.read = true
	return l, nil
}

// updateLog writes the number of the newest event and the newest stamp. If the row has
// changed since it was read, a process wrote without the lock. Then the number becomes
// NULL, which violates a constraint and fails the transaction.
func (s *Store) updateLog() []commit.Statement {
	l := &s.state.log
	if l.numbered == 0 && !l.stamped {
		return nil
	}
	return []commit.Statement{{
		Text: s.dialect.updateLog,
		Args: []any{l.numbered, l.stamp, logName, l.head},
	}}
}

// Stamp returns the time of the current write to an account, in microseconds since 1970. It
// is the time of the clock, but always later than every previous stamp, so that a reader of
// all changes since a stamp misses none. The commit stores it in the log, without the offset
// that a test world adds: live stamps must not follow the clock of a world.
func (t EventTx) Stamp(ctx context.Context, account string) (int64, error) {
	l, err := t.readLog(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the newest stamp: %w", err)
	}
	l.stamp, l.stamped = max(time.Now().UnixMicro(), l.stamp+1), true
	if !fieldmark.IsTestAccount(account) {
		return l.stamp, nil
	}
	a, err := t.account(ctx, account)
	return l.stamp + a.clockOffset.Microseconds(), err
}

// nextNumber returns the next event number.
func (t *tx) nextNumber(ctx context.Context) (int64, error) {
	l, err := t.readLog(ctx)
	if err != nil {
		return 0, err
	}
	l.numbered++
	return l.head + l.numbered, nil
}

// AppendEvent appends an event to the log and sets its number.
func (t EventTx) AppendEvent(ctx context.Context, e *Event) error {
	number, err := t.nextNumber(ctx)
	if err != nil {
		return fmt.Errorf("number an event: %w", err)
	}
	e.Number = number
	tags, err := jsonText(e.Tags)
	if err != nil {
		return fmt.Errorf("write the tags of event %d: %w", e.Number, err)
	}
	labels, err := labelsText(e.Labels)
	if err != nil {
		return fmt.Errorf("write the labels of event %d: %w", e.Number, err)
	}
	row := t.state.args([]any{e.Number, e.ID, string(e.Type), e.Time.Micros(), e.Subject, string(e.Brand), tags,
		string(e.Data), e.Account, e.Trace})
	sum, _ := check.Checksum(row)
	err = t.queueInsert(ctx, `INSERT INTO event (`+check.EventColumns+`, sum, actor, labels)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`, append(row, sum, e.Actor, labels)...)
	if err != nil {
		return fmt.Errorf("append event %d: %w", e.Number, err)
	}
	if e.Type == fieldmark.EventBrandChanged || e.Type == fieldmark.EventBrandRemoved {
		if err := t.recordScoreChanges(ctx, e); err != nil {
			return err
		}
	}
	t.touched[TopicEvents] = true
	if e.ForEdges {
		t.touched[TopicEdgeEvents] = true
	}
	if !fieldmark.IsTestAccount(e.Account) { // events of test worlds are in no metric
		t.emitted = append(t.emitted, e.Type)
	}
	return nil
}

// labelsText writes labels as JSON, or "" without any.
func labelsText(labels map[string]string) (string, error) {
	if len(labels) == 0 {
		return "", nil
	}
	return jsonText(labels)
}

// labelsCol scans what labelsText wrote.
type labelsCol struct{ to *map[string]string }

func (c labelsCol) Scan(v any) error {
	if text, ok := v.(string); ok && text == "" {
		*c.to = nil
		return nil
	}
	return jsonCol{c.to}.Scan(v)
}

// Head returns the number of the newest event, or 0.
func (db EventReader) Head(ctx context.Context) (int64, error) {
	var n int64
	if err := db.queryRow(ctx, `SELECT number FROM log WHERE name = $1`, logName).Scan(&n); err != nil {
		return 0, fmt.Errorf("read the head of the log: %w", queryErr(err))
	}
	return n, nil
}

// LogStatus is the state of the log, which an edge compares with its position.
type LogStatus struct {
	Name    string // the epoch of event numbers: the id of the log and the timeline of the server
	Head    int64  // number of the newest event; 0 if it is empty
	Oldest  int64  // number of the oldest event still kept; 0 if it is empty
	AfterID string // id of the event numbered after; empty if it does not exist
}

// LogStatus reads the state of the log and the id of the event numbered after. The name is
// read each time, with the numbers, and not when a connection is made: another process may
// rename the log, and a pooler may lead the next query to another server.
func (s *Store) LogStatus(ctx context.Context, after int64) (LogStatus, error) {
	var l LogStatus
	err := s.queryRow(ctx, `SELECT id || `+s.dialect.timeline+`, number, (SELECT COALESCE(MIN(number), 0) FROM event),
		COALESCE((SELECT id FROM event WHERE number = $2), '') FROM log WHERE name = $1`, logName, after).
		Scan(&l.Name, &l.Head, &l.Oldest, &l.AfterID)
	if err != nil {
		return LogStatus{}, fmt.Errorf("read the state of the log: %w", queryErr(err))
	}
	return l, nil
}

// Oldest returns the number of the oldest event still kept, or 0.
func (db EventReader) Oldest(ctx context.Context) (int64, error) {
	var n int64
	if err := db.queryRow(ctx, `SELECT COALESCE(MIN(number), 0) FROM event`).Scan(&n); err != nil {
		return 0, fmt.Errorf("read the number of the oldest event: %w", queryErr(err))
	}
	return n, nil
}

// Events returns events after a number in order: at most limit of them with at
// most size bytes of data in total, but at least one.
func (db EventReader) Events(ctx context.Context, after int64, limit, size int) ([]fieldmark.Event, error) {
	rows, err := db.query(ctx, `SELECT number, id, type, at, brand, tags, data FROM event
		WHERE number > $1 ORDER BY number LIMIT $2`, after, limit)
	if err != nil {
		return nil, fmt.Errorf("read events after %d: %w", after, err)
	}
	defer rows.Close()
	events := []fieldmark.Event{}
	for rows.Next() {
		var e fieldmark.Event
		var data string
		if err := rows.Scan(&e.Number, &e.ID, &e.Type, timeCol{&e.Time}, &e.Brand, jsonCol{&e.Tags},
			&data); err != nil {
			return nil, fmt.Errorf("read events after %d: %w", after, err)
		}
		if size -= len(data); size < 0 && len(events) > 0 {
			break
		}
		e.Data = []byte(data)
		events = append(events, e)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read events after %d: %w", after, err)
	}
	return events, nil
}

// LogTail reads the state of the log and the events after a number as of one moment: at most limit of
// them, with at most size bytes of tags and data in total, but at least one. Only events of the types in
// data have their data: those of missions are large, and edges do not need them.
func (s *Store) LogTail(ctx context.Context, after int64, limit, size int, data []fieldmark.EventType) (
	at LogStatus, events []fieldmark.Event, err error) {
	fail := func(err error) (LogStatus, []fieldmark.Event, error) {
		return LogStatus{}, nil, fmt.Errorf("read the log after %d: %w", after, queryErr(err))
	}
	var types strings.Builder // ,a,b,: each type between commas
	types.WriteByte(',')
	for _, t := range data {
		types.WriteString(string(t) + ",")
	}
	rows, err := s.query(ctx, `SELECT l.id || `+s.dialect.timeline+`, l.number,
		(SELECT COALESCE(MIN(number), 0) FROM event),
		COALESCE((SELECT id FROM event WHERE number = $2), ''),
		COALESCE(e.number, 0), COALESCE(e.id, ''), COALESCE(e.type, ''), COALESCE(e.at, 0), COALESCE(e.brand, ''),
		COALESCE(e.tags, 'null'), CASE WHEN $4 LIKE '%,' || e.type || ',%' THEN e.data ELSE '' END
		FROM log l LEFT JOIN (SELECT number, id, type, at, brand, tags, data FROM event WHERE number > $2
			ORDER BY number LIMIT $3) e ON TRUE
		WHERE l.name = $1 ORDER BY e.number`, logName, after, limit, types.String())
	if err != nil {
		return fail(err)
	}
	defer rows.Close()
	for rows.Next() {
		var e fieldmark.Event
		var tags, data string
		if err := rows.Scan(&at.Name, &at.Head, &at.Oldest, &at.AfterID, &e.Number, &e.ID, &e.Type, timeCol{&e.Time},
			&e.Brand, &tags, &data); err != nil {
			return fail(err)
		}
		if e.Number == 0 {
			break // no events; the row has the state of the log
		}
		if size -= len(tags) + len(data); size < 0 && len(events) > 0 {
			break
		}
		if err := (jsonCol{&e.Tags}).Scan(tags); err != nil {
			return fail(err)
		}
		if data != "" {
			e.Data = []byte(data)
		}
		events = append(events, e)
	}
	if err := rows.Err(); err != nil {
		return fail(err)
	}
	if at.Name == "" {
		return fail(sql.ErrNoRows)
	}
	return at, events, nil
}

// EventsAbout returns the newest events about two subjects, the newest first;
// the second may be empty.
func (db EventReader) EventsAbout(ctx context.Context, subject, other string, limit int) ([]Event, error) {
	rows, err := db.query(ctx, `SELECT number, id, type, at, data, actor FROM event
		WHERE subject IN ($1, $2) AND subject <> '' ORDER BY number DESC LIMIT $3`, subject, other, limit)
	list, err := collect(rows, err, func(row scanner) (e Event, err error) {
		var data string
		err = row.Scan(&e.Number, &e.ID, &e.Type, timeCol{&e.Time}, &data, &e.Actor)
		e.Data = []byte(data)
		return e, err
	})
	if err != nil {
		return nil, fmt.Errorf("read events about %s: %w", subject, err)
	}
	return list, nil
}

// LastEventTime returns the time of the newest event of a type about a subject,
// or the zero Time.
func (t EventTx) LastEventTime(ctx context.Context, subject string, kind fieldmark.EventType) (fieldmark.Time, error) {
	var at *fieldmark.Time
	err := t.queryRow(ctx, `SELECT MAX(at) FROM event WHERE subject = $1 AND type = $2`, subject,
		string(kind)).Scan(nullTime{&at})
	if err != nil {
		return fieldmark.Time{}, fmt.Errorf("read the time of the last %s of %s: %w", kind, subject, err)
	}
	if at == nil {
		return fieldmark.Time{}, nil
	}
	return *at, nil
}

// AccountEvents lists events of an account after a number, in order.
func (db EventReader) AccountEvents(ctx context.Context, account string, after int64, limit int) ([]Event, error) {
	rows, err := db.query(ctx, `SELECT number, id, type, at, subject, account, data, labels FROM event
		WHERE account = $1 AND account <> '' AND number > $2 ORDER BY number LIMIT $3`, account, after, limit)
	list, err := collect(rows, err, func(row scanner) (e Event, err error) {
		var data string
		err = row.Scan(&e.Number, &e.ID, &e.Type, timeCol{&e.Time}, &e.Subject, &e.Account, &data,
			labelsCol{&e.Labels})
		e.Data = []byte(data)
		return e, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the events of %s after %d: %w", account, after, err)
	}
	return list, nil
}

// eventTimeWindow is how many of the newest events NewestEventTime compares. Clocks
// of origins differ by seconds; an account has fewer events in that time.
const eventTimeWindow = 1000

// NewestEventTime returns the latest time of an account's newest events, or the
// zero Time. The event with the highest number need not be the latest: each origin
// sets times by its own clock.
func (db EventReader) NewestEventTime(ctx context.Context, account string) (time.Time, error) {
	var at time.Time
	err := db.queryRow(ctx, `SELECT MAX(at) FROM (SELECT at FROM event WHERE account = $1 AND account <> ''
		ORDER BY number DESC LIMIT $2) AS newest`, account, eventTimeWindow).Scan(exactTime{&at})
	if err != nil {
		return time.Time{}, fmt.Errorf("read the time of the newest event of %s: %w", account, queryErr(err))
	}
	return at, nil
}

// PruneEvents deletes up to limit events from the tail of the log that are older
// than a time and that no delivery needs. The newest event always stays, so that
// the numbering goes on. It returns how many it deleted.
func (t EventTx) PruneEvents(ctx context.Context, before time.Time, limit int) (int64, error) {
	fail := func(err error) (int64, error) { return 0, fmt.Errorf("prune events: %w", queryErr(err)) }
	var newest, needed int64
	err := t.queryRow(ctx, `SELECT COALESCE(MAX(number), 0), COALESCE((SELECT MIN(d.event) FROM delivery d), 0)
		FROM event`).Scan(&newest, &needed)
	if err != nil {
		return fail(err)
	}
	if needed == 0 {
		needed = newest
	}
	rows, err := t.query(ctx, `SELECT number, at FROM event WHERE number < $1 ORDER BY number LIMIT $2`, min(newest,
		needed), limit)
	tail, err := collect(rows, err, func(row scanner) (e fieldmark.Event, err error) {
		return e, row.Scan(&e.Number,
			timeCol{&e.Time})
	})
	if err != nil {
		return fail(err)
	}
	var upTo int64
	for _, e := range tail {
		if !e.Time.Std().Before(before) {
			break
		}
		upTo = e.Number
	}
	if upTo == 0 {
		return 0, nil
	}
	n, err := t.exec(ctx, `DELETE FROM event WHERE number <= $1`, upTo)
	if err != nil {
		return fail(err)
	}
	return n, nil
}

// CDNReader reads the CDNs that are purged.
type CDNReader struct{ querier }

// CDNTx writes them, in a transaction.
type CDNTx struct {
	CDNReader
	*tx
}

// CDN is a CDN and the position up to which it was purged.
type CDN struct {
	Name     string
	Settings fieldmark.CDNSettings
	Token    string // sealed; empty: none
	State    fieldmark.CDNState
	Status   CDNStatus
	Probe    CDNProbe
	Log      string // id of the log that At belongs to
	At       fieldmark.EventCursor
	Version  int64 // of the settings; it grows with each change

	CreatedAt, UpdatedAt fieldmark.Time
	Leased               bool // until a time after the requested one
}

// CDNStatus is what happened to a CDN last, stored as a document.
type CDNStatus struct {
	LastError    string          `json:"lastError,omitempty"`
	FailingSince *fieldmark.Time `json:"failingSince,omitempty"`
	PurgedAt     *fieldmark.Time `json:"purgedAt,omitempty"`
	EmptiedAt    *fieldmark.Time `json:"emptiedAt,omitempty"` // because events were lost
	EmptiedFor   string          `json:"emptiedFor,omitempty"`
	// Confirmed is the position up to which every edge has reported that it is past what was purged; nil: At.
	Confirmed *fieldmark.EventCursor `json:"confirmed,omitempty"`
}

// CDNProbe is the result of the probes of a CDN, stored as a document.
type CDNProbe struct {
	fieldmark.CDNProbe
	CleanSince   *fieldmark.Time `json:"cleanSince,omitempty"`   // no failure since; nil: the last probe failed
	FailingSince *fieldmark.Time `json:"failingSince,omitempty"` // nil: the last probe succeeded
}

const cdnColumns = `name, settings, token, state, status, probe, log, cursor, cursor_id, version, created_at,
	updated_at, CASE WHEN lease_until > $1 THEN 1 ELSE 0 END`

func scanCDN(row scanner) (c CDN, err error) {
	err = row.Scan(&c.Name, jsonCol{&c.Settings}, &c.Token, &c.State, jsonCol{&c.Status}, jsonCol{&c.Probe}, &c.Log,
		&c.At.Number, &c.At.ID, &c.Version, timeCol{&c.CreatedAt}, timeCol{&c.UpdatedAt}, &c.Leased)
	return c, queryErr(err)
}

// CDNs lists all CDNs by name; there are at most fieldmark.MaxCDNs.
func (db CDNReader) CDNs(ctx context.Context, now time.Time) ([]CDN, error) {
	rows, err := db.query(ctx, `SELECT `+cdnColumns+` FROM cdn ORDER BY name`, now.UnixMicro())
	list, err := collect(rows, err, scanCDN)
	if err != nil {
		return nil, fmt.Errorf("list CDNs: %w", err)
	}
	return list, nil
}

// CDN reads a CDN; the error is ErrNotFound if it does not exist.
func (db CDNReader) CDN(ctx context.Context, name string) (CDN, error) {
	c, err := scanCDN(db.queryRow(ctx, `SELECT `+cdnColumns+` FROM cdn WHERE name = $2`, time.Now().UnixMicro(), name))
	if err != nil {
		return c, fmt.Errorf("read CDN %s: %w", name, err)
	}
	return c, nil
}

// EventAfter returns the time of the first event after a number; zero without one.
func (db CDNReader) EventAfter(ctx context.Context, number int64) (at time.Time, err error) {
	var micros *int64
	err = db.queryRow(ctx, `SELECT (SELECT at FROM event WHERE number > $1 ORDER BY number LIMIT 1)`, number).
		Scan(&micros)
	if err != nil {
		return at, fmt.Errorf("read the event after %d: %w", number, queryErr(err))
	}
	if micros != nil {
		at = time.UnixMicro(*micros)
	}
	return at, nil
}

// PutCDN creates a CDN, or replaces its settings, token and state and ends its lease: the worker that
// holds it has the previous settings. The position of a CDN that exists is kept.
func (t CDNTx) PutCDN(ctx context.Context, c *CDN) error {
	settings, err := jsonText(c.Settings)
	if err != nil {
		return fmt.Errorf("write the settings of CDN %s: %w", c.Name, err)
	}
	status, err := jsonText(c.Status)
	if err != nil {
		return fmt.Errorf("write the status of CDN %s: %w", c.Name, err)
	}
	probe, err := jsonText(c.Probe)
	if err != nil {
		return fmt.Errorf("write the probes of CDN %s: %w", c.Name, err)
	}
	_, err = t.exec(ctx, `INSERT INTO cdn (name, settings, token, state, status, log, cursor, cursor_id, version,
		created_at, updated_at, probe) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT (name) DO UPDATE SET settings = excluded.settings, token = excluded.token,
			state = excluded.state, status = excluded.status, probe = excluded.probe, version = excluded.version,
			updated_at = excluded.updated_at,
			lease_until = NULL, lease_owner = NULL`,
		c.Name, settings, c.Token, string(c.State), status, c.Log, c.At.Number, c.At.ID, c.Version,
		c.CreatedAt.Micros(), c.UpdatedAt.Micros(), probe)
	if err != nil {
		return fmt.Errorf("put CDN %s: %w", c.Name, err)
	}
	t.touched[TopicCDNs] = true
	return nil
}

// DeleteCDN deletes a CDN.
func (t CDNTx) DeleteCDN(ctx context.Context, name string) error {
	if _, err := t.exec(ctx, `DELETE FROM cdn WHERE name = $1`, name); err != nil {
		return fmt.Errorf("delete CDN %s: %w", name, err)
	}
	return nil
}

// ClaimCDN leases a CDN to owner unless another worker has it or its token was refused, and reports
// whether it did.
func (t CDNTx) ClaimCDN(ctx context.Context, name, owner string, now, lease time.Time) (bool, error) {
	n, err := t.exec(ctx, `UPDATE cdn SET lease_until = $1, lease_owner = $2 WHERE name = $3 AND state <> 'refused'
		AND (lease_until IS NULL OR lease_until <= $4)`, lease.UnixMicro(), owner, name, now.UnixMicro())
	if err != nil {
		return false, fmt.Errorf("claim CDN %s: %w", name, err)
	}
	return n > 0, nil
}

// MoveCDN writes the position, the state and the status of a CDN whose lease owner holds and whose
// settings are those that owner has, and reports whether it did.
func (t CDNTx) MoveCDN(ctx context.Context, c *CDN, owner string, now time.Time) (bool, error) {
	status, err := jsonText(c.Status)
	if err != nil {
		return false, fmt.Errorf("write the status of CDN %s: %w", c.Name, err)
	}
	n, err := t.exec(ctx, `UPDATE cdn SET log = $1, cursor = $2, cursor_id = $3, state = $4, status = $5
		WHERE name = $6 AND lease_owner = $7 AND lease_until > $8 AND version = $9`, c.Log, c.At.Number, c.At.ID,
		string(c.State), status, c.Name, owner, now.UnixMicro(), c.Version)
	if err != nil {
		return false, fmt.Errorf("move CDN %s: %w", c.Name, err)
	}
	return n > 0, nil
}

// PutProbe writes the result of a probe of a CDN under the conditions of MoveCDN, and reports whether it did.
// It is a separate column: probes and purges run at the same time.
func (t CDNTx) PutProbe(ctx context.Context, c *CDN, owner string, now time.Time) (bool, error) {
	probe, err := jsonText(c.Probe)
	if err != nil {
		return false, fmt.Errorf("write the probes of CDN %s: %w", c.Name, err)
	}
	n, err := t.exec(ctx, `UPDATE cdn SET probe = $1 WHERE name = $2 AND lease_owner = $3 AND lease_until > $4
		AND version = $5`, probe, c.Name, owner, now.UnixMicro(), c.Version)
	if err != nil {
		return false, fmt.Errorf("write the probes of CDN %s: %w", c.Name, err)
	}
	return n > 0, nil
}

// TakeCDNCall takes a call from the limit of an account at a CDN: a bucket of burst calls, to which one
// comes back each interval. It returns how long to wait if the bucket is empty; then nothing was taken. The
// origins of a database share the bucket, and a restart does not fill it.
func (t CDNTx) TakeCDNCall(ctx context.Context, account string, now time.Time, interval time.Duration,
	burst int) (wait time.Duration, err error) {
	fail := func(err error) (time.Duration, error) {
		return 0, fmt.Errorf("take a call of CDN account %q: %w", account, queryErr(err))
	}
	var full int64 // when the bucket is full again
	err = t.queryRow(ctx, `SELECT COALESCE((SELECT full_at FROM cdn_account WHERE account = $1), 0)`,
		account).Scan(&full)
	if err != nil {
		return fail(err)
	}
	at := now.UnixMicro()
	// More than all calls were taken only by a process whose clock was ahead. One is left then, and the others come
	// back from now on.
	if most := at + int64(burst)*interval.Microseconds(); full > most {
		full = most - interval.Microseconds()
	}
	next := max(full, at) + interval.Microseconds()
	if late := next - at - int64(burst)*interval.Microseconds(); late > 0 {
		return time.Duration(late) * time.Microsecond, nil
	}
	_, err = t.exec(ctx, `INSERT INTO cdn_account (account, full_at) VALUES ($1, $2)
		ON CONFLICT (account) DO UPDATE SET full_at = excluded.full_at`, account, next)
	if err != nil {
		return fail(err)
	}
	return 0, nil
}
