package origin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Bounds of the work Run does unasked.
const (
	maxAuditing    = 32              // audits at once: each is slow by politeness, not by work
	auditDeadline  = 5 * time.Minute // twenty polite requests to a slow site
	maxAuditTries  = 3               // failures of ours; a site that does not answer is a finding
	auditRetry     = 1 * time.Minute // times the tries made
	sweepUsesEvery = access.LastUsedPrecision
	sweepOldEvery  = time.Hour
)

// Run delivers webhooks, audits brands, keeps deadlines and sweeps, until ctx ends. On a record
// that is a file one process at a time may run, so it frees what an earlier one
// had claimed; on a shared one any number may, and what one of them claimed is
// its own until the lease is over.
func (s *Service) Run(ctx context.Context) error {
	if !s.store.Shared() {
		if err := s.freeLeases(ctx, true); err != nil {
			return fmt.Errorf("run origin: %w", err)
		}
	}
	s.log.Info("origin runs", slog.Bool("publicAPI", s.publicAPI), slog.Bool("audits", s.auditor != nil), slog.String("worker", s.jobs.Worker()))
	var g errgroup.Group
	g.Go(func() error {
		return s.dispatch(ctx)
	})
	if s.auditor != nil {
		g.Go(func() error { return s.jobs.Work(ctx, store.TopicAudits, maxAuditing, s.claimAudits) })
		if s.auditEvery > 0 {
			g.Go(func() error { return s.schedule(ctx) })
		}
	}
	if s.desk.Compare != nil {
		g.Go(func() error { return s.jobs.Work(ctx, store.TopicPreviews, maxPreviewing, s.claimPreviews) })
	}
	g.Go(func() error { return s.replay(ctx) })
	g.Go(func() error { return s.jobs.Work(ctx, store.TopicDeadlines, maxSweeping, s.claimDeadlines) })
	g.Go(func() error { return s.jobs.Run(ctx) })
	g.Go(func() error { return s.Access.Run(ctx) })
	g.Go(func() error { return s.sweep(ctx) })
	err := g.Wait()
	last, cancel := job.ShutdownContext(ctx)
	defer cancel()
	if err := s.freeLeases(last, false); err != nil { // they run out by themselves
		s.log.Error("free leases", slog.Any("error", err))
	}
	return err
}

// freeLeases ends the leases of this process, or of all.
func (s *Service) freeLeases(ctx context.Context, all bool) error {
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := s.jobs.Free(ctx, tx, all); err != nil {
			return err
		}
		return tx.GiveUpEnded(ctx, time.Now(), reasonDeleted)
	})
}

// writeProgress writes how far the audits of this process are.
func (s *Service) writeProgress(ctx context.Context, tx *store.Tx) error {
	return s.steps.each(func(slug fieldmark.Slug, n stepNote) error {
		return tx.NoteStep(ctx, slug, s.jobs.Worker(), n.step, n.count)
	})
}

func (s *Service) claimAudits(ctx context.Context, limit int) ([]job.Job, error) {
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
func (s *Service) failLost(ctx context.Context, tx *store.Tx, claimed []store.Audit) (rest []store.Audit, err error) {
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
func (s *Service) audit(ctx context.Context, a store.Audit) {
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
func (s *Service) findOut(ctx context.Context, b fieldmark.Brand, log *slog.Logger) (fieldmark.Facts, error) {
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
func (s *Service) endAudit(ctx context.Context, a store.Audit, was fieldmark.Brand, facts fieldmark.Facts) error {
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
			if _, err := s.putFacts(ctx, tx, a.Brand, doc); err != nil {
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

// sweep does the small things that are due now and then.
func (s *Service) sweep(ctx context.Context) error {
	report := func(what string, err error) {
		if err != nil && ctx.Err() == nil {
			s.log.Error(what, slog.Any("error", err))
		}
	}
	expiry := time.NewTicker(job.PollInterval)
	defer expiry.Stop()
	usage := time.NewTicker(sweepUsesEvery)
	defer usage.Stop()
	old := time.NewTicker(sweepOldEvery)
	defer old.Stop()
	s.sweepOld(ctx, report) // an origin that never runs for an hour forgets too
	for {
		select {
		case <-ctx.Done():
			last, cancel := job.ShutdownContext(ctx)
			defer cancel()
			if err := s.writeUses(last); err != nil {
				s.log.Error("write the last uses of calendars", slog.Any("error", err))
			}
			return nil
		case <-expiry.C:
			report("end expired endpoints", s.endExpired(ctx))
			report("end leases", s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.EndLeases(ctx, time.Now()) }))
		case <-usage.C:
			report("write the last uses of calendars", s.writeUses(ctx))
			report("give up deliveries", s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
				now := time.Now()
				return errors.Join(tx.PromoteAll(ctx, "", now), tx.WakeAll(ctx), tx.GiveUpEnded(ctx, now, reasonDeleted))
			}))
			report("judge failing endpoints", s.judgeFailing(ctx))
		case <-old.C:
			s.sweepOld(ctx, report)
		}
	}
}

// sweepOld does what is done every hour.
func (s *Service) sweepOld(ctx context.Context, report func(what string, err error)) {
	now := time.Now()
	report("prune nodes", s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.DropNodes(ctx, fieldmark.At(now.Add(-sweepOldEvery)))
	}))
	report("sweep kept answers", s.sweepOnce(ctx))
	report("forget what is old", s.forget(ctx, now))
}

// writeUses records when calendars were last used.
func (s *Service) writeUses(ctx context.Context) error {
	uses := s.calendarUses.Take()
	if len(uses) == 0 {
		return nil
	}
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		for id, u := range uses {
			if err := tx.TouchCalendar(ctx, id, u.At); err != nil {
				return err
			}
		}
		return nil
	})
}
