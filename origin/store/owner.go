package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
)

// The rows of brand owners: sessions, preferences, requests, disputes and mail addresses.

// AddOwnerSession adds a session of an account, begun with a key.
func (t AccessTx) AddOwnerSession(ctx context.Context, hash, key string, at time.Time) error {
	_, err := t.exec(ctx, `INSERT INTO owner_session (hash, key_id, created_at) VALUES ($1, $2, $3)`, hash, key,
		at.UnixMicro())
	if err != nil {
		return fmt.Errorf("add a session of an owner: %w", err)
	}
	return nil
}

// OwnerSession reads the key of a session that began after a time, as it is now; the error is
// ErrNotFound if there is no such session.
func (db AccessReader) OwnerSession(ctx context.Context, hash string, after time.Time) (Key, error) {
	k, err := scanKey(db.queryRow(ctx, `SELECT `+keyColumns+` FROM api_key WHERE id = (SELECT s.key_id
		FROM owner_session s WHERE s.hash = $1 AND s.created_at > $2)`, hash, after.UnixMicro()))
	if err != nil {
		return k, fmt.Errorf("read a session of an owner: %w", err)
	}
	return k, nil
}

// DeleteOwnerSession deletes a session.
func (t AccessTx) DeleteOwnerSession(ctx context.Context, hash string) error {
	if _, err := t.exec(ctx, `DELETE FROM owner_session WHERE hash = $1`, hash); err != nil {
		return fmt.Errorf("delete a session of an owner: %w", err)
	}
	return nil
}

// PruneOwnerSessions deletes sessions that began before a time.
func (t AccessTx) PruneOwnerSessions(ctx context.Context, before time.Time) error {
	if _, err := t.exec(ctx, `DELETE FROM owner_session WHERE created_at < $1`, before.UnixMicro()); err != nil {
		return fmt.Errorf("prune the sessions of owners: %w", err)
	}
	return nil
}

// OwnerActions lists when owners of a brand requested an action after a time, the oldest
// first.
func (db BrandReader) OwnerActions(ctx context.Context, slug fieldmark.Slug, kind string,
	after time.Time) ([]time.Time, error) {
	rows, err := db.query(ctx, `SELECT at FROM owner_action WHERE brand = $1 AND kind = $2 AND at > $3 ORDER BY at`,
		string(slug), kind, after.UnixMicro())
	list, err := collect(rows, err, func(row scanner) (at time.Time, err error) {
		return at, row.Scan(exactTime{&at})
	})
	if err != nil {
		return nil, fmt.Errorf("list the actions of the owner of %s: %w", slug, err)
	}
	return list, nil
}

// AddOwnerAction adds an action of the owner of a brand and deletes those of its kind before
// a time.
func (t BrandTx) AddOwnerAction(ctx context.Context, slug fieldmark.Slug, kind string, at, before time.Time) error {
	_, err := t.exec(ctx, `DELETE FROM owner_action WHERE brand = $1 AND kind = $2 AND at < $3`, string(slug), kind,
		before.UnixMicro())
	if err == nil {
		_, err = t.exec(ctx, `INSERT INTO owner_action (brand, kind, at) VALUES ($1, $2, $3)`, string(slug), kind,
			at.UnixMicro())
	}
	if err != nil {
		return fmt.Errorf("add an action of the owner of %s: %w", slug, err)
	}
	return nil
}

// Unlisted returns when the owner of a brand unlisted it; nil if it is listed, or was not by
// its owner.
func (db BrandReader) Unlisted(ctx context.Context, slug fieldmark.Slug) (at *fieldmark.Time, err error) {
	err = db.queryRow(ctx, `SELECT unlisted_at FROM brand WHERE slug = $1`, string(slug)).Scan(nullTime{&at})
	if err != nil {
		return nil, fmt.Errorf("read whether %s is unlisted: %w", slug, queryErr(err))
	}
	return at, nil
}

