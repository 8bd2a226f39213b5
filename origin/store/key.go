package store

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/fieldmark/fieldmark"
)

// Accounts, API keys and requests for keys.

// AccessReader reads accounts, API keys, administrators and the audit log.
type AccessReader struct{ querier }

// AccessTx writes accounts, API keys, administrators and the audit log, in a transaction.
type AccessTx struct {
	AccessReader
	*tx
}

// Now returns the time of an account: the real time or, in a test world, the real time plus the
// offset of its clock.
func (t *tx) Now(ctx context.Context, account string) (time.Time, error) {
	now := time.Now()
	if !fieldmark.IsTestAccount(account) {
		return now, nil
	}
	a, err := t.account(ctx, account)
	return now.Add(a.clockOffset), err
}

// Now is Tx.Now outside of a transaction.
func (db AccessReader) Now(ctx context.Context, account string) (time.Time, error) {
	now := time.Now()
	if !fieldmark.IsTestAccount(account) {
		return now, nil
	}
	var offset int64
	err := queryErr(db.queryRow(ctx, `SELECT clock_offset FROM account WHERE id = $1`, account).Scan(&offset))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return now, fmt.Errorf("read the clock of %s: %w", account, err)
	}
	return now.Add(time.Duration(offset) * time.Microsecond), nil
}

// PutAccount creates an account unless it exists.
func (t AccessTx) PutAccount(ctx context.Context, id string, at fieldmark.Time) error {
	_, err := t.exec(ctx, `INSERT INTO account (id, created_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING`, id,
		at.Micros())
	if err != nil {
		return fmt.Errorf("put account %s: %w", id, err)
	}
	return nil
}

// AddAccount creates an account and reports whether its id was free.
func (t AccessTx) AddAccount(ctx context.Context, a fieldmark.Account) (bool, error) {
	keys, err := jsonText(a.FilterLabels)
	if err != nil {
		return false, fmt.Errorf("add account %s: %w", a.ID, err)
	}
	n, err := t.exec(ctx, `INSERT INTO account (id, name, note, created_at, filter_labels, time_zone, device_time,
		offer, parent, world)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (id) DO NOTHING`,
		a.ID, a.Name, a.Note, a.CreatedAt.Micros(), keys, a.TimeZone, boolInt(a.DeviceTime), nullText(a.Offer),
		nullText(a.Parent), fieldmark.World(a.ID))
	if err != nil {
		return false, fmt.Errorf("add account %s: %w", a.ID, err)
	}
	return n == 1, nil
}

