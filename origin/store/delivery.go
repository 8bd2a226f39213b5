package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
)

// AddDelivery adds a delivery of an event to an endpoint: due at once or, if the
// endpoint is ordered, waiting for unfinished deliveries about the same topic.
func (t WebhookTx) AddDelivery(ctx context.Context, id string, to *Subscriber, event int64, topic string,
	at time.Time) error {
	fail := func(err error) error { return fmt.Errorf("add delivery %s: %w", id, err) }
	state := fieldmark.DeliveryDue
	if !to.Ordered {
		topic = ""
	} else if busy, err := t.hasUnfinished(ctx, to.ID, topic); err != nil {
		return fail(err)
	} else if busy {
		state = fieldmark.DeliveryWaiting
	}
	err := t.queueInsert(ctx, `INSERT INTO delivery (id, endpoint, event, state, attempts, due_at, last_status,
		last_error, created_at, updated_at, topic, world)
		VALUES ($1, $2, $3, $4, 0, $5, 0, '', $5, $5, $6, $7)`, id, to.ID, event, string(state), at.UnixMicro(),
		topic, fieldmark.World(to.account))
	if err != nil {
		return fail(err)
	}
	t.touched[deliveryTopic(to.account)] = true
	return t.scheduleDelivery(ctx, to, at)
}

// deliveryTopic returns the topic of deliveries to the endpoints of an account.
func deliveryTopic(account string) Topic {
	if fieldmark.IsTestAccount(account) {
		return TopicTestDeliveries
	}
	return TopicDeliveries
}

// hasUnfinished reports whether a delivery about a topic is still to be sent.
func (t WebhookTx) hasUnfinished(ctx context.Context, endpoint, topic string) (bool, error) {
	var n int
	err := t.queryRow(ctx, `SELECT COUNT(*) FROM delivery WHERE endpoint = $1 AND topic = $2 AND topic <> ''
		AND state IN ('due', 'waiting')`,
		endpoint, topic).Scan(&n)
	return n > 0, err
}

const shownState = `CASE WHEN d.state = 'due' AND d.lease_owner IS NULL
	AND (p.state <> 'enabled' OR COALESCE(p.open_until, 0) > $1) THEN 'held' ELSE d.state END`

// deliveryColumns derives the state held from the state of the endpoint and its
// circuit, as of $1.
const deliveryColumns = `d.id, e.id, e.number, e.type, d.endpoint, ` + shownState + `,
	d.attempts, d.due_at, d.last_status, d.last_error, d.created_at, d.updated_at
	FROM delivery d JOIN event e ON e.number = d.event JOIN endpoint p ON p.id = d.endpoint`

func scanDelivery(row scanner) (d fieldmark.Delivery, err error) {
	err = row.Scan(&d.ID, &d.EventID, &d.EventNumber, &d.EventType, &d.EndpointID, &d.State, &d.Attempts,
		timeCol{&d.DueAt}, &d.LastStatus,
		&d.LastError, timeCol{&d.CreatedAt}, timeCol{&d.UpdatedAt})
	return d, queryErr(err)
}

// DeliveryFilter selects deliveries; zero fields select all.
type DeliveryFilter struct {
	Endpoint string
	Worlds   bool                    // without Endpoint: those of test worlds, instead of all live ones
	State    fieldmark.DeliveryState // as stored: held is due
	Before   string                  // the id the previous page ended with
	Limit    int

	// No index supports these: a caller bounds what they read with From.
	Shown fieldmark.DeliveryState // as listed: held or due
	Type  string                  // of the event; a prefix ends with *
	From  string                  // the least id
}

// OldestDelivery returns the id of the delivery that a number of deliveries, those of the filter before
// Before, begins with; "" if there are fewer. Only Endpoint and Before of the filter count.
func (db WebhookReader) OldestDelivery(ctx context.Context, f DeliveryFilter, number int) (id string, err error) {
	var w where
	if f.Endpoint != "" {
		w.with("endpoint = %s", f.Endpoint)
	} else {
		w.with(f.world("world"))
	}
	w.with("id < %s", cmp.Or(f.Before, lastID))
	err = queryErr(db.queryRow(ctx, `SELECT id FROM delivery WHERE `+w.text()+` ORDER BY id DESC LIMIT 1 OFFSET `+
		w.arg(number-1), w.args...).Scan(&id))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return "", fmt.Errorf("find a page of deliveries: %w", err)
	}
	return id, nil
}

