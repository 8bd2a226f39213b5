package edge_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/edge/proxy"
	"github.com/fieldmark/fieldmark/edge/proxy/upstream"
	"github.com/fieldmark/fieldmark/edge/site"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/api"
	"github.com/fieldmark/fieldmark/origin/client"
	"github.com/fieldmark/fieldmark/origin/module"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

// pipeNet is a network within a synctest bubble: a listener, and the dialer for it.
type pipeNet struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipeNet() *pipeNet { return &pipeNet{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipeNet) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipeNet) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipeNet) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (p *pipeNet) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-p.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// hangingFixture is an edge before a real origin that can stop answering, all in
// a synctest bubble, so that waiting takes no time and can be measured.
type hangingFixture struct {
	t       *testing.T
	service *origin.Service
	edge    *edge.Edge
	hangs   atomic.Pointer[string] // beginning of the paths that are not answered; nil: none

	intercept atomic.Pointer[interceptor] // sees requests before the origin; nil: none
	openAPI   []byte
}

func newHangingFixture(t *testing.T) *hangingFixture {
	t.Helper()
	return newHangingFixtureOf(t, func(next http.RoundTripper) http.RoundTripper { return next })
}

// newHangingFixtureOf is newHangingFixture with another transport on top of the default
// one.
func newHangingFixtureOf(t *testing.T, over func(http.RoundTripper) http.RoundTripper) *hangingFixture {
	t.Helper()
	f := &hangingFixture{t: t}
	st, err := store.Open(t.Context(), storetest.New(t))
	must(t, err)
	ref, err := wasm.Ref(geo.Module())
	must(t, err)
	service, err := origin.New(origin.Config{Store: st, Secret: bytes.Repeat([]byte("s"), 32),
		BuiltIn: []module.BuiltIn{{Ref: ref, Bytes: geo.Module()}}})
	must(t, err)
	must(t, service.Prepare(t.Context()))
	f.service = service
	_, _, err = service.Brands.Put(t.Context(), fieldmark.Brand{
		Slug: "acme", Name: "Acme", URL: "https://acme.example/", Niche: "tools", Language: "en", Public: true})
	must(t, err)
	_, err = service.Brands.PutFacts(t.Context(), "acme", factsWith(300))
	must(t, err)
	handler, err := api.New(api.Config{Service: service, NodeToken: nodeToken, PublicAPI: true})
	must(t, err)
	network := newPipeNet()
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if prefix := f.hangs.Load(); prefix != nil && strings.HasPrefix(r.URL.Path, *prefix) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done() // it accepts and never answers
			return
		}
		if g := f.intercept.Load(); g != nil && (*g)(w, r) {
			return
		}
		handler.ServeHTTP(w, r)
	})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(network) }()
	transport := &http.Transport{DialContext: network.dial}
	asks, err := client.New(client.Config{BaseURL: "http://origin.example", NodeToken: nodeToken,
		Transport: over(transport)})
	must(t, err)
	f.edge, err = edge.New(edge.Config{Origin: asks, OriginURL: &url.URL{Scheme: "http", Host: "origin.example"},
		Transport: over(transport), NodeToken: nodeToken,
		BaseURL: "http://a", CacheBytes: 4 << 20, BuiltIn: []fieldmark.Digest{digestOf(geo.Module())}})
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- f.edge.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		must(t, <-ran)
		transport.CloseIdleConnections()
		_ = server.Close()
		<-served
		must(t, st.Close())
	})
	for f.edge.Ready() != nil {
		time.Sleep(time.Second) // of the bubble
	}
	f.openAPI = []byte(f.do("GET", fieldmark.PathOpenAPI, "").body)
	return f
}

// hang stops the origin from responding after the edge received an event to derive the
// score of acme again; if hard is set, the edge must not serve the old score meanwhile.
func (f *hangingFixture) hang(hard bool) {
	f.t.Helper()
	facts, all := fieldmark.PathInternalFacts, "/"
	f.hangs.Store(&facts)
	p, err := f.service.Purge(f.t.Context(), "key_test",
		fieldmark.PurgeRequest{Tags: []fieldmark.Tag{fieldmark.TagBrand("acme")}, Hard: hard})
	must(f.t, err)
	if p.Event == 0 {
		f.t.Fatal("the purge has no event")
	}
	synctest.Wait()
	f.hangs.Store(&all)
}

