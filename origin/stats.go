package origin

import (
	"context"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// MaxCount bounds the rows that are read to count them for people.
const MaxCount = 10_000

// Stats contains the numbers that an operator monitors.
type Stats struct {
	store.Stats
	Brands                               int // MaxCount at most
	AuditsWaiting, AuditsRunning         int
	SiteChecksWaiting, SiteChecksRunning int
}

// Stats reads the numbers from the database. It counts at most a number of rows of each kind,
// which takes a millisecond for every thousand.
func (s *Service) Stats(ctx context.Context, most int) (v Stats, err error) {
	if v.Stats, err = s.store.Stats(ctx, time.Now(), most); err != nil {
		return v, fmt.Errorf("read the statistics: %w", err)
	}
	if v.AuditsWaiting, v.AuditsRunning, err = s.Brands.Audits.Status(ctx); err != nil {
		return v, err
	}
	if v.SiteChecksWaiting, v.SiteChecksRunning, err = s.SiteChecks.Status(ctx); err != nil {
		return v, err
	}
	// At most MaxCount, also if most is higher.
	v.Brands, err = s.store.CountBrands(ctx, MaxCount)
	return v, err
}

// Status returns the public figures of this service.
func (s *Service) Status(ctx context.Context) (v fieldmark.ServiceStatus, err error) {
	v.Outages = []fieldmark.Outage{}
	up, err := s.store.Uptimes(ctx, fieldmark.At(time.Now().Add(-fieldmark.OutageWindow)), fieldmark.MaxOutages)
	if err != nil {
		return v, err
	}
	for i := range up {
		if next := i - 1; next >= 0 && up[next].Began.Std().After(up[i].Ended.Std()) {
			v.Outages = append(v.Outages, fieldmark.Outage{Began: up[i].Ended, Ended: up[next].Began})
		}
		v.Since = up[i].Began
	}
	audits, _, err := s.Brands.Audits.Status(ctx)
	if err != nil {
		return v, err
	}
	checks, _, err := s.SiteChecks.Status(ctx)
	if err != nil {
		return v, err
	}
	late, err := s.store.Overdue(ctx, time.Now())
	if !late.Deliveries.IsZero() {
		v.DeliveryDelay = int64(time.Since(late.Deliveries).Seconds())
	}
	v.AuditsWaiting = audits + checks
	return v, err
}
