package origin_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/store"
)

// lose claims work like a process that stops before it records anything: each claim
// expires at once.
func (w *fixture) lose(t *testing.T, times int, claim func(ctx context.Context, tx *store.Tx, now time.Time) (int,
	error)) {
	t.Helper()
	for i := range times {
		err := w.Store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			n, err := claim(ctx, tx, time.Now())
			if err == nil && n != 1 {
				t.Fatalf("claim %d took %d jobs, want 1", i+1, n)
			}
			if err != nil {
				return err
			}
			return tx.ReleaseLeases(ctx, "")
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (w *fixture) audit(t *testing.T) (run fieldmark.AuditRun, ok bool) {
	t.Helper()
	runs, err := w.Brands.Audits.List(t.Context())
	if err != nil || len(runs) > 1 {
		t.Fatalf("audits: %v, %v", runs, err)
	}
	if len(runs) == 0 {
		return run, false
	}
	return runs[0], true
}

// An audit whose process stopped during every attempt is not retried: it fails with
// a reason, and the next request starts over.
func TestLostAuditFails(t *testing.T) {
	w := newFixture(t)
	asked := 0
	site := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		asked++
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprint(rw, "<title>Acme</title><main>Anvils")
	}))
	defer site.Close()
	b := acme
	b.URL = site.URL + "/"
	putBrand(t, w, b)
	request := func() {
		if err := w.Brands.Audits.Request(t.Context(), b.Slug); err != nil {
			t.Fatal(err)
		}
	}
	request()
	// The owner's dispute waits for this audit.
	dispute := fieldmark.Dispute{Brand: b.Slug, Account: "brand-acme", DisputeStatus: fieldmark.DisputeStatus{
		ID: fieldmark.NewID(fieldmark.PrefixDispute, time.Now()), Signal: "title.good", Kind: fieldmark.DisputeWrong,
		State: fieldmark.DisputeRechecking, OpenedAt: fieldmark.At(time.Now())}}
	err := w.Store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		return tx.PutDispute(ctx, dispute)
	})
	if err != nil {
		t.Fatal(err)
	}
	w.lose(t, 3, func(ctx context.Context, tx *store.Tx, now time.Time) (int, error) {
		list, err := tx.ClaimAudits(ctx, "dead", now, now.Add(time.Hour), 10, nil)
		return len(list), err
	})
	stop := w.run(t)
	defer stop()
	waittest.Until(t, "the audit fails", func() bool { run, ok := w.audit(t); return ok && run.Failure != "" })
	run, _ := w.audit(t)
	if want := "given up after 3 attempts during each of which the server stopped"; run.Failure != want ||
		run.Running || asked != 0 {
		t.Errorf("audit %+v after %d requests; want failure %q before any", run, asked, want)
	}
	if d, err := w.Brands.Disputes.Get(t.Context(), dispute.ID); err != nil || d.State != fieldmark.DisputeInReview {
		t.Errorf("the dispute is %s, %v; want %s", d.State, err, fieldmark.DisputeInReview)
	}
	if waiting, running, err := w.Brands.Audits.Status(t.Context()); waiting != 0 || running != 0 || err != nil {
		t.Errorf("%d wait, %d run, %v; want none", waiting, running, err)
	}
	request()
	waittest.Until(t, "the next audit ends", func() bool { _, ok := w.audit(t); return !ok })
	if state, _, err := w.Brands.State(t.Context(), b.Slug); err != nil || state.Facts == nil {
		t.Errorf("facts after the second request: %v, %v", state.Facts, err)
	}
}

