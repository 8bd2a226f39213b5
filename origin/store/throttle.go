package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// LoginThrottle is how often sign-ins under a name failed in a row.
type LoginThrottle struct {
	Name     string // an HMAC of a user's name or a network
	Failures int64
	Until    time.Time // no sign-in is tried earlier
}

// LoginDelay returns until when sign-ins under any of two names are delayed, or
// the zero Time; the second may be empty.
func (s *Store) LoginDelay(ctx context.Context, name, other string) (until time.Time, err error) {
	err = s.queryRow(ctx, `SELECT MAX(until_at) FROM login_throttle WHERE name IN ($1, $2)`, name, other).Scan(clock{&until})
	if err != nil {
		return until, fmt.Errorf("read the delay of a sign-in: %w", unreachable(err))
	}
	return until, nil
}

// LoginThrottle reads the failures under a name; zero failures where there are none.
func (t *Tx) LoginThrottle(ctx context.Context, name string) (LoginThrottle, error) {
	l := LoginThrottle{Name: name}
	err := none(t.queryRow(ctx, `SELECT failures, until_at FROM login_throttle WHERE name = $1`, name).Scan(&l.Failures, clock{&l.Until}))
	if err != nil && !errors.Is(err, ErrNone) {
		return l, fmt.Errorf("read failed sign-ins: %w", err)
	}
	return l, nil
}

// PutLoginThrottle stores the failures under a name.
func (t *Tx) PutLoginThrottle(ctx context.Context, l LoginThrottle) error {
	_, err := t.exec(ctx, `INSERT INTO login_throttle (name, failures, until_at) VALUES ($1, $2, $3)
		ON CONFLICT (name) DO UPDATE SET failures = excluded.failures, until_at = excluded.until_at`, l.Name, l.Failures, l.Until.UnixMicro())
	if err != nil {
		return fmt.Errorf("store failed sign-ins: %w", err)
	}
	return nil
}

// DeleteLoginThrottle deletes the failures under a name.
func (t *Tx) DeleteLoginThrottle(ctx context.Context, name string) error {
	if _, err := t.exec(ctx, `DELETE FROM login_throttle WHERE name = $1`, name); err != nil {
		return fmt.Errorf("delete failed sign-ins: %w", err)
	}
	return nil
}

// PruneLoginThrottles deletes failures whose delay ended before a time.
func (t *Tx) PruneLoginThrottles(ctx context.Context, before time.Time) error {
	if _, err := t.exec(ctx, `DELETE FROM login_throttle WHERE until_at < $1`, before.UnixMicro()); err != nil {
		return fmt.Errorf("prune failed sign-ins: %w", err)
	}
	return nil
}
