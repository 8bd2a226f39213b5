package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
)

// TLS certificates with their orders, and the keys that sign requests.

// CertificateReader reads TLS certificates, their orders and the open challenges.
type CertificateReader struct{ querier }

// CertificateTx writes them, in a transaction.
type CertificateTx struct {
	CertificateReader
	*tx
}

// Certificate is the TLS certificate of a name, with its sealed key. Zero times are unset.
type Certificate struct {
	Name                string
	Source              fieldmark.CertificateSource
	Chain, Key          string // PEM, and sealed; empty until the first is issued
	NotBefore, NotAfter time.Time
	RenewAt             time.Time
	DueAt               time.Time // when the name needs work: an order, or a question about its renewal
	Challenge           string    // kind that is used next
	Failures            int       // since the last success
	LastError           string
	LimitedUntil        time.Time // no order before
	Ordering            bool      // an order is open; not written
}

const certificateColumns = `name, source, chain, sealed_key, not_before, not_after, renew_at, due_at, challenge,
	failures, last_error, limited_until,
	EXISTS (SELECT 1 FROM acme_order o WHERE o.name = certificate.name AND o.ended_at IS NULL)`

func scanCertificate(row scanner) (c Certificate, err error) {
	err = queryErr(row.Scan(&c.Name, &c.Source, &c.Chain, &c.Key, exactTime{&c.NotBefore}, exactTime{&c.NotAfter},
		exactTime{&c.RenewAt}, exactTime{&c.DueAt}, &c.Challenge, &c.Failures, &c.LastError,
		exactTime{&c.LimitedUntil}, &c.Ordering))
	return c, err
}

// Certificate reads the certificate of a name; the error is ErrNotFound if there is no such
// name.
func (db CertificateReader) Certificate(ctx context.Context, name string) (Certificate, error) {
	c, err := scanCertificate(db.queryRow(ctx, `SELECT `+certificateColumns+` FROM certificate WHERE name = $1`, name))
	if err != nil {
		return c, fmt.Errorf("read the certificate of %s: %w", name, err)
	}
	return c, nil
}

// Certificates lists up to limit certificates by name.
func (db CertificateReader) Certificates(ctx context.Context, limit int) ([]Certificate, error) {
	rows, err := db.query(ctx, `SELECT `+certificateColumns+` FROM certificate ORDER BY name LIMIT $1`, limit)
	list, err := collect(rows, err, scanCertificate)
	if err != nil {
		return nil, fmt.Errorf("list certificates: %w", err)
	}
	return list, nil
}

// DueCertificates lists up to limit names that need work and that no worker has leased.
func (db CertificateReader) DueCertificates(ctx context.Context, now time.Time, limit int) ([]string, error) {
	rows, err := db.query(ctx, `SELECT name FROM certificate WHERE due_at <= $1
		AND (lease_until IS NULL OR lease_until <= $1) ORDER BY due_at, name LIMIT $2`, now.UnixMicro(), limit)
	names, err := collect(rows, err, scanText)
	if err != nil {
		return nil, fmt.Errorf("list due certificates: %w", err)
	}
	return names, nil
}

// CountFailingCertificates counts the names whose last order failed.
func (db CertificateReader) CountFailingCertificates(ctx context.Context) (n int, err error) {
	if err := db.queryRow(ctx, `SELECT COUNT(*) FROM certificate WHERE failures > 0`).Scan(&n); err != nil {
		return 0, fmt.Errorf("count failing certificates: %w", queryErr(err))
	}
	return n, nil
}

// AddCertificate adds a name that needs its first certificate, unless it exists.
func (t CertificateTx) AddCertificate(ctx context.Context, name string, now time.Time) (added bool, err error) {
	n, err := t.exec(ctx, `INSERT INTO certificate (name, source, due_at) VALUES ($1, $2, $3)
		ON CONFLICT (name) DO NOTHING`, name, string(fieldmark.CertificateACME), now.UnixMicro())
	if err != nil {
		return false, fmt.Errorf("add the name %s: %w", name, err)
	}
	t.touched[TopicCertificates] = true
	return n > 0, nil
}

