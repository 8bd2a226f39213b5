package store

import (
	"context"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
)

// Replay is a replay and how far it has come.
type Replay struct {
	fieldmark.Replay
	AtDelivery string // the last delivery looked at
	AtEvent    int64  // the last event looked at
}

const replayColumns = `id, endpoint, request, state, at_delivery, at_event, looked, queued, created_at, updated_at`

func scanReplay(row scanner) (r Replay, err error) {
	err = row.Scan(&r.ID, &r.EndpointID, document{&r.ReplayRequest}, &r.State, &r.AtDelivery, &r.AtEvent, &r.Looked, &r.Queued,
		instant{&r.CreatedAt}, instant{&r.UpdatedAt})
	return r, none(err)
}

// AddReplay adds a replay.
func (t *Tx) AddReplay(ctx context.Context, r *Replay) error {
	request, err := text(r.ReplayRequest)
	if err != nil {
		return fmt.Errorf("write replay %s: %w", r.ID, err)
	}
	_, err = t.exec(ctx, `INSERT INTO replay (`+replayColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		r.ID, r.EndpointID, request, string(r.State), r.AtDelivery, r.AtEvent, r.Looked, r.Queued, r.CreatedAt.Micros(), r.UpdatedAt.Micros())
	if err != nil {
		return fmt.Errorf("add replay %s: %w", r.ID, err)
	}
	t.touched[TopicReplays] = true
	return nil
}

// PutReplay writes how far a replay has come.
func (t *Tx) PutReplay(ctx context.Context, r *Replay) error {
	_, err := t.exec(ctx, `UPDATE replay SET state = $1, at_delivery = $2, at_event = $3, looked = $4, queued = $5, updated_at = $6 WHERE id = $7`,
		string(r.State), r.AtDelivery, r.AtEvent, r.Looked, r.Queued, r.UpdatedAt.Micros(), r.ID)
	if err != nil {
		return fmt.Errorf("write replay %s: %w", r.ID, err)
	}
	return nil
}

// Replays lists the replays of an endpoint, the newest first.
func (s *Store) Replays(ctx context.Context, endpoint string, limit int) ([]Replay, error) {
	rows, err := s.query(ctx, `SELECT `+replayColumns+` FROM replay WHERE endpoint = $1 ORDER BY id DESC LIMIT $2`, endpoint, limit)
	list, err := collect(rows, err, scanReplay)
	if err != nil {
		return nil, fmt.Errorf("list the replays of endpoint %s: %w", endpoint, err)
	}
	return list, nil
}

// RunningReplays lists replays that are not done, the oldest first.
func (s *Store) RunningReplays(ctx context.Context, limit int) ([]Replay, error) {
	rows, err := s.query(ctx, `SELECT `+replayColumns+` FROM replay WHERE state = 'running' ORDER BY id LIMIT $1`, limit)
	list, err := collect(rows, err, scanReplay)
	if err != nil {
		return nil, fmt.Errorf("list running replays: %w", err)
	}
	return list, nil
}

// RunningReplay reads a replay anew; the error is ErrNone when it is done.
func (t *Tx) RunningReplay(ctx context.Context, id string) (Replay, error) {
	r, err := scanReplay(t.queryRow(ctx, `SELECT `+replayColumns+` FROM replay WHERE id = $1 AND state = 'running'`, id))
	if err != nil {
		return Replay{}, fmt.Errorf("read replay %s: %w", id, err)
	}
	return r, nil
}

// Past is an event and what became of it at one endpoint.
type Past struct {
	Delivery string // empty: it was never due there
	State    fieldmark.DeliveryState
	Event    int64
	Type     fieldmark.EventType
	Subject  string
	At       fieldmark.Time
}

func scanPast(row scanner) (p Past, err error) {
	return p, row.Scan(&p.Delivery, &p.State, &p.Event, &p.Type, &p.Subject, instant{&p.At})
}