// world returns the condition that selects live deliveries or those of test worlds.
func (f *DeliveryFilter) world(column string) string {
	if f.Worlds {
		return column + ` <> ''`
	}
	return column + ` = ''`
}

// Deliveries lists deliveries, the newest first.
func (db WebhookReader) Deliveries(ctx context.Context, f DeliveryFilter, now time.Time) ([]fieldmark.Delivery, error) {
	question, args := f.sql(now)
	rows, err := db.query(ctx, question, args...)
	list, err := collect(rows, err, scanDelivery)
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	return list, nil
}

// sql returns the query and its arguments.
func (f *DeliveryFilter) sql(now time.Time) (string, []any) {
	w := where{args: []any{now.UnixMicro()}} // of deliveryColumns
	narrow := func(condition, value string) {
		if value != "" {
			w.with(condition, value)
		}
	}
	narrow(`d.endpoint = %s`, f.Endpoint)
	if f.Endpoint == "" {
		w.with(f.world("d.world"))
	}
	if f.State == fieldmark.DeliveryFailed {
		w.with(`d.state = 'failed'`) // a constant, as in the index
	} else {
		narrow(`d.state = %s`, string(f.State))
	}
	narrow(shownState+` = %s`, string(f.Shown))
	narrow(`d.id >= %s`, f.From)
	w.with(`d.id < %s`, cmp.Or(f.Before, lastID))
	// A condition on e would make PostgreSQL read all events of a rare type first, without an index.
	if prefix, ok := strings.CutSuffix(f.Type, "*"); ok {
		w.with(`(SELECT substr(t.type, 1, `+w.arg(len(prefix))+`) FROM event t WHERE t.number = d.event) = %s`, prefix)
	} else {
		narrow(`(SELECT t.type FROM event t WHERE t.number = d.event) = %s`, f.Type)
	}
	return `SELECT ` + deliveryColumns + ` WHERE ` + w.text() + ` ORDER BY d.id DESC LIMIT ` + w.arg(f.Limit), w.args
}

// DeliverySummary counts how the newest deliveries to an endpoint ended.
type DeliverySummary struct {
	Sent, Failed int // of the newest; the others are not finished
	Attempts     int // for those
}

// SummarizeDeliveries summarizes the newest deliveries to an endpoint, limit at most.
func (db WebhookReader) SummarizeDeliveries(ctx context.Context, endpoint string,
	limit int) (s DeliverySummary, err error) {
	err = db.queryRow(ctx, `SELECT COUNT(CASE WHEN state = 'done' THEN 1 END),
		COUNT(CASE WHEN state = 'failed' THEN 1 END), COALESCE(SUM(attempts), 0)
		FROM (SELECT state, attempts FROM delivery WHERE endpoint = $1 ORDER BY id DESC LIMIT $2) AS newest`,
		endpoint, limit).Scan(&s.Sent, &s.Failed, &s.Attempts)
	return s, queryErr(err)
}

// Delivery reads a delivery and its attempts; the error is ErrNotFound if it
// does not exist.
func (db WebhookReader) Delivery(ctx context.Context, id string,
	now time.Time) (r fieldmark.DeliveryRecord, err error) {
	fail := func(err error) (fieldmark.DeliveryRecord, error) {
		return fieldmark.DeliveryRecord{}, fmt.Errorf("read delivery %s: %w", id, err)
	}
	if r.Delivery, err = scanDelivery(db.queryRow(ctx, `SELECT `+deliveryColumns+` WHERE d.id = $2`, now.UnixMicro(),
		id)); err != nil {
		return fail(err)
	}
	rows, err := db.query(ctx, `SELECT number, at, millis, status, error, body, detail FROM attempt
		WHERE delivery = $1 ORDER BY number`, id)
	r.Log, err = collect(rows, err, func(row scanner) (a fieldmark.DeliveryAttempt, err error) {
		var detail string
		if err = row.Scan(&a.Number, timeCol{&a.At}, &a.Millis, &a.Status, &a.Error, &a.Body,
			&detail); err == nil && detail != "" {
			err = jsonCol{&a.AttemptDetail}.Scan(detail)
		}
		return a, err
	})
	if err != nil {
		return fail(err)
	}
	return r, nil
}

