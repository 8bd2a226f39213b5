package job

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin/store"
)

const (
	// LeaseDuration is how long a claim lasts without renewal. After that time other
	// processes can claim the jobs of a process that has stopped.
	LeaseDuration = 10 * time.Second
	// renewInterval lets two renewals fail, or clocks differ by some seconds.
	renewInterval = 3 * time.Second
	// PollInterval is the shortest time between two reads of what is due, and so the longest
	// delay until a worker finds work that nothing published: what became due, and what another
	// process wrote. While several processes share work, sharedPollInterval takes its place.
	PollInterval = 1 * time.Second
	// IdleInterval is the longest time between them if no other process writes: then what is due
	// changes with commits of this one only. It bounds the delay after the clock of the host was
	// set, or the host was suspended.
	IdleInterval = 30 * time.Second
	// MaxClaims limits how often processes can claim a job and stop before they finish
	// it. Then the job fails, so that a job that crashes its process does not crash
	// every process.
	MaxClaims = 10
	// shutdownTimeout limits writing the results of work after Run's context ended.
	shutdownTimeout = 5 * time.Second
)

// ReasonLost is the failure, with the number of attempts, of a job whose process
// stopped during every attempt.
const ReasonLost = "given up after %d attempts during each of which the server stopped"

// Runner runs the jobs of one process. Its methods may be called from any goroutine.
type Runner struct {
	store  *store.Store
	log    *slog.Logger
	worker string
	held   leases
	shares shares
	// divided is closed when the shares of this process are known.
	divided    chan struct{}
	divideOnce sync.Once // Run can be called again after it returned
	renew      []func(context.Context, *store.Tx) error
}

// NewRunner returns a Runner that owns no lease.
func NewRunner(s *store.Store, log *slog.Logger) *Runner {
	return &Runner{store: s, log: log, worker: rand.Text(), divided: make(chan struct{})}
}

// Worker returns the name under which this process owns leases. It is random: a
// process that is started again does not own the leases it had before.
func (r *Runner) Worker() string { return r.worker }

// OnRenew adds a function to the transactions that renew leases, such as one that
// writes the progress of jobs. It must be called before Run.
func (r *Runner) OnRenew(fn func(context.Context, *store.Tx) error) { r.renew = append(r.renew, fn) }

// Run renews the leases of this process, and publishes the topics of work that is due, until ctx
// ends. It then returns immediately, because running jobs are canceled.
func (r *Runner) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	if r.store.Shared() {
		r.updateShares(ctx)
		wg.Go(func() { r.divideWork(ctx) })
	}
	r.divideOnce.Do(func() { close(r.divided) })
	wg.Go(func() { r.publishDue(ctx) })
	wg.Go(func() { r.renewLeases(ctx) })
	wg.Wait()
	return nil
}

// publishDue is the only poll of an origin: one read for all workers, after commits, when the next
// work is due, and as often as the intervals say. Workers whose table has no rows wait, and cost
// nothing.
func (r *Runner) publishDue(ctx context.Context) {
	for {
		committed := r.store.Watch(store.TopicCommits)
		held, alone := r.shares.all()
		poll, idle := PollInterval, IdleInterval
		if r.store.Shared() {
			if idle = PollInterval; !alone {
				poll, idle = sharedPollInterval, sharedPollInterval
			}
		}
		wait := PollInterval // after an error: the database may recover
		next, err := r.store.PublishDue(ctx, r.worker, held, time.Now())
		if err == nil {
			wait = idle
			if !next.IsZero() {
				wait = min(wait, time.Until(next))
			}
		} else if ctx.Err() == nil {
			r.log.Error("look for due work", slog.Any("error", err))
		}
		if timeout.Sleep(ctx, poll) != nil || !sleep(ctx, wait-poll, committed) {
			return
		}
	}
}

// sleep waits for d or until early is closed, and reports whether ctx has not ended. Without a time to wait it only
// checks ctx.
func sleep(ctx context.Context, d time.Duration, early <-chan struct{}) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-early:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

