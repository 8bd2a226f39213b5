package spool

import (
	"context"
	"fmt"
	"time"
)

// MaxSenders is how many requests are sent at once.
const MaxSenders = maxSenders

// SetLimits sets the bounds of a spool.
func (s *Spool) SetLimits(requests, bytes int64) { s.limitRows, s.limitSize = requests, bytes }

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
