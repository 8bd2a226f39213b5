package edge_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/origin/client"
)

// TestPlainOrigin puts a node in front of an origin that is not Fieldmark's: it is a
// caching reverse proxy, and its own routes report that they are unavailable.
func TestPlainOrigin(t *testing.T) {
	var asked atomic.Int64
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/internal/") {
			http.NotFound(w, r)
			return
		}
		n := asked.Add(1)
		if r.Header.Get("Fieldmark-Node") != "" {
			t.Error("an origin that was given no token got one")
		}
		switch r.Method {
		case "GET", "HEAD":
			w.Header().Set("Cache-Control", "max-age=60")
			w.Header().Set("Surrogate-Key", "all")
			fmt.Fprintf(w, "%s %d", r.URL, n)
		default:
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s %s", r.Method, body)
		}
	}))
	t.Cleanup(origin.Close)
	target, err := url.Parse(origin.URL)
	must(t, err)
	asks, err := client.New(client.Config{BaseURL: origin.URL})
	must(t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	base := "http://" + ln.Addr().String()
	e, err := edge.New(edge.Config{Origin: asks, OriginURL: target, BaseURL: base, CacheBytes: 16 << 20,
		PassBytes: 16 << 20})
	must(t, err)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx, ln) }()
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		stop()
		must(t, <-done)
	})
	h := &fixture{t: t, base: base}

	first, second := h.get("/docs?page=1"), h.get("/docs?page=1")
	if first.status != 200 || first.body != "/docs?page=1 1" || second.body != first.body || asked.Load() != 1 {
		t.Errorf("two requests: %q and %q, the origin asked %d times", first.body, second.body, asked.Load())
	}
	got := second.header.Get("Cache-Status")
	ttl, isHit := strings.CutPrefix(got, "fieldmark; hit; ttl=")
	if left, err := strconv.Atoi(ttl); !isHit || err != nil || left < 1 || left > 60 {
		t.Errorf("Cache-Status of the second: %q", got)
	}
	if second.header.Get("Surrogate-Key") != "" || len(second.header.Values("Date")) != 1 {
		t.Errorf("fields of the second: %v", second.header)
	}
	if a := h.do("POST", "/docs?page=1", "change"); a.status != 200 || a.body != "POST change" {
		t.Errorf("POST: %d %q", a.status, a.body)
	}
	upload := strings.Repeat("picture ", 1<<20) // the most there may be
	if a := h.do("POST", "/upload", upload); a.status != 200 || a.body != "POST "+upload {
		t.Errorf("8 MiB: %d, %d bytes came back", a.status, len(a.body))
	}
	if third := h.get("/docs?page=1"); third.body != "/docs?page=1 4" {
		t.Errorf("after the change: %q", third.body)
	}
	for _, path := range []string{"/", "/api/v1/score/acme", "/api/v1/leaderboard", "/api/badge/acme.json",
		"/brands/acme"} {
		if a := h.get(path); a.status != http.StatusOK || !strings.HasPrefix(a.body, path+" ") {
			t.Errorf("%s: %d %q, want the site's", path, a.status, a.body)
		}
	}
}

// TestPurgePassed: a purge by tag, address or of everything reaches answers that
// were passed on, on every node that follows the log.
func TestPurgePassed(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	var asked atomic.Int64
	h.docs = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=3600")
		w.Header().Set("Surrogate-Key", "manual brand:acme")
		w.Header().Set("Cache-Tag", "chapter-1, all")
		fmt.Fprint(w, asked.Add(1))
	}
	if got := h.get("/docs/a?b=c"); got.body != "1" || got.header.Get("Surrogate-Key")+
		got.header.Get("Cache-Tag") != "" {
		t.Fatalf("first answer: %q %v", got.body, got.header)
	}
	for i, r := range []fieldmark.PurgeRequest{
		{Tags: []fieldmark.Tag{"manual"}}, {Tags: []fieldmark.Tag{"chapter-1"}, Hard: true},
		{Tags: []fieldmark.Tag{"brand:acme"}},
		{URL: "/docs/a?b=c"}, {URL: h.base + "/docs/a?b=c", Hard: true}, {Everything: true},
	} {
		_, err := h.service.Purge(t.Context(), "key_test", r)
		must(t, err)
		want := fmt.Sprint(i + 2)
		h.until(fmt.Sprintf("%+v is followed", r), func() bool { return h.get("/docs/a?b=c").body == want })
		if again := h.get("/docs/a?b=c"); again.body != want {
			t.Errorf("after %+v: %q, then %q", r, want, again.body)
		}
	}
	_, err := h.service.Purge(t.Context(), "key_test", fieldmark.PurgeRequest{URL: "/docs/other"})
	must(t, err)
	_, err = h.service.Purge(t.Context(), "key_test", fieldmark.PurgeRequest{Tags: []fieldmark.Tag{"with space"}})
	if !fieldmark.IsCode(err, fieldmark.CodeValidationFailed) {
		t.Errorf("a tag with a space in it: %v", err)
	}
	if got := h.get("/docs/a?b=c"); got.body != "7" {
		t.Errorf("purging another address: %q, want 7", got.body)
	}
}