// SetUnlisted stores when the owner of a brand unlisted it; nil: it is listed.
func (t BrandTx) SetUnlisted(ctx context.Context, slug fieldmark.Slug, at *fieldmark.Time) error {
	_, err := t.exec(ctx, `UPDATE brand SET unlisted_at = $1 WHERE slug = $2`, nullMicros(at), string(slug))
	if err != nil {
		return fmt.Errorf("unlist %s: %w", slug, err)
	}
	return nil
}

// defaultPause is the pause of a brand whose owner set none.
const defaultPause = time.Second

// Wishes reads the crawl settings of the owner of a brand, or the defaults.
func (db BrandReader) Wishes(ctx context.Context, slug fieldmark.Slug) (fieldmark.Wishes, error) {
	w := fieldmark.Wishes{Checks: true, Pause: int(defaultPause / time.Second)}
	rows, err := db.query(ctx, `SELECT checks, pause FROM brand_wishes WHERE brand = $1`, string(slug))
	_, err = collect(rows, err, func(row scanner) (struct{}, error) {
		var checks, pause int64
		err := row.Scan(&checks, &pause)
		w.Checks, w.Pause = checks == 1, int(pause/1000)
		return struct{}{}, err
	})
	if err != nil {
		return w, fmt.Errorf("read the wishes of the owner of %s: %w", slug, err)
	}
	return w, nil
}

// PutWishes stores the crawl settings of the owner of a brand for the site at host.
func (t BrandTx) PutWishes(ctx context.Context, slug fieldmark.Slug, host string, w fieldmark.Wishes) error {
	_, err := t.exec(ctx, `INSERT INTO brand_wishes (brand, host, checks, pause) VALUES ($1, $2, $3, $4)
		ON CONFLICT (brand) DO UPDATE SET host = excluded.host, checks = excluded.checks, pause = excluded.pause`,
		string(slug), host, boolInt(w.Checks), int64(w.Pause)*1000)
	if err != nil {
		return fmt.Errorf("put the wishes of the owner of %s: %w", slug, err)
	}
	return nil
}

// ChecksRefused reports whether the owner of a brand with this host refuses checks of it.
// Without a claim that holds the brand, wishes do not count.
func (db BrandReader) ChecksRefused(ctx context.Context, host string) (bool, error) {
	var n int
	err := db.queryRow(ctx, `SELECT COUNT(*) FROM brand_wishes w WHERE w.host = $1 AND w.checks = 0
		AND EXISTS (SELECT 1 FROM claim c WHERE c.brand = w.brand AND `+holds+`)`, host).Scan(&n)
	if err != nil {
		return false, fmt.Errorf("read whether checks of %s are refused: %w", host, err)
	}
	return n > 0, nil
}

// CrawlPause returns the longest pause between requests that an owner of a brand with this host
// wishes; 0: none does. Without a claim that holds the brand, wishes do not count.
func (db BrandReader) CrawlPause(ctx context.Context, host string) (time.Duration, error) {
	var ms int64
	err := db.queryRow(ctx, `SELECT COALESCE(MAX(w.pause), 0) FROM brand_wishes w WHERE w.host = $1
		AND EXISTS (SELECT 1 FROM claim c WHERE c.brand = w.brand AND `+holds+`)`, host).Scan(&ms)
	if err != nil {
		return 0, fmt.Errorf("read the pause between requests to %s: %w", host, err)
	}
	return time.Duration(ms) * time.Millisecond, nil
}

const brandRequestColumns = `id, brand, account, kind, state, body, requested_at, decided_at, decided_by, answer`

func scanBrandRequest(row scanner) (r fieldmark.BrandRequest, err error) {
	err = row.Scan(&r.ID, &r.Brand, &r.Account, &r.Kind, &r.State, jsonCol{&r.Change}, timeCol{&r.RequestedAt},
		nullTime{&r.DecidedAt}, &r.DecidedBy, &r.Answer)
	return r, queryErr(err)
}

