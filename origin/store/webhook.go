package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store/commit"
)

// Webhook endpoints, replays, and links to the portal.

// WebhookReader reads webhook endpoints, deliveries and replays.
type WebhookReader struct{ querier }

// WebhookTx writes webhook endpoints, deliveries and replays, in a transaction.
type WebhookTx struct {
	WebhookReader
	*tx
}

// DueEndpoint is an endpoint that may have due deliveries.
type DueEndpoint struct {
	Endpoint
	InFlight int // deliveries under a lease
	// ClockOffset is the time of the endpoint's test world less the real time.
	ClockOffset time.Duration
	Err         error // why the row cannot be decoded; then only ID is valid
}

// DueEndpoints lists up to limit endpoints whose scheduled time has come, the
// longest overdue first: live ones or, with worlds, those of test worlds. A row
// that cannot be decoded is in the list with its error, so that it does not block the others.
// They are those of some shares.
func (t WebhookTx) DueEndpoints(ctx context.Context, now time.Time, limit int, worlds bool,
	of Shares) ([]DueEndpoint, error) {
	question := dueLiveEndpoints(of)
	if worlds {
		question = dueWorldEndpoints + of.condition() + byWake
	}
	return dueEndpoints(ctx, t, question, now.UnixMicro(), limit)
}

func dueLiveEndpoints(of Shares) string {
	return of.first(endpointColumns+`, 0, (SELECT COUNT(*) FROM delivery d
		WHERE d.endpoint = endpoint.id AND d.lease_owner IS NOT NULL)`, `endpoint`,
		`wake_at <= $1 AND deleted_at IS NULL AND world = ''`, `wake_at, id`, `$2`)
}

const byWake = ` ORDER BY wake_at, id LIMIT $2`

// DueEndpointsOf is DueEndpoints for the test world of an account whose clock advances.
func (t WebhookTx) DueEndpointsOf(ctx context.Context, account string, now time.Time, limit int) ([]DueEndpoint,
	error) {
	question := strings.Replace(dueWorldEndpoints, standing, `a.id = $3`, 1) + byWake
	return dueEndpoints(ctx, t, question, now.UnixMicro(), limit, account)
}

func dueEndpoints(ctx context.Context, t WebhookTx, question string, args ...any) ([]DueEndpoint, error) {
	rows, err := t.query(ctx, question, args...)
	list, err := collect(rows, err, func(row scanner) (r DueEndpoint, err error) {
		var offset int64
		defer func() { r.ClockOffset = time.Duration(offset) * time.Microsecond }()
		if r.Endpoint, err = scanEndpointWith(row, &offset, &r.InFlight); err != nil && r.ID != "" {
			return DueEndpoint{Endpoint: Endpoint{Endpoint: fieldmark.Endpoint{ID: r.ID}}, Err: err}, nil
		}
		return r, err
	})
	if err != nil {
		return nil, fmt.Errorf("list ready endpoints: %w", err)
	}
	return list, nil
}

// worldEndpoints are the endpoints of test worlds whose scheduled time has come, which is in the
// time of the world.
const worldEndpoints = `(SELECT a.id AS of_world, a.clock_offset AS offset_of FROM account a
	WHERE ` + standing + `) AS w CROSS JOIN endpoint
	WHERE world = of_world AND world <> '' AND wake_at <= $1 + offset_of AND deleted_at IS NULL`

const dueWorldEndpoints = `SELECT ` + endpointColumns + `, offset_of, (SELECT COUNT(*) FROM delivery d
	WHERE d.endpoint = endpoint.id AND d.lease_owner IS NOT NULL)
	FROM ` + worldEndpoints