// A worker that stops regularly releases its claim: a deployment does not count as
// an attempt.
func TestStopIsNoAttempt(t *testing.T) {
	w := newFixture(t)
	putBrand(t, w, acme)
	if err := w.Brands.Audits.Request(t.Context(), acme.Slug); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		err := w.Store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			now := time.Now()
			if list, err := tx.ClaimAudits(ctx, "one", now, now.Add(time.Hour), 10, nil); err != nil ||
				len(list) != 1 ||
				list[0].Attempts != 1 {
				t.Fatalf("claimed %+v, %v; want the first attempt", list, err)
			}
			return tx.ReleaseLeases(ctx, "one")
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A delivery that crashes its process fails, and the next one in order is sent.
func TestLostDeliveryFails(t *testing.T) {
	w := newFixture(t)
	r := receive(t, status(200))
	e, err := w.Webhooks.CreateEndpoint(t.Context(), access.DefaultAccount,
		fieldmark.EndpointRequest{URL: r.URL, Events: []string{"mission.*"},
			EndpointSettings: fieldmark.EndpointSettings{Ordering: fieldmark.OrderingMission}})
	if err != nil {
		t.Fatal(err)
	}
	m := openMission(t, w, "a")
	if _, err := w.Missions.Complete(t.Context(), m.ID); err != nil {
		t.Fatal(err)
	}
	w.lose(t, 10, func(ctx context.Context, tx *store.Tx, now time.Time) (int, error) {
		jobs, err := claimAll(ctx, tx, "dead", now, now.Add(time.Hour))
		return len(jobs), err
	})
	stop := w.run(t)
	defer stop()
	waittest.Until(t, "everything else is delivered", func() bool {
		done := 0
		list := w.deliveries(t)
		for _, d := range list {
			if d.State == fieldmark.DeliveryDone {
				done++
			}
		}
		return done > 0 && done == len(list)-1
	})
	list := w.deliveries(t)
	first := list[len(list)-1]
	if want := "given up after 10 attempts during each of which the server " +
		"stopped"; first.State != fieldmark.DeliveryFailed || first.LastError != want {
		t.Errorf("the first delivery is %s, %q; want failed, %q", first.State, first.LastError, want)
	}
	if _, err := w.Webhooks.Resend(t.Context(), e.ID, first.ID); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "it is sent when asked for again", allDone(w, t))
}

// A daily job that crashes its process is postponed for a day, and its failures do not count.
func TestLostDailyJobWaits(t *testing.T) {
	w := newFixture(t)
	claim := func(ctx context.Context, tx *store.Tx, now time.Time) (int, error) {
		claimed, _, err := tx.ClaimDailyJob(ctx, store.JobDump, "dead", now, now.Add(time.Hour), job.MaxClaims)
		return map[bool]int{true: 1}[claimed], err
	}
	jobs := job.NewRunner(w.Store, slog.New(slog.DiscardHandler))
	failure, runs := errors.New("the disk is full"), 0
	daily := func(now time.Time, result error) error {
		return jobs.Daily(t.Context(), store.JobDump, now, func(ctx context.Context) error {
			runs++
			return result
		})
	}
	now := time.Now()
	for range 2 * job.MaxClaims { // each after the lease of the one before
		if err := daily(now, failure); !errors.Is(err, failure) {
			t.Fatalf("a failing job: %v, want %v", err, failure)
		}
		now = now.Add(job.LeaseDuration)
	}
	if err := w.Store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		return tx.ReleaseLeases(ctx, "")
	}); err != nil {
		t.Fatal(err)
	}
	w.lose(t, job.MaxClaims, claim)
	runs = 0
	for _, later := range []time.Duration{0, 23 * time.Hour} {
		if err := daily(now.Add(later), nil); err != nil || runs != 0 {
			t.Errorf("after %v: %d runs, %v; want none", later, runs, err)
		}
	}
	if err := daily(now.Add(25*time.Hour), nil); err != nil || runs != 1 {
		t.Errorf("a day later: %d runs, %v; want one", runs, err)
	}
}

