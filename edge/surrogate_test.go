package edge_test

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge"
)

// keyedRequests has, for each route of a node, GET requests and the surrogate keys of their
// responses; private means a response that no CDN may keep, which has none.
var keyedRequests = map[string]map[string]string{
	"/api/badge/": {
		"/api/badge/acme": "brand-acme module all", "/api/badge/acme.svg?theme=dark": "brand-acme module all",
		"/api/badge/acme.png": "brand-acme module all", "/api/badge/acme.json": "brand-acme module all",
		"/api/badge/acme?style=flat&label=our%20score": "brand-acme module all",
		"/api/badge/acme?claimed=1":                    "brand-acme module all",
		"/api/badge/acme?cacheSeconds=600":             "brand-acme module all",
		"/api/badge/acme/embed":                        "brand-acme module all",
		"/api/badge/absent":                            "brand-absent module all",
		"/api/badge/formerly":                          "brand-formerly brand-acme all",
		"/api/badge/acme?style=none":                   "module all", // an error, of no brand
		"/api/badge/acme/probe?nonce=12345678":         private,
	},
	"/api/card/": {"/api/card/acme.png": "brand-acme module all", "/api/card/absent.png": private},
	"/oembed":    {"/oembed?url={base}/brands/acme": "brand-acme module all"},
	"/verify/":   {"/verify/acme": private, "/verify/formerly": private},
	"/api/v1/score/": {
		"/api/v1/score/acme": "brand-acme module all", "/api/v1/score/acme/history": "brand-acme module all",
		"/api/v1/score/acme?asOf=2026-01-01": "brand-acme module all", "/api/v1/score/absent": private,
		"/api/v1/score/acme?advice=1&owner=1": "brand-acme module all",
		"/api/v1/score/formerly":              "brand-formerly brand-acme all",
	},
	"/api/v1/log":         {"/api/v1/log": "all"},
	"/api/v1/log/":        {"/api/v1/log/1/checkpoint": "all", "/api/v1/log/1/tile/0/000.p/1": "all"},
	"/api/v1/leaderboard": {"/api/v1/leaderboard": "board all", "/api/v1/leaderboard?limit=1": "board all"},
	"/api/v1/methodology": {"/api/v1/methodology": "module all"},
	"/methodology":        {"/methodology": "module all"},
	"/api/v1/validity":    {"/api/v1/validity": "all"},
	"/api/v1/modules/":    {"/api/v1/modules/{module}": "all", "/api/v1/modules/absent": private},
	"/":                   {"/": "board all", "/?q=acme": "board all"},
	"/niches":             {"/niches": "board all"},
	"/niches/":            {"/niches/tools": "board all", "/niches/absent": private},
	"/compare":            {"/compare?brands=acme": private},
	"/brands/": {
		"/brands/acme": "brand-acme module all", "/brands/acme/feed.atom": "brand-acme module all",
		"/brands/acme/recompute": "brand-acme module all", "/brands/absent/recompute": private,
		"/brands/acme/contest": private, "/brands/absent": private,
		"/brands/formerly": "brand-formerly brand-acme all",
	},
	"/static/":                   {"/static/{static}": "all"},
	"/badges":                    {"/badges": private, "/badges?q=acme": private},
	"/developers":                {"/developers": "all"},
	"/developers/playground":     {"/developers/playground": "all"},
	"/developers/changelog.atom": {"/developers/changelog.atom": "all"},
	"/developers/": {"/developers/guides/quick-start": "all", "/developers/absent": private,
		"/developers/python/fieldmark.py": private},
	"/problems":            {"/problems": "all"},
	"/problems/":           {"/problems/not_found": "all"},
	"/about":               {"/about": "all"},
	"/bot":                 {"/bot": "all"},
	"/status":              {"/status": private},
	"/robots.txt":          {"/robots.txt": "all"},
	"/llms.txt":            {"/llms.txt": "all"},
	"/favicon.ico":         {"/favicon.ico": "all"},
	"/favicon.svg":         {"/favicon.svg": "all"},
	"/sitemap.xml":         {"/sitemap.xml": "board all"},
	"/sitemap-":            {"/sitemap-1.xml": "board all"},
	"/readyz":              {"/readyz": private},
	"/llms-txt":            {"/llms-txt": "all"},
	"/claim":               {"/claim": private},
	"/check":               {"/check": private},
	"/check/":              {"/check/absent": private},
	"/mcp":                 {"/mcp": private},
	"/api/v1/scores/batch": {"/api/v1/scores/batch": private},
}

const private = ""

