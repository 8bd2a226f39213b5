package edge_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/valyala/fasthttp"
)

// decoded returns the body without its content encoding.
func decoded(t testing.TB, a answer) string {
	t.Helper()
	var plain []byte
	var err error
	switch coding := a.header.Get("Content-Encoding"); coding {
	case "":
		return a.body
	case "br":
		plain, err = fasthttp.AppendUnbrotliBytes(nil, []byte(a.body))
	case "zstd":
		plain, err = fasthttp.AppendUnzstdBytes(nil, []byte(a.body))
	case "gzip":
		var r *gzip.Reader
		if r, err = gzip.NewReader(strings.NewReader(a.body)); err == nil {
			plain, err = io.ReadAll(r)
		}
	default:
		t.Fatalf("an unknown coding: %s", coding)
	}
	must(t, err)
	return string(plain)
}

const browserCodings = "gzip, deflate, br, zstd"

// TestEncodings: own responses are sent in the encoding that the client prefers, once it
// was produced, and each encoding has a separate entity tag.
func TestEncodings(t *testing.T) {
	h := newHitFixture(t)
	css := "/static/" + between(h.get("/").body, "/static/site.", ".css")
	for _, tt := range []struct {
		path  string
		codes map[string]string // Accept-Encoding and what it gets
	}{
		{"/", map[string]string{browserCodings: "br", "gzip": "gzip", "zstd, gzip;q=0.5": "zstd",
			"br;q=0.1, gzip": "gzip", "identity, br;q=0.5": "", "gzip;q=0": ""}},
		{"/brands/acme", map[string]string{browserCodings: "br", "gzip": "gzip"}},
		{"/about", map[string]string{browserCodings: "br"}},
		{css, map[string]string{browserCodings: "br", "gzip": "gzip"}},
		{"/api/v1/score/acme", map[string]string{browserCodings: "gzip", "gzip": "gzip", "br": "",
			"gzip;q=0.5, identity": ""}},
		{"/api/v1/score/acme?owner=1", map[string]string{"gzip": "gzip"}},
		{"/api/v1/score/acme?advice=1", map[string]string{"gzip": "gzip"}},
		{"/api/badge/acme", map[string]string{browserCodings: ""}},
		{"/api/badge/acme?style=card", map[string]string{browserCodings: ""}},
		{"/api/badge/acme.json", map[string]string{browserCodings: ""}},
	} {
		plain := h.get(tt.path, "Accept-Encoding", "identity") // without one, the transport asks for gzip
		tag := plain.header.Get("Etag")
		varies := plain.header.Get("Vary") == "Accept-Encoding"
		if badge := strings.HasPrefix(tt.path, "/api/badge/"); varies == badge || tag == "" {
			t.Errorf("%s: Vary %q, Etag %s", tt.path, plain.header.Get("Vary"), tag)
		}
		for asks, want := range tt.codes {
			var a answer
			h.until(tt.path+" as accepted by "+asks, func() bool {
				a = h.get(tt.path, "Accept-Encoding", asks)
				return a.header.Get("Content-Encoding") == want
			})
			if got := decoded(t, a); got != plain.body || a.status != 200 {
				t.Errorf("%s for %q: %d, %d bytes after decoding, want the %d of the plain body", tt.path, asks,
					a.status, len(got), len(plain.body))
			}
			if want == "" {
				continue
			}
			if len(a.body) > len(plain.body)*3/4 {
				t.Errorf("%s as %s: %d of %d bytes", tt.path, want, len(a.body), len(plain.body))
			}
			coded := a.header.Get("Etag")
			suffix := map[string]string{"br": `-br"`, "gzip": `-gz"`, "zstd": `-zstd"`}[want]
			if coded != strings.TrimSuffix(tag, `"`)+suffix || a.header.Get("Vary") != "Accept-Encoding" {
				t.Errorf("%s as %s: Etag %s of %s, Vary %q", tt.path, want, coded, tag, a.header.Get("Vary"))
			}
			for held, same := range map[string]bool{tag: true, coded: true, `"other", W/` + coded: true,
				`"other"`: false} {
				b := h.get(tt.path, "Accept-Encoding", asks, "If-None-Match", held)
				if (b.status == 304) != same || same && b.header.Get("Etag") != strings.TrimPrefix(held,
					`"other", W/`) || b.header.Get("Content-Encoding") != "" && same {
					t.Errorf("%s for %q with %s: %d, Etag %s, %s; want 304: %v", tt.path, asks, held, b.status,
						b.header.Get("Etag"), b.header.Get("Content-Encoding"), same)
				}
			}
			if b := h.get(tt.path, "Accept-Encoding", "identity", "If-None-Match", coded); b.status != 200 ||
				b.header.Get("Content-Encoding") != "" {
				t.Errorf("%s for a reader without codings who has %s: %d %s", tt.path, coded, b.status,
					b.header.Get("Content-Encoding"))
			}
			// encoded again if the entry was replaced
			h.until("HEAD of "+tt.path+" for "+asks+" names the same encoding", func() bool {
				b := h.do("HEAD", tt.path, "", "Accept-Encoding", asks)
				return b.header.Get("Content-Length") == strconv.Itoa(len(a.body)) && b.header.Get("Etag") == coded &&
					b.body == ""
			})
		}
	}
	before := h.get("/api/v1/score/acme", "Accept-Encoding", "gzip")
	h.brand("acme", "Acme again", 400)
	h.until("the change is seen compressed", func() bool {
		a := h.get("/api/v1/score/acme", "Accept-Encoding", "gzip")
		return a.header.Get("Content-Encoding") == "gzip" && strings.Contains(decoded(t, a), "Acme again") &&
			a.header.Get("Etag") != before.header.Get("Etag")
	})
}

