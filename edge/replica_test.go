package edge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/edge/proxy/upstream"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/client"
	"github.com/fieldmark/fieldmark/origin/store"
)

// between puts an edge in front of origins at addresses.
func (h *fixture) between(addresses ...string) {
	h.t.Helper()
	var origins []*url.URL
	for _, a := range addresses {
		origins = append(origins, &url.URL{Scheme: "http", Host: a})
	}
	up, err := upstream.New(upstream.Config{Origins: origins})
	must(h.t, err)
	h.t.Cleanup(up.CloseIdle)
	asks, err := client.New(client.Config{BaseURL: h.origin.URL, Transport: up, NodeToken: nodeToken})
	must(h.t, err)
	h.change = func(cfg *edge.Config) { cfg.Origin, cfg.Transport = asks, up }
	h.startEdge()
}

// hangingHosts is a transport on which hosts can stop answering: requests are taken,
// and no byte of an answer comes any more.
type hangingHosts struct {
	next  http.RoundTripper
	hangs map[string]chan struct{} // closed when the host stops
	polls map[string]*atomic.Int64 // that wait for events
}

func (h *hangingHosts) RoundTrip(r *http.Request) (*http.Response, error) {
	polls, hangs := h.polls[r.URL.Host], h.hangs[r.URL.Host]
	select {
	case <-hangs:
		<-r.Context().Done()
		return nil, r.Context().Err()
	default:
	}
	resp, err := h.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body := &hangingBody{ReadCloser: resp.Body, hangs: hangs, ctx: r.Context(), closed: func() {}}
	if r.URL.Path == fieldmark.PathInternalEvents && r.URL.Query().Get("wait") != "0s" {
		polls.Add(1)
		body.closed = sync.OnceFunc(func() { polls.Add(-1) })
	}
	resp.Body = body
	return resp, nil
}

type hangingBody struct {
	io.ReadCloser
	hangs  <-chan struct{}
	ctx    context.Context
	closed func()
}

func (b *hangingBody) Close() error {
	defer b.closed()
	return b.ReadCloser.Close()
}

func (b *hangingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	select {
	case <-b.hangs:
		<-b.ctx.Done()
		return 0, b.ctx.Err()
	default:
		return n, err
	}
}

// TestOriginHangs stops the one of two origins that an edge polls. The edge must not
// wait for the end of the poll.
func TestOriginHangs(t *testing.T) {
	t.Parallel()
	startClock()
	synctest.Test(t, func(t *testing.T) {
		hosts := &hangingHosts{hangs: map[string]chan struct{}{}, polls: map[string]*atomic.Int64{}}
		var origins []*url.URL
		for _, host := range []string{"a.example", "b.example"} {
			origins = append(origins, &url.URL{Scheme: "http", Host: host})
			hosts.hangs[host], hosts.polls[host] = make(chan struct{}), new(atomic.Int64)
		}
		f := newHangingFixtureOf(t, func(next http.RoundTripper) http.RoundTripper {
			hosts.next = next
			up, err := upstream.New(upstream.Config{Origins: origins, Transport: hosts, HealthEvery: -1})
			must(t, err)
			return up
		})
		synctest.Wait() // the edge polls
		stopped := ""
		for host, polls := range hosts.polls {
			if polls.Load() > 0 {
				stopped = host
			}
		}
		if stopped == "" {
			t.Fatal("no origin is polled")
		}
		close(hosts.hangs[stopped])
		p, err := f.service.Purge(t.Context(), "test", fieldmark.PurgeRequest{Tags: []fieldmark.Tag{"news"}})
		must(t, err)
		began := time.Now() // of the bubble, where only waiting takes time
		for f.edge.Report().Cursor < p.Event {
			time.Sleep(100 * time.Millisecond)
			if waited := time.Since(began); waited > fieldmark.MaxWait*time.Second/2 {
				t.Fatalf("the edge has waited for the origin that hangs for %v", waited)
			}
		}
	})
}

