package store

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store/commit"
)

// Payments, attachments and test clocks.

// Payment is a payment with the columns that are not part of its JSON.
type Payment struct {
	fieldmark.Payment
	Mission   string
	CreatedAt fieldmark.Time
	UpdatedAt fieldmark.Time
	OverdueAt *fieldmark.Time // when it first became overdue; nil if it never did
}

// overdueCheck returns when the payment becomes overdue, or NULL. A payment becomes overdue
// once: one that fails again after that stays FAILED. A payment with NULL is never due.
func (p *Payment) overdueCheck() any {
	if p.OverdueAt != nil || p.DueAt == nil || p.Status != fieldmark.PaymentDue && p.Status != fieldmark.PaymentFailed {
		return nil
	}
	return p.DueAt.Std().Add(time.Millisecond).UnixMicro() // it is not overdue at the due time itself
}

// paymentColumns are the columns of a payment in the order of paymentScan.into.
const paymentColumns = `p.id, p.mission, p.direction, p.amount, p.currency, p.terms, p.status, p.due_at, p.paid_at,
	p.failure,
	p.refunded, p.version, p.created_at, p.updated_at, p.overdue_at`

// paymentScan reads the columns of a payment, which are NULL without one.
type paymentScan struct {
	id, mission, direction, currency, terms, status *string
	amount, refunded, version                       *int64
	created, updated                                *fieldmark.Time
	p                                               Payment
}

// into returns the places for the columns. They are pointers to pointers, because an outer join
// has NULL in all.
func (s *paymentScan) into() []any {
	return []any{&s.id, &s.mission, &s.direction, &s.amount, &s.currency, &s.terms, &s.status, nullTime{&s.p.DueAt},
		nullTime{&s.p.PaidAt},
		jsonCol{&s.p.Failure}, &s.refunded, &s.version, nullTime{&s.created}, nullTime{&s.updated},
		nullTime{&s.p.OverdueAt}}
}

// payment returns what was read; nil without a payment.
func (s *paymentScan) payment() *Payment {
	if s.id == nil {
		return nil
	}
	p := &s.p
	p.ID, p.Mission, p.Direction, p.Terms, p.Status = *s.id, *s.mission, fieldmark.Direction(*s.direction), *s.terms,
		fieldmark.PaymentStatus(*s.status)
	if s.amount != nil && s.currency != nil {
		p.Amount = &fieldmark.Money{Value: *s.amount, Currency: fieldmark.Currency(*s.currency)}
	}
	p.RefundedTotal, p.Version = *s.refunded, int(*s.version)
	p.CreatedAt, p.UpdatedAt = *s.created, *s.updated
	return p
}

// money is the arguments for an amount that may be missing.
func money(m *fieldmark.Money) (amount, currency any) {
	if m == nil {
		return nil, nil
	}
	return m.Value, string(m.Currency)
}

// AddPayment adds the payment of a mission.
// The insert is queued: it is sent with the next statement that needs an answer.
func (t MissionTx) AddPayment(ctx context.Context, m *Mission, p *Payment) error {
	amount, currency := money(p.Amount)
	err := t.queueInsert(ctx, `INSERT INTO payment (id, mission, direction, amount, currency, terms, status, refunded,
		version, created_at, updated_at, world)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $11)`,
		p.ID, m.ID, string(p.Direction), amount, currency, p.Terms, string(p.Status), p.RefundedTotal, p.Version,
		p.CreatedAt.Micros(), fieldmark.World(m.Account))
	if err != nil {
		return fmt.Errorf("add payment %s: %w", p.ID, err)
	}
	m.StoredPayment, m.Payment = p, &p.Payment
	return nil
}

