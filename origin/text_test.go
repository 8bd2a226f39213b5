package origin_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/origin/store"
)

// TestFirstBrandOfACopiedText: which of two brands with the same text is the first, and which pairs are
// not compared.
func TestFirstBrandOfACopiedText(t *testing.T) {
	raw, err := os.ReadFile("RATIONALE.md")
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(regexp.MustCompile("[^A-Za-z.,;' ]+").ReplaceAllString(string(raw), " "))
	var claims atomic.Pointer[map[string]string] // the other site that a site claims, by host
	site := receive(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<!doctype html><html lang=en><title>Acme makes anvils</title>")
		if other := (*claims.Load())[r.Host]; other != "" {
			fmt.Fprintf(w, `<link rel=alternate hreflang=de href="http://%s/">`, other)
		}
		io.WriteString(w, "<main><p>"+strings.Join(words[:250], " ")+", says "+r.Host+".</main>")
	})
	connect := map[string]string{}
	for _, host := range []string{"first.example", "www.first.example", "second.example"} {
		connect[host+":80"] = site.Listener.Addr().String()
	}
	outbound := safehttp.New(safehttp.Config{Allow: loopbackNet, ConnectTo: connect})
	defer outbound.CloseIdle()
	auditor, err := audit.New(audit.Config{HTTP: outbound, Delay: -1})
	if err != nil {
		t.Fatal(err)
	}
	w := openFixture(t, storetest.New(t), func(c *origin.Config) { c.Auditor = auditor })
	ctx := t.Context()
	stop := w.run(t)
	defer stop()
	auditNow := func(slug fieldmark.Slug) *fieldmark.Facts {
		t.Helper()
		if err := w.Brands.Audits.Request(ctx, slug); err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, "it is audited", func() bool {
			waiting, running, err := w.Brands.Audits.Status(ctx)
			return err == nil && waiting+running == 0
		})
		state, _, err := w.Brands.State(ctx, slug)
		if err != nil || state.Facts == nil {
			t.Fatalf("%s: %+v, %v", slug, state, err)
		}
		return state.Facts
	}
	for _, tt := range []struct {
		name          string
		first, second string // hosts
		private       bool   // the first one
		lead          time.Duration
		claims        map[string]string
		unknown       bool // the facts about the text of the second
	}{
		{name: "two sites", first: "first.example", second: "second.example", lead: 25 * time.Hour, unknown: true},
		{name: "within a day", first: "first.example", second: "second.example", lead: 23 * time.Hour},
		{name: "the same domain", first: "first.example", second: "www.first.example", lead: 25 * time.Hour},
		{name: "a brand that is not public", first: "first.example", second: "second.example", private: true,
			lead: 25 * time.Hour},
		{name: "two sites of one owner", first: "first.example", second: "second.example", lead: 25 * time.Hour,
			claims: map[string]string{"first.example": "second.example", "second.example": "first.example"}},
		{name: "a site that claims the other", first: "first.example", second: "second.example", lead: 25 * time.Hour,
			claims: map[string]string{"second.example": "first.example"}, unknown: true},
	} {
		claims.Store(&tt.claims)
		for i, host := range []string{tt.first, tt.second} {
			b := acme
			b.Slug, b.URL = [...]fieldmark.Slug{"first", "second"}[i], "http://"+host+"/"
			b.Public = i > 0 || !tt.private
			putBrand(t, w, b)
		}
		auditNow("first")
		texts, err := w.Store.PageTexts(ctx, "first")
		if err != nil || len(texts) != 1 {
			t.Fatalf("%s: texts %+v, %v", tt.name, texts, err)
		}
		texts[0].FirstSeen = texts[0].FirstSeen.Add(-tt.lead)
		var claimed []string
		if other := tt.claims[tt.first]; other != "" {
			claimed = []string{other}
		}
		if err := w.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			return tx.PutPageTexts(ctx, "first", claimed, texts, time.Now(), 10)
		}); err != nil {
			t.Fatal(err)
		}
		if f, _ := auditNow("first").Find("text.words"); f.State != fieldmark.Measured {
			t.Errorf("%s: the first is %+v", tt.name, f)
		}
		f, _ := auditNow("second").Find("text.words")
		if unknown := f.State == fieldmark.Unknown; unknown != tt.unknown {
			t.Errorf("%s: the second is %+v, want unknown: %v", tt.name, f, tt.unknown)
		}
		for _, slug := range []fieldmark.Slug{"first", "second"} {
			if err := w.Brands.Delete(ctx, slug); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestPageTextsAreBounded: a brand keeps the texts that were seen last; they follow its slug.
func TestPageTextsAreBounded(t *testing.T) {
	w := newFixture(t)
	ctx := t.Context()
	putBrand(t, w, acme)
	now := time.Now().Truncate(time.Microsecond)
	for i := range 5 {
		var list []store.PageText
		for n := range 10 {
			list = append(list, store.PageText{URL: fmt.Sprintf("https://acme.example/%d/%d", i, n),
				Domain: "acme.example", Sketch: "x", Keys: [4]int64{int64(i), int64(n), 7, int64(i * n)},
				FirstSeen: now.Add(time.Duration(i) * time.Hour)})
		}
		if err := w.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			return tx.PutPageTexts(ctx, "acme", []string{"acme.test", "acme.at"}, list,
				now.Add(time.Duration(i)*time.Hour), 25)
		}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Brands.Rename(ctx, "acme", "anvils"); err != nil {
		t.Fatal(err)
	}
	got, err := w.Store.PageTexts(ctx, "anvils")
	if err != nil || len(got) != 25 || got[0].URL != "https://acme.example/2/0" || !got[0].FirstSeen.Equal(
		now.Add(2*time.Hour)) {
		t.Errorf("%d texts, %v, the first %+v; want the 25 seen last", len(got), err, got)
	}
	similar, err := w.Store.SimilarTexts(ctx, [4]int64{99, 3, 98, 97}, 2)
	if err != nil || len(similar) != 2 || similar[0].URL != "https://acme.example/2/3" || !similar[0].Public ||
		strings.Join(similar[0].Claims, " ") != "acme.test acme.at" {
		t.Errorf("texts with the key: %+v, %v", similar, err)
	}
}