// Job is a delivery with the parts of the event needed to send it.
type Job struct {
	ID           string
	Attempts     int // before this one
	BaseAttempts int // of those, before the current retry schedule
	Claims       int // since the last recorded attempt
	DueAt        time.Time
	Subject      string
	Account      string
	Trace        string // traceparent of the cause of the event
	Envelope     fieldmark.Envelope
}

// UnleasedDeliveries lists the first deliveries to an endpoint without a lease,
// in the order of their due times, which may be in the future.
func (t WebhookTx) UnleasedDeliveries(ctx context.Context, endpoint string, limit int) ([]Job, error) {
	rows, err := t.query(ctx, `SELECT d.id, d.attempts, d.base, d.claims, d.due_at, e.subject, e.account, e.trace,
		e.id, e.type, e.at, e.data
		FROM (SELECT x.id, x.attempts, x.base, x.claims, x.due_at, x.event FROM delivery x
			WHERE x.endpoint = $1 AND x.state = 'due' AND x.lease_owner IS NULL ORDER BY x.due_at, x.id LIMIT $2) d
		JOIN event e ON e.number = d.event ORDER BY d.due_at, d.id`, endpoint, limit)
	list, err := collect(rows, err, func(row scanner) (j Job, err error) {
		var data string
		err = row.Scan(&j.ID, &j.Attempts, &j.BaseAttempts, &j.Claims, exactTime{&j.DueAt}, &j.Subject, &j.Account,
			&j.Trace,
			&j.Envelope.ID, &j.Envelope.Type, timeCol{&j.Envelope.Timestamp}, &data)
		j.Envelope.Data = []byte(data)
		return j, err
	})
	if err != nil {
		return nil, fmt.Errorf("list due deliveries to endpoint %s: %w", endpoint, err)
	}
	return list, nil
}

// LeaseDelivery leases a delivery to owner until a time.
func (t WebhookTx) LeaseDelivery(ctx context.Context, delivery, owner string, until time.Time) error {
	if err := t.queueExec(ctx, `UPDATE delivery SET lease_until = $1, lease_owner = $2, claims = claims + 1
		WHERE id = $3 AND lease_owner IS NULL`,
		until.UnixMicro(), owner, delivery); err != nil {
		return fmt.Errorf("lease delivery %s: %w", delivery, err)
	}
	return nil
}

// FailDelivery fails a due delivery without a lease, with a reason, and makes
// the next delivery about its topic due.
func (t WebhookTx) FailDelivery(ctx context.Context, endpoint, delivery, reason string, now time.Time) error {
	_, err := t.exec(ctx, `UPDATE delivery SET state = 'failed', last_error = $1, updated_at = $2 WHERE id = $3
		AND state = 'due' AND lease_owner IS NULL`,
		reason, now.UnixMicro(), delivery)
	if err != nil {
		return fmt.Errorf("fail delivery %s: %w", delivery, err)
	}
	return t.PromoteWaiting(ctx, endpoint, now)
}

// Attempt is an attempt to deliver and its outcome.
type Attempt struct {
	Delivery string
	Owner    string // of the lease
	Number   int    // 1 and up
	At       time.Time
	Took     time.Duration
	Status   int    // of HTTP; 0 without a response
	Error    string // empty on success
	Body     string // the beginning of the response
	Detail   fieldmark.AttemptDetail
	State    fieldmark.DeliveryState
	DueAt    time.Time // of the next attempt, while State is due
}

