package cdn_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin/store"
)

// site is a CDN with an edge behind it, at its public name, and the API that purges it.
type site struct {
	*httptest.Server
	mu    sync.Mutex
	badge http.HandlerFunc // answers in place of the CDN; nil: as it should
	probe http.HandlerFunc // answers in place of the edge
	purge int              // status of purges
}

func newSite(t testing.TB) *site {
	s := &site{purge: http.StatusOK}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.SetKeepAlivesEnabled(false) // an idle connection would stop the time of a bubble
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.Method == http.MethodPost:
		w.WriteHeader(s.purge)
	case strings.HasSuffix(r.URL.Path, fieldmark.BadgeProbe) && s.probe != nil:
		s.probe(w, r)
	case strings.HasSuffix(r.URL.Path, fieldmark.BadgeProbe):
		writeProbe(w, `"new"`, r.FormValue("nonce"))
	case s.badge != nil:
		s.badge(w, r)
	default:
		w.Header().Set("ETag", `W/"new"`)
	}
}

func writeProbe(w http.ResponseWriter, etag, nonce string) {
	_ = json.NewEncoder(w).Encode(fieldmark.BadgeProbeResult{ETag: etag, Nonce: nonce}) // a client that left
}

// set replaces what the site answers.
func (s *site) set(badge, probe http.HandlerFunc, purge int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.badge, s.probe, s.purge = badge, probe, purge
}

func outdated(w http.ResponseWriter, _ *http.Request) { w.Header().Set("ETag", `"old"`) }

func (s *site) request() fieldmark.CDNRequest {
	return fieldmark.CDNRequest{CDNSettings: fieldmark.CDNSettings{Kind: fieldmark.CDNTemplate,
		URLs: []string{s.URL + "/purge"}, Body: "{keys}", Public: s.URL + "/"}}
}

func (f *fixture) brand(slug fieldmark.Slug) {
	f.t.Helper()
	_, _, err := f.Brands.Put(f.t.Context(), fieldmark.Brand{Slug: slug, Name: string(slug),
		URL: "https://" + string(slug) + ".example/", Niche: "tools", Language: "en", Public: true})
	must(f.t, err)
}

// announced returns the lifetimes of the events about them.
func (f *fixture) announced() (seconds []int) {
	f.t.Helper()
	page, err := f.Events.After(f.t.Context(), fieldmark.EventCursor{}, 0, 0)
	must(f.t, err)
	for _, e := range page.Events {
		if e.Type == fieldmark.EventCDNChanged {
			var l fieldmark.CDNLifetime
			must(f.t, json.Unmarshal(e.Data, &l))
			seconds = append(seconds, l.Seconds)
		}
	}
	return seconds
}