// PutPayment stores the state of a payment and ends its lease.
// Ending the lease here makes the change and the end of the work one step.
func (t MissionTx) PutPayment(ctx context.Context, p *Payment) error {
	failure, err := nullJSON(p.Failure)
	if err != nil {
		return fmt.Errorf("write the failure of payment %s: %w", p.ID, err)
	}
	amount, currency := money(p.Amount)
	_, err = t.exec(ctx, `UPDATE payment SET direction = $1, amount = $2, currency = $3, terms = $4, status = $5,
		due_at = $6, paid_at = $7,
		failure = $8, refunded = $9, version = $10, updated_at = $11, check_at = $12, overdue_at = $13,
			lease_until = NULL, lease_owner = NULL WHERE id = $14`,
		string(p.Direction), amount, currency, p.Terms, string(p.Status), nullMicros(p.DueAt), nullMicros(p.PaidAt),
		failure, p.RefundedTotal, p.Version, p.UpdatedAt.Micros(), p.overdueCheck(), nullMicros(p.OverdueAt), p.ID)
	if err != nil {
		return fmt.Errorf("put payment %s: %w", p.ID, err)
	}
	return nil
}

// ClaimPayments leases up to limit overdue payments to owner: live ones or, with worlds, those of
// test worlds.
func (t MissionTx) ClaimPayments(ctx context.Context, owner string, now, lease time.Time, limit int,
	worlds bool) ([]string, error) {
	due := duePayments
	if worlds {
		due = worldPayments
	}
	return t.claim(ctx, `UPDATE payment SET lease_until = $1, lease_owner = $2 WHERE id IN (`+due+`)
		RETURNING id`,
		lease.UnixMicro(), owner, now.UnixMicro(), limit)
}

// PaymentMission returns the mission of a payment; the error is ErrNotFound if
// there is no such payment.
func (t MissionTx) PaymentMission(ctx context.Context, id string) (mission string, err error) {
	if err := t.queryRow(ctx, `SELECT mission FROM payment WHERE id = $1`, id).Scan(&mission); err != nil {
		return "", fmt.Errorf("read payment %s: %w", id, queryErr(err))
	}
	return mission, nil
}

// AddRefund adds a refund. Its reference must be unique for the payment.
// A repeated reference breaks the unique index, so a refund is made once.
func (t MissionTx) AddRefund(ctx context.Context, payment string, r *fieldmark.Refund) error {
	_, err := t.exec(ctx, `INSERT INTO refund (id, payment, amount, reference, reason, created_at) VALUES ($1, $2, $3,
		$4, $5, $6)`,
		r.ID, payment, r.Amount, reference(r), r.Reason, r.CreatedAt.Micros())
	if err != nil {
		return fmt.Errorf("add refund %s: %w", r.ID, err)
	}
	return nil
}

// reference returns the stored reference of a refund: one without a reference
// has its id, which is unique.
func reference(r *fieldmark.Refund) string {
	if r.Reference == "" {
		return r.ID
	}
	return r.Reference
}

// Refunds lists the refunds of a payment, the oldest first.
func (db MissionReader) Refunds(ctx context.Context, payment string) ([]fieldmark.Refund, error) {
	rows, err := db.query(ctx, `SELECT id, amount, reference, reason, created_at FROM refund WHERE payment = $1
		ORDER BY id`, payment)
	list, err := collect(rows, err, func(row scanner) (r fieldmark.Refund, err error) {
		err = row.Scan(&r.ID, &r.Amount, &r.Reference, &r.Reason, timeCol{&r.CreatedAt})
		if r.Reference == r.ID {
			r.Reference = ""
		}
		return r, err
	})
	if err != nil {
		return nil, fmt.Errorf("list the refunds of payment %s: %w", payment, err)
	}
	return list, nil
}

// PaymentQuery selects a page of payments.
type PaymentQuery struct {
	Status fieldmark.PaymentStatus // empty: any
	Worlds bool                    // those of test worlds, instead of all live ones
	Before string                  // the id that the previous page ended with
	Limit  int
}