// TestReplicationLag: the metrics say how far a node is behind the log, and whether it
// is ready.
func TestReplicationLag(t *testing.T) {
	h := newFixture(t)
	lag := func() float64 {
		f, err := strconv.ParseFloat(h.metric("fieldmark_edge_replication_lag_seconds"), 64)
		must(t, err)
		return f
	}
	h.until("the edge has caught up", func() bool { return lag() == 0 })
	if ready := h.metric("fieldmark_edge_ready"); ready != "1" {
		t.Errorf("ready = %s, want 1", ready)
	}
	release, asked := h.hang(func(r *http.Request) bool {
		return strings.HasPrefix(r.URL.Path,
			fieldmark.PathInternalFacts)
	})
	put(t, h.service, "acme")
	h.until("the change is being ranked", func() bool { return asked.Load() > 0 })
	h.until("the edge is behind", func() bool { return lag() > 0 })
	release()
	h.until("the edge has caught up again", func() bool { return lag() == 0 })
	h.down.Store(true)
	h.origin.CloseClientConnections()
	h.until("the edge has lost its origin", func() bool { return lag() > 0 })
}

// TestOriginOfEarlierVersion is an origin of an earlier version: its polls are silent
// until they are answered, its facts have no pages, and it reports no event ids.
func TestOriginOfEarlierVersion(t *testing.T) {
	h := newFixture(t)
	before := interceptor(func(w http.ResponseWriter, r *http.Request) bool {
		switch r.URL.Path {
		case fieldmark.PathInternalFacts:
			if r.URL.RawQuery == "" {
				return false
			}
			w.Header().Set("Content-Type", fieldmark.ProblemType)
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"code":"invalid_parameter","status":400,"title":"Invalid parameter"}`)
		case fieldmark.PathInternalEvents:
			query := r.URL.Query()
			after, _ := strconv.ParseInt(query.Get("after"), 10, 64)
			wait, _ := time.ParseDuration(query.Get("wait"))
			page, err := h.service.Events.After(r.Context(), fieldmark.EventCursor{Number: after}, wait, 0)
			if err != nil {
				panic(http.ErrAbortHandler)
			}
			page.AfterID = ""
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(page)
		default:
			return false
		}
		return true
	})
	h.intercept.Store(&before)
	h.brand("acme", "Acme", 500)
	h.between(h.origin.Listener.Addr().String())
	h.until("the brand is ranked", func() bool { return h.board().Total == 1 })
	h.brand("best", "Best", 400)
	h.until("the change is ranked", func() bool { return h.board().Total == 2 })
}

// TestDatabaseBehind fails over to a database that lacks the newest events, and has
// given their numbers to others before the edge asks again.
func TestDatabaseBehind(t *testing.T) {
	t.Parallel()
	h := newOriginFixture(t, storetest.New(t))
	h.brand("kept", "Kept", 500)
	copied := filepath.Join(t.TempDir(), "standby.db")
	must(t, store.Backup(t.Context(), h.record, copied))
	_, behind, handler := openOrigin(t, store.Config{Path: copied}) // closed after the edge, which reports to it
	h.startEdge()
	h.brand("phantom", "Phantom", 400)
	pages := []string{"/api/v1/score/", "/api/badge/", "/brands/"}
	statuses := func(slug string) (all string) {
		for _, p := range pages {
			all += strconv.Itoa(h.get(p+slug).status) + " "
		}
		return all
	}
	h.until("both brands are ranked", func() bool { return h.board().Total == 2 })
	if got := statuses("phantom"); got != "200 200 200 " {
		t.Fatalf("the brand that will be lost: %s", got)
	}

	h.down.Store(true)
	h.origin.CloseClientConnections()
	head, err := h.service.Events.Head(t.Context())
	must(t, err)
	for n := 0; ; n++ {
		put(t, behind, fieldmark.Slug("real-"+strconv.Itoa(n)))
		if now, err := behind.Events.Head(t.Context()); err != nil || now > head {
			break
		}
	}
	other := interceptor(func(w http.ResponseWriter, r *http.Request) bool { handler.ServeHTTP(w, r); return true })
	h.intercept.Store(&other)
	h.down.Store(false)

	h.until("the lost brand is nowhere", func() bool { return statuses("phantom") == "404 404 404 " })
	h.until("the one in its place is there", func() bool { return statuses("real-0") == "200 200 200 " })
	h.until("the one that both have is there", func() bool { return statuses("kept") == "200 200 200 " })
	if n := h.metric("log_lost_total"); n != "1" {
		t.Errorf("lost events were found %s times, want 1", n)
	}
}

// TestLogIsRenamed renames the log from another process while the origin runs, as
// db new-log does: the edge starts over without a restart of anything.
func TestLogIsRenamed(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.brand("acme", "Acme", 500)
	h.until("the brand is ranked", func() bool { return h.board().Total == 1 })
	other, err := store.Open(t.Context(), h.record)
	must(t, err)
	must(t, errors.Join(other.RenameLog(t.Context()), other.Close()))
	h.until("the edge has started over", func() bool { return h.metric("log_lost_total") == "1" })
	h.brand("best", "Best", 400)
	h.until("the edge follows the renamed log", func() bool { return h.board().Total == 2 })
}

// TestRankingInPages reads three pages of brands of which one page fails twice: the
// pages before it are not read again.
func TestRankingInPages(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	const brands = 1200
	h.importBrands("made", brands)
	var first, failed atomic.Int64
	fails := interceptor(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != fieldmark.PathInternalFacts {
			return false
		}
		after := r.URL.Query().Get("after")
		if after == "" {
			first.Add(1)
		}
		if after > "made-1" && failed.Load() < 2 {
			failed.Add(1)
			w.Header().Set(fieldmark.HeaderAsOf, "1")
			_, _ = io.WriteString(w, `{"brand":`) // and breaks off
			panic(http.ErrAbortHandler)
		}
		return false
	})
	h.intercept.Store(&fails)
	h.startEdge()
	if n := strings.Count(h.get("/sitemap.xml").body, "/brands/made-"); n != brands {
		t.Errorf("%d brands are known, want %d", n, brands)
	}
	if first.Load() != 1 || failed.Load() != 2 {
		t.Errorf("the first page was read %d times and %d pages failed, want 1 and 2", first.Load(), failed.Load())
	}
}

// TestRanksOnceADay lets a day pass without an event: all brands are read once more,
// after midnight UTC. A brand whose facts pass the age of 30 days is read by itself.
func TestRanksOnceADay(t *testing.T) {
	t.Parallel()
	startClock()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(22 * time.Hour) // a bubble begins at midnight
		f := newHangingFixture(t)
		old := factsWith(500)
		began := time.Now()
		old.AsOf = fieldmark.At(began.Add(time.Hour - fieldmark.ReadyWithin))
		_, _, err := f.service.Brands.Put(t.Context(), fieldmark.Brand{
			Slug: "aged", Name: "Aged", URL: "https://aged.example/", Niche: "tools", Language: "en", Public: true})
		must(t, err)
		_, err = f.service.Brands.PutFacts(t.Context(), "aged", old)
		must(t, err)
		time.Sleep(10 * time.Second)
		quiet, err := f.service.Events.After(t.Context(), fieldmark.EventCursor{Number: 1 << 53}, 0, 0)
		must(t, err)
		quiet.Events = []fieldmark.Event{}
		var passes, single atomic.Int64
		cheap := interceptor(func(w http.ResponseWriter, r *http.Request) bool {
			switch path := r.URL.Path; {
			case path == fieldmark.PathInternalEvents:
				select { // without the looks at the database
				case <-time.After(fieldmark.MaxWait * time.Second):
				case <-r.Context().Done():
				}
				_ = json.NewEncoder(w).Encode(quiet)
			case path == fieldmark.PathInternalNodes:
				w.WriteHeader(http.StatusNoContent)
			case path == fieldmark.PathInternalFacts && r.URL.Query().Get("after") == "":
				passes.Add(1)
				return false
			case strings.HasPrefix(path, fieldmark.PathInternalFacts+"/"):
				single.Add(1)
				return false
			default:
				return false
			}
			return true
		})
		f.intercept.Store(&cheap)
		confidence := func() (level fieldmark.ConfidenceLevel) {
			var b fieldmark.Board
			must(t, json.Unmarshal([]byte(f.do("GET", "/api/v1/leaderboard", "").body), &b))
			for _, it := range b.Items {
				if it.Slug == "aged" {
					level = it.Confidence
				}
			}
			return level
		}
		for _, tt := range []struct {
			after          time.Duration
			level          fieldmark.ConfidenceLevel
			passes, single int64
		}{
			{59 * time.Minute, fieldmark.ConfidenceHigh, 0, 0},
			{121 * time.Minute, fieldmark.ConfidenceMedium, 0, 1}, // ages are looked at once an hour
			{200 * time.Minute, fieldmark.ConfidenceMedium, 1, 1},
		} {
			time.Sleep(time.Until(began.Add(tt.after)))
			level, p, n := confidence(), passes.Load(), single.Load()
			if level != tt.level || p != tt.passes || (n > 0) != (tt.single > 0) {
				t.Errorf("after %v: confidence %s, all read %d times, the brand by itself %d times; want %s, %d, %d",
					tt.after, level, p, n, tt.level, tt.passes, tt.single)
			}
		}
	})
}

// TestFollowsWhileRanking has the reading of all brands hang: purges, changed and
// new brands take effect beside it.
func TestFollowsWhileRanking(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.brand("acme", "Acme", 500)
	h.until("the brand is ranked", func() bool { return h.board().Total == 1 })
	was := *h.score("acme").Score
	hangs, asked := h.hang(func(r *http.Request) bool { return r.URL.Path == fieldmark.PathInternalFacts })
	_, err := h.service.Purge(t.Context(), "test", fieldmark.PurgeRequest{Tags: []fieldmark.Tag{fieldmark.TagBoard},
		Hard: true})
	must(t, err)
	h.until("all brands are being read", func() bool { return asked.Load() > 0 })

	_, err = h.service.Brands.PutFacts(t.Context(), "acme", factsWith(10))
	must(t, err)
	h.until("the change is seen", func() bool { return *h.score("acme").Score != was })
	h.brand("best", "Best", 500)
	h.until("the new brand has a page", func() bool { return h.get("/brands/best").status == http.StatusOK })
	h.until("the new brand is ranked", func() bool { return h.board().Total == 2 })
	hangs()
	h.until("the ranking is made again and has all of it", func() bool {
		b := h.board()
		return b.Total == 2 && b.Items[1].Slug == "acme" && h.edge.Report().Cursor > 0
	})
}

// TestImportDelaysNothing has every brand of an import hang while it is scored: a
// change of another brand and a new brand are served meanwhile.
func TestImportDelaysNothing(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.brand("acme", "Acme", 500)
	h.until("the brand is ranked", func() bool { return h.board().Total == 1 })
	was := string(h.score("acme").FactsDigest)
	badge := h.get("/api/badge/acme").body
	hangs, asked := h.hang(func(r *http.Request) bool {
		return strings.HasPrefix(r.URL.Path, fieldmark.PathInternalFacts+"/made-")
	})
	defer hangs()
	h.importBrands("made", 600)
	h.until("the import is being scored", func() bool { return asked.Load() > 0 })

	_, err := h.service.Brands.PutFacts(t.Context(), "acme", factsWith(10))
	must(t, err)
	h.until("the change is seen", func() bool {
		return !strings.Contains(h.get("/api/v1/score/acme").body, was) && h.get("/api/badge/acme").body != badge
	})
	h.brand("best", "Best", 500)
	for _, path := range []string{"/api/v1/score/best", "/api/badge/best", "/brands/best"} {
		h.until("the new brand is served: "+path, func() bool { return h.get(path).status == http.StatusOK })
	}
	must(t, h.service.Brands.Delete(t.Context(), "acme"))
	h.until("the removed brand is not", func() bool { return h.get("/brands/acme").status == http.StatusNotFound })
}

// TestHardPurgeOfBoard purges what shows the ranking while all brands are being
// ranked again: it is answered from the present ranking.
func TestHardPurgeOfBoard(t *testing.T) {
	t.Parallel()
	for _, p := range []fieldmark.PurgeRequest{{Tags: []fieldmark.Tag{fieldmark.TagBoard}, Hard: true},
		{Everything: true, Hard: true}} {
		t.Run(fmt.Sprint(p.Tags, p.Everything), func(t *testing.T) {
			h := newFixture(t)
			h.brand("acme", "Acme", 500)
			h.until("the brand is ranked", func() bool { return h.board().Total == 1 })
			_, stylesheet, _ := strings.Cut(h.get("/").body, `<link rel="stylesheet" href="`)
			stylesheet, _, _ = strings.Cut(stylesheet, `"`)
			hangs, asked := h.hang(func(r *http.Request) bool { return r.URL.Path == fieldmark.PathInternalFacts })
			defer hangs()
			_, err := h.service.Purge(t.Context(), "test", p)
			must(t, err)
			h.until("all brands are being read", func() bool { return asked.Load() > 0 })
			for _, path := range []string{"/", "/?q=acme", "/api/v1/leaderboard", "/sitemap.xml"} {
				if a := h.get(path); a.status != http.StatusOK || !strings.Contains(a.body, "acme") {
					t.Errorf("%s: %d", path, a.status)
				}
			}
			// What does not depend on the ranking, or on the log at all.
			for _, path := range []string{"/about", "/bot", "/badges", "/developers", "/problems",
				"/developers/playground", "/llms-txt", "/methodology", "/niches", "/?basis=visibility",
				"/api/v1/methodology", "/api/v1/validity", stylesheet} {
				if a := h.get(path); a.status != http.StatusOK {
					t.Errorf("%s: %d", path, a.status)
				}
			}
		})
	}
}

