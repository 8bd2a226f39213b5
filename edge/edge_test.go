package edge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/api"
	"github.com/fieldmark/fieldmark/origin/client"
	"github.com/fieldmark/fieldmark/origin/module"
	"github.com/fieldmark/fieldmark/origin/objects"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

// passBytes is the size of the cache of passed-on responses: far below the default, because
// closing a cache clears its counters, which takes time under the race detector.
const passBytes = 16 << 20

const nodeToken = "node-token-of-the-tests-0123456789"

// fixture is a real origin over a real SQLite file, and an edge in front of it.
type fixture struct {
	t       testing.TB
	service *origin.Service
	origin  *httptest.Server
	handler http.Handler // of the origin
	asked   atomic.Int64 // requests the origin got, event polls left out
	down    atomic.Bool  // the origin drops every connection
	base    string
	edge    *edge.Edge
	docs    http.HandlerFunc // what the origin answers under /docs/; nil: nothing

	record    store.Config                // where the origin's database is
	intercept atomic.Pointer[interceptor] // sees requests before the origin; nil: none

	cacheBytes int64                 // of the next edge; 0: edge.DefaultCacheBytes
	keys       []fieldmark.ModuleKey // that the next edge trusts
	store      *store.Store
	change     func(*edge.Config) // of the next edge; nil: nothing
	lastConfig edge.Config        // of the last edge
}

// interceptor may answer a request in place of the origin.
type interceptor func(w http.ResponseWriter, r *http.Request) (answered bool)

// openOrigin opens an origin over a database, with the built-in modules, or with others.
func openOrigin(t testing.TB, record store.Config, modules ...[]byte) (*store.Store, *origin.Service, http.Handler) {
	t.Helper()
	st := storetest.Open(t, record)
	service, handler := originOver(t, st, objects.NewFolder(t.TempDir()), modules...)
	return st, service, handler
}

// originOver is an origin over an open database, which keeps files in a place.
func originOver(t testing.TB, st *store.Store, place objects.Store, modules ...[]byte) (*origin.Service, http.Handler) {
	t.Helper()
	if modules == nil {
		modules = geo.Modules()
	}
	var builtIn []module.BuiltIn
	for _, body := range modules {
		ref, err := wasm.Ref(body)
		must(t, err)
		builtIn = append(builtIn, module.BuiltIn{Ref: ref, Bytes: body})
	}
	service, err := origin.New(origin.Config{Store: st, Secret: bytes.Repeat([]byte("s"), 32), BuiltIn: builtIn,
		SignalFacts: wasm.SignalFacts, Objects: place, DumpTerms: dumpTerms, MinRankingFile: 5,
		PublicLog: "marks.example",
		Checker: module.Checker{Compare: func(ctx context.Context, from, to []byte,
			each func(func(fieldmark.BrandState) error) error) (fieldmark.ModuleComparison, error) {
			return wasm.Compare(ctx, from, to, time.Now(), each)
		}}})
	must(t, err)
	must(t, service.Prepare(t.Context()))
	handler, err := api.New(api.Config{Service: service, NodeToken: nodeToken, PublicAPI: true})
	must(t, err)
	return service, handler
}

// newFixture is a fixture whose edge has some settings changed.
func newFixture(t testing.TB, changes ...func(*edge.Config)) *fixture {
	t.Helper()
	h := newOriginFixture(t, storetest.New(t))
	h.change = func(cfg *edge.Config) {
		for _, change := range changes {
			change(cfg)
		}
	}
	h.startEdge()
	return h
}

// newFixtureOver is newFixture over an existing database.
func newFixtureOver(t testing.TB, record store.Config, keys ...fieldmark.ModuleKey) *fixture {
	t.Helper()
	h := newOriginFixture(t, record)
	h.keys = keys
	h.startEdge()
	return h
}

