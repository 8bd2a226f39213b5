package store

import (
	"context"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
)

// Identity is somebody a sign-in provider knows.
type Identity struct {
	Issuer, Subject string // together they are who it is
	User            string // the administrator
}

// Identity returns the administrator somebody is; the error is ErrNone for who
// has not been here.
func (t *Tx) Identity(ctx context.Context, issuer, subject string) (user string, err error) {
	err = none(t.queryRow(ctx, `SELECT user_name FROM admin_identity WHERE issuer = $1 AND subject = $2`, issuer, subject).Scan(&user))
	if err != nil {
		return "", fmt.Errorf("look for an identity: %w", err)
	}
	return user, nil
}

// AddIdentity makes an administrator of who comes for the first time, without a
// password. It reports whether the name was free; if it was not, nothing is made.
func (t *Tx) AddIdentity(ctx context.Context, id Identity, role fieldmark.Role, at time.Time) (bool, error) {
	n, err := t.exec(ctx, `INSERT INTO admin_user (name, password, role, created_at, updated_at) VALUES ($1, '', $2, $3, $3)
		ON CONFLICT (name) DO NOTHING`, id.User, string(role), at.UnixMicro())
	if err == nil && n == 1 {
		_, err = t.exec(ctx, `INSERT INTO admin_identity (issuer, subject, user_name, created_at, seen_at) VALUES ($1, $2, $3, $4, $4)`,
			id.Issuer, id.Subject, id.User, at.UnixMicro())
	}
	if err != nil {
		return false, fmt.Errorf("add an identity: %w", err)
	}
	return n == 1, nil
}

// SeeIdentity notes that somebody signed in, and what for this time.
func (t *Tx) SeeIdentity(ctx context.Context, user string, role fieldmark.Role, at time.Time) error {
	_, err := t.exec(ctx, `UPDATE admin_identity SET seen_at = $1 WHERE user_name = $2`, at.UnixMicro(), user)
	if err == nil {
		_, err = t.exec(ctx, `UPDATE admin_user SET role = $1, updated_at = $2 WHERE name = $3 AND role <> $1`, string(role), at.UnixMicro(), user)
	}
	if err != nil {
		return fmt.Errorf("note the sign-in of %s: %w", user, err)
	}
	return nil
}

// IsIdentity reports whether an administrator is somebody of a sign-in provider.
func (t *Tx) IsIdentity(ctx context.Context, user string) (bool, error) {
	var n int
	if err := t.queryRow(ctx, `SELECT COUNT(*) FROM admin_identity WHERE user_name = $1`, user).Scan(&n); err != nil {
		return false, fmt.Errorf("look for the identity of %s: %w", user, err)
	}
	return n > 0, nil
}
