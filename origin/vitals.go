package origin

import (
	"context"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark/origin/store"
)

// Vitals are what an operator watches of an origin.
type Vitals struct {
	store.Vitals
	AuditsWaiting, AuditsRunning int
}

// Vitals looks at the record; a look costs a few milliseconds at most.
func (s *Service) Vitals(ctx context.Context) (v Vitals, err error) {
	if v.Vitals, err = s.store.Vitals(ctx, time.Now()); err != nil {
		return v, fmt.Errorf("look at the record: %w", err)
	}
	v.AuditsWaiting, v.AuditsRunning, err = s.AuditStatus(ctx)
	return v, err
}