// TestFirstResponseIsCompressed: the first client of a page gets it compressed too, and so does the
// client of a page that is rendered for one request.
func TestFirstResponseIsCompressed(t *testing.T) {
	t.Parallel()
	h := newHitFixture(t)
	css := "/static/" + between(h.get("/").body, "/static/site.", ".css")
	for _, path := range []string{"/", "/brands/acme", "/about", "/sitemap.xml", "/developers", "/api/v1/leaderboard",
		css} {
		h.startEdge() // which has rendered nothing yet
		h.until("it can answer "+path, func() bool {
			return h.edge.Ready() == nil &&
				h.get("/api/v1/score/acme").status == 200
		})
		first := h.get(path, "Accept-Encoding", browserCodings)
		plain := h.get(path, "Accept-Encoding", "identity")
		got := first.header.Get("Content-Encoding") // br if the worker was faster
		if (got != "") != (len(plain.body) >= 900) || decoded(t, first) != plain.body {
			t.Errorf("%s of %d bytes, the first reader: %q, %d bytes; want it compressed from 900 on", path,
				len(plain.body), got, len(first.body))
		}
		if second := h.get(path, "Accept-Encoding", got); got == "gzip" && second.body != first.body &&
			second.header.Get("Etag") == first.header.Get("Etag") {
			t.Errorf("%s: one entity tag, %s, for two encodings", path, first.header.Get("Etag"))
		}
	}
	const form = "do=write&name=Acme&description=Anvils+for+everyone" +
		"&url=https%3A%2F%2Facme.example%2F&niche=tools&uniqueValue=They+fall+down"
	for _, tt := range []struct {
		method, path, body string
		coded              bool
	}{
		{"GET", "/badges", "", true},
		{"GET", "/badges?slug=acme&style=card", "", true},
		{"GET", "/?q=acme", "", true},
		{"POST", "/llms-txt", form, true},
		{"GET", "/api/badge/acme/embed", "", true},
		{"GET", "/api/badge/acme/embed?format=markdown", "", false},
		{"GET", "/brands/nobody", "", true},
		{"GET", "/api/badge/acme", "", false},
	} {
		header := []string{"Content-Type", "application/x-www-form-urlencoded"}
		a := h.do(tt.method, tt.path, tt.body, append(header, "Accept-Encoding", browserCodings)...)
		plain := h.do(tt.method, tt.path, tt.body, append(header, "Accept-Encoding", "gzip;q=0")...)
		// br if it is stored and the worker was faster
		if got := a.header.Get("Content-Encoding"); (got != "") != tt.coded ||
			plain.header.Get("Content-Encoding") != "" || tt.coded && len(a.body) > len(plain.body)*3/4 {
			t.Errorf("%s %s: %q, %d of %d bytes; want it compressed: %v", tt.method, tt.path, got, len(a.body),
				len(plain.body), tt.coded)
		}
		for _, b := range []answer{a, plain} {
			if strings.Contains(b.header.Get("Vary"), "Accept-Encoding") != tt.coded {
				t.Errorf("%s %s: Vary %q", tt.method, tt.path, b.header.Get("Vary"))
			}
		}
		if n := len(decoded(t, a)); n != len(plain.body) { // they hold ids of their own
			t.Errorf("%s %s: %d bytes after decoding, want %d", tt.method, tt.path, n, len(plain.body))
		}
	}
}

// TestConcurrentFirstResponses: one of many first clients waits for the compression, the others do
// not, and all get the same content.
func TestConcurrentFirstResponses(t *testing.T) {
	h := newHitFixture(t)
	want := h.get("/about", "Accept-Encoding", "identity")
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			a := h.get("/about", "Accept-Encoding", []string{"gzip", browserCodings, "br",
				"zstd;q=0.5, gzip;q=0.1"}[i%4])
			if got := decoded(t, a); got != want.body {
				t.Errorf("reader %d: %d bytes of %d in the form %q", i, len(got), len(want.body),
					a.header.Get("Content-Encoding"))
			}
		})
	}
	wg.Wait()
}

func between(s, from, to string) string {
	_, rest, _ := strings.Cut(s, from)
	middle, _, _ := strings.Cut(rest, to)
	return strings.TrimPrefix(from, "/static/") + middle + to
}

// TestEncodedHitAllocates: a hit of a compressed page allocates no more than one of the
// plain page.
func TestEncodedHitAllocates(t *testing.T) {
	h := newHitFixture(t)
	handle := h.edge.Handler()
	h.until("the page is there as br", func() bool {
		return h.get("/about", "Accept-Encoding", browserCodings).header.Get("Content-Encoding") == "br"
	})
	allocs := func(codings string) float64 {
		ctx := prepared("/about")
		ctx.Request.Header.Set("Accept-Encoding", codings)
		return leastAllocs(1000, func() {
			ctx.Response.Reset()
			handle(ctx)
			if got := ctx.Response.Header.Peek("Content-Encoding"); bytes.Equal(got, []byte("br")) != (codings != "") {
				t.Fatalf("%q gets %q", codings, got)
			}
		})
	}
	if plain, coded := allocs(""), allocs(browserCodings); coded > plain {
		t.Errorf("a hit of a compressed page allocates %v times, of a plain one %v", coded, plain)
	}
}
