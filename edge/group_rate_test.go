package edge_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/internal/testkit/cachetest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// Two edges with one Redis count the keys of a group together: what one edge let through, the
// other does not let through again.
func TestSharedRateOfAGroup(t *testing.T) {
	t.Parallel()
	server := cachetest.StartRedis(t)
	h := newFixture(t, func(c *edge.Config) {
		// An edge counts for itself if a call takes too long.
		c.RateLimit, c.RedisURL = edge.RateLimitShared, server.URL
		c.AllowSlowRedis(waittest.Limit)
	})
	first := h.base
	h.startEdge()
	second := h.base
	const rate = 8
	bearers := h.groupKeys(rate, fieldmark.RateLimit{}, fieldmark.RateLimit{})
	since, passed := time.Now(), map[string]int{}
	refusedBy := map[string]string{}
	for i := range 3 * rate {
		h.base = []string{first, second}[i%2]
		a := h.do("GET", fieldmark.PathMissions, "", "Authorization", bearers[i/2%2])
		switch a.status {
		case http.StatusOK:
			passed[h.base]++
		case http.StatusTooManyRequests:
			refusedBy[h.base] = a.header.Get("RateLimit-Policy")
		default:
			t.Fatalf("request %d: status %d %s", i, a.status, a.body)
		}
	}
	all := passed[first] + passed[second]
	if most := rate + earned(since, rate); all < rate || all > most || passed[first] == 0 || passed[second] == 0 {
		t.Errorf("the edges let %v requests through, want %d to %d together", passed, rate, most)
	}
	for _, base := range []string{first, second} {
		if want := `"account-reads";q=8;w=60`; refusedBy[base] != want {
			t.Errorf("%s refuses by %q, want %s", base, refusedBy[base], want)
		}
	}
}