// FailedDeliveries lists deliveries to an endpoint that were given up, of events
// in a span of time, in order.
func (t *Tx) FailedDeliveries(ctx context.Context, endpoint, after string, since, until time.Time, limit int) ([]Past, error) {
	rows, err := t.query(ctx, `SELECT d.id, d.state, e.number, e.type, e.subject, e.at FROM delivery d JOIN event e ON e.number = d.event
		WHERE d.endpoint = $1 AND d.state = 'failed' AND d.id > $2 AND e.at >= $3 AND e.at < $4 AND e.type <> 'ping' ORDER BY d.id LIMIT $5`,
		endpoint, after, since.UnixMicro(), until.UnixMicro(), limit)
	list, err := collect(rows, err, scanPast)
	if err != nil {
		return nil, fmt.Errorf("list what failed at endpoint %s: %w", endpoint, err)
	}
	return list, nil
}

// PastEvents lists an account's events after a number and what became of them at
// an endpoint, in order.
func (t *Tx) PastEvents(ctx context.Context, endpoint, account string, after int64, until time.Time, limit int) ([]Past, error) {
	rows, err := t.query(ctx, `SELECT COALESCE(d.id, ''), COALESCE(d.state, ''), e.number, e.type, e.subject, e.at
		FROM event e LEFT JOIN delivery d ON d.event = e.number AND d.endpoint = $1
		WHERE e.account = $2 AND e.account <> '' AND e.number > $3 AND e.at < $4 ORDER BY e.number LIMIT $5`,
		endpoint, account, after, until.UnixMicro(), limit)
	list, err := collect(rows, err, scanPast)
	if err != nil {
		return nil, fmt.Errorf("list the events of %s after %d: %w", account, after, err)
	}
	return list, nil
}

// Requeue makes a finished delivery due again under a schedule that begins anew.
// It reports whether it was finished.
func (t *Tx) Requeue(ctx context.Context, delivery string, to *Subscriber, topic string, at time.Time) (bool, error) {
	state := fieldmark.DeliveryDue
	if !to.Ordered {
		topic = ""
	} else if busy, err := t.unfinished(ctx, to.ID, topic); err != nil {
		return false, err
	} else if busy {
		state = fieldmark.DeliveryWaiting
	}
	n, err := t.exec(ctx, `UPDATE delivery SET state = $1, due_at = $2, updated_at = $2, base = attempts, claims = 0, topic = $3
		WHERE id = $4 AND endpoint = $5 AND state IN ('done', 'failed')`, string(state), at.UnixMicro(), topic, delivery, to.ID)
	if err != nil {
		return false, fmt.Errorf("queue delivery %s again: %w", delivery, err)
	}
	if n == 0 {
		return false, nil
	}
	t.touched[TopicDeliveries] = true
	return true, t.wake(ctx, to, at)
}

// Subscriber reads one endpoint as telling of an event asks for it.
func (t *Tx) Subscriber(ctx context.Context, id string) (Subscriber, error) {
	s, err := scanSubscriber(t.queryRow(ctx, `SELECT account, id, events, ordered = 1, state, open_until, wake_at, expires_at FROM endpoint
		WHERE id = $1 AND deleted_at IS NULL`, id))
	if err != nil {
		return Subscriber{}, fmt.Errorf("read endpoint %s: %w", id, none(err))
	}
	return s, nil
}

// SubjectOf returns what a delivery is about.
func (t *Tx) SubjectOf(ctx context.Context, delivery string) (string, error) {
	var subject string
	err := t.queryRow(ctx, `SELECT e.subject FROM delivery d JOIN event e ON e.number = d.event WHERE d.id = $1`, delivery).Scan(&subject)
	if err != nil {
		return "", fmt.Errorf("read delivery %s: %w", delivery, none(err))
	}
	return subject, nil
}

