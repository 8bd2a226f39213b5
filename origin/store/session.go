package store

import (
	"context"
	"fmt"
	"time"
)

// PutAdmin makes an administrator or changes the password of one.
func (t *Tx) PutAdmin(ctx context.Context, user, password string, at time.Time) error {
	_, err := t.exec(ctx, `INSERT INTO admin_user (name, password, created_at, updated_at) VALUES ($1, $2, $3, $3)
		ON CONFLICT (name) DO UPDATE SET password = excluded.password, updated_at = excluded.updated_at`, user, password, at.UnixMicro())
	if err != nil {
		return fmt.Errorf("put administrator %s: %w", user, err)
	}
	return nil
}

// AdminPassword reads the hashed password of an administrator; the error is
// ErrNone where there is none.
func (s *Store) AdminPassword(ctx context.Context, user string) (string, error) {
	var hash string
	if err := none(s.queryRow(ctx, `SELECT password FROM admin_user WHERE name = $1`, user).Scan(&hash)); err != nil {
		return "", fmt.Errorf("read an administrator's password: %w", err)
	}
	return hash, nil
}

// Session is a signed-in administrator.
type Session struct {
	Hash      string // of the token
	User      string
	CreatedAt time.Time
	SeenAt    time.Time
}

// AddSession adds a session.
func (t *Tx) AddSession(ctx context.Context, se Session) error {
	_, err := t.exec(ctx, `INSERT INTO session (hash, user_name, created_at, seen_at) VALUES ($1, $2, $3, $4)`,
		se.Hash, se.User, se.CreatedAt.UnixMicro(), se.SeenAt.UnixMicro())
	if err != nil {
		return fmt.Errorf("add a session: %w", err)
	}
	return nil
}

// Session reads a session by the hash of its token; the error is ErrNone where
// there is none.
func (s *Store) Session(ctx context.Context, hash string) (Session, error) {
	se := Session{Hash: hash}
	var created, seen int64
	err := s.queryRow(ctx, `SELECT user_name, created_at, seen_at FROM session WHERE hash = $1`, hash).Scan(&se.User, &created, &seen)
	if err != nil {
		return Session{}, fmt.Errorf("read a session: %w", none(err))
	}
	se.CreatedAt, se.SeenAt = time.UnixMicro(created), time.UnixMicro(seen)
	return se, nil
}

// TouchSession notes that a session was used.
func (t *Tx) TouchSession(ctx context.Context, hash string, at time.Time) error {
	if _, err := t.exec(ctx, `UPDATE session SET seen_at = $1 WHERE hash = $2`, at.UnixMicro(), hash); err != nil {
		return fmt.Errorf("touch a session: %w", err)
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
