package edge_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/origin"
)

// key makes a key with a rate of its own; zero is what every key has.
func (h *house) key(reads, writes int) (bearer string) {
	h.t.Helper()
	k, err := h.service.CreateKey(h.t.Context(), origin.DefaultAccount, fieldmark.KeyRequest{
		Name: "test", Scopes: []fieldmark.Scope{fieldmark.ScopeMissionRead, fieldmark.ScopeMissionCreate},
		RateLimit: &fieldmark.RateLimit{Reads: reads, Writes: writes}})
	must(h.t, err)
	return "Bearer " + k.Token
}

// limitedHouse is a house whose edge counts.
func limitedHouse(t *testing.T) *house {
	h := newHouse(t)
	h.change = func(c *edge.Config) { c.RateLimit = edge.RateLimitLocal }
	h.startEdge()
	return h
}

func TestRateLimitOfKeys(t *testing.T) {
	h := limitedHouse(t)
	const path = fieldmark.PathMissions
	usual, slow := h.key(0, 0), h.key(7, 3)
	for _, tt := range []struct {
		name, method, bearer, policy, rate string
	}{
		{"a key's reads", "GET", usual, `"reads";q=600;w=60`, `"reads";r=59;t=1`},
		{"its writes", "POST", usual, `"writes";q=300;w=60`, `"writes";r=59;t=1`},
		{"a slow key's reads", "GET", slow, `"reads";q=7;w=60`, `"reads";r=6;t=9`},
		{"its writes", "POST", slow, `"writes";q=3;w=60`, `"writes";r=2;t=20`},
	} {
		a := h.do(tt.method, path, "{}", "Authorization", tt.bearer)
		if a.status == http.StatusUnauthorized || a.header.Get("RateLimit-Policy") != tt.policy || a.header.Get("RateLimit") != tt.rate {
			t.Errorf("%s: %d, policy %s, rate %s; want %s and %s", tt.name, a.status, a.header.Get("RateLimit-Policy"), a.header.Get("RateLimit"), tt.policy, tt.rate)
		}
		if quota := a.header.Get(fieldmark.HeaderQuota); quota != "" {
			t.Errorf("%s: a client is shown %q", tt.name, quota)
		}
	}
	for range 2 {
		h.do("POST", path, "{}", "Authorization", slow)
	}
	before := h.asked.Load()
	a := h.do("POST", path, "{}", "Authorization", slow)
	h.wantProblem(a, http.StatusTooManyRequests, fieldmark.CodeRateLimited)
	after, err := strconv.Atoi(a.header.Get("Retry-After"))
	match := regexp.MustCompile(`^"writes";r=0;t=(\d+)$`).FindStringSubmatch(a.header.Get("RateLimit"))
	if err != nil || match == nil {
		t.Fatalf("refused with Retry-After %q, RateLimit %q", a.header.Get("Retry-After"), a.header.Get("RateLimit"))
	}
	if least, _ := strconv.Atoi(match[1]); after < least || least < 1 {
		t.Errorf("Retry-After %d is less than t=%d", after, least)
	}
	if n := h.asked.Load() - before; n != 0 {
		t.Errorf("a refused request cost the origin %d", n)
	}
	if a := h.do("GET", path, "", "Authorization", slow); a.status != 200 {
		t.Errorf("its reads are refused with its writes: %d", a.status)
	}
	// A monitoring system drops what is answered 429.
	a = h.do("POST", fieldmark.PathPublic+"v1/integrations/alertmanager", "{}", "Authorization", slow)
	h.wantProblem(a, http.StatusServiceUnavailable, fieldmark.CodeOverloaded)
	if a.header.Get("Retry-After") == "" {
		t.Error("an alert is refused without Retry-After")
	}
}

func TestRateLimitOfNetworks(t *testing.T) {
	h := limitedHouse(t)
	good := h.key(0, 0)
	if a := h.do("GET", fieldmark.PathMissions, "", "Authorization", good); a.status != 200 {
		t.Fatalf("a good key: %d", a.status)
	}
	for i := range 30 {
		// Every second one shows a key that could be one but is not.
		var header []string
		if i%2 == 0 {
			token := fieldmark.NewKeyToken(fmt.Sprintf("%08d", i), strings.Repeat("x", fieldmark.KeySecretChars))
			header = []string{"Authorization", "Bearer " + token.String()}
		}
		a := h.do("GET", fieldmark.PathMissions, "", header...)
		if want := fmt.Sprintf(`"anonymous";r=%d;`, 29-i); a.status != 401 || !strings.HasPrefix(a.header.Get("RateLimit"), want) {
			t.Fatalf("request %d without a good key: %d, %s; want 401, %s", i, a.status, a.header.Get("RateLimit"), want)
		}
	}
	before := h.asked.Load()
	for _, header := range [][]string{nil, {"Authorization", "Bearer nonsense"},
		{"Authorization", "Bearer " + fieldmark.NewKeyToken("00000000", strings.Repeat("x", fieldmark.KeySecretChars)).String()}} {
		h.wantProblem(h.do("GET", fieldmark.PathMissions, "", header...), http.StatusTooManyRequests, fieldmark.CodeRateLimited)
	}
	if n := h.asked.Load() - before; n != 0 {
		t.Errorf("refused requests cost the origin %d", n)
	}
	if a := h.do("GET", fieldmark.PathMissions, "", "Authorization", good); a.status != 200 {
		t.Errorf("a good key from the same network: %d", a.status)
	}
	if a := h.get("/api/badge/acme"); a.status != 404 || a.header.Get("RateLimit") != "" {
		t.Errorf("a badge is counted: %d %v", a.status, a.header)
	}
}

// TestNetworkQuota: what one network makes the origin do is bounded, whatever it
// asks for; what the node answers itself is not.
func TestNetworkQuota(t *testing.T) {
	w := newWitness(t, func(c *edge.Config) { c.RateLimit, c.NetworkQuota = edge.RateLimitLocal, 5 })
	for i := range 20 {
		a := w.get(fmt.Sprintf("/page/%d", i))
		want := 200
		if i >= 5 {
			want = http.StatusTooManyRequests
		}
		if a.status != want {
			t.Errorf("request %d: %d, want %d", i, a.status, want)
		}
	}
	if asked, _ := w.take(); len(asked) != 5 {
		t.Errorf("the origin was asked %d times, want 5", len(asked))
	}
}

// TestFloodOfSlugs: names that are no brand's cost the origin nothing.
func TestFloodOfSlugs(t *testing.T) {
	h := newHouse(t)
	h.brand("acme", "Acme", 300)
	h.brand("young", "Young", -1)
	h.until("acme is ranked", func() bool { return strings.Contains(h.get("/api/v1/leaderboard").body, `"total":1`) })
	h.until("the pending brand is known", func() bool { return h.get("/api/v1/score/young").status == 200 })
	before := h.asked.Load()
	for i := range 300 {
		for _, path := range []string{"/api/badge/flood-%d", "/api/badge/flood-%d.png", "/api/badge/flood-%d?theme=dark", "/api/v1/score/flood-%d", "/brands/flood-%d"} {
			if a := h.get(fmt.Sprintf(path, i)); a.status != 404 {
				t.Fatalf(path+": %d", i, a.status)
			}
		}
	}
	if n := h.asked.Load() - before; n != 0 {
		t.Errorf("1500 requests for names nobody has cost the origin %d", n)
	}
}
