package origin

import (
	"context"
	"fmt"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// Run runs the background jobs of all services until ctx ends. Only one process at
// a time may use a database file, so Run frees what an earlier process had claimed.
// A shared database allows any number of processes, and each keeps its claims until
// their leases expire.
func (s *Service) Run(ctx context.Context) error {
	if !s.store.Shared() {
		if err := s.freeLeases(ctx, true); err != nil {
			return fmt.Errorf("run origin: %w", err)
		}
	}
	s.log.Info("origin runs", slog.Bool("publicAPI", s.publicAPI), slog.Bool("audits", s.audits),
		slog.String("worker", s.jobs.Worker()))
	var g errgroup.Group
	g.Go(func() error { return s.Webhooks.Run(ctx) })
	g.Go(func() error { return s.Missions.Run(ctx) })
	g.Go(func() error { return s.TestClocks.Run(ctx) })
	g.Go(func() error { return s.Links.Run(ctx) })
	g.Go(func() error { return s.Attachments.Run(ctx) })
	g.Go(func() error { return s.Responses.Run(ctx) })
	g.Go(func() error { return s.Intake.Run(ctx) })
	g.Go(func() error { return s.jobs.Run(ctx) })
	g.Go(func() error { return s.Access.Run(ctx) })
	g.Go(func() error { return s.Brands.Run(ctx) })
	g.Go(func() error { return s.Modules.Run(ctx) })
	g.Go(func() error { return s.Standings.Run(ctx) })
	g.Go(func() error { return s.Dumps.Run(ctx) })
	g.Go(func() error { return s.Visibility.Run(ctx) })
	g.Go(func() error { return s.Snapshots.Run(ctx) })
	g.Go(func() error { return s.CDNs.Run(ctx) })
	g.Go(func() error { return s.Mirror.Run(ctx) })
	g.Go(func() error { return s.PublicLog.Run(ctx) })
	g.Go(func() error { return s.SiteChecks.Run(ctx) })
	g.Go(func() error { return s.Certificates.Run(ctx) })
	g.Go(func() error { return s.Claims.Run(ctx) })
	g.Go(func() error { return s.Monitor.Run(ctx) })
	g.Go(func() error { return s.Mail.Run(ctx) })
	g.Go(func() error { return s.AccessRequests.Run(ctx) })
	g.Go(func() error { return s.SigningKeys.Run(ctx) })
	g.Go(func() error { return s.TestWorlds.Run(ctx) })
	err := g.Wait()
	last, cancel := job.ShutdownContext(ctx)
	defer cancel()
	if err := s.freeLeases(last, false); err != nil { // they expire by themselves
		s.log.Error("free leases", slog.Any("error", err))
	}
	return err
}

// freeLeases ends the leases of this process, or of all processes.
func (s *Service) freeLeases(ctx context.Context, all bool) error {
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := s.jobs.Free(ctx, tx, all); err != nil {
			return err
		}
		return webhook.FailDeleted(ctx, tx)
	})
}