// BrandRequest reads a request; the error is ErrNotFound if it does not exist.
func (db BrandReader) BrandRequest(ctx context.Context, id string) (fieldmark.BrandRequest, error) {
	r, err := scanBrandRequest(db.queryRow(ctx, `SELECT `+brandRequestColumns+` FROM brand_request WHERE id = $1`, id))
	if err != nil {
		return r, fmt.Errorf("read request %s: %w", id, err)
	}
	return r, nil
}

// BrandRequests lists up to limit requests before an id, the newest first. An empty slug is
// all brands, an empty state all states, an empty before the newest.
func (db BrandReader) BrandRequests(ctx context.Context, slug fieldmark.Slug, state fieldmark.RequestState,
	before string, limit int) ([]fieldmark.BrandRequest, error) {
	rows, err := db.query(ctx, `SELECT `+brandRequestColumns+` FROM brand_request WHERE (brand = $1 OR $1 = '')
		AND (state = $2 OR $2 = '') AND (id < $3 OR $3 = '') ORDER BY id DESC LIMIT $4`,
		string(slug), string(state), before, limit)
	list, err := collect(rows, err, scanBrandRequest)
	if err != nil {
		return nil, fmt.Errorf("list the requests of owners: %w", err)
	}
	return list, nil
}

// PutBrandRequest creates a request, or changes its state, its change and its decision.
func (t BrandTx) PutBrandRequest(ctx context.Context, r *fieldmark.BrandRequest) error {
	body, err := jsonText(r.Change)
	if err == nil {
		_, err = t.exec(ctx, `INSERT INTO brand_request (`+brandRequestColumns+`)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
			ON CONFLICT (id) DO UPDATE SET state = excluded.state, body = excluded.body,
				decided_at = excluded.decided_at, decided_by = excluded.decided_by, answer = excluded.answer`,
			r.ID, string(r.Brand), r.Account, string(r.Kind), string(r.State), body, r.RequestedAt.Micros(),
			nullMicros(r.DecidedAt), r.DecidedBy, r.Answer)
	}
	if err != nil {
		return fmt.Errorf("put request %s: %w", r.ID, err)
	}
	return nil
}

// BrandNamed reports whether another public brand in a niche has this name, whatever the
// case of its letters A to Z.
func (db BrandReader) BrandNamed(ctx context.Context, name, niche string, other fieldmark.Slug) (bool, error) {
	var n int
	err := db.queryRow(ctx, `SELECT COUNT(*) FROM brand WHERE niche = $1 AND lower(name) = lower($2) AND slug <> $3
		AND public = 1`, niche, name, string(other)).Scan(&n)
	if err != nil {
		return false, fmt.Errorf("look for brand %q in %s: %w", name, niche, err)
	}
	return n > 0, nil
}

// DisputeQuery selects disputes, the newest first.
type DisputeQuery struct {
	Brand     fieldmark.Slug         // empty: of all brands
	State     fieldmark.DisputeState // empty: all
	Undecided bool                   // only those that can still change
	Decided   bool                   // only those that were settled, upheld or rejected
	Waiting   bool                   // only those that wait for an administrator
	// only undecided ones, and those of owners that were settled, upheld or rejected after
	// this time; zero: all
	Published time.Time
	Signal    string // empty: of all findings
	// of an account that manages the brand; empty: of the public and of owners
	Account string
	Before  string // only ids below this one; empty: from the newest
	Limit   int
}

const disputeColumns = `id, brand, signal, kind, state, body, email, passages, opened_at, decided_at, decided_by,
	answer, account, evidence, facts, rules`

func scanDispute(row scanner) (d fieldmark.Dispute, err error) {
	err = row.Scan(&d.ID, &d.Brand, &d.Signal, &d.Kind, &d.State, &d.Text, &d.Email, jsonCol{&d.Passages},
		timeCol{&d.OpenedAt}, nullTime{&d.DecidedAt}, &d.DecidedBy, &d.Answer, &d.Account,
		jsonCol{&d.Evidence}, jsonCol{&d.Facts}, &d.Rules)
	return d, queryErr(err)
}

