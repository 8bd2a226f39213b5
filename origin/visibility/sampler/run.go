package sampler

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin/visibility/engine"
	"github.com/fieldmark/fieldmark/origin/visibility/plan"
)

// Limits of retries.
const (
	maxAttempts = 6
	maxWait     = 5 * time.Minute
	// restAfter failures in a row an engine rests: an outage should not use up the questions of a day.
	restAfter = 5
	restFor   = 15 * time.Minute
	// grace is how long calls under way may take after the process is asked to stop. A call that is
	// given up is lost: it is paid and has no answer.
	grace = 30 * time.Second
)

// Ended is why a run ended.
type Ended struct {
	Over    bool              // nothing is left to ask, ever
	Budget  bool              // the budget is reached
	Stopped map[string]string // engines that cannot go on, with the reason
}

// Run asks what is due, and returns when nothing more is due; with wait, when the study is over. It returns early
// when the budget is reached or no engine can go on.
func (s *Study) Run(ctx context.Context, wait bool) (Ended, error) {
	r := &runner{study: s, wait: wait, ended: Ended{Stopped: map[string]string{}}}
	for i := range s.Plan.Engines {
		r.paces = append(r.paces, &pace{interval: time.Minute / time.Duration(s.Plan.Engines[i].RPM)})
	}
	// Calls outlive ctx by grace, because a call that is under way is paid.
	calls, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })()
	// Days are counted each time: how many there are may depend on the answers of the first ones.
	for day := 0; day < s.days(); day++ {
		// Asked later, it would be an answer of another day.
		if !time.Now().Before(s.Plan.Schedule.Day(day + 1)) {
			continue // its open cells are missed
		}
		begins := time.Until(s.Plan.Schedule.Day(day))
		if begins > 0 && !wait {
			break
		}
		if err := timeout.Sleep(ctx, begins); err != nil {
			return r.ended, err
		}
		if day >= s.Plan.Schedule.Days && s.needsSize() {
			if err := fixSize(s); err != nil {
				return r.ended, err
			}
			if day >= s.days() {
				break
			}
		}
		if err := r.day(ctx, calls, day); err != nil {
			return r.ended, err
		}
		if r.ended.Budget || len(r.ended.Stopped) == len(s.Plan.Engines) {
			break
		}
	}
	r.ended.Over = s.IsOver(time.Now())
	return r.ended, ctx.Err()
}

// IsOver reports whether nothing can be asked any more.
func (s *Study) IsOver(now time.Time) bool {
	if s.needsSize() && now.Before(s.Plan.Schedule.Day(s.days())) {
		return false // what is asked on its last days is not decided
	}
	for day := range s.days() {
		if !now.Before(s.Plan.Schedule.Day(day + 1)) {
			continue
		}
		for _, c := range s.cellsOf(day) {
			if state, _ := s.stateOf(c.id(s.Plan)); state == stateOpen || state == stateSent && s.isBusy() {
				return false
			}
		}
	}
	return true
}

// runner is one run.
type runner struct {
	study *Study
	wait  bool
	paces []*pace // by engine

	mu    sync.Mutex
	ended Ended
}

// stop ends the calls of an engine; the first reason stays.
func (r *runner) stop(engine, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// Later reasons are mostly consequences of the first.
	if r.ended.Stopped[engine] == "" {
		r.ended.Stopped[engine] = reason
	}
}

// reachBudget ends all engines: they share one budget.
func (r *runner) reachBudget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended.Budget = true
}

// hasEnded reports whether an engine asks nothing more in this run.
func (r *runner) hasEnded(engine string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended.Budget || r.ended.Stopped[engine] != ""
}

// day asks the cells of a day, all engines at the same time. Calls use their own context: they end after ctx does.
func (r *runner) day(ctx, calls context.Context, day int) error {
	byEngine := make([][]Cell, len(r.study.Plan.Engines))
	for _, c := range r.study.cellsOf(day) {
		byEngine[c.Engine] = append(byEngine[c.Engine], c)
	}
	// An error is one of the disk, after which no engine may spend money.
	g, ctx := errgroup.WithContext(ctx)
	for _, cells := range byEngine {
		g.Go(func() error { return r.engine(ctx, calls, cells) })
	}
	return g.Wait()
}