// An advance that crashes its process ends where it is.
func TestLostTestClockStops(t *testing.T) {
	w := newFixture(t)
	_, err := w.Access.Keys.Create(t.Context(), access.DefaultAccount, fieldmark.KeyRequest{Name: "test", Test: true,
		Scopes: []fieldmark.Scope{fieldmark.ScopeMissionCreate}})
	if err != nil {
		t.Fatal(err)
	}
	world := fieldmark.TestAccount(access.DefaultAccount)
	if _, err := w.TestClocks.Advance(t.Context(), world,
		fieldmark.TestClockRequest{Now: fieldmark.At(time.Now().Add(time.Hour))}); err != nil {
		t.Fatal(err)
	}
	w.lose(t, job.MaxClaims, func(ctx context.Context, tx *store.Tx, now time.Time) (int, error) {
		list, _, err := tx.ClaimTestClocks(ctx, "dead", now, now.Add(time.Hour), 10, job.MaxClaims)
		return len(list), err
	})
	stop := w.run(t)
	defer stop()
	waittest.Until(t, "the advance ends", func() bool {
		c, err := w.TestClocks.Get(t.Context(), world)
		if err != nil {
			t.Fatal(err)
		}
		return c.State == fieldmark.TestClockReady
	})
	if c, err := w.TestClocks.Get(t.Context(), world); err != nil || !c.More || c.OffsetSeconds != 0 {
		t.Errorf("the clock is %+v, %v; want one that stopped at its start", c, err)
	}
}

// A worker that lost the lease of a clock learns that from its next write, which is no error and moves nothing: it
// ends, and does not repeat the write.
func TestClockOfAnotherWorkerDoesNotMove(t *testing.T) {
	w := newFixture(t)
	ctx, world := t.Context(), fieldmark.TestAccount(access.DefaultAccount)
	if _, err := w.Access.Keys.CreateTest(ctx, access.DefaultAccount, fieldmark.TestKeyRequest{Name: "t"}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.TestClocks.Advance(ctx, world,
		fieldmark.TestClockRequest{Now: fieldmark.At(time.Now().Add(time.Hour))}); err != nil {
		t.Fatal(err)
	}
	for _, worker := range []string{"first", "second"} {
		want := worker == "second" // which has the lease
		var owned bool
		err := w.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			now := time.Now()
			_, _, err := tx.ClaimTestClocks(ctx, "second", now, now.Add(time.Hour), 1, job.MaxClaims)
			if err != nil {
				return err
			}
			c, err := tx.TestClock(ctx, world)
			if err != nil {
				return err
			}
			c.Offset = time.Minute
			owned, err = tx.MoveTestClock(ctx, world, worker, &c)
			return err
		})
		if err != nil || owned != want {
			t.Errorf("the %s worker moved the clock: %v, %v; want %v", worker, owned, err, want)
		}
		c, err := w.TestClocks.Get(ctx, world)
		if moved := c.OffsetSeconds == 60; err != nil || !want && moved {
			t.Errorf("the clock is %+v, %v, after a write of the %s worker", c, err, worker)
		}
	}
}

// A preview that crashes its process fails, and can be requested again.
func TestLostPreviewFails(t *testing.T) {
	w := newFixture(t)
	const most, reason = 3, "given up"
	request := func(ctx context.Context, tx *store.Tx) error {
		return tx.EnqueuePreview(ctx, fieldmark.ModulePreview{Digest: moduleRef.Digest, Against: moduleRef.Digest,
			State: fieldmark.PreviewWaiting, RequestedAt: fieldmark.At(time.Now())})
	}
	claim := func(ctx context.Context, tx *store.Tx, now time.Time) (int, error) {
		list, err := tx.ClaimPreviews(ctx, "dead", now, now.Add(time.Hour), 10, most, reason)
		return len(list), err
	}
	for range 2 {
		if err := w.Store.Write(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		w.lose(t, most, claim)
		err := w.Store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			if n, err := claim(ctx, tx, time.Now()); n != 0 || err != nil {
				t.Errorf("claim %d took %d previews, %v; want none", most+1, n, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if p, err := w.Modules.Preview(t.Context(), moduleRef.Digest); err != nil ||
			p.State != fieldmark.PreviewFailed || !strings.Contains(p.Error, reason) {
			t.Errorf("preview %+v, %v; want failed because %q", p, err, reason)
		}
	}
}
