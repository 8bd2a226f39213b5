package store

import (
	"context"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
)

// Admin is somebody who may sign in.
type Admin struct {
	Name      string
	Password  string // hashed
	Role      fieldmark.Role
	TOTP      string // the sealed secret of the second factor; empty without one
	TOTPStep  int64  // the newest that a code was used of
	CreatedAt time.Time
}

const adminColumns = `name, password, role, totp, totp_step, created_at`

func scanAdmin(row scanner) (a Admin, err error) {
	err = row.Scan(&a.Name, &a.Password, &a.Role, &a.TOTP, &a.TOTPStep, clock{&a.CreatedAt})
	return a, none(err)
}

// PutAdmin makes an administrator or changes the password and role of one.
func (t *Tx) PutAdmin(ctx context.Context, user, password string, role fieldmark.Role, at time.Time) error {
	_, err := t.exec(ctx, `INSERT INTO admin_user (name, password, role, created_at, updated_at) VALUES ($1, $2, $3, $4, $4)
		ON CONFLICT (name) DO UPDATE SET password = excluded.password, role = excluded.role, updated_at = excluded.updated_at`,
		user, password, string(role), at.UnixMicro())
	if err != nil {
		return fmt.Errorf("put administrator %s: %w", user, err)
	}
	return nil
}

// RehashAdmin keeps a password under another hash.
func (t *Tx) RehashAdmin(ctx context.Context, user, password string) error {
	if _, err := t.exec(ctx, `UPDATE admin_user SET password = $1 WHERE name = $2`, password, user); err != nil {
		return fmt.Errorf("hash the password of %s anew: %w", user, err)
	}
	return nil
}

// PutSecondFactor keeps the sealed secret of an administrator's second factor,
// and the step its first code was of. The error is ErrNone for nobody.
func (t *Tx) PutSecondFactor(ctx context.Context, user, sealed string, step int64) error {
	n, err := t.exec(ctx, `UPDATE admin_user SET totp = $1, totp_step = $2 WHERE name = $3`, sealed, step, user)
	if err == nil && n == 0 {
		err = ErrNone
	}
	if err != nil {
		return fmt.Errorf("keep the second factor of %s: %w", user, err)
	}
	return nil
}

// UseCode notes that the code of a step was used, and reports whether it was
// the newest.
func (t *Tx) UseCode(ctx context.Context, user string, step int64) (bool, error) {
	n, err := t.exec(ctx, `UPDATE admin_user SET totp_step = $1 WHERE name = $2 AND totp_step < $1`, step, user)
	if err != nil {
		return false, fmt.Errorf("use up a code of %s: %w", user, err)
	}
	return n == 1, nil
}

// Admin reads an administrator; the error is ErrNone where there is none.
func (s *Store) Admin(ctx context.Context, user string) (Admin, error) { return admin(ctx, s, user) }

// Admin is Store.Admin inside a transaction.
func (t *Tx) Admin(ctx context.Context, user string) (Admin, error) { return admin(ctx, t, user) }

func admin(ctx context.Context, from asker, user string) (Admin, error) {
	a, err := scanAdmin(from.queryRow(ctx, `SELECT `+adminColumns+` FROM admin_user WHERE name = $1`, user))
	if err != nil {
		return a, fmt.Errorf("read an administrator: %w", err)
	}
	return a, nil
}

// Admins lists administrators by name.
func (s *Store) Admins(ctx context.Context, limit int) ([]Admin, error) {
	rows, err := s.query(ctx, `SELECT `+adminColumns+` FROM admin_user ORDER BY name LIMIT $1`, limit)
	list, err := collect(rows, err, scanAdmin)
	if err != nil {
		return nil, fmt.Errorf("list administrators: %w", err)
	}
	return list, nil
}

// Session is a signed-in administrator.
type Session struct {
	Hash      string // of the token
	User      string
	Role      fieldmark.Role // the user's; not written
	Address   string         // the network it was begun from
	Agent     string         // and the program
	CreatedAt time.Time
	SeenAt    time.Time
	ProvedAt  time.Time // when the password was last given in it
	Foreign   bool      // the user has no password; not written
	Factor    bool      // the user has a second factor; not written
}

