package brand

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/store"
)

// The schedule of audits.
const (
	DefaultAuditInterval = 7 * 24 * time.Hour
	// rulesSpread is the period over which all brands are audited again after the rules
	// of the auditor changed, so that not all audits run at once.
	rulesSpread      = 24 * time.Hour
	scheduleInterval = time.Minute
	scheduleBatch    = 500 // brands in one transaction
	scheduleBatches  = 20  // transactions at once: 10,000 brands a minute are 100 million a week
	auditJitter      = 0.1 // share of the interval, either way: audits of brands added together spread out
	maxAudits        = 200
)

// nextTime returns when a brand that was audited now is due again; zero without a schedule.
func (s *Audits) nextTime(now time.Time) time.Time {
	if s.interval <= 0 {
		return time.Time{}
	}
	every := float64(s.interval)
	return now.Add(time.Duration(every * (1 + auditJitter*(2*rand.Float64()-1))))
}

// enqueueDue queues the brands that are due. One process does it: the others would read the same rows.
func (s *Audits) enqueueDue(ctx context.Context) error {
	if !s.jobs.Shares(store.WorkAudits).HasFirst() {
		return nil
	}
	for range scheduleBatches {
		if full, err := s.enqueueBatch(ctx); err != nil || !full {
			return err
		}
	}
	return nil
}

// enqueueBatch queues up to scheduleBatch brands that are due, and reports whether there may be more.
// Without an interval these are the ones with a suspicion, once each, because what an audit suspects
// another one must decide.
func (s *Audits) enqueueBatch(ctx context.Context) (full bool, err error) {
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		now := time.Now()
		dueBrands := tx.DueSuspectedBrands
		if s.interval > 0 {
			dueBrands = tx.DueBrands
			if err := s.schedule(ctx, tx, now); err != nil {
				return err
			}
		}
		due, err := dueBrands(ctx, now, scheduleBatch)
		if err != nil {
			return err
		}
		for _, slug := range due {
			if err := tx.EnqueueAudit(ctx, slug, now); err != nil {
				return err
			}
			if err := tx.ScheduleAudit(ctx, slug, s.nextTime(now)); err != nil { // in case the audit fails
				return err
			}
		}
		full = len(due) == scheduleBatch
		return nil
	})
	return full, err
}

// schedule schedules brands that have no time yet, and brings forward those that were
// audited by other rules.
func (s *Audits) schedule(ctx context.Context, tx *store.Tx, now time.Time) error {
	// At random times, so that the sites are not all audited at once.
	within := func(list []fieldmark.Slug, err error, span time.Duration) error {
		for _, slug := range list {
			if err := tx.ScheduleAudit(ctx, slug,
				now.Add(time.Duration(rand.Float64()*float64(span)))); err != nil {
				return err
			}
		}
		return err
	}
	list, err := tx.UnscheduledBrands(ctx, scheduleBatch)
	if err := within(list, err, s.interval); err != nil {
		return err
	}
	soon := min(rulesSpread, s.interval)
	list, err = tx.OutdatedBrands(ctx, audit.Rules, now.Add(soon), scheduleBatch)
	return within(list, err, soon)
}
