package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
)

// Administrators with their sessions and saved filters, and the audit log.

// Identity is an administrator who signs in at a provider (OpenID Connect).
type Identity struct {
	Issuer, Subject string // which together identify the person
	User            string // the name of the administrator
}

// Identity returns the administrator with an identity; the error is ErrNotFound
// at the first sign-in.
func (t AccessTx) Identity(ctx context.Context, issuer, subject string) (user string, err error) {
	err = queryErr(t.queryRow(ctx, `SELECT user_name FROM admin_identity WHERE issuer = $1 AND subject = $2`, issuer,
		subject).Scan(&user))
	if err != nil {
		return "", fmt.Errorf("read an identity: %w", err)
	}
	return user, nil
}

// AddIdentity creates an administrator without a password for an identity. It
// reports whether the name was free; if not, it creates nothing.
func (t AccessTx) AddIdentity(ctx context.Context, id Identity, role fieldmark.Role, at time.Time) (bool, error) {
	n, err := t.exec(ctx, `INSERT INTO admin_user (name, password, role, created_at, updated_at) VALUES ($1, '', $2,
		$3, $3)
		ON CONFLICT (name) DO NOTHING`, id.User, string(role), at.UnixMicro())
	if err == nil && n == 1 {
		_, err = t.exec(ctx, `INSERT INTO admin_identity (issuer, subject, user_name, created_at, seen_at) VALUES ($1,
			$2, $3, $4, $4)`,
			id.Issuer, id.Subject, id.User, at.UnixMicro())
	}
	if err != nil {
		return false, fmt.Errorf("add an identity: %w", err)
	}
	return n == 1, nil
}

// RecordSignIn stores the time of a sign-in and the role the provider gave.
func (t AccessTx) RecordSignIn(ctx context.Context, user string, role fieldmark.Role, at time.Time) error {
	_, err := t.exec(ctx, `UPDATE admin_identity SET seen_at = $1 WHERE user_name = $2`, at.UnixMicro(), user)
	if err == nil {
		_, err = t.exec(ctx, `UPDATE admin_user SET role = $1, updated_at = $2 WHERE name = $3 AND role <> $1`,
			string(role), at.UnixMicro(), user)
	}
	if err != nil {
		return fmt.Errorf("record the sign-in of %s: %w", user, err)
	}
	return nil
}

// HasIdentity reports whether an administrator signs in at a provider.
func (t AccessTx) HasIdentity(ctx context.Context, user string) (bool, error) {
	var n int
	if err := t.queryRow(ctx, `SELECT COUNT(*) FROM admin_identity WHERE user_name = $1`, user).Scan(&n); err != nil {
		return false, fmt.Errorf("read the identity of %s: %w", user, err)
	}
	return n > 0, nil
}

// Admin is an administrator.
type Admin struct {
	Name      string
	Password  string // hashed
	Role      fieldmark.Role
	TOTP      string // the encrypted TOTP secret; empty without two-factor authentication
	TOTPStep  int64  // the newest step of which a code was used
	CreatedAt time.Time
}

const adminColumns = `name, password, role, totp, totp_step, created_at`

func scanAdmin(row scanner) (a Admin, err error) {
	err = row.Scan(&a.Name, &a.Password, &a.Role, &a.TOTP, &a.TOTPStep, exactTime{&a.CreatedAt})
	return a, queryErr(err)
}

// PutAdmin creates an administrator or changes their password and role.
func (t AccessTx) PutAdmin(ctx context.Context, user, password string, role fieldmark.Role, at time.Time) error {
	_, err := t.exec(ctx, `INSERT INTO admin_user (name, password, role, created_at, updated_at) VALUES ($1, $2, $3,
		$4, $4)
		ON CONFLICT (name) DO UPDATE SET password = excluded.password, role = excluded.role,
			updated_at = excluded.updated_at`,
		user, password, string(role), at.UnixMicro())
	if err != nil {
		return fmt.Errorf("put administrator %s: %w", user, err)
	}
	return nil
}

