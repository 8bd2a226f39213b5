package edge_test

import (
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

// request prepares a request as the server hands it to the handler.
func prepared(uri string) *fasthttp.RequestCtx {
	ctx := new(fasthttp.RequestCtx)
	ctx.Request.Header.SetMethod("GET")
	ctx.Request.SetRequestURI(uri)
	ctx.Request.Header.SetHost("fieldmark.example")
	return ctx
}

// hitHouse is a house whose badge of acme is in memory.
func hitHouse(t testing.TB) *house {
	h := newHouse(t)
	h.brand("acme", "Acme", 300)
	h.until("acme is ranked", func() bool { return strings.Contains(h.get("/api/v1/leaderboard").body, `"total":1`) })
	h.until("the badge is a hit", func() bool { return h.get("/api/badge/acme").header.Get("Cache-Status") == "fieldmark; hit" })
	return h
}

// TestHitAllocatesNothing holds the whole path of a badge hit, from the parsed
// request to the filled response, to its promise.
func TestHitAllocatesNothing(t *testing.T) {
	h := hitHouse(t)
	handle := h.edge.Handler()
	tag := h.get("/api/badge/acme").header.Get("Etag")
	for _, tt := range []struct{ name, etag string }{{"200", ""}, {"304", tag}} {
		ctx := prepared("/api/badge/acme")
		if tt.etag != "" {
			ctx.Request.Header.Set("If-None-Match", tt.etag)
		}
		allocs := testing.AllocsPerRun(2000, func() {
			ctx.Response.Reset()
			handle(ctx)
		})
		if allocs != 0 {
			t.Errorf("a badge hit answered %s allocates %v times, want 0", tt.name, allocs)
		}
	}
}

// BenchmarkBadgeHit is the badge hit beside the least a fasthttp handler can do
// with the same bytes.
func BenchmarkBadgeHit(b *testing.B) {
	h := hitHouse(b)
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
}
