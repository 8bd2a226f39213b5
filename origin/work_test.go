package origin_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// receiver is a server outside of any synctest bubble. It closes connections, so
// that no goroutine in a bubble waits on the network and stops the bubble's clock.
type receiver struct {
	*httptest.Server
	answer atomic.Pointer[http.HandlerFunc]
	got    atomic.Int64
}

func receive(t testing.TB, answer http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{}
	r.answer.Store(&answer)
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.got.Add(1)
		(*r.answer.Load())(w, req)
	}))
	r.Config.SetKeepAlivesEnabled(false)
	r.Start()
	t.Cleanup(r.Close)
	return r
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(code) }
}

func createEndpoint(t testing.TB, w *fixture, url string, patterns ...string) fieldmark.NewEndpoint {
	t.Helper()
	p, err := w.Webhooks.CreateEndpoint(t.Context(), access.DefaultAccount,
		fieldmark.EndpointRequest{URL: url, Events: patterns})
	if err != nil {
		t.Fatalf("create an endpoint at %s: %v", url, err)
	}
	return p
}

func (w *fixture) deliveries(t testing.TB) []fieldmark.Delivery {
	t.Helper()
	list, err := w.Webhooks.Deliveries(context.Background(), webhook.DeliveryPage{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Data
}

// claimAll claims everything that is due, like a worker of another process.
func claimAll(ctx context.Context, tx *store.Tx, owner string, now, lease time.Time) (jobs []store.Job, err error) {
	if err := tx.ExpireDeliveryLeases(ctx, now); err != nil {
		return nil, err
	}
	ready, err := tx.DueEndpoints(ctx, now, 100, false, nil)
	if err != nil {
		return nil, err
	}
	for _, e := range ready {
		waiting, err := tx.UnleasedDeliveries(ctx, e.ID, 100)
		if err != nil {
			return nil, err
		}
		for _, j := range waiting {
			if err := tx.LeaseDelivery(ctx, j.ID, owner, lease); err != nil {
				return nil, err
			}
		}
		if err := tx.PutEndpointSchedule(ctx, e.ID, time.Time{}, time.Time{}); err != nil {
			return nil, err
		}
		jobs = append(jobs, waiting...)
	}
	return jobs, nil
}

func allDone(w *fixture, t testing.TB) func() bool {
	return func() bool {
		for _, d := range w.deliveries(t) {
			if d.State != fieldmark.DeliveryDone {
				return false
			}
		}
		return true
	}
}

func TestDeliver(t *testing.T) {
	w := newFixture(t)
	var mu sync.Mutex
	got := map[string]int{}
	var secrets sync.Map
	r := receive(t, func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		secret, _ := secrets.Load(r.URL.Path)
		ref, err := standardwebhooks.NewWebhook(secret.(string))
		if err != nil {
			t.Error(err)
			return
		}
		if err := ref.Verify(body, r.Header); err != nil {
			t.Errorf("%s to %s: %v", body, r.URL.Path, err)
		}
		mu.Lock()
		defer mu.Unlock()
		_, rest, _ := strings.Cut(string(body), `"type":"`)
		kind, _, _ := strings.Cut(rest, `"`)
		got[r.URL.Path+" "+kind]++
	})
	for path, patterns := range map[string][]string{"/all": nil, "/completed": {"mission.completed"}, "/star": {"*"}} {
		secrets.Store(path, createEndpoint(t, w, r.URL+path, patterns...).Secret)
	}
	stop := w.run(t)
	defer stop()
	m := openMission(t, w, "a")
	if _, err := w.Missions.Complete(t.Context(), m.ID); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "all deliveries are done", allDone(w, t))
	mu.Lock()
	defer mu.Unlock()
	want := map[string]int{"/all mission.created": 1, "/all mission.dispatched": 1, "/all mission.started": 1,
		"/all mission.completed": 1,
		"/star mission.created":  1, "/star mission.dispatched": 1, "/star mission.started": 1,
		"/star mission.completed": 1, "/completed mission.completed": 1, "/star sla.met": 3}
	if len(w.deliveries(t)) != 12 || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%d deliveries, received %v; want 12, %v", len(w.deliveries(t)), got, want)
	}
}

func TestRetry(t *testing.T) {
	r := receive(t, status(500))
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		createEndpoint(t, w, r.URL, "mission.created")
		stop := w.run(t)
		defer stop()
		openMission(t, w, "a")
		for _, step := range []struct {
			after    time.Duration // between the earliest and the latest time of the schedule
			attempts int
		}{
			{2 * time.Second, 1}, {6 * time.Second, 2}, {3 * time.Minute, 2},
		} {
			time.Sleep(step.after) // virtual
			d := w.deliveries(t)[0]
			if d.Attempts != step.attempts || d.State != fieldmark.DeliveryDue || d.LastStatus != 500 ||
				d.LastError == "" {
				t.Fatalf("%v later: %+v; want %d attempts", step.after, d, step.attempts)
			}
		}
		fine := status(204)
		r.answer.Store((*http.HandlerFunc)(&fine))
		time.Sleep(4 * time.Minute)
		if d := w.deliveries(t)[0]; d.Attempts != 3 || d.State != fieldmark.DeliveryDone || d.LastStatus != 204 ||
			d.LastError != "" {
			t.Errorf("after the receiver came back: %+v; want done at attempt 3", d)
		}
	})
}

