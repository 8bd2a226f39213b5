package edge_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

// decoded undoes a content coding.
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

// TestCodedForms: own answers go out in the form their reader wants, once it was made,
// and each form has a name of its own.
func TestCodedForms(t *testing.T) {
	h := hitHouse(t)
	css := "/static/" + between(h.get("/").body, "/static/site.", ".css")
	for _, tt := range []struct {
		path  string
		codes map[string]string // Accept-Encoding and what it gets
	}{
		{"/", map[string]string{browserCodings: "br", "gzip": "gzip", "zstd, gzip;q=0.5": "zstd", "br;q=0.1, gzip": "gzip", "identity, br;q=0.5": "", "gzip;q=0": ""}},
		{"/brands/acme", map[string]string{browserCodings: "br", "gzip": "gzip"}},
		{"/about", map[string]string{browserCodings: "br"}},
		{css, map[string]string{browserCodings: "br", "gzip": "gzip"}},
		{"/api/v1/score/acme", map[string]string{browserCodings: "gzip", "gzip": "gzip", "br": "", "gzip;q=0.5, identity": ""}},
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
			h.until(tt.path+" in the form for "+asks, func() bool { return h.get(tt.path, "Accept-Encoding", asks).header.Get("Content-Encoding") == want })
			a := h.get(tt.path, "Accept-Encoding", asks)
			if got := decoded(t, a); got != plain.body || a.status != 200 {
				t.Errorf("%s for %q: %d, %d bytes after decoding, want the %d of the plain form", tt.path, asks, a.status, len(got), len(plain.body))
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
			for held, same := range map[string]bool{tag: true, coded: true, `"other", W/` + coded: true, `"other"`: false} {
				b := h.get(tt.path, "Accept-Encoding", asks, "If-None-Match", held)
				if (b.status == 304) != same || same && b.header.Get("Etag") != strings.TrimPrefix(held, `"other", W/`) || b.header.Get("Content-Encoding") != "" && same {
					t.Errorf("%s for %q with %s: %d, Etag %s, %s; want 304: %v", tt.path, asks, held, b.status, b.header.Get("Etag"), b.header.Get("Content-Encoding"), same)
				}
			}
			if b := h.get(tt.path, "Accept-Encoding", "identity", "If-None-Match", coded); b.status != 200 || b.header.Get("Content-Encoding") != "" {
				t.Errorf("%s for a reader without codings who has %s: %d %s", tt.path, coded, b.status, b.header.Get("Content-Encoding"))
			}
			if b := h.do("HEAD", tt.path, "", "Accept-Encoding", asks); b.header.Get("Content-Length") != strconv.Itoa(len(a.body)) || b.header.Get("Etag") != coded || b.body != "" {
				t.Errorf("HEAD %s for %q: %v, want the fields of the %d bytes of %s", tt.path, asks, b.header, len(a.body), coded)
			}
		}
	}
	before := h.get("/api/v1/score/acme", "Accept-Encoding", "gzip")
	h.brand("acme", "Acme again", 400)
	h.until("the change is seen in a compressed form", func() bool {
		a := h.get("/api/v1/score/acme", "Accept-Encoding", "gzip")
		return a.header.Get("Content-Encoding") == "gzip" && strings.Contains(decoded(t, a), "Acme again") && a.header.Get("Etag") != before.header.Get("Etag")
	})
}

func between(s, from, to string) string {
	_, rest, _ := strings.Cut(s, from)
	middle, _, _ := strings.Cut(rest, to)
	return strings.TrimPrefix(from, "/static/") + middle + to
}

// TestFormAllocates holds the hit of a compressed page to its promise, up to the
// look-up: what is asked for by a key that is built costs that key.
func TestFormAllocates(t *testing.T) {
	h := hitHouse(t)
	handle := h.edge.Handler()
	h.until("the page is there as br", func() bool {
		return h.get("/about", "Accept-Encoding", browserCodings).header.Get("Content-Encoding") == "br"
	})
	allocs := func(codings string) float64 {
		ctx := prepared("/about")
		ctx.Request.Header.Set("Accept-Encoding", codings)
		return testing.AllocsPerRun(1000, func() {
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