// sql returns the query and its arguments. Live payments are found by their statuses, because that
// index has no rows of test worlds.
func (q *PaymentQuery) sql() (string, []any) {
	var w where
	before, limit := w.arg(cmp.Or(q.Before, lastID)), w.arg(q.Limit)
	indexRange := func(condition string) string {
		return `SELECT id FROM (SELECT id FROM payment WHERE ` + condition + ` AND id < ` + before + `
			ORDER BY id DESC LIMIT ` + limit + `) AS s`
	}
	statuses := fieldmark.PaymentStatuses()
	if q.Status != "" {
		statuses = []fieldmark.PaymentStatus{q.Status}
	}
	var ranges []string
	for _, status := range statuses {
		ranges = append(ranges, indexRange(`world = '' AND status = `+w.arg(string(status))))
	}
	if q.Worlds {
		condition := `world <> ''`
		w.args = w.args[:2]
		if q.Status != "" {
			condition += ` AND status = ` + w.arg(string(q.Status))
		}
		ranges = []string{indexRange(condition)}
	}
	return `SELECT ` + paymentColumns + `, m.request FROM payment p JOIN mission m ON m.id = p.mission
		WHERE p.id IN (` + strings.Join(ranges, " UNION ALL ") + `) ORDER BY p.id DESC LIMIT ` + limit, w.args
}

// Payments lists payments with their missions, the newest first.
func (db MissionReader) Payments(ctx context.Context, q PaymentQuery) ([]fieldmark.MissionPayment, error) {
	question, args := q.sql()
	rows, err := db.query(ctx, question, args...)
	list, err := collect(rows, err, scanMissionPayment)
	if err != nil {
		return nil, fmt.Errorf("list payments: %w", err)
	}
	return list, nil
}

func scanMissionPayment(row scanner) (p fieldmark.MissionPayment, err error) {
	var scan paymentScan
	var said fieldmark.MissionRequest
	if err := row.Scan(append(scan.into(), jsonCol{&said})...); err != nil {
		return p, queryErr(err)
	}
	kept := scan.payment()
	return fieldmark.MissionPayment{Payment: kept.Payment, MissionID: kept.Mission, ExternalID: said.ExternalID,
		Source:    said.Source,
		CreatedAt: kept.CreatedAt, UpdatedAt: kept.UpdatedAt, Refunds: []fieldmark.Refund{}}, nil
}

// Payment reads a payment with its mission and refunds; the error is ErrNotFound
// if it does not exist.
func (db MissionReader) Payment(ctx context.Context, id string) (fieldmark.MissionPayment, error) {
	p, err := scanMissionPayment(db.queryRow(ctx, `SELECT `+paymentColumns+`, m.request FROM payment p JOIN mission m
		ON m.id = p.mission WHERE p.id = $1`, id))
	if err == nil && p.RefundedTotal > 0 {
		p.Refunds, err = db.Refunds(ctx, id)
	}
	if err != nil {
		return p, fmt.Errorf("read payment %s: %w", id, err)
	}
	return p, nil
}

// Attachment is an attachment and the sealed key of its content.
type Attachment struct {
	fieldmark.Attachment
	SealedKey string // empty: removed
}

// AttachmentReader reads attachments of missions.
type AttachmentReader struct{ querier }

// AttachmentTx writes attachments of missions, in a transaction.
type AttachmentTx struct {
	AttachmentReader
	*tx
}

const attachmentColumns = `id, mission, content_type, name, size, digest, author_id, author_name, sealed_key,
	created_at, removed_at, removed_by`

func scanAttachment(row scanner) (a Attachment, err error) {
	err = row.Scan(&a.ID, &a.MissionID, &a.ContentType, &a.Name, &a.Size, &a.Digest, &a.Author.ID, &a.Author.Name,
		&a.SealedKey, timeCol{&a.CreatedAt}, nullTime{&a.RemovedAt}, &a.RemovedBy)
	return a, queryErr(err)
}