// TestProbeStates: a CDN is verified after ten minutes without a failure, and failed after two of failures, of
// probes or of purges. Each change of the lifetime is an event.
func TestProbeStates(t *testing.T) {
	s := newSite(t)
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		want := func(what string, state fieldmark.CDNProbeState, seconds int) {
			t.Helper()
			l, err := f.CDNs.Lifetime(t.Context(), 0)
			must(t, err)
			if c := f.cdn("cdn"); c.Probe == nil || c.Probe.State != state || l.Seconds != seconds {
				t.Fatalf("%s: %+v and %d seconds, want %s and %d", what, c.Probe, l.Seconds, state, seconds)
			}
		}
		f.put("cdn", s.request())
		time.Sleep(11 * time.Minute)
		want("without a brand", fieldmark.CDNPending, 0)
		f.brand("acme")
		time.Sleep(9 * time.Minute)
		want("after nine minutes", fieldmark.CDNPending, 0)
		time.Sleep(2 * time.Minute)
		want("after eleven minutes", fieldmark.CDNVerified, 3600)

		s.set(outdated, nil, http.StatusOK)
		time.Sleep(100 * time.Second)
		want("outdated for less than two minutes", fieldmark.CDNVerified, 3600)
		time.Sleep(90 * time.Second)
		want("outdated for longer", fieldmark.CDNFailed, 0)
		if c := f.cdn("cdn"); c.Probe.Error != "the badge of acme is outdated there" || c.Probe.Brand != "acme" {
			t.Errorf("%+v, want the reason", c.Probe)
		}
		issues, err := f.Monitor.Issues(t.Context())
		must(t, err)
		if !slices.ContainsFunc(issues.Data, func(i fieldmark.Issue) bool {
			return i.Code == fieldmark.IssueCDNUnverified && i.Subject == "cdn"
		}) {
			t.Errorf("no issue says it: %+v", issues.Data)
		}
		s.set(nil, nil, http.StatusOK)
		time.Sleep(time.Minute)
		want("up to date again", fieldmark.CDNPending, 0)
		time.Sleep(11 * time.Minute)
		want("for eleven minutes", fieldmark.CDNVerified, 3600)

		s.set(nil, nil, http.StatusInternalServerError)
		f.change(brandTag(1))
		time.Sleep(3 * time.Minute)
		want("purges fail", fieldmark.CDNFailed, 0)
		s.set(nil, nil, http.StatusOK)
		time.Sleep(12 * time.Minute)
		want("purges succeed", fieldmark.CDNVerified, 3600)
		s.set(nil, nil, http.StatusForbidden)
		f.change(brandTag(1))
		time.Sleep(2 * time.Second)
		want("the token is refused", fieldmark.CDNFailed, 0)
		if got, want := fmt.Sprint(f.announced()), "[3600 0 3600 0 3600 0]"; got != want {
			t.Errorf("announced %s, want %s", got, want)
		}
	})
}

// TestRefusedDuringProbe: the follower stores that a token is refused after a probe has read the row of its CDN. The
// probe is judged with what it stored.
func TestRefusedDuringProbe(t *testing.T) {
	t.Parallel()
	s, cfg := newSite(t), storetest.New(t)
	var once sync.Once
	cfg.Hooks.Query = func(time.Duration) {
		if !bytes.Contains(debug.Stack(), []byte("(*prober).save")) {
			return
		}
		once.Do(func() {
			storetest.Exec(t, cfg, `UPDATE cdn SET state = 'refused',
				status = '{"lastError": "the token", "failingSince": "2026-11-24T00:00:00Z"}'`)
		})
	}
	f := &fixture{t: t, store: storetest.Open(t, cfg)}
	f.Service = f.service(netip.MustParsePrefix("127.0.0.0/8"))
	f.brand("acme")
	f.put("cdn", s.request())
	f.start()
	f.until("a probe is stored", func() bool { return f.cdn("cdn").Probe.At != nil })
	if p := f.cdn("cdn").Probe; p.State != fieldmark.CDNFailed || p.Error != "the token" {
		t.Errorf("%+v, want failed", p)
	}
}

// TestUnattended: without a process that probes, the lifetime ends by itself. A CDN that is added, or has other
// settings, ends it at once, and one that is removed does not keep it from the others.
func TestUnattended(t *testing.T) {
	s := newSite(t)
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		lifetime := func() int {
			l, err := f.CDNs.Lifetime(t.Context(), 0)
			must(t, err)
			return l.Seconds
		}
		f.brand("acme")
		r := s.request()
		r.Seconds = 600
		f.put("cdn", r)
		time.Sleep(11 * time.Minute)
		if n := lifetime(); n != 600 {
			t.Fatalf("lifetime %d, want 600", n)
		}
		r.Public = ""
		f.put("other", r)
		if n := lifetime(); n != 0 {
			t.Errorf("lifetime %d with a CDN that is not probed, want 0", n)
		}
		must(t, f.CDNs.Delete(t.Context(), "other"))
		if n := lifetime(); n != 600 {
			t.Errorf("lifetime %d without it, want 600", n)
		}
		f.stop()
		time.Sleep(6 * time.Minute)
		if n := lifetime(); n != 0 {
			t.Errorf("lifetime %d without probes for six minutes, want 0", n)
		}
		if got := fmt.Sprint(f.announced()); got != "[600 0 600]" {
			t.Errorf("announced %s, want [600 0 600]", got)
		}
	})
}

