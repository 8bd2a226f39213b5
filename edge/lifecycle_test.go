package edge_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
)

// forms are the addresses of everything there is of a brand.
func forms(slug string) []string {
	return []string{"/api/badge/" + slug, "/api/badge/" + slug + ".png", "/api/badge/" + slug + "/embed",
		"/api/v1/score/" + slug,
		"/api/v1/score/" + slug + "/history", "/api/v1/score/" + slug + "?asOf=" +
			time.Now().UTC().Format(time.DateOnly), "/brands/" + slug}
}

func TestRename(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.brand("acme", "Acme", 300)
	h.brand("other", "Other", 200)
	h.catchUp()
	digest := string(h.score("acme").FactsDigest)
	for _, path := range forms("acme") {
		if a := h.get(path); a.status != 200 {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	_, err := h.service.Brands.Rename(t.Context(), "acme", "acme-tools")
	must(t, err)
	_, err = h.service.Brands.SetAliases(t.Context(), "acme-tools", []fieldmark.Slug{"acme", "anvils"})
	must(t, err)
	h.until("the new slug is known", func() bool { return h.get("/api/v1/score/acme-tools").status == 200 })
	h.until("the alias redirects", func() bool { return h.get("/api/v1/score/anvils").status == 301 })
	h.catchUp()
	h.until("the old slug redirects", func() bool { return h.get("/api/badge/acme").status == 301 })
	redirects := func(when string) {
		t.Helper()
		for _, old := range []string{"acme", "anvils"} {
			for _, path := range append(forms(old), "/api/v1/score/"+old+"/facts/"+digest,
				"/api/badge/"+old+"?theme=dark") {
				want := strings.Replace(path, "/"+old, "/acme-tools", 1)
				a := h.get(path)
				if a.status != http.StatusMovedPermanently || a.header.Get("Location") != want {
					t.Errorf("%s, %s: %d to %q, want 301 to %s", when, path, a.status, a.header.Get("Location"), want)
				} else if there := h.get(want); there.status != 200 {
					t.Errorf("%s, %s: %d", when, want, there.status)
				}
			}
		}
		if got := says(h.listed("")); !strings.HasPrefix(got, "1 acme-tools") || strings.Contains(got, "1 acme;") {
			t.Errorf("%s the board says %s", when, got)
		}
	}
	redirects("after the change")
	h.startEdge()
	redirects("at a new node")

	// Back to the old slug, and the alias is given up.
	_, err = h.service.Brands.Rename(t.Context(), "acme-tools", "acme")
	must(t, err)
	_, err = h.service.Brands.SetAliases(t.Context(), "acme", nil)
	must(t, err)
	h.until("it is back", func() bool { return h.get("/api/v1/score/acme").status == 200 })
	for _, gone := range []string{"acme-tools", "anvils"} {
		h.until(gone+" is free again", func() bool { return h.get("/api/v1/score/"+gone).status == 404 })
	}
}

// TestRemovedBrandLeavesEveryCache takes a brand down, and makes another private, while three nodes have every
// format of both in their caches. It also checks the caches when the origin stops right
// after.
func TestRemovedBrandLeavesEveryCache(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, slug := range []fieldmark.Slug{"acme", "shy"} {
		h.brand(slug, "Acme", 300)
	}
	h.brand("other", "Other", 200)
	bases := []string{h.base}
	for range 2 {
		h.startEdge()
		bases = append(bases, h.base)
	}
	at := func(base, path string) answer {
		h.base = base
		return h.get(path)
	}
	digest, cursor := "", ""
	for _, base := range bases {
		h.base = base
		h.until("all three are ranked", func() bool { return h.listed("").Total == 3 })
		digest, cursor = string(h.score("acme").FactsDigest), h.listed("?limit=1").NextCursor
		for _, slug := range []string{"acme", "shy"} {
			for _, path := range append(forms(slug), "/api/v1/score/"+slug+"/facts/"+digest) {
				if a := at(base, path); a.status != 200 {
					t.Fatalf("%s: %d %s", path, a.status, a.body)
				}
			}
		}
	}
	must(t, h.service.Brands.Delete(t.Context(), "acme"))
	_, _, err := h.service.Brands.Put(t.Context(), fieldmark.Brand{Slug: "shy", Name: "Acme",
		URL: "https://shy.example/", Niche: "tools", Language: "en"})
	must(t, err)
	for _, base := range bases {
		h.base = base
		h.until("both are gone", func() bool {
			return h.get("/api/v1/score/acme").status == 404 && h.get("/api/v1/score/shy").status == 404 &&
				h.listed("").Total == 1
		})
	}
	gone := func(when string) {
		t.Helper()
		for _, base := range bases {
			for _, slug := range []string{"acme", "shy"} {
				for _, path := range append(forms(slug), "/api/v1/score/"+slug+"/facts/"+digest) {
					if a := at(base, path); a.status != 404 {
						t.Errorf("%s %s: %d, want 404", when, path, a.status)
					}
				}
			}
			if a := at(base, "/api/v1/leaderboard?limit=1&cursor="+cursor); a.status != 410 {
				t.Errorf("%s, a cursor into the old ranking: %d, want 410", when, a.status)
			}
		}
	}
	gone("after the change")
	h.down.Store(true)
	h.origin.CloseClientConnections()
	gone("with the origin away")
}
