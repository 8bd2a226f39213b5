package webhook

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/trace"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/keyring"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Retention if Config does not set it.
const (
	DefaultKeepDeliveries = 30 * 24 * time.Hour
	DefaultKeepEvents     = 90 * 24 * time.Hour // what edges, pollers and replays can go back to
)

// Intervals of the maintenance jobs of Run.
const (
	reviewInterval = access.LastUsedPrecision
	pruneInterval  = time.Hour
)

// Config configures a Service. All fields but Tracer and the two durations are required.
// Retention bounds the size of the database: without it every event ever sent would stay.
type Config struct {
	Store    *store.Store
	HTTP     *safehttp.Client // sends messages and requests tokens
	Keyring  *keyring.Keyring
	AuditLog *auditlog.Log
	Jobs     *job.Runner
	Log      *slog.Logger
	Tracer   *trace.Tracer // records a span for each attempt; nil: none

	// how long deliveries and their attempts are kept, also held ones; 0: DefaultKeepDeliveries, negative: forever
	KeepDeliveries time.Duration
	// how long events are kept that no delivery needs; 0: DefaultKeepEvents, negative: forever
	KeepEvents time.Duration
}

// Service manages the endpoints of accounts and delivers events to them. Its
// methods may be called from any goroutine.
//
// Delivery is at least once: a message whose result could not be recorded is sent again, under
// the same id. Receivers recognize it by the id.
type Service struct {
	Stats *Stats

	store    *store.Store
	http     *safehttp.Client
	public   *safehttp.Client // for test worlds
	keyring  *keyring.Keyring
	auditLog *auditlog.Log
	jobs     *job.Runner
	log      *slog.Logger
	tracer   *trace.Tracer

	keepDeliveries, keepEvents time.Duration

	senders senderCache
	metrics deliveryMetrics
}

// New returns a Service that has started nothing.
func New(cfg Config) *Service {
	if cfg.KeepDeliveries == 0 {
		cfg.KeepDeliveries = DefaultKeepDeliveries
	}
	if cfg.KeepEvents == 0 {
		cfg.KeepEvents = DefaultKeepEvents
	}
	s := &Service{
		store: cfg.Store, http: cfg.HTTP, public: cfg.HTTP.PublicOnly(),
		keyring: cfg.Keyring, auditLog: cfg.AuditLog, jobs: cfg.Jobs, log: cfg.Log,
		tracer:         cfg.Tracer,
		keepDeliveries: cfg.KeepDeliveries, keepEvents: cfg.KeepEvents,
		senders: senderCache{all: make(map[string]cachedSender)},
	}
	s.Stats = &Stats{s}
	s.jobs.Share(store.WorkDeliveries)
	return s
}

// Run delivers messages, runs replays, and disables, expires and prunes what is due, until ctx
// ends and all attempts that it started are recorded. Any number of processes may run it on one
// database: they divide the endpoints by shares (see package job), messages are claimed under leases,
// and replays and maintenance decide from the rows that their transactions read.
func (s *Service) Run(ctx context.Context) error {
	m := &maintainer{s}
	var g sync.WaitGroup
	g.Go(func() { (&dispatcher{Service: s, limit: MaxSending - maxTestSending}).dispatch(ctx) })
	g.Go(func() {
		(&dispatcher{Service: s, limit: maxTestSending, worlds: true}).dispatch(store.WithLowPriority(ctx))
	})
	g.Go(func() { (&replayer{s}).replay(ctx) })
	g.Go(func() { s.jobs.When(ctx, store.TopicExpiredEndpoints, "end expired endpoints", m.endExpired) })
	g.Go(func() { s.jobs.When(ctx, store.TopicDeliveryLeases, "end expired leases of deliveries", m.endLeases) })
	g.Go(func() { s.jobs.Every(ctx, reviewInterval, "review endpoints", m.review) })
	g.Go(func() { s.jobs.AtStartAndEvery(ctx, pruneInterval, "prune deliveries and events", m.prune) })
	g.Wait()
	return nil
}

// maintainer runs the maintenance jobs.
type maintainer struct{ *Service }

// endLeases makes the deliveries of stopped processes due, and wakes their endpoints. A
// delivery under a lease is not looked at otherwise, so that a claim reads the index of due
// deliveries only.
func (s *maintainer) endLeases(ctx context.Context) error {
	return s.store.Write(ctx,
		func(ctx context.Context, tx *store.Tx) error { return tx.ExpireDeliveryLeases(ctx, time.Now()) })
}

// review repairs the state that a process left incomplete when it stopped between two
// transactions, and disables or warns about endpoints that fail. Each part changes nothing
// where the state is complete, so that it may run in every process. One does it: the others would read
// the same rows.
func (s *maintainer) review(ctx context.Context) error {
	if !s.jobs.Shares(store.WorkDeliveries).HasFirst() {
		return nil
	}
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.PromoteWaiting(ctx, "", time.Now()), tx.ScheduleEndpoints(ctx), FailDeleted(ctx, tx))
	})
	return errors.Join(err, s.reviewHealth(ctx))
}

// FailDeleted fails the deliveries to deleted endpoints that no process is sending. Deleting an
// endpoint fails those that are due at once; one that was in flight at that time may be
// recorded as due afterwards.
func FailDeleted(ctx context.Context, tx *store.Tx) error {
	return tx.FailEndedDeliveries(ctx, time.Now(), reasonDeleted)
}

// httpOf returns the client for the endpoints of an account. Those of test worlds reach public
// addresses only: anyone with a live key can make a test key.
func httpOf(s *Service, account string) *safehttp.Client {
	if fieldmark.IsTestAccount(account) {
		return s.public
	}
	return s.http
}

// Retention returns how long deliveries, and events that no delivery needs, are kept; below 0
// forever.
func Retention(s *Service) (deliveries, events time.Duration) {
	return s.keepDeliveries, s.keepEvents
}