// engine asks the cells of one engine and day in their order. Until the engine has answered once, its calls are
// made one after the other: prices or limits of the plan that are wrong for all calls are noticed after one.
func (r *runner) engine(ctx, calls context.Context, cells []Cell) error {
	if len(cells) == 0 {
		return nil
	}
	s := r.study
	e, p := &s.Plan.Engines[cells[0].Engine], r.paces[cells[0].Engine]
	ends := s.Plan.Schedule.Day(cells[0].Day + 1)
	var g errgroup.Group
	g.SetLimit(e.Concurrency)
	for _, c := range cells {
		if state, _ := s.stateOf(c.id(s.Plan)); state != stateOpen {
			continue
		}
		// Cells are in the order of their time, so none after it is due.
		if time.Until(c.Due) > 0 && !r.wait {
			break
		}
		if timeout.Sleep(ctx, time.Until(c.Due)) != nil || timeout.Sleep(ctx, p.turn(time.Now())) != nil ||
			r.hasEnded(e.ID) || !time.Now().Before(ends) {
			break
		}
		if !s.hasAnswered(e.ID) {
			if err := r.ask(ctx, calls, c, ends); err != nil {
				return err
			}
			continue
		}
		g.Go(func() error { return r.ask(ctx, calls, c, ends) })
	}
	return g.Wait()
}

// ask asks a cell until it has an answer, or gets none. The error is one of the disk.
func (r *runner) ask(ctx, calls context.Context, c Cell, ends time.Time) error {
	s, e, p := r.study, &r.study.Plan.Engines[c.Engine], r.paces[c.Engine]
	for {
		if r.hasEnded(e.ID) || ctx.Err() != nil || !time.Now().Before(ends) {
			return nil
		}
		pause, err := s.attempt(calls, c)
		p.pause(time.Now(), pause)
		failure, refused := errors.AsType[*engine.Failure](err)
		switch {
		case err == nil:
			p.succeeded()
			return nil
		case errors.Is(err, errBudget):
			r.reachBudget()
			return nil
		case !refused:
			return err
		}
		// Also for final failures: an engine that answers nothing useful should rest.
		p.failed(time.Now())
		_, attempts := s.stateOf(c.id(s.Plan))
		switch {
		// The cell stays open, so a run with a corrected key asks it again.
		case failure.Action == engine.StopEngine:
			r.stop(e.ID, failure.Error())
			return nil
		case failure.Action == engine.FailCell || attempts >= maxAttempts:
			return nil
		}
		// Full jitter: calls that failed together do not come back together.
		wait := rand.N(time.Second<<attempts + 1)
		wait = min(max(wait, failure.Wait), maxWait)
		p.pause(time.Now(), failure.Wait)
		if timeout.Sleep(ctx, wait) != nil {
			return nil
		}
	}
}