// PutEndpointSchedule stores when the dispatcher must check an endpoint again,
// and until when its rate limit is used up.
func (t WebhookTx) PutEndpointSchedule(ctx context.Context, endpoint string, wake, rate time.Time) error {
	if err := t.queueExec(ctx, `UPDATE endpoint SET wake_at = $1, rate_at = $2 WHERE id = $3`, exactMicros(wake),
		exactMicros(rate), endpoint); err != nil {
		return fmt.Errorf("schedule endpoint %s: %w", endpoint, err)
	}
	clear(t.state.endpoints)
	return nil
}

// ScheduleEndpoints schedules every endpoint that has due deliveries and is not
// scheduled: after a crash, and after an older program wrote.
func (t WebhookTx) ScheduleEndpoints(ctx context.Context) error {
	n, err := t.exec(ctx, `UPDATE endpoint SET wake_at = 0 WHERE wake_at IS NULL AND state = 'enabled'
		AND deleted_at IS NULL
		AND EXISTS (SELECT 1 FROM delivery d WHERE d.endpoint = endpoint.id AND d.state = 'due'
			AND d.lease_owner IS NULL)`)
	if err != nil {
		return fmt.Errorf("schedule endpoints: %w", err)
	}
	if n > 0 {
		t.touched[TopicDeliveries], t.touched[TopicTestDeliveries] = true, true
		clear(t.state.endpoints)
	}
	return nil
}

// Replay is a replay and its progress.
type Replay struct {
	fieldmark.Replay
	LastDelivery string // the last delivery processed
	LastEvent    int64  // the last event processed
}

const replayColumns = `id, endpoint, request, state, at_delivery, at_event, looked, queued, created_at, updated_at`

func scanReplay(row scanner) (r Replay, err error) {
	err = row.Scan(&r.ID, &r.EndpointID, jsonCol{&r.ReplayRequest}, &r.State, &r.LastDelivery, &r.LastEvent,
		&r.Looked, &r.Queued,
		timeCol{&r.CreatedAt}, timeCol{&r.UpdatedAt})
	return r, queryErr(err)
}

// AddReplay adds a replay.
func (t WebhookTx) AddReplay(ctx context.Context, r *Replay) error {
	request, err := jsonText(r.ReplayRequest)
	if err != nil {
		return fmt.Errorf("write replay %s: %w", r.ID, err)
	}
	_, err = t.exec(ctx, `INSERT INTO replay (`+replayColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		r.ID, r.EndpointID, request, string(r.State), r.LastDelivery, r.LastEvent, r.Looked, r.Queued,
		r.CreatedAt.Micros(), r.UpdatedAt.Micros())
	if err != nil {
		return fmt.Errorf("add replay %s: %w", r.ID, err)
	}
	t.touched[TopicReplays] = true
	return nil
}

// PutReplay stores the progress of a replay.
func (t WebhookTx) PutReplay(ctx context.Context, r *Replay) error {
	_, err := t.exec(ctx, `UPDATE replay SET state = $1, at_delivery = $2, at_event = $3, looked = $4, queued = $5,
		updated_at = $6 WHERE id = $7`,
		string(r.State), r.LastDelivery, r.LastEvent, r.Looked, r.Queued, r.UpdatedAt.Micros(), r.ID)
	if err != nil {
		return fmt.Errorf("write replay %s: %w", r.ID, err)
	}
	return nil
}

// Replays lists the replays of an endpoint, the newest first.
func (db WebhookReader) Replays(ctx context.Context, endpoint string, limit int) ([]Replay, error) {
	rows, err := db.query(ctx, `SELECT `+replayColumns+` FROM replay WHERE endpoint = $1 ORDER BY id DESC LIMIT $2`,
		endpoint, limit)
	list, err := collect(rows, err, scanReplay)
	if err != nil {
		return nil, fmt.Errorf("list the replays of endpoint %s: %w", endpoint, err)
	}
	return list, nil
}