// ClaimCertificate leases a due name to owner, and reports whether it was still free.
func (t CertificateTx) ClaimCertificate(ctx context.Context, name, owner string, now, lease time.Time) (bool, error) {
	n, err := t.exec(ctx, `UPDATE certificate SET lease_until = $1, lease_owner = $2 WHERE name = $3 AND due_at <= $4
		AND (lease_until IS NULL OR lease_until <= $4)`, lease.UnixMicro(), owner, name, now.UnixMicro())
	if err != nil {
		return false, fmt.Errorf("claim the certificate of %s: %w", name, err)
	}
	return n > 0, nil
}

// UpdateCertificate stores the certificate of a name and ends the lease of the name. With an
// owner it does so only if that worker still has the lease, and reports whether it has.
func (t CertificateTx) UpdateCertificate(ctx context.Context, c Certificate, owner string) (bool, error) {
	n, err := t.exec(ctx, `UPDATE certificate SET source = $2, chain = $3, sealed_key = $4, not_before = $5,
			not_after = $6, renew_at = $7, due_at = $8, failures = $9, last_error = $10, limited_until = $11,
			challenge = $12, lease_until = NULL, lease_owner = NULL
		WHERE name = $1 AND (lease_owner = $13 OR $13 = '')`,
		c.Name, string(c.Source), c.Chain, c.Key, exactMicros(c.NotBefore), exactMicros(c.NotAfter),
		exactMicros(c.RenewAt), exactMicros(c.DueAt), c.Failures, c.LastError, exactMicros(c.LimitedUntil), c.Challenge,
		owner)
	if err != nil {
		return false, fmt.Errorf("store the certificate of %s: %w", c.Name, err)
	}
	t.touched[TopicCertificates] = true
	return n > 0, nil
}

// DeleteCertificate removes a name with its orders and challenges.
func (t CertificateTx) DeleteCertificate(ctx context.Context, name string) error {
	for _, text := range []string{`DELETE FROM acme_challenge WHERE name = $1`,
		`UPDATE acme_order SET ended_at = ordered_at, error = 'the name was removed' WHERE name = $1
			AND ended_at IS NULL`,
		`DELETE FROM certificate WHERE name = $1`} {
		if _, err := t.exec(ctx, text, name); err != nil {
			return fmt.Errorf("remove the certificate of %s: %w", name, err)
		}
	}
	return nil
}

// CertificateOrder is an order at a CA.
type CertificateOrder struct {
	ID        string // of the row
	Name      string
	Directory string // of the CA
	URL       string // empty until the CA has answered
	Key       string // sealed, of the ordered certificate
	OrderedAt time.Time
}

// OpenOrder reads the open order of a name; the error is ErrNotFound without one.
func (db CertificateReader) OpenOrder(ctx context.Context, name string) (o CertificateOrder, err error) {
	err = queryErr(db.queryRow(ctx, `SELECT id, name, directory, url, sealed_key, ordered_at FROM acme_order
		WHERE name = $1 AND ended_at IS NULL`, name).Scan(&o.ID, &o.Name, &o.Directory, &o.URL, &o.Key,
		exactTime{&o.OrderedAt}))
	if err != nil {
		return o, fmt.Errorf("read the order of %s: %w", name, err)
	}
	return o, nil
}

// CountOrders counts the orders since a time.
func (db CertificateReader) CountOrders(ctx context.Context, since time.Time) (n int, err error) {
	if err := db.queryRow(ctx, `SELECT COUNT(*) FROM acme_order WHERE ordered_at > $1`,
		since.UnixMicro()).Scan(&n); err != nil {
		return 0, fmt.Errorf("count orders: %w", queryErr(err))
	}
	return n, nil
}

// OrderTime returns when the nth newest order was made, counted from 1; the zero time if
// there are fewer.
func (db CertificateReader) OrderTime(ctx context.Context, nth int) (at time.Time, err error) {
	rows, err := db.query(ctx, `SELECT ordered_at FROM acme_order ORDER BY ordered_at DESC LIMIT 1 OFFSET $1`, nth-1)
	list, err := collect(rows, err, func(row scanner) (at time.Time, err error) { return at, row.Scan(exactTime{&at}) })
	if err != nil || len(list) == 0 {
		return time.Time{}, err
	}
	return list[0], nil
}

// AddOrder stores an order that is about to be made.
func (t CertificateTx) AddOrder(ctx context.Context, o CertificateOrder) error {
	_, err := t.exec(ctx, `INSERT INTO acme_order (id, name, directory, url, sealed_key, ordered_at)
		VALUES ($1, $2, $3, $4, $5, $6)`, o.ID, o.Name, o.Directory, o.URL, o.Key, o.OrderedAt.UnixMicro())
	if err != nil {
		return fmt.Errorf("add the order of %s: %w", o.Name, err)
	}
	return nil
}