// newOriginFixture is a fixture without an edge.
func newOriginFixture(t testing.TB, record store.Config) *fixture {
	t.Helper()
	h := &fixture{t: t, record: record}
	h.store, h.service, h.handler = openOrigin(t, h.record)
	h.origin = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.down.Load() {
			panic(http.ErrAbortHandler)
		}
		if r.URL.Path != fieldmark.PathInternalEvents && r.URL.Path != fieldmark.PathInternalNodes {
			h.asked.Add(1)
		}
		if f := h.intercept.Load(); f != nil && (*f)(w, r) {
			return
		}
		if strings.HasPrefix(r.URL.Path, "/docs/") && h.docs != nil {
			h.docs(w, r)
			return
		}
		h.handler.ServeHTTP(w, r)
	}))
	t.Cleanup(h.origin.Close)
	return h
}

// startEdge puts a node in front of the origin and waits until it is ready.
func (h *fixture) startEdge() {
	t := h.t
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	h.base = "http://" + ln.Addr().String()
	asks, err := client.New(client.Config{BaseURL: h.origin.URL, NodeToken: nodeToken})
	must(t, err)
	target, err := url.Parse(h.origin.URL)
	must(t, err)
	cfg := edge.Config{Origin: asks, OriginURL: target, NodeToken: nodeToken, BaseURL: h.base,
		CacheBytes: h.cacheBytes, PassBytes: passBytes,
		ModuleKeys: h.keys, BuiltIn: []fieldmark.Digest{digestOf(geo.Modules()[0]), digestOf(geo.Module())}}
	if h.change != nil {
		h.change(&cfg)
	}
	h.lastConfig = cfg
	h.edge, err = edge.New(cfg)
	must(t, err)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- h.edge.Run(ctx, ln) }()
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections() // what a client keeps open, a drain waits for
		h.origin.CloseClientConnections()
		stop()
		must(t, <-done)
	})
	h.until("the edge is ready", func() bool { return h.edge.Ready() == nil })
}

// catchUp waits until the edge has applied every event of the origin. That a brand is ranked says less: its state
// may have been read after an event that the edge has yet to apply, and that event will invalidate what the test
// has cached by then.
func (h *fixture) catchUp() {
	h.t.Helper()
	head, err := h.store.Head(h.t.Context())
	must(h.t, err)
	h.until("the edge has applied all events", func() bool {
		applied, err := strconv.ParseInt(h.metric("fieldmark_edge_event"), 10, 64)
		return err == nil && applied >= head
	})
}

// until waits for something that happens in another goroutine.
func (h *fixture) until(what string, ok func() bool) {
	h.t.Helper()
	waittest.Until(h.t, what, ok)
}

// brand registers a brand with facts whose main text has so many words; nil
// words leaves it without facts.
func (h *fixture) brand(slug fieldmark.Slug, name string, words int64) {
	h.t.Helper()
	_, _, err := h.service.Brands.Put(h.t.Context(), fieldmark.Brand{
		Slug: slug, Name: name, URL: "https://" + string(slug) + ".example/", Niche: "tools", Language: "en",
		Public: true})
	must(h.t, err)
	if words >= 0 {
		_, err = h.service.Brands.PutFacts(h.t.Context(), slug, factsWith(words))
		must(h.t, err)
	}
}

// factsWith are perfect facts but for the number of words of main text: 300 give a score
// of 100, and each word less costs 0.04.
func factsWith(words int64) fieldmark.Facts {
	f := fieldmark.Facts{Version: fieldmark.FactsVersion, URL: "https://a.example/", Pages: 10,
		AsOf: fieldmark.At(time.Now())}
	for _, in := range geo.Card().Manifest().Inputs {
		value := int64(0)
		if in.Direction == "up" {
			value = map[string]int64{"bool": 1000, "share": 1000, "level": 4000}[in.Unit]
			if value == 0 {
				value = 1_000_000
			}
		}
		if in.Name == "text.words" {
			value = words * 1000
			if words <= 300 {
				value += 100_000 // the first 100 words earn nothing
			}
		}
		f.Facts = append(f.Facts, fieldmark.Fact{ID: in.Name, State: fieldmark.Measured, Value: value, Unit: in.Unit,
			Evidence: []fieldmark.Evidence{{URL: "https://a.example/", Fact: "seen"}}})
	}
	slices.SortFunc(f.Facts, func(a, b fieldmark.Fact) int { return strings.Compare(a.ID, b.ID) })
	return f
}

