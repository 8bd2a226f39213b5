package brand

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/store"
)

// When brands are audited unasked.
const (
	DefaultAuditEvery = 7 * 24 * time.Hour
	// rulesWithin is how soon brands are audited anew after the rules of auditing
	// changed, spread over it so that not all are at once.
	rulesWithin     = 24 * time.Hour
	scheduleEvery   = time.Minute
	scheduleAtOnce  = 500 // brands put in line in one transaction
	auditJitter     = 0.1 // of the interval, either way: brands added together drift apart
	MaxAuditsListed = 200
)

// nextAudit is the day of an audit after one that ended now.
func (s *Audits) nextAudit(now time.Time) time.Time {
	every := float64(s.auditEvery)
	return now.Add(time.Duration(every * (1 + auditJitter*(2*rand.Float64()-1))))
}

// scheduleDue gives days to brands that have none, brings those forward that were
// audited by other rules, and puts those in line whose day has come.
func (s *Audits) scheduleDue(ctx context.Context) error {
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		now := time.Now()
		within := func(list []fieldmark.Slug, err error, span time.Duration) error {
			for _, slug := range list {
				if err := tx.ScheduleAudit(ctx, slug, now.Add(time.Duration(rand.Float64()*float64(span)))); err != nil {
					return err
				}
			}
			return err
		}
		list, err := tx.UnscheduledBrands(ctx, scheduleAtOnce)
		if err := within(list, err, s.auditEvery); err != nil {
			return err
		}
		soon := min(rulesWithin, s.auditEvery)
		list, err = tx.OutdatedBrands(ctx, audit.Rules, now.Add(soon), scheduleAtOnce)
		if err := within(list, err, soon); err != nil {
			return err
		}
		due, err := tx.DueBrands(ctx, now, scheduleAtOnce)
		if err != nil {
			return err
		}
		for _, slug := range due {
			if err := tx.RequestAudit(ctx, slug, now); err != nil {
				return err
			}
			if err := tx.ScheduleAudit(ctx, slug, s.nextAudit(now)); err != nil { // should the audit be given up
				return err
			}
		}
		return nil
	})
}