// do sends one request to the edge on a separate connection.
func (f *hangingFixture) do(method, path, body string) answer {
	f.t.Helper()
	here, there := net.Pipe()
	var served sync.WaitGroup
	served.Go(func() { f.edge.ServeConn(there) })
	defer served.Wait()
	defer here.Close()
	served.Go(func() {
		_, _ = fmt.Fprintf(here,
			"%s %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: "+
				"close\r\n\r\n%s", method, path, len(body), body)
	})
	resp, err := http.ReadResponse(bufio.NewReader(here), &http.Request{Method: method})
	must(f.t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	must(f.t, err)
	return answer{resp.StatusCode, resp.Header, string(raw)}
}

// apiRoute is an operation of the OpenAPI document with its parameters filled in.
type apiRoute struct{ method, path string }

// routes lists every operation of the OpenAPI document.
func (f *hangingFixture) routes() []apiRoute {
	f.t.Helper()
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	must(f.t, json.Unmarshal(f.openAPI, &doc))
	parameter := regexp.MustCompile(`\{(\w+)\}`)
	var all []apiRoute
	for path, item := range doc.Paths {
		path = parameter.ReplaceAllString(strings.ReplaceAll(path, "{slug}", "acme"), "x")
		if path == "/oembed" { // 404 without a page of a brand
			path += "?url=http://a/brands/acme"
		}
		for method := range item {
			switch method = strings.ToUpper(method); method {
			case "GET", "POST", "PUT", "PATCH", "DELETE":
				all = append(all, apiRoute{method, path})
			}
		}
	}
	if len(all) < 60 {
		f.t.Fatalf("the OpenAPI document has %d operations", len(all))
	}
	return all
}

// slowRoutes may take longer than others, as the origin calls other servers, runs
// a module, handles every brand or waits for the end of a check.
var slowRoutes = map[string]bool{
	"GET /api/v1/scores": true, "POST /api/v1/llms-txt/lint": true, "POST /api/admin/v1/brands/import": true,
	"POST /api/admin/v1/visibility/import": true,
	"POST /api/admin/v1/modules":           true, "GET /api/admin/v1/audit-log/verdict": true,
	"POST /api/public/v1/webhooks/x/test": true, "POST /api/admin/v1/webhooks/x/test": true,
	"POST /api/admin/v1/cdns/x/test": true, "POST /api/admin/v1/cdns/x/purge": true,
	"PUT /api/admin/v1/cdns/x":                   true,
	"POST /api/public/v1/missions/x/attachments": true,
	"POST /api/v1/claims/x/verify":               true,
	"POST /api/v1/claims/x/object":               true, "GET /api/v1/checks/x": true,
}

// TestHangingOrigin: an origin that accepts requests and never answers makes no
// route wait for more than six seconds, and none answer that the node is at fault.
func TestHangingOrigin(t *testing.T) {
	t.Parallel()
	startClock()
	synctest.Test(t, func(t *testing.T) {
		f := newHangingFixture(t)
		routes := f.routes()
		for _, path := range append(site.FixedPages(), "/status", "/?q=a", "/brands/acme", "/brands/acme/contest",
			"/brands/acme/recompute", "/robots.txt", "/llms.txt",
			"/sitemap.xml", "/sitemap-1.xml", "/favicon.ico",
			"/badges?slug=acme", "/api/badge/acme.png", "/api/badge/acme.json", "/api/badge/acme/embed",
			"/api/badge/acme?label=x",
			"/api/v1/score/acme?asOf=1999-12-31", "/api/v1/score/acme/facts/sha256:"+strings.Repeat("0", 64),
			"/api/v1/modules/sha256:"+strings.Repeat("0", 64),
			"/api/openapi.json", "/calendar/x.ics", "/t/x/", "/portal/", "/problems/internal", "/admin",
			"/admin/brands") {
			routes = append(routes, apiRoute{"GET", path})
		}
		routes = append(routes, apiRoute{"POST", "/api/v1/llms-txt?x=1"}, apiRoute{"POST", "/llms-txt"},
			apiRoute{"POST", "/brands/acme/contest"})
		f.hang(true)
		for _, r := range routes {
			within := 6 * time.Second * timeout.Scale
			if slowRoutes[r.method+" "+r.path] {
				within = upstream.DefaultHeadTimeout + time.Second
			}
			body := ""
			if r.method != "GET" && r.method != "DELETE" {
				body = "{}"
			}
			if r.path == fieldmark.PathScoreBatch {
				body = `{"brands":["acme"]}`
			}
			if r.path == fieldmark.PathMissionBatch {
				body = strings.Repeat(" ", 2*proxy.MaxBufferedBody) // is sent on as it comes
			}
			began := time.Now()
			a := f.do(r.method, r.path, body)
			took := time.Since(began)
			if took > within {
				t.Errorf("%s %s: answered after %v, want at most %v", r.method, r.path, took, within)
			}
			switch a.status {
			case 200:
			case http.StatusServiceUnavailable, http.StatusGatewayTimeout:
				if a.header.Get("Retry-After") == "" {
					t.Errorf("%s %s: %d without Retry-After", r.method, r.path, a.status)
				}
			default:
				t.Errorf("%s %s: %d, want 200, 503 or 504: %.200s", r.method, r.path, a.status, a.body)
			}
		}
	})
}

// TestSlowImport: an import may take as long at the edge as at the origin.
func TestSlowImport(t *testing.T) {
	t.Parallel()
	startClock()
	synctest.Test(t, func(t *testing.T) {
		f := newHangingFixture(t)
		slow := interceptor(func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/api/admin/v1/brands/import" {
				return false
			}
			time.Sleep((fieldmark.MaxBulkTime - 1) * time.Second)
			fmt.Fprint(w, "imported")
			return true
		})
		f.intercept.Store(&slow)
		if a := f.do("POST", "/api/admin/v1/brands/import", "[]"); a.status != http.StatusOK || a.body != "imported" {
			t.Errorf("an import that the origin worked on for %d s: %d %s, want 200", fieldmark.MaxBulkTime-1, a.status,
				a.body)
		}
	})
}

