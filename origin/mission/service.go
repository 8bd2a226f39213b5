package mission

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/idempotency"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/keyring"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Config configures a Service. All fields but TimerFired and TechnicianPage are required.
type Config struct {
	Store     *store.Store
	Keyring   *keyring.Keyring
	AuditLog  *auditlog.Log
	Jobs      *job.Runner
	Responses *idempotency.Service // saves the responses to requests with a key
	Log       *slog.Logger

	PaymentDueOn fieldmark.MissionStatus // the status of a mission that makes its payment due: COMPLETED or CLOSED
	TimerFired   func(time.Duration)     // receives the time that firing one timer took; may be nil

	// TechnicianPage returns the address of the page of an assignee, which entries of calendars link to,
	// or "". details is set for calendars that show contacts. Nil: entries have no links.
	TechnicianPage func(ctx context.Context, account, assignee string, details bool) (string, error)
}

// Service manages missions, their SLA timers and payments, and the alerts that create them. Its
// methods may be called from any goroutine. A method returns a *fieldmark.Error for what the
// caller did, and any other error for a failure of the database.
type Service struct {
	SLA       *SLA
	Calendars *Calendars
	Visits    *Visits

	store        *store.Store
	jobs         *job.Runner
	responses    *idempotency.Service
	log          *slog.Logger
	paymentDueOn fieldmark.MissionStatus
	timerFired   func(time.Duration)
	exports      exportLimit
}

// New returns a Service that has started nothing.
func New(cfg Config) *Service {
	return &Service{
		SLA: &SLA{store: cfg.Store, log: cfg.Log},
		Calendars: &Calendars{store: cfg.Store, mac: cfg.Keyring.Calendar, auditLog: cfg.AuditLog, log: cfg.Log,
			technicianPage: cfg.TechnicianPage, feeds: feeds{cached: make(map[string]*cachedFeed)}},
		Visits: &Visits{cfg.Store},
		store:  cfg.Store, jobs: cfg.Jobs, responses: cfg.Responses, log: cfg.Log,
		paymentDueOn: cfg.PaymentDueOn, timerFired: cfg.TimerFired,
	}
}

// Run fires timers that are due and writes when calendars were last used, until ctx ends. It
// returns nil, when everything that it started has stopped. Any number of processes may run it
// on one database: timers are claimed under leases (see package job).
func (s *Service) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() { s.jobs.Work(ctx, store.TopicDeadlines, maxTimers, (&timers{s, false}).claim) })
	wg.Go(func() {
		s.jobs.Work(store.WithLowPriority(ctx), store.TopicTestDeadlines, maxTestTimers, (&timers{s, true}).claim)
	})
	wg.Go(func() {
		s.jobs.Every(ctx, access.LastUsedPrecision, "write the last uses of calendars", s.Calendars.writeLastUsed)
	})
	wg.Go(func() { s.jobs.When(ctx, store.TopicLabels, "index labels", s.indexLabels) })
	wg.Go(func() { s.jobs.AtStartAndEvery(ctx, endedInterval, "clear due times", s.clearEnded) })
	wg.Wait()
	// ctx has ended; the last uses since the previous interval would be lost without this
	// write.
	last, cancel := job.ShutdownContext(ctx)
	defer cancel()
	if err := s.Calendars.writeLastUsed(last); err != nil {
		s.log.Error("write the last uses of calendars", slog.Any("error", err))
	}
	return nil
}

// endedInterval is how often origins look for due times that an origin of an earlier version left: an upgrade
// of all origins may take hours.
const endedInterval = time.Hour

func (s *Service) clearEnded(ctx context.Context) error {
	left, err := s.store.EndedSLAs(ctx)
	if err != nil || !left {
		return err
	}
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.ClearEndedSLAs(ctx) })
}

// txn changes missions in one transaction. A txn is valid until the function that received it
// returns. The store may roll a transaction back and run the function again, so nothing outside
// of the database may be changed before the commit.
type txn struct {
	s  *Service
	tx *store.Tx
}

// WithDryRun returns a context under which operations have all of their effects and results, and are then
// undone: nothing is saved, no event is emitted and no number is used. What they create has ids that
// begin with dry.
func WithDryRun(ctx context.Context) context.Context { return store.WithDryRun(ctx) }

type ageKey struct{}

// WithAge returns a context under which missions were requested that long ago: an edge accepted the request
// while no origin could be reached. createdAt is that time, and SLA timers begin at it. It is an
// age and no time, because test worlds have clocks of their own.
func WithAge(ctx context.Context, age time.Duration) context.Context {
	return context.WithValue(ctx, ageKey{}, age)
}

func ageOf(ctx context.Context) time.Duration {
	age, _ := ctx.Value(ageKey{}).(time.Duration)
	return age
}

// Decision is the decision on a request that an edge accepted while no origin could be reached.
type Decision struct {
	store.Intake
	Stored bool // Execute has stored it
}

type decisionKey struct{}

// WithDecision returns a context under which Execute stores a decision with the missions that it writes, in the same
// transaction: it completes d. What is refused or was carried out before is not stored. Writes under the context wait
// while requests write whose senders wait for them.
func WithDecision(ctx context.Context, d *Decision) context.Context {
	return context.WithValue(store.WithReducedPriority(ctx), decisionKey{}, d)
}

// decide queues the decision of a context, if it has one.
func (t *txn) decide(ctx context.Context, results []Result) error {
	d, ok := ctx.Value(decisionKey{}).(*Decision)
	if !ok {
		return nil
	}
	now := fieldmark.At(time.Now())
	d.State, d.DecidedAt, d.Missions = fieldmark.IntakeMission, &now, nil
	for _, r := range results {
		d.Missions = append(d.Missions, r.Mission.ID)
	}
	return t.tx.AddIntake(ctx, &d.Intake)
}

// decided marks the decision of a context as stored.
func decided(ctx context.Context) {
	if d, ok := ctx.Value(decisionKey{}).(*Decision); ok {
		d.Stored = true
	}
}

// newID returns an id for what the transaction creates. That of a dry run cannot be the id of anything that
// exists: the ids of NewID begin with their time, and so with 0.
func newID(ctx context.Context, prefix string, at time.Time) string {
	id := fieldmark.NewID(prefix, at)
	if !store.IsDryRun(ctx) {
		return id
	}
	const mark = "dry"
	return prefix + "_" + mark + id[len(prefix)+1+len(mark):]
}

// write runs fn in a transaction.
func (s *Service) write(ctx context.Context, fn func(context.Context, *txn) error) error {
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return fn(ctx, &txn{s, tx}) })
}

// writeAhead is write for requests that create missions. It names the rows that fn is going to
// read, the saved response of k and the missions with the identifiers of opens, so that the
// store reads them for all transactions of a group in one round trip. fn may run twice (see
// store.WriteWithPrefetch).
func (s *Service) writeAhead(ctx context.Context, k idempotency.Key, opens []Request,
	fn func(context.Context, *txn) error) error {
	var ahead store.Prefetch
	if k.Name != "" {
		ahead.Responses = []store.ResponseKey{{Account: k.Account, Key: k.Name}}
	}
	for i := range opens {
		if m := &opens[i].row; m.Fingerprint != "" {
			ahead.Missions = append(ahead.Missions, store.MissionKey{Account: m.Account, Source: m.Source,
				ExternalID: m.ExternalID})
		}
	}
	return s.store.WriteWithPrefetch(ctx, ahead, func(ctx context.Context,
		tx *store.Tx) error {
		return fn(ctx, &txn{s, tx})
	})
}
