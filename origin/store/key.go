package store

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/fieldmark/fieldmark"
)

// AccessReader reads accounts, API keys, administrators and the audit log.
type AccessReader struct{ querier }

// AccessTx writes accounts, API keys, administrators and the audit log, in a transaction.
type AccessTx struct {
	AccessReader
	*tx
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
		offer, parent)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (id) DO NOTHING`,
		a.ID, a.Name, a.Note, a.CreatedAt.Micros(), keys, a.TimeZone, boolInt(a.DeviceTime), nullText(a.Offer),
		nullText(a.Parent))
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
// are claimed brands, and listed with their claims; sub-accounts are listed with their parents.
const notOfClaim = `a.parent IS NULL AND NOT EXISTS (SELECT 1 FROM claim c WHERE c.account = a.id)`

// CountAccounts counts the accounts that administrators made.
func (t AccessTx) CountAccounts(ctx context.Context) (n int, err error) {
	if err := t.queryRow(ctx, `SELECT COUNT(*) FROM account a WHERE `+notOfClaim).Scan(&n); err != nil {
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
	delete(t.state.labels, a.ID)
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

// HasAccount reports whether there is an account with the given id.
func (t AccessTx) HasAccount(ctx context.Context, id string) (bool, error) {
	var n int64
	if err := t.queryRow(ctx, `SELECT COUNT(*) FROM account WHERE id = $1`, id).Scan(&n); err != nil {
		return false, fmt.Errorf("read account %s: %w", id, err)
	}
	return n > 0, nil
}

// Key is an API key and the hash of its token.
type Key struct {
	fieldmark.Key
	Hash        string // of the token, in base 64
	HashVersion int    // of the hash function
}

const keyColumns = `id, public, hash, hash_version, account, name, scopes, created_at, expires_at, revoked_at,
	last_used_at, rate_reads, rate_writes,
	networks, replaces, replaced_by, replaced_at, revoked_why, used_from, used_by`

// scanKey reads a key, after other columns.
func scanKey(row scanner, before ...any) (k Key, err error) {
	var rate fieldmark.RateLimit
	var replaces, replacedBy *string
	err = row.Scan(append(before, &k.ID, &k.Prefix, &k.Hash, &k.HashVersion, &k.Account, &k.Name, jsonCol{&k.Scopes},
		timeCol{&k.CreatedAt}, nullTime{&k.ExpiresAt}, nullTime{&k.RevokedAt}, nullTime{&k.LastUsedAt}, &rate.Reads,
		&rate.Writes,
		jsonCol{&k.Networks}, &replaces, &replacedBy, nullTime{&k.ReplacedAt}, &k.RevokedReason, &k.LastUsedFrom,
		&k.LastUsedAgent)...)
	if rate != (fieldmark.RateLimit{}) {
		k.RateLimit = &rate
	}
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
		expires_at, rate_reads, rate_writes, networks, replaces)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		k.ID, k.Prefix, k.Hash, k.HashVersion, k.Account, k.Name, scopes, k.CreatedAt.Micros(),
		nullMicros(k.ExpiresAt), rate.Reads, rate.Writes, networks, replaces)
	if err != nil {
		return fmt.Errorf("add key %s: %w", k.ID, err)
	}
	return nil
}

// KeyByPublic reads a key by the public part of its token. Callers may share a
// result and must not change it.
func (s *Store) KeyByPublic(ctx context.Context, public string) (k Key, err error) {
	if s.dialect.Prepare {
		k, err = scanKey(s.queryRow(ctx, `SELECT `+keyColumns+` FROM api_key WHERE public = $1`, public))
	} else {
		k, err = s.keys.Get(ctx, public)
	}
	if err != nil {
		return Key{}, fmt.Errorf("read a key by its public part: %w", queryErr(err))
	}
	return k, nil
}

const keysQuery = `SELECT n.i, ` + keyColumns + ` FROM unnest($1::text[]) WITH ORDINALITY AS n (asked, i),
	LATERAL (SELECT * FROM api_key k WHERE k.public = n.asked LIMIT 1) k`

// loadKeys reads keys for several callers.
func (s *Store) loadKeys(ctx context.Context, publics []string) (map[string]Key, error) {
	names := columns(publics, func(public string) []string { return []string{public} })
	return load(ctx, s, publics, keysQuery, names, scanKey)
}

// Key reads a key; the error is ErrNotFound if it does not exist.
func (t AccessTx) Key(ctx context.Context, id string) (Key, error) {
	k, err := scanKey(t.queryRow(ctx, `SELECT `+keyColumns+` FROM api_key WHERE id = $1`, id))
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

// OfferReader reads offers.
type OfferReader struct{ querier }

// OfferTx writes offers and reads the accounts under them, in a transaction.
type OfferTx struct {
	OfferReader
	*tx
}

const offerColumns = `o.id, o.name, o.kind, o.reads, o.writes, o.endpoints, o.missions, o.history_days, o.max_key_days,
	o.scopes, o.note, o.version, o.created_at, o.updated_at, (SELECT COUNT(*) FROM account a WHERE a.offer = o.id)`

func scanOffer(row scanner) (o fieldmark.Offer, err error) {
	l := &o.Limits
	err = row.Scan(&o.ID, &o.Name, &o.Kind, &l.ReadsPerMinute, &l.WritesPerMinute, &l.Endpoints, &l.MissionsPerDay,
		&l.HistoryDays, &o.MaxKeyDays, jsonCol{&o.Scopes}, &o.Note, &o.Version, timeCol{&o.CreatedAt},
		timeCol{&o.UpdatedAt}, &o.Accounts)
	return o, queryErr(err)
}

// Offer reads an offer; the error is ErrNotFound if it does not exist.
func (db OfferReader) Offer(ctx context.Context, id string) (fieldmark.Offer, error) {
	o, err := scanOffer(db.queryRow(ctx, `SELECT `+offerColumns+` FROM offer o WHERE o.id = $1`, id))
	if err != nil {
		return o, fmt.Errorf("read offer %s: %w", id, err)
	}
	return o, nil
}

// Offers lists offers by id.
func (db OfferReader) Offers(ctx context.Context, limit int) ([]fieldmark.Offer, error) {
	rows, err := db.query(ctx, `SELECT `+offerColumns+` FROM offer o ORDER BY o.id LIMIT $1`, limit)
	list, err := collect(rows, err, scanOffer)
	if err != nil {
		return nil, fmt.Errorf("list offers: %w", err)
	}
	return list, nil
}

// PutOffer creates or replaces an offer.
func (t OfferTx) PutOffer(ctx context.Context, o *fieldmark.Offer) error {
	if o.Scopes == nil {
		o.Scopes = []fieldmark.Scope{}
	}
	scopes, err := jsonText(o.Scopes)
	if err != nil {
		return fmt.Errorf("write the scopes of offer %s: %w", o.ID, err)
	}
	l := o.Limits
	_, err = t.exec(ctx, `INSERT INTO offer (id, name, kind, reads, writes, endpoints, missions, history_days,
		max_key_days, scopes, note, version, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, kind = excluded.kind, reads = excluded.reads,
			writes = excluded.writes, endpoints = excluded.endpoints, missions = excluded.missions,
			history_days = excluded.history_days, max_key_days = excluded.max_key_days, scopes = excluded.scopes,
			note = excluded.note, version = excluded.version, updated_at = excluded.updated_at`,
		o.ID, o.Name, string(o.Kind), l.ReadsPerMinute, l.WritesPerMinute, l.Endpoints, l.MissionsPerDay,
		l.HistoryDays, o.MaxKeyDays, scopes, o.Note, o.Version, o.CreatedAt.Micros(), o.UpdatedAt.Micros())
	if err != nil {
		return fmt.Errorf("put offer %s: %w", o.ID, err)
	}
	return nil
}

// DeleteOffer deletes an offer that no account has.
func (t OfferTx) DeleteOffer(ctx context.Context, id string) error {
	if _, err := t.exec(ctx, `DELETE FROM offer WHERE id = $1`, id); err != nil {
		return fmt.Errorf("delete offer %s: %w", id, err)
	}
	return nil
}

// SubAccountsUnder counts the sub-accounts of all accounts with an offer.
func (t OfferTx) SubAccountsUnder(ctx context.Context, offer string) (n int, err error) {
	err = t.queryRow(ctx, `SELECT COUNT(*) FROM account a JOIN account p ON p.id = a.parent
		WHERE p.offer = $1 AND a.removed_at IS NULL`, offer).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the sub-accounts under offer %s: %w", offer, err)
	}
	return n, nil
}

// CountSubAccounts counts the sub-accounts of an account.
func (t OfferTx) CountSubAccounts(ctx context.Context, parent string) (n int, err error) {
	err = t.queryRow(ctx, `SELECT COUNT(*) FROM account WHERE parent = $1 AND removed_at IS NULL`, parent).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the sub-accounts of %s: %w", parent, err)
	}
	return n, nil
}