// AddAttachment adds an attachment to a mission.
func (t AttachmentTx) AddAttachment(ctx context.Context, a Attachment) error {
	_, err := t.exec(ctx, `INSERT INTO attachment (id, mission, content_type, name, size, digest, author_id,
		author_name, sealed_key, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, a.ID, a.MissionID,
		a.ContentType, a.Name, a.Size, string(a.Digest), a.Author.ID, a.Author.Name, a.SealedKey, a.CreatedAt.Micros())
	if err != nil {
		return fmt.Errorf("add attachment %s of mission %s: %w", a.ID, a.MissionID, err)
	}
	return nil
}

// RemoveAttachment records who removed the content of an attachment and when, and deletes its
// name and its key.
func (t AttachmentTx) RemoveAttachment(ctx context.Context, a fieldmark.Attachment) error {
	_, err := t.exec(ctx, `UPDATE attachment SET name = '', sealed_key = '', removed_at = $1, removed_by = $2
		WHERE id = $3`, nullMicros(a.RemovedAt), a.RemovedBy, a.ID)
	if err != nil {
		return fmt.Errorf("remove attachment %s: %w", a.ID, err)
	}
	return nil
}

// Attachment reads an attachment of a mission; the error is ErrNotFound if it does not exist.
func (db AttachmentReader) Attachment(ctx context.Context, mission, id string) (Attachment, error) {
	a, err := scanAttachment(db.queryRow(ctx, `SELECT `+attachmentColumns+` FROM attachment
		WHERE mission = $1 AND id = $2`, mission, id))
	if err != nil {
		return a, fmt.Errorf("read attachment %s of mission %s: %w", id, mission, err)
	}
	return a, nil
}

// Attachments lists the attachments of a mission, the oldest first, at most limit.
func (db AttachmentReader) Attachments(ctx context.Context, mission string, limit int) ([]Attachment, error) {
	rows, err := db.query(ctx, `SELECT `+attachmentColumns+` FROM attachment WHERE mission = $1 ORDER BY id LIMIT $2`,
		mission, limit)
	list, err := collect(rows, err, scanAttachment)
	if err != nil {
		return nil, fmt.Errorf("list the attachments of mission %s: %w", mission, err)
	}
	return list, nil
}

// AttachmentUse is what the attachments of a mission use of its limits.
type AttachmentUse struct {
	Files int   // not removed
	Bytes int64 // of them
	All   int   // also removed
}

// AttachmentUse counts the attachments of a mission.
func (db AttachmentReader) AttachmentUse(ctx context.Context, mission string) (u AttachmentUse, err error) {
	err = db.queryRow(ctx, `SELECT COUNT(CASE WHEN removed_at IS NULL THEN 1 END),
		CAST(COALESCE(SUM(CASE WHEN removed_at IS NULL THEN size END), 0) AS BIGINT), COUNT(*)
		FROM attachment WHERE mission = $1`, mission).Scan(&u.Files, &u.Bytes, &u.All)
	if err != nil {
		return u, fmt.Errorf("count the attachments of mission %s: %w", mission, queryErr(err))
	}
	return u, nil
}

// AttachmentsAfter lists the attachments with ids from after, exclusive, that are not removed,
// in the order of their ids.
func (db AttachmentReader) AttachmentsAfter(ctx context.Context, after string, limit int) ([]Attachment, error) {
	rows, err := db.query(ctx, `SELECT `+attachmentColumns+` FROM attachment WHERE id > $1 AND removed_at IS NULL
		ORDER BY id LIMIT $2`, after, limit)
	list, err := collect(rows, err, scanAttachment)
	if err != nil {
		return nil, fmt.Errorf("list attachments: %w", err)
	}
	return list, nil
}

// CountAttachments counts the attachments of all missions that are not removed.
func (db AttachmentReader) CountAttachments(ctx context.Context) (n int, err error) {
	err = db.queryRow(ctx, `SELECT COUNT(*) FROM attachment WHERE removed_at IS NULL`).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count attachments: %w", queryErr(err))
	}
	return n, nil
}

// LeaseTestClock is the lease of a clock that advances.
const LeaseTestClock LeaseKind = "test_clock"

// standing selects the test accounts a whose clocks do not advance: what becomes due in the world of
// one that does is fired in order, by the worker that moves the clock.
const standing = `a.world <> '' AND NOT EXISTS (SELECT 1 FROM test_clock c WHERE c.account = a.id AND c.advancing = 1)`

// TestClock is the clock of a test world.
type TestClock struct {
	Offset    time.Duration // the time of the world less the real time
	Goal      time.Time     // of the last advance; zero: no advance yet
	Advancing bool
	StoppedAt *fieldmark.Time // where it ended before its goal
	Fired     fieldmark.TestClockFired
}

// TestClock returns the clock of a test account; the error is ErrNotFound if there is no such account.
func (db OfferReader) TestClock(ctx context.Context, account string) (c TestClock, err error) {
	var offset, goal, advancing int64
	f := &c.Fired
	err = db.queryRow(ctx, `SELECT a.clock_offset, COALESCE(c.goal, 0), COALESCE(c.advancing, 0), c.stopped_at,
		COALESCE(c.sla, 0), COALESCE(c.payments, 0), COALESCE(c.retries, 0), COALESCE(c.webhooks, 0)
		FROM account a LEFT JOIN test_clock c ON c.account = a.id WHERE a.id = $1`, account).Scan(&offset, &goal,
		&advancing, nullTime{&c.StoppedAt}, &f.SLA, &f.Payments, &f.Retries, &f.Webhooks)
	if err != nil {
		return c, fmt.Errorf("read the clock of %s: %w", account, queryErr(err))
	}
	c.Offset, c.Advancing = time.Duration(offset)*time.Microsecond, advancing == 1
	if goal > 0 {
		c.Goal = time.UnixMicro(goal)
	}
	return c, nil
}

// StartTestClock begins to advance the clock of a test account to a time of its world.
func (t OfferTx) StartTestClock(ctx context.Context, account string, goal time.Time) error {
	_, err := t.exec(ctx, `INSERT INTO test_clock (account, goal, advancing, sla, payments, retries, webhooks)
		VALUES ($1, $2, 1, 0, 0, 0, 0) ON CONFLICT (account) DO UPDATE SET goal = excluded.goal, advancing = 1,
			stopped_at = NULL, sla = 0, payments = 0, retries = 0, webhooks = 0, claims = 0,
			lease_until = NULL, lease_owner = NULL`, account, goal.UnixMicro())
	if err != nil {
		return fmt.Errorf("start the clock of %s: %w", account, err)
	}
	t.touched[TopicTestClocks] = true
	return nil
}

type priorityKey struct{}

// WithLowPriority returns a context under which each write waits while other writes of this process are
// under way, up to a second: for background work that must not slow down requests.
func WithLowPriority(ctx context.Context) context.Context {
	return context.WithValue(ctx, priorityKey{}, commit.Low)
}

// WithReducedPriority is WithLowPriority for requests that may wait, but are not to take days: they get twice as
// much of the writer.
func WithReducedPriority(ctx context.Context) context.Context {
	return context.WithValue(ctx, priorityKey{}, commit.Reduced)
}

// ClaimTestClocks leases up to limit clocks that advance to owner, and returns their accounts. Those that were
// claimed most times without moving are lost: their advance ends where it is.
func (t OfferTx) ClaimTestClocks(ctx context.Context, owner string, now, lease time.Time,
	limit, most int) (accounts, lost []string, err error) {
	lost, err = t.claim(ctx, `UPDATE test_clock SET advancing = 0, claims = 0, lease_until = NULL, lease_owner = NULL,
			stopped_at = $1 + (SELECT a.clock_offset FROM account a WHERE a.id = test_clock.account)
		WHERE advancing = 1 AND claims >= $2 AND (lease_until IS NULL OR lease_until <= $1) RETURNING account`,
		now.UnixMicro(), most)
	if err != nil {
		return nil, nil, err
	}
	if len(lost) > 0 {
		t.touched[TopicTestClocks], t.touched[TopicTestDeadlines], t.touched[TopicTestDeliveries] = true, true, true
	}
	accounts, err = t.claim(ctx, `UPDATE test_clock SET lease_until = $1, lease_owner = $2, claims = claims + 1
		WHERE account IN (SELECT c.account FROM test_clock c WHERE c.advancing = 1
			AND (c.lease_until IS NULL OR c.lease_until <= $3) LIMIT $4)
		RETURNING account`, lease.UnixMicro(), owner, now.UnixMicro(), limit)
	return accounts, lost, err
}

// MoveTestClock adds to what an advance has fired and sets the offset of the clock, which never becomes smaller. An
// advance that is over ends the lease. It reports whether owner still has the lease.
func (t OfferTx) MoveTestClock(ctx context.Context, account, owner string, c *TestClock) (bool, error) {
	fail := func(err error) error { return fmt.Errorf("move the clock of %s: %w", account, err) }
	f := c.Fired
	n, err := t.exec(ctx, `UPDATE test_clock SET advancing = $3, stopped_at = $4, sla = $5, payments = $6, retries = $7,
		webhooks = $8, claims = 0 WHERE account = $1 AND lease_owner = $2 AND advancing = 1`, account, owner,
		boolInt(c.Advancing), nullMicros(c.StoppedAt), f.SLA, f.Payments, f.Retries, f.Webhooks)
	if err != nil {
		return false, fail(err)
	}
	if n == 0 {
		return false, nil
	}
	if _, err := t.exec(ctx, `UPDATE account SET clock_offset = $2 WHERE id = $1 AND clock_offset < $2`, account,
		c.Offset.Microseconds()); err != nil {
		return false, fail(err)
	}
	clear(t.state.accounts) // they have the offset
	if c.Advancing {
		return true, nil
	}
	if _, err := t.exec(ctx, `UPDATE test_clock SET lease_until = NULL, lease_owner = NULL WHERE account = $1`,
		account); err != nil {
		return false, fail(err)
	}
	t.touched[TopicTestClocks], t.touched[TopicTestDeadlines], t.touched[TopicTestDeliveries] = true, true, true
	return true, nil
}

// WorldDue is what a test world waits for, in its time. A zero time means for nothing.
type WorldDue struct {
	Timers    time.Time // SLA timers, payments and pending alerts
	Endpoints time.Time // deliveries
	Sending   bool      // a process has claimed a delivery and has not recorded its result
}

// WorldDue returns what the world of a test account waits for.
func (db OfferReader) WorldDue(ctx context.Context, account string) (d WorldDue, err error) {
	var due [4]int64
	var sending bool
	err = db.queryRow(ctx, `SELECT
		COALESCE((SELECT MIN(due_at) FROM sla WHERE world = $1 AND world <> '' AND due_at IS NOT NULL), -1),
		COALESCE((SELECT MIN(check_at) FROM payment WHERE world = $1 AND world <> '' AND check_at IS NOT NULL), -1),
		COALESCE((SELECT MIN(due_at) FROM pending_alert WHERE world = $1 AND world <> ''), -1),
		COALESCE((SELECT MIN(wake_at) FROM endpoint WHERE world = $1 AND world <> '' AND wake_at IS NOT NULL
			AND deleted_at IS NULL), -1),
		EXISTS (SELECT 1 FROM endpoint e JOIN delivery d ON d.endpoint = e.id WHERE e.account = $1
			AND d.lease_owner IS NOT NULL)`, account).Scan(&due[0], &due[1], &due[2], &due[3], &sending)
	if err != nil {
		return d, fmt.Errorf("look for what is due in %s: %w", account, queryErr(err))
	}
	d.Sending = sending
	for i, at := range due {
		first := &d.Timers
		if i == len(due)-1 {
			first = &d.Endpoints
		}
		// 0 is the time of an endpoint that has to be looked at once.
		if t := time.UnixMicro(at); at >= 0 && (first.IsZero() || t.Before(*first)) {
			*first = t
		}
	}
	return d, nil
}

// WorldTimers lists up to limit missions with due SLA timers, due payments and missions with due pending alerts in
// the world of a test account, whose time is now.
func (db OfferReader) WorldTimers(ctx context.Context, account string, now time.Time, limit int) (slas, payments,
	alerts []string, err error) {
	for query, list := range map[string]*[]string{
		`SELECT mission FROM sla WHERE world = $1 AND world <> '' AND due_at <= $2 ORDER BY due_at`: &slas,
		`SELECT id FROM payment WHERE world = $1 AND world <> '' AND check_at <= $2
			ORDER BY check_at`: &payments,
		`SELECT mission FROM pending_alert WHERE world = $1 AND world <> '' AND due_at <= $2 ORDER BY due_at`: &alerts,
	} {
		rows, err := db.query(ctx, query+` LIMIT $3`, account, now.UnixMicro(), limit)
		*list, err = collect(rows, err, func(row scanner) (id string, err error) { return id, row.Scan(&id) })
		if err != nil {
			return nil, nil, nil, fmt.Errorf("list due timers of %s: %w", account, err)
		}
	}
	return slas, payments, alerts, nil
}
