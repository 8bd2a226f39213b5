package timeout

import (
	"context"
	"time"
)

// Sleep waits for d, or until ctx ends; then it returns ctx.Err(). Without a time to wait it only checks ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