// UpdatePasswordHash stores another hash of the same password.
func (t AccessTx) UpdatePasswordHash(ctx context.Context, user, password string) error {
	if _, err := t.exec(ctx, `UPDATE admin_user SET password = $1 WHERE name = $2`, password, user); err != nil {
		return fmt.Errorf("update the password hash of %s: %w", user, err)
	}
	return nil
}

// PutTOTP stores the encrypted TOTP secret of an administrator and the step of
// its first code. The error is ErrNotFound if there is no such administrator.
func (t AccessTx) PutTOTP(ctx context.Context, user, sealed string, step int64) error {
	n, err := t.exec(ctx, `UPDATE admin_user SET totp = $1, totp_step = $2 WHERE name = $3`, sealed, step, user)
	if err == nil && n == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("put the second factor of %s: %w", user, err)
	}
	return nil
}

// UseTOTPStep stores that the code of a step was used, and reports whether the
// step was newer than all used before. That makes a code valid once.
func (t AccessTx) UseTOTPStep(ctx context.Context, user string, step int64) (bool, error) {
	n, err := t.exec(ctx, `UPDATE admin_user SET totp_step = $1 WHERE name = $2 AND totp_step < $1`, step, user)
	if err != nil {
		return false, fmt.Errorf("use a code of %s: %w", user, err)
	}
	return n == 1, nil
}

// Admin reads an administrator; the error is ErrNotFound if it does not exist.
func (db AccessReader) Admin(ctx context.Context, user string) (Admin, error) {
	a, err := scanAdmin(db.queryRow(ctx, `SELECT `+adminColumns+` FROM admin_user WHERE name = $1`, user))
	if err != nil {
		return a, fmt.Errorf("read an administrator: %w", err)
	}
	return a, nil
}

// Admins lists administrators by name.
func (db AccessReader) Admins(ctx context.Context, limit int) ([]Admin, error) {
	rows, err := db.query(ctx, `SELECT `+adminColumns+` FROM admin_user ORDER BY name LIMIT $1`, limit)
	list, err := collect(rows, err, scanAdmin)
	if err != nil {
		return nil, fmt.Errorf("list administrators: %w", err)
	}
	return list, nil
}

// Session is a session of an administrator.
type Session struct {
	Hash        string // of the token
	User        string
	Role        fieldmark.Role // of the user; only read
	Address     string         // the network it was created from
	Agent       string         // and the program
	CreatedAt   time.Time
	SeenAt      time.Time
	ConfirmedAt time.Time // when the user last confirmed their identity in it
	External    bool      // the user signs in at a provider and has no password; only read
	HasTOTP     bool      // the user has two-factor authentication; read-only
}