// SetOrderURL stores the address of an order at its CA.
func (t CertificateTx) SetOrderURL(ctx context.Context, id, url string) error {
	if _, err := t.exec(ctx, `UPDATE acme_order SET url = $1 WHERE id = $2`, url, id); err != nil {
		return fmt.Errorf("store the address of order %s: %w", id, err)
	}
	return nil
}

// EndOrder ends an order and removes the challenges of its name. reason is empty for success.
func (t CertificateTx) EndOrder(ctx context.Context, o CertificateOrder, at time.Time, reason string) error {
	_, err := t.exec(ctx, `UPDATE acme_order SET ended_at = $1, error = $2, sealed_key = '' WHERE id = $3`,
		at.UnixMicro(), reason, o.ID)
	if err == nil {
		_, err = t.exec(ctx, `DELETE FROM acme_challenge WHERE name = $1`, o.Name)
	}
	if err != nil {
		return fmt.Errorf("end the order of %s: %w", o.Name, err)
	}
	return nil
}

// TrimOrders deletes orders and challenges that ended before a time.
func (t CertificateTx) TrimOrders(ctx context.Context, before time.Time) error {
	_, err := t.exec(ctx, `DELETE FROM acme_order WHERE ended_at < $1`, before.UnixMicro())
	if err == nil {
		_, err = t.exec(ctx, `DELETE FROM acme_challenge WHERE expires_at < $1`, before.UnixMicro())
	}
	if err != nil {
		return fmt.Errorf("trim orders: %w", err)
	}
	return nil
}

// ACMEAccount is the account at a CA.
type ACMEAccount struct {
	Directory string
	URL       string // empty until it is registered
	Key       string // sealed
}

// ACMEAccount reads the account at a CA; the error is ErrNotFound without one.
func (db CertificateReader) ACMEAccount(ctx context.Context, directory string) (a ACMEAccount, err error) {
	err = queryErr(db.queryRow(ctx, `SELECT directory, url, sealed_key FROM acme_account WHERE directory = $1`,
		directory).Scan(&a.Directory, &a.URL, &a.Key))
	if err != nil {
		return a, fmt.Errorf("read the account at %s: %w", directory, err)
	}
	return a, nil
}

// PutACMEAccount stores an account.
func (t CertificateTx) PutACMEAccount(ctx context.Context, a ACMEAccount, at time.Time) error {
	_, err := t.exec(ctx, `INSERT INTO acme_account (directory, url, sealed_key, created_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (directory) DO UPDATE SET url = excluded.url, sealed_key = excluded.sealed_key`,
		a.Directory, a.URL, a.Key, at.UnixMicro())
	if err != nil {
		return fmt.Errorf("store the account at %s: %w", a.Directory, err)
	}
	return nil
}

// Challenge is an open challenge of a CA for a name.
type Challenge struct {
	Token, Name string
	Kind        string // http-01 or tls-alpn-01
	Answer      string // the key authorization
	ExpiresAt   time.Time
}

// PutChallenge stores the answer to a challenge.
func (t CertificateTx) PutChallenge(ctx context.Context, c Challenge) error {
	_, err := t.exec(ctx, `INSERT INTO acme_challenge (token, name, kind, answer, expires_at)
		VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (token) DO UPDATE SET kind = excluded.kind, answer = excluded.answer,
			expires_at = excluded.expires_at`, c.Token, c.Name, c.Kind, c.Answer, c.ExpiresAt.UnixMicro())
	if err != nil {
		return fmt.Errorf("store a challenge for %s: %w", c.Name, err)
	}
	return nil
}

// ChallengeAnswer reads the answer to the newest open challenge of a kind, for a name or with
// a token; the error is ErrNotFound without one.
func (db CertificateReader) ChallengeAnswer(ctx context.Context, kind, nameOrToken string,
	now time.Time) (answer string, err error) {
	err = queryErr(db.queryRow(ctx, `SELECT answer FROM acme_challenge WHERE kind = $1 AND (token = $2 OR name = $2)
		AND expires_at > $3 ORDER BY expires_at DESC LIMIT 1`, kind, nameOrToken, now.UnixMicro()).Scan(&answer))
	if err != nil {
		return "", fmt.Errorf("read a challenge: %w", err)
	}
	return answer, nil
}

