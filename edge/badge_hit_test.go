package edge_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark/edge"
)

// request prepares a request as the server hands it to the handler.
func prepared(uri string) *fasthttp.RequestCtx {
	ctx := new(fasthttp.RequestCtx)
	ctx.Request.Header.SetMethod("GET")
	ctx.Request.SetRequestURI(uri)
	ctx.Request.Header.SetHost("fieldmark.example")
	return ctx
}

// newHitFixture is a fixture whose badge of acme is in memory.
func newHitFixture(t testing.TB, change ...func(*edge.Config)) *fixture {
	h := newFixture(t, change...)
	h.brand("acme", "Acme", 300)
	h.catchUp()
	h.until("the badge is a hit",
		func() bool { return h.get("/api/badge/acme").header.Get("Cache-Status") == "fieldmark; hit" })
	return h
}

// leastAllocs returns how many times f allocates, in the mean of runs. Of several tries the least
// counts, as other goroutines allocate too.
func leastAllocs(runs int, f func()) float64 {
	allocs := testing.AllocsPerRun(runs, f)
	for tries := 1; allocs > 0 && tries < 10; tries++ {
		allocs = min(allocs, testing.AllocsPerRun(runs, f))
	}
	return allocs
}

// TestHitAllocatesNothing holds the whole path of a badge hit, from the parsed
// request to the filled response, to its promise.
func TestHitAllocatesNothing(t *testing.T) {
	h := newHitFixture(t)
	handle := h.edge.Handler()
	tag := h.get("/api/badge/acme").header.Get("Etag")
	for _, tt := range []struct{ name, etag string }{{"200", ""}, {"304", tag}} {
		ctx := prepared("/api/badge/acme")
		if tt.etag != "" {
			ctx.Request.Header.Set("If-None-Match", tt.etag)
		}
		allocs := leastAllocs(2000, func() {
			ctx.Response.Reset()
			handle(ctx)
		})
		if allocs != 0 {
			t.Errorf("a badge hit answered %s allocates %v times, want 0", tt.name, allocs)
		}
		head, answer := []byte(plainGet+browserHead+"\r\n"), make([]byte, 0, 8<<10)
		if tt.etag != "" {
			head = []byte(plainGet + "If-None-Match: " + tag + "\r\n\r\n")
		}
		allocs = leastAllocs(2000, func() {
			if out, ok := h.edge.AppendFastPath(answer, head); !ok || !bytes.HasPrefix(out[9:], []byte(tt.name)) {
				t.Fatalf("%q: fast path %v %.20q, want %s", head, ok, out, tt.name)
			}
		})
		if allocs != 0 {
			t.Errorf("a badge hit answered %s by the fast path allocates %v times, want 0", tt.name, allocs)
		}
	}
}

// TestFastPathAndImageProxies: an image proxy gets another Cache-Control, which only the
// handler sends.
func TestFastPathAndImageProxies(t *testing.T) {
	h := newHitFixture(t)
	for agent, want := range map[string]bool{"github-camo (1)": false, "Mozilla/5.0": true} {
		if _, ok := h.edge.AppendFastPath(nil, []byte(plainGet+"User-Agent: "+agent+"\r\n\r\n")); ok != want {
			t.Errorf("%s: served by the fast path %v, want %v", agent, ok, want)
		}
	}
}

// TestHeadIsOneFieldALine: the prebuilt block must read as the fields it was
// made of, each once.
func TestHeadIsOneFieldALine(t *testing.T) {
	h := newHitFixture(t)
	ctx := prepared("/api/badge/acme")
	ctx.Request.Header.SetUserAgent("github-camo (1)") // such a reader gets another Cache-Control
	h.edge.Handler()(ctx)
	seen := map[string]int{}
	for line := range strings.Lines(string(ctx.Response.Header.Header())) {
		name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ": ")
		if ok {
			seen[name]++
		}
		if ok && (name == "" || value == "" || strings.ContainsAny(name, " \t")) {
			t.Errorf("field %q", line)
		}
	}
	for _, name := range []string{"Content-Type", "Cache-Control", "Link", "Content-Security-Policy",
		"X-Content-Type-Options",
		"Cross-Origin-Resource-Policy", "Access-Control-Allow-Origin", "Timing-Allow-Origin", "Etag", "Cache-Status",
		"Age"} {
		if seen[name] != 1 {
			t.Errorf("%s goes out %d times, want once:\n%s", name, seen[name], ctx.Response.Header.Header())
		}
	}
}

// BenchmarkBadgeHit is the badge hit beside the least a fasthttp handler can do
// with the same bytes.
func BenchmarkBadgeHit(b *testing.B) {
	h := newHitFixture(b)
	body := []byte(h.get("/api/badge/acme").body)
	contentType := []byte("image/svg+xml; charset=utf-8")
	bare := func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.SetContentTypeBytes(contentType)
		ctx.Response.SetBodyRaw(body)
	}
	for _, bm := range []struct {
		name   string
		handle fasthttp.RequestHandler
	}{{"bare", bare}, {"edge", h.edge.Handler()}} {
		b.Run(bm.name, func(b *testing.B) {
			ctx := prepared("/api/badge/acme")
			b.ReportAllocs()
			for b.Loop() {
				ctx.Response.Reset()
				bm.handle(ctx)
			}
		})
	}
	for _, bm := range []struct{ name, head string }{{"fast-path", plainGet + "\r\n"},
		{"fast-path-browser", plainGet + browserHead + "\r\n"}} {
		b.Run(bm.name, func(b *testing.B) {
			head, answer := []byte(bm.head), make([]byte, 0, 8<<10)
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := h.edge.AppendFastPath(answer, head); !ok {
					b.Fatal("not at hand")
				}
			}
		})
	}
}

// BenchmarkBadgeHits is the look at a hit that the processor's caches do not hold:
// one of so many badges, as asked for by Zipf's law.
func BenchmarkBadgeHits(b *testing.B) {
	h := newHitFixture(b)
	body := []byte(h.get("/api/badge/acme").body)
	for _, n := range []int{1, 100, 10_000, 50_000} {
		heads := make([][]byte, 1<<16)
		for i := range n {
			h.edge.KeepBadge(fmt.Sprintf("/api/badge/brand-%d", i), bytes.Clone(body))
		}
		zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.01, 1, uint64(n-1))
		for i := range heads {
			k := uint64(0)
			if n > 1 {
				k = zipf.Uint64()
			}
			heads[i] = []byte(strings.Replace(plainGet, "/api/badge/acme", fmt.Sprintf("/api/badge/brand-%d", k), 1) +
				"\r\n")
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			answer := make([]byte, 0, 8<<10)
			b.ReportAllocs()
			missed := 0
			i := 0
			for b.Loop() {
				i++
				if _, ok := h.edge.AppendFastPath(answer, heads[i%len(heads)]); !ok {
					missed++
				}
			}
			b.ReportMetric(float64(missed)/float64(b.N), "missed")
		})
	}
}
