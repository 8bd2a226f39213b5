package origin

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// Bounds of the work Run does unasked.
const (
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
	s.log.Info("origin runs", slog.Bool("publicAPI", s.publicAPI), slog.Bool("audits", s.audits), slog.String("worker", s.jobs.Worker()))
	var g errgroup.Group
	g.Go(func() error { return s.Webhooks.Run(ctx) })
	g.Go(func() error { return s.jobs.Work(ctx, store.TopicDeadlines, maxSweeping, s.claimDeadlines) })
	g.Go(func() error { return s.jobs.Run(ctx) })
	g.Go(func() error { return s.Access.Run(ctx) })
	g.Go(func() error { return s.Brands.Run(ctx) })
	g.Go(func() error { return s.Modules.Run(ctx) })
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
		return webhook.FailDeleted(ctx, tx)
	})
}

// sweep does the small things that are due now and then.
func (s *Service) sweep(ctx context.Context) error {
	report := func(what string, err error) {
		if err != nil && ctx.Err() == nil {
			s.log.Error(what, slog.Any("error", err))
		}
	}
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
		case <-usage.C:
			report("write the last uses of calendars", s.writeUses(ctx))
		case <-old.C:
			s.sweepOld(ctx, report)
		}
	}
}

// sweepOld does what is done every hour.
func (s *Service) sweepOld(ctx context.Context, report func(what string, err error)) {
	report("sweep kept answers", s.sweepOnce(ctx))
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
