package origin

import (
	"context"
	"math/rand/v2"
	"sync"
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

// steps is how far the audits of this process have come.
type steps struct {
	mu sync.Mutex
	of map[fieldmark.Slug]stepNote
}

type stepNote struct {
	step  string
	count int
}

func (s *steps) note(slug fieldmark.Slug, step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[fieldmark.Slug]stepNote{}
	}
	s.of[slug] = stepNote{step, s.of[slug].count + 1}
}

func (s *steps) forget(slug fieldmark.Slug) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, slug)
}

func (s *steps) each(fn func(fieldmark.Slug, stepNote) error) error {
	s.mu.Lock()
	notes := make(map[fieldmark.Slug]stepNote, len(s.of))
	for slug, n := range s.of {
		notes[slug] = n
	}
	s.mu.Unlock()
	for slug, n := range notes {
		if err := fn(slug, n); err != nil {
			return err
		}
	}
	return nil
}

// nextAudit is the day of an audit after one that ended now.
func (s *Service) nextAudit(now time.Time) time.Time {
	every := float64(s.auditEvery)
	return now.Add(time.Duration(every * (1 + auditJitter*(2*rand.Float64()-1))))
}

// schedule puts brands in line whose day has come, until ctx ends.
func (s *Service) schedule(ctx context.Context) error {
	again := time.NewTicker(scheduleEvery)
	defer again.Stop()
	for {
		if err := s.scheduleDue(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("schedule audits", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
		}
	}
}

// scheduleDue gives days to brands that have none, brings those forward that were
// audited by other rules, and puts those in line whose day has come.
func (s *Service) scheduleDue(ctx context.Context) error {
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

// Audits lists the audits that run and those that wait, at most MaxAuditsListed.
func (s *Service) Audits(ctx context.Context) ([]fieldmark.AuditRun, error) {
	return s.store.Audits(ctx, time.Now(), MaxAuditsListed)
}