// JobOf reads what a delivery carries.
func (s *Store) JobOf(ctx context.Context, delivery string) (Job, error) {
	var data string
	j := Job{ID: delivery}
	err := s.queryRow(ctx, `SELECT e.subject, e.account, e.id, e.type, e.at, e.data FROM delivery d JOIN event e ON e.number = d.event WHERE d.id = $1`, delivery).
		Scan(&j.Subject, &j.Account, &j.Envelope.ID, &j.Envelope.Type, instant{&j.Envelope.Timestamp}, &data)
	if err != nil {
		return j, fmt.Errorf("read what delivery %s carries: %w", delivery, none(err))
	}
	j.Envelope.Data = []byte(data)
	return j, nil
}

// AccountEvents lists events of an account after a number, as Events does of all.
func (s *Store) AccountEvents(ctx context.Context, account string, after int64, limit int) ([]Event, error) {
	rows, err := s.query(ctx, `SELECT number, id, type, at, subject, account, data FROM event
		WHERE account = $1 AND account <> '' AND number > $2 ORDER BY number LIMIT $3`, account, after, limit)
	list, err := collect(rows, err, func(row scanner) (e Event, err error) {
		var data string
		err = row.Scan(&e.Number, &e.ID, &e.Type, instant{&e.Time}, &e.Subject, &e.Account, &data)
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
func (s *Store) NewestEventTime(ctx context.Context, account string) (time.Time, error) {
	var at time.Time
	err := s.queryRow(ctx, `SELECT MAX(at) FROM (SELECT at FROM event WHERE account = $1 AND account <> ''
		ORDER BY number DESC LIMIT $2) AS newest`, account, eventTimeWindow).Scan(clock{&at})
	if err != nil {
		return time.Time{}, fmt.Errorf("read the time of the newest event of %s: %w", account, none(err))
	}
	return at, nil
}

// TrimDeliveries deletes up to limit deliveries that were created before a time,
// with their attempts. Those being sent stay, and those queued again since then,
// by a resend or a replay, which are not sent yet. What waited for a deleted one
// is due. It returns how many it deleted.
func (t *Tx) TrimDeliveries(ctx context.Context, before, now time.Time, limit int) (int64, error) {
	rows, err := t.query(ctx, `SELECT id FROM delivery WHERE id < $1 AND lease_owner IS NULL
		AND (state NOT IN ('due', 'waiting') OR updated_at < $2) ORDER BY id LIMIT $3`,
		fieldmark.FirstID(fieldmark.PrefixDelivery, before), before.UnixMicro(), limit)
	ids, err := collect(rows, err, scanText)
	if err != nil {
		return 0, fmt.Errorf("list old deliveries: %w", err)
	}
	for _, id := range ids {
		for _, text := range []string{`DELETE FROM attempt WHERE delivery = $1`, `DELETE FROM delivery WHERE id = $1`} {
			if err := t.post(ctx, text, id); err != nil {
				return 0, fmt.Errorf("forget delivery %s: %w", id, err)
			}
		}
	}
	if len(ids) == 0 {
		return 0, nil
	}
	return int64(len(ids)), t.PromoteAll(ctx, "", now)
}

// TrimEvents forgets up to limit events from the tail of the log that are older
// than a time and that no delivery needs. The newest event always stays, so that
// the log's end is known. It returns how many it forgot.
func (t *Tx) TrimEvents(ctx context.Context, before time.Time, limit int) (int64, error) {
	fail := func(err error) (int64, error) { return 0, fmt.Errorf("forget old events: %w", none(err)) }
	var newest, needed int64
	err := t.queryRow(ctx, `SELECT COALESCE(MAX(number), 0), COALESCE((SELECT MIN(d.event) FROM delivery d), 0) FROM event`).Scan(&newest, &needed)
	if err != nil {
		return fail(err)
	}
	if needed == 0 {
		needed = newest
	}
	rows, err := t.query(ctx, `SELECT number, at FROM event WHERE number < $1 ORDER BY number LIMIT $2`, min(newest, needed), limit)
	tail, err := collect(rows, err, func(row scanner) (e fieldmark.Event, err error) { return e, row.Scan(&e.Number, instant{&e.Time}) })
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
