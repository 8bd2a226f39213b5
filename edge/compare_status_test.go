package edge_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
)

// TestCompare: brands named by slug, name or domain are shown side by side. What is wrong
// with the list is beside the field, which keeps the text. Each niche has a page.
func TestCompare(t *testing.T) {
	h := newFixture(t)
	for slug, words := range map[fieldmark.Slug]int64{"acme": 300, "fern": 200, "moss": 100} {
		h.ranked(slug, "tools", "en", found{words: words})
	}
	_, _, err := h.service.Brands.Put(t.Context(), fieldmark.Brand{Slug: "fern-gully", Name: "Fern Gully",
		URL: "https://www.gardens.example/", Niche: "gardens", Language: "en", Public: true})
	must(t, err)
	h.until("all are ranked", func() bool {
		return h.listed("").Total == 3 && strings.Contains(h.get("/?q=gardens.example").body, "/brands/fern-gully")
	})
	for query, want := range map[string]struct {
		status int
		texts  []string
	}{
		"": {200, []string{`<input id="brands"`, "Names or domains, separated by commas"}},
		"acme, https://www.gardens.example/shop": {200, []string{`<a href="/brands/acme">`,
			`<a href="/brands/fern-gully">`, "Waiting for its first audit"}},
		"acme,acme": {200, []string{"Add another brand above to compare."}},
		"acme,fern": {200, []string{`<th scope="rowgroup">`}},
		"acme, nobody": {400, []string{"No public brand is registered as “nobody”.", `value="acme, nobody"`,
			`aria-invalid="true"`, `<a href="/brands/acme">`}},
		"ern": {400,
			[]string{"“ern” matches 2 brands: enter one of them, such as fern or fern-gully."}},
		"acme,fern,moss,fern-gully,x": {400, []string{"At most 4 brands can be compared; the first 4 of 5 are shown."}},
		strings.Repeat("a", 500):      {400, []string{"at most 408 bytes"}},
		"\xff":                        {400, []string{"must be text"}},
	} {
		a := h.get("/compare?brands=" + url.QueryEscape(query))
		if a.status != want.status {
			t.Errorf("%.40q: %d, want %d", query, a.status, want.status)
		}
		for _, text := range want.texts {
			if !strings.Contains(a.body, text) {
				t.Errorf("%.40q: the page lacks %q", query, text)
			}
		}
	}
	for path, want := range map[string]string{
		"/niches": `<a href="/niches/tools">tools</a>`, "/niches/tools": "3 ranked brands. Half of them score ",
		"/?niche=tools":   `<link rel="canonical" href="` + h.base + `/niches/tools">`,
		"/niches/gardens": "Page not found",
		"/niches/":        "Page not found", "/niches/tools?cursor=x": "Invalid address",
		"/niches/tools?limit=2": `href="/niches/tools?cursor=`, "/brands/acme": `Median of the niche</dt><dd>`,
	} {
		if a := h.get(path); !strings.Contains(a.body, want) {
			t.Errorf("%s: %d, the page lacks %q: %.300s", path, a.status, want, between(a.body, "<main", "</main>"))
		}
	}
}

// TestStatusPage: the page says that everything works, since when that is recorded, and
// keeps the record while the origin is unreachable.
func TestStatusPage(t *testing.T) {
	h := newFixture(t)
	h.until("a report is recorded", func() bool {
		status, err := h.service.Status(t.Context())
		return err == nil && !status.Since.IsZero()
	})
	h.until("the brands are ranked", func() bool { return h.get("/").status == http.StatusOK })
	for _, want := range []string{"Everything works", "Available 100% of the time since", "There was no outage.",
		"The queue is empty.", "On time", "Versions of this server"} {
		if a := h.get("/status"); !strings.Contains(a.body, want) {
			t.Errorf("the page lacks %q: %d %s", want, a.status, between(a.body, "<main", "</main>"))
		}
	}
	away := interceptor(func(w http.ResponseWriter, r *http.Request) bool {
		w.WriteHeader(http.StatusBadGateway)
		return true
	})
	h.intercept.Store(&away)
	_, _, err := h.service.Brands.Put(t.Context(), fieldmark.Brand{Slug: "late", Name: "Late", Niche: "tools",
		URL: "https://late.example/", Language: "en", Public: true}) // ends the wait for events
	must(t, err)
	h.until("the edge misses the origin", func() bool {
		a := h.get("/status").body
		return strings.Contains(a, "Updates are delayed") && strings.Contains(a, "Available 100")
	})
}