type answer struct {
	status int
	header http.Header
	body   string
}

// do sends one request to the edge.
func (h *fixture) do(method, path, body string, header ...string) answer {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), method, h.base+path, strings.NewReader(body))
	must(h.t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	must(h.t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	must(h.t, err)
	return answer{resp.StatusCode, resp.Header, string(raw)}
}

func (h *fixture) get(path string, header ...string) answer {
	h.t.Helper()
	return h.do("GET", path, "", header...)
}

// score returns the score of a brand once the edge has applied every event: the facts of a brand are an event after
// that of the brand itself, so an edge may know it without them.
func (h *fixture) score(slug string) fieldmark.Score {
	h.t.Helper()
	h.catchUp()
	a := h.get("/api/v1/score/" + slug)
	if a.status != http.StatusOK {
		h.t.Fatalf("score of %s: %d %s", slug, a.status, a.body)
	}
	var s fieldmark.Score
	must(h.t, json.Unmarshal([]byte(a.body), &s))
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (h *fixture) wantProblem(a answer, status int, code fieldmark.Code) {
	h.t.Helper()
	var p fieldmark.Problem
	if err := json.Unmarshal([]byte(a.body), &p); err != nil {
		h.t.Fatalf("not a problem: %d %s", a.status, a.body)
	}
	if a.status != status || p.Status != status || p.Code != code ||
		a.header.Get("Content-Type") != fieldmark.ProblemType {
		h.t.Errorf("answer %d %s %+v, want %d %s", a.status, a.header.Get("Content-Type"), p, status, code)
	}
	if p.RequestID == "" || a.header.Get("X-Request-Id") != p.RequestID {
		h.t.Errorf("request id %q in the problem, %q in the head", p.RequestID, a.header.Get("X-Request-Id"))
	}
}

func TestReads(t *testing.T) {
	h := newFixture(t)
	h.brand("acme", "Acme & Söhne <x>", 300)
	h.brand("plain", "Plain", 50)
	h.brand("young", "Young", -1)
	h.until("all three are known", func() bool {
		return strings.Contains(h.get("/api/v1/leaderboard").body, `"total":2`) &&
			h.get("/api/v1/score/young").status == 200
	})
	h.catchUp()

	t.Run("score", func(t *testing.T) {
		s := h.score("acme")
		if s.Score == nil || *s.Score != 100_000 || s.Grade != "A" || !s.GeoReady || s.Name != "Acme & Söhne <x>" {
			t.Errorf("score = %v grade %s ready %v name %q", s.Score, s.Grade, s.GeoReady, s.Name)
		}
		if want := (fieldmark.Rank{Overall: 1, OverallLast: 1, Of: 2, Niche: 1, NicheLast: 1,
			OfNiche: 2}); s.Rank == nil || *s.Rank != want {
			t.Errorf("rank = %+v, want %+v", s.Rank, want)
		}
		want := factsWith(300)
		if d, err := want.Digest(); err != nil || s.FactsDigest != d {
			t.Errorf("facts digest = %s, want %s (%v)", s.FactsDigest, d, err)
		}
		if ref, _ := wasm.Ref(geo.Module()); s.Module != ref {
			t.Errorf("module = %+v, want %+v", s.Module, ref)
		}
	})
	t.Run("pending", func(t *testing.T) {
		if s := h.score("young"); s.Status != fieldmark.StatusPending || s.Score != nil || s.Rank != nil ||
			s.Methodology.ID != "geo-readiness" {
			t.Errorf("young: status %s score %v rank %v by %+v", s.Status, s.Score, s.Rank, s.Methodology)
		}
	})
	t.Run("badge", func(t *testing.T) {
		a := h.get("/api/badge/acme")
		for name, want := range map[string]string{
			"Content-Type": "image/svg+xml; charset=utf-8",
			"Cache-Control": "public, max-age=300, s-maxage=300, stale-while-revalidate=86400, " +
				"stale-if-error=604800",
			"Content-Security-Policy":      "default-src 'none'; style-src 'unsafe-inline'; sandbox",
			"X-Content-Type-Options":       "nosniff",
			"Cross-Origin-Resource-Policy": "cross-origin",
			"Access-Control-Allow-Origin":  "*",
			"Timing-Allow-Origin":          "*",
			"Link":                         "<" + h.base + `/brands/acme>; rel="describedby"`,
			"Set-Cookie":                   "",
			"Vary":                         "",
		} {
			if got := a.header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		if !strings.Contains(a.body, "Acme &amp; Söhne &lt;x&gt;") {
			t.Errorf("badge does not name the brand, escaped: %s", a.body)
		}
		if again := h.get("/api/badge/acme.svg"); again.body != a.body ||
			again.header.Get("Cache-Status") != "fieldmark; hit" {
			t.Errorf("second request: %q, same body %v", again.header.Get("Cache-Status"), again.body == a.body)
		}
		if dark := h.get("/api/badge/acme?theme=dark&utm_source=x"); dark.status != 200 || dark.body == a.body {
			t.Errorf("dark badge: %d, same as auto %v", dark.status, dark.body == a.body)
		}
	})
	t.Run("revalidation", func(t *testing.T) {
		for _, path := range []string{"/api/badge/acme", "/api/v1/score/acme", "/api/v1/leaderboard", "/",
			"/brands/acme"} {
			tag := h.get(path, "Accept-Encoding", "identity").header.Get("Etag") // pressed forms have tags of their own
			if len(tag) < 8 || tag[0] != '"' {
				t.Errorf("%s: entity tag %q, want a strong one", path, tag)
			}
			for _, list := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
				a := h.get(path, "If-None-Match", list, "Accept-Encoding", "identity")
				if a.status != http.StatusNotModified || a.body != "" || a.header.Get("Etag") != tag {
					t.Errorf("%s with If-None-Match %s: %d, tag %q, %d bytes", path, list, a.status,
						a.header.Get("Etag"), len(a.body))
				}
			}
			if a := h.get(path, "If-None-Match", `"other"`); a.status != 200 {
				t.Errorf("%s with another tag: %d", path, a.status)
			}
		}
	})
	t.Run("methods", func(t *testing.T) {
		if a := h.do("HEAD", "/api/badge/acme", ""); a.status != 200 || a.body != "" ||
			a.header.Get("Content-Length") == "0" {
			t.Errorf("HEAD: %d, %d bytes, length %s", a.status, len(a.body), a.header.Get("Content-Length"))
		}
		if a := h.do("OPTIONS", "/api/v1/score/acme", ""); a.status != 204 ||
			a.header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("OPTIONS: %d %v", a.status, a.header)
		}
		a := h.do("POST", "/api/badge/acme", "{}")
		h.wantProblem(a, 405, fieldmark.CodeMethodNotAllowed)
		if a.header.Get("Allow") != "GET, HEAD, OPTIONS" {
			t.Errorf("Allow: %q", a.header.Get("Allow"))
		}
	})
	t.Run("pages", func(t *testing.T) {
		for _, path := range []string{"/", "/brands/acme", "/brands/young"} {
			a := h.get(path)
			if a.status != 200 || !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") ||
				!strings.Contains(a.header.Get("Content-Security-Policy"), "default-src 'none'") {
				t.Errorf("%s: %d %v", path, a.status, a.header)
			}
			if hasElement(t, a.body, "x") {
				t.Errorf("%s shows a brand's name unescaped", path)
			}
		}
		if a := h.get("/brands/nobody"); a.status != 404 || !strings.Contains(a.body, "<") {
			t.Errorf("page of an unknown brand: %d", a.status)
		}
	})
}

// hasElement reports whether a page has an element of the given name.
func hasElement(t *testing.T, page, name string) bool {
	t.Helper()
	for z := html.NewTokenizer(strings.NewReader(page)); ; {
		switch z.Next() {
		case html.ErrorToken:
			if !errors.Is(z.Err(), io.EOF) {
				t.Fatal(z.Err())
			}
			return false
		case html.StartTagToken, html.SelfClosingTagToken:
			if tag, _ := z.TagName(); string(tag) == name {
				return true
			}
		}
	}
}

func TestUnknown(t *testing.T) {
	h := newFixture(t)
	before := h.asked.Load()
	for _, slug := range []string{"nobody", "-", "UPPER", "a..b", strings.Repeat("x", 64)} {
		a := h.get("/api/badge/" + slug)
		if a.status != 404 || !strings.HasPrefix(a.body, "<svg") ||
			a.header.Get("Cache-Control") != "public, max-age=60" {
			t.Errorf("badge of %q: %d %q %s", slug, a.status, a.header.Get("Cache-Control"), a.body)
		}
		h.wantProblem(h.get("/api/v1/score/"+slug), 404, fieldmark.CodeNotFound)
	}
	if asked := h.asked.Load() - before; asked != 0 {
		t.Errorf("unknown slugs cost the origin %d requests, want none", asked)
	}
	if a := h.get("/api/badge/nobody?theme=pink"); a.status != 400 || !strings.HasPrefix(a.body, "<svg") {
		t.Errorf("unknown theme: %d %s", a.status, a.body)
	}
	h.wantProblem(h.get("/api/v1/leaderboard?limt=3"), 400, fieldmark.CodeInvalidParameter)
	h.wantProblem(h.get("/api/v1/score/acme?asof=2020-01-01"), 400, fieldmark.CodeInvalidParameter)
	if a := h.get("/?utm_source=mail"); a.status != 200 {
		t.Errorf("a link from a mail: %d", a.status)
	}
	if a := h.get("/methodology"); a.status != 200 || !strings.Contains(a.body, fieldmark.PathMethodology) {
		t.Errorf("/methodology: %d, want the page with a link to %s", a.status, fieldmark.PathMethodology)
	}
	if a := h.get(fieldmark.PathMethodology); a.status != 200 || !strings.Contains(a.body, `"read.server_text"`) {
		t.Errorf("methodology: %d %s", a.status, a.body)
	}
	h.wantProblem(h.get("/api/v1/leaderboard?limit=0"), 400, fieldmark.CodeInvalidParameter)
	h.wantProblem(h.get("/api/v1/leaderboard?cursor=forged"), 400, fieldmark.CodeInvalidCursor)
	h.wantProblem(h.get("/internal/v1/events", "Authorization", "Bearer "+nodeToken), 404, fieldmark.CodeNotFound)
	h.wantProblem(h.get("/%69nternal/v1/events", "Authorization", "Bearer "+nodeToken), 404, fieldmark.CodeNotFound)
	h.wantProblem(h.get("/nothing/here"), 404, fieldmark.CodeNotFound)
	const browser = "text/html,application/xhtml+xml,*/*;q=0.8"
	if a := h.get("/nothing/here", "Accept", browser); a.status != 404 ||
		!strings.HasPrefix(a.header.Get("Content-Type"), "text/html") ||
		!strings.Contains(a.body, "Page not found") || a.header.Get("Content-Encoding") != "" ||
		a.header.Get("Vary") != "Accept" {
		t.Errorf("a browser that asks for nothing is told %d %v %.300s, want a page", a.status, a.header, a.body)
	}
	h.wantProblem(h.get("/api/public/v1/nothing", "Accept", browser), 404, fieldmark.CodeNotFound)
}

// TestChange changes a brand and sees it in every form, long before any expires.
func TestChange(t *testing.T) {
	h := newFixture(t)
	h.brand("acme", "Acme", 300)
	h.brand("rival", "Rival", 290)
	h.catchUp()
	paths := []string{"/api/badge/acme", "/api/badge/acme?theme=dark", "/api/v1/score/acme", "/api/v1/leaderboard", "/",
		"/brands/acme"}
	old := map[string]string{}
	for _, p := range paths {
		old[p] = h.get(p).body
	}
	_, err := h.service.Brands.PutFacts(t.Context(), "acme", factsWith(50))
	must(t, err)
	for _, p := range paths {
		h.until(p+" shows the change", func() bool { return h.get(p).body != old[p] })
	}
	if s := h.score("acme"); *s.Score != 90_000 || s.Rank == nil || s.Rank.Overall != 2 {
		t.Errorf("acme after the change: %v, rank %+v", s.Score, s.Rank)
	}
	if s := h.score("rival"); s.Rank == nil || s.Rank.Overall != 1 {
		t.Errorf("rival after the change: rank %+v", s.Rank)
	}

	private := fieldmark.Brand{Slug: "acme", Name: "Acme", URL: "https://acme.example/", Niche: "tools", Language: "en"}
	_, _, err = h.service.Brands.Put(t.Context(), private)
	must(t, err)
	h.until("the private brand is gone", func() bool {
		return h.get("/api/badge/acme").status == 404 && h.get("/api/v1/score/acme").status == 404 &&
			h.get("/brands/acme").status == 404 &&
			strings.Contains(h.get("/api/v1/leaderboard").body, `"total":1`)
	})
}

// TestOriginStopped cuts the origin off: what is known goes on, what must be
// written is refused in words, and both recover.
func TestOriginStopped(t *testing.T) {
	h := newFixture(t)
	h.brand("acme", "Acme", 300)
	h.catchUp()
	reads := []string{"/api/badge/acme", "/api/v1/score/acme", "/api/v1/leaderboard", "/", "/brands/acme"}
	for _, p := range reads {
		h.get(p)
	}
	h.down.Store(true)
	h.origin.CloseClientConnections()
	for _, p := range reads {
		if a := h.get(p); a.status != 200 {
			t.Errorf("%s without an origin: %d %s", p, a.status, a.body)
		}
	}
	a := h.do("POST", "/api/public/v1/missions", `{"source":"s","externalId":"1","title":"t"}`, "Content-Type",
		"application/json")
	h.wantProblem(a, 503, fieldmark.CodeOriginUnavailable)
	if a.header.Get("Retry-After") == "" {
		t.Error("503 without Retry-After")
	}
	h.down.Store(false)
	_, err := h.service.Brands.PutFacts(t.Context(), "acme", factsWith(50))
	must(t, err)
	h.until("the change is caught up with", func() bool { return *h.score("acme").Score == 90_000 })
}

// TestOriginStoppedCold requests, from a node whose memory is too small for scores, pages
// that were never requested before the origin stopped.
func TestOriginStoppedCold(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		bytes int64
		score int
	}{{"scores in memory", 16 << 20, 200}, {"ranking only", 1 << 20, 503}} {
		t.Run(tt.name, func(t *testing.T) {
			h := newFixture(t)
			h.brand("acme", "Acme", 300)
			h.cacheBytes = tt.bytes
			h.startEdge()
			h.down.Store(true)
			h.origin.CloseClientConnections()
			if a := h.get("/api/badge/acme"); a.status != 200 ||
				!strings.Contains(a.body, "GEO-ready, score 100 of 100") {
				t.Errorf("badge: %d %s", a.status, a.body)
			}
			h.until(fmt.Sprintf("the score is answered %d", tt.score),
				func() bool { return h.get("/api/v1/score/acme").status == tt.score })
		})
	}
}

