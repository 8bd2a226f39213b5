package edge_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fieldmark/fieldmark/edge"
)

// A PNG that has to be drawn counts as a request to an API; one from the cache
// does not, and neither does an SVG.
func TestPNGsAreCounted(t *testing.T) {
	t.Parallel()
	h := newBadgeFixture(t, func(c *edge.Config) { c.RateLimit = edge.RateLimitLocal })
	first := h.get("/api/badge/acme.png?label=x")
	if first.status != 200 || first.header.Get("RateLimit") != `"anonymous";r=29;t=2` {
		t.Errorf("the first PNG: %d, RateLimit %s", first.status, first.header.Get("RateLimit"))
	}
	a := first
	for n := 0; a.status == 200 && n < 1000; n++ { // a slow machine earns some more meanwhile
		a = h.get("/api/badge/acme.png?label=x")
	}
	if a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" ||
		a.header.Get("Cache-Control") != "no-store" ||
		a.header.Get("Content-Type") != "image/png" || !strings.Contains(a.header.Get("RateLimit"), "r=0") {
		t.Errorf("a PNG too many: %d %v", a.status, a.header)
	}
	for range 3 {
		if a := h.get("/api/badge/acme?label=x"); a.status != 200 || a.header.Get("RateLimit") != "" {
			t.Errorf("an SVG after them: %d, RateLimit %s", a.status, a.header.Get("RateLimit"))
		}
	}
}

// A network has a share of the PNGs that are drawn: beyond it, requests are
// refused at once, and those of other networks are answered.
func TestPNGsOfOneNetwork(t *testing.T) {
	t.Parallel()
	const share = 16
	h := newBadgeFixture(t, trustLoopback)
	const crowd, other = "198.51.100.7", "203.0.113.9"
	var stop atomic.Bool
	var refused atomic.Pointer[answer]
	var clients sync.WaitGroup
	for i := range 3 * share {
		clients.Go(func() {
			for n := 0; !stop.Load(); n++ {
				a := h.get(fmt.Sprintf("/api/badge/acme.png?label=%d-%d", i, n), "X-Forwarded-For", crowd)
				if a.status != 200 {
					refused.Store(&a)
					return
				}
			}
		})
	}
	h.until("a request too many is refused", func() bool { return refused.Load() != nil })
	for i := range 5 {
		if a := h.get(fmt.Sprintf("/api/badge/acme.png?label=%d", i), "X-Forwarded-For", other); a.status != 200 {
			t.Errorf("a PNG for another network: %d", a.status)
		}
	}
	if a := h.get("/api/badge/acme?style=card", "X-Forwarded-For", crowd); a.status != 200 {
		t.Errorf("an SVG beside them: %d", a.status)
	}
	stop.Store(true)
	clients.Wait()
	if a := refused.Load(); a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" ||
		a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("a request too many: %d %v", a.status, a.header)
	}
	if a := h.get("/api/badge/acme.png?label=x", "X-Forwarded-For", crowd); a.status != 200 {
		t.Errorf("a PNG after them: %d", a.status)
	}
}

// Share cards are drawn in the same places: a network that asks for many at once is refused,
// and others get theirs.
func TestCardsOfOneNetwork(t *testing.T) {
	t.Parallel()
	const share, brands = 16, 96
	h := newBadgeFixture(t, trustLoopback)
	h.importBrands("card", brands)
	h.until("the brands are known",
		func() bool { return h.get(fmt.Sprintf("/api/v1/score/card-%d", brands-1)).status == 200 })
	var refused atomic.Pointer[answer]
	var clients sync.WaitGroup
	for i := range 3 * share {
		clients.Go(func() {
			for n := i; n < brands && refused.Load() == nil; n += 3 * share {
				for _, query := range []string{"", "?theme=dark"} {
					a := h.get(fmt.Sprintf("/api/card/card-%d.png", n)+query, "X-Forwarded-For", "198.51.100.7")
					if a.status != 200 && a.status != http.StatusGatewayTimeout { // a slow machine
						refused.Store(&a)
						return
					}
				}
			}
		})
	}
	h.until("a request too many is refused", func() bool { return refused.Load() != nil })
	if a := h.get("/api/card/acme.png", "X-Forwarded-For", "203.0.113.9"); a.status != 200 &&
		a.status != http.StatusGatewayTimeout {
		t.Errorf("a card for another network: %d", a.status)
	}
	clients.Wait()
	if a := refused.Load(); a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" ||
		a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("a request too many: %d %v", a.status, a.header)
	}
}

// Behind a trusted proxy that does not name its clients, every client has the
// proxy's address. They must not share the places of one network.
func TestPNGsBehindAProxy(t *testing.T) {
	h := newBadgeFixture(t, trustLoopback)
	var clients sync.WaitGroup
	for i := range 48 { // more than the 16 of one network, fewer than the 64 of all
		clients.Go(func() { h.get(fmt.Sprintf("/api/badge/acme.png?label=%d", i)) })
	}
	clients.Wait()
	if shed := h.metric(`fieldmark_edge_shed_total{what="request"}`); shed != "0" {
		t.Errorf("%s requests had no place, want 0", shed)
	}
}

// The picture of an error depends on a few words only: a label adds none, or
// each label would be another picture to draw.
func TestErrorPNGsAreFew(t *testing.T) {
	h := newBadgeFixture(t)
	for _, path := range []string{"/api/badge/nobody.png?style=flat&lang=de&scale=2",
		"/api/badge/nobody.png?style=card", "/api/badge/acme.png?style=x"} {
		first, again := h.get(path), h.get(path+"&label=Another")
		if first.status < 400 || first.header.Get("Content-Type") != "image/png" || again.body != first.body {
			t.Errorf("%s: %d %s, and another picture with a label", path, first.status,
				first.header.Get("Content-Type"))
		}
	}
}