// RunningReplays lists running replays: the oldest of each account, then the second of each, so that an account with
// many long ones does not keep those of others from running.
func (db WebhookReader) RunningReplays(ctx context.Context, limit int) ([]Replay, error) {
	rows, err := db.query(ctx, `SELECT `+replayColumns+` FROM (SELECT r.*,
			ROW_NUMBER() OVER (PARTITION BY e.account ORDER BY r.id) AS turn
			FROM replay r JOIN endpoint e ON e.id = r.endpoint WHERE r.state = 'running') AS running
		ORDER BY turn, id LIMIT $1`, limit)
	list, err := collect(rows, err, scanReplay)
	if err != nil {
		return nil, fmt.Errorf("list running replays: %w", err)
	}
	return list, nil
}

// RunningReplay reads a replay; the error is ErrNotFound if it is not running.
func (t WebhookTx) RunningReplay(ctx context.Context, id string) (Replay, error) {
	r, err := scanReplay(t.queryRow(ctx, `SELECT `+replayColumns+` FROM replay WHERE id = $1 AND state = 'running'`,
		id))
	if err != nil {
		return Replay{}, fmt.Errorf("read replay %s: %w", id, err)
	}
	return r, nil
}

// Subscriber reads one endpoint; the error is ErrNotFound if it does not exist.
func (t WebhookTx) Subscriber(ctx context.Context, id string) (Subscriber, error) {
	s, err := scanSubscriber(t.queryRow(ctx, `SELECT `+subscriberColumns+` FROM endpoint
		WHERE id = $1 AND deleted_at IS NULL`, id))
	if err != nil {
		return Subscriber{}, fmt.Errorf("read endpoint %s: %w", id, queryErr(err))
	}
	return s, nil
}

// Endpoint is a webhook endpoint with the columns that are not part of its JSON.
type Endpoint struct {
	fieldmark.Endpoint                  // with settings without secrets
	Secret             string           // encrypted
	PreviousSecrets    []PreviousSecret // from before rotations that still sign, the newest first
	Credentials        string           // encrypted values of headers and authentication; empty without any
	Health             string           // JSON of its health
	ChangedAt          time.Time        // when anything but its health and its schedule changed
	EndpointSchedule
}

// EndpointSchedule contains the times from which an endpoint may receive deliveries.
type EndpointSchedule struct {
	OpenUntil time.Time // until when its circuit is open; zero if it is closed
	RateAt    time.Time // until when its rate limit is used up
	WakeAt    time.Time // when the dispatcher must check it; zero if nothing is due
}

// PreviousSecret is a secret from before a rotation that still signs until a
// time.
type PreviousSecret struct {
	Secret string         `json:"secret"` // encrypted
	Until  fieldmark.Time `json:"until"`
}

const endpointColumns = `id, account, url, events, description, secret, created_at, expires_at, settings, credentials,
	old_secrets, public_key,
	state, state_reason, state_at, changed_at, health, open_until, rate_at, wake_at`

func scanEndpoint(row scanner) (Endpoint, error) { return scanEndpointWith(row) }

func scanEndpointWith(row scanner, more ...any) (e Endpoint, err error) {
	err = row.Scan(append([]any{&e.ID, &e.Account, &e.URL, jsonCol{&e.Events}, &e.Description, &e.Secret,
		timeCol{&e.CreatedAt}, nullTime{&e.ExpiresAt},
		jsonCol{&e.EndpointSettings}, &e.Credentials, jsonCol{&e.PreviousSecrets}, &e.PublicKey,
		&e.State, &e.StateReason, nullTime{&e.StateAt}, exactTime{&e.ChangedAt}, &e.Health, exactTime{&e.OpenUntil},
		exactTime{&e.RateAt}, exactTime{&e.WakeAt}}, more...)...)
	return e, queryErr(err)
}

