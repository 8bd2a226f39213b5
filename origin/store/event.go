package store

import (
	"context"
	"fmt"

	"github.com/fieldmark/fieldmark"
)

// Event is a line of the log and what it is about.
type Event struct {
	fieldmark.Event
	Subject string // a mission's, key's or module's name, or a brand's slug; what Check looks events up by
	Account string // whose event it is; empty for what no integrator hears of
	Trace   string // the traceparent of what caused it; only written
}

// AppendEvent writes the next line of the log and sets its number.
func (t *Tx) AppendEvent(ctx context.Context, e *Event) error {
	number, err := t.group.number(ctx, t)
	if err != nil {
		return fmt.Errorf("take an event number: %w", err)
	}
	e.Number = number
	tags, err := text(e.Tags)
	if err != nil {
		return fmt.Errorf("write the tags of event %d: %w", e.Number, err)
	}
	row := t.group.dialect.args([]any{e.Number, e.ID, string(e.Type), e.Time.Micros(), e.Subject, string(e.Brand), tags,
		string(e.Data), e.Account, e.Trace})
	sum, _ := checksum(row)
	err = t.add(ctx, `INSERT INTO event (`+summedColumns+`, sum)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`, append(row, sum)...)
	if err != nil {
		return fmt.Errorf("append event %d: %w", e.Number, err)
	}
	t.touched[TopicEvents] = true
	t.told = append(t.told, e.Type)
	return nil
}

// Head returns the number of the newest event, 0 while there is none.
func (s *Store) Head(ctx context.Context) (int64, error) {
	var n int64
	if err := s.queryRow(ctx, `SELECT number FROM log WHERE name = $1`, logName).Scan(&n); err != nil {
		return 0, fmt.Errorf("read the head of the log: %w", none(err))
	}
	return n, nil
}

// LogStatus is what a follower of the log compares with what it knows.
type LogStatus struct {
	Name    string // of the log
	Head    int64  // number of the newest event; 0 while there is none
	Oldest  int64  // number of the oldest event still kept; 0 while there is none
	AfterID string // id of the event that was asked about; empty if there is none
}

// LogStatus reads the state of the log and the id of the event numbered after.
// The name is read each time: another process may rename the log.
func (s *Store) LogStatus(ctx context.Context, after int64) (LogStatus, error) {
	var l LogStatus
	err := s.queryRow(ctx, `SELECT id, number, (SELECT COALESCE(MIN(number), 0) FROM event),
		COALESCE((SELECT id FROM event WHERE number = $2), '') FROM log WHERE name = $1`, logName, after).
		Scan(&l.Name, &l.Head, &l.Oldest, &l.AfterID)
	if err != nil {
		return LogStatus{}, fmt.Errorf("read the state of the log: %w", none(err))
	}
	return l, nil
}

// Oldest returns the number of the oldest event still kept, 0 while there is none.
func (s *Store) Oldest(ctx context.Context) (int64, error) {
	var n int64
	if err := s.queryRow(ctx, `SELECT COALESCE(MIN(number), 0) FROM event`).Scan(&n); err != nil {
		return 0, fmt.Errorf("read the tail of the log: %w", none(err))
	}
	return n, nil
}

// Events returns events after a number in order: at most limit of them, and no
// more than fit into size bytes of data, but one at least.
func (s *Store) Events(ctx context.Context, after int64, limit, size int) ([]fieldmark.Event, error) {
	rows, err := s.query(ctx, `SELECT number, id, type, at, brand, tags, data FROM event
		WHERE number > $1 ORDER BY number LIMIT $2`, after, limit)
	if err != nil {
		return nil, fmt.Errorf("read events after %d: %w", after, err)
	}
	defer rows.Close()
	events := []fieldmark.Event{}
	for rows.Next() {
		var e fieldmark.Event
		var data string
		if err := rows.Scan(&e.Number, &e.ID, &e.Type, instant{&e.Time}, &e.Brand, document{&e.Tags}, &data); err != nil {
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

// EventsAbout returns the newest events about two subjects, the newest first; the
// second may be empty.
func (s *Store) EventsAbout(ctx context.Context, subject, other string, limit int) ([]fieldmark.Event, error) {
	rows, err := s.query(ctx, `SELECT number, id, type, at, data FROM event
		WHERE subject IN ($1, $2) AND subject <> '' ORDER BY number DESC LIMIT $3`, subject, other, limit)
	list, err := collect(rows, err, func(row scanner) (e fieldmark.Event, err error) {
		var data string
		err = row.Scan(&e.Number, &e.ID, &e.Type, instant{&e.Time}, &data)
		e.Data = []byte(data)
		return e, err
	})
	if err != nil {
		return nil, fmt.Errorf("read events about %s: %w", subject, err)
	}
	return list, nil
}

// LastEventTime returns when the newest event of a type about a subject was, or
// the zero Time.
func (t *Tx) LastEventTime(ctx context.Context, subject string, kind fieldmark.EventType) (fieldmark.Time, error) {
	var at *fieldmark.Time
	err := t.queryRow(ctx, `SELECT MAX(at) FROM event WHERE subject = $1 AND type = $2`, subject, string(kind)).Scan(maybe{&at})
	if err != nil {
		return fieldmark.Time{}, fmt.Errorf("look for the last %s of %s: %w", kind, subject, err)
	}
	if at == nil {
		return fieldmark.Time{}, nil
	}
	return *at, nil
}