// attempt makes one call with its continuations, and returns how long to wait before the next one. Every
// step is on disk before the next: a process that is killed leaves either nothing sent, or a cell that is lost.
func (s *Study) attempt(ctx context.Context, c Cell) (pause time.Duration, err error) {
	p, id := s.Plan, c.id(s.Plan)
	e := &p.Engines[c.Engine]
	reserve, err := s.reserve(e)
	if err != nil {
		return 0, err
	}
	// A process that is killed here has sent nothing, and the cell may be asked again.
	if err := s.record(Entry{Event: eventIntend, Cell: id, Reserve: reserve}); err != nil {
		s.release(e, reserve)
		return 0, err
	}
	if err := s.record(Entry{Event: eventSent, Cell: id}); err != nil {
		s.release(e, reserve)
		return 0, err
	}
	var exchanges []engine.Exchange
	for {
		x, err := s.engines[c.Engine].Ask(ctx, p.Prompts.Prompts[c.Prompt].Text, exchanges)
		if err != nil {
			return 0, s.fail(e, id, reserve, nil, err)
		}
		pause = max(pause, x.Pause)
		exchanges = append(exchanges, x)
		a, err := s.engines[c.Engine].Read(exchanges)
		if errors.Is(err, engine.ErrPaused) {
			more, err := s.reserve(e)
			if err != nil { // what was answered so far is paid
				return pause, errors.Join(err, s.fail(e, id, reserve, &a, &engine.Failure{Reason: err.Error()}))
			}
			if err := s.record(Entry{Event: eventMore, Cell: id, Reserve: more}); err != nil {
				s.release(e, more)
				return pause, err
			}
			reserve += more
			continue
		}
		if err != nil {
			return pause, s.fail(e, id, reserve, &a, err)
		}
		return pause, s.keep(e, id, reserve, exchanges, &a)
	}
}

// fail records a call without an answer, and returns its failure.
func (s *Study) fail(e *plan.Engine, id string, reserve int64, a *engine.Answer, err error) error {
	f, ok := errors.AsType[*engine.Failure](err)
	if !ok {
		f = &engine.Failure{Action: engine.FailCell, Charged: true, Reason: "the call could not be made"}
	}
	entry := Entry{Event: eventFailed, Cell: id, Status: f.Status, Reason: f.Reason}
	_, attempts := s.stateOf(id)
	// Refused leaves the cell open; the last attempt is final.
	if f.Action == engine.StopEngine || f.Action == engine.Retry && attempts < maxAttempts {
		entry.Event = eventRefused
	}
	switch {
	// Its cost is not known, so it is booked with the most that it can be.
	case f.Charged && !(e.ErrorsFree && f.Status >= 500):
		entry.Cost = reserve
	case a != nil:
		entry.Cost = costOf(e, a)
	}
	if err := s.record(entry); err != nil {
		return err
	}
	return f
}

// keep stores an answer and then records it. An engine whose answer cost more than its reserve stops, because the
// vendor bills what the plan excludes. Calls under way then can do the same, so the budget may be exceeded by what
// at most 16 calls, the largest concurrency of an engine, cost above their reserves.
func (s *Study) keep(e *plan.Engine, id string, reserve int64, exchanges []engine.Exchange, a *engine.Answer) error {
	digest, err := s.writeAnswer(id, exchanges)
	if err != nil {
		return err
	}
	entry := Entry{Event: eventDone, Cell: id, Cost: costOf(e, a), Answer: digest, Model: a.Model, Searches: a.Searches}
	if err := s.record(entry); err != nil {
		return err
	}
	// The budget holds only as long as reserves do.
	if entry.Cost > reserve {
		return &engine.Failure{Action: engine.StopEngine, Reason: fmt.Sprintf(
			"a call cost $%s, more than its reserve of $%s: correct the prices or contextTokens of the plan",
			Dollars(entry.Cost), Dollars(reserve))}
	}
	return nil
}

// pace spaces the calls of an engine.
type pace struct {
	interval time.Duration

	mu       sync.Mutex
	next     time.Time // of the next call
	failures int       // in a row
}

// turn reserves the next call and returns the time until then.
func (p *pace) turn(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.next
	if at.Before(now) {
		at = now
	}
	p.next = at.Add(p.interval)
	return at.Sub(now)
}

// pause delays the next call.
func (p *pace) pause(now time.Time, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// Bounded, because a field of a vendor may name tomorrow.
	if at := now.Add(min(d, maxWait)); at.After(p.next) {
		p.next = at
	}
}

// succeeded starts the count of failures again.
func (p *pace) succeeded() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failures = 0
}

// failed counts a failure. After restAfter in a row the engine rests.
func (p *pace) failed(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failures++; p.failures >= restAfter {
		p.failures, p.next = 0, now.Add(restFor)
	}
}