// AddEndpoint adds an endpoint.
func (t WebhookTx) AddEndpoint(ctx context.Context, e *Endpoint) error {
	if _, err := t.exec(ctx, `INSERT INTO endpoint (id, account, url, events, description, secret, created_at,
		expires_at, wake_at, world, share)
		VALUES ($1, $2, $3, '[]', '', '', $4, $5, NULL, $6, $7)`,
		e.ID, e.Account, e.URL, e.CreatedAt.Micros(), nullMicros(e.ExpiresAt), fieldmark.World(e.Account),
		ShareOf(e.ID)); err != nil {
		return fmt.Errorf("add endpoint %s: %w", e.ID, err)
	}
	return t.PutEndpoint(ctx, e)
}

// PutEndpoint stores the settings, secrets and state of an endpoint and
// schedules it at once.
func (t WebhookTx) PutEndpoint(ctx context.Context, e *Endpoint) error {
	events, err := jsonText(e.Events)
	if err != nil {
		return fmt.Errorf("encode the events of endpoint %s: %w", e.ID, err)
	}
	settings, err := jsonText(e.EndpointSettings)
	if err != nil {
		return fmt.Errorf("write the settings of endpoint %s: %w", e.ID, err)
	}
	old, err := jsonText(e.PreviousSecrets)
	if err != nil {
		return fmt.Errorf("write the secrets of endpoint %s: %w", e.ID, err)
	}
	var filter string
	if e.Filter != nil {
		if filter, err = labelsText(e.Filter.Labels); err != nil {
			return fmt.Errorf("write the filter of endpoint %s: %w", e.ID, err)
		}
	}
	_, err = t.exec(ctx, `UPDATE endpoint SET url = $1, events = $2, description = $3, secret = $4, settings = $5,
		credentials = $6, old_secrets = $7,
		public_key = $8, ordered = $9, state = $10, state_reason = $11, state_at = $12, changed_at = $13, wake_at = 0,
		customer = $15, filter = $16
			WHERE id = $14`,
		e.URL, events, e.Description, e.Secret, settings, e.Credentials, old, e.PublicKey,
		boolInt(e.Ordering == fieldmark.OrderingMission),
		string(e.State), e.StateReason, nullMicros(e.StateAt), exactMicros(e.ChangedAt), e.ID, e.Customer, filter)
	if err != nil {
		return fmt.Errorf("put endpoint %s: %w", e.ID, err)
	}
	clear(t.state.endpoints)
	t.touched[deliveryTopic(e.Account)] = true
	return nil
}

// PutEndpointHealth stores the health of an endpoint; since is when it began to
// fail, zero if it does not, and until is how long its circuit is open.
func (t WebhookTx) PutEndpointHealth(ctx context.Context, id, health string, since, until time.Time) error {
	err := t.queueExec(ctx, `UPDATE endpoint SET health = $1, failing_since = $2, open_until = $3 WHERE id = $4`,
		health, exactMicros(since), exactMicros(until), id)
	if err != nil {
		return fmt.Errorf("put the health of endpoint %s: %w", id, err)
	}
	clear(t.state.endpoints)
	return nil
}

// Endpoint reads an endpoint that is neither deleted nor expired; the error is
// ErrNotFound if it does not exist.
func (db WebhookReader) Endpoint(ctx context.Context, id string, now time.Time) (Endpoint, error) {
	e, err := scanEndpoint(db.queryRow(ctx, `SELECT `+endpointColumns+` FROM endpoint
		WHERE id = $1 AND deleted_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`, id, now.UnixMicro()))
	if err != nil {
		return Endpoint{}, fmt.Errorf("read endpoint %s: %w", id, err)
	}
	return e, nil
}

// Subscriber is the part of an endpoint that emitting an event needs.
type Subscriber struct {
	ID       string
	Events   []string
	Ordered  bool
	Enabled  bool
	Customer string
	Filter   *fieldmark.EndpointFilter // nil: none
	EndpointSchedule
	account   string
	expiresAt *fieldmark.Time
}

