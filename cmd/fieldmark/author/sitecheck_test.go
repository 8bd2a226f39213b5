package author

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/module"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/origin/sitecheck"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/geo"
	"github.com/fieldmark/fieldmark/wasm/scoring"
)

// checkSite has a server check a site, and returns the report.
func checkSite(t *testing.T, connect map[string]string, url string) *fieldmark.SiteCheckReport {
	t.Helper()
	st, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "db")})
	must(t, err)
	defer func() { must(t, st.Close()) }()
	ref, err := wasm.Ref(geo.Module())
	must(t, err)
	auditor, err := audit.New(audit.Config{HTTP: safehttp.New(safehttp.Config{ConnectTo: connect, Targets: true}),
		Delay: -1, MaxRequests: sitecheck.MaxRequests, Timeout: sitecheck.AuditTimeout})
	must(t, err)
	var scorer wasm.Scorer
	defer func() { must(t, scorer.Close(context.WithoutCancel(t.Context()))) }()
	service, err := origin.New(origin.Config{Store: st, Secret: bytes.Repeat([]byte("s"), 32), Scorer: &scorer,
		Log:        slog.New(slog.DiscardHandler),
		BuiltIn:    []module.BuiltIn{{Ref: ref, Bytes: geo.Module()}},
		SiteChecks: sitecheck.Config{Auditor: auditor, Advise: scoring.Advise}})
	must(t, err)
	must(t, service.Prepare(t.Context()))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- service.SiteChecks.Run(ctx) }()
	defer func() { stop(); must(t, <-done) }()
	c, _, err := service.SiteChecks.Request(ctx, netip.MustParseAddr("192.0.2.1"), fieldmark.SiteCheckRequest{URL: url})
	for err == nil && !c.State.Ended() {
		c, err = service.SiteChecks.Get(ctx, c.ID, time.Second)
	}
	must(t, err)
	if c.State != fieldmark.SiteCheckDone {
		t.Fatalf("the check ended as %+v", c)
	}
	return c.Report
}

// TestSameAsCheck: fieldmark audit --requests 10 --seed gives the facts, the score and the
// advice of a check of the same site, byte for byte but for the time.
func TestSameAsCheck(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/robots.txt":
			fmt.Fprint(w, "User-agent: *\nAllow: /\n")
			return
		case strings.Contains(r.URL.Path, "."):
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!doctype html><html lang=en><title>Acme%s</title><main><h1>Acme</h1>", r.URL.Path)
		for i := range 60 {
			fmt.Fprintf(w, "<p>Anvil number %d of %s. <a href=/p%d>%d</a>", i, r.URL.Path, i, i)
		}
	}))
	defer site.Close()
	address := strings.TrimPrefix(site.URL, "http://")
	var want *fieldmark.SiteCheckReport
	var got AuditDocument
	const most = 100 // attempts; only a failure takes so many
	for range most {
		want = checkSite(t, map[string]string{"acme.example:80": address}, "http://acme.example")
		if want.Facts.Sample == nil || want.Facts.Sample.Seed == "" {
			t.Fatal("the check drew no sample")
		}
		var out bytes.Buffer
		cmd := AuditCmd{URL: "http://acme.example/", ConnectTo: []string{"acme.example:80:" + address},
			Requests: sitecheck.MaxRequests, Seed: want.Facts.Sample.Seed, JSON: true, Quiet: true}
		must(t, cmd.Run(t.Context(), &command.Streams{Out: &out, Err: &bytes.Buffer{}}))
		got = AuditDocument{}
		must(t, json.Unmarshal(out.Bytes(), &got))
		// The time to the first byte is a fact, and a busy machine may have been slower once.
		const speed = "response.ttfb"
		a, _ := got.Facts.Find(speed)
		b, _ := want.Facts.Find(speed)
		if a.Value == b.Value {
			break
		}
	}
	text := func(f fieldmark.Facts, a fieldmark.Assessment) string {
		gains := scoring.Advise(&a)
		f.AsOf, a.AsOf = fieldmark.Time{}, nil
		b, err := json.Marshal([]any{f, a, gains})
		must(t, err)
		return string(b)
	}
	if g, w := text(got.Facts, got.Assessment), text(want.Facts, want.Assessment); g != w {
		t.Errorf("fieldmark audit gives\n%.2000s\nthe check gave\n%.2000s", g, w)
	}
	if advised, _ := json.Marshal(want.Gains); len(want.Gains) == 0 ||
		!strings.HasSuffix(text(want.Facts, want.Assessment), string(advised)+"]") {
		t.Errorf("the advice of the check is not that of its score: %s", advised)
	}
}
