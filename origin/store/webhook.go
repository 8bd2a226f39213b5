package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fieldmark/fieldmark"
)

// Endpoint is an address that gets webhooks, with all that is kept about it.
type Endpoint struct {
	fieldmark.Endpoint             // with settings as they may be shown
	Secret             string      // encrypted
	OldSecrets         []OldSecret // from before rotations, the newest first
	Credentials        string      // encrypted: values of headers and secrets of auth; empty where there are none
	Health             string      // JSON of how it has been doing
	Changed            time.Time   // when anything but its health and its clocks changed
	EndpointClock
}

// EndpointClock says when an endpoint may be sent something.
type EndpointClock struct {
	OpenUntil time.Time // its circuit is open until then; zero: closed
	RateAt    time.Time // up to when its rate is used
	WakeAt    time.Time // when there may be something to send; zero: not by itself
}

// OldSecret is a secret that signs too until a time.
type OldSecret struct {
	Secret string         `json:"secret"` // encrypted
	Until  fieldmark.Time `json:"until"`
}

const endpointColumns = `id, account, url, events, description, secret, created_at, expires_at, settings, credentials, old_secrets, public_key,
	state, state_reason, state_at, changed_at, health, open_until, rate_at, wake_at`

func scanEndpoint(row scanner) (Endpoint, error) { return scanEndpointWith(row) }

func scanEndpointWith(row scanner, more ...any) (e Endpoint, err error) {
	err = row.Scan(append([]any{&e.ID, &e.Account, &e.URL, document{&e.Events}, &e.Description, &e.Secret, instant{&e.CreatedAt}, maybe{&e.ExpiresAt},
		document{&e.EndpointSettings}, &e.Credentials, document{&e.OldSecrets}, &e.PublicKey,
		&e.State, &e.StateReason, maybe{&e.StateAt}, clock{&e.Changed}, &e.Health, clock{&e.OpenUntil}, clock{&e.RateAt}, clock{&e.WakeAt}}, more...)...)
	return e, none(err)
}

// AddEndpoint adds an endpoint.
func (t *Tx) AddEndpoint(ctx context.Context, e *Endpoint) error {
	if _, err := t.exec(ctx, `INSERT INTO endpoint (id, account, url, events, description, secret, created_at, expires_at, wake_at)
		VALUES ($1, $2, $3, '[]', '', '', $4, $5, NULL)`,
		e.ID, e.Account, e.URL, e.CreatedAt.Micros(), micros(e.ExpiresAt)); err != nil {
		return fmt.Errorf("add endpoint %s: %w", e.ID, err)
	}
	return t.PutEndpoint(ctx, e)
}

// PutEndpoint writes what an endpoint wants, how it is known and its state, and
// has it looked at.
func (t *Tx) PutEndpoint(ctx context.Context, e *Endpoint) error {
	events, err := text(e.Events)
	if err != nil {
		return fmt.Errorf("write the events of endpoint %s: %w", e.ID, err)
	}
	settings, err := text(e.EndpointSettings)
	if err != nil {
		return fmt.Errorf("write the settings of endpoint %s: %w", e.ID, err)
	}
	old, err := text(e.OldSecrets)
	if err != nil {
		return fmt.Errorf("write the secrets of endpoint %s: %w", e.ID, err)
	}
	_, err = t.exec(ctx, `UPDATE endpoint SET url = $1, events = $2, description = $3, secret = $4, settings = $5, credentials = $6, old_secrets = $7,
		public_key = $8, ordered = $9, state = $10, state_reason = $11, state_at = $12, changed_at = $13, wake_at = 0 WHERE id = $14`,
		e.URL, events, e.Description, e.Secret, settings, e.Credentials, old, e.PublicKey, bit(e.Ordering == fieldmark.OrderingMission),
		string(e.State), e.StateReason, micros(e.StateAt), moment(e.Changed), e.ID)
	if err != nil {
		return fmt.Errorf("change endpoint %s: %w", e.ID, err)
	}
	clear(t.group.endpoints)
	t.touched[TopicDeliveries] = true
	return nil
}