// RecordAttempt stores an attempt, the new state of the delivery and its next
// due time. It is idempotent on delivery and number. A worker that lost its
// lease stores only a success: the worker with the lease makes the same attempt
// and stores its own outcome.
func (t WebhookTx) RecordAttempt(ctx context.Context, a Attempt) error {
	fail := func(err error) error {
		return fmt.Errorf("record attempt %d of delivery %s: %w", a.Number, a.Delivery, err)
	}
	if a.State != fieldmark.DeliveryDone {
		var owner string
		err := t.queryRow(ctx, `SELECT COALESCE(lease_owner, '') FROM delivery WHERE id = $1`, a.Delivery).Scan(&owner)
		if err != nil {
			return fail(queryErr(err))
		}
		if owner != "" && owner != a.Owner {
			return nil
		}
	}
	detail, err := jsonText(a.Detail)
	if err != nil {
		return fail(err)
	}
	// The number identifies the attempt: storing it twice changes nothing.
	err = t.queueExec(ctx, `INSERT INTO attempt (delivery, number, at, millis, status, error, body, detail, event)
		SELECT id, $2, $3, $4, $5, $6, $7, $8, event FROM delivery WHERE id = $1 AND attempts < $2
		ON CONFLICT DO NOTHING`,
		a.Delivery, a.Number, a.At.UnixMicro(), a.Took.Milliseconds(), a.Status, a.Error, a.Body, detail)
	if err != nil {
		return fail(err)
	}
	err = t.queueExec(ctx, `UPDATE delivery SET state = $1, attempts = $2, due_at = $3, lease_until = NULL,
		lease_owner = NULL, claims = 0,
		last_status = $4, last_error = $5, updated_at = $6 WHERE id = $7 AND attempts < $2`,
		string(a.State), a.Number, a.DueAt.UnixMicro(), a.Status, a.Error, a.At.Add(a.Took).UnixMicro(), a.Delivery)
	if err != nil {
		return fail(err)
	}
	if a.State != fieldmark.DeliveryDue {
		return nil
	}
	// If the endpoint was deleted during the attempt, there is no next attempt.
	err = t.queueExec(ctx, `UPDATE delivery SET state = 'failed' WHERE id = $1 AND state = 'due'
		AND endpoint IN (SELECT p.id FROM endpoint p WHERE p.deleted_at IS NOT NULL)`, a.Delivery)
	if err != nil {
		return fail(err)
	}
	return nil
}

// PromoteNext makes the next delivery about a topic due, if no earlier one is
// still to be sent.
func (t WebhookTx) PromoteNext(ctx context.Context, endpoint, topic string, now time.Time) error {
	_, err := t.exec(ctx, `UPDATE delivery SET state = 'due', due_at = $1, updated_at = $1 WHERE id = (
			SELECT d.id FROM delivery d WHERE d.endpoint = $2 AND d.topic = $3 AND d.topic <> ''
				AND d.state = 'waiting' ORDER BY d.event LIMIT 1)
		AND NOT EXISTS (SELECT 1 FROM delivery b WHERE b.endpoint = $2 AND b.topic = $3 AND b.state = 'due')`,
		now.UnixMicro(), endpoint, topic)
	if err != nil {
		return fmt.Errorf("promote deliveries about %s to endpoint %s: %w", topic, endpoint, err)
	}
	return nil
}

// PromoteWaiting makes the next delivery due for every topic that has waiting
// deliveries and no due one, and schedules the endpoints. Endpoint "" means all
// endpoints. Everything that ends or deletes deliveries other than by an attempt
// must call it in the same transaction.
func (t WebhookTx) PromoteWaiting(ctx context.Context, endpoint string, now time.Time) error {
	rows, err := t.query(ctx, `UPDATE delivery SET state = 'due', due_at = $1, updated_at = $1 WHERE id IN (
			SELECT d.id FROM delivery d JOIN (SELECT w.endpoint, w.topic, MIN(w.event) AS event FROM delivery w
				WHERE w.state = 'waiting' AND (w.endpoint = $2 OR $2 = '') GROUP BY w.endpoint, w.topic) n
			ON n.event = d.event AND n.endpoint = d.endpoint
			WHERE NOT EXISTS (SELECT 1 FROM delivery b WHERE b.endpoint = n.endpoint AND b.topic = n.topic
				AND b.topic <> '' AND b.state = 'due'))
		RETURNING endpoint`, now.UnixMicro(), endpoint)
	endpoints, err := collect(rows, err, scanText)
	if err != nil {
		return fmt.Errorf("promote waiting deliveries: %w", err)
	}
	slices.Sort(endpoints)
	for _, id := range slices.Compact(endpoints) {
		if err := t.ScheduleEndpoint(ctx, id, now); err != nil {
			return err
		}
		t.touched[TopicDeliveries], t.touched[TopicTestDeliveries] = true, true
	}
	return nil
}

