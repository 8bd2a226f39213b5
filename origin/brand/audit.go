package brand

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Limits of audits.
const (
	maxAuditing   = 32              // audits at once: each is slow by politeness, not by work
	auditDeadline = 5 * time.Minute // twenty polite requests to a slow site
	maxAuditTries = 3               // failures of ours; a site that does not answer is a finding
	auditRetry    = 1 * time.Minute // times the tries made
)

// Audits are the audits of the brands' websites: queued on request or on schedule,
// claimed and run by processes that have an auditor.
type Audits struct {
	store      *store.Store
	brands     *Service
	jobs       *job.Runner
	log        *slog.Logger
	auditor    *audit.Auditor
	auditEvery time.Duration // 0 or less: only on request
	steps      steps
}

// RequestAudit puts a brand in line to be audited by Run.
func (s *Audits) RequestAudit(ctx context.Context, slug fieldmark.Slug) error {
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.Brand(ctx, slug); err != nil {
			return store.NotFound(err, "there is no such brand")
		}
		return tx.RequestAudit(ctx, slug, time.Now())
	})
	if err != nil {
		return fmt.Errorf("request an audit: %w", err)
	}
	return nil
}

// AuditStatus counts the audits that wait and those that run.
func (s *Audits) AuditStatus(ctx context.Context) (waiting, running int, err error) {
	return s.store.AuditLine(ctx, time.Now())
}

// ListAudits lists the audits that run and those that wait, at most MaxAuditsListed.
func (s *Audits) ListAudits(ctx context.Context) ([]fieldmark.AuditRun, error) {
	return s.store.Audits(ctx, time.Now(), MaxAuditsListed)
}

func (s *Audits) run(ctx context.Context) error {
	if s.auditor == nil {
		return nil
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.jobs.Work(ctx, store.TopicAudits, maxAuditing, s.claimAudits) })
	if s.auditEvery > 0 {
		wg.Go(func() { s.jobs.Every(ctx, scheduleEvery, "schedule audits", s.scheduleDue) })
	}
	wg.Wait()
	return nil
}

// writeProgress writes how far the audits of this process are.
func (s *Audits) writeProgress(ctx context.Context, tx *store.Tx) error {
	return s.steps.each(func(slug fieldmark.Slug, n stepNote) error {
		return tx.NoteStep(ctx, slug, s.jobs.Worker(), n.step, n.count)
	})
}

func (s *Audits) claimAudits(ctx context.Context, limit int) ([]job.Job, error) {
	var claimed []store.Audit
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		now := time.Now()
		if claimed, err = tx.ClaimAudits(ctx, s.jobs.Worker(), now, now.Add(job.LeaseDuration), limit); err != nil {
			return err
		}
		claimed, err = s.failLost(ctx, tx, claimed)
		return err
	})
	if err != nil {
		return nil, err
	}
	todo := make([]job.Job, len(claimed))
	for i, a := range claimed {
		todo[i] = job.Job{Lease: store.Lease{Kind: store.LeaseAudit, ID: string(a.Brand)}, Do: func(ctx context.Context) { s.audit(ctx, a) }}
	}
	return todo, nil
}

// failLost ends the claimed audits whose earlier attempts all ended without a word,
// and returns the others. An audit that ends its process must not end the next.
func (s *Audits) failLost(ctx context.Context, tx *store.Tx, claimed []store.Audit) (rest []store.Audit, err error) {
	for _, a := range claimed {
		if a.Attempts <= maxAuditTries {
			rest = append(rest, a)
			continue
		}
		if err := tx.FailAudit(ctx, a, fmt.Sprintf(job.ReasonLost, a.Attempts-1)); err != nil {
			return nil, err
		}
		s.log.Error("audit failed: its process ended during each attempt", slog.String("brand", string(a.Brand)), slog.Int("attempts", a.Attempts-1))
	}
	return rest, nil
}

// audit audits one brand and writes down what was found.
func (s *Audits) audit(ctx context.Context, a store.Audit) {
	log := s.log.With(slog.String("brand", string(a.Brand)))
	b, err := s.store.Brand(ctx, a.Brand)
	if err != nil {
		log.Error("audit", slog.Any("error", err))
		return
	}
	facts, err := s.findOut(ctx, b.Brand, log)
	if err != nil && ctx.Err() != nil {
		return // Run frees the lease
	}
	ctx, cancel := job.ShutdownContext(ctx)
	defer cancel()
	if err == nil {
		err = s.endAudit(ctx, a, b.Brand, facts)
	}
	if err == nil {
		log.Info("audited", slog.Int("pages", facts.Pages))
		return
	}
	giveUp := a.Attempts >= maxAuditTries
	log.Error("audit", slog.Int("try", a.Attempts), slog.Bool("givenUp", giveUp), slog.Any("error", err))
	reason := cmp.Or(fieldmark.AsError(err).Detail, "an internal error; the log says more")
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if giveUp {
			return tx.FailAudit(ctx, a, reason)
		}
		return tx.RetryAudit(ctx, a, time.Now().Add(time.Duration(a.Attempts)*auditRetry))
	})
	if err != nil {
		log.Error("put back an audit", slog.Any("error", err))
	}
}

// findOut runs the auditor under its deadline.
func (s *Audits) findOut(ctx context.Context, b fieldmark.Brand, log *slog.Logger) (fieldmark.Facts, error) {
	ctx, cancel := context.WithTimeout(ctx, auditDeadline)
	defer cancel()
	defer s.steps.forget(b.Slug)
	return s.auditor.Audit(ctx, audit.Subject{URL: b.URL, Name: b.Name, Language: b.Language},
		func(step string) {
			s.steps.note(b.Slug, step)
			log.Debug("audit", slog.String("step", step))
		})
}

// endAudit writes facts and takes the audit out of line in one transaction.
// Facts of an address the brand has left meanwhile are dropped; the move asked
// for another audit.
func (s *Audits) endAudit(ctx context.Context, a store.Audit, was fieldmark.Brand, facts fieldmark.Facts) error {
	doc, err := newFactsDocument(facts)
	if err != nil {
		return err
	}
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		b, err := tx.Brand(ctx, a.Brand)
		if err != nil {
			return err
		}
		if b.URL == was.URL {
			if _, err := s.brands.putFacts(ctx, tx, a.Brand, doc); err != nil {
				return err
			}
		}
		if s.auditEvery > 0 {
			if err := tx.NoteAudit(ctx, a.Brand, s.nextAudit(time.Now()), audit.Rules); err != nil {
				return err
			}
		}
		return tx.EndAudit(ctx, a)
	})
}

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
