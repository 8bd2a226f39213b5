package edge_test

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// essay serves a site of six pages with good markup and an honest text, under a name.
func essay(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile("../origin/RATIONALE.md")
	must(t, err)
	words := strings.Fields(regexp.MustCompile("[^A-Za-z.,;' ]+").ReplaceAllString(string(raw), " "))
	paths := []string{"/", "/about", "/contact", "/guide", "/story", "/prices"}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		base := "http://" + r.Host
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		for i, path := range paths {
			if path != r.URL.Path {
				continue
			}
			var body strings.Builder
			for p := range 4 {
				at := 60 * (4*i + p)
				fmt.Fprintf(&body, `<h2>Part %d</h2><p>%s, says %s.</p><p>It saved %d %% of 900 kWh, as <a `+
					`href="https://source%d-%d.example.org/">a study</a> says.</p>`, p+1,
					html.EscapeString(strings.Join(words[at:at+60], " ")), name, 10+at/60, i, p)
			}
			title := fmt.Sprintf("What the page number %d of %s says", i, name)
			fmt.Fprintf(w, `<!doctype html><html lang=en><head><title>%s</title><meta name=description `+
				`content="%s: a text that an author wrote for people who want to know.">`+
				`<link rel=canonical href="%s%s">`+
				`<meta property=og:site_name content="%s"><script type="application/ld+json">{"@context":`+
				`"https://schema.org","@type":"Organization","name":"%s","url":"%s/","logo":"/l.png","description":`+
				`"We write.","contactPoint":{"@type":"ContactPoint","telephone":"+1"}}</script>`+
				`<script type="application/ld+json">{"@type":"Article","headline":"%s","author":{"@type":"Person",`+
				`"name":"Ada Byron"}}</script></head><body><nav>`,
				title, title, base, path, name, name, base, title)
			for _, to := range paths {
				fmt.Fprintf(w, `<a href="%s">%s</a> `, to, strings.TrimPrefix(to, "/")+" us")
			}
			fmt.Fprintf(w, `</nav><main><h1>%s</h1><p><time datetime="%s">Today</time></p>%s<blockquote>%s `+
				`is the most useful thing that we have seen.<footer>Ada Byron, engineer</footer></blockquote>`+
				`<ul><li>one</ul><table><tr><th>a`+
				`<td>b</table></main></body></html>`, title, time.Now().Format(time.DateOnly), body.String(), title)
			return
		}
		if r.URL.Path == "/sitemap.xml" {
			w.Header().Set("Content-Type", "application/xml")
			fmt.Fprint(w, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
			for _, path := range paths {
				fmt.Fprintf(w, "<url><loc>%s%s</loc></url>", base, path)
			}
			fmt.Fprint(w, "</urlset>")
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(site.Close)
	return site.Listener.Addr().String()
}

// TestCopiedSite: a site whose text was seen earlier at another brand, with other names in
// it, has a grade below C in the score and on the badge, and its text is unknown, not bad. An
// upheld dispute changes which of them is the first.
func TestCopiedSite(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx := t.Context()
	h.audits("original.example:80", essay(t, "Original"), "copy.test:80", essay(t, "Copycat"))
	auditNow := func(slug fieldmark.Slug) fieldmark.Score {
		t.Helper()
		must(t, h.service.Brands.Audits.Request(ctx, slug))
		h.idle()
		state, _, err := h.service.Brands.State(ctx, slug)
		must(t, err)
		h.until("the score follows the audit", func() bool {
			return h.score(string(slug)).FactsDigest == state.FactsDigest
		})
		return h.score(string(slug))
	}
	put := func(slug fieldmark.Slug, name, address string) {
		t.Helper()
		_, _, err := h.service.Brands.Put(ctx, fieldmark.Brand{Slug: slug, Name: name, URL: address, Niche: "books",
			Language: "en", Public: true})
		must(t, err)
	}
	wantHonest := func(what string, s fieldmark.Score) {
		t.Helper()
		if s.Range == nil || s.Range.Low.Float() < 55 {
			t.Errorf("%s: %s %v %+v, want a lower end of at least 55", what, s.Status, s.Score, s.Range)
		}
	}
	wantUnknown := func(what string, s fieldmark.Score, evidence string) {
		t.Helper()
		badge := h.get("/api/badge/" + string(s.Slug) + ".json").body
		if s.Range != nil && s.Range.Low.Float() >= 55 || s.Grade != "" && s.Grade < "D" ||
			regexp.MustCompile(`"(message|grade)":"[^"]*\b[ABC]\b`).MatchString(badge) {
			t.Errorf("%s: %+v, grade %q, badge %s; want them below C", what, s.Range, s.Grade, badge)
		}
		n := 0
		for _, c := range s.Components {
			for i := range c.Signals {
				sig := &c.Signals[i]
				if sig.ID == "read.server_text" && (sig.Status != fieldmark.Unknown ||
					!strings.Contains(fmt.Sprint(sig.Evidence), evidence)) {
					t.Errorf("%s: %+v, want it unknown because of %s", what, sig, evidence)
				}
				if sig.Status == fieldmark.Unknown {
					n++
				}
			}
		}
		if page := h.get("/brands/" + string(s.Slug)).body; n == 0 ||
			!strings.Contains(page, "contest?signal=text.plausible") {
			t.Errorf("%s: %d unknown signals, or the page has no way to dispute it", what, n)
		}
	}

	put("original", "Original", "http://original.example/")
	wantHonest("the original", auditNow("original"))
	put("copy", "Copycat", "http://copy.test/")
	wantHonest("a copy within a day, which may as well be the original", auditNow("copy"))

	// As if the original had been added two days before the copy.
	texts, err := h.store.PageTexts(ctx, "original")
	must(t, err)
	if len(texts) != 6 {
		t.Fatalf("%d texts of the original, want 6", len(texts))
	}
	for i := range texts {
		texts[i].FirstSeen = texts[i].FirstSeen.Add(-48 * time.Hour)
	}
	must(t, h.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.PutPageTexts(ctx, "original", nil, texts, time.Now(), 100)
	}))
	wantHonest("the original again", auditNow("original"))
	copied := auditNow("copy")
	wantUnknown("the copy", copied, "http://original.example/")
	if again := auditNow("copy"); again.FactsDigest != copied.FactsDigest {
		t.Error("a second audit of the same site returned other facts")
	}

	if form := h.get("/brands/copy/contest?signal=text.plausible").body; !strings.Contains(form,
		`<option value="text.plausible" selected>`) {
		t.Errorf("the form does not offer the finding: %s", form)
	}
	sent := h.do("POST", "/brands/copy/contest", disputeForm("signal", fieldmark.FactText), "Content-Type", formType)
	to, err := url.Parse(sent.header.Get("Location"))
	must(t, err)
	_, err = h.service.Brands.Disputes.Decide(ctx, to.Query().Get("dispute"),
		fieldmark.DisputeDecision{State: fieldmark.DisputeUpheld, Answer: "They have shown us the drafts."})
	must(t, err)
	h.idle() // the audit that the decision has queued
	wantHonest("after the dispute", auditNow("copy"))
	wantUnknown("the other one after the dispute", auditNow("original"), "a decided dispute attributes")
	must(t, h.store.Check(ctx))
}
