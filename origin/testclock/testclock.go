package testclock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/mission"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// Limits of the worker.
const (
	maxAdvancing = 4                      // clocks at once in a process: more would only wait for the one writer
	busyPause    = 20 * time.Millisecond  // until a message that another process sends is looked at again
	stuckAfter   = 3 * job.LeaseDuration  // without a result, after which an advance ends where it is
	pollWait     = 250 * time.Millisecond // between reads of a request that waits: another process may advance
)

// Config is what a Service needs. All fields are required.
type Config struct {
	Store    *store.Store
	Jobs     *job.Runner
	Missions *mission.Service
	Webhooks *webhook.Service
	Log      *slog.Logger
}

// Service reads and advances test clocks. Its methods may be called from any goroutine.
type Service struct{ cfg Config }

// New returns a Service that has started nothing.
func New(cfg Config) *Service { return &Service{cfg} }

// Run advances clocks until ctx ends. Any number of processes may run it on one database.
func (s *Service) Run(ctx context.Context) error {
	// Test worlds must not slow down live work. The same holds for the other workers of worlds, whose claims would
	// otherwise count as live work and delay the advance.
	ctx = store.WithLowPriority(ctx)
	return s.cfg.Jobs.Work(ctx, store.TopicTestClocks, maxAdvancing, s.claim)
}

// claim leases clocks that advance.
func (s *Service) claim(ctx context.Context, limit int) (todo []job.Job, err error) {
	var lost []string
	err = s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		todo = nil // the transaction may run twice
		now := time.Now()
		var accounts []string
		accounts, lost, err = tx.ClaimTestClocks(ctx, s.cfg.Jobs.Worker(), now, now.Add(job.LeaseDuration), limit,
			job.MaxClaims)
		for _, account := range accounts {
			todo = append(todo, job.Job{Lease: store.Lease{Kind: store.LeaseTestClock, ID: account},
				Do: func(ctx context.Context) { s.advance(ctx, account) }})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, account := range lost {
		s.cfg.Log.Error("advancing a test clock was given up: the server stopped each time",
			slog.String("account", account), slog.Int("attempts", job.MaxClaims))
	}
	return todo, nil
}

// Get returns the clock of a test account.
func (s *Service) Get(ctx context.Context, account string) (fieldmark.TestClock, error) {
	c, err := s.cfg.Store.TestClock(ctx, account)
	if err != nil {
		return fieldmark.TestClock{}, store.NotFound(err, "the account has no test world; create a test key first")
	}
	return view(&c), nil
}

// view returns a clock as it is at the real time now.
func view(c *store.TestClock) fieldmark.TestClock {
	v := fieldmark.TestClock{Now: fieldmark.At(time.Now().Add(c.Offset)), OffsetSeconds: int64(c.Offset / time.Second),
		State: fieldmark.TestClockReady, Fired: c.Fired, StoppedAt: c.StoppedAt, More: c.StoppedAt != nil}
	if c.Advancing {
		to := fieldmark.At(c.Goal)
		v.State, v.To = fieldmark.TestClockAdvancing, &to
	}
	return v
}

// Advance begins to advance the clock of a test account, and waits for the end as long as the request allows. An
// earlier time than that of the world is CodeClockBackward, a clock that advances already is CodeClockAdvancing, and a
// world that is being reset is CodeWorldResetting: it would be deleted while it advances, and begin with an offset.
func (s *Service) Advance(ctx context.Context, account string, r fieldmark.TestClockRequest) (fieldmark.TestClock,
	error) {
	wait, err := parseWait(r.Wait)
	if err != nil {
		return fieldmark.TestClock{}, err
	}
	goal := r.Now.Std()
	err = s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		c, err := tx.TestClock(ctx, account)
		if err != nil {
			return store.NotFound(err, "the account has no test world; create a test key first")
		}
		reset, err := tx.ResetBegan(ctx, account)
		if err != nil {
			return err
		}
		if !reset.IsZero() {
			return fieldmark.Errorf(fieldmark.CodeWorldResetting, "the test world is being reset")
		}
		if err := validate(&c, goal, time.Now()); err != nil {
			return err
		}
		return tx.StartTestClock(ctx, account, goal)
	})
	if err != nil {
		return fieldmark.TestClock{}, err
	}
	return s.wait(ctx, account, wait)
}

// parseWait parses a Go duration; an empty text is 0, which means not to wait.
func parseWait(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	wait, err := time.ParseDuration(text)
	if err != nil || wait < 0 || wait > fieldmark.TestClockWait {
		return 0, validation.Error("/wait", "range", fmt.Sprintf("must be a duration of at most %s, such as 5s",
			fieldmark.TestClockWait))
	}
	return wait, nil
}

// validate checks the goal of an advance of c at a real time.
func validate(c *store.TestClock, goal, real time.Time) error {
	now := real.Add(c.Offset)
	switch {
	case c.Advancing:
		return fieldmark.Errorf(fieldmark.CodeClockAdvancing, "the clock advances to %s", fieldmark.At(c.Goal))
	case goal.Before(now):
		return fieldmark.Errorf(fieldmark.CodeClockBackward, "it is %s in the test world", fieldmark.At(now))
	case goal.Sub(now) > fieldmark.TestClockStep:
		return validation.Error("/now", "range", fmt.Sprintf("must be at most %d days after the time of the test world",
			fieldmark.TestClockStep/(24*time.Hour)))
	case goal.Sub(real) > fieldmark.TestClockMax:
		return validation.Error("/now", "range", fmt.Sprintf("must be at most %d days after the real time",
			fieldmark.TestClockMax/(24*time.Hour)))
	}
	return nil
}