// PutHealth writes how an endpoint has been doing; since is when it began to
// fail, zero when it does not, and until is how long its circuit is open.
func (t *Tx) PutHealth(ctx context.Context, id, health string, since, until time.Time) error {
	err := t.post(ctx, `UPDATE endpoint SET health = $1, failing_since = $2, open_until = $3 WHERE id = $4`, health, moment(since), moment(until), id)
	if err != nil {
		return fmt.Errorf("write the health of endpoint %s: %w", id, err)
	}
	clear(t.group.endpoints)
	return nil
}

// Endpoint reads an endpoint that is neither deleted nor expired; the error is
// ErrNone where there is none.
func (s *Store) Endpoint(ctx context.Context, id string, now time.Time) (Endpoint, error) {
	return endpoint(ctx, s, id, now)
}

// Endpoint is Store.Endpoint inside a transaction.
func (t *Tx) Endpoint(ctx context.Context, id string, now time.Time) (Endpoint, error) {
	return endpoint(ctx, t, id, now)
}

func endpoint(ctx context.Context, from asker, id string, now time.Time) (Endpoint, error) {
	e, err := scanEndpoint(from.queryRow(ctx, `SELECT `+endpointColumns+` FROM endpoint
		WHERE id = $1 AND deleted_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`, id, now.UnixMicro()))
	if err != nil {
		return Endpoint{}, fmt.Errorf("read endpoint %s: %w", id, err)
	}
	return e, nil
}

// Subscriber is what telling of an event asks of an endpoint.
type Subscriber struct {
	ID      string
	Events  []string
	Ordered bool
	Enabled bool
	EndpointClock
	account   string
	expiresAt *fieldmark.Time
}

// Wants reports whether the endpoint subscribed to e.
func (s *Subscriber) Wants(e fieldmark.EventType) bool {
	return slices.ContainsFunc(s.Events, func(p string) bool { return fieldmark.MatchEvent(p, e) })
}

func scanSubscriber(row scanner) (s Subscriber, err error) {
	var state fieldmark.EndpointState
	err = row.Scan(&s.account, &s.ID, document{&s.Events}, &s.Ordered, &state, clock{&s.OpenUntil}, clock{&s.WakeAt}, maybe{&s.expiresAt})
	s.Enabled = state == fieldmark.EndpointEnabled
	return s, err
}

const subscribersOf = `SELECT account, id, events, ordered = 1, state, open_until, wake_at, expires_at FROM endpoint
	WHERE deleted_at IS NULL AND account`

// askEndpoints asks for what Subscribers will tell of accounts.
func (g *group) askEndpoints(accounts map[string]bool) question {
	names := slices.Collect(maps.Keys(accounts))
	for _, account := range names {
		g.endpoints[account] = []Subscriber{}
	}
	return question{subscribersOf + ` = ANY($1)`, []any{names}, func(row scanner) error {
		s, err := scanSubscriber(row)
		if err == nil {
			g.endpoints[s.account] = append(g.endpoints[s.account], s)
		}
		return err
	}}
}

// Subscribers lists the endpoints of an account that are neither deleted nor
// expired. Every event asks for them; within a transaction the answer changes by
// its own writes only, so members of a group share it. Callers must not change it.
func (t *Tx) Subscribers(ctx context.Context, account string, now time.Time) ([]Subscriber, error) {
	list, known := t.group.endpoints[account]
	if !known {
		rows, err := t.query(ctx, subscribersOf+` = $1`, account)
		if list, err = collect(rows, err, scanSubscriber); err != nil {
			return nil, fmt.Errorf("list the endpoints of %s: %w", account, err)
		}
		t.group.endpoints[account] = list
	}
	expired := func(s Subscriber) bool { return s.expiresAt != nil && s.expiresAt.Micros() <= now.UnixMicro() }
	if slices.ContainsFunc(list, expired) { // seldom: they are deleted within a second
		return slices.DeleteFunc(slices.Clone(list), expired), nil
	}
	return list, nil
}