// ReleaseWaiting makes all waiting deliveries due: the endpoint is no longer
// ordered.
func (t WebhookTx) ReleaseWaiting(ctx context.Context, endpoint string, now time.Time) error {
	_, err := t.exec(ctx, `UPDATE delivery SET state = 'due', due_at = $1, topic = '' WHERE endpoint = $2
		AND topic <> '' AND state IN ('due', 'waiting')`,
		now.UnixMicro(), endpoint)
	if err != nil {
		return fmt.Errorf("release waiting deliveries to endpoint %s: %w", endpoint, err)
	}
	return nil
}

// SkipHeldDeliveries fails up to limit held deliveries of an endpoint, with a
// reason. With newest, the newest about each subject stays due. It returns how
// many it failed.
func (t WebhookTx) SkipHeldDeliveries(ctx context.Context, endpoint, reason string, newest bool, before string,
	now time.Time, limit int) (int64, error) {
	stays := ``
	if newest {
		stays = ` AND EXISTS (SELECT 1 FROM event e JOIN event l ON l.subject = e.subject JOIN delivery y
			ON y.event = l.number
			WHERE e.number = x.event AND l.number > e.number AND y.endpoint = x.endpoint AND y.state IN ('due',
				'waiting'))`
	}
	n, err := t.exec(ctx, `UPDATE delivery SET state = 'failed', last_error = $1, updated_at = $2
		WHERE id IN (SELECT x.id FROM delivery x
		WHERE x.endpoint = $3 AND x.state IN ('due', 'waiting') AND x.lease_owner IS NULL AND x.id < $4`+stays+` ORDER
			BY x.id LIMIT $5)`,
		reason, now.UnixMicro(), endpoint, before, limit)
	if err != nil {
		return 0, fmt.Errorf("skip held deliveries to endpoint %s: %w", endpoint, err)
	}
	return n, t.PromoteWaiting(ctx, endpoint, now)
}

// ExpediteDeliveries makes up to limit deliveries due now that wait for their
// next attempt; delivery "" means any. It returns how many.
func (t WebhookTx) ExpediteDeliveries(ctx context.Context, to *Subscriber, delivery string, now time.Time,
	limit int) (int64, error) {
	n, err := t.exec(ctx, `UPDATE delivery SET due_at = $1, updated_at = $1 WHERE id IN (SELECT x.id FROM delivery x
		WHERE x.endpoint = $2 AND x.state = 'due' AND x.lease_owner IS NULL AND x.due_at > $1 AND (x.id = $3
			OR $3 = '') ORDER BY x.due_at, x.id LIMIT $4)`,
		now.UnixMicro(), to.ID, delivery, limit)
	if err != nil {
		return 0, fmt.Errorf("expedite deliveries to endpoint %s: %w", to.ID, err)
	}
	if n == 0 {
		return 0, nil
	}
	t.touched[deliveryTopic(to.account)] = true
	return n, t.scheduleDelivery(ctx, to, now)
}

// FailEndedDeliveries fails deliveries to endpoints that were deleted while a
// worker that crashed held the lease, with a reason.
func (t WebhookTx) FailEndedDeliveries(ctx context.Context, now time.Time, reason string) error {
	_, err := t.exec(ctx, `UPDATE delivery SET state = 'failed', last_error = $1, lease_until = NULL, lease_owner = NULL
		WHERE state = 'due' AND (lease_until IS NULL OR lease_until <= $2)
		AND endpoint IN (SELECT p.id FROM endpoint p WHERE p.deleted_at IS NOT NULL)`, reason, now.UnixMicro())
	if err != nil {
		return fmt.Errorf("fail deliveries to deleted endpoints: %w", err)
	}
	return nil
}

// ExpireDeliveryLeases frees deliveries whose lease has expired and schedules
// their endpoints.
func (t WebhookTx) ExpireDeliveryLeases(ctx context.Context, now time.Time) error {
	rows, err := t.query(ctx, `UPDATE delivery SET lease_until = NULL, lease_owner = NULL
		WHERE lease_owner IS NOT NULL AND lease_until <= $1 RETURNING endpoint`, now.UnixMicro())
	endpoints, err := collect(rows, err, scanText)
	if err != nil {
		return fmt.Errorf("expire leases: %w", err)
	}
	for _, id := range endpoints {
		if err := t.ScheduleEndpoint(ctx, id, now); err != nil {
			return err
		}
		t.touched[TopicDeliveries], t.touched[TopicTestDeliveries] = true, true
	}
	return nil
}