// AddSession adds a session.
func (t AccessTx) AddSession(ctx context.Context, se Session) error {
	_, err := t.exec(ctx, `INSERT INTO session (hash, user_name, created_at, seen_at, proved_at, address, agent)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		se.Hash, se.User, se.CreatedAt.UnixMicro(), se.SeenAt.UnixMicro(), se.ConfirmedAt.UnixMicro(), se.Address,
		se.Agent)
	if err != nil {
		return fmt.Errorf("add a session: %w", err)
	}
	return nil
}

const sessionQuery = `SELECT s.hash, s.user_name, a.role, s.address, s.agent, s.created_at, s.seen_at, s.proved_at,
	a.password = '', a.totp <> ''
	FROM session s JOIN admin_user a ON a.name = s.user_name `

func scanSession(row scanner) (se Session, err error) {
	err = row.Scan(&se.Hash, &se.User, &se.Role, &se.Address, &se.Agent, exactTime{&se.CreatedAt},
		exactTime{&se.SeenAt}, exactTime{&se.ConfirmedAt}, &se.External, &se.HasTOTP)
	return se, queryErr(err)
}

// Session reads a session by the hash of its token; the error is ErrNotFound if
// it does not exist.
func (db AccessReader) Session(ctx context.Context, hash string) (Session, error) {
	se, err := scanSession(db.queryRow(ctx, sessionQuery+`WHERE s.hash = $1`, hash))
	if err != nil {
		return se, fmt.Errorf("read a session: %w", err)
	}
	return se, nil
}

// Sessions lists sessions created and last seen after the given times, the
// newest first.
func (db AccessReader) Sessions(ctx context.Context, begun, seen time.Time, limit int) ([]Session, error) {
	rows, err := db.query(ctx, sessionQuery+`WHERE s.created_at > $1 AND s.seen_at > $2 ORDER BY s.created_at DESC,
		s.hash LIMIT $3`,
		begun.UnixMicro(), seen.UnixMicro(), limit)
	list, err := collect(rows, err, scanSession)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	return list, nil
}

// TouchSession stores that a session was used. Several origins write the uses that they saw, so an
// earlier one may come later and changes nothing.
func (t AccessTx) TouchSession(ctx context.Context, hash string, at time.Time) error {
	_, err := t.exec(ctx, `UPDATE session SET seen_at = $1 WHERE hash = $2 AND seen_at < $1`, at.UnixMicro(), hash)
	if err != nil {
		return fmt.Errorf("touch a session: %w", err)
	}
	return nil
}

// ConfirmSession stores that the user confirmed their identity in a session.
func (t AccessTx) ConfirmSession(ctx context.Context, hash string, at time.Time) error {
	if _, err := t.exec(ctx, `UPDATE session SET proved_at = $1 WHERE hash = $2`, at.UnixMicro(), hash); err != nil {
		return fmt.Errorf("confirm a session: %w", err)
	}
	return nil
}

// DeleteSession deletes a session.
func (t AccessTx) DeleteSession(ctx context.Context, hash string) error {
	if _, err := t.exec(ctx, `DELETE FROM session WHERE hash = $1`, hash); err != nil {
		return fmt.Errorf("delete a session: %w", err)
	}
	return nil
}

// DeleteSessionByPrefix deletes the session whose hash has a prefix and returns
// its user; the error is ErrNotFound if it does not exist.
func (t AccessTx) DeleteSessionByPrefix(ctx context.Context, name string) (user string, err error) {
	err = queryErr(t.queryRow(ctx, `DELETE FROM session WHERE substr(hash, 1, $1) = $2 RETURNING user_name`,
		len(name), name).Scan(&user))
	if err != nil {
		return "", fmt.Errorf("delete a session: %w", err)
	}
	return user, nil
}

// DeleteSessionsOf deletes all sessions of an administrator.
func (t AccessTx) DeleteSessionsOf(ctx context.Context, user string) error {
	if _, err := t.exec(ctx, `DELETE FROM session WHERE user_name = $1`, user); err != nil {
		return fmt.Errorf("delete the sessions of %s: %w", user, err)
	}
	return nil
}

// PruneSessions deletes sessions created or last seen before the given times.
func (t AccessTx) PruneSessions(ctx context.Context, begun, seen time.Time) error {
	_, err := t.exec(ctx, `DELETE FROM session WHERE created_at < $1 OR seen_at < $2`, begun.UnixMicro(),
		seen.UnixMicro())
	if err != nil {
		return fmt.Errorf("prune sessions: %w", err)
	}
	return nil
}

// LoginThrottle counts consecutive failed sign-ins under a name.
type LoginThrottle struct {
	Name     string // an HMAC of a user's name or a network
	Failures int64
	Until    time.Time // earlier sign-ins are refused
}

// LoginDelay returns until when sign-ins under either of two names are delayed,
// or the zero Time; the second may be empty.
func (db AccessReader) LoginDelay(ctx context.Context, name, other string) (until time.Time, err error) {
	err = db.queryRow(ctx, `SELECT MAX(until_at) FROM login_throttle WHERE name IN ($1, $2)`, name,
		other).Scan(exactTime{&until})
	if err != nil {
		return until, fmt.Errorf("read the delay of a sign-in: %w", unavailable(err))
	}
	return until, nil
}

// LoginThrottle reads the failures under a name; zero failures if there are
// none.
func (t AccessTx) LoginThrottle(ctx context.Context, name string) (LoginThrottle, error) {
	l := LoginThrottle{Name: name}
	err := queryErr(t.queryRow(ctx, `SELECT failures, until_at FROM login_throttle WHERE name = $1`,
		name).Scan(&l.Failures, exactTime{&l.Until}))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return l, fmt.Errorf("read failed sign-ins: %w", err)
	}
	return l, nil
}

// PutLoginThrottle stores the failures under a name.
func (t AccessTx) PutLoginThrottle(ctx context.Context, l LoginThrottle) error {
	_, err := t.exec(ctx, `INSERT INTO login_throttle (name, failures, until_at) VALUES ($1, $2, $3)
		ON CONFLICT (name) DO UPDATE SET failures = excluded.failures, until_at = excluded.until_at`, l.Name,
		l.Failures, l.Until.UnixMicro())
	if err != nil {
		return fmt.Errorf("store failed sign-ins: %w", err)
	}
	return nil
}

// DeleteLoginThrottle deletes the failures under a name.
func (t AccessTx) DeleteLoginThrottle(ctx context.Context, name string) error {
	if _, err := t.exec(ctx, `DELETE FROM login_throttle WHERE name = $1`, name); err != nil {
		return fmt.Errorf("delete failed sign-ins: %w", err)
	}
	return nil
}

// PruneLoginThrottles deletes failures whose delay ended before a time.
func (t AccessTx) PruneLoginThrottles(ctx context.Context, before time.Time) error {
	if _, err := t.exec(ctx, `DELETE FROM login_throttle WHERE until_at < $1`, before.UnixMicro()); err != nil {
		return fmt.Errorf("prune failed sign-ins: %w", err)
	}
	return nil
}

const auditColumns = `number, at, kind, actor, act, target, was, becomes, address, agent, request, sum`

// scanAudit reads an entry. An empty state is no JSON: the entry has none, and its checksum covers that.
func scanAudit(row scanner) (e fieldmark.AuditEntry, err error) {
	var was, becomes string
	err = row.Scan(&e.Number, timeCol{&e.At}, &e.Kind, &e.Actor, &e.Act, &e.Target, &was, &becomes, &e.Address,
		&e.Agent, &e.Request, &e.Sum)
	e.Before, e.After = json.RawMessage(was), json.RawMessage(becomes)
	if was == "" {
		e.Before = nil
	}
	if becomes == "" {
		e.After = nil
	}
	return e, queryErr(err)
}

// LastAuditEntry reads the newest entry of the audit log, or a zero one.
func (t AccessTx) LastAuditEntry(ctx context.Context) (fieldmark.AuditEntry, error) {
	e, err := scanAudit(t.queryRow(ctx, `SELECT `+auditColumns+` FROM audit_log ORDER BY number DESC LIMIT 1`))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return e, fmt.Errorf("read the newest entry of the audit log: %w", err)
	}
	return e, nil
}

// AddAuditEntry adds an entry to the audit log. Its number is one more than that
// of the newest. Entries are never changed.
func (t AccessTx) AddAuditEntry(ctx context.Context, e *fieldmark.AuditEntry) error {
	_, err := t.exec(ctx, `INSERT INTO audit_log (`+auditColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
		$11, $12)`,
		e.Number, e.At.Micros(), string(e.Kind), e.Actor, e.Act, e.Target, string(e.Before), string(e.After),
		e.Address, e.Agent, e.Request, e.Sum)
	if err != nil {
		return fmt.Errorf("add entry %d to the audit log: %w", e.Number, err)
	}
	return nil
}

// AuditEntriesAfter lists up to limit entries after a number, the oldest first.
func (db AccessReader) AuditEntriesAfter(ctx context.Context, after int64, limit int) ([]fieldmark.AuditEntry, error) {
	rows, err := db.query(ctx, `SELECT `+auditColumns+` FROM audit_log WHERE number > $1 ORDER BY number LIMIT $2`,
		after, limit)
	return audits(rows, err)
}

// AuditFilter selects entries of the audit log; zero members select all.
type AuditFilter struct {
	Before   int64     // number of an entry
	From, To time.Time // half open
	Actor    string
	Target   string
	Acts     []string // one of these
}

// where returns the condition and its arguments. Several actions are one condition.
func (f *AuditFilter) where() (text string, args []any) {
	add := func(condition string, values ...any) {
		for _, v := range values {
			args = append(args, v)
			condition = strings.Replace(condition, "?", "$"+strconv.Itoa(len(args)), 1)
		}
		text += " AND " + condition
	}
	before := f.Before
	if before <= 0 {
		before = math.MaxInt64
	}
	add("number < ?", before)
	if !f.From.IsZero() {
		add("at >= ?", f.From.UnixMicro())
	}
	if !f.To.IsZero() {
		add("at < ?", f.To.UnixMicro())
	}
	if f.Actor != "" {
		add("actor = ?", f.Actor)
	}
	if f.Target != "" {
		add("target = ?", f.Target)
	}
	if len(f.Acts) > 0 {
		values := make([]any, len(f.Acts))
		for i, act := range f.Acts {
			values[i] = act
		}
		add("act IN (?"+strings.Repeat(", ?", len(values)-1)+")", values...)
	}
	return strings.TrimPrefix(text, " AND "), args
}

// AuditEntries lists up to limit entries that match a filter, the newest first.
func (db AccessReader) AuditEntries(ctx context.Context, f AuditFilter, limit int) ([]fieldmark.AuditEntry, error) {
	where, args := f.where()
	rows, err := db.query(ctx, `SELECT `+auditColumns+` FROM audit_log WHERE `+where+` ORDER BY number DESC LIMIT $`+
		strconv.Itoa(len(args)+1), append(args, limit)...)
	return audits(rows, err)
}

// CountAuditEntries counts the entries that match a filter, up to a limit.
func (db AccessReader) CountAuditEntries(ctx context.Context, f AuditFilter, limit int) (n int, err error) {
	where, args := f.where()
	err = db.queryRow(ctx, `SELECT COUNT(*) FROM (SELECT number FROM audit_log WHERE `+where+` LIMIT $`+
		strconv.Itoa(len(args)+1)+`) AS some_entries`, append(args, limit)...).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count entries of the audit log: %w", err)
	}
	return n, nil
}

