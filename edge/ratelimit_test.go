package edge_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/origin/access"
)

// key makes a key with its own rates; zero means the default rate.
func (h *fixture) key(reads, writes int) (bearer string) {
	h.t.Helper()
	k, err := h.service.Access.Keys.Create(h.t.Context(), access.DefaultAccount, fieldmark.KeyRequest{
		Name: "test", Scopes: []fieldmark.Scope{fieldmark.ScopeMissionRead, fieldmark.ScopeMissionCreate},
		RateLimit: &fieldmark.RateLimit{Reads: reads, Writes: writes}})
	must(h.t, err)
	return "Bearer " + k.Token
}

// groupKeys makes an account whose keys share a rate of reads, and a key with each of rates.
func (h *fixture) groupKeys(shared int, rates ...fieldmark.RateLimit) (bearers []string) {
	h.t.Helper()
	ctx, id := h.t.Context(), "team"
	_, err := h.service.Offers.Put(ctx, id, fieldmark.OfferRequest{Name: "Team", Kind: fieldmark.OfferGroup,
		Limits: fieldmark.OfferLimits{ReadsPerMinute: shared}}, nil)
	must(h.t, err)
	_, _, err = h.service.Access.Accounts.Put(ctx, "acme", fieldmark.AccountRequest{Name: "Acme", Offer: &id})
	must(h.t, err)
	for i, rate := range rates {
		a, err := h.service.Offers.Groups.Create(ctx, "acme", fieldmark.SubAccountRequest{ID: fmt.Sprint(i), Name: "S"})
		must(h.t, err)
		k, err := h.service.Offers.Groups.CreateKey(ctx, "acme", a.ID, fieldmark.KeyRequest{Name: "k",
			Scopes: []fieldmark.Scope{fieldmark.ScopeMissionRead}, RateLimit: &rate})
		must(h.t, err)
		bearers = append(bearers, "Bearer "+k.Token)
	}
	return bearers
}

// newLimitedFixture is a fixture whose edge counts.
func newLimitedFixture(t *testing.T) *fixture {
	return newFixture(t, func(c *edge.Config) { c.RateLimit = edge.RateLimitLocal })
}

func TestRateLimitOfKeys(t *testing.T) {
	h := newLimitedFixture(t)
	const path = fieldmark.PathMissions
	usual, slow, began := h.key(0, 0), h.key(7, 3), time.Now()
	for _, tt := range []struct {
		name, method, bearer, policy, rate string
	}{
		{"a key's reads", "GET", usual, `"reads";q=600;w=60`, `"reads";r=59;t=1`},
		{"its writes", "POST", usual, `"writes";q=300;w=60`, `"writes";r=59;t=1`},
		{"a slow key's reads", "GET", slow, `"reads";q=7;w=60`, `"reads";r=6;t=9`},
		{"its writes", "POST", slow, `"writes";q=3;w=60`, `"writes";r=2;t=20`},
	} {
		a := h.do(tt.method, path, "{}", "Authorization", tt.bearer)
		if a.status == http.StatusUnauthorized || a.header.Get("RateLimit-Policy") != tt.policy ||
			a.header.Get("RateLimit") != tt.rate {
			t.Errorf("%s: %d, policy %s, rate %s; want %s and %s", tt.name, a.status, a.header.Get("RateLimit-Policy"),
				a.header.Get("RateLimit"), tt.policy, tt.rate)
		}
		if quota := a.header.Get(fieldmark.HeaderQuota); quota != "" {
			t.Errorf("%s: a client is shown %q", tt.name, quota)
		}
	}
	passed, before := 1, int64(0)
	var a answer
	h.until("a write is refused", func() bool { // a slow machine earns some more meanwhile
		before = h.asked.Load()
		a = h.do("POST", path, "{}", "Authorization", slow)
		if a.status != http.StatusTooManyRequests {
			passed++
		}
		return a.status == http.StatusTooManyRequests
	})
	if most := 3 + earned(began, 3); passed < 3 || passed > most {
		t.Errorf("%d writes passed, want 3 to %d", passed, most)
	}
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
	h.until("an alert is refused", func() bool {
		a = h.do("POST", fieldmark.PathPublic+"v1/integrations/alertmanager", "{}", "Authorization", slow)
		return a.status == http.StatusServiceUnavailable || a.status == http.StatusTooManyRequests
	})
	h.wantProblem(a, http.StatusServiceUnavailable, fieldmark.CodeOverloaded)
	if a.header.Get("Retry-After") == "" {
		t.Error("an alert is refused without Retry-After")
	}
}

