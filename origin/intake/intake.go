package intake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/store"
)

const (
	// keepRefused is how long refused requests are listed: longer than a holiday of the people who
	// have to send them again.
	keepRefused = 30 * 24 * time.Hour
	keepMission = fieldmark.IntakeDays * 24 * time.Hour

	pruneInterval = time.Hour
	// pruneBatch limits the rows that one transaction deletes: other writers wait for it.
	pruneBatch = 1000
	// MaxRefused limits a list of refused requests.
	MaxRefused = 500
)

// Refusal is a request that was refused. Account and Key are empty if there is no such key.
type Refusal = store.Intake

// Config configures a Service. All fields are required.
type Config struct {
	Store *store.Store
	Jobs  *job.Runner
}

// Service keeps decisions. Its methods may be called from any goroutine.
type Service struct {
	store *store.Store
	jobs  *job.Runner
}

// New returns a Service that has started nothing.
func New(cfg Config) *Service { return &Service{store: cfg.Store, jobs: cfg.Jobs} }

// Run deletes old decisions until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	s.jobs.AtStartAndEvery(ctx, pruneInterval, "prune accepted requests", s.prune)
	return nil
}

func (s *Service) prune(ctx context.Context) error {
	return errors.Join(s.pruneState(ctx, fieldmark.IntakeMission, keepMission),
		s.pruneState(ctx, fieldmark.IntakeRefused, keepRefused))
}

func (s *Service) pruneState(ctx context.Context, state fieldmark.IntakeState, keep time.Duration) error {
	for {
		var n int64
		err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			n, err = tx.PruneIntake(ctx, state, time.Now().Add(-keep), pruneBatch)
			return err
		})
		if err != nil || n < pruneBatch {
			return err
		}
	}
}

// Get returns the decision on a request of an account; account "" means any. A request that was
// not decided, or that is of another account, is CodeNotFound.
func (s *Service) Get(ctx context.Context, account, id string) (fieldmark.Intake, error) {
	r, err := s.store.Intake(ctx, id)
	if err == nil && account != "" && r.Account != account {
		err = store.ErrNotFound
	}
	return r.Intake, store.NotFound(err,
		"there is no such request: it is not decided yet, or was more than %d days ago", fieldmark.IntakeDays)
}

// Refused lists refused requests, the latest first, at most MaxRefused.
func (s *Service) Refused(ctx context.Context) ([]Refusal, error) {
	return s.store.RefusedIntake(ctx, MaxRefused)
}

// Decide stores the decision on a request, and emits an event to the account if it was refused. A
// request that was decided before keeps its first decision, which is returned: an edge that
// stopped in between sends it again.
func (s *Service) Decide(ctx context.Context, r Refusal) (decided fieldmark.Intake, err error) {
	now := fieldmark.At(time.Now())
	r.DecidedAt = &now
	ctx = store.WithReducedPriority(ctx)
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		earlier, err := tx.Intake(ctx, r.ID)
		if decided = earlier.Intake; !errors.Is(err, store.ErrNotFound) {
			return err
		}
		decided = r.Intake
		if err := tx.AddIntake(ctx, &r); err != nil {
			return err
		}
		if r.State != fieldmark.IntakeRefused {
			return nil
		}
		e := store.Event{Event: fieldmark.Event{Type: fieldmark.EventIntakeRefused}, Subject: r.ID}
		_, err = event.Emit(ctx, tx, r.Account, e, r.Intake)
		return err
	})
	if err != nil {
		return fieldmark.Intake{}, fmt.Errorf("decide accepted request %s: %w", r.ID, err)
	}
	return decided, nil
}
