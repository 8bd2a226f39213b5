package brand

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Limits of audits.
const (
	maxRunning  = 24              // audits at once, of 32 with checks: each mostly waits between its requests
	timeout     = 5 * time.Minute // more than an audit takes, which has its own deadline
	maxAttempts = 3               // internal failures: a site that does not respond is a fact, not a failure
	retryDelay  = 1 * time.Minute // times the number of attempts
)

// Audits are the audits of the brands' websites: queued on request or on schedule,
// claimed and run by processes that have an auditor.
type Audits struct {
	store    *store.Store
	brands   *Service
	jobs     *job.Runner
	log      *slog.Logger
	auditor  *audit.Auditor
	interval time.Duration // 0 or less: only on request, and to decide suspicions
	progress progress
}

// Request queues an audit of a brand. A process with an auditor claims it. A brand has at most
// one audit in the queue.
func (s *Audits) Request(ctx context.Context, slug fieldmark.Slug) error {
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.Brand(ctx, slug); err != nil {
			return store.NotFound(err, "there is no such brand")
		}
		return tx.EnqueueAudit(ctx, slug, time.Now())
	})
	if err != nil {
		return fmt.Errorf("request an audit: %w", err)
	}
	return nil
}

// Status counts the audits that are queued and those that run.
// They are the numbers of the status page and of the metrics.
func (s *Audits) Status(ctx context.Context) (waiting, running int, err error) {
	return s.store.CountAudits(ctx, time.Now())
}

// List returns the audits that run and those that are queued, at most maxAudits.
func (s *Audits) List(ctx context.Context) ([]fieldmark.AuditRun, error) {
	return s.store.AuditRuns(ctx, time.Now(), maxAudits)
}

// run works until ctx ends. Processes without an auditor leave the queue to others.
func (s *Audits) run(ctx context.Context) error {
	if s.auditor == nil {
		return nil
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.jobs.Work(ctx, store.TopicAudits, maxRunning, s.claim) })
	wg.Go(func() {
		if s.jobs.AwaitShares(ctx) {
			s.jobs.AtStartAndEvery(ctx, scheduleInterval, "schedule audits", s.enqueueDue)
		}
	})
	wg.Wait()
	return nil
}

// writeProgress writes how far the audits of this process are. It runs with the renewal of
// leases, in the same transaction.
func (s *Audits) writeProgress(ctx context.Context, tx *store.Tx) error {
	for slug, step := range s.progress.snapshot() {
		if err := tx.UpdateAuditProgress(ctx, slug, s.jobs.Worker(), step.name, step.count); err != nil {
			return err
		}
	}
	return nil
}

// claim leases audits that are due and fails those that were lost too often.
func (s *Audits) claim(ctx context.Context, limit int) ([]job.Job, error) {
	var claimed []store.AuditJob
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		now := time.Now()
		if claimed, err = tx.ClaimAudits(ctx, s.jobs.Worker(), now, now.Add(job.LeaseDuration), limit,
			s.jobs.Shares(store.WorkAudits)); err != nil {
			return err
		}
		// In the transaction of the claim: a process that ends here has neither claimed nor failed them.
		claimed, err = s.failAbandoned(ctx, tx, claimed)
		return err
	})
	if err != nil {
		return nil, err
	}
	todo := make([]job.Job, len(claimed))
	for i, a := range claimed {
		todo[i] = job.Job{Lease: store.Lease{Kind: store.LeaseAudit, ID: string(a.Brand)},
			Do: func(ctx context.Context) { s.audit(ctx, a) }}
	}
	return todo, nil
}