// Keys of two sub-accounts use up the rate of their group together. A key that also has a lower
// rate is refused by it first, and then does not use up the rate of the group. A raised rate applies with the
// next response of the origin.
func TestRateLimitOfGroups(t *testing.T) {
	h := newLimitedFixture(t)
	ctx := t.Context()
	offer := func(reads int) {
		t.Helper()
		_, err := h.service.Offers.Put(ctx, "team", fieldmark.OfferRequest{Name: "Team", Kind: fieldmark.OfferGroup,
			Limits: fieldmark.OfferLimits{ReadsPerMinute: reads}}, nil)
		must(t, err)
	}
	bearers := h.groupKeys(6, fieldmark.RateLimit{Reads: 2}, fieldmark.RateLimit{})
	get := func(bearer string) answer { return h.do("GET", fieldmark.PathMissions, "", "Authorization", bearer) }
	began, passed := time.Now(), 0
	var refused answer
	h.until("the key is beyond its own rate", func() bool { // a slow machine earns some more meanwhile
		if refused = get(bearers[0]); refused.status == http.StatusOK {
			passed++
		}
		return refused.status != http.StatusOK
	})
	if most := 2 + earned(began, 2); passed < 2 || passed > most {
		t.Errorf("the key made %d requests, want 2 to %d", passed, most)
	}
	h.wantProblem(refused, http.StatusTooManyRequests, fieldmark.CodeRateLimited)
	if policy := refused.header.Get("RateLimit-Policy"); policy != `"reads";q=2;w=60` {
		t.Errorf("a key beyond its own rate is refused by %s", policy)
	}
	a := get(bearers[1])
	least := 6 - passed - 1
	if got, most := remaining(a, "account-reads"), least+earned(began, 6); got < least || got > most {
		t.Errorf("the other key has %s, want %d to %d", a.header.Get("RateLimit"), least, most)
	}
	offer(30)
	get(bearers[1]) // the response has the new rate
	if a = get(bearers[1]); !strings.HasPrefix(a.header.Get("RateLimit-Policy"), `"account-reads";q=30;`) {
		t.Errorf("after the offer was raised the policy is %s", a.header.Get("RateLimit-Policy"))
	}
}

// earned returns how many requests of a rate, which is by the minute, a client may have
// earned since a time.
func earned(since time.Time, rate int) int {
	return int(time.Since(since) / (time.Minute / time.Duration(rate)))
}

// remaining returns what an answer says is left by the first of its policies; -1: nothing.
func remaining(a answer, policy string) int {
	left, _, _ := strings.Cut(strings.TrimPrefix(a.header.Get("RateLimit"), `"`+policy+`";r=`), ";")
	if n, err := strconv.Atoi(left); err == nil {
		return n
	}
	return -1
}

// badKey returns a well-formed key that the origin does not know.
func badKey(n int) string {
	return "Bearer " + fieldmark.NewKeyToken(fmt.Sprintf("%08d", n),
		strings.Repeat("x", fieldmark.KeySecretChars)).String()
}

// TestRateLimitOfNetworks: requests without a key are counted for their network,
// and those with an unknown key for that key alone: a client behind the same
// address as others is never refused because of them.
func TestRateLimitOfNetworks(t *testing.T) {
	h := newLimitedFixture(t)
	began := time.Now()
	for i := range 30 {
		for policy, header := range map[string][]string{"anonymous": nil, "unverified": {"Authorization", badKey(0)}} {
			a := h.do("GET", fieldmark.PathMissions, "", header...)
			got, least := remaining(a, policy), 29-i
			if most := least + earned(began, 30); a.status != 401 || got < least || got > most {
				t.Fatalf("request %d, %s: %d, %s; want 401, r=%d to %d", i, policy, a.status, a.header.Get("RateLimit"),
					least, most)
			}
		}
	}
	for _, header := range [][]string{nil, {"Authorization", "Bearer nonsense"}, {"Authorization", badKey(0)}} {
		h.until("a request is refused", func() bool {
			before := h.asked.Load()
			a := h.do("GET", fieldmark.PathMissions, "", header...)
			if a.status == 401 && earned(began, 30) > 0 {
				return false // a slow machine earns some more meanwhile
			}
			h.wantProblem(a, http.StatusTooManyRequests, fieldmark.CodeRateLimited)
			if n := h.asked.Load() - before; n != 0 {
				t.Errorf("a refused request cost the origin %d", n)
			}
			return true
		})
	}
	if a := h.do("GET", fieldmark.PathMissions, "", "Authorization", badKey(1)); a.status != 401 {
		t.Errorf("another unknown key: %d, want 401", a.status)
	}
	good := h.key(0, 0)
	for _, method := range []string{"GET", "POST"} {
		if a := h.do(method, fieldmark.PathMissions, "{}", "Authorization", good); a.status == 429 || a.status == 401 {
			t.Errorf("%s with a good key that is new to the node: %d %s", method, a.status, a.header.Get("RateLimit"))
		}
	}
	if a := h.get("/api/badge/acme"); a.status != 404 || a.header.Get("RateLimit") != "" {
		t.Errorf("a badge is counted: %d %v", a.status, a.header)
	}
}