// TestCursor pages through a ranking while it changes under the reader's hands.
func TestCursor(t *testing.T) {
	h := newFixture(t)
	for i := range 7 {
		h.brand(fieldmark.Slug(fmt.Sprintf("b%d", i)), "B", int64(60+30*i))
	}
	h.catchUp()
	var slugs []string
	path := "/api/v1/leaderboard?limit=3"
	for page := 0; path != ""; page++ {
		var b fieldmark.Board
		must(t, json.Unmarshal([]byte(h.get(path).body), &b))
		for _, it := range b.Items {
			slugs = append(slugs, string(it.Slug))
		}
		path = ""
		if b.NextCursor != "" {
			path = "/api/v1/leaderboard?limit=3&cursor=" + b.NextCursor
		}
		if page == 0 { // the first becomes the last; the pages already begun must not notice
			_, err := h.service.Brands.PutFacts(t.Context(), "b6", factsWith(50))
			must(t, err)
			h.until("the ranking changed",
				func() bool { return !strings.Contains(h.get("/api/v1/leaderboard?limit=1").body, `"b6"`) })
		}
	}
	if want := []string{"b6", "b5", "b4", "b3", "b2", "b1", "b0"}; !slices.Equal(slugs, want) {
		t.Errorf("pages = %v, want %v", slugs, want)
	}
}