// AddSession adds a session.
func (t *Tx) AddSession(ctx context.Context, se Session) error {
	_, err := t.exec(ctx, `INSERT INTO session (hash, user_name, created_at, seen_at, proved_at, address, agent) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		se.Hash, se.User, se.CreatedAt.UnixMicro(), se.SeenAt.UnixMicro(), se.ProvedAt.UnixMicro(), se.Address, se.Agent)
	if err != nil {
		return fmt.Errorf("add a session: %w", err)
	}
	return nil
}

const sessionQuery = `SELECT s.hash, s.user_name, a.role, s.address, s.agent, s.created_at, s.seen_at, s.proved_at,
	a.password = '', a.totp <> ''
	FROM session s JOIN admin_user a ON a.name = s.user_name `

func scanSession(row scanner) (se Session, err error) {
	err = row.Scan(&se.Hash, &se.User, &se.Role, &se.Address, &se.Agent, clock{&se.CreatedAt}, clock{&se.SeenAt}, clock{&se.ProvedAt}, &se.Foreign, &se.Factor)
	return se, none(err)
}

// Session reads a session by the hash of its token; the error is ErrNone where
// there is none.
func (s *Store) Session(ctx context.Context, hash string) (Session, error) {
	se, err := scanSession(s.queryRow(ctx, sessionQuery+`WHERE s.hash = $1`, hash))
	if err != nil {
		return se, fmt.Errorf("read a session: %w", err)
	}
	return se, nil
}

// Sessions lists sessions begun and last seen after the given times, the newest
// first.
func (s *Store) Sessions(ctx context.Context, begun, seen time.Time, limit int) ([]Session, error) {
	rows, err := s.query(ctx, sessionQuery+`WHERE s.created_at > $1 AND s.seen_at > $2 ORDER BY s.created_at DESC, s.hash LIMIT $3`,
		begun.UnixMicro(), seen.UnixMicro(), limit)
	list, err := collect(rows, err, scanSession)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	return list, nil
}

// TouchSession notes that a session was used.
func (t *Tx) TouchSession(ctx context.Context, hash string, at time.Time) error {
	if _, err := t.exec(ctx, `UPDATE session SET seen_at = $1 WHERE hash = $2`, at.UnixMicro(), hash); err != nil {
		return fmt.Errorf("touch a session: %w", err)
	}
	return nil
}

// ProveSession notes that the password was given in a session.
func (t *Tx) ProveSession(ctx context.Context, hash string, at time.Time) error {
	if _, err := t.exec(ctx, `UPDATE session SET proved_at = $1 WHERE hash = $2`, at.UnixMicro(), hash); err != nil {
		return fmt.Errorf("prove a session: %w", err)
	}
	return nil
}

// EndSession forgets a session.
func (t *Tx) EndSession(ctx context.Context, hash string) error {
	if _, err := t.exec(ctx, `DELETE FROM session WHERE hash = $1`, hash); err != nil {
		return fmt.Errorf("end a session: %w", err)
	}
	return nil
}

// EndSessionNamed forgets the session whose hash begins so, and returns whose it
// was; the error is ErrNone where there is none.
func (t *Tx) EndSessionNamed(ctx context.Context, name string) (user string, err error) {
	err = none(t.queryRow(ctx, `DELETE FROM session WHERE substr(hash, 1, $1) = $2 RETURNING user_name`, len(name), name).Scan(&user))
	if err != nil {
		return "", fmt.Errorf("end a session: %w", err)
	}
	return user, nil
}

// EndSessionsOf forgets all sessions of an administrator.
func (t *Tx) EndSessionsOf(ctx context.Context, user string) error {
	if _, err := t.exec(ctx, `DELETE FROM session WHERE user_name = $1`, user); err != nil {
		return fmt.Errorf("end the sessions of %s: %w", user, err)
	}
	return nil
}

// SweepSessions forgets sessions begun or last seen before the given times.
func (t *Tx) SweepSessions(ctx context.Context, begun, seen time.Time) error {
	_, err := t.exec(ctx, `DELETE FROM session WHERE created_at < $1 OR seen_at < $2`, begun.UnixMicro(), seen.UnixMicro())
	if err != nil {
		return fmt.Errorf("sweep sessions: %w", err)
	}
	return nil
}
