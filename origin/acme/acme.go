package acme

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mholt/acmez/v3/acme"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/keyring"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Directories of Let's Encrypt.
const (
	LetsEncrypt        = "https://acme-v02.api.letsencrypt.org/directory"
	LetsEncryptStaging = "https://acme-staging-v02.api.letsencrypt.org/directory"
)

const (
	// MaxNames bounds the names of an installation. Each has a separate order: one broken
	// DNS entry fails one name.
	MaxNames = 50
	// maxRunning bounds the names that one process works on at once.
	maxRunning = 4
	// stepTimeout bounds the work on a name in one go. A CA validates a challenge and issues
	// a certificate within a minute; what takes longer continues later.
	stepTimeout = 5 * time.Minute
	// trimInterval is how often ended orders are deleted, and orderRetention how long they
	// are counted against the limits.
	trimInterval   = time.Hour
	orderRetention = 24 * time.Hour
)

// Config configures a Service. Only Store, Keyring, AuditLog, Jobs and Log are required.
type Config struct {
	Store    *store.Store
	Keyring  *keyring.Keyring
	AuditLog *auditlog.Log
	Jobs     *job.Runner
	Log      *slog.Logger

	// Names are the names to have certificates for. Empty: this process orders nothing.
	Names     []string
	Directory string // URL of the CA's directory; required with Names
	// Email is the contact of the account. Setting it means that its owner agrees to the
	// terms of service of the CA.
	Email string
	// EABKeyID and EABKey, in base64url without padding, bind the account to one that exists
	// (RFC 8555, 7.3.4); empty: it is not bound.
	EABKeyID, EABKey string

	Profile string       // of certificates, as the CA names it; empty: the CA's default
	HTTP    *http.Client // for requests to the CA; nil: a client with timeouts
	Agent   string       // of requests to the CA (RFC 8555, 6.1)
	// Dial connects to a name, to check who answers for it before its first order; nil: a
	// net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Service orders and stores certificates. Its methods may be called from any goroutine.
type Service struct {
	cfg     Config
	store   *store.Store
	jobs    *job.Runner
	log     *slog.Logger
	client  *acme.Client
	account sync.Mutex // held while an account is registered

	results [len(orderResults)]atomic.Int64
}

// New returns a Service that has started nothing.
// All errors of the settings are reported at once.
func New(cfg Config) (*Service, error) {
	var bad []error
	if len(cfg.Names) > MaxNames {
		bad = append(bad, fmt.Errorf("%d names, at most %d", len(cfg.Names), MaxNames))
	}
	for _, name := range cfg.Names {
		if !fieldmark.ValidDNSName(name) {
			bad = append(bad, fmt.Errorf("%q is not a host name: lower case, no wildcard, no port", name))
		}
	}
	if len(cfg.Names) > 0 && (cfg.Directory == "" || cfg.Email == "") {
		bad = append(bad, errors.New("a directory and the contact of the account are required"))
	}
	if err := errors.Join(bad...); err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	if cfg.HTTP == nil {
		cfg.HTTP = &http.Client{Timeout: requestTimeout}
	}
	if cfg.Dial == nil {
		cfg.Dial = new(net.Dialer).DialContext
	}
	client := *cfg.HTTP
	// The errors of the library have no Retry-After; the transport keeps it.
	client.Transport = retryAfterTransport{cmp.Or(client.Transport, http.DefaultTransport)}
	return &Service{cfg: cfg, store: cfg.Store, jobs: cfg.Jobs, log: cfg.Log, client: &acme.Client{
		Directory: cfg.Directory, HTTPClient: &client, UserAgent: cfg.Agent, PollTimeout: stepTimeout}}, nil
}

// Run orders and renews certificates until ctx ends. Without names it does nothing.
func (s *Service) Run(ctx context.Context) error {
	// Another origin of the fleet may have the names; this one still serves the
	// certificates from the database.
	if len(s.cfg.Names) == 0 {
		return nil
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.jobs.AtStartAndEvery(ctx, trimInterval, "add names and trim orders", s.maintain) })
	wg.Go(func() { _ = s.jobs.Work(ctx, store.TopicCertificates, maxRunning, s.claim) })
	wg.Wait()
	return nil
}

