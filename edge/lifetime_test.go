package edge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

const (
	longControl = "max-age=3600, stale-while-revalidate=3600, stale-if-error=86400"
	forFastly   = "Surrogate-Control"
	forOthers   = "CDN-Cache-Control"
)

// probed stores CDNs whose probes have a state, and announces the event from which edges learn it.
func (h *fixture) probed(state fieldmark.CDNProbeState, kinds ...fieldmark.CDNKind) {
	h.t.Helper()
	now := fieldmark.At(time.Now())
	must(h.t, h.store.Write(h.t.Context(), func(ctx context.Context, tx *store.Tx) error {
		for _, kind := range kinds {
			row := store.CDN{Name: string(kind), Settings: fieldmark.CDNSettings{Kind: kind}, Version: 1,
				State: fieldmark.CDNActive, CreatedAt: now, UpdatedAt: now}
			row.Probe.State, row.Probe.Since, row.Probe.VerifiedAt = state, now, &now
			if err := tx.PutCDN(ctx, &row); err != nil {
				return err
			}
		}
		return nil
	}))
	// Pages may have a lifetime that is some seconds old; in production its change is an event.
	_, err := h.service.CDNs.Lifetime(h.t.Context(), 0)
	must(h.t, err)
	_, err = h.service.Purge(h.t.Context(), "", fieldmark.PurgeRequest{Tags: []fieldmark.Tag{"unrelated"}})
	must(h.t, err)
}

// stated reports whether a badge states the lifetime for CDNs.
func (h *fixture) stated() bool { return h.get("/api/badge/acme").header.Get(forFastly) == longControl }

// TestLifetimeForCDNs: while all CDNs are verified, responses that are purged exactly state the long lifetime,
// in the fields of their kinds, and others do not. Without CDNs, and as soon as one is not verified, none do.
func TestLifetimeForCDNs(t *testing.T) {
	t.Parallel()
	h := newHitFixture(t)
	h.brand("formerly", "Former", 300)
	_, err := h.service.Brands.Rename(t.Context(), "formerly", "later")
	must(t, err)
	h.until("later is known by its slug", func() bool { return h.get("/api/v1/score/formerly").status == 301 })
	want := func(state string, long bool, paths ...string) {
		t.Helper()
		for _, path := range paths {
			for range 2 { // made, then from the cache
				a := h.get(path)
				for _, field := range []string{forFastly, forOthers} {
					if got := a.header.Get(field); (got == longControl) != long || !long && got != "" {
						t.Errorf("%s: %s: %d with %s %q, long should be %v", state, path, a.status, field, got, long)
					}
				}
			}
		}
	}
	exact := []string{"/api/badge/acme", "/api/badge/acme.svg", "/api/badge/acme.png", "/api/badge/acme.json",
		"/api/badge/acme?theme=dark&style=flat", "/api/badge/acme?cacheSeconds=600", "/api/badge/acme?claimed=1",
		"/api/card/acme.png", "/api/card/acme.png?width=600"}
	others := []string{"/api/badge/acme?label=ours", "/api/badge/acme/embed", "/api/badge/absent",
		"/api/badge/formerly", "/api/badge/acme?style=none", "/api/v1/score/acme", "/api/v1/leaderboard", "/",
		"/brands/acme", "/api/card/absent.png", "/sitemap.xml", "/api/badge/acme/probe?nonce=12345678"}
	want("no CDN", false, exact...)
	h.probed(fieldmark.CDNVerified, fieldmark.CDNVarnish, fieldmark.CDNCloudflare)
	h.until("the edge states the lifetime", h.stated)
	want("verified", true, exact...)
	want("verified", false, others...)
	h.probed(fieldmark.CDNFailed, fieldmark.CDNVarnish)
	h.until("the edge states none", func() bool { return !h.stated() })
	want("failed", false, exact...)
	h.probed(fieldmark.CDNVerified, fieldmark.CDNVarnish)
	h.until("the edge states the lifetime again", h.stated)
	// A cache that is purged by address keeps variants, which another CDN could get from it.
	h.probed(fieldmark.CDNVerified, fieldmark.CDNNginx)
	h.until("the edge states none with nginx", func() bool { return !h.stated() })
	want("nginx", false, exact...)
}

// TestLifetimeOfLateEdges: an edge that starts, or comes back, states what holds then; one that cannot
// reach its origin states nothing, because it may miss purges.
func TestLifetimeOfLateEdges(t *testing.T) {
	t.Parallel()
	h := newHitFixture(t)
	h.probed(fieldmark.CDNVerified, fieldmark.CDNFastly)
	h.until("the edge states the lifetime", h.stated)
	h.startEdge()
	h.until("a new edge states it", h.stated)
	h.down.Store(true)
	h.origin.CloseClientConnections()
	h.until("an edge without its origin states none", func() bool { return !h.stated() })
	h.down.Store(false)
	h.until("it states it again", h.stated)
	h.down.Store(true)
	h.origin.CloseClientConnections()
	h.until("it states none", func() bool { return !h.stated() })
	h.probed(fieldmark.CDNFailed, fieldmark.CDNFastly) // while the edge is unreachable
	h.down.Store(false)
	h.catchUp()
	if h.stated() {
		t.Error("an edge that came back states a lifetime that ended while it was unreachable")
	}
}