// waiting selects disputes that wait for an administrator: those of the public, and those of owners
// whose audit found the same again.
const waiting = `(state = 'in_review' OR state = 'open' AND account = '')`

// CountWaiting counts the disputes and the requests of owners that wait for an administrator, and the
// contests of brands, which also end without one.
func (db BrandReader) CountWaiting(ctx context.Context) (disputes, requests, contests, access int, err error) {
	err = db.queryRow(ctx, `SELECT (SELECT COUNT(*) FROM dispute WHERE state IN ('open', 'in_review') AND `+waiting+`),
		(SELECT COUNT(*) FROM brand_request WHERE state = 'pending'),
		(SELECT COUNT(*) FROM claim WHERE state = 'contested'),
		(SELECT COUNT(*) FROM access_request WHERE state = 'pending')`).Scan(&disputes, &requests, &contests, &access)
	if err != nil {
		return 0, 0, 0, 0, fmt.Errorf("count what waits for a decision: %w", err)
	}
	return disputes, requests, contests, access, nil
}

// Disputes lists disputes.
func (db BrandReader) Disputes(ctx context.Context, q DisputeQuery) ([]fieldmark.Dispute, error) {
	text, args := `SELECT `+disputeColumns+` FROM dispute WHERE 1 = 1`, []any{}
	where := func(column, value string) {
		if value != "" {
			args = append(args, value)
			text += fmt.Sprintf(` AND %s = $%d`, column, len(args))
		}
	}
	where("brand", string(q.Brand))
	where("signal", q.Signal)
	where("account", q.Account)
	where("state", string(q.State))
	if q.Undecided {
		text += ` AND state IN ('open', 'rechecking', 'in_review')`
	}
	if q.Decided {
		text += ` AND state IN ('settled', 'upheld', 'rejected')`
	}
	if q.Waiting {
		text += ` AND ` + waiting
	}
	if !q.Published.IsZero() {
		args = append(args, q.Published.UnixMicro())
		text += fmt.Sprintf(` AND (state IN ('open', 'rechecking', 'in_review') OR account <> ''
			AND state IN ('settled', 'upheld', 'rejected') AND decided_at > $%d)`, len(args))
	}
	if q.Before != "" {
		args = append(args, q.Before)
		text += fmt.Sprintf(` AND id < $%d`, len(args))
	}
	args = append(args, q.Limit)
	rows, err := db.query(ctx, text+fmt.Sprintf(` ORDER BY id DESC LIMIT $%d`, len(args)), args...)
	list, err := collect(rows, err, scanDispute)
	if err != nil {
		return nil, fmt.Errorf("list disputes: %w", err)
	}
	return list, nil
}

// Dispute reads a dispute; the error is ErrNotFound if it does not exist.
func (db BrandReader) Dispute(ctx context.Context, id string) (fieldmark.Dispute, error) {
	d, err := scanDispute(db.queryRow(ctx, `SELECT `+disputeColumns+` FROM dispute WHERE id = $1`, id))
	if err != nil {
		return fieldmark.Dispute{}, fmt.Errorf("read dispute %s: %w", id, err)
	}
	return d, nil
}

// PutDispute creates a dispute, or changes its state and decision.
func (t BrandTx) PutDispute(ctx context.Context, d fieldmark.Dispute) error {
	passages, err := jsonText(d.Passages)
	evidence, evidenceErr := jsonText(d.Evidence)
	facts, factsErr := jsonText(d.Facts)
	if err = errors.Join(err, evidenceErr, factsErr); err == nil {
		_, err = t.exec(ctx, `INSERT INTO dispute (`+disputeColumns+`)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
			ON CONFLICT (id) DO UPDATE SET state = excluded.state, decided_at = excluded.decided_at,
				decided_by = excluded.decided_by, answer = excluded.answer, rules = excluded.rules`,
			d.ID, string(d.Brand), d.Signal, string(d.Kind), string(d.State), d.Text, d.Email, passages,
			d.OpenedAt.Micros(), nullMicros(d.DecidedAt), d.DecidedBy, d.Answer,
			d.Account, evidence, facts, d.Rules)
	}
	if err != nil {
		return fmt.Errorf("put dispute %s: %w", d.ID, err)
	}
	return nil
}