// failAbandoned fails the claimed audits whose process stopped during every attempt,
// and returns the others. An audit that crashes its process must not crash every next
// one.
func (s *Audits) failAbandoned(ctx context.Context, tx *store.Tx, claimed []store.AuditJob) (rest []store.AuditJob,
	err error) {
	for _, a := range claimed {
		if a.Attempts <= maxAttempts {
			rest = append(rest, a)
			continue
		}
		// Disputes that wait for this audit would wait for the next one, which may fail as well.
		if err := s.brands.Disputes.endRecheck(ctx, tx, a.Brand, nil); err != nil {
			return nil, err
		}
		if err := tx.FailAudit(ctx, a, fmt.Sprintf(job.ReasonLost, a.Attempts-1)); err != nil {
			return nil, err
		}
		s.log.Error("audit failed: its process ended during each attempt", slog.String("brand", string(a.Brand)),
			slog.Int("attempts", a.Attempts-1))
	}
	return rest, nil
}

// audit audits one brand and stores the facts.
// The requests to the site are made outside of any transaction; only the outcome is written in
// one.
func (s *Audits) audit(ctx context.Context, a store.AuditJob) {
	log := s.log.With(slog.String("brand", string(a.Brand)))
	b, err := s.store.Brand(ctx, a.Brand)
	if err != nil {
		log.Error("audit", slog.Any("error", err))
		return
	}
	// A failure to mark disputes does not keep the audit from running: they stay open.
	if err := s.brands.Disputes.startRecheck(ctx, a.Brand); err != nil {
		log.Error("start to recheck disputes", slog.Any("error", err))
	}
	// A site that does not respond is a report; an error is of this process, such as an
	// unavailable database.
	report, err := s.collect(ctx, b.Brand, log)
	if err != nil && ctx.Err() != nil {
		return // the lease is freed at shutdown
	}
	ctx, cancel := job.ShutdownContext(ctx)
	defer cancel()
	// The outcome is stored even while the process stops: the site has borne the requests.
	if err == nil {
		err = s.finish(ctx, a, b.Brand, report)
	}
	if err == nil {
		log.Info("audited", slog.Int("pages", report.Facts.Pages))
		return
	}
	giveUp := a.Attempts >= maxAttempts
	log.Error("audit", slog.Int("attempt", a.Attempts), slog.Bool("givenUp", giveUp), slog.Any("error", err))
	// The reason is shown to the owner; details of an internal error are in the log only.
	reason := cmp.Or(fieldmark.AsError(err).Detail, "an internal error; see the log")
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if giveUp {
			if err := s.brands.Disputes.endRecheck(ctx, tx, a.Brand, nil); err != nil {
				return err
			}
			return tx.FailAudit(ctx, a, reason)
		}
		return tx.RetryAudit(ctx, a, time.Now().Add(time.Duration(a.Attempts)*retryDelay))
	})
	if err != nil {
		log.Error("requeue an audit", slog.Any("error", err))
	}
}

// collect runs the auditor with a deadline. Suspicions that an administrator dismissed are
// new to the auditor each time, so they are never confirmed.
func (s *Audits) collect(ctx context.Context, b fieldmark.Brand, log *slog.Logger) (audit.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	defer s.progress.delete(b.Slug)
	state, err := s.store.BrandState(ctx, b.Slug)
	if err != nil {
		return audit.Report{}, err
	}
	found, err := s.store.Suspicions(ctx, b.Slug)
	if err != nil {
		return audit.Report{}, err
	}
	dismissed, err := dismissedPassages(ctx, s.store.BrandReader, b.Slug)
	if err != nil {
		return audit.Report{}, err
	}
	subject := audit.Subject{URL: b.URL, Name: b.Name, Language: b.Language, Previous: state.Facts, Wide: true,
		Earlier: func(ctx context.Context, texts audit.Texts) (map[string]audit.EarlierText, error) {
			return earlierTexts(ctx, s.store.BrandReader, b.Slug, texts)
		}}
	for _, f := range found {
		if !dismissed[passageOf(f.Suspicion)] {
			subject.Suspicions = append(subject.Suspicions, f.Suspicion)
		}
	}
	return s.auditor.Audit(ctx, subject,
		func(step string) {
			s.progress.set(b.Slug, step)
			log.Debug("audit", slog.String("step", step))
		})
}