// TestSharedLifetime: edges that ask at once, or all the time, share reads of the database, and one that asks alone
// does not wait.
func TestSharedLifetime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := storetest.New(t)
		var queries atomic.Int64
		cfg.Hooks.Query = func(time.Duration) { queries.Add(1) }
		f := &fixture{t: t, store: storetest.Open(t, cfg)}
		f.Service = f.service()
		ask := func() {
			l, err := f.CDNs.Lifetime(t.Context(), 0)
			if err != nil || l.Seconds != 0 {
				t.Errorf("lifetime %+v, %v", l, err)
			}
		}
		began := time.Now()
		for range 3 { // as an edge that starts
			ask()
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("three calls waited %s", took)
		}
		time.Sleep(time.Second)
		queries.Store(0)
		var edges sync.WaitGroup
		const seconds, atOnce = 10, 100
		for range seconds * 10 {
			for range atOnce {
				edges.Go(ask)
			}
			time.Sleep(time.Second / 10)
		}
		edges.Wait()
		if n := queries.Load(); n > 2*4*(seconds+2) || n < 2*4*seconds/2 {
			t.Errorf("%d calls in %d s: %d queries, want some 8 a second", seconds*10*atOnce, seconds, n)
		}
	})
}

// TestProbeErrors: a test says what is wrong with the way of readers through a CDN.
func TestProbeErrors(t *testing.T) {
	t.Parallel()
	f, s := newFixture(t), newSite(t)
	status := func(n int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(n) }
	}
	f.put("cdn", s.request())
	for _, tt := range []struct {
		badge, probe http.HandlerFunc
		want         string
	}{
		{nil, nil, "there is no public brand"}, // before one is added
		{nil, nil, ""},
		{outdated, nil, "the badge of acme is outdated there"},
		{func(http.ResponseWriter, *http.Request) {}, nil, "removes ETag"},
		{status(403), nil, "status 403"},
		{nil, status(500), "answered a probe with status 500"},
		{nil, status(404), "the brand has no badge"},
		{nil, func(w http.ResponseWriter, _ *http.Request) { writeProbe(w, `"new"`, "earlier") }, "it stores"},
		{nil, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, "not that of an edge"},
		{nil, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
	} {
		s.set(tt.badge, tt.probe, http.StatusOK)
		r, err := f.CDNs.Test(t.Context(), "cdn")
		must(t, err)
		if !r.OK || r.Probe == nil || !strings.Contains(r.Probe.Error, tt.want) ||
			tt.want == "" && r.Probe.Error != "" {
			t.Errorf("%+v with %+v, want %q", r, r.Probe, tt.want)
		}
		f.brand("acme")
	}
	for _, edit := range []func(*fieldmark.CDNRequest){
		func(r *fieldmark.CDNRequest) { r.Public += "path" },
		func(r *fieldmark.CDNRequest) { r.Public = "http://10.0.0.1/" },
		func(r *fieldmark.CDNRequest) { r.Seconds = 299 },
		func(r *fieldmark.CDNRequest) { r.Seconds = 86401 },
		func(r *fieldmark.CDNRequest) { r.Account = "a" },
	} {
		r := s.request()
		edit(&r)
		if _, err := f.CDNs.Put(t.Context(), "cdn", r); !fieldmark.IsCode(err, fieldmark.CodeValidationFailed) {
			t.Errorf("%+v: %v, want it refused", r.CDNSettings, err)
		}
	}
}

