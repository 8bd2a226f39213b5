package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/origin/store"
)

// Pruning deletes expired failed sign-ins and keeps the others.
func TestLoginThrottles(t *testing.T) {
	s := scratch(t)
	at := time.UnixMicro(1_800_000_000_000_000)
	err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		for name, until := range map[string]time.Time{"old": at, "new": at.Add(time.Second)} {
			if err := tx.PutLoginThrottle(ctx, store.LoginThrottle{Name: name, Failures: 1, Until: until}); err != nil {
				return err
			}
		}
		return tx.PruneLoginThrottles(ctx, at.Add(time.Second))
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, other string
		want        time.Time
	}{{"old", "old", time.Time{}}, {"old", "new", at.Add(time.Second)}, {"new", "", at.Add(time.Second)}} {
		if until, err := s.LoginDelay(t.Context(), tt.name, tt.other); !until.Equal(tt.want) || err != nil {
			t.Errorf("delay of %q and %q: %v, %v; want %v", tt.name, tt.other, until, err, tt.want)
		}
	}
}