func TestRetryAfterAndGone(t *testing.T) {
	r := receive(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		createEndpoint(t, w, r.URL, "mission.created")
		stop := w.run(t)
		defer stop()
		openMission(t, w, "a")
		time.Sleep(50 * time.Second) // virtual
		if d := w.deliveries(t)[0]; d.Attempts != 1 {
			t.Errorf("asked to wait 60 s, after 50: %+v; want 1 attempt", d)
		}
		gone := status(http.StatusGone)
		r.answer.Store(&gone)
		time.Sleep(20 * time.Second)
		if d := w.deliveries(t)[0]; d.Attempts != 2 || d.State != fieldmark.DeliveryHeld ||
			!strings.Contains(d.LastError, "410") {
			t.Errorf("after 410: %+v; want held at attempt 2", d)
		}
	})
}

// A process died after it claimed a message and before it recorded the result.
func TestLeasesAreFreedAtStart(t *testing.T) {
	w := newFixture(t)
	r := receive(t, status(200))
	createEndpoint(t, w, r.URL, "mission.created")
	putBrand(t, w, acme)
	if err := w.Brands.Audits.Request(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		openMission(t, w, fmt.Sprint(i))
	}
	err := w.Store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		now := time.Now()
		jobs, err := claimAll(ctx, tx, "other", now, now.Add(time.Hour))
		if err == nil && len(jobs) != 5 {
			t.Errorf("claimed %d deliveries, want 5", len(jobs))
		}
		if err != nil {
			return err
		}
		if again, err := claimAll(ctx, tx, "other", now, now.Add(time.Hour)); err != nil || len(again) != 0 {
			t.Errorf("claimed again: %d, %v", len(again), err)
		}
		audits, err := tx.ClaimAudits(ctx, "other", now, now.Add(time.Hour), 10, nil)
		if err == nil && len(audits) != 1 {
			t.Errorf("claimed %d audits, want 1", len(audits))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if waiting, running, err := w.Brands.Audits.Status(t.Context()); waiting != 0 || running != 1 || err != nil {
		t.Errorf("audits before the start: %d wait, %d run, %v; want 0, 1", waiting, running, err)
	}
	second := openFixture(t, w.At)
	stop := second.run(t)
	defer stop()
	waittest.Until(t, "all deliveries are done", allDone(second, t))
}

func TestLeaseRunsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		createEndpoint(t, w, "http://127.0.0.1:9/", "mission.created")
		openMission(t, w, "a")
		claim := func() (n int) {
			err := w.Store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				jobs, err := claimAll(ctx, tx, "other", time.Now(), time.Now().Add(time.Minute))
				n = len(jobs)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		first := claim()
		time.Sleep(59 * time.Second) // virtual
		second := claim()
		time.Sleep(time.Second)
		if third := claim(); first != 1 || second != 0 || third != 1 {
			t.Errorf("claims at once, after 59 s, after 60 s: %d, %d, %d; want 1, 0, 1", first, second, third)
		}
	})
}

// An endpoint that hangs takes only the slots of its limit.
func TestSlowEndpointIsCapped(t *testing.T) {
	w := newFixture(t)
	release := make(chan struct{})
	var now, most atomic.Int64
	slow := receive(t, func(http.ResponseWriter, *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		<-release
	})
	fast := receive(t, status(200))
	createEndpoint(t, w, slow.URL, "mission.created")
	quick := createEndpoint(t, w, fast.URL, "mission.created")
	stop := w.run(t)
	defer stop()
	for i := range 40 {
		openMission(t, w, fmt.Sprint(i))
	}
	waittest.Until(t, "the quick endpoint has everything", func() bool { return fast.got.Load() == 40 })
	waittest.Until(t, "the slow one has all its places", func() bool { return now.Load() == 8 })
	close(release)
	waittest.Until(t, "all deliveries are done", allDone(w, t))
	if most.Load() > 8 {
		t.Errorf("%d deliveries were on the wire to %s, want at most 8", most.Load(), slow.URL)
	}
	for _, d := range w.deliveries(t) {
		if d.Attempts != 1 {
			t.Errorf("a delivery to %s took %d attempts, want 1 (quick is %s)", d.EndpointID, d.Attempts, quick.ID)
		}
	}
}