// TestSecondOrigin: while one of two origins hangs, the other one answers within the
// time that clients wait.
func TestSecondOrigin(t *testing.T) {
	startClock()
	synctest.Test(t, func(t *testing.T) {
		network := newPipeNet()
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter,
			_ *http.Request) {
			fmt.Fprint(w, "answer")
		})}
		served := make(chan error, 1)
		go func() { served <- server.Serve(network) }()
		transport := &http.Transport{DialContext: func(ctx context.Context, n, address string) (net.Conn, error) {
			if address == "well.example:80" {
				return network.dial(ctx, n, address)
			}
			near, far := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, far) }() // it takes requests and never answers
			return near, nil
		}}
		origins, err := upstream.New(upstream.Config{Transport: transport, HealthEvery: -1,
			Origins: []*url.URL{{Scheme: "http", Host: "hangs.example"}, {Scheme: "http", Host: "well.example"}}})
		must(t, err)
		asks, err := client.New(client.Config{BaseURL: "http://origin.example", NodeToken: nodeToken,
			Transport: origins})
		must(t, err)
		f := &hangingFixture{t: t}
		f.edge, err = edge.New(edge.Config{Origin: asks, OriginURL: &url.URL{Scheme: "http", Host: "origin.example"},
			Transport: origins,
			NodeToken: nodeToken, BaseURL: "http://a"})
		must(t, err)
		for range 4 { // some of them go to the one that hangs first
			if a := f.do("GET", "/api/v1/anything", ""); a.status != http.StatusOK || a.body != "answer" {
				t.Errorf("%d %s, want the answer of the origin that works", a.status, a.body)
			}
		}
		f.edge.Close()
		transport.CloseIdleConnections()
		_ = server.Close()
		<-served
	})
}

// TestHangingOriginPages: what the node knows is served without the parts it does
// not know.
func TestHangingOriginPages(t *testing.T) {
	t.Parallel()
	startClock()
	synctest.Test(t, func(t *testing.T) {
		f := newHangingFixture(t)
		if a := f.do("GET", "/api/v1/score/acme", ""); a.status != 200 {
			t.Fatalf("score: %d", a.status)
		}
		all := "/"
		f.hangs.Store(&all)
		for _, tt := range []struct {
			path   string
			within time.Duration
		}{{"/brands/acme", 1500 * time.Millisecond * timeout.Scale},
			{"/developers/reference", 3500 * time.Millisecond * timeout.Scale}} {
			began := time.Now()
			a := f.do("GET", tt.path, "")
			if took := time.Since(began); a.status != 200 || took > tt.within {
				t.Errorf("%s: %d after %v, want 200 within %v", tt.path, a.status, took, tt.within)
			}
		}
		f.hangs.Store(nil)
		f.hang(false)
		began := time.Now()
		if a := f.do("GET", "/api/badge/acme?theme=dark", ""); a.status != 200 || !strings.Contains(a.body, "Acme") {
			t.Errorf("a badge that was not drawn before: %d after %v: %.100s", a.status, time.Since(began), a.body)
		}
	})
}