// PastEvent is an event and its delivery to one endpoint.
type PastEvent struct {
	Delivery string // empty before the first delivery
	State    fieldmark.DeliveryState
	Event    int64
	Type     fieldmark.EventType
	Subject  string
	At       fieldmark.Time
	Labels   map[string]string // of its mission at that time
}

func scanPastEvent(row scanner) (p PastEvent, err error) {
	return p, row.Scan(&p.Delivery, &p.State, &p.Event, &p.Type, &p.Subject, timeCol{&p.At}, labelsCol{&p.Labels})
}

// FailedDeliveries lists failed deliveries to an endpoint of events in a time
// span, in order.
func (t WebhookTx) FailedDeliveries(ctx context.Context, endpoint, after string, since, until time.Time,
	limit int) ([]PastEvent, error) {
	rows, err := t.query(ctx, `SELECT d.id, d.state, e.number, e.type, e.subject, e.at, e.labels
		FROM delivery d JOIN event e
		ON e.number = d.event
		WHERE d.endpoint = $1 AND d.state = 'failed' AND d.id > $2 AND e.at >= $3 AND e.at < $4 AND e.type <> 'ping'
			ORDER BY d.id LIMIT $5`,
		endpoint, after, since.UnixMicro(), until.UnixMicro(), limit)
	list, err := collect(rows, err, scanPastEvent)
	if err != nil {
		return nil, fmt.Errorf("list failed deliveries to endpoint %s: %w", endpoint, err)
	}
	return list, nil
}

// PastEvents lists the events of an account after a number with their deliveries
// to an endpoint, in order.
func (t WebhookTx) PastEvents(ctx context.Context, endpoint, account string, after int64, until time.Time,
	limit int) ([]PastEvent, error) {
	rows, err := t.query(ctx, `SELECT COALESCE(d.id, ''), COALESCE(d.state, ''), e.number, e.type, e.subject, e.at,
			e.labels
		FROM event e LEFT JOIN delivery d ON d.event = e.number AND d.endpoint = $1
		WHERE e.account = $2 AND e.account <> '' AND e.number > $3 AND e.at < $4 ORDER BY e.number LIMIT $5`,
		endpoint, account, after, until.UnixMicro(), limit)
	list, err := collect(rows, err, scanPastEvent)
	if err != nil {
		return nil, fmt.Errorf("list the events of %s after %d: %w", account, after, err)
	}
	return list, nil
}

// RequeueDelivery makes a finished delivery due again under a new retry
// schedule. It reports whether it was finished.
func (t WebhookTx) RequeueDelivery(ctx context.Context, delivery string, to *Subscriber, topic string,
	at time.Time) (bool, error) {
	state := fieldmark.DeliveryDue
	if !to.Ordered {
		topic = ""
	} else if busy, err := t.hasUnfinished(ctx, to.ID, topic); err != nil {
		return false, err
	} else if busy {
		state = fieldmark.DeliveryWaiting
	}
	n, err := t.exec(ctx, `UPDATE delivery SET state = $1, due_at = $2, updated_at = $2, base = attempts, claims = 0,
		topic = $3
		WHERE id = $4 AND endpoint = $5 AND state IN ('done', 'failed')`, string(state), at.UnixMicro(), topic,
		delivery, to.ID)
	if err != nil {
		return false, fmt.Errorf("requeue delivery %s: %w", delivery, err)
	}
	if n == 0 {
		return false, nil
	}
	t.touched[deliveryTopic(to.account)] = true
	return true, t.scheduleDelivery(ctx, to, at)
}

// DeliverySubject returns the subject of the event of a delivery.
func (t WebhookTx) DeliverySubject(ctx context.Context, delivery string) (string, error) {
	var subject string
	err := t.queryRow(ctx, `SELECT e.subject FROM delivery d JOIN event e ON e.number = d.event WHERE d.id = $1`,
		delivery).Scan(&subject)
	if err != nil {
		return "", fmt.Errorf("read delivery %s: %w", delivery, queryErr(err))
	}
	return subject, nil
}