// nullText returns a text for a nullable column: empty is NULL.
func nullText(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// notOfClaim selects accounts that administrators made: those of claims are as many as there
// are claimed brands, and listed with their claims; sub-accounts are listed with their parents, and
// test accounts belong to no list of live data.
const notOfClaim = `a.parent IS NULL AND a.world = '' AND NOT EXISTS (SELECT 1 FROM claim c WHERE c.account = a.id)`

// CountAccounts counts the accounts that administrators made.
func (r AccessReader) CountAccounts(ctx context.Context) (n int, err error) {
	if err := r.queryRow(ctx, `SELECT COUNT(*) FROM account a WHERE `+notOfClaim).Scan(&n); err != nil {
		return 0, fmt.Errorf("count accounts: %w", err)
	}
	return n, nil
}

// UpdateAccount changes the settings of an account. If reindex is
// set, the labels of its missions are indexed again, in the background.
func (t AccessTx) UpdateAccount(ctx context.Context, a fieldmark.Account, reindex bool) error {
	keys, err := jsonText(a.FilterLabels)
	if err != nil {
		return fmt.Errorf("update account %s: %w", a.ID, err)
	}
	_, err = t.exec(ctx, `UPDATE account SET name = $1, note = $2, filter_labels = $3, time_zone = $4, device_time = $5,
		labels_indexed = CASE WHEN $6 = 1 THEN '' ELSE labels_indexed END, offer = $7 WHERE id = $8`, a.Name, a.Note,
		keys, a.TimeZone, boolInt(a.DeviceTime), boolInt(reindex), nullText(a.Offer), a.ID)
	if err != nil {
		return fmt.Errorf("update account %s: %w", a.ID, err)
	}
	clear(t.state.accounts) // of its sub-accounts, too
	t.touched[TopicLabels] = t.touched[TopicLabels] || reindex
	return nil
}

const accountColumns = `id, name, note, created_at, filter_labels, time_zone, device_time, COALESCE(offer, ''),
	COALESCE(parent, '')`

func scanAccount(row scanner) (a fieldmark.Account, err error) {
	var deviceTime int64
	err = row.Scan(&a.ID, &a.Name, &a.Note, timeCol{&a.CreatedAt}, jsonCol{&a.FilterLabels}, &a.TimeZone, &deviceTime,
		&a.Offer, &a.Parent)
	a.DeviceTime = deviceTime != 0
	return a, queryErr(err)
}

// Account reads an account; the error is ErrNotFound if it does not exist.
func (db AccessReader) Account(ctx context.Context, id string) (fieldmark.Account, error) {
	a, err := scanAccount(db.queryRow(ctx, `SELECT `+accountColumns+` FROM account WHERE id = $1`, id))
	if err != nil {
		return a, fmt.Errorf("read account %s: %w", id, err)
	}
	return a, nil
}

// Accounts lists the accounts that administrators made, by id.
func (db AccessReader) Accounts(ctx context.Context, limit int) ([]fieldmark.Account, error) {
	rows, err := db.query(ctx, `SELECT `+accountColumns+` FROM account a WHERE `+notOfClaim+`
		ORDER BY id LIMIT $1`, limit)
	list, err := collect(rows, err, scanAccount)
	if err != nil {
		return nil, fmt.Errorf("list accounts: %w", err)
	}
	return list, nil
}

// HasAccount reports whether there is an account with the given id that was not removed.
func (t AccessTx) HasAccount(ctx context.Context, id string) (bool, error) {
	var n int64
	if err := t.queryRow(ctx, `SELECT COUNT(*) FROM account WHERE id = $1 AND removed_at IS NULL`,
		id).Scan(&n); err != nil {
		return false, fmt.Errorf("read account %s: %w", id, err)
	}
	return n > 0, nil
}

// Key is an API key and the hash of its token.
type Key struct {
	fieldmark.Key
	Hash        string // of the token, in base 64
	HashVersion int    // of the hash function

	// Of the account, set by KeyByPublic.
	Group string          // the account whose limits apply: its parent, or itself
	Offer fieldmark.Offer // kind, rates and scopes; zero: none
}

const keyColumns = `id, public, hash, hash_version, account, name, scopes, created_at, expires_at, revoked_at,
	last_used_at, rate_reads, rate_writes,
	networks, replaces, replaced_by, replaced_at, revoked_why, used_from, used_by, agent, agent_writes`

// scanKey reads a key, after other columns.
func scanKey(row scanner, before ...any) (k Key, err error) {
	var rate fieldmark.RateLimit
	var replaces, replacedBy *string
	err = row.Scan(append(before, &k.ID, &k.Prefix, &k.Hash, &k.HashVersion, &k.Account, &k.Name, jsonCol{&k.Scopes},
		timeCol{&k.CreatedAt}, nullTime{&k.ExpiresAt}, nullTime{&k.RevokedAt}, nullTime{&k.LastUsedAt}, &rate.Reads,
		&rate.Writes,
		jsonCol{&k.Networks}, &replaces, &replacedBy, nullTime{&k.ReplacedAt}, &k.RevokedReason, &k.LastUsedFrom,
		&k.LastUsedAgent, &k.Agent, &k.AgentWritesPerDay)...)
	if rate != (fieldmark.RateLimit{}) {
		k.RateLimit = &rate
	}
	k.Test = fieldmark.IsTestAccount(k.Account)
	if replaces != nil {
		k.Replaces = *replaces
	}
	if replacedBy != nil {
		k.ReplacedBy = *replacedBy
	}
	return k, queryErr(err)
}

// AddKey adds a key.
func (t AccessTx) AddKey(ctx context.Context, k *Key) error {
	scopes, err := jsonText(k.Scopes)
	if err != nil {
		return fmt.Errorf("write the scopes of key %s: %w", k.ID, err)
	}
	if k.Networks == nil {
		k.Networks = []netip.Prefix{}
	}
	networks, err := jsonText(k.Networks)
	if err != nil {
		return fmt.Errorf("write the networks of key %s: %w", k.ID, err)
	}
	var rate fieldmark.RateLimit
	if k.RateLimit != nil {
		rate = *k.RateLimit
	}
	var replaces any
	if k.Replaces != "" {
		replaces = k.Replaces
	}
	_, err = t.exec(ctx, `INSERT INTO api_key (id, public, hash, hash_version, account, name, scopes, created_at,
		expires_at, rate_reads, rate_writes, networks, replaces, agent, agent_writes)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
		k.ID, k.Prefix, k.Hash, k.HashVersion, k.Account, k.Name, scopes, k.CreatedAt.Micros(),
		nullMicros(k.ExpiresAt), rate.Reads, rate.Writes, networks, replaces, k.Agent, k.AgentWritesPerDay)
	if err != nil {
		return fmt.Errorf("add key %s: %w", k.ID, err)
	}
	return nil
}

// CountAgentWrite counts a write of an agent with a key in a day, and reports whether there were
// fewer than limit.
func (t AccessTx) CountAgentWrite(ctx context.Context, key string, at time.Time, limit int) (bool, error) {
	day := at.Unix() / int64(24*time.Hour/time.Second)
	_, err := t.exec(ctx, `DELETE FROM agent_write WHERE key_id = $1 AND day < $2`, key, day)
	if err != nil {
		return false, fmt.Errorf("delete old agent writes of key %s: %w", key, err)
	}
	n, err := t.exec(ctx, `INSERT INTO agent_write (key_id, day, writes) VALUES ($1, $2, 1)
		ON CONFLICT (key_id, day) DO UPDATE SET writes = agent_write.writes + 1 WHERE agent_write.writes < $3`,
		key, day, limit)
	if err != nil {
		return false, fmt.Errorf("count an agent write of key %s: %w", key, err)
	}
	return n == 1, nil
}

// offerOfKey adds columns of the offer to those of a key. Their names differ from those of table
// api_key.
const offerOfKey = `JOIN (SELECT a.id AS of_account, g.id AS of_group, COALESCE(o.kind, '') AS offer_kind,
	COALESCE(o.reads, 0) AS offer_reads, COALESCE(o.writes, 0) AS offer_writes,
	COALESCE(o.scopes, '[]') AS offer_scopes FROM account a JOIN account g ON g.id = COALESCE(a.parent, a.id)
	LEFT JOIN offer o ON o.id = g.offer) of_key ON of_account = account`

const offerKeyColumns = `of_group, offer_kind, offer_reads, offer_writes, offer_scopes, ` + keyColumns

// scanOfferKey reads a key with its offer, after other columns.
func scanOfferKey(row scanner, before ...any) (Key, error) {
	var group string
	var o fieldmark.Offer
	k, err := scanKey(row, append(before, &group, &o.Kind, &o.Limits.ReadsPerMinute, &o.Limits.WritesPerMinute,
		jsonCol{&o.Scopes})...)
	k.Group, k.Offer = group, o
	return k, err
}

// KeyByPublic reads a key by the public part of its token, with the offer of its account. Callers
// may share a result and must not change it.
func (s *Store) KeyByPublic(ctx context.Context, public string) (k Key, err error) {
	if s.dialect.Prepare {
		k, err = keyWithOffer(ctx, s, "public", public)
	} else {
		k, err = s.keys.Get(ctx, public)
	}
	if err != nil {
		return Key{}, fmt.Errorf("read a key by its public part: %w", queryErr(err))
	}
	return k, nil
}

// KeyWithOffer is KeyByPublic by the id of the key.
func (s *Store) KeyWithOffer(ctx context.Context, id string) (k Key, err error) {
	if s.dialect.Prepare {
		k, err = keyWithOffer(ctx, s, "id", id)
	} else {
		k, err = s.ids.Get(ctx, id)
	}
	if err != nil {
		return Key{}, fmt.Errorf("read key %s: %w", id, queryErr(err))
	}
	return k, nil
}

// keyWithOffer reads the key that has a value in a column.
func keyWithOffer(ctx context.Context, db querier, column, value string) (Key, error) {
	return scanOfferKey(db.queryRow(ctx, `SELECT `+offerKeyColumns+` FROM api_key `+offerOfKey+`
		WHERE api_key.`+column+` = $1`, value))
}

// loadKeys returns a function that reads keys for several callers, by the values of a column.
func loadKeys(db querier, column string) func(context.Context, []string) (map[string]Key, error) {
	query := `SELECT n.i, ` + offerKeyColumns + ` FROM unnest($1::text[]) WITH ORDINALITY AS n (asked, i),
		LATERAL (SELECT * FROM api_key k WHERE k.` + column + ` = n.asked LIMIT 1) k ` + offerOfKey
	return func(ctx context.Context, values []string) (map[string]Key, error) {
		return load(ctx, db, values, query, []any{values}, scanOfferKey)
	}
}

// Key reads a key; the error is ErrNotFound if it does not exist.
func (db AccessReader) Key(ctx context.Context, id string) (Key, error) {
	k, err := scanKey(db.queryRow(ctx, `SELECT `+keyColumns+` FROM api_key WHERE id = $1`, id))
	if err != nil {
		return Key{}, fmt.Errorf("read key %s: %w", id, err)
	}
	return k, nil
}

// Keys lists up to limit keys, the newest first.
func (db AccessReader) Keys(ctx context.Context, limit int) ([]Key, error) {
	rows, err := db.query(ctx, `SELECT `+keyColumns+` FROM api_key ORDER BY id DESC LIMIT $1`, limit)
	list, err := collect(rows, err, func(row scanner) (Key, error) { return scanKey(row) })
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	return list, nil
}

// LiveKeys counts the keys of an account that are neither revoked nor expired.
func (t AccessTx) LiveKeys(ctx context.Context, account string, now time.Time) (n int, err error) {
	err = t.queryRow(ctx, `SELECT COUNT(*) FROM api_key WHERE account = $1 AND revoked_at IS NULL
		AND (expires_at IS NULL OR expires_at > $2)`, account, now.UnixMicro()).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the keys of %s: %w", account, err)
	}
	return n, nil
}

// NewestKey returns the id of the newest key, or "".
func (t AccessTx) NewestKey(ctx context.Context) (string, error) {
	return t.newest(ctx, `SELECT COALESCE(MAX(id), '') FROM api_key`)
}

// RevokeKey marks a key as revoked, for a reason.
func (t AccessTx) RevokeKey(ctx context.Context, id string, at fieldmark.Time, why string) error {
	if _, err := t.exec(ctx, `UPDATE api_key SET revoked_at = $1, revoked_why = $2 WHERE id = $3`, at.Micros(), why,
		id); err != nil {
		return fmt.Errorf("revoke key %s: %w", id, err)
	}
	return nil
}

// ReplaceKey stores which key replaces a key, and when the old one expires.
func (t AccessTx) ReplaceKey(ctx context.Context, id, by string, at fieldmark.Time, ends *fieldmark.Time) error {
	_, err := t.exec(ctx, `UPDATE api_key SET replaced_by = $1, replaced_at = $2, expires_at = $3 WHERE id = $4`, by,
		at.Micros(), nullMicros(ends), id)
	if err != nil {
		return fmt.Errorf("replace key %s: %w", id, err)
	}
	return nil
}

// ExpiringKeys returns up to limit active keys that have no replacement, expire
// before a time, and whose account was not notified within the last days of the
// key.
func (t AccessTx) ExpiringKeys(ctx context.Context, now, before time.Time, days, limit int) ([]Key, error) {
	rows, err := t.query(ctx, `SELECT `+keyColumns+` FROM api_key WHERE expires_at > $1 AND expires_at <= $2
		AND revoked_at IS NULL AND replaced_by IS NULL AND (told_days = 0 OR told_days > $3) ORDER BY id LIMIT $4`,
		now.UnixMicro(), before.UnixMicro(), days, limit)
	list, err := collect(rows, err, func(row scanner) (Key, error) { return scanKey(row) })
	if err != nil {
		return nil, fmt.Errorf("list expiring keys: %w", err)
	}
	return list, nil
}

// MarkExpiryNotified stores that the account was notified some days before its
// key expires.
func (t AccessTx) MarkExpiryNotified(ctx context.Context, id string, days int) error {
	if _, err := t.exec(ctx, `UPDATE api_key SET told_days = $1 WHERE id = $2`, days, id); err != nil {
		return fmt.Errorf("mark the expiry of key %s as notified: %w", id, err)
	}
	return nil
}

// TouchKey stores when a key was used, from which network and by which program.
func (t AccessTx) TouchKey(ctx context.Context, id string, at time.Time, from, by string) error {
	_, err := t.exec(ctx, `UPDATE api_key SET last_used_at = $1, used_from = $2, used_by = $3 WHERE id = $4`,
		at.UnixMicro(), from, by, id)
	if err != nil {
		return fmt.Errorf("touch key %s: %w", id, err)
	}
	return nil
}

// AccessRequestReader reads requests for API keys.
type AccessRequestReader struct{ querier }

// AccessRequestTx writes them, in a transaction.
type AccessRequestTx struct {
	AccessRequestReader
	*tx
}

// AccessRequest is a request for an API key, as it is stored.
type AccessRequest struct {
	ID        string
	Hash      string // MAC of the secret
	Network   string // MAC of the client network that sent it
	Contact   string // MAC of the e-mail address
	State     fieldmark.AccessState
	CreatedAt time.Time
	EndsAt    time.Time // when an approved request expires, or another one is deleted
	DueAt     time.Time // of mail to the contact; zero: none is due
	Attempts  int       // started, of that mail
	AccessRequestBody
}

// AccessRequestBody is the part of a request that is stored as a document.
type AccessRequestBody struct {
	Form      fieldmark.AccessRequestForm `json:"form"`
	DecidedAt *fieldmark.Time             `json:"decidedAt,omitempty"`
	DecidedBy string                      `json:"decidedBy,omitempty"`
	Reason    string                      `json:"reason,omitempty"`
	Grant     *fieldmark.AccessGrant      `json:"grant,omitempty"`
	IssuedAt  *fieldmark.Time             `json:"issuedAt,omitempty"`
	KeyID     string                      `json:"keyId,omitempty"`
}

const accessRequestColumns = `id, hash, network, contact, state, created_at, ends_at, due_at, attempts, body`

func scanAccessRequest(row scanner) (r AccessRequest, err error) {
	err = row.Scan(&r.ID, &r.Hash, &r.Network, &r.Contact, &r.State, exactTime{&r.CreatedAt}, exactTime{&r.EndsAt},
		exactTime{&r.DueAt}, &r.Attempts, jsonCol{&r.AccessRequestBody})
	return r, queryErr(err)
}

// AccessRequest reads a request; the error is ErrNotFound if it does not exist.
func (db AccessRequestReader) AccessRequest(ctx context.Context, id string) (AccessRequest, error) {
	r, err := scanAccessRequest(db.queryRow(ctx, `SELECT `+accessRequestColumns+` FROM access_request
		WHERE id = $1`, id))
	if err != nil {
		return r, fmt.Errorf("read access request %s: %w", id, err)
	}
	return r, nil
}

// AccessRequestByHash reads the request whose secret has a hash.
func (db AccessRequestReader) AccessRequestByHash(ctx context.Context, hash string) (AccessRequest, error) {
	r, err := scanAccessRequest(db.queryRow(ctx, `SELECT `+accessRequestColumns+` FROM access_request
		WHERE hash = $1`, hash))
	if err != nil {
		return r, fmt.Errorf("read an access request by its secret: %w", err)
	}
	return r, nil
}

// AccessRequests lists up to limit requests before an id, the newest first. Empty arguments do not
// restrict the list.
func (db AccessRequestReader) AccessRequests(ctx context.Context, state fieldmark.AccessState, before string,
	limit int) ([]AccessRequest, error) {
	rows, err := db.query(ctx, `SELECT `+accessRequestColumns+` FROM access_request WHERE (state = $1 OR $1 = '')
		AND (id < $2 OR $2 = '') ORDER BY id DESC LIMIT $3`, string(state), before, limit)
	list, err := collect(rows, err, scanAccessRequest)
	if err != nil {
		return nil, fmt.Errorf("list access requests: %w", err)
	}
	return list, nil
}

// CountAccessRequests counts the requests that a network sent since a time, those that name a
// contact since then, and all that are pending.
func (t AccessRequestTx) CountAccessRequests(ctx context.Context, network, contact string,
	since time.Time) (sent, named, pending int, err error) {
	if err := t.queryRow(ctx, `SELECT
		(SELECT COUNT(*) FROM access_request WHERE network = $1 AND created_at > $3),
		(SELECT COUNT(*) FROM access_request WHERE contact = $2 AND created_at > $3),
		(SELECT COUNT(*) FROM access_request WHERE state = 'pending')`, network, contact,
		since.UnixMicro()).Scan(&sent, &named, &pending); err != nil {
		return 0, 0, 0, fmt.Errorf("count access requests: %w", err)
	}
	return sent, named, pending, nil
}

// AddAccessRequest adds a request.
func (t AccessRequestTx) AddAccessRequest(ctx context.Context, r *AccessRequest) error {
	body, err := jsonText(r.AccessRequestBody)
	if err != nil {
		return fmt.Errorf("encode access request %s: %w", r.ID, err)
	}
	_, err = t.exec(ctx, `INSERT INTO access_request (`+accessRequestColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, r.ID, r.Hash, r.Network, r.Contact, string(r.State),
		r.CreatedAt.UnixMicro(), r.EndsAt.UnixMicro(), exactMicros(r.DueAt), r.Attempts, body)
	if err != nil {
		return fmt.Errorf("add access request %s: %w", r.ID, err)
	}
	t.touched[TopicAccessMail] = true
	return nil
}

// MoveAccessRequest stores a request with its new state and reports whether it was in the state from:
// of two transactions that move it at once, one does. The lease of a mail that is being sent stays: without it, this
// process could claim the mail about the new state, and the end of the earlier mail would end that claim.
func (t AccessRequestTx) MoveAccessRequest(ctx context.Context, r *AccessRequest,
	from fieldmark.AccessState) (bool, error) {
	body, err := jsonText(r.AccessRequestBody)
	if err != nil {
		return false, fmt.Errorf("encode access request %s: %w", r.ID, err)
	}
	n, err := t.exec(ctx, `UPDATE access_request SET state = $1, ends_at = $2, due_at = $3, attempts = 0, body = $4
		WHERE id = $5 AND state = $6`, string(r.State), r.EndsAt.UnixMicro(),
		exactMicros(r.DueAt), body, r.ID, string(from))
	if err != nil {
		return false, fmt.Errorf("move access request %s: %w", r.ID, err)
	}
	t.touched[TopicAccessMail] = true
	return n == 1, nil
}

// EndAccessRequests ends what is due: approved requests expire and are deleted later, and others are
// deleted now.
func (t AccessRequestTx) EndAccessRequests(ctx context.Context, now, deleted time.Time) error {
	if _, err := t.exec(ctx, `DELETE FROM access_request WHERE ends_at <= $1 AND state <> 'approved'`,
		now.UnixMicro()); err != nil {
		return fmt.Errorf("delete access requests: %w", err)
	}
	if _, err := t.exec(ctx, `UPDATE access_request SET state = 'expired', ends_at = $1
		WHERE ends_at <= $2 AND state = 'approved'`, deleted.UnixMicro(), now.UnixMicro()); err != nil {
		return fmt.Errorf("expire access requests: %w", err)
	}
	return nil
}

// ClaimDueAccessMail leases up to limit requests whose mail is due to owner, counts an attempt of
// each, and returns their ids.
func (t AccessRequestTx) ClaimDueAccessMail(ctx context.Context, owner string, now, lease time.Time,
	limit int) ([]string, error) {
	return t.claim(ctx, `UPDATE access_request SET lease_until = $1, lease_owner = $2, attempts = attempts + 1
		WHERE id IN (SELECT r.id FROM access_request r WHERE r.due_at <= $3
			AND (r.lease_until IS NULL OR r.lease_until <= $3) ORDER BY r.due_at LIMIT $4)
		RETURNING id`, lease.UnixMicro(), owner, now.UnixMicro(), limit)
}

// EndAccessMail stores when the next attempt of the mail about was, a request as it was read during the attempt of
// owner, is due, zero after the last, and ends the lease. The mail about a request that was moved meanwhile stays due.
func (t AccessRequestTx) EndAccessMail(ctx context.Context, owner string, was *AccessRequest, next time.Time) error {
	if _, err := t.exec(ctx, `UPDATE access_request SET lease_until = NULL, lease_owner = NULL,
			due_at = CASE WHEN state = $1 AND due_at = $2 THEN $3 ELSE due_at END
		WHERE id = $4 AND lease_owner = $5`, string(was.State), exactMicros(was.DueAt), exactMicros(next), was.ID,
		owner); err != nil {
		return fmt.Errorf("end the mail of access request %s: %w", was.ID, err)
	}
	return nil
}
