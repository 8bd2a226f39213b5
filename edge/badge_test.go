package edge_test

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"image/png"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/edge/badge"
)

// newBadgeFixture is a fixture with one brand that has a score and one that has none.
func newBadgeFixture(t *testing.T, changes ...func(*edge.Config)) *fixture {
	h := newFixture(t, changes...)
	h.brand("acme", "Acme & Söhne <x>", 300)
	h.brand("young", "Young", -1)
	h.catchUp()
	return h
}

func TestBadgeForms(t *testing.T) {
	h := newBadgeFixture(t)
	for path, kind := range map[string]string{
		"/api/badge/acme": "image/svg+xml; charset=utf-8",
		"/api/badge/acme.svg?style=card&theme=dark":          "image/svg+xml; charset=utf-8",
		"/api/badge/acme?label=Our%20score&cacheSeconds=600": "image/svg+xml; charset=utf-8",
		"/api/badge/acme.json":                               "application/json",
		"/api/badge/acme.json?lang=ar":                       "application/json",
		"/api/badge/acme.png":                                "image/png",
		"/api/badge/acme.png?scale=3&style=seal":             "image/png",
		"/api/badge/young.png?scale=2&label=Наш":             "image/png",
		"/api/badge/acme/embed":                              "application/json",
	} {
		a := h.get(path)
		if a.status != 200 || a.header.Get("Content-Type") != kind {
			t.Errorf("%s: %d %s %s", path, a.status, a.header.Get("Content-Type"), a.body)
		}
		for name, want := range map[string]string{
			"Content-Security-Policy":      "default-src 'none'; style-src 'unsafe-inline'; sandbox",
			"X-Content-Type-Options":       "nosniff",
			"Cross-Origin-Resource-Policy": "cross-origin",
			"Access-Control-Allow-Origin":  "*",
			"Timing-Allow-Origin":          "*",
			"Set-Cookie":                   "",
		} {
			if got := a.header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		if a.header.Get("Cache-Control") == "" {
			t.Errorf("%s: no Cache-Control", path)
		}
		if strings.Contains(path, "embed") {
			continue
		}
		etag := a.header.Get("Etag")
		again := h.get(path, "If-None-Match", etag)
		if again.status != 304 || again.body != "" || again.header.Get("Etag") != etag ||
			again.header.Get("Cache-Control") != a.header.Get("Cache-Control") {
			t.Errorf("%s: revalidated with %s: %d %q %v", path, etag, again.status, again.body, again.header)
		}
		if head := h.do("HEAD", path, ""); head.status != 200 || head.body != "" ||
			head.header.Get("Content-Length") != fmt.Sprint(len(a.body)) {
			t.Errorf("%s: HEAD %d %q, Content-Length %s", path, head.status, head.body,
				head.header.Get("Content-Length"))
		}
	}
	var e badge.Endpoint
	must(t, json.Unmarshal([]byte(h.get("/api/badge/acme.json").body), &e))
	if e.SchemaVersion != 1 || e.Label != "GEO-ready" || e.Message != "Grade A · 100" || e.Score == nil ||
		e.Updated == nil ||
		e.Page != h.base+"/brands/acme" {
		t.Errorf("endpoint: %+v", e)
	}
	m, err := png.Decode(strings.NewReader(h.get("/api/badge/acme.png?scale=2").body))
	must(t, err)
	if size := m.Bounds().Size(); size.X != 2*badge.Width || size.Y != 2*badge.Height {
		t.Errorf("PNG at 2x: %v", size)
	}
}

// TestBadgeVocabulary: an invalid parameter is refused in the requested format, with an
// explanation.
func TestBadgeVocabulary(t *testing.T) {
	h := newBadgeFixture(t)
	for query, words := range map[string]string{
		"style=round":         "unknown style; known are pill",
		"theme=pink":          "unknown theme; known are auto, light, dark, mono",
		"lang=tlh":            "unknown lang; known are en",
		"animate=2":           "unknown animate",
		"font=comic":          "unknown font",
		"soft=yes":            "unknown soft",
		"cacheSeconds=59":     "cacheSeconds is a number from 60 to 86400",
		"cacheSeconds=86401":  "cacheSeconds is a number from 60 to 86400",
		"cacheSeconds=1e3":    "cacheSeconds is a number from 60 to 86400",
		"label=" + long:       "label has 41 characters; at most 40",
		"theme=pink&theme=":   "unknown theme",
		"style=%22%3E%3Cscri": "unknown style",
	} {
		a := h.get("/api/badge/acme?" + query)
		var doc struct {
			Title string `xml:"title"`
		}
		if err := xml.Unmarshal([]byte(a.body), &doc); err != nil || a.status != 400 ||
			!strings.Contains(doc.Title, words) {
			t.Errorf("%s: %d %q (%v), want 400 and %q", query, a.status, doc.Title, err, words)
		}
		if a.header.Get("X-Badge-Status") != "invalid" || a.header.Get("Cache-Control") != "public, max-age=60" ||
			a.header.Get("Cross-Origin-Resource-Policy") != "cross-origin" {
			t.Errorf("%s: head %v", query, a.header)
		}
		if p := h.get("/api/badge/acme.png?" + query); p.status != 400 || p.header.Get("Content-Type") != "image/png" {
			t.Errorf("%s as PNG: %d %s", query, p.status, p.header.Get("Content-Type"))
		}
		h.wantProblem(h.get("/api/badge/acme.json?"+query), 400, "invalid_parameter")
	}
	for _, query := range []string{"scale=4", "scale=0", "scale=1.5", "label=%D7%A9"} {
		if a := h.get("/api/badge/acme.png?" + query); a.status != 400 {
			t.Errorf("%s as PNG: %d", query, a.status)
		}
	}
}

var long = strings.Repeat("x", badge.MaxLabel+1)

// TestBadgeKey: one picture is one cache entry, whatever else the address contains.
func TestBadgeKey(t *testing.T) {
	h := newBadgeFixture(t)
	for first, same := range map[string][]string{
		"/api/badge/acme?style=card&theme=dark": {
			"/api/badge/acme?theme=dark&style=card", "/api/badge/acme.svg?style=card&theme=dark&utm_source=x&v=2",
			"/api/badge/acme?style=card&theme=dark&theme=light",
			"/api/badge/acme?style=card&theme=dark&animate=0&font=text&lang=en&label=&scale=3",
			"/api/badge/acme?style=card&theme=dark&cacheSeconds=90&soft=1",
		},
		"/api/badge/acme": {"/api/badge/acme.svg", "/api/badge/acme?utm_source=y",
			"/api/badge/acme?style=pill&theme=auto", "/api/badge/acme?"},
		"/api/badge/acme?style=flat":          {"/api/badge/acme?style=flat&theme=dark&animate=1"},
		"/api/badge/acme.png?scale=2":         {"/api/badge/acme.png?scale=2&cacheSeconds=60&x=1"},
		"/api/badge/acme.json?lang=de":        {"/api/badge/acme.json?lang=de&style=card&theme=mono&font=outline"},
		"/api/badge/acme.png?style=seal&x=11": {"/api/badge/acme.png?style=seal&font=outline&scale=1"},
	} {
		want := h.get(first)
		for _, path := range same {
			h.until(path+" is a hit", func() bool { return h.get(path).header.Get("Cache-Status") == "fieldmark; hit" })
			if a := h.get(path); a.body != want.body || a.header.Get("Etag") != want.header.Get("Etag") {
				t.Errorf("%s is not %s", path, first)
			}
		}
	}
	if a := h.get("/api/badge/acme?cacheSeconds=900"); a.header.Get(
		"Cache-Control") != "public, max-age=900, s-maxage=900, stale-while-revalidate=86400, stale-if-error=604800" {
		t.Errorf("cacheSeconds=900: %q", a.header.Get("Cache-Control"))
	}
	for _, path := range []string{"/api/badge/acme?label=One", "/api/badge/acme.json?label=One",
		"/api/badge/acme.png?label=One"} {
		h.get(path)
		if a := h.get(path); a.header.Get("Cache-Status") != "fieldmark; fwd=miss" {
			t.Errorf("%s is kept: %q", path, a.header.Get("Cache-Status"))
		}
	}
}

// Proxies of pictures show nothing but an answer of 200, and keep it longest.
func TestBadgeProxies(t *testing.T) {
	h := newBadgeFixture(t)
	const (
		camo    = "github-camo (876de43e)"
		browser = "Mozilla/5.0 (X11; Linux x86_64) Chrome/156.0"
	)
	for _, tt := range []struct {
		path, agent, via string
		status           int
		said             string // X-Badge-Status
	}{
		{"/api/badge/nobody", browser, "", 404, "unknown"},
		{"/api/badge/nobody", camo, "", 200, "unknown"},
		{"/api/badge/nobody", "Mozilla/5.0 (via ggpht.com GoogleImageProxy)", "", 200, "unknown"},
		{"/api/badge/nobody", browser, "camo (go-camo)", 200, "unknown"},
		{"/api/badge/nobody?soft=1", browser, "", 200, "unknown"},
		{"/api/badge/nobody?soft=0", browser, "", 404, "unknown"},
		{"/api/badge/nobody.png", camo, "", 200, "unknown"},
		{"/api/badge/NOT%20a%20slug", camo, "", 200, "unknown"},
		{"/api/badge/acme?style=x", camo, "", 200, "invalid"},
		{"/api/badge/nobody.json?soft=1", camo, "", 404, ""},
		{"/api/badge/acme", camo, "", 200, ""},
	} {
		a := h.get(tt.path, "User-Agent", tt.agent, "Via", tt.via)
		if a.status != tt.status || a.header.Get("X-Badge-Status") != tt.said {
			t.Errorf("%s for %s %s: %d %q, want %d %q", tt.path, tt.agent, tt.via, a.status,
				a.header.Get("X-Badge-Status"), tt.status, tt.said)
		}
		if tt.said != "" && !strings.Contains(a.header.Get("Content-Type"), "image/") {
			t.Errorf("%s for %s: %s", tt.path, tt.agent, a.header.Get("Content-Type"))
		}
	}
	short := "public, max-age=60, s-maxage=300, stale-while-revalidate=86400, stale-if-error=604800"
	for _, path := range []string{"/api/badge/acme", "/api/badge/acme?style=card"} {
		if a := h.get(path, "User-Agent", camo); a.header.Get("Cache-Control") != short {
			t.Errorf("%s for camo: %q", path, a.header.Get("Cache-Control"))
		}
	}
}

func TestBadgeEmbed(t *testing.T) {
	h := newBadgeFixture(t)
	var e badge.Embed
	must(t, json.Unmarshal([]byte(h.get("/api/badge/acme/embed?style=card&x=y").body), &e))
	if e.Image != h.base+"/api/badge/acme?style=card" || e.Page != h.base+"/verify/acme" ||
		e.Alt != "GEO readiness of Acme & Söhne <x>" || len(e.Snippets) != 7 {
		t.Errorf("embed: %+v", e)
	}
	for _, s := range e.Snippets {
		if a := h.get("/api/badge/acme/embed?style=card&format=" + s.Format); a.body != s.Text+"\n" ||
			a.header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("format=%s: %s %s", s.Format, a.header.Get("Content-Type"), a.body)
		}
	}
	// The page of the brand and the builder hand out the same text.
	must(t, json.Unmarshal([]byte(h.get("/api/badge/acme/embed").body), &e))
	for path, formats := range map[string][]string{"/brands/acme": {"html", "markdown"},
		"/badges?slug=acme": {"html", "markdown", "picture"}} {
		page := h.get(path).body
		for _, format := range formats {
			if s, ok := e.Snippet(format); !ok || strings.Contains(s.Text, "\n") ||
				!strings.Contains(html.UnescapeString(page), s.Text) {
				t.Errorf("%s does not hand out the %s of the API: %q", path, format, s.Text)
			}
		}
	}
	for accept, want := range map[string]string{
		"text/html,application/xhtml+xml,*/*;q=0.8": "text/html; charset=utf-8",
		"text/markdown":               "text/markdown; charset=utf-8",
		"text/x-rst":                  "text/x-rst; charset=utf-8",
		"*/*":                         "application/json",
		"application/json, text/html": "application/json",
		// Weight 0 is not acceptable (RFC 9110, section 12.4.2).
		"text/html;q=0, text/markdown":                "text/markdown; charset=utf-8",
		"application/json; q=0.000, text/html; Q=0.1": "text/html; charset=utf-8",
		"text/html;level=1;q=0":                       "application/json",
		"text/html;q=none, text/x-rst":                "text/x-rst; charset=utf-8",
	} {
		if a := h.get("/api/badge/acme/embed", "Accept", accept); a.header.Get("Content-Type") != want ||
			!strings.HasPrefix(a.header.Get("Vary"), "Accept") {
			t.Errorf("Accept %s: %s, Vary %s", accept, a.header.Get("Content-Type"), a.header.Get("Vary"))
		}
	}
	h.wantProblem(h.get("/api/badge/nobody/embed"), 404, "not_found")
	h.wantProblem(h.get("/api/badge/acme/embed?format=pdf"), 400, "invalid_parameter")
	h.wantProblem(h.get("/api/badge/acme/embed?style=x"), 400, "invalid_parameter")
}

// A change of the score is seen in every look, long before any entry expires.
func TestBadgeFollowsTheScore(t *testing.T) {
	h := newBadgeFixture(t)
	paths := []string{"/api/badge/acme", "/api/badge/acme?theme=dark", "/api/badge/acme?style=card&lang=ja",
		"/api/badge/acme.json", "/api/badge/acme.png?scale=2", "/api/badge/acme?label=x"}
	before := map[string]string{}
	for _, path := range paths {
		before[path] = h.get(path).body
	}
	h.brand("acme", "Acme", 20)
	for _, path := range paths {
		h.until(path+" shows the change", func() bool { return h.get(path).body != before[path] })
	}
}