// Subscribes reports whether the endpoint subscribes to events of a type about a mission with labels.
// Events of no mission have no labels.
func (s *Subscriber) Subscribes(e fieldmark.EventType, labels map[string]string) bool {
	return s.Filter.Matches(labels) &&
		slices.ContainsFunc(s.Events, func(p string) bool { return fieldmark.MatchEvent(p, e) })
}

func scanSubscriber(row scanner) (s Subscriber, err error) {
	var state fieldmark.EndpointState
	var labels map[string]string
	err = row.Scan(&s.account, &s.ID, jsonCol{&s.Events}, &s.Ordered, &state, exactTime{&s.OpenUntil},
		exactTime{&s.WakeAt}, nullTime{&s.expiresAt}, &s.Customer, labelsCol{&labels})
	s.Enabled = state == fieldmark.EndpointEnabled
	if labels != nil {
		s.Filter = &fieldmark.EndpointFilter{Labels: labels}
	}
	return s, err
}

const subscriberColumns = `account, id, events, ordered = 1, state, open_until, wake_at, expires_at, customer, filter`

const subscribersOf = `SELECT ` + subscriberColumns + ` FROM endpoint WHERE deleted_at IS NULL AND account`

// prefetchEndpoints reads the endpoints of accounts.
func (state *txState) prefetchEndpoints(accounts map[string]bool) commit.Query {
	names := slices.Collect(maps.Keys(accounts))
	for _, account := range names {
		state.endpoints[account] = []Subscriber{}
	}
	return commit.Query{Text: subscribersOf + ` = ANY($1)`, Args: []any{names}, Scan: func(row commit.Scanner) error {
		s, err := scanSubscriber(row)
		if err == nil {
			state.endpoints[s.account] = append(state.endpoints[s.account], s)
		}
		return err
	}}
}

// Subscribers lists the endpoints of an account that are neither deleted nor expired.
// Every event needs them. During a transaction only its own statements change them, so
// all its writes share one result. Callers must not modify it.
func (t WebhookTx) Subscribers(ctx context.Context, account string, now time.Time) ([]Subscriber, error) {
	list, known := t.state.endpoints[account]
	if !known {
		rows, err := t.query(ctx, subscribersOf+` = $1`, account)
		if list, err = collect(rows, err, scanSubscriber); err != nil {
			return nil, fmt.Errorf("list the endpoints of %s: %w", account, err)
		}
		t.state.endpoints[account] = list
	}
	expired := func(s Subscriber) bool { return s.expiresAt != nil && s.expiresAt.Micros() <= now.UnixMicro() }
	if slices.ContainsFunc(list, expired) { // rare: expired endpoints are deleted within a second
		return slices.DeleteFunc(slices.Clone(list), expired), nil
	}
	return list, nil
}

// scheduleDelivery schedules the endpoint of a delivery that became due, at once
// or when its circuit closes, unless it is scheduled for earlier.
func (t WebhookTx) scheduleDelivery(ctx context.Context, s *Subscriber, now time.Time) error {
	if s.OpenUntil.After(now) {
		now = s.OpenUntil
	}
	if !s.Enabled || !s.WakeAt.IsZero() && !s.WakeAt.After(now) {
		return nil
	}
	if err := t.ScheduleEndpoint(ctx, s.ID, now); err != nil {
		return err
	}
	for _, list := range t.state.endpoints {
		for i := range list {
			if list[i].ID == s.ID {
				list[i].WakeAt = now
			}
		}
	}
	return nil
}

// ScheduleEndpoint schedules an endpoint for the dispatcher at a time. An earlier
// schedule remains.
func (t WebhookTx) ScheduleEndpoint(ctx context.Context, id string, by time.Time) error {
	err := t.queueExec(ctx, `UPDATE endpoint SET wake_at = $1 WHERE id = $2 AND (wake_at IS NULL OR wake_at > $1)`,
		by.UnixMicro(), id)
	if err != nil {
		return fmt.Errorf("schedule endpoint %s: %w", id, err)
	}
	return nil
}

