package edge_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
)

// fieldsOf splits a list field.
func fieldsOf(list string) []string {
	all := strings.Split(list, ",")
	for i := range all {
		all[i] = strings.ToLower(strings.TrimSpace(all[i]))
	}
	return all
}

// safelisted are the fields of an answer that scripts of other sites may always
// read (Fetch, CORS-safelisted response-header name), and those about CORS itself.
var safelisted = []string{"cache-control", "content-language", "content-length", "content-type", "expires",
	"last-modified", "pragma",
	"access-control-allow-origin", "access-control-expose-headers", "date", "server", "vary", "cache-status",
	"connection",
	"x-content-type-options", "content-security-policy", "referrer-policy", "x-robots-tag", "age"}

// TestCORSOfTheAPI: what a preflight allows is what the API has, and scripts of other
// sites may read every field that its answers bring.
func TestCORSOfTheAPI(t *testing.T) {
	t.Parallel()
	h := newLimitedFixture(t)
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	must(t, json.Unmarshal([]byte(h.get(fieldmark.PathOpenAPI).body), &doc))
	for path, item := range doc.Paths {
		if !strings.HasPrefix(path, fieldmark.PathPublic) && !strings.HasPrefix(path, fieldmark.PathLLMs) {
			continue
		}
		for method := range item {
			if method = strings.ToUpper(method); method == "PARAMETERS" {
				continue
			}
			a := h.do("OPTIONS", strings.ReplaceAll(path, "{id}", "x"), "", "Origin", "https://other.example",
				"Access-Control-Request-Method", method)
			if allowed := fieldsOf(a.header.Get("Access-Control-Allow-Methods")); a.status != 204 ||
				!slices.Contains(allowed, strings.ToLower(method)) {
				t.Errorf("preflight of %s %s: %d, allows %v", method, path, a.status, allowed)
			}
		}
	}
	bearer := h.key(0, 0)
	mission := `{"source":"s","externalId":"1","title":"A title"}`
	for _, tt := range []struct {
		method, path, body string
		header             []string
		want               int
	}{
		{"POST", fieldmark.PathMissions, mission, []string{"Authorization", bearer, "Idempotency-Key", "k"}, 201},
		// replayed
		{"POST", fieldmark.PathMissions, mission, []string{"Authorization", bearer, "Idempotency-Key", "k"}, 201},
		{"POST", fieldmark.PathMissions, mission, []string{"Authorization", bearer}, 200}, // deduplicated
		{"GET", fieldmark.PathMissions, "", []string{"Authorization", bearer}, 200},
		{"GET", fieldmark.PathMissions, "", nil, http.StatusUnauthorized},
		{"PUT", fieldmark.PathMissions, "", []string{"Authorization", bearer}, http.StatusMethodNotAllowed},
		{"POST", fieldmark.PathLLMs,
			`{"name":"Acme","niche":"tools","description":"Acme makes tools for people who build houses."}`, nil, 200},
		{"POST", fieldmark.PathLLMs, `{}`, nil, 422},
		{"POST", fieldmark.PathLLMsLint, "# Acme\n", []string{"Content-Type", "text/markdown"}, 200},
	} {
		a := h.do(tt.method, tt.path, tt.body,
			append([]string{"Origin", "https://other.example", "Content-Type", "application/json"}, tt.header...)...)
		if a.status != tt.want || a.header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s %s: %d, allowed for %q; want %d for *: %.200s", tt.method, tt.path, a.status,
				a.header.Get("Access-Control-Allow-Origin"), tt.want, a.body)
		}
		exposed := append(fieldsOf(a.header.Get("Access-Control-Expose-Headers")), safelisted...)
		for name := range a.header {
			if !slices.Contains(exposed, strings.ToLower(name)) {
				t.Errorf("%s %s: %s is not exposed", tt.method, tt.path, name)
			}
		}
	}
}

// TestEarlyDataOfProxies: a proxy in front says that it received a request in early data. One
// that may change something is refused before an origin sees it (RFC 8470, 5.2).
func TestEarlyDataOfProxies(t *testing.T) {
	h := newFixture(t)
	h.brand("acme", "Acme", 300)
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		h.wantProblem(h.do(method, "/api/public/v1/missions", "{}", "Early-Data", "1"), http.StatusTooEarly,
			fieldmark.CodeTooEarly)
	}
	h.until("a badge is sent in early data", func() bool {
		return h.get("/api/badge/acme", "Early-Data", "1").status == http.StatusOK
	})
	if a := h.do("POST", "/api/public/v1/missions", "{}"); a.status != http.StatusUnauthorized {
		t.Errorf("without early data: %d", a.status)
	}
}