// wait returns the clock when it no longer advances, or when the wait is over.
// Watch is called before the read, so a change in between ends the wait.
func (s *Service) wait(ctx context.Context, account string, wait time.Duration) (fieldmark.TestClock, error) {
	timeout, poll := time.NewTimer(wait), time.NewTicker(pollWait)
	defer timeout.Stop()
	defer poll.Stop()
	for over := wait <= 0; ; {
		moved := s.cfg.Store.Watch(store.TopicTestClocks)
		c, err := s.Get(ctx, account)
		if err != nil || over || c.State == fieldmark.TestClockReady {
			return c, err
		}
		select {
		case <-ctx.Done():
			return c, ctx.Err()
		case <-timeout.C:
			over = true
		case <-moved:
		case <-poll.C:
		}
	}
}

// advance fires what is due in the world of a test account, in order, until its clock has reached its goal. What fails
// is tried again, and ends the advance after stuckAfter: a world that advances can be neither reset nor advanced.
// While live work is written each step waits, so an advance takes longer, but never without end.
func (s *Service) advance(ctx context.Context, account string) {
	var fired fieldmark.TestClockFired // since the clock was moved
	c, err := s.cfg.Store.TestClock(ctx, account)
	if err != nil {
		s.report(ctx, account, err)
		return // the lease ends
	}
	moved := total(&c.Fired) // what the row of the clock has
	began := time.Now()      // to wait for a process that has claimed something
	for {
		left := fieldmark.TestClockFirings - moved - total(&fired)
		acted, err := false, error(nil)
		if left > 0 {
			acted, err = s.fire(ctx, account, left, &fired)
		}
		if err == nil && acted {
			began = time.Now()
			continue
		}
		pause := busyPause
		if stuck := time.Since(began) > stuckAfter; err == nil || stuck {
			s.report(ctx, account, err)
			since, over := total(&fired), false
			over, err = s.move(ctx, account, &fired, stuck)
			if err == nil && over {
				return
			}
			if err == nil {
				moved, began = moved+since, time.Now()
				continue
			}
		}
		if !errors.Is(err, errBusy) {
			s.report(ctx, account, err)
			pause = job.PollInterval
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// report logs an error. The end of ctx is not an error.
func (s *Service) report(ctx context.Context, account string, err error) {
	if err != nil && ctx.Err() == nil {
		s.cfg.Log.Error("advance a test clock", slog.String("account", account), slog.Any("error", err))
	}
}

// errBusy: another process has claimed what is due, from before the advance.
var errBusy = errors.New("another process has claimed what is due")

// fire fires what is due now, and reports whether there was anything. It sends up to limit messages, and fires the
// timers of up to one batch.
func (s *Service) fire(ctx context.Context, account string, limit int, fired *fieldmark.TestClockFired) (acted bool,
	err error) {
	now, err := s.cfg.Store.Now(ctx, account)
	if err != nil {
		return false, err
	}
	due, err := s.cfg.Store.WorldDue(ctx, account)
	if err != nil {
		return false, err
	}
	switch {
	case isDue(due.Timers, now):
		slas, payments, all, err := s.cfg.Missions.FireWorld(ctx, account, now)
		fired.SLA, fired.Payments = fired.SLA+slas, fired.Payments+payments
		return all > 0, err
	case isDue(due.Endpoints, now):
		first, retries, err := webhook.DeliverWorld(ctx, s.cfg.Webhooks, account, limit)
		fired.Webhooks, fired.Retries = fired.Webhooks+first, fired.Retries+retries
		return first+retries > 0, err
	}
	return false, nil
}

func isDue(at, now time.Time) bool { return !at.IsZero() && !at.After(now) }

// move moves the clock to what is due next or to its goal, and reports whether the advance is over: at the goal,
// after as many firings as one may have, if it is stuck, or if this process has lost the lease. If something is due
// that this process cannot fire, the error is errBusy.
func (s *Service) move(ctx context.Context, account string, fired *fieldmark.TestClockFired, stuck bool) (over bool,
	err error) {
	err = s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		c, err := tx.TestClock(ctx, account)
		if err != nil || !c.Advancing {
			over = true
			return err
		}
		due, err := tx.WorldDue(ctx, account)
		if err != nil {
			return err
		}
		// Inside the transaction: between a read before it and the write another process could move the
		// clock.
		real := time.Now()
		now, next := real.Add(c.Offset), earliest(due.Timers, due.Endpoints)
		add(&c.Fired, fired)
		remains, busy := isDue(next, c.Goal), due.Sending || isDue(next, now)
		switch {
		// The limit keeps a world whose timers and messages start one another from advancing without end,
		// also if all of them are due now.
		case busy && stuck || remains && total(&c.Fired) >= fieldmark.TestClockFirings:
			at := fieldmark.At(now)
			c.StoppedAt, c.Advancing = &at, false
		case busy:
			return errBusy
		case remains:
			c.Offset = next.Sub(real)
		default:
			// max: the offset never decreases, so events of a world are never dated back.
			c.Offset, c.Advancing = max(c.Offset, c.Goal.Sub(real)), false
		}
		owned, err := tx.MoveTestClock(ctx, account, s.cfg.Jobs.Worker(), &c)
		over = !c.Advancing || !owned
		return err
	})
	if err == nil {
		*fired = fieldmark.TestClockFired{}
	}
	return over, err
}

// earliest returns the earlier of two times; zero is no time.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func add(to, more *fieldmark.TestClockFired) {
	to.SLA, to.Payments = to.SLA+more.SLA, to.Payments+more.Payments
	to.Retries, to.Webhooks = to.Retries+more.Retries, to.Webhooks+more.Webhooks
}

func total(f *fieldmark.TestClockFired) int { return f.SLA + f.Payments + f.Retries + f.Webhooks }