// Endpoints lists up to limit endpoints that are neither deleted nor expired,
// the newest first; account "" means all live ones or, with worlds, those of test worlds.
func (db WebhookReader) Endpoints(ctx context.Context, account string, worlds bool, now time.Time,
	limit int) ([]Endpoint, error) {
	of := `account = $3`
	switch {
	case account == "" && worlds:
		of = `world <> '' AND $3 = ''` // without a parameter, as in the index
	case account == "":
		of = `world = '' AND $3 = ''`
	}
	rows, err := db.query(ctx, `SELECT `+endpointColumns+` FROM endpoint
		WHERE deleted_at IS NULL AND (expires_at IS NULL OR expires_at > $1) AND `+of+`
			ORDER BY id DESC LIMIT $2`,
		now.UnixMicro(), limit, account)
	list, err := collect(rows, err, scanEndpoint)
	if err != nil {
		return nil, fmt.Errorf("list endpoints: %w", err)
	}
	return list, nil
}

// FailingEndpoints lists enabled endpoints that have failed since a time.
func (db WebhookReader) FailingEndpoints(ctx context.Context, since time.Time, limit int) ([]string, error) {
	rows, err := db.query(ctx, `SELECT id FROM endpoint WHERE failing_since IS NOT NULL AND failing_since <= $1
		AND state = 'enabled' AND deleted_at IS NULL ORDER BY failing_since LIMIT $2`, since.UnixMicro(), limit)
	list, err := collect(rows, err, scanText)
	if err != nil {
		return nil, fmt.Errorf("list failing endpoints: %w", err)
	}
	return list, nil
}

// DeleteEndpoint deletes an endpoint, and fails its pending deliveries with a
// reason. It reports whether the endpoint existed.
func (t WebhookTx) DeleteEndpoint(ctx context.Context, id, reason string, now time.Time) (bool, error) {
	n, err := t.exec(ctx, `UPDATE endpoint SET deleted_at = $1, wake_at = NULL WHERE id = $2 AND deleted_at IS NULL`,
		now.UnixMicro(), id)
	if err != nil {
		return false, fmt.Errorf("delete endpoint %s: %w", id, err)
	}
	clear(t.state.endpoints)
	// Deliveries under a lease are being sent: their attempt is recorded first.
	_, err = t.exec(ctx, `UPDATE delivery SET state = 'failed', last_error = $1, updated_at = $2
		WHERE endpoint = $3 AND state IN ('due', 'waiting') AND lease_owner IS NULL`, reason, now.UnixMicro(), id)
	if err == nil {
		_, err = t.exec(ctx, `UPDATE replay SET state = 'done', updated_at = $1 WHERE endpoint = $2
			AND state = 'running'`, now.UnixMicro(), id)
	}
	if err == nil {
		_, err = t.exec(ctx, `DELETE FROM watch WHERE endpoint = $1`, id)
	}
	if err != nil {
		return false, fmt.Errorf("fail deliveries to endpoint %s: %w", id, err)
	}
	return n > 0, nil
}

// ExpiredEndpoints lists endpoints that have expired and are not deleted yet.
func (db WebhookReader) ExpiredEndpoints(ctx context.Context, now time.Time, limit int) ([]string, error) {
	rows, err := db.query(ctx, `SELECT id FROM endpoint WHERE deleted_at IS NULL AND expires_at <= $1 LIMIT $2`,
		now.UnixMicro(), limit)
	list, err := collect(rows, err, scanText)
	if err != nil {
		return nil, fmt.Errorf("list expired endpoints: %w", err)
	}
	return list, nil
}

// PortalLink is a link to webhook pages, and the session that it began.
type PortalLink struct {
	ID, Account, KeyID string
	Hash               string // of the token
	fieldmark.PortalLinkRequest
	CreatedAt, ExpiresAt fieldmark.Time
	SpentAt              *fieldmark.Time // when its session began; nil before
}