// maintain adds the names that have no row, and deletes old orders.
// Names that were taken out of the settings stay: a fleet may have several settings, and their
// certificates are served until they expire or are removed.
func (s *Service) maintain(ctx context.Context) error {
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		now := time.Now()
		for _, name := range s.cfg.Names {
			added, err := tx.AddCertificate(ctx, name, now)
			if err != nil {
				return err
			}
			if added { // edges then answer challenges for it
				if err := s.emitChanged(ctx, tx, name); err != nil {
					return err
				}
			}
		}
		return tx.TrimOrders(ctx, now.Add(-orderRetention))
	})
}

// claim leases due names. It writes only if there are some, as it runs every second.
// The lease keeps two origins from ordering the same name, and expires if one stops.
func (s *Service) claim(ctx context.Context, limit int) (todo []job.Job, err error) {
	due, err := s.store.DueCertificates(ctx, time.Now(), MaxNames)
	if err != nil {
		return nil, err
	}
	// Origins may have different names, and each works only on those in its own settings.
	due = slices.DeleteFunc(due, func(name string) bool { return !slices.Contains(s.cfg.Names, name) })
	if len(due) == 0 {
		return nil, nil
	}
	var claimed []string
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		// The function runs again if its transaction has to be repeated.
		claimed = claimed[:0]
		for _, name := range due[:min(len(due), limit)] {
			now := time.Now()
			ok, err := tx.ClaimCertificate(ctx, name, s.jobs.Worker(), now, now.Add(job.LeaseDuration))
			if err != nil {
				return err
			}
			if ok {
				claimed = append(claimed, name)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err // the names in claimed are not leased
	}
	for _, name := range claimed {
		todo = append(todo, job.Job{Lease: store.Lease{Kind: store.LeaseCertificate, ID: name},
			Do: func(ctx context.Context) { s.work(ctx, name) }})
	}
	return todo, nil
}

// work does what a name needs now and stores when it needs something again.
// Whatever happens, a time is stored at which the name is looked at again.
func (s *Service) work(ctx context.Context, name string) {
	log := s.log.With(slog.String("name", name))
	c, err := s.store.Certificate(ctx, name)
	if err != nil {
		log.Error("certificate", slog.Any("error", err))
		return // claimed again when the lease has expired
	}
	bounded, cancel := context.WithTimeout(withRetryAfter(ctx), stepTimeout)
	defer cancel()
	issued := c.NotAfter
	err = s.step(bounded, &c)
	if err != nil && ctx.Err() != nil {
		return // the lease is freed at shutdown, and the order continues
	}
	if err != nil {
		log.Error("certificate order failed", slog.Any("error", err), slog.Int("failures", c.Failures),
			slog.Time("nextTry", c.DueAt))
	} else if !c.NotAfter.Equal(issued) {
		log.Info("certificate issued", slog.Time("expires", c.NotAfter), slog.Time("renew", c.RenewAt))
	}
	ctx, cancel = job.ShutdownContext(ctx)
	defer cancel()
	if err := s.save(ctx, c); err != nil {
		log.Error("store a certificate", slog.Any("error", err))
	}
}

// step does the next piece of work and updates c: it continues an order, makes one, or checks with
// when to renew.
// Failures of the check before an order and of an order have different pauses: the first costs
// the CA nothing.
func (s *Service) step(ctx context.Context, c *store.Certificate) error {
	open, err := s.store.OpenOrder(ctx, c.Name)
	if errors.Is(err, store.ErrNotFound) {
		now := time.Now()
		if c.Chain != "" && now.Before(c.RenewAt) {
			s.plan(ctx, c)
			if now.Before(c.RenewAt) {
				return nil
			}
		}
		if c.Chain == "" {
			if err := s.selfCheck(ctx, c.Name); err != nil {
				c.Failures++
				c.LastError, c.DueAt = err.Error(), now.Add(backoff(unreachableFirst, unreachableMost, c.Failures))
				return err
			}
		}
		limited, err := s.place(ctx, c, &open)
		if err != nil || limited {
			return err
		}
	} else if err != nil {
		return err
	}
	if err := s.finish(ctx, c, &open); err != nil {
		return s.fail(ctx, c, &open, err)
	}
	return nil
}

// save stores the row of a name. The worker may have lost its lease in the meantime, or an
// administrator may have removed the name.
func (s *Service) save(ctx context.Context, c store.Certificate) error {
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.UpdateCertificate(ctx, c, s.jobs.Worker())
		return err
	})
}

// orderResults are the results of orders, for metrics.
var orderResults = [...]string{"issued", "failed", "limited"}

const (
	resultIssued = iota
	resultFailed
	resultLimited
)
