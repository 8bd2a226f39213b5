package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fieldmark/fieldmark"
)

// Endpoint is an address that gets webhooks, and its encrypted secret.
type Endpoint struct {
	fieldmark.Endpoint
	Secret string
}

const endpointColumns = `id, account, url, events, description, secret, created_at, expires_at`

func scanEndpoint(row scanner) (e Endpoint, err error) {
	err = row.Scan(&e.ID, &e.Account, &e.URL, document{&e.Events}, &e.Description, &e.Secret, instant{&e.CreatedAt}, maybe{&e.ExpiresAt})
	return e, none(err)
}

// AddEndpoint adds an endpoint.
func (t *Tx) AddEndpoint(ctx context.Context, e *Endpoint) error {
	events, err := text(e.Events)
	if err != nil {
		return fmt.Errorf("write the events of endpoint %s: %w", e.ID, err)
	}
	_, err = t.exec(ctx, `INSERT INTO endpoint (id, account, url, events, description, secret, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		e.ID, e.Account, e.URL, events, e.Description, e.Secret, e.CreatedAt.Micros(), micros(e.ExpiresAt))
	if err != nil {
		return fmt.Errorf("add endpoint %s: %w", e.ID, err)
	}
	clear(t.group.endpoints)
	return nil
}

// LiveEndpoints lists the endpoints of an account that are neither deleted nor
// expired. Every event asks for them; within a transaction the answer changes by
// its own writes only, so members of a group share it. Callers must not change it.
func (t *Tx) LiveEndpoints(ctx context.Context, account string, now time.Time) ([]Endpoint, error) {
	list, known := t.group.endpoints[account]
	if !known {
		rows, err := t.query(ctx, `SELECT `+endpointColumns+` FROM endpoint WHERE account = $1 AND deleted_at IS NULL`, account)
		if list, err = collect(rows, err, scanEndpoint); err != nil {
			return nil, fmt.Errorf("list the endpoints of %s: %w", account, err)
		}
		t.group.endpoints[account] = list
	}
	for i, e := range list {
		if e.expired(now) { // seldom: they are deleted within a second
			live := slices.Clone(list[:i])
			for _, e := range list[i:] {
				if !e.expired(now) {
					live = append(live, e)
				}
			}
			return live, nil
		}
	}
	return list, nil
}

func (e *Endpoint) expired(now time.Time) bool {
	return e.ExpiresAt != nil && e.ExpiresAt.Micros() <= now.UnixMicro()
}

// Endpoints lists up to limit endpoints that are neither deleted nor expired,
// the newest first.
func (s *Store) Endpoints(ctx context.Context, now time.Time, limit int) ([]Endpoint, error) {
	rows, err := s.query(ctx, `SELECT `+endpointColumns+` FROM endpoint
		WHERE deleted_at IS NULL AND (expires_at IS NULL OR expires_at > $1) ORDER BY id DESC LIMIT $2`, now.UnixMicro(), limit)
	list, err := collect(rows, err, scanEndpoint)
	if err != nil {
		return nil, fmt.Errorf("list endpoints: %w", err)
	}
	return list, nil
}

// EndEndpoint deletes an endpoint and gives up what was due to it, for a reason.
// It reports whether the endpoint was there.
func (t *Tx) EndEndpoint(ctx context.Context, id, reason string, now time.Time) (bool, error) {
	n, err := t.exec(ctx, `UPDATE endpoint SET deleted_at = $1 WHERE id = $2 AND deleted_at IS NULL`, now.UnixMicro(), id)
	if err != nil {
		return false, fmt.Errorf("end endpoint %s: %w", id, err)
	}
	clear(t.group.endpoints)
	// Deliveries under a lease are on the wire: their attempt is recorded first.
	_, err = t.exec(ctx, `UPDATE delivery SET state = $1, last_error = $2, updated_at = $3
		WHERE endpoint = $4 AND state = 'due' AND lease_until IS NULL`, string(fieldmark.DeliveryFailed), reason, now.UnixMicro(), id)
	if err != nil {
		return false, fmt.Errorf("give up deliveries to endpoint %s: %w", id, err)
	}
	return n > 0, nil
}

// ExpiredEndpoints lists endpoints whose time is over but that were not ended.
func (s *Store) ExpiredEndpoints(ctx context.Context, now time.Time, limit int) ([]string, error) {
	rows, err := s.query(ctx, `SELECT id FROM endpoint WHERE deleted_at IS NULL AND expires_at <= $1 LIMIT $2`, now.UnixMicro(), limit)
	list, err := collect(rows, err, func(row scanner) (id string, err error) { return id, row.Scan(&id) })
	if err != nil {
		return nil, fmt.Errorf("list expired endpoints: %w", err)
	}
	return list, nil
}

// AddDelivery makes an event due to an endpoint at once.
func (t *Tx) AddDelivery(ctx context.Context, id, endpoint string, event int64, at time.Time) error {
	_, err := t.exec(ctx, `INSERT INTO delivery (id, endpoint, event, state, attempts, due_at, last_status, last_error, created_at, updated_at)
		VALUES ($1, $2, $3, $4, 0, $5, 0, '', $5, $5)`, id, endpoint, event, string(fieldmark.DeliveryDue), at.UnixMicro())
	if err != nil {
		return fmt.Errorf("add delivery %s: %w", id, err)
	}
	t.touched[TopicDeliveries] = true
	return nil
}

// Deliveries lists up to limit deliveries, the newest first.
func (s *Store) Deliveries(ctx context.Context, limit int) ([]fieldmark.Delivery, error) {
	rows, err := s.query(ctx, `SELECT d.id, e.id, e.type, d.endpoint, d.state, d.attempts, d.due_at, d.last_status, d.last_error,
		d.created_at, d.updated_at FROM delivery d JOIN event e ON e.number = d.event ORDER BY d.id DESC LIMIT $1`, limit)
	list, err := collect(rows, err, func(row scanner) (d fieldmark.Delivery, err error) {
		return d, row.Scan(&d.ID, &d.EventID, &d.EventType, &d.EndpointID, &d.State, &d.Attempts, instant{&d.DueAt}, &d.LastStatus,
			&d.LastError, instant{&d.CreatedAt}, instant{&d.UpdatedAt})
	})
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	return list, nil
}

// Job is a claimed delivery with all that sending it takes.
type Job struct {
	ID       string
	Endpoint string
	Attempts int // made before this one
	URL      string
	Secret   string // encrypted
	Envelope fieldmark.Envelope
}

// ClaimDeliveries takes up to limit due deliveries for owner until the lease ends. Of each
// endpoint only the first perEndpoint due rows are looked at, those under a
// lease among them, which caps what is on the wire to it and keeps the question
// cheap however much is due.
func (t *Tx) ClaimDeliveries(ctx context.Context, owner string, now, lease time.Time, perEndpoint, limit int) ([]Job, error) {
	rows, err := t.query(ctx, `UPDATE delivery SET lease_until = $1, lease_owner = $5 WHERE state = 'due' AND (lease_until IS NULL OR lease_until <= $2)
		AND id IN (SELECT d.id FROM endpoint e CROSS JOIN `+t.group.dialect.firstDue+`
			AND e.deleted_at IS NULL AND (e.expires_at IS NULL OR e.expires_at > $2)
			AND (d.lease_until IS NULL OR d.lease_until <= $2) ORDER BY d.due_at, d.id LIMIT $4)
		RETURNING id`, lease.UnixMicro(), now.UnixMicro(), perEndpoint, limit, owner)
	ids, err := collect(rows, err, func(row scanner) (id string, err error) { return id, row.Scan(&id) })
	if err != nil {
		return nil, fmt.Errorf("claim deliveries: %w", err)
	}
	jobs := make([]Job, len(ids))
	for i, id := range ids {
		if jobs[i], err = t.job(ctx, id); err != nil {
			return nil, err
		}
	}
	return jobs, nil
}

func (t *Tx) job(ctx context.Context, id string) (Job, error) {
	j := Job{ID: id}
	var data string
	err := t.queryRow(ctx, `SELECT d.endpoint, d.attempts, p.url, p.secret, e.id, e.type, e.at, e.data FROM delivery d
		JOIN endpoint p ON p.id = d.endpoint JOIN event e ON e.number = d.event WHERE d.id = $1`, id).
		Scan(&j.Endpoint, &j.Attempts, &j.URL, &j.Secret, &j.Envelope.ID, &j.Envelope.Type, instant{&j.Envelope.Timestamp}, &data)
	if err != nil {
		return Job{}, fmt.Errorf("read delivery %s: %w", id, none(err))
	}
	j.Envelope.Data = []byte(data)
	return j, nil
}

// Attempt is one try to deliver and what follows from it.
type Attempt struct {
	Delivery string
	Owner    string // who claimed it
	Number   int    // 1 and up
	At       time.Time
	Took     time.Duration
	Status   int    // HTTP; 0 when no answer came
	Error    string // empty on success
	Body     string // the beginning of the answer
	State    fieldmark.DeliveryState
	DueAt    time.Time // of the next try, while State is due
}

// RecordAttempt writes an attempt, the delivery's new state and its next due
// time. It is idempotent on delivery and number. Of a worker that lost its lease
// only a success is taken down: the worker that holds the lease now is at the
// same attempt, and what became of that is to be known.
func (t *Tx) RecordAttempt(ctx context.Context, a Attempt) error {
	fail := func(err error) error {
		return fmt.Errorf("record attempt %d of delivery %s: %w", a.Number, a.Delivery, err)
	}
	if a.State != fieldmark.DeliveryDone {
		var owner string
		err := t.queryRow(ctx, `SELECT COALESCE(lease_owner, '') FROM delivery WHERE id = $1`, a.Delivery).Scan(&owner)
		if err != nil {
			return fail(none(err))
		}
		if owner != "" && owner != a.Owner {
			return nil
		}
	}
	n, err := t.exec(ctx, `INSERT INTO attempt (delivery, number, at, millis, status, error, body) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (delivery, number) DO NOTHING`,
		a.Delivery, a.Number, a.At.UnixMicro(), a.Took.Milliseconds(), a.Status, a.Error, a.Body)
	if err != nil {
		return fail(err)
	}
	if n == 0 {
		return nil
	}
	_, err = t.exec(ctx, `UPDATE delivery SET state = $1, attempts = $2, due_at = $3, lease_until = NULL, lease_owner = NULL,
		last_status = $4, last_error = $5, updated_at = $6 WHERE id = $7`,
		string(a.State), a.Number, a.DueAt.UnixMicro(), a.Status, a.Error, a.At.Add(a.Took).UnixMicro(), a.Delivery)
	if err != nil {
		return fail(err)
	}
	// What was due to an endpoint that ended during the attempt ends with it.
	_, err = t.exec(ctx, `UPDATE delivery SET state = $1 WHERE id = $2 AND state = 'due'
		AND endpoint IN (SELECT p.id FROM endpoint p WHERE p.deleted_at IS NOT NULL)`, string(fieldmark.DeliveryFailed), a.Delivery)
	if err != nil {
		return fail(err)
	}
	return nil
}

// GiveUpEnded gives up deliveries to endpoints that ended while a worker held
// them who then died, for a reason.
func (t *Tx) GiveUpEnded(ctx context.Context, now time.Time, reason string) error {
	_, err := t.exec(ctx, `UPDATE delivery SET state = $1, last_error = $2, lease_until = NULL, lease_owner = NULL
		WHERE state = 'due' AND (lease_until IS NULL OR lease_until <= $3)
		AND endpoint IN (SELECT p.id FROM endpoint p WHERE p.deleted_at IS NOT NULL)`,
		string(fieldmark.DeliveryFailed), reason, now.UnixMicro())
	if err != nil {
		return fmt.Errorf("give up deliveries to ended endpoints: %w", err)
	}
	return nil
}