const portalColumns = `id, account, key_id, hash, customer, endpoints, labels, read_only, return_url, created_at,
	expires_at, session_at`

func scanPortalLink(row scanner) (l PortalLink, err error) {
	var labels map[string]string
	var readOnly int
	err = row.Scan(&l.ID, &l.Account, &l.KeyID, &l.Hash, &l.Customer, jsonCol{&l.Endpoints}, labelsCol{&labels},
		&readOnly, &l.ReturnURL, timeCol{&l.CreatedAt}, timeCol{&l.ExpiresAt}, nullTime{&l.SpentAt})
	l.ReadOnly = readOnly == 1
	if labels != nil {
		l.Filter = &fieldmark.EndpointFilter{Labels: labels}
	}
	return l, queryErr(err)
}

// PortalLink reads the link of a token by its hash; an unknown hash is ErrNotFound.
func (db WebhookReader) PortalLink(ctx context.Context, hash string) (PortalLink, error) {
	return scanPortalLink(db.queryRow(ctx, `SELECT `+portalColumns+` FROM portal_link WHERE hash = $1`, hash))
}

// PortalSession reads the link that began a session after a time, by the hash of its cookie.
func (db WebhookReader) PortalSession(ctx context.Context, hash string, after time.Time) (PortalLink, error) {
	return scanPortalLink(db.queryRow(ctx, `SELECT `+portalColumns+` FROM portal_link WHERE session = $1
		AND session_at > $2`, hash, after.UnixMicro()))
}

// AddPortalLink adds a link, and deletes those that were created before a time.
func (t WebhookTx) AddPortalLink(ctx context.Context, l *PortalLink, before time.Time) error {
	endpoints, err := jsonText(l.Endpoints)
	if err != nil {
		return fmt.Errorf("write a portal link: %w", err)
	}
	var labels string
	if l.Filter != nil {
		if labels, err = labelsText(l.Filter.Labels); err != nil {
			return fmt.Errorf("write a portal link: %w", err)
		}
	}
	if _, err = t.exec(ctx, `DELETE FROM portal_link WHERE created_at < $1`, before.UnixMicro()); err == nil {
		_, err = t.exec(ctx, `INSERT INTO portal_link (id, account, key_id, hash, customer, endpoints, labels,
			read_only, return_url, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
			l.ID, l.Account, l.KeyID, l.Hash, l.Customer, endpoints, labels, boolInt(l.ReadOnly), l.ReturnURL,
			l.CreatedAt.Micros(), l.ExpiresAt.Micros())
	}
	if err != nil {
		return fmt.Errorf("add a portal link: %w", err)
	}
	return nil
}

// CountPortalLinks counts the links of an account that have not ended at a time.
func (t WebhookTx) CountPortalLinks(ctx context.Context, account string, now time.Time) (n int, err error) {
	err = t.queryRow(ctx, `SELECT COUNT(*) FROM portal_link WHERE account = $1 AND expires_at > $2`, account,
		now.UnixMicro()).Scan(&n)
	return n, queryErr(err)
}

// SpendPortalLink begins the session of a link. It reports whether the link was not spent before.
func (t WebhookTx) SpendPortalLink(ctx context.Context, hash, session string, now time.Time) (bool, error) {
	n, err := t.exec(ctx, `UPDATE portal_link SET session = $1, session_at = $2 WHERE hash = $3 AND session_at IS NULL`,
		session, now.UnixMicro(), hash)
	if err != nil {
		return false, fmt.Errorf("spend a portal link: %w", err)
	}
	return n > 0, nil
}

// EndPortalSession ends a session; the link stays spent.
func (t WebhookTx) EndPortalSession(ctx context.Context, session string) error {
	if _, err := t.exec(ctx, `UPDATE portal_link SET session = NULL WHERE session = $1`, session); err != nil {
		return fmt.Errorf("end a session of a portal link: %w", err)
	}
	return nil
}
