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

// Stats reads the numbers from the database, in a few milliseconds.
func (s *Service) Stats(ctx context.Context) (v Stats, err error) {
	if v.Stats, err = s.store.Stats(ctx, time.Now()); err != nil {
		return v, fmt.Errorf("read the statistics: %w", err)
	}
	if v.AuditsWaiting, v.AuditsRunning, err = s.Brands.Audits.Status(ctx); err != nil {
		return v, err
	}
	if v.SiteChecksWaiting, v.SiteChecksRunning, err = s.SiteChecks.Status(ctx); err != nil {
		return v, err
	}
	v.Brands, err = s.store.CountBrands(ctx, MaxCount)
	return v, err
}

// Status returns what anyone may know of the work of this service.
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
	stats, err := s.Stats(ctx)
	v.AuditsWaiting = stats.AuditsWaiting + stats.SiteChecksWaiting
	v.DeliveryDelay = int64(stats.Oldest.Seconds())
	return v, err
}

// Activity counts recent events that an operator may have to act on.
type Activity = store.Activity

// activityWindow is how far back Activity counts deliveries.
const activityWindow = 24 * time.Hour

// Activity counts deliveries of the last 24 hours, 10,000 at most, so that the page stays
// fast during an incident.
func (s *Service) Activity(ctx context.Context) (Activity, error) {
	a, err := s.store.Activity(ctx, time.Now().Add(-activityWindow))
	if err != nil {
		return a, fmt.Errorf("count recent activity: %w", err)
	}
	return a, nil
}
