package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// auditQueue is the audit of one brand, at times in minutes.
type auditQueue struct {
	t     *testing.T
	store *store.Store
	job   store.AuditJob
}

// minutes returns a time of a virtual clock.
func minutes(n int) time.Time {
	return time.UnixMicro(1_800_000_000_000_000).Add(time.Duration(n) * time.Minute)
}

func (q *auditQueue) write(fn func(context.Context, *store.Tx) error) {
	q.t.Helper()
	write(q.t, q.store, fn)
}

func (q *auditQueue) enqueue(at int) {
	q.t.Helper()
	q.write(func(ctx context.Context, tx *store.Tx) error { return tx.EnqueueAudit(ctx, "acme", minutes(at)) })
}

// claim claims the audit.
func (q *auditQueue) claim(now, attempt int) {
	q.t.Helper()
	list := q.claimAll(minutes(now))
	if len(list) != 1 || list[0].Attempts != attempt {
		q.t.Fatalf("at minute %d: claimed %+v, want attempt %d", now, list, attempt)
	}
	q.job = list[0]
}

// idle checks that the audit cannot be claimed yet.
func (q *auditQueue) idle(now int) {
	q.t.Helper()
	if list := q.claimAll(minutes(now)); len(list) > 0 {
		q.t.Fatalf("at minute %d: claimed %+v, want none", now, list)
	}
}

func (q *auditQueue) claimAll(now time.Time) (list []store.AuditJob) {
	q.t.Helper()
	q.write(func(ctx context.Context, tx *store.Tx) (err error) {
		list, err = tx.ClaimAudits(ctx, "worker", now, now.Add(time.Hour), 2, nil)
		return err
	})
	return list
}

func (q *auditQueue) complete() {
	q.t.Helper()
	q.write(func(ctx context.Context, tx *store.Tx) error { return tx.CompleteAudit(ctx, q.job) })
}

func (q *auditQueue) retry(at int) {
	q.t.Helper()
	q.write(func(ctx context.Context, tx *store.Tx) error { return tx.RetryAudit(ctx, q.job, minutes(at)) })
}

// kill ends the process: the next one frees all leases when it starts.
func (q *auditQueue) kill() {
	q.t.Helper()
	q.write(func(ctx context.Context, tx *store.Tx) error { return tx.ReleaseLeases(ctx, "") })
}

// end checks that nothing is left to do.
func (q *auditQueue) end() {
	q.t.Helper()
	if run, err := q.store.AuditRun(q.t.Context(), "acme", minutes(0)); run != nil || err != nil {
		q.t.Errorf("in the end: %+v, %v; want no audit", run, err)
	}
}

// clear removes what a failed test left.
func (q *auditQueue) clear() {
	q.kill()
	for _, q.job = range q.claimAll(minutes(1e6)) {
		q.complete()
	}
}

// A request of an audit is never later than it would be without those of others, never lost, and
// has all attempts.
func TestConcurrentAuditRequests(t *testing.T) {
	s := scratch(t)
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		return tx.PutBrand(ctx, fieldmark.Brand{Slug: "acme", Name: "Acme",
			URL: "https://acme.example/", Niche: "tools",
			Language: "en"})
	})
	for _, tt := range []struct {
		name string
		run  func(q *auditQueue)
	}{
		{"now, while one is queued for later", func(q *auditQueue) {
			q.enqueue(60)
			q.enqueue(5)
			q.claim(5, 1)
			q.complete()
		}},
		{"for later, while one is queued for now", func(q *auditQueue) {
			q.enqueue(5)
			q.enqueue(60)
			q.claim(5, 1)
			q.complete()
		}},
		{"now, while an audit runs that was also requested for later", func(q *auditQueue) {
			q.enqueue(5)
			q.enqueue(60)
			q.claim(5, 1)
			q.enqueue(6)
			q.complete()
			q.claim(6, 1)
			q.complete()
		}},
		{"now and for later, while an audit runs", func(q *auditQueue) {
			q.enqueue(5)
			q.claim(5, 1)
			q.enqueue(6)
			q.enqueue(60)
			q.complete()
			q.claim(6, 1)
			q.complete()
		}},
		{"for later and now, while an audit runs", func(q *auditQueue) {
			q.enqueue(5)
			q.claim(5, 1)
			q.enqueue(60)
			q.enqueue(6)
			q.complete()
			q.claim(6, 1)
			q.complete()
		}},
		{"for later alone, while an audit runs", func(q *auditQueue) {
			q.enqueue(5)
			q.claim(5, 1)
			q.enqueue(60)
			q.complete()
			q.idle(59)
			q.claim(60, 1)
			q.complete()
		}},
		{"in the microsecond in which an audit starts", func(q *auditQueue) {
			q.enqueue(5)
			q.claim(5, 1)
			q.enqueue(5)
			q.complete()
			q.claim(6, 1)
			q.complete()
		}},
		{"while an audit waits for its next attempt", func(q *auditQueue) {
			q.enqueue(5)
			q.claim(5, 1)
			q.retry(7)
			q.enqueue(6)
			q.claim(6, 1)
			q.retry(8)
			q.idle(7)
			q.claim(8, 2)
			q.complete()
		}},
		{"while an attempt runs that fails", func(q *auditQueue) {
			q.enqueue(5)
			q.claim(5, 1)
			q.enqueue(6)
			q.retry(8)
			q.claim(6, 1)
			q.enqueue(60)
			q.retry(8)
			q.claim(8, 1)
			q.complete()
		}},
		{"while an attempt runs that is killed", func(q *auditQueue) {
			q.enqueue(5)
			q.claim(5, 1)
			q.kill()
			q.claim(5, 2)
			q.enqueue(6)
			q.kill()
			q.claim(6, 1)
			q.kill()
			q.claim(6, 2)
			q.complete()
		}},
		{"after an attempt that was killed", func(q *auditQueue) {
			q.enqueue(5)
			q.claim(5, 1)
			q.kill()
			q.enqueue(6)
			q.claim(6, 1)
			q.complete()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := &auditQueue{t: t, store: s}
			defer q.clear()
			tt.run(q)
			q.end()
		})
	}
}