// DeliveryJob reads the event of a delivery.
func (db WebhookReader) DeliveryJob(ctx context.Context, delivery string) (Job, error) {
	var data string
	j := Job{ID: delivery}
	err := db.queryRow(ctx, `SELECT e.subject, e.account, e.id, e.type, e.at, e.data FROM delivery d JOIN event e
		ON e.number = d.event WHERE d.id = $1`, delivery).
		Scan(&j.Subject, &j.Account, &j.Envelope.ID, &j.Envelope.Type, timeCol{&j.Envelope.Timestamp}, &data)
	if err != nil {
		return j, fmt.Errorf("read the event of delivery %s: %w", delivery, queryErr(err))
	}
	j.Envelope.Data = []byte(data)
	return j, nil
}

// EventDelivery is the delivery of an event to an endpoint.
type EventDelivery struct {
	Event        int64 // number
	ID, Endpoint string
	State        fieldmark.DeliveryState
}

// DeliveriesAbout lists at most limit deliveries of events about two subjects, the newest events first; the
// second may be empty.
func (db WebhookReader) DeliveriesAbout(ctx context.Context, subject, other string,
	limit int) ([]EventDelivery, error) {
	rows, err := db.query(ctx, `SELECT d.event, d.id, d.endpoint, d.state FROM event e JOIN delivery d
		ON d.event = e.number WHERE e.subject IN ($1, $2) AND e.subject <> '' ORDER BY d.event DESC, d.id LIMIT $3`,
		subject, other, limit)
	list, err := collect(rows, err, func(row scanner) (d EventDelivery, err error) {
		return d, row.Scan(&d.Event, &d.ID, &d.Endpoint, &d.State)
	})
	if err != nil {
		return nil, fmt.Errorf("list deliveries of events about %s: %w", subject, err)
	}
	return list, nil
}

// PruneDeliveries deletes up to limit deliveries that were created before a
// time, with their attempts. Deliveries under a lease stay, and those that a
// resend or a replay queued again since then. Deliveries that waited for a
// deleted one become due. It returns how many it deleted.
func (t WebhookTx) PruneDeliveries(ctx context.Context, before, now time.Time, limit int) (int64, error) {
	return t.pruneDeliveries(ctx, now, `SELECT d.id FROM delivery d WHERE `+prunable+` ORDER BY d.id LIMIT $3`,
		fieldmark.FirstID(fieldmark.PrefixDelivery, before), before.UnixMicro(), limit)
}

// PruneOfferDeliveries is PruneDeliveries for the accounts with an offer and their sub-accounts.
func (t WebhookTx) PruneOfferDeliveries(ctx context.Context, offer string, before, now time.Time,
	limit int) (int64, error) {
	return t.pruneDeliveries(ctx, now, `SELECT d.id FROM account g JOIN account a ON a.id = g.id OR a.parent = g.id
		JOIN endpoint p ON p.account = a.id AND p.deleted_at IS NULL JOIN delivery d ON d.endpoint = p.id
		WHERE g.offer = $4 AND `+prunable+` LIMIT $3`,
		fieldmark.FirstID(fieldmark.PrefixDelivery, before), before.UnixMicro(), limit, offer)
}

// prunable is the condition of deliveries that were created before id $1 and not queued since $2.
const prunable = `d.id < $1 AND d.lease_owner IS NULL AND (d.state NOT IN ('due', 'waiting') OR d.updated_at < $2)`

// pruneDeliveries deletes deliveries with their attempts. Those that waited for one of them are promoted.
func (t WebhookTx) pruneDeliveries(ctx context.Context, now time.Time, text string, args ...any) (int64, error) {
	rows, err := t.query(ctx, text, args...)
	ids, err := collect(rows, err, scanText)
	if err != nil {
		return 0, fmt.Errorf("list old deliveries: %w", err)
	}
	for _, id := range ids {
		for _, text := range []string{`DELETE FROM attempt WHERE delivery = $1`, `DELETE FROM delivery WHERE id = $1`} {
			if err := t.queueExec(ctx, text, id); err != nil {
				return 0, fmt.Errorf("prune delivery %s: %w", id, err)
			}
		}
	}
	if len(ids) == 0 {
		return 0, nil
	}
	return int64(len(ids)), t.PromoteWaiting(ctx, "", now)
}