// TestUnknownBrandAppears requests a brand just before it is created: the event invalidates
// the cached 404.
func TestUnknownBrandAppears(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	paths := []string{"/brands/acme", "/api/badge/acme", "/api/badge/acme.png?style=compact", "/api/badge/acme.json"}
	for _, path := range paths {
		if a := h.get(path); a.status != http.StatusNotFound {
			t.Fatalf("%s of no brand: %d", path, a.status)
		}
	}
	h.brand("acme", "Acme", 500)
	h.until("the brand has a score", func() bool { return h.get("/api/v1/score/acme").status == http.StatusOK })
	for _, path := range paths {
		if a := h.get(path); a.status != http.StatusOK {
			t.Errorf("%s: %d after the brand had a score", path, a.status)
		}
	}
}

// hang has the origin keep requests without an answer until release is called, and
// counts them.
func (h *fixture) hang(these func(*http.Request) bool) (release func(), asked *atomic.Int64) {
	asked = new(atomic.Int64)
	released := make(chan struct{})
	hangs := interceptor(func(w http.ResponseWriter, r *http.Request) bool {
		if these(r) {
			asked.Add(1)
			select {
			case <-released:
			case <-r.Context().Done():
			}
		}
		return false
	})
	h.intercept.Store(&hangs)
	release = sync.OnceFunc(func() { close(released) })
	h.t.Cleanup(release)
	return release, asked
}

