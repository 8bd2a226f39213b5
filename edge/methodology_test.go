package edge_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

// cardSignal is what the published method must repeat of the scorecard.
type cardSignal struct {
	ID      string `json:"id"`
	Points  int    `json:"points"`
	Combine string `json:"combine"`
	Parts   any    `json:"parts"`
}

// TestMethodologyAfterStart: a request before the node has loaded its module does not
// prevent the next one from getting the document.
func TestMethodologyAfterStart(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	paths := []string{fieldmark.PathMethodology, "/methodology"}
	var early [2]int
	ask := interceptor(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == fieldmark.PathInternalModules && early[0] == 0 {
			for i, path := range paths {
				early[i] = h.get(path).status
			}
		}
		return false
	})
	h.intercept.Store(&ask)
	h.startEdge()
	for i, path := range paths {
		if a := h.get(path); early[i] != http.StatusServiceUnavailable || a.status != http.StatusOK {
			t.Errorf("%s: %d before the module is loaded and %d after, want 503 and 200", path, early[i], a.status)
		}
	}
}

// TestMethodology: the published method repeats the scorecard of the active version, with a
// reason for every number. A database from before version 2.0 keeps 1.0 active, with its
// reasons.
func TestMethodology(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	checkMethodology(t, h, "../wasm/geo/geo-readiness-2.json", `id="visibility"`, `id="s-geo"`, "fresh.recent",
		"at most 30", "no score", `id="contest"`, "r = 0.009", "3 changed the ranking",
		"300,000 domains",
		"1,702 citations", "ISO 5725-6", "evidence: reproduced", "effort: weeks", "Reported, not scored",
		"effect not proven")
	old := geo.Modules()[0]
	ref, err := wasm.Ref(old)
	must(t, err)
	must(t, h.service.Modules.ActivateBytes(t.Context(), ref, old))
	h.until("version 1.0 is active", func() bool {
		return strings.Contains(h.get("/methodology").body, ">geo-readiness 1.0.0<")
	})
	checkMethodology(t, h, "../wasm/geo/geo-readiness-1.json", "730 gives 0.2", "oai-searchbot", `id="s-geo"`)

	h.wantProblem(h.get(fieldmark.PathMethodology+"?x=1"), 400, fieldmark.CodeInvalidParameter)
	for _, path := range []string{"/methodology", fieldmark.PathMethodology} {
		if again := h.get(path, "If-None-Match",
			h.get(path).header.Get("Etag")); again.status != http.StatusNotModified {
			t.Errorf("%s again: %d", path, again.status)
		}
	}
}

// checkMethodology compares the document and the page with a scorecard; the page must
// contain the given texts.
func checkMethodology(t *testing.T, h *fixture, cardFile string, texts ...string) {
	t.Helper()
	a := h.get(fieldmark.PathMethodology)
	var doc struct {
		Methodology fieldmark.Methodology
		Rules       fieldmark.MethodRules
		Manifest    struct {
			Components []struct {
				ID      string
				Weight  int
				Signals []cardSignal
			}
		}
		Reasons struct {
			Components []fieldmark.MethodReason
			Signals    []struct {
				cardSignal
				Why     string
				Sources []string
			}
			Gates []struct {
				ID   string
				When any
				Why  string
			}
			Sources []fieldmark.MethodSource
		}
	}
	if err := json.Unmarshal([]byte(a.body), &doc); err != nil || a.status != 200 {
		t.Fatalf("methodology: %d, %v", a.status, err)
	}
	file, err := os.ReadFile(cardFile)
	must(t, err)
	var card struct {
		Components []struct{ Signals []cardSignal }
		Gates      []struct {
			ID   string
			When any
		}
	}
	must(t, json.Unmarshal(file, &card))
	want, got := map[string]cardSignal{}, map[string]cardSignal{}
	points := map[string]int{}
	for _, c := range doc.Manifest.Components {
		for _, s := range c.Signals {
			points[s.ID] = s.Points
		}
	}
	for _, c := range card.Components {
		for _, s := range c.Signals {
			want[s.ID] = s
		}
	}
	sources := map[string]bool{}
	for _, s := range doc.Reasons.Sources {
		sources[s.ID] = true
	}
	for _, s := range doc.Reasons.Signals {
		s.Points = points[s.ID]
		got[s.ID] = s.cardSignal
		if s.Why == "" {
			t.Errorf("%s has no reason", s.ID)
		}
		for _, id := range s.Sources {
			if !sources[id] {
				t.Errorf("%s rests on %q, which is no source", s.ID, id)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("published curves and points differ from the scorecard (-card +published):\n%s", diff)
	}
	for i, g := range card.Gates {
		if p := doc.Reasons.Gates[i]; p.ID != g.ID || !cmp.Equal(p.When, g.When) || p.Why == "" {
			t.Errorf("gate %s is published as %+v", g.ID, p)
		}
	}
	total := 0
	for i, c := range doc.Manifest.Components {
		total += c.Weight
		if doc.Reasons.Components[i].ID != c.ID {
			t.Errorf("component %s is explained as %s", c.ID, doc.Reasons.Components[i].ID)
		}
	}
	if total != 100 || len(doc.Rules.Grades) != 5 || doc.Rules.Visibility.Weights["mentionRate"] != 35 {
		t.Errorf("weights come to %d, rules %+v", total, doc.Rules)
	}

	page := h.get("/methodology")
	if page.status != http.StatusOK || !strings.HasPrefix(page.header.Get("Content-Type"), "text/html") {
		t.Fatalf("page: %d %s", page.status, page.header.Get("Content-Type"))
	}
	for id := range want {
		if !strings.Contains(page.body, id) {
			t.Errorf("the page does not name %s", id)
		}
	}
	for _, text := range append(texts, doc.Methodology.Version) {
		if !strings.Contains(page.body, text) {
			t.Errorf("the page does not say %q", text)
		}
	}
}

// TestWords: no page, advice or text claims an effect that no study has shown.
func TestWords(t *testing.T) {
	t.Parallel()
	claims := regexp.MustCompile(`(?i)\b(predicts|drives|boosts|guarantees|will be cited|proven)\b`)
	denied := regexp.MustCompile(`(?i)not proven|proven control`)
	for _, pattern := range []string{"site/templates/*", "site/text/*", "site/*.go", "developer/guides/*.md",
		"../origin/owner/templates/*", "../origin/owner/*.go", "mcp/*.go", "mcp/*.json",
		"badge/*.go", "method-*.json",
		"../wasm/geo/*.json",
		"../wasm/scoring/*.go", "../origin/audit/*.go", "../origin/llms/*.go", "../origin/admin/templates/*",
		"../cmd/fieldmark/author/*.go", "../deploy/docs/*.md", "../README.md"} {
		files, err := filepath.Glob(pattern)
		must(t, err)
		if len(files) == 0 {
			t.Errorf("no file matches %s", pattern)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := os.ReadFile(name)
			must(t, err)
			for i, line := range strings.Split(string(text), "\n") {
				if found := claims.FindString(denied.ReplaceAllString(line, "")); found != "" {
					t.Errorf("%s:%d says %q", name, i+1, found)
				}
			}
		}
	}
}
