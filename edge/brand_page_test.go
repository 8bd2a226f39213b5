package edge_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
)

// TestBrandPageParts: a page shows what engines can do with a site, what the score is
// worth and what was read, and why there is no score.
func TestBrandPageParts(t *testing.T) {
	h := newFixture(t)
	h.brand("acme", "Acme", 300)
	sampled := factsWith(300)
	sampled.Sample = &fieldmark.Sample{Seed: strings.Repeat("0a", 16), Population: 40, Pages: []fieldmark.SampledPage{
		{URL: "https://a.example/", Role: fieldmark.PageHome, Status: 200, Hash: strings.Repeat("5c", 32)}}}
	sampled.Profiles = []fieldmark.Profile{{URL: "https://social.example/acme", State: fieldmark.ProfileRefuted,
		Reason: "no link back"}}
	h.brand("shut", "Shut", 300)
	shut := factsWith(300)
	for i := range shut.Facts {
		if f := &shut.Facts[i]; f.ID != "home.reachable" {
			f.State, f.Value = fieldmark.Unknown, 0
		}
	}
	for slug, facts := range map[fieldmark.Slug]fieldmark.Facts{"acme": sampled, "shut": shut} {
		_, err := h.service.Brands.PutFacts(t.Context(), slug, facts)
		must(t, err)
	}
	h.until("both audits are known", func() bool {
		return strings.Contains(h.get("/brands/acme").body, "no link back") && h.score("shut").Score == nil
	})
	page := h.get("/brands/acme").body
	for _, want := range []string{
		`id="eligible">Eligible <span class="answer k-yes">Yes`,
		"This measures good practice. Its effect on AI answers is not proven.",
		"No measured answers yet.", "fieldmark audit https://acme.example/ --seed " + strings.Repeat("0a", 16),
		"<code>5c5c5c5c5c5c</code>", `<span class="answer k-refuted">does not lead back`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of acme lacks %q", want)
		}
	}
	page = h.get("/brands/shut").body
	for _, want := range []string{"Not enough could be measured", "robots.txt could not be read.",
		`id="eligible">Eligible <span class="answer k-unknown">Unknown`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of shut lacks %q", want)
		}
	}
	if strings.Contains(page, `id="practice"`) {
		t.Error("the page of shut shows a score")
	}
}

// TestPagesAfterModulePurge: what is made from a score and from annotations, which no module changes,
// is served and cached after a purge of everything that a module has made.
func TestPagesAfterModulePurge(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.brand("acme", "Acme", 300)
	h.until("the brand is known", func() bool { return h.get("/brands/acme").status == http.StatusOK })
	cached := func(path string) func() bool {
		return func() bool {
			a := h.get(path)
			if a.status != http.StatusOK {
				t.Fatalf("%s: %d, want 200", path, a.status)
			}
			return a.header.Get("Cache-Status") == "fieldmark; hit"
		}
	}
	paths := []string{"/brands/acme", "/api/badge/acme?claimed=1"}
	for _, path := range paths {
		h.until(path+" is cached", cached(path))
	}
	for _, hard := range []bool{false, true} {
		_, err := h.service.Purge(t.Context(), "test",
			fieldmark.PurgeRequest{Tags: []fieldmark.Tag{fieldmark.TagModule}, Hard: hard})
		must(t, err)
		h.catchUp()
		for _, path := range paths {
			h.until(path+" is cached again", cached(path))
		}
	}
}