// TestThirdPurge: an edge that reports after the second purge that it was behind causes a third, and one more
// when it no longer is. The position that is stored repeats them after a restart.
func TestThirdPurge(t *testing.T) {
	t.Parallel()
	f, a := newFixture(t), newAPI(t)
	f.put("cdn", a.fastly())
	node := fieldmark.NodeReport{Node: fieldmark.NewID(fieldmark.PrefixNode, time.Now()), Name: "edge:8080"}
	report := func(cursor int64) {
		t.Helper()
		node.Cursor = cursor
		must(t, f.Modules.ReportNode(t.Context(), node))
	}
	times := func() int {
		times, _, _ := a.purged()
		return times["brand-b-0001"]
	}
	report(0)
	last := f.change(brandTag(1))
	// Again and again: the first may come before the second purge has ended, and one must come soon after it.
	behind := func() { report(last - 1) }
	f.until("it is purged twice", func() bool { behind(); return f.cdn("cdn").Event == last && times() >= 2 })
	f.until("it is purged a third time", func() bool { behind(); return times() == 3 })
	f.stop()
	f.start() // the new worker does not know whether the edge has caught up
	f.until("it is purged twice again", func() bool { behind(); return times() >= 5 })
	f.until("and once more", func() bool { behind(); return times() == 6 })
	report(last)
	f.until("it is purged when the edge has caught up", func() bool { return times() == 7 })
	last = f.change(brandTag(2))
	report(last) // in time
	f.until("another change is purged", func() bool { return f.cdn("cdn").Event == last })
	if n, _, everything := a.purged(); n["brand-b-0001"] != 7 || n["brand-b-0002"] != 2 || everything > 0 {
		t.Errorf("purged %v, and everything %d times; want 7, 2 and 0", n, everything)
	}
}

// TestPlans: an account at Cloudflare has the calls of its plan at once, then one each interval. The zones of
// one account share them, and other accounts have their own.
func TestPlans(t *testing.T) {
	t.Parallel()
	f, a := newFixture(t), newAPI(t)
	take := func(account string, at time.Time, interval time.Duration, burst int) (wait time.Duration) {
		t.Helper()
		must(t, f.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) (err error) {
			wait, err = tx.TakeCDNCall(ctx, account, at, interval, burst)
			return err
		}))
		return wait
	}
	for _, plan := range []struct {
		name     string
		interval time.Duration
		burst    int
	}{{"free", 12 * time.Second, 25}, {"pro", 200 * time.Millisecond, 25}, {"business", 100 * time.Millisecond, 50},
		{"enterprise", 20 * time.Millisecond, 500}} {
		at := time.Now().Add(-plan.interval)
		for i := range plan.burst {
			if wait := take(plan.name+"/first", at, plan.interval, plan.burst); wait > 0 {
				t.Fatalf("%s: call %d waits for %s", plan.name, i+1, wait)
			}
		}
		for range 2 { // what is refused is not counted
			if wait := take(plan.name+"/first", at, plan.interval, plan.burst); wait != plan.interval {
				t.Errorf("%s: wait %s with an empty bucket, want %s", plan.name, wait, plan.interval)
			}
		}
		if wait := take(plan.name+"/first", at.Add(plan.interval), plan.interval, plan.burst); wait > 0 {
			t.Errorf("%s: wait %s after an interval, want none", plan.name, wait)
		}
		for i := range plan.burst { // by a clock that is a day ahead, which is then set
			take(plan.name+"/ahead", at.Add(24*time.Hour+time.Duration(i)*plan.interval), plan.interval, plan.burst)
		}
		for _, want := range []time.Duration{0, plan.interval} {
			if wait := take(plan.name+"/ahead", at, plan.interval, plan.burst); wait != want {
				t.Errorf("%s: wait %s after a clock that was a day ahead, want %s", plan.name, wait, want)
			}
		}
		for name, account := range map[string]string{"one": "first", "two": "first", "three": "second"} {
			if account == "first" && plan.name != "free" {
				continue // the bucket does not stay empty for as long as a purge waits here
			}
			r := a.cloudflare()
			r.Plan, r.Account = plan.name, account
			f.put(plan.name+name, r)
			deadline := time.Now().Add(2 * time.Minute) // only a failure takes so long
			for account == "first" {                    // what came back since is taken
				now := time.Now()
				wait := take(plan.name+"/first", now, plan.interval, plan.burst)
				if wait > plan.interval/2 { // the next comes back long after the deadline
					deadline = now.Add(time.Second)
					break
				}
				time.Sleep(wait)
			}
			ctx, cancel := context.WithDeadline(t.Context(), deadline)
			before := a.requests()
			_, err := f.CDNs.Purge(ctx, plan.name+name)
			cancel()
			if empty := account == "first"; empty != (err != nil) || empty != (a.requests() == before) {
				t.Errorf("%s of account %s: %v and %d calls", plan.name, account, err, a.requests()-before)
			}
		}
	}
}