func TestEndpointExpires(t *testing.T) {
	r := receive(t, status(500))
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		p, err := w.Webhooks.CreateEndpoint(t.Context(), access.DefaultAccount,
			fieldmark.EndpointRequest{URL: r.URL, TTLSeconds: 60})
		if err != nil || p.ExpiresAt == nil {
			t.Fatalf("created %+v, %v", p, err)
		}
		stop := w.run(t)
		defer stop()
		openMission(t, w, "a")
		time.Sleep(62 * time.Second) // virtual
		d := w.deliveries(t)
		if len(d) != 1 || d[0].State != fieldmark.DeliveryFailed || d[0].LastError != "the endpoint expired" {
			t.Errorf("after the end: %+v; want given up because the endpoint expired", d)
		}
		openMission(t, w, "b")
		if list, err := w.Webhooks.Endpoints(t.Context(), ""); len(list) != 0 || len(w.deliveries(t)) != 1 ||
			err != nil {
			t.Errorf("endpoints %v, %d deliveries, %v; want none and 1", list, len(w.deliveries(t)), err)
		}
	})
}

func TestDeleteEndpoint(t *testing.T) {
	w := newFixture(t)
	p := createEndpoint(t, w, "http://127.0.0.1:9/")
	openMission(t, w, "a")
	if err := w.Webhooks.DeleteEndpoint(t.Context(), "", p.ID); err != nil {
		t.Fatal(err)
	}
	if d := w.deliveries(t); len(d) != 1 || d[0].State != fieldmark.DeliveryFailed ||
		d[0].LastError != "the endpoint was deleted" {
		t.Errorf("deliveries %+v, want one given up", d)
	}
	wantCode(t, "delete twice", w.Webhooks.DeleteEndpoint(t.Context(), "", p.ID), fieldmark.CodeNotFound)
}

func TestCreateEndpointComplains(t *testing.T) {
	w := newFixture(t)
	_, err := w.Webhooks.CreateEndpoint(t.Context(), access.DefaultAccount, fieldmark.EndpointRequest{
		URL: "http://10.0.0.1/", Events: []string{"mission.*", "mission.*", "brand.changed"}, Description: "\x1b",
		TTLSeconds: -1})
	wantFields(t, "all wrong", err, "/events/1", "/events/2", "/description", "/ttlSeconds", "/url")
	for i := range webhook.MaxEndpoints {
		createEndpoint(t, w, fmt.Sprintf("http://127.0.0.1:9/%d", i))
	}
	_, err = w.Webhooks.CreateEndpoint(t.Context(), access.DefaultAccount,
		fieldmark.EndpointRequest{URL: "http://127.0.0.1:9/"})
	wantFields(t, "one too many", err, "")
}

// An attempt that the origin canceled does not count as a failure of the receiver.
func TestStopWhileSending(t *testing.T) {
	w := newFixture(t)
	release := make(chan struct{})
	defer close(release)
	r := receive(t, func(http.ResponseWriter, *http.Request) { <-release })
	createEndpoint(t, w, r.URL, "mission.created")
	stop := w.run(t)
	openMission(t, w, "a")
	waittest.Until(t, "the receiver is asked", func() bool { return r.got.Load() == 1 })
	stop()
	if d := w.deliveries(t)[0]; d.Attempts != 0 || d.State != fieldmark.DeliveryDue {
		t.Errorf("after stopping: %+v; want due without an attempt", d)
	}
	fine := status(200)
	r.answer.Store(&fine)
	stop = w.run(t)
	defer stop()
	waittest.Until(t, "all deliveries are done", allDone(w, t))
}

func TestAudit(t *testing.T) {
	w := newFixture(t)
	site := receive(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, "<!doctype html><html lang=en><title>Acme makes anvils</title><h1>Acme</h1><p>Anvils "+
			"since 1949.</html>")
	})
	b := acme
	b.URL = site.URL + "/"
	putBrand(t, w, b)
	wantCode(t, "unknown brand", w.Brands.Audits.Request(t.Context(), "nobody"), fieldmark.CodeNotFound)
	for range 3 { // more than once is once
		if err := w.Brands.Audits.Request(t.Context(), "acme"); err != nil {
			t.Fatal(err)
		}
	}
	if waiting, running, err := w.Brands.Audits.Status(t.Context()); waiting != 1 || running != 0 || err != nil {
		t.Errorf("%d wait, %d run, %v; want 1, 0", waiting, running, err)
	}
	before := w.head(t)
	stop := w.run(t)
	defer stop()
	waittest.Until(t, "the audit is done", func() bool {
		waiting, running, err := w.Brands.Audits.Status(context.Background())
		if err != nil {
			t.Error(err)
		}
		return waiting+running == 0
	})
	state, _, err := w.Brands.State(t.Context(), "acme")
	if err != nil || state.Facts == nil || w.types(t, before) != "brand.audited" {
		t.Errorf("state %+v, %v, events %q; want facts and brand.audited", state, err, w.types(t, before))
	}
}