func (r *Runner) renewLeases(ctx context.Context) {
	tick := time.NewTicker(renewInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		held := r.held.list()
		if len(held) == 0 {
			continue
		}
		err := r.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			now := time.Now()
			for _, l := range held {
				if err := tx.RenewLease(ctx, l, r.worker, now, now.Add(LeaseDuration)); err != nil {
					return err
				}
			}
			for _, fn := range r.renew {
				if err := fn(ctx, tx); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil && ctx.Err() == nil {
			r.log.Error("renew leases", slog.Any("error", err))
		}
	}
}

// Job is a claimed piece of work and its lease.
type Job struct {
	Lease store.Lease
	Do    func(context.Context)
}

// Claim claims up to limit jobs.
type Claim func(ctx context.Context, limit int) ([]Job, error)

// Work claims jobs and runs up to limit of them at once, until ctx ends and all
// that it started have returned. It claims again when topic is published, which Run does while
// work is due, and when a job ends.
func (r *Runner) Work(ctx context.Context, topic store.Topic, limit int, claim Claim) error {
	var started sync.WaitGroup
	defer started.Wait()
	slots := make(chan struct{}, limit)
	freed := make(chan struct{}, 1)
	for {
		due := r.store.Watch(topic)
		if free := limit - len(slots); free > 0 {
			jobs, err := claim(ctx, free)
			if err != nil && ctx.Err() == nil {
				r.log.Error("claim jobs", slog.Any("error", err)) // what is due stays so, and is published again
			}
			for _, j := range jobs {
				slots <- struct{}{}
				r.Hold(j.Lease)
				started.Go(func() {
					defer func() {
						r.Release(j.Lease)
						<-slots
						select {
						case freed <- struct{}{}:
						default:
						}
					}()
					r.Protect(func() { j.Do(ctx) })
				})
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-due:
		case <-freed:
		}
	}
}

// When calls fn at once and each time topic is published, until ctx ends, and logs errors under
// name. Run publishes a topic again while its work is due.
func (r *Runner) When(ctx context.Context, topic store.Topic, name string, fn func(context.Context) error) {
	for {
		due := r.store.Watch(topic)
		r.Try(ctx, name, fn)
		select {
		case <-ctx.Done():
			return
		case <-due:
		}
	}
}

// Every calls fn once per interval until ctx ends, and logs errors under name.
func (r *Runner) Every(ctx context.Context, interval time.Duration, name string, fn func(context.Context) error) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		r.Try(ctx, name, fn)
	}
}

// AtStartAndEvery is Every with a first call at once: a process that never runs for
// a whole interval does the work, too.
func (r *Runner) AtStartAndEvery(ctx context.Context, interval time.Duration, name string,
	fn func(context.Context) error) {
	r.Try(ctx, name, fn)
	r.Every(ctx, interval, name, fn)
}

// Daily calls fn if this process can claim a daily job that is due, and holds the lease meanwhile. fn ends the job.
// After an error the job is claimed again when the lease has ended; one during which the server stopped MaxClaims
// times, a day later.
func (r *Runner) Daily(ctx context.Context, name store.DailyJob, now time.Time, fn func(context.Context) error) error {
	var claimed, lost bool
	err := r.store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		claimed, lost, err = tx.ClaimDailyJob(ctx, name, r.worker, now, now.Add(LeaseDuration), MaxClaims)
		return err
	})
	if err != nil || !claimed {
		if err == nil && lost {
			r.log.Error("a daily job is postponed for a day: the server stopped during each attempt",
				slog.String("job", string(name)), slog.Int("attempts", MaxClaims))
		}
		return err
	}
	lease := store.Lease{Kind: store.LeaseDailyJob, ID: string(name)}
	r.Hold(lease)
	defer r.Release(lease)
	if err = fn(ctx); err == nil || ctx.Err() != nil { // stopping in order undoes the count with the lease
		return err
	}
	return errors.Join(err, r.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.UncountDailyJob(ctx, name, r.worker)
	}))
}

// Try calls fn once and logs its error, unless ctx has ended.
func (r *Runner) Try(ctx context.Context, name string, fn func(context.Context) error) {
	if err := fn(ctx); err != nil && ctx.Err() == nil {
		r.log.Error(name, slog.Any("error", err))
	}
}

// Protect calls fn and logs its panic, so that a bug in one job does not stop all
// others. After the lease of the job expires, the job runs again.
func (r *Runner) Protect(fn func()) {
	defer func() {
		if v := recover(); v != nil {
			r.log.Error("BUG: job panicked", slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
		}
	}()
	fn()
}

// Free ends leases of this process in the transaction tx, or of every process.
func (r *Runner) Free(ctx context.Context, tx *store.Tx, all bool) error {
	worker := r.worker
	if all {
		worker = ""
	}
	if err := tx.ReleaseLeases(ctx, worker); err != nil {
		return fmt.Errorf("free leases: %w", err)
	}
	return r.deregister(ctx, tx)
}

// ShutdownContext returns a context for writing the result of work, also when ctx
// has ended meanwhile.
func ShutdownContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
}