// unkeyedRoutes are passed on to the origin, whose responses are not purged by key, or answer
// no GET request.
var unkeyedRoutes = []string{"/api/public/", "/api/v1/llms-txt", "/api/v1/llms-txt/lint", "/api/v1/brands/",
	"/api/v1/checks", "/api/v1/checks/", "/api/v1/playground/",
	"/.well-known/http-message-signatures-directory", "/internal/",
	"/developers/access", "/developers/access/", "/api/v1/scores", "/api/v1/dumps",
	"/api/v1/visibility/studies/"}

var keyPattern = regexp.MustCompile(`^[a-z0-9-]{1,69}$`)

// TestSurrogateKeys: every cacheable response names what a CDN purges it by, in both fields,
// and no private response does.
func TestSurrogateKeys(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.brand("formerly", "Acme", 300)
	_, err := h.service.Brands.Rename(t.Context(), "formerly", "acme")
	must(t, err)
	h.catchUp()
	h.until("acme is known by its slug", func() bool { return h.get("/api/v1/score/formerly").status == 301 })

	h.startLog()
	h.until("the public log has begun", func() bool { return h.get("/api/v1/log/1/tile/0/000.p/1").status == 200 })

	static := regexp.MustCompile(`/static/([^"]+\.css)`).FindStringSubmatch(h.get("/about").body)
	digest := regexp.MustCompile(`sha256:[0-9a-f]{64}`).FindStringSubmatch(h.get("/api/v1/methodology").body)
	fill := strings.NewReplacer("{base}", h.base, "{static}", static[1], "{module}", digest[0])
	for _, path := range edge.RoutePaths(h.edge) {
		if keyedRequests[path] == nil && !slices.Contains(unkeyedRoutes, path) {
			t.Errorf("the route %s is in neither table of this test", path)
		}
	}
	for _, requests := range keyedRequests {
		for _, request := range slices.Sorted(maps.Keys(requests)) {
			want := requests[request]
			for range 2 { // made, then from the cache
				wantKeys(t, request, h.get(fill.Replace(request)), want)
			}
		}
	}
}

// notPurgedByAddress are addresses without a query whose key has too many addresses to list, or whose
// response varies by more than Accept-Encoding.
var notPurgedByAddress = []string{"/api/badge/acme/embed", "/niches/tools", "/sitemap-1.xml"}

// TestAddressesOfKeys: the addresses of a key are those of every response with it,
// and each is one that a cache may keep in one variant, as deploy/nginx does.
func TestAddressesOfKeys(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.brand("acme", "Acme", 300)
	h.catchUp()
	listed := map[string]bool{}
	for _, key := range []string{"brand-acme", "board", "module"} {
		for _, path := range fieldmark.CDNAddresses(key) {
			listed[path] = true
			a := h.get(path)
			if a.status != http.StatusOK || !slices.Contains(strings.Fields(a.header.Get("Surrogate-Key")), key) {
				t.Errorf("%s: %d with %q, want the key %s", path, a.status, a.header.Get("Surrogate-Key"), key)
			}
			if vary := a.header.Get("Vary"); vary != "" && vary != "Accept-Encoding" {
				t.Errorf("%s varies by %s", path, vary)
			}
		}
	}
	for _, requests := range keyedRequests {
		for path, keys := range requests {
			purgeable := strings.HasPrefix(keys, "brand-acme") || strings.HasPrefix(keys, "board") ||
				strings.HasPrefix(keys, "module")
			known := listed[path] || slices.Contains(notPurgedByAddress, path)
			if purgeable && !known && !strings.Contains(path, "?") {
				t.Errorf("%s has %s and is not purged by address", path, keys)
			}
		}
	}
}

func wantKeys(t *testing.T, request string, a answer, want string) {
	t.Helper()
	got := strings.Join(a.header.Values("Surrogate-Key"), "|")
	if got != want || strings.Join(a.header.Values("Cache-Tag"), "|") != strings.ReplaceAll(want, " ", ",") {
		t.Errorf("%s: %d, Surrogate-Key %q and Cache-Tag %q, want %q", request, a.status, got,
			a.header.Values("Cache-Tag"), want)
	}
	public := strings.HasPrefix(a.header.Get("Cache-Control"), "public") && a.status != http.StatusNotModified
	if public != (want != private) {
		t.Errorf("%s: %d, Cache-Control %q with the keys %q", request, a.status, a.header.Get("Cache-Control"), want)
	}
	for key := range strings.FieldsSeq(got) {
		if !keyPattern.MatchString(key) {
			t.Errorf("%s: the key %q", request, key)
		}
	}
}
