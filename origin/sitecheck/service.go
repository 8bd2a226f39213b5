package sitecheck

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/standing"
	"github.com/fieldmark/fieldmark/origin/store"
)

// The limits of checks.
const (
	// MaxRequests is the number of requests of a check, redirects and robots.txt included:
	// a sixth of an audit, because the owner of the site did not request it.
	MaxRequests = 10
	// AuditTimeout limits the requests of a check. With its scoring a check takes 90 s.
	AuditTimeout = 80 * time.Second

	keep         = day              // of a check
	dedupeWindow = 10 * time.Minute // in which a check of the same URL is returned again
	maxWaiting   = 1000             // in the queue: eight at once need at most three hours for them
	busyRetry    = time.Minute      // when the queue is full
)

// Config is what a Service needs.
type Config struct {
	Store *store.Store
	Jobs  *job.Runner
	Log   *slog.Logger
	// Auditor reads the sites, with MaxRequests, AuditTimeout and Pauses.Acquire; nil: checks
	// wait in the queue for a process that has one.
	Auditor *audit.Auditor
	Scorer  standing.Scorer                              // nil: as without an Auditor
	Advise  func(*fieldmark.Assessment) []fieldmark.Gain // of the same module runtime
	// domains that are not checked, in lower case
	Deny []string
	// host:port pairs that may be checked although they are not public
	Sites  []string
	Wishes func(ctx context.Context, host string) (checks bool, err error) // of the owner of a host; nil: none has any
	Off    bool                                                            // no checks are accepted or made
}

// Service accepts checks, makes them and returns what they found. Its methods may be called
// from any goroutine.
type Service struct {
	cfg      Config
	progress progress
	waits    chan struct{} // a semaphore: one value per request that waits for a check
}

// maxWaits limits the requests that wait for checks to end: beyond it they are answered at
// once. Each reads its row once a second.
const maxWaits = 256

// New returns a Service that has started nothing.
func New(cfg Config) *Service {
	s := &Service{cfg: cfg, waits: make(chan struct{}, maxWaits)}
	cfg.Jobs.OnRenew(s.writeProgress)
	return s
}

// Request queues a check for a client, or returns the one of the same URL that is under way
// or recent: existing is true then, and no budget is used.
// A refused check is stored as well, so that its page can say who refused it.
func (s *Service) Request(ctx context.Context, client netip.Addr, r fieldmark.SiteCheckRequest) (c fieldmark.SiteCheck,
	existing bool, err error) {
	if err := s.requireOn(); err != nil {
		return c, false, err
	}
	// The address is checked before anything is read.
	a, err := parseAddress(r.URL, s.cfg.Sites)
	if err != nil {
		return c, false, err
	}
	by, reason, err := s.refused(ctx, a.host)
	if err != nil {
		return c, false, err
	}
	err = s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		now := time.Now()
		c, err = tx.RecentSiteCheck(ctx, a.url, now.Add(-dedupeWindow))
		// The same URL within minutes has the same answer, so no second check is made for it.
		if existing = err == nil && c.ExpiresAt.Std().After(now); existing {
			return nil
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		at := fieldmark.At(now)
		// The id is random: it is the only protection of a check, which is not listed anywhere.
		c = fieldmark.SiteCheck{ID: fieldmark.NewRandomID(fieldmark.PrefixCheck), State: fieldmark.SiteCheckQueued,
			URL: a.url, Host: a.host, CreatedAt: at, ExpiresAt: fieldmark.At(now.Add(keep))}
		budgets := clientBudgets(client)
		if by != "" {
			// The site is not requested, so only the client's budget is used.
			c.State, c.By, c.Reason, c.FinishedAt = fieldmark.SiteCheckRefused, by, reason, &at
		} else {
			waiting, _, err := tx.CountSiteChecks(ctx)
			if err != nil {
				return err
			}
			if waiting >= maxWaiting {
				return &fieldmark.Error{Code: fieldmark.CodeOverloaded, RetryAfter: busyRetry,
					Detail: fmt.Sprintf("%d checks wait; send yours again later", waiting)}
			}
			budgets = append(budgets, append(hostBudgets(a.host), domainBudgets(a.domain)...)...)
			c.Position = waiting + 1
		}
		// All budgets are spent or none, in the transaction that queues the check.
		if err := tx.Spend(ctx, now, budgets...); err != nil {
			return budgetError(err)
		}
		return tx.AddSiteCheck(ctx, c)
	})
	if err != nil {
		return fieldmark.SiteCheck{}, false, fmt.Errorf("request a check: %w", err)
	}
	return c, existing, nil
}