// TestMadeUpKeys: where no key is verified, a request with an unknown key counts as one without a key.
func TestMadeUpKeys(t *testing.T) {
	h := newLimitedFixture(t)
	h.brand("acme", "Acme", 500)
	h.until("the brand is ranked", func() bool { return h.board().Total == 1 })
	h.until("a request is refused", func() bool {
		return h.do("GET", "/?q=acme", "", "Authorization", badKey(0)).status == http.StatusTooManyRequests
	})
	for _, path := range []string{"/?q=acme", "/compare?brands=acme", "/badges?q=acme", "/llms-txt",
		fieldmark.PathScores, fieldmark.PathDumps, "/api/badge/acme.png?scale=3"} {
		// A request is earned in two seconds, so that each path is refused, if not at once.
		h.until(path+" is refused", func() bool {
			return h.do("GET", path, "", "Authorization", badKey(1)).status == http.StatusTooManyRequests
		})
	}
	good := h.key(0, 0)
	if a := h.do("GET", fieldmark.PathMissions, "", "Authorization", good); a.status != http.StatusOK {
		t.Fatalf("a good key: %d", a.status)
	}
	if a := h.do("GET", "/?q=acme", "", "Authorization", good); a.status != http.StatusOK {
		t.Errorf("a key that the node has seen: %d", a.status)
	}
}

// TestRateLimitOfBatches: a batch counts as its missions. One that is larger than
// the burst passes, and what follows waits for all of it.
func TestRateLimitOfBatches(t *testing.T) {
	h := newLimitedFixture(t)
	bearer, began := h.key(0, 6), time.Now() // one in ten seconds
	for i, tt := range []struct {
		missions, padding, status, remaining int
	}{
		{1, 0, 200, 5},     // by a key that the node does not know yet
		{2, 0, 200, 3},     // by one that it knows
		{2, 40000, 200, 1}, // longer than a body that is read before it is passed on
		{9, 0, 200, 0},     // one is left, so it passes
		{1, 0, 429, 0},
	} {
		var missions []string
		for j := range tt.missions {
			missions = append(missions, fmt.Sprintf(`{"source":"s","externalId":"%d-%d","title":%q}`, i, j,
				strings.Repeat("t", 20+tt.padding)))
		}
		body := `{"missions":[` + strings.Join(missions, ",") + `]}`
		a := h.do("POST", fieldmark.PathMissionBatch, body, "Authorization", bearer, "Content-Type", "application/json")
		got, most := remaining(a, "writes"), tt.remaining+earned(began, 6)
		if a.status != tt.status || got < tt.remaining || got > most {
			t.Fatalf("batch of %d: %d, %s; want %d, r=%d to %d: %.300s", tt.missions, a.status,
				a.header.Get("RateLimit"), tt.status, tt.remaining, most, a.body)
		}
		least := 80 - int(time.Since(began).Seconds())
		if after, _ := strconv.Atoi(a.header.Get("Retry-After")); a.status == 429 && after < least {
			t.Errorf("Retry-After %d behind eight more than were left, at one in ten seconds; want %d", after, least)
		}
	}
}

