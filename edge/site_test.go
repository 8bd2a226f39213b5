package edge_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/edge/proxy/upstream"
	"github.com/fieldmark/fieldmark/origin/client"
)

// sitePaths are addresses that Fieldmark's own host answers itself.
var sitePaths = []string{"/", "/?q=x", "/static/app.css", "/status", "/badges", "/developers", "/llms-txt",
	"/methodology", "/robots.txt", "/favicon.ico", "/llms.txt",
	"/sitemap.xml", "/brands/acme", "/brands/acme/contest", "/api/badge/acme", "/api/v1/score/acme",
	"/api/v1/leaderboard", "/api/v1/llms-txt", "/brands/acme/recompute",
	"/internal/v1/events", "/admin", "/api/public/v1/missions"}

// TestSiteHosts: with a site behind the edge, everything on its hosts is the site's,
// which never sees the node token, and Fieldmark's own host stays as it is.
func TestSiteHosts(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.brand("acme", "Acme", 300)
	var told atomic.Value
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(fieldmark.HeaderNode)+r.Header.Get(fieldmark.HeaderClient) != "" {
			told.Store(fmt.Sprint(r.Header))
		}
		w.Header().Set("Cache-Control", "max-age=3600")
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, "theirs: %s %s", r.Method, r.URL.RequestURI())
	}))
	defer far.Close()
	at, err := url.Parse(far.URL)
	must(t, err)
	site, err := upstream.New(upstream.Config{Origins: []*url.URL{at}})
	must(t, err)
	defer site.CloseIdle()
	h.change = func(c *edge.Config) { c.Site = site }
	h.startEdge()
	ask := func(method, host, path string) answer {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, h.base+path, strings.NewReader(""))
		must(t, err)
		req.Host = host
		req.Header.Set("Accept", "text/html")
		resp, err := http.DefaultTransport.RoundTrip(req)
		must(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		must(t, err)
		return answer{resp.StatusCode, resp.Header, string(body)}
	}
	own := strings.TrimPrefix(h.base, "http://")
	h.until("the badge is there", func() bool { return ask("GET", own, "/api/badge/acme").status == http.StatusOK })
	for _, path := range sitePaths {
		for _, method := range []string{"GET", "POST"} {
			if got, want := ask(method, "shop.example", path), "theirs: "+method+" "+path; got.body != want {
				t.Errorf("%s %s of the site: %d %.100q, want %q", method, path, got.status, got.body, want)
			}
		}
		if got := ask("GET", own, path); strings.HasPrefix(got.body, "theirs") {
			t.Errorf("%s of Fieldmark's own host comes from the site", path)
		}
	}
	if got := ask("GET", "shop.example", "/status").header.Get("Cache-Status"); !strings.Contains(got, "; hit") {
		t.Errorf("the site's answer again: %s, want a hit", got)
	}
	if v := told.Load(); v != nil {
		t.Errorf("the site was sent %s", v)
	}
}

// TestPureProxy: an edge without a node token has no routes, is ready at once, and sends
// its origin no requests except those of clients.
func TestPureProxy(t *testing.T) {
	var internal atomic.Int64
	w := newRecordingOrigin(t, func(c *edge.Config) { c.NodeToken = "" })
	w.takes = func(rw http.ResponseWriter, r *http.Request) { io.WriteString(rw, "theirs: "+r.URL.RequestURI()) }
	w.onInternal = func() { internal.Add(1) }
	if err := w.edge.Ready(); err != nil {
		t.Errorf("not ready: %v", err)
	}
	for _, path := range sitePaths {
		if strings.HasPrefix(path, fieldmark.PathInternal) {
			continue // the origin of these tests keeps them to itself
		}
		if got := w.get(path); got.body != "theirs: "+path {
			t.Errorf("%s: %d %.100q, want the site's", path, got.status, got.body)
		}
	}
	if n := internal.Load(); n > 0 {
		t.Errorf("the site was asked %d times for Fieldmark's internal interface", n)
	}
}

// TestNodeTokenStaysHere: a server that is no origin of Fieldmark's never sees the
// node token, whatever the edge asks it for by itself.
func TestNodeTokenStaysHere(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var head bytes.Buffer
		if err := r.Header.Write(&head); err != nil || strings.Contains(head.String(), nodeToken) {
			t.Errorf("%s %s shows the node token: %s %v", r.Method, r.URL, &head, err)
		}
		asked.Add(1)
		http.Error(w, "nothing here", http.StatusNotFound)
	}))
	defer foreign.Close()
	target, err := url.Parse(foreign.URL)
	must(t, err)
	asks, err := client.New(client.Config{BaseURL: foreign.URL, NodeToken: nodeToken})
	must(t, err)
	e, err := edge.New(edge.Config{Origin: asks, OriginURL: target, NodeToken: nodeToken,
		BaseURL: "http://edge.example"})
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	(&fixture{t: t}).until("the edge has asked some times", func() bool { return asked.Load() >= 5 })
	stop()
	must(t, <-done)
}