// requireOn returns CodeModuleDisabled if the operator switched checks off.
func (s *Service) requireOn() error {
	if s.cfg.Off {
		return fieldmark.Errorf(fieldmark.CodeModuleDisabled, "checks of sites are disabled on this server")
	}
	return nil
}

// refused returns who refuses checks of a host, "" if it may be checked.
// The operator's list comes first. The setting of an owner applies to checks by others.
func (s *Service) refused(ctx context.Context, host string) (by fieldmark.SiteRefuser, reason string, err error) {
	for _, domain := range s.cfg.Deny {
		if isBelow(host, strings.ToLower(domain)) {
			return fieldmark.RefusedByOperator, "This service does not check " + host + ".", nil
		}
	}
	if s.cfg.Wishes == nil {
		return "", "", nil
	}
	if checks, err := s.cfg.Wishes(ctx, host); err != nil || checks {
		return "", "", err
	}
	return fieldmark.RefusedByOwner, "The owner of " + host + " does not want others to check it.", nil
}

// Get returns a check, with its report once it is done. It waits until the check has ended,
// but not longer than wait.
func (s *Service) Get(ctx context.Context, id string, wait time.Duration) (fieldmark.SiteCheck, error) {
	if err := s.requireOn(); err != nil {
		return fieldmark.SiteCheck{}, err
	}
	c, err := s.wait(ctx, id, wait)
	if p := s.progress.get(id); p.steps > c.Steps && c.State == fieldmark.SiteCheckRunning {
		// The stored progress is as old as the last renewal of leases.
		c.Step, c.Steps, c.Requests = p.step, p.steps, p.requests // made by this process, and newer
	}
	if err == nil && c.State == fieldmark.SiteCheckDone {
		c.Report, err = s.cfg.Store.SiteCheckReport(ctx, id)
	}
	if err == nil && c.State.Ended() {
		// The page of a brand has more than a check.
		c.Brand, err = s.cfg.Store.BrandAt(ctx, homeURLs(c.URL))
	}
	if errors.Is(err, store.ErrNotFound) {
		// The row of an expired check is deleted, and ids cannot be guessed.
		return c, fieldmark.Errorf(fieldmark.CodeCheckExpired,
			"a check is kept for a day, then it is deleted; request another one")
	}
	if err != nil {
		return c, fmt.Errorf("get a check: %w", err)
	}
	return c, nil
}

// wait returns a check when it has ended or the wait is over.
func (s *Service) wait(ctx context.Context, id string, wait time.Duration) (fieldmark.SiteCheck, error) {
	select {
	case s.waits <- struct{}{}:
		defer func() { <-s.waits }()
	default:
		wait = 0
	}
	timeout := time.NewTimer(wait)
	defer timeout.Stop()
	poll := time.NewTicker(job.PollInterval)
	defer poll.Stop()
	for {
		// Watch before the read: an end between them wakes the wait.
		changed := s.cfg.Store.Watch(store.TopicSiteChecks)
		c, err := s.cfg.Store.SiteCheck(ctx, id)
		if err == nil && !c.ExpiresAt.Std().After(time.Now()) {
			err = store.ErrNotFound
		}
		if err != nil || c.State.Ended() || wait <= 0 {
			return c, err
		}
		select {
		case <-changed:
		case <-poll.C:
		case <-timeout.C:
			return c, nil
		case <-ctx.Done():
			return c, ctx.Err()
		}
	}
}

// Status counts the checks that wait and those that run.
func (s *Service) Status(ctx context.Context) (waiting, running int, err error) {
	return s.cfg.Store.CountSiteChecks(ctx)
}

// progress is how far the checks of this process are.
type progress struct {
	mu     sync.Mutex
	checks map[string]current
}

// current is the step of a check, how many it has begun, and the requests it has made.
type current struct {
	step            string
	steps, requests int
}

// update applies fn to the progress of a check, under the lock.
func (p *progress) update(id string, fn func(*current)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.checks == nil {
		p.checks = map[string]current{}
	}
	c := p.checks[id]
	fn(&c)
	p.checks[id] = c
}

// get returns the zero value for a check of another process.
func (p *progress) get(id string) current {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.checks[id]
}

func (p *progress) delete(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.checks, id)
}
