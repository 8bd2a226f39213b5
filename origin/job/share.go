package job

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin/store"
)

// sharedPollInterval is PollInterval while other processes share work: most of what becomes due is
// written by another process than the one that has its share.
const sharedPollInterval = 200 * time.Millisecond

// shares are the shares of work of one process. Processes find each other by leases in the database;
// of n processes in the order of their names, the ith does every nth share from i on. Nothing else
// depends on them: which process works on a row is decided by the lease of the row, so shares that
// processes disagree about for a moment cost reads and nothing else.
type shares struct {
	mu    sync.Mutex
	held  map[store.Work]store.Shares // of the work that this process shares
	alone bool
}

// Share makes this process one of those that divide a kind of work. It must be called before Run.
func (r *Runner) Share(work store.Work) {
	if !r.store.Shared() {
		return // the only process does all of it
	}
	r.shares.mu.Lock()
	defer r.shares.mu.Unlock()
	if r.shares.held == nil {
		r.shares.held = map[store.Work]store.Shares{}
	}
	r.shares.held[work] = store.Shares{} // none before Run has found the other processes
}

// Shares returns the shares of work of this process.
func (r *Runner) Shares(work store.Work) store.Shares {
	r.shares.mu.Lock()
	defer r.shares.mu.Unlock()
	return r.shares.held[work]
}

// AwaitShares waits until Run has the shares of this process, and reports whether ctx has not ended.
// Work that begins before it has no share: what one process does at its start and once per interval
// would wait for a whole interval.
func (r *Runner) AwaitShares(ctx context.Context) bool {
	select {
	case <-r.divided:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// all returns the shares of each kind of work, and whether no other process has some.
func (s *shares) all() (held map[store.Work]store.Shares, alone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.held), s.alone
}

// divideWork keeps the shares of this process until ctx ends. A process that is alone does not renew
// its lease and sends no query: publishDue finds other processes with the read that it makes anyway.
func (r *Runner) divideWork(ctx context.Context) {
	for {
		others := r.store.Watch(store.TopicWorkers)
		if timeout.Sleep(ctx, PollInterval) != nil {
			return
		}
		if _, alone := r.shares.all(); alone {
			select {
			case <-ctx.Done():
				return
			case <-others:
			}
		}
		r.updateShares(ctx)
	}
}

// updateShares renews the lease of this process if it is time, and divides the work among the
// processes that have one. After an error the process keeps its shares.
func (r *Runner) updateShares(ctx context.Context) {
	if err := r.tryUpdateShares(ctx); err != nil && ctx.Err() == nil {
		r.log.Error("share work", slog.Any("error", err))
	}
}

func (r *Runner) tryUpdateShares(ctx context.Context) error {
	held, _ := r.shares.all()
	if len(held) == 0 {
		r.shares.divide(nil, r.worker)
		return nil
	}
	now := time.Now()
	list, err := r.store.Workers(ctx)
	if err != nil {
		return err
	}
	renewed := now.Add(LeaseDuration - renewInterval)
	current := slices.ContainsFunc(list, func(w store.Worker) bool {
		return w.Name == r.worker && w.LeaseUntil.After(renewed)
	})
	ended := slices.ContainsFunc(list, func(w store.Worker) bool { return !w.LeaseUntil.After(now) })
	if !current || ended {
		self := store.Worker{Name: r.worker, Work: slices.Sorted(maps.Keys(held)),
			LeaseUntil: now.Add(LeaseDuration)}
		err := r.store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			list, err = tx.PutWorker(ctx, self, now)
			return err
		})
		if err != nil {
			return err
		}
	}
	r.shares.divide(list, r.worker)
	return nil
}

// divide computes the shares of a process among processes in the order of their names.
func (s *shares) divide(among []store.Worker, worker string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alone = !slices.ContainsFunc(among, func(w store.Worker) bool { return w.Name != worker })
	for work := range s.held {
		var names []string
		for _, w := range among {
			if slices.Contains(w.Work, work) {
				names = append(names, w.Name)
			}
		}
		if len(names) == 1 {
			s.held[work] = nil // all: queries need no condition
		} else {
			s.held[work] = store.SharesOf(slices.Index(names, worker), len(names))
		}
	}
}

// deregister gives the shares of this process to the others.
func (r *Runner) deregister(ctx context.Context, tx *store.Tx) error {
	if err := tx.DeleteWorker(ctx, r.worker); err != nil {
		return fmt.Errorf("leave shared work: %w", err)
	}
	return nil
}