// importBrands imports public brands without facts, named prefix-0 and so on.
func (h *fixture) importBrands(prefix string, n int) {
	h.t.Helper()
	brands := make([]fieldmark.Brand, n)
	for i := range brands {
		slug := prefix + "-" + strconv.Itoa(i)
		brands[i] = fieldmark.Brand{Slug: fieldmark.Slug(slug), Name: slug, URL: "https://" + slug + ".example/",
			Niche: "tools", Language: "en", Public: true}
	}
	report, err := h.service.Brands.Import(h.t.Context(), brands)
	must(h.t, err)
	if report.Added != n {
		h.t.Fatalf("imported %d of %d brands: %+v", report.Added, n, report)
	}
}

// put registers a brand with facts at any origin.
func put(t testing.TB, service *origin.Service, slug fieldmark.Slug) {
	t.Helper()
	_, _, err := service.Brands.Put(t.Context(), fieldmark.Brand{
		Slug: slug, Name: string(slug), URL: "https://" + string(slug) + ".example/", Niche: "tools", Language: "en",
		Public: true})
	must(t, err)
	_, err = service.Brands.PutFacts(t.Context(), slug, factsWith(500))
	must(t, err)
}

// metric returns the value of the edge's first metric whose name ends so.
func (h *fixture) metric(name string) string {
	var metrics bytes.Buffer
	h.edge.WriteMetrics(&metrics)
	_, rest, _ := strings.Cut(metrics.String(), name+" ")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}