// TestLifetimeAllProtocols: the fast paths send what the handler sends, in each version of HTTP.
func TestLifetimeAllProtocols(t *testing.T) {
	p := newProtocolFixture(t)
	p.brand("acme", "Acme", 300)
	p.probed(fieldmark.CDNVerified, fieldmark.CDNFastly, fieldmark.CDNCloudflare)
	p.until("the badge is a hit with the lifetime", func() bool {
		return p.stated() && p.get("/api/badge/acme").header.Get("Cache-Status") == "fieldmark; hit"
	})
	tag := p.get("/api/badge/acme").header.Get("Etag")
	for name, client := range p.clients {
		for _, fields := range []http.Header{{}, {"If-None-Match": {tag}}, {"X-Anything": {"1"}}} {
			req, err := http.NewRequestWithContext(t.Context(), "GET", p.bases[name]+"/api/badge/acme", nil)
			must(t, err)
			req.Header = fields
			resp, err := client.RoundTrip(req)
			must(t, err)
			resp.Body.Close()
			if len(resp.Header.Values(forFastly)) != 1 || resp.Header.Get(forFastly) != longControl ||
				len(resp.Header.Values(forOthers)) != 1 || resp.Header.Get(forOthers) != longControl {
				t.Errorf("%s with %v: %d with %q and %q", name, fields, resp.StatusCode, resp.Header.Values(forFastly),
					resp.Header.Values(forOthers))
			}
		}
	}
}

// TestLifetimeAllocatesNothing holds a hit that states a lifetime to the promise of hits.
func TestLifetimeAllocatesNothing(t *testing.T) {
	h := newHitFixture(t)
	h.probed(fieldmark.CDNVerified, fieldmark.CDNFastly, fieldmark.CDNCloudflare)
	h.until("the edge states the lifetime", h.stated)
	ctx, handle := prepared("/api/badge/acme"), h.edge.Handler()
	if n := leastAllocs(2000, func() {
		ctx.Response.Reset()
		handle(ctx)
	}); n != 0 {
		t.Errorf("a badge hit with a lifetime allocates %v times, want 0", n)
	}
	head, answer := []byte(plainGet+"\r\n"), make([]byte, 0, 8<<10)
	if n := leastAllocs(2000, func() {
		if out, ok := h.edge.AppendFastPath(answer, head); !ok || !bytes.Contains(out, []byte(forFastly)) {
			t.Fatal("not from the fast path, or without the field")
		}
	}); n > 0 {
		t.Errorf("a badge hit with a lifetime by the fast path allocates %v times, want 0", n)
	}
}

// TestProbe: the address of probes tells the entity tag of the badge that the edge serves now, repeats the
// number of the request, and no cache may store it.
func TestProbe(t *testing.T) {
	h := newHitFixture(t)
	for _, nonce := range []string{"0123456789abcdef", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"} {
		a := h.get("/api/badge/acme/probe?nonce=" + nonce)
		var got fieldmark.BadgeProbeResult
		must(t, json.Unmarshal([]byte(a.body), &got))
		if want := h.get("/api/badge/acme").header.Get("Etag"); got.ETag != want || got.Nonce != nonce ||
			a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%d %+v with %q, want %s and %s", a.status, got, a.header.Get("Cache-Control"), want, nonce)
		}
	}
	for path, status := range map[string]int{"/api/badge/acme/probe": 400, "/api/badge/acme/probe?nonce=%22%3E": 400,
		"/api/badge/absent/probe?nonce=12345678": 404, "/api/badge/A/probe?nonce=12345678": 404} {
		if a := h.get(path); a.status != status || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d with %q, want %d", path, a.status, a.header.Get("Cache-Control"), status)
		}
	}
}

// BenchmarkLifetime is a badge hit with the two fields for CDNs, beside one without.
func BenchmarkLifetime(b *testing.B) {
	h := newHitFixture(b)
	head, answer := []byte(plainGet+"\r\n"), make([]byte, 0, 8<<10)
	hit := func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, ok := h.edge.AppendFastPath(answer, head); !ok {
				b.Fatal("not at hand")
			}
		}
	}
	b.Run("without", hit)
	h.probed(fieldmark.CDNVerified, fieldmark.CDNFastly, fieldmark.CDNCloudflare)
	h.until("the edge states the lifetime", h.stated)
	b.Run("with", hit)
}
