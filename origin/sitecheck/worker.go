package sitecheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/net/publicsuffix"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/origin/store"
)

const (
	// maxRunning is how many checks run at once in a process, besides the audits of brands:
	// however many people check sites, brands keep their places.
	maxRunning   = 8
	checkTimeout = 90 * time.Second
	pruneEvery   = 10 * time.Minute
	maxReport    = 1 << 20 // bytes of a stored report; the facts of the largest audits have half
)

// Run makes checks until ctx ends, and deletes those that have expired.
func (s *Service) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() { s.cfg.Jobs.AtStartAndEvery(ctx, pruneEvery, "prune checks", s.prune) })
	if !s.cfg.Off && s.cfg.Auditor != nil && s.cfg.Scorer != nil {
		wg.Go(func() { _ = s.cfg.Jobs.Work(ctx, store.TopicSiteChecks, maxRunning, s.claim) })
	}
	wg.Wait()
	return nil
}

func (s *Service) prune(ctx context.Context) error {
	return s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.PruneSiteChecks(ctx, time.Now())
	})
}

func (s *Service) claim(ctx context.Context, limit int) ([]job.Job, error) {
	var claimed []store.SiteCheckJob
	err := s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		now := time.Now()
		claimed, err = tx.ClaimSiteChecks(ctx, s.cfg.Jobs.Worker(), now, now.Add(job.LeaseDuration), limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	jobs := make([]job.Job, len(claimed))
	for i, j := range claimed {
		jobs[i] = job.Job{Lease: store.Lease{Kind: store.LeaseSiteCheck, ID: j.ID},
			Do: func(ctx context.Context) { s.run(ctx, j) }}
	}
	return jobs, nil
}

// interrupted is the reason of a check whose process stopped. It is not made again by
// itself: the site has already received requests of it.
const interrupted = "The server was restarted during this check. Request it again."

// run makes a claimed check and stores its outcome.
func (s *Service) run(ctx context.Context, j store.SiteCheckJob) {
	log := s.cfg.Log.With(slog.String("host", j.Host))
	defer s.progress.delete(j.ID)
	c := fieldmark.SiteCheck{State: fieldmark.SiteCheckFailed, Code: fieldmark.CodeInternal, Reason: interrupted}
	var err error
	if j.Attempts == 1 {
		c, err = s.check(ctx, j)
	}
	stopped := err != nil && ctx.Err() != nil
	switch {
	case stopped:
		c = fieldmark.SiteCheck{State: fieldmark.SiteCheckFailed, Code: fieldmark.CodeInternal, Reason: interrupted}
	case err != nil:
		log.Error("check a site", slog.Any("error", err))
		c = fieldmark.SiteCheck{State: fieldmark.SiteCheckFailed, Code: fieldmark.CodeInternal,
			Reason: "Something went wrong on our side. Request the check again later."}
	}
	now := s.progress.get(j.ID)
	c.Steps, c.Requests = now.steps, max(now.requests, c.Requests)
	ctx, cancel := job.ShutdownContext(ctx)
	defer cancel()
	err = s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if stopped && now.requests == 0 {
			return tx.RequeueSiteCheck(ctx, j)
		}
		at := fieldmark.At(time.Now())
		c.FinishedAt = &at
		return tx.EndSiteCheck(ctx, j, &c)
	})
	if err != nil {
		log.Error("store the outcome of a check", slog.Any("error", err))
		return
	}
	log.Info("checked", slog.String("state", string(c.State)), slog.Int("requests", c.Requests))
}

// check audits a site and scores it. An error is internal.
func (s *Service) check(ctx context.Context, j store.SiteCheckJob) (c fieldmark.SiteCheck, err error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	v := &hostLimiter{service: s, job: j, networks: map[netip.Prefix]bool{}}
	report, err := s.cfg.Auditor.Audit(ctx, audit.Subject{URL: j.URL,
		Hooks: audit.Hooks{Admit: v.admit, Sent: v.sent}},
		func(step string) {
			s.progress.update(j.ID, func(p *current) { p.step, p.steps = step, p.steps+1 })
		})
	if err = errors.Join(err, v.failed); err != nil {
		return c, err
	}
	c.Requests = report.Requests
	if report.Unread != nil {
		return unread(c, report.Unread), nil
	}
	if report.Refused != audit.NotRefused {
		return refused(c, &report), nil
	}
	if v.over != nil {
		return failed(c, v.over), nil
	}
	c.Report, err = s.score(ctx, j, &report.Facts)
	c.State = fieldmark.SiteCheckDone
	return c, err
}

// failed returns a check that failed for a reason that the client may know.
func failed(c fieldmark.SiteCheck, err error) fieldmark.SiteCheck {
	e := fieldmark.AsError(budgetError(err))
	c.State, c.Code, c.Reason = fieldmark.SiteCheckFailed, e.Code, e.Detail
	return c
}