// TestPassedRequests sends what the edge does not answer itself, and looks at what the
// origin gets to see of it.
func TestPassedRequests(t *testing.T) {
	var seen *http.Request
	var body string
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/internal/") {
			w.WriteHeader(503)
			return
		}
		raw, _ := io.ReadAll(r.Body)
		seen, body = r, string(raw)
		w.Header().Set("Connection", "X-Private")
		w.Header().Set("X-Private", "hop")
		w.Header().Set("X-Public", "kept")
		w.WriteHeader(201)
		io.WriteString(w, "made")
	}))
	defer origin.Close()
	h := &fixture{t: t, origin: origin}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	h.base = "http://" + ln.Addr().String()
	target, _ := url.Parse(origin.URL)
	asks, err := client.New(client.Config{BaseURL: origin.URL, NodeToken: nodeToken})
	must(t, err)
	h.edge, err = edge.New(edge.Config{Origin: asks, OriginURL: target, NodeToken: nodeToken, BaseURL: h.base,
		HideAdmin: true})
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.edge.Run(ctx, ln) }()
	defer func() { stop(); must(t, <-done) }()

	a := h.do("PATCH", "/some/path?q=%2F..%2F", "payload", "Forwarded", "for=9.9.9.9", "X-Forwarded-For", "9.9.9.9",
		fieldmark.HeaderClient, "9.9.9.9", fieldmark.HeaderNode, "guess", "Connection", "X-Hop", "X-Hop", "1",
		"Idempotency-Key", "k1", "X-Request-Id", "my-own-request-id")
	if a.status != 201 || a.body != "made" || a.header.Get("X-Public") != "kept" || a.header.Get("X-Private") != "" {
		t.Errorf("answer: %d %q %v", a.status, a.body, a.header)
	}
	if seen.Method != "PATCH" || seen.URL.RequestURI() != "/some/path?q=%2F..%2F" || body != "payload" ||
		seen.Host != strings.TrimPrefix(h.base, "http://") {
		t.Errorf("origin saw %s %s %q for host %s", seen.Method, seen.URL.RequestURI(), body, seen.Host)
	}
	for name, want := range map[string]string{
		"Forwarded":       fmt.Sprintf("for=127.0.0.1;host=%q;proto=http", strings.TrimPrefix(h.base, "http://")),
		"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Proto": "http", "X-Forwarded-Host": "", "X-Hop": "",
		"Idempotency-Key": "k1", "X-Request-Id": "my-own-request-id",
		fieldmark.HeaderClient: "", fieldmark.HeaderNode: "", // it has not shown that it is Fieldmark's
	} {
		if got := seen.Header.Get(name); got != want {
			t.Errorf("origin saw %s: %q, want %q", name, got, want)
		}
	}
	h.wantProblem(h.do("POST", "/api/public/v1/missions", strings.Repeat("x", fieldmark.MaxBody+1)), 413,
		fieldmark.CodeBodyTooLarge)
	for _, path := range []string{"/admin", "/admin/api-keys", "/api/admin/v1/keys"} {
		h.wantProblem(h.get(path), 404, fieldmark.CodeNotFound)
	}
	for _, path := range []string{fieldmark.PathOwner, fieldmark.PathOwner + "/brands/acme"} {
		if a := h.get(path); a.status != 201 || a.body != "made" {
			t.Errorf("%s on an edge without the admin console: %d %s, want the answer of the origin", path, a.status,
				a.body)
		}
	}
	h.wantProblem(h.get("/api/v1/leaderboard"), 503, fieldmark.CodeOriginUnavailable)
	if a := h.get("/api/badge/acme"); a.status != 503 || !strings.HasPrefix(a.body, "<svg") {
		t.Errorf("badge before any ranking: %d %s", a.status, a.body)
	}
}