// wake has an endpoint looked at, at once or when its circuit lets something
// through, if it is not to be looked at by then.
func (t *Tx) wake(ctx context.Context, s *Subscriber, now time.Time) error {
	if s.OpenUntil.After(now) {
		now = s.OpenUntil
	}
	if !s.Enabled || !s.WakeAt.IsZero() && !s.WakeAt.After(now) {
		return nil
	}
	if err := t.Wake(ctx, s.ID, now); err != nil {
		return err
	}
	for _, list := range t.group.endpoints {
		for i := range list {
			if list[i].ID == s.ID {
				list[i].WakeAt = now
			}
		}
	}
	return nil
}

// Wake has an endpoint looked at by a time.
func (t *Tx) Wake(ctx context.Context, id string, by time.Time) error {
	err := t.post(ctx, `UPDATE endpoint SET wake_at = $1 WHERE id = $2 AND (wake_at IS NULL OR wake_at > $1)`, by.UnixMicro(), id)
	if err != nil {
		return fmt.Errorf("wake endpoint %s: %w", id, err)
	}
	return nil
}

// Endpoints lists up to limit endpoints that are neither deleted nor expired,
// the newest first; account "" means any.
func (s *Store) Endpoints(ctx context.Context, account string, now time.Time, limit int) ([]Endpoint, error) {
	rows, err := s.query(ctx, `SELECT `+endpointColumns+` FROM endpoint
		WHERE deleted_at IS NULL AND (expires_at IS NULL OR expires_at > $1) AND ($3 = '' OR account = $3) ORDER BY id DESC LIMIT $2`,
		now.UnixMicro(), limit, account)
	list, err := collect(rows, err, scanEndpoint)
	if err != nil {
		return nil, fmt.Errorf("list endpoints: %w", err)
	}
	return list, nil
}

// FailingEndpoints lists enabled endpoints that took nothing since a time.
func (s *Store) FailingEndpoints(ctx context.Context, since time.Time, limit int) ([]string, error) {
	rows, err := s.query(ctx, `SELECT id FROM endpoint WHERE failing_since IS NOT NULL AND failing_since <= $1
		AND state = 'enabled' AND deleted_at IS NULL ORDER BY failing_since LIMIT $2`, since.UnixMicro(), limit)
	list, err := collect(rows, err, scanText)
	if err != nil {
		return nil, fmt.Errorf("list failing endpoints: %w", err)
	}
	return list, nil
}

func scanText(row scanner) (s string, err error) { return s, row.Scan(&s) }

// EndEndpoint deletes an endpoint and gives up what was due to it, for a reason.
// It reports whether the endpoint was there.
func (t *Tx) EndEndpoint(ctx context.Context, id, reason string, now time.Time) (bool, error) {
	n, err := t.exec(ctx, `UPDATE endpoint SET deleted_at = $1, wake_at = NULL WHERE id = $2 AND deleted_at IS NULL`, now.UnixMicro(), id)
	if err != nil {
		return false, fmt.Errorf("end endpoint %s: %w", id, err)
	}
	clear(t.group.endpoints)
	// Deliveries under a lease are on the wire: their attempt is recorded first.
	_, err = t.exec(ctx, `UPDATE delivery SET state = 'failed', last_error = $1, updated_at = $2
		WHERE endpoint = $3 AND state IN ('due', 'waiting') AND lease_owner IS NULL`, reason, now.UnixMicro(), id)
	if err == nil {
		_, err = t.exec(ctx, `UPDATE replay SET state = 'done', updated_at = $1 WHERE endpoint = $2 AND state = 'running'`, now.UnixMicro(), id)
	}
	if err != nil {
		return false, fmt.Errorf("give up deliveries to endpoint %s: %w", id, err)
	}
	return n > 0, nil
}

// ExpiredEndpoints lists endpoints whose time is over but that were not ended.
func (s *Store) ExpiredEndpoints(ctx context.Context, now time.Time, limit int) ([]string, error) {
	rows, err := s.query(ctx, `SELECT id FROM endpoint WHERE deleted_at IS NULL AND expires_at <= $1 LIMIT $2`, now.UnixMicro(), limit)
	list, err := collect(rows, err, scanText)
	if err != nil {
		return nil, fmt.Errorf("list expired endpoints: %w", err)
	}
	return list, nil
}
