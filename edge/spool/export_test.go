package spool

import (
	"context"
	"fmt"
	"time"
)

// MaxSenders is how many requests are sent at once, and WindowBytes about how many bytes of them are read at once.
const (
	MaxSenders  = maxSenders
	WindowBytes = windowBytes
)

// SetLimits sets the bounds of a spool.
func (s *Spool) SetLimits(requests, bytes int64) { s.limit = usage{requests, bytes} }

// SetWindow sets after how many bytes a window of requests ends.
func (s *Spool) SetWindow(bytes int64) { s.window = bytes }

// Accounts returns how many accounts are counted.
func (s *Spool) Accounts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.accounts)
}

// SetClock sets the clock of a spool.
func (s *Spool) SetClock(now func() time.Time) { s.now = now }

// SetPages limits the pages of the file, as a disk that is full does.
func (s *Spool) SetPages(ctx context.Context, n int) error {
	_, err := s.db.ExecContext(ctx, fmt.Sprintf(`PRAGMA max_page_count = %d`, n))
	return err
}

// Damage overwrites the sealed requests of a source of the account acme, as a failing disk does.
func (s *Spool) Damage(ctx context.Context, source string) error {
	l := laneOf("acme", source)
	_, err := s.db.ExecContext(ctx, `UPDATE request SET sealed = zeroblob(LENGTH(sealed)) WHERE lane = ?`, l[:])
	return err
}
