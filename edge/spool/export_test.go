package spool

import (
	"context"
	"fmt"
	"time"
)

// SetLimits sets the bounds of a spool.
func (s *Spool) SetLimits(requests, bytes int64) { s.limitRows, s.limitSize = requests, bytes }

// SetClock sets the clock of a spool.
func (s *Spool) SetClock(now func() time.Time) { s.now = now }

// SetPages limits the pages of the file, as a disk that is full does.
func (s *Spool) SetPages(ctx context.Context, n int) error {
	_, err := s.db.ExecContext(ctx, fmt.Sprintf(`PRAGMA max_page_count = %d`, n))
	return err
}