func audits(rows *sql.Rows, err error) ([]fieldmark.AuditEntry, error) {
	list, err := collect(rows, err, scanAudit)
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	return list, nil
}

// SavedFilter is a filter of the list of missions that an administrator saved.
type SavedFilter struct {
	Name  string
	Query string // of the address of the list
}

// SavedFilters lists the filters of an administrator by name.
func (db AccessReader) SavedFilters(ctx context.Context, user string) ([]SavedFilter, error) {
	rows, err := db.query(ctx, `SELECT name, query FROM saved_filter WHERE user_name = $1 ORDER BY name`, user)
	list, err := collect(rows, err, func(row scanner) (f SavedFilter, err error) {
		return f, row.Scan(&f.Name, &f.Query)
	})
	if err != nil {
		return nil, fmt.Errorf("list the filters of %s: %w", user, err)
	}
	return list, nil
}

// PutSavedFilter saves a filter in place of the one with its name.
func (t AccessTx) PutSavedFilter(ctx context.Context, user string, f SavedFilter) error {
	_, err := t.exec(ctx, `INSERT INTO saved_filter (user_name, name, query) VALUES ($1, $2, $3)
		ON CONFLICT (user_name, name) DO UPDATE SET query = excluded.query`, user, f.Name, f.Query)
	if err != nil {
		return fmt.Errorf("save a filter of %s: %w", user, err)
	}
	return nil
}

// DeleteSavedFilter deletes a filter, if there is one with this name.
func (t AccessTx) DeleteSavedFilter(ctx context.Context, user, name string) error {
	_, err := t.exec(ctx, `DELETE FROM saved_filter WHERE user_name = $1 AND name = $2`, user, name)
	if err != nil {
		return fmt.Errorf("delete a filter of %s: %w", user, err)
	}
	return nil
}