// TestNetworkQuota: what one network makes the origin do is bounded, whatever it
// asks for, and an answer names the policy that ended; what the node answers
// itself is not counted.
func TestNetworkQuota(t *testing.T) {
	w := newRecordingOrigin(t, func(c *edge.Config) { c.RateLimit, c.NetworkQuota = edge.RateLimitLocal, 5 })
	began, answered := time.Now(), 0
	for i := range 20 {
		a := w.get(fmt.Sprintf("/page/%d", i))
		want, policy := http.StatusTooManyRequests, `"network";q=5;w=60`
		if answered < 5+earned(began, 5) && (i < 5 || a.status == 200) {
			want, policy = 200, ""
			answered++
		}
		if a.status != want || a.header.Get("RateLimit-Policy") != policy {
			t.Errorf("request %d: %d, policy %s; want %d, %s", i, a.status, a.header.Get("RateLimit-Policy"), want,
				policy)
		}
	}
	if asked, _ := w.take(); len(asked) != answered {
		t.Errorf("the origin was asked %d times, want %d", len(asked), answered)
	}
	for name, tt := range map[string]struct{ bearer, policy, rate string }{
		"no key": {"", `"anonymous";q=30;w=60, "network";q=5;w=60`,
			`^"anonymous";r=29;t=2, "network";r=0;t=\d+$`},
		"a key of its own": {badKey(7), `"unverified";q=30;w=60, "network";q=5;w=60`,
			`^"unverified";r=29;t=2, "network";r=0;t=\d+$`},
	} {
		var a answer
		w.until("the network has no request left", func() bool {
			if w.get("/page").status == http.StatusOK {
				return false
			}
			a = w.get(fieldmark.PathMissions, "Authorization", tt.bearer)
			if a.status == http.StatusTooManyRequests {
				return true
			}
			time.Sleep(2 * time.Second) // it has earned one between the two; the other rate is whole again then
			return false
		})
		w.wantProblem(a, http.StatusTooManyRequests, fieldmark.CodeRateLimited)
		if a.header.Get("RateLimit-Policy") != tt.policy ||
			!regexp.MustCompile(tt.rate).MatchString(a.header.Get("RateLimit")) {
			t.Errorf("%s: policy %s, rate %s", name, a.header.Get("RateLimit-Policy"), a.header.Get("RateLimit"))
		}
		if !strings.Contains(a.body, `the policy \"network\"`) {
			t.Errorf("%s: the problem does not name the policy: %s", name, a.body)
		}
	}
}

// TestNetworkQuotaBehindAProxy: a trusted proxy is not a client. Requests for which
// it names no client have no network quota; those for which it names one do.
func TestNetworkQuotaBehindAProxy(t *testing.T) {
	w := newRecordingOrigin(t, trustLoopback, func(c *edge.Config) {
		c.RateLimit, c.NetworkQuota = edge.RateLimitLocal,
			5
	})
	began, answered := time.Now(), 0
	for i := range 20 {
		if a := w.get(fmt.Sprintf("/page/%d", i)); a.status != http.StatusOK {
			t.Errorf("request %d for no client: %d, want 200", i, a.status)
		}
		a := w.get(fmt.Sprintf("/other/%d", i), "X-Forwarded-For", "198.51.100.1")
		want := http.StatusTooManyRequests
		if answered < 5+earned(began, 5) && (i < 5 || a.status == http.StatusOK) {
			want = http.StatusOK
			answered++
		}
		if a.status != want {
			t.Errorf("request %d for one client: %d, want %d", i, a.status, want)
		}
	}
}

// TestFloodOfSlugs: names that are no brand's cost the origin nothing.
func TestFloodOfSlugs(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.brand("acme", "Acme", 300)
	h.brand("young", "Young", -1)
	h.catchUp()
	h.until("the pending brand is known", func() bool { return h.get("/api/v1/score/young").status == 200 })
	before := h.asked.Load()
	for i := range 300 {
		for _, path := range []string{"/api/badge/flood-%d", "/api/badge/flood-%d.png",
			"/api/badge/flood-%d?theme=dark", "/api/v1/score/flood-%d", "/brands/flood-%d"} {
			if a := h.get(fmt.Sprintf(path, i)); a.status != 404 {
				t.Fatalf(path+": %d", i, a.status)
			}
		}
	}
	if n := h.asked.Load() - before; n != 0 {
		t.Errorf("1500 requests for names nobody has cost the origin %d", n)
	}
}

// TestFilterQuota: a client can name any number of filters of the leaderboard, each of which reads every brand, so
// those that are not cached count for its network. The leaderboard itself does not.
func TestFilterQuota(t *testing.T) {
	t.Parallel()
	h := newFixture(t, func(c *edge.Config) { c.RateLimit, c.NetworkQuota = edge.RateLimitLocal, 5 })
	h.brand("acme", "Acme", 300)
	h.catchUp()
	for _, path := range []string{"/api/v1/leaderboard", "/"} {
		asked := 0
		h.until("the network has no request left at "+path, func() bool {
			asked = asked%99 + 1 // another filter each time
			return h.get(fmt.Sprintf("%s?minConfidence=0.%02d", path, asked)).status == http.StatusTooManyRequests
		})
		for i := range 20 {
			if a := h.get(fmt.Sprintf("%s?limit=%d", path, 1+i)); a.status != http.StatusOK {
				t.Fatalf("%s without a filter: %d", path, a.status)
			}
		}
	}
}