// unread returns a check whose home page was not requested, for an internal reason.
func unread(c fieldmark.SiteCheck, why error) fieldmark.SiteCheck {
	if denied, ok := errors.AsType[*deniedError](why); ok {
		c.State, c.By, c.Reason = fieldmark.SiteCheckRefused, denied.by, denied.reason
		return c
	}
	if errors.Is(why, safehttp.ErrNotAllowed) { // also after a redirect, or when the name changed its address
		why = fieldmark.Errorf(fieldmark.CodeValidationFailed, "%s", safehttp.ErrNotAllowed.Detail)
	}
	return failed(c, why)
}

// refused returns a check that the site refused.
func refused(c fieldmark.SiteCheck, report *audit.Report) fieldmark.SiteCheck {
	c.State, c.By = fieldmark.SiteCheckRefused, fieldmark.RefusedByRobots
	if report.Refused == audit.RefusedByWall {
		c.By = fieldmark.RefusedByWall
	}
	if f, ok := report.Facts.Find("home.reachable"); ok && len(f.Evidence) > 0 {
		e := f.Evidence[len(f.Evidence)-1] // the rule, after that there is one
		c.Reason = e.URL + ": " + e.Fact
	}
	return c
}

// score scores facts by the active module, as a standing is scored.
func (s *Service) score(ctx context.Context, j store.SiteCheckJob, facts *fieldmark.Facts) (*fieldmark.SiteCheckReport,
	error) {
	plan, err := s.cfg.Store.ModulePlan(ctx)
	if err != nil {
		return nil, err
	}
	digest, err := facts.Digest()
	if err != nil {
		return nil, err
	}
	state := fieldmark.BrandState{Brand: fieldmark.Brand{URL: j.URL, Name: j.Host}, Facts: facts, FactsDigest: digest}
	score, err := s.cfg.Scorer.Score(ctx, plan.Digest, func(ctx context.Context) ([]byte, error) {
		return s.cfg.Store.Module(ctx, plan.Digest)
	}, &state, time.Now())
	if err != nil {
		return nil, err
	}
	r := &fieldmark.SiteCheckReport{Assessment: score.Assessment, Gains: s.cfg.Advise(&score.Assessment), Facts: *facts,
		Methodology: score.Methodology, Module: score.Module}
	if body, err := json.Marshal(r); err != nil || len(body) > maxReport {
		return nil, errors.Join(err, fmt.Errorf("a report of %d bytes is larger than %d", len(body), maxReport))
	}
	return r, nil
}

// hostLimiter limits where the requests of one check go.
type hostLimiter struct {
	service  *Service
	job      store.SiteCheckJob
	networks map[netip.Prefix]bool // that were counted
	over     error                 // the budget that ended the check
	failed   error                 // an internal error, which is no finding
}

// deniedError is the error of a redirect to a host whose owner or operator refuses checks.
type deniedError struct {
	by     fieldmark.SiteRefuser
	reason string
}

// Error implements error.
func (e *deniedError) Error() string { return e.reason }

// admit counts a check for each further host that the site leads to, so that many names
// which redirect to one host do not share its budget out among them.
func (v *hostLimiter) admit(ctx context.Context, host string) error {
	if host == v.job.Host {
		return nil
	}
	by, reason, err := v.service.refused(ctx, host)
	if err != nil {
		v.failed = err
		return err
	}
	if by != "" {
		return &deniedError{by, reason}
	}
	budgets := hostBudgets(host)
	domain, err := publicsuffix.EffectiveTLDPlusOne(host)
	if own, _ := publicsuffix.EffectiveTLDPlusOne(v.job.Host); err == nil && domain != own {
		budgets = append(budgets, domainBudgets(domain)...)
	}
	return v.spend(ctx, budgets...)
}

// sent counts a request, and the check for each network that was dialled.
func (v *hostLimiter) sent(ctx context.Context, addr netip.Addr) error {
	v.service.progress.update(v.job.ID, func(p *current) { p.requests++ })
	network := fieldmark.NetworkOf(addr)
	if !addr.IsValid() || v.networks[network] {
		return nil
	}
	v.networks[network] = true
	err := v.spend(ctx, networkBudget(network))
	if _, ok := errors.AsType[*store.BudgetError](err); ok {
		v.over = err
	}
	return err
}

func (v *hostLimiter) spend(ctx context.Context, budgets ...store.Budget) error {
	err := v.service.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.Spend(ctx, time.Now(), budgets...)
	})
	if _, ok := errors.AsType[*store.BudgetError](err); err != nil && !ok {
		v.failed = err
	}
	return err
}

// writeProgress writes how far the checks of this process are.
func (s *Service) writeProgress(ctx context.Context, tx *store.Tx) error {
	s.progress.mu.Lock()
	now := maps.Clone(s.progress.checks)
	s.progress.mu.Unlock()
	for id, p := range now {
		if err := tx.UpdateSiteCheckProgress(ctx, id, s.cfg.Jobs.Worker(), p.step, p.steps, p.requests); err != nil {
			return err
		}
	}
	return nil
}
