package testworld

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/store"
)

const (
	// idleAfter is how long a world stays without a request with one of its keys: a project that
	// pauses for a holiday finds its data again.
	idleAfter = 30 * 24 * time.Hour
	// keepEvents is how long events and deliveries of worlds stay, by real time. Live ones stay
	// for months, because others rely on them.
	keepEvents = 7 * 24 * time.Hour
	// resetBatch is how many missions one transaction deletes. Each is looked up among the saved
	// responses, which have no index of missions, while other writes wait.
	resetBatch = 25
	// pruneBatch is how many events or deliveries one transaction deletes.
	pruneBatch = 200
	// batchPause lets other writes in between two batches.
	batchPause = 20 * time.Millisecond

	idleInterval = time.Hour
	maxWorlds    = 1000 // looked at in one interval; the others follow in the next
)

// Config configures a Service. All fields are required.
type Config struct {
	Store *store.Store
	Jobs  *job.Runner
	Log   *slog.Logger
}

// Service empties test worlds. Its methods may be called from any goroutine.
type Service struct{ cfg Config }

// New returns a Service that has started nothing.
func New(cfg Config) *Service { return &Service{cfg} }

// Reset begins to delete everything in the test world of an account except its keys, and sets its
// clock to the real time. What is created before it has ended may be deleted too. A world that
// is being reset stays so. An account without a test world is CodeNotFound.
func (s *Service) Reset(ctx context.Context, account string) (fieldmark.TestWorld, error) {
	world := fieldmark.TestAccount(account)
	err := s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.BeginReset(ctx, world, time.Now())
	})
	if err != nil {
		return fieldmark.TestWorld{}, fmt.Errorf("reset %s: %w", world, noWorld(err))
	}
	return s.Get(ctx, account)
}

// Get returns the state of the test world of an account; without one it is CodeNotFound.
func (s *Service) Get(ctx context.Context, account string) (fieldmark.TestWorld, error) {
	world := fieldmark.TestAccount(account)
	at, err := s.cfg.Store.ResetBegan(ctx, world)
	if err != nil {
		return fieldmark.TestWorld{}, noWorld(err)
	}
	w := fieldmark.TestWorld{Account: world, State: fieldmark.TestWorldReady}
	if !at.IsZero() {
		w.State = fieldmark.TestWorldResetting
	}
	return w, nil
}

func noWorld(err error) error {
	return store.NotFound(err, "the account has no test world; its first test key makes one")
}

// Run empties worlds until ctx ends. Any number of processes may run it on one database: each
// batch deletes the rows that it finds.
func (s *Service) Run(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.cfg.Jobs.AtStartAndEvery(ctx, idleInterval, "empty idle test worlds", s.prune)
	}()
	s.cfg.Jobs.When(ctx, store.TopicWorldResets, "reset test worlds", s.reset)
	<-done
	return nil
}

// reset deletes the rows of the worlds that are being reset.
func (s *Service) reset(ctx context.Context) error {
	worlds, err := s.cfg.Store.WorldsToReset(ctx, maxWorlds)
	if err != nil {
		return err
	}
	return each(ctx, worlds, func(world string) error {
		return s.batches(ctx, resetBatch, func(ctx context.Context, tx *store.Tx, limit int) (int64, error) {
			return tx.ResetWorld(ctx, world, limit)
		})
	})
}

// each calls fn for each world and joins the errors: a world whose rows cannot be deleted does not keep the others
// from being emptied. When ctx has ended or the database is unavailable, it would fail for each of them, and each
// stops.
func each(ctx context.Context, worlds []string, fn func(world string) error) error {
	var all error
	for _, world := range worlds {
		err := fn(world)
		if err != nil {
			all = errors.Join(all, fmt.Errorf("empty %s: %w", world, err))
		}
		if ctx.Err() != nil || fieldmark.IsCode(err, fieldmark.CodeOriginUnavailable) {
			break
		}
	}
	return all
}

// batches runs fn in transactions until it has nothing more to delete.
func (s *Service) batches(ctx context.Context, limit int,
	fn func(ctx context.Context, tx *store.Tx, limit int) (int64, error)) error {
	for n := int64(1); n > 0; {
		err := s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			n, err = fn(ctx, tx, limit)
			return err
		})
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(batchPause):
		}
	}
	return nil
}

// prune begins to reset idle worlds, and deletes old deliveries and events of the others.
func (s *Service) prune(ctx context.Context) error {
	now := time.Now()
	idle, err := s.cfg.Store.IdleWorlds(ctx, now.Add(-idleAfter), maxWorlds)
	if err != nil {
		return err
	}
	err = each(ctx, idle, func(world string) error {
		if _, err := s.Reset(ctx, world); err != nil {
			return err
		}
		s.cfg.Log.Info("test world is reset: its keys were not used for a month", slog.String("account", world))
		return nil
	})
	worlds, listErr := s.cfg.Store.WorldsWithEvents(ctx, now.Add(-keepEvents), maxWorlds)
	return errors.Join(err, listErr, each(ctx, worlds, func(world string) error {
		return s.batches(ctx, pruneBatch, func(ctx context.Context, tx *store.Tx, limit int) (int64, error) {
			n, err := tx.PruneWorld(ctx, world, now.Add(-keepEvents), limit)
			if err == nil && n > 0 {
				err = tx.PromoteWaiting(ctx, "", now) // those that waited for a deleted one
			}
			return n, err
		})
	}))
}
