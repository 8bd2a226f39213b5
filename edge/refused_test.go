package edge_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge"
)

// TestQuotaOfOneNetwork: what one network is refused because of its own quota,
// others who send the same request at the same moment get.
func TestQuotaOfOneNetwork(t *testing.T) {
	const greedy, other = "198.51.100.1", "198.51.100.2"
	h := newHouse(t)
	h.change = func(c *edge.Config) {
		trustLoopback(c)
		c.RateLimit, c.NetworkQuota = edge.RateLimitLocal, 1
	}
	h.startEdge()
	if a := h.write(aBrand, "X-Forwarded-For", greedy); a.status != http.StatusOK {
		t.Fatalf("the first request: %d %s", a.status, a.body)
	}
	second := strings.Replace(aBrand, "Acme", "Bcme", 1)
	h.wantProblem(h.write(second, "X-Forwarded-For", greedy), 429, fieldmark.CodeRateLimited)
	if a := h.write(second, "X-Forwarded-For", other); a.status != http.StatusOK {
		t.Errorf("the same request of another network: %d %s, want 200", a.status, a.body)
	}
}