// SigningKey is a key that signs the requests of the auditor.
type SigningKey struct {
	ID        string // JWK thumbprint
	PublicKey string // base64url
	Sealed    string // the private key, encrypted
	CreatedAt time.Time
	UseFrom   time.Time
}

// SigningKeys lists the keys that sign the requests of the auditor, oldest first.
func (db CertificateReader) SigningKeys(ctx context.Context) ([]SigningKey, error) {
	rows, err := db.query(ctx, `SELECT id, public_key, sealed_key, created_at, use_from FROM signing_key
		ORDER BY number`)
	list, err := collect(rows, err, func(row scanner) (k SigningKey, err error) {
		var created, from int64
		err = row.Scan(&k.ID, &k.PublicKey, &k.Sealed, &created, &from)
		k.CreatedAt, k.UseFrom = time.UnixMicro(created), time.UnixMicro(from)
		return k, err
	})
	if err != nil {
		return nil, fmt.Errorf("list signing keys: %w", err)
	}
	return list, nil
}

// AddSigningKey adds a key after the one with the id last, "" for none. It reports false, and
// adds nothing, if another process added one meanwhile.
func (t CertificateTx) AddSigningKey(ctx context.Context, last string, k SigningKey) (bool, error) {
	n, err := t.exec(ctx, `INSERT INTO signing_key (id, number, public_key, sealed_key, created_at, use_from)
		SELECT $1, COALESCE((SELECT s.number FROM signing_key s WHERE s.id = $2), 0) + 1, $3, $4, CAST($5 AS BIGINT),
			CAST($6 AS BIGINT)
		ON CONFLICT DO NOTHING`, k.ID, last, k.PublicKey, k.Sealed, k.CreatedAt.UnixMicro(), k.UseFrom.UnixMicro())
	if err != nil {
		return false, fmt.Errorf("add signing key %s: %w", k.ID, err)
	}
	return n == 1, nil
}

// UseSigningKey sets the time from which a key is used.
func (t CertificateTx) UseSigningKey(ctx context.Context, id string, from time.Time) error {
	if _, err := t.exec(ctx, `UPDATE signing_key SET use_from = $1 WHERE id = $2`, from.UnixMicro(), id); err != nil {
		return fmt.Errorf("use signing key %s: %w", id, err)
	}
	return nil
}

// DeleteSigningKey deletes a key with its private half.
func (t CertificateTx) DeleteSigningKey(ctx context.Context, id string) error {
	if _, err := t.exec(ctx, `DELETE FROM signing_key WHERE id = $1`, id); err != nil {
		return fmt.Errorf("delete signing key %s: %w", id, err)
	}
	return nil
}

// MirrorName is the name of the one mirror of the log.
const MirrorName = "stream"

// MirrorLeased reports whether a worker has the lease of the mirror of the log.
func (db EventReader) MirrorLeased(ctx context.Context, now time.Time) (leased bool, err error) {
	err = db.queryRow(ctx, `SELECT COUNT(*) > 0 FROM log_mirror WHERE name = $1 AND lease_until > $2`, MirrorName,
		now.UnixMicro()).Scan(&leased)
	if err != nil {
		return false, fmt.Errorf("read the lease of the mirror: %w", queryErr(err))
	}
	return leased, nil
}

// ClaimMirror leases the mirror of the log to owner unless another worker has it. It returns the fencing
// token, which grows with each claim, or 0.
func (t EventTx) ClaimMirror(ctx context.Context, owner string, now, lease time.Time) (fence int64, err error) {
	err = t.queryRow(ctx, `INSERT INTO log_mirror (name, fence, lease_until, lease_owner) VALUES ($1, 1, $2, $3)
		ON CONFLICT (name) DO UPDATE SET fence = log_mirror.fence + 1, lease_until = excluded.lease_until,
			lease_owner = excluded.lease_owner
		WHERE log_mirror.lease_until IS NULL OR log_mirror.lease_until <= $4 RETURNING fence`,
		MirrorName, lease.UnixMicro(), owner, now.UnixMicro()).Scan(&fence)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("claim the mirror of the log: %w", queryErr(err))
	}
	return fence, nil
}