// LapseOwner ends what an account that no longer manages a brand has requested: its disputes, its requests, and
// how the site is crawled. What was decided stays.
func (t BrandTx) LapseOwner(ctx context.Context, slug fieldmark.Slug, account string, at fieldmark.Time) error {
	_, err := t.exec(ctx, `UPDATE dispute SET state = 'lapsed', decided_at = $1 WHERE brand = $2 AND account = $3
		AND account <> '' AND state IN ('open', 'rechecking', 'in_review')`, at.Micros(), string(slug), account)
	if err == nil {
		_, err = t.exec(ctx, `UPDATE brand_request SET state = 'lapsed', decided_at = $1 WHERE brand = $2
			AND account = $3 AND state = 'pending'`, at.Micros(), string(slug), account)
	}
	if err == nil {
		_, err = t.exec(ctx, `DELETE FROM brand_wishes WHERE brand = $1`, string(slug))
	}
	if err != nil {
		return fmt.Errorf("end the disputes and requests of %s by %s: %w", slug, account, err)
	}
	return nil
}

// MailReader reads the addresses that receive digests of brands.
type MailReader struct{ querier }

// MailTx writes them, in a transaction.
type MailTx struct {
	MailReader
	*tx
}

// MailState is the state of an address.
type MailState string

// An address is pending until its holder confirms it, and ended after the relay refused it
// permanently.
const (
	MailPending   MailState = "pending"
	MailConfirmed MailState = "confirmed"
	MailEnded     MailState = "ended"
)

// MailAddress is an address that receives a daily digest of a brand.
type MailAddress struct {
	ID        string
	Brand     fieldmark.Slug
	Account   string // that manages the brand
	Address   string
	State     MailState
	Error     string // of the last attempt; empty: it succeeded
	CreatedAt time.Time
	After     int64     // number of the last event that was sent
	Attempts  int       // started, of the mail that is due
	DueAt     time.Time // of the next mail; zero: none is due
}

const mailColumns = `id, brand, account, address, state, error, created_at, after_event, attempts, due_at`

func scanMailAddress(row scanner) (a MailAddress, err error) {
	err = row.Scan(&a.ID, &a.Brand, &a.Account, &a.Address, &a.State, &a.Error, exactTime{&a.CreatedAt}, &a.After,
		&a.Attempts, exactTime{&a.DueAt})
	return a, queryErr(err)
}

// MailAddress reads an address; the error is ErrNotFound if it does not exist.
func (db MailReader) MailAddress(ctx context.Context, id string) (MailAddress, error) {
	a, err := scanMailAddress(db.queryRow(ctx, `SELECT `+mailColumns+` FROM mail_address WHERE id = $1`, id))
	if err != nil {
		return a, fmt.Errorf("read mail address %s: %w", id, err)
	}
	return a, nil
}

// MailAddresses lists the addresses of a brand that an account added, the oldest first.
func (db MailReader) MailAddresses(ctx context.Context, slug fieldmark.Slug, account string) ([]MailAddress, error) {
	rows, err := db.query(ctx, `SELECT `+mailColumns+` FROM mail_address WHERE brand = $1 AND account = $2 ORDER BY id`,
		string(slug), account)
	list, err := collect(rows, err, scanMailAddress)
	if err != nil {
		return nil, fmt.Errorf("list the mail addresses of %s: %w", slug, err)
	}
	return list, nil
}

