package origin_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/store"
)

// TestRefusedAudits: what an audit finds out from behind bot protection never replaces the
// facts of one that read the site, and a brand without any has facts that say so.
func TestRefusedAudits(t *testing.T) {
	w := newFixture(t)
	var mode atomic.Value
	mode.Store("wall")
	site := receive(t, func(w http.ResponseWriter, r *http.Request) {
		switch mode := mode.Load(); {
		case r.URL.Path == "/robots.txt" && mode == "robots":
			io.WriteString(w, "User-agent: *\nDisallow: /\n")
		case r.URL.Path != "/":
			http.NotFound(w, r)
		case mode == "truncated":
			w.Header().Set("Content-Length", "1000")
			fallthrough
		case mode == "open":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(w, "<!doctype html><html lang=en><title>Acme makes anvils</title><h1>Acme</h1>")
		default:
			w.Header().Set("Cf-Mitigated", "challenge")
			w.WriteHeader(http.StatusForbidden)
		}
	})
	b := acme
	b.URL = site.URL + "/"
	putBrand(t, w, b)
	defer w.run(t)()
	audited := func(when string) fieldmark.BrandState {
		t.Helper()
		if err := w.Brands.Audits.Request(t.Context(), "acme"); err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, when, func() bool {
			runs, err := w.Brands.Audits.List(t.Context())
			return err == nil && len(runs) == 0
		})
		state, _, err := w.Brands.State(t.Context(), "acme")
		if err != nil || state.Facts == nil {
			t.Fatalf("%s: facts %v, %v", when, state.Facts, err)
		}
		return state
	}
	refusals := func(want int) {
		t.Helper()
		if err := w.Store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			got, err := tx.RecordRefusal(ctx, "acme", true)
			if err == nil && got != want+1 {
				t.Errorf("the site refused %d audits in a row, want %d", got-1, want)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if first := audited("a refused audit"); !first.Facts.Refused || first.Facts.Pages != 0 {
		t.Errorf("the first audit found %d pages, refused: %t", first.Facts.Pages, first.Facts.Refused)
	}
	refusals(1)
	mode.Store("open")
	read := audited("an audit that reads the site")
	if read.Facts.Refused || read.Facts.Pages != 1 {
		t.Errorf("the second audit found %d pages, refused: %t", read.Facts.Pages, read.Facts.Refused)
	}
	mode.Store("wall")
	again := audited("another refused audit")
	if again.FactsDigest != read.FactsDigest || again.Facts.AsOf != read.Facts.AsOf {
		t.Errorf("facts %s as of %v after a refusal, want %s as of %v: they stay and age", again.FactsDigest,
			again.Facts.AsOf, read.FactsDigest, read.Facts.AsOf)
	}
	refusals(1) // and one more is counted

	// Watchers receive the third refusal in a row, once.
	if _, err := w.Webhooks.CreateEndpoint(t.Context(), access.DefaultAccount, fieldmark.EndpointRequest{
		URL: site.URL + "/hook", Events: []string{"brand.audited"},
		EndpointSettings: fieldmark.EndpointSettings{Brands: []fieldmark.Slug{"acme"}}}); err != nil {
		t.Fatal(err)
	}
	head := w.head(t)
	audited("the third refusal in a row")
	if got := w.types(t, head); got != "brand.audited" {
		t.Errorf("events %q after the third refusal, want brand.audited", got)
	}
	audited("the fourth")
	if got := w.types(t, head); got != "brand.audited" {
		t.Errorf("events %q after the fourth refusal, want no other", got)
	}

	for _, tt := range []struct{ mode, want string }{{"robots", "refused"}, {"truncated", "unreachable"},
		{"open", "measured"}} {
		mode.Store(tt.mode)
		audited(tt.mode)
		var last fieldmark.BrandAudit
		all := w.sentTo(t, access.DefaultAccount, fieldmark.EventBrandAudited)
		if err := json.Unmarshal(all[len(all)-1], &last); err != nil || string(last.Result) != tt.want {
			t.Errorf("%s: the audit was %q, %v; want %s", tt.mode, last.Result, err, tt.want)
		}
	}
}