// finish stores the facts and deletes the audit from the queue in one transaction. If
// the URL of the brand has changed meanwhile, the facts are dropped: the change has
// queued another audit.
func (s *Audits) finish(ctx context.Context, a store.AuditJob, audited fieldmark.Brand, report audit.Report) error {
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		b, err := tx.Brand(ctx, a.Brand)
		if err != nil {
			return err
		}
		found := &report.Facts
		if b.URL != audited.URL || found.Refused {
			// Without facts an owner's dispute stays for an administrator.
			found = nil
		}
		if err := s.brands.Disputes.endRecheck(ctx, tx, a.Brand, found); err != nil {
			return err
		}
		if b.URL == audited.URL {
			facts, err := withUpheld(ctx, tx.BrandReader, a.Brand, report.Facts, time.Now())
			if err != nil {
				return err
			}
			doc, err := newFactsDocument(facts)
			if err != nil {
				return err
			}
			// The result is that of the audit, whatever disputes change afterwards.
			doc.result = resultOf(&report.Facts, report.Refused != audit.NotRefused) // before disputes
			if err := s.putReport(ctx, tx, a.Brand, doc, report.Facts.Refused); err != nil {
				return err
			}
			if err := putSuspicions(ctx, tx, a.Brand, report); err != nil {
				return err
			}
			if err := putTexts(ctx, tx, a.Brand, report); err != nil {
				return err
			}
		}
		now := time.Now()
		// A suspicion is checked again soon; otherwise the next audit is that of the schedule.
		due, err := confirmationDue(ctx, tx, a.Brand, now, s.nextTime(now))
		if err != nil {
			return err
		}
		if err := tx.RecordAudit(ctx, a.Brand, due, audit.Rules); err != nil {
			return err
		}
		return tx.CompleteAudit(ctx, a)
	})
}

// refusalsToNotify is how many audits in a row bot protection must refuse until the
// watchers of the brand are notified: one or two may be an accident, and on the default schedule the third
// comes two weeks after the first.
const refusalsToNotify = 3

// putReport stores the facts of an audit. Those of an audit that bot protection refused say
// nothing about the site, so they never replace facts that do: these stay and age.
func (s *Audits) putReport(ctx context.Context, tx *store.Tx, slug fieldmark.Slug, doc factsDocument,
	refused bool) error {
	// The number of refusals in a row; 0 after an audit that was not refused.
	refusals, err := tx.RecordRefusal(ctx, slug, refused)
	if err != nil {
		return err
	}
	if refused {
		state, err := tx.BareState(ctx, slug)
		if err != nil {
			return err
		}
		if state.Facts != nil && !state.Facts.Refused {
			if refusals != refusalsToNotify {
				return nil
			}
			return event.EmitBrand(ctx, tx, slug, fieldmark.EventBrandAudited, fieldmark.BrandAudit{Slug: slug,
				URL: state.Brand.URL, Result: fieldmark.AuditRefused, FactsDigest: state.FactsDigest, AsOf: doc.asOf})
		}
	}
	_, err = s.brands.putFacts(ctx, tx, slug, doc)
	return err
}

// progress is how far the audits of this process are.
// It is in memory and written with leases: the page of a brand shows it with a delay of
// seconds.
type progress struct {
	mu    sync.Mutex
	steps map[fieldmark.Slug]currentStep
}

// currentStep is the step an audit is at, and how many it has begun.
type currentStep struct {
	name  string
	count int
}

// set counts a step.
func (p *progress) set(slug fieldmark.Slug, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.steps == nil {
		p.steps = map[fieldmark.Slug]currentStep{}
	}
	p.steps[slug] = currentStep{name, p.steps[slug].count + 1}
}

// delete removes a brand whose audit has ended.
func (p *progress) delete(slug fieldmark.Slug) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.steps, slug)
}

// snapshot returns a copy, so that no lock is held during the transaction.
func (p *progress) snapshot() map[fieldmark.Slug]currentStep {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.steps)
}