// AddMailAddress adds an address.
func (t MailTx) AddMailAddress(ctx context.Context, a *MailAddress) error {
	_, err := t.exec(ctx, `INSERT INTO mail_address (`+mailColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		a.ID, string(a.Brand), a.Account, a.Address, string(a.State), a.Error, a.CreatedAt.UnixMicro(), a.After,
		a.Attempts, exactMicros(a.DueAt))
	if err != nil {
		return fmt.Errorf("add mail address %s: %w", a.ID, err)
	}
	t.touched[TopicMail] = true
	return nil
}

// ConfirmMailAddress marks a pending address as confirmed: its digests begin after an event.
func (t MailTx) ConfirmMailAddress(ctx context.Context, id string, after int64, due time.Time) error {
	_, err := t.exec(ctx, `UPDATE mail_address SET state = 'confirmed', error = '', attempts = 0, after_event = $1,
		due_at = $2 WHERE id = $3 AND state = 'pending'`, after, due.UnixMicro(), id)
	if err != nil {
		return fmt.Errorf("confirm mail address %s: %w", id, err)
	}
	return nil
}

// DeleteMailAddress deletes an address.
func (t MailTx) DeleteMailAddress(ctx context.Context, id string) error {
	if _, err := t.exec(ctx, `DELETE FROM mail_address WHERE id = $1`, id); err != nil {
		return fmt.Errorf("delete mail address %s: %w", id, err)
	}
	return nil
}

// ExpediteMail makes the digests of a brand due now.
func (t MailTx) ExpediteMail(ctx context.Context, slug fieldmark.Slug, now time.Time) error {
	n, err := t.exec(ctx, `UPDATE mail_address SET due_at = $1, attempts = 0 WHERE brand = $2
		AND state = 'confirmed'`, now.UnixMicro(), string(slug))
	if err != nil {
		return fmt.Errorf("make the mail about %s due: %w", slug, err)
	}
	t.touched[TopicMail] = t.touched[TopicMail] || n > 0
	return nil
}

// ClaimDueMail leases up to limit addresses whose mail is due to owner, counts an attempt of
// each, and returns their ids.
func (t MailTx) ClaimDueMail(ctx context.Context, owner string, now, lease time.Time, limit int) ([]string, error) {
	return t.claim(ctx, `UPDATE mail_address SET lease_until = $1, lease_owner = $2, attempts = attempts + 1
		WHERE id IN (SELECT m.id FROM mail_address m WHERE m.due_at <= $3
			AND (m.lease_until IS NULL OR m.lease_until <= $3) ORDER BY m.due_at LIMIT $4)
		RETURNING id`, lease.UnixMicro(), owner, now.UnixMicro(), limit)
}

// EndMail stores the result of an attempt of owner, which ends its lease. An address that was confirmed meanwhile
// keeps what the confirmation stored, with the event after which its digests begin, and mail that was made due again
// stays due.
func (t MailTx) EndMail(ctx context.Context, owner string, was, next *MailAddress) error {
	_, err := t.exec(ctx, `UPDATE mail_address SET lease_until = NULL, lease_owner = NULL,
			after_event = CASE WHEN state = $3 THEN $1 ELSE after_event END,
			error = CASE WHEN state = $3 THEN $2 ELSE error END,
			state = CASE WHEN state = $3 THEN $4 ELSE state END,
			attempts = CASE WHEN due_at = $5 THEN $6 ELSE attempts END,
			due_at = CASE WHEN due_at = $5 OR state = $3 AND $4 = 'ended' THEN $7 ELSE due_at END
		WHERE id = $8 AND lease_owner = $9`, next.After, next.Error, string(was.State), string(next.State),
		was.DueAt.UnixMicro(), next.Attempts, exactMicros(next.DueAt), next.ID, owner)
	if err != nil {
		return fmt.Errorf("end an attempt of mail address %s: %w", next.ID, err)
	}
	return nil
}
