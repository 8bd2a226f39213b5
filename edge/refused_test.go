package edge_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/internal/testkit/wasmtest"
)

// TestQuotaOfOneNetwork: a request refused because of one network's quota succeeds for
// others who send the same request at the same moment.
func TestQuotaOfOneNetwork(t *testing.T) {
	const greedy, other = "198.51.100.1", "198.51.100.2"
	h := newFixture(t)
	h.quota(1)
	began := time.Now()
	if a := h.write(aBrand, "X-Forwarded-For", greedy); a.status != http.StatusOK {
		t.Fatalf("the first request: %d %s", a.status, a.body)
	}
	var second string
	a := h.untilRefused(began, "another text", func(n int) answer {
		second = strings.Replace(aBrand, "Acme", fmt.Sprint("Bcme ", n), 1)
		return h.write(second, "X-Forwarded-For", greedy)
	})
	h.wantProblem(a, 429, fieldmark.CodeRateLimited)
	if a := h.write(second, "X-Forwarded-For", other); a.status != http.StatusOK {
		t.Errorf("the same request of another network: %d %s, want 200", a.status, a.body)
	}
	a = h.untilRefused(began, "the form", func(n int) answer {
		form := url.Values{"name": {fmt.Sprint("Ccme ", n)}, "niche": {"Tools"},
			"description": {"Ccme makes hammers that last."}}.Encode()
		return h.do("POST", "/llms-txt", form, "Content-Type", "application/x-www-form-urlencoded", "X-Forwarded-For",
			greedy)
	})
	if a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" {
		t.Errorf("the form: %d %v, want 429 with Retry-After", a.status, a.header)
	}
}

// quota puts a node in front of the origin that lets one network cause so many
// requests a minute there, and accepts the client address of a test.
func (h *fixture) quota(perMinute int) {
	h.t.Helper()
	h.change = func(c *edge.Config) {
		trustLoopback(c)
		c.RateLimit, c.NetworkQuota = edge.RateLimitLocal, perMinute
	}
	h.startEdge()
}

// untilRefused makes requests of a network that has used up its quota of one a minute since a
// time, each for something that is not cached, and returns the answer that refuses one.
func (h *fixture) untilRefused(since time.Time, what string, ask func(n int) answer) (a answer) {
	h.t.Helper()
	passed := 0
	h.until(what+" is refused", func() bool { // a slow machine earns one more meanwhile
		if a = ask(passed); a.status == http.StatusTooManyRequests {
			return true
		}
		passed++
		return false
	})
	if most := earned(since, 1); passed > most {
		h.t.Errorf("%s: %d requests passed, at most %d", what, passed, most)
	}
	return a
}

// TestQuotaOfUncachedNames: a client can name any number of times, periods and
// digests, so those that are not in the cache count for its network.
func TestQuotaOfUncachedNames(t *testing.T) {
	const greedy, other = "198.51.100.1", "198.51.100.2"
	h := newFixture(t)
	h.brand("acme", "Acme", 300)
	h.quota(1)
	h.catchUp()
	digest, now := strings.Repeat("0", 64), time.Now().UTC()
	for client, path := range map[string]string{
		"198.51.100.3": "/api/v1/score/acme?asOf=",
		"198.51.100.4": "/api/v1/score/acme/history?from=",
	} {
		today, began := now.Format(time.DateOnly), time.Now()
		for i := range 2 {
			if a := h.get(path+today, "X-Forwarded-For", client); a.status != http.StatusOK {
				t.Errorf("%s%s: %d %s, want 200: it counts once", path, today, a.status, a.body)
			}
			n := 0
			h.until("it is in memory, which stores in the background", func() bool {
				n++ // another network each time, because each miss counts
				network := fmt.Sprintf("%d.%d.%d.1", 203+i, n/256, n%256)
				h.get(path+today, "X-Forwarded-For", network) // counted, unless it is in memory
				return h.get(path+today, "X-Forwarded-For", network).status == http.StatusOK
			})
		}
		a := h.untilRefused(began, path, func(n int) answer {
			return h.get(path+now.AddDate(0, 0, -1-n).Format(time.DateOnly), "X-Forwarded-For", client)
		})
		h.wantProblem(a, 429, fieldmark.CodeRateLimited)
		if a.header.Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", path)
		}
		if a := h.get("/api/v1/score/acme", "X-Forwarded-For", client); a.status != http.StatusOK {
			t.Errorf("the present score: %d %s, want 200: it is not counted", a.status, a.body)
		}
	}
	began := time.Now()
	for _, path := range []string{"/api/v1/modules/sha256:" + digest, "/api/v1/score/acme/facts/sha256:" + digest} {
		h.get(path, "X-Forwarded-For", greedy)
		a := h.untilRefused(began, path, func(n int) answer {
			return h.get(fmt.Sprintf("%s%02d", path[:len(path)-2], 1+n), "X-Forwarded-For", greedy)
		})
		h.wantProblem(a, 429, fieldmark.CodeRateLimited)
	}
	h.wantProblem(h.get("/api/v1/modules/sha256:"+digest, "X-Forwarded-For", other), 404, fieldmark.CodeNotFound)
}

// TestShareOfUncachedNames: one network has a quarter of what may wait for such
// answers at the same time.
func TestShareOfUncachedNames(t *testing.T) {
	const share = 32
	h := newFixture(t)
	h.change = trustLoopback
	h.brand("acme", "Acme", 300)
	h.startEdge()
	h.catchUp()
	release, asked := h.hang(func(r *http.Request) bool { return r.URL.Query().Has("asOf") })
	now := time.Now().UTC()
	get := func(day int, client string) answer {
		at := now.AddDate(0, 0, -day).Format(time.DateOnly)
		return h.get("/api/v1/score/acme?asOf="+at, "X-Forwarded-For", client)
	}
	var all sync.WaitGroup
	for day := range share {
		all.Go(func() { get(day, "198.51.100.1") })
	}
	h.until("the origin has them", func() bool { return asked.Load() == share })
	a := get(share, "198.51.100.1")
	h.wantProblem(a, 503, fieldmark.CodeOverloaded)
	if a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	all.Go(func() { get(share, "198.51.100.2") })
	h.until("the origin has that of another network", func() bool { return asked.Load() == share+1 })
	release()
	all.Wait()
}

// TestOriginThatRefusesTheNode: what the node asks for itself is no fault of its
// client's, whatever the origin answers.
func TestOriginThatRefusesTheNode(t *testing.T) {
	h := newFixture(t)
	h.brand("acme", "Acme", 300)
	h.catchUp()
	digest := strings.Repeat("0", 64)
	paths := []string{"/api/v1/score/acme?asOf=2020-01-%02d", "/api/v1/score/acme/history?from=2026-11-%02d",
		"/api/v1/modules/sha256:" + digest[2:] + "%02d", "/api/v1/score/acme/facts/sha256:" + digest[2:] + "%02d"}
	for i, says := range []http.HandlerFunc{
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", fieldmark.ProblemType)
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"status":401,"code":"unauthorized"}`)
		},
		func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>parked</html>") },
	} {
		answers := interceptor(func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasPrefix(r.URL.Path, fieldmark.PathInternalFacts) ||
				strings.HasPrefix(r.URL.Path, fieldmark.PathInternalModules+"/") {
				says(w, r)
				return true
			}
			return false
		})
		h.intercept.Store(&answers)
		for _, path := range paths {
			a := h.get(fmt.Sprintf(path, i+1))
			h.wantProblem(a, 503, fieldmark.CodeOriginUnavailable)
			if a.header.Get("Retry-After") == "" {
				t.Errorf("%s: no Retry-After", path)
			}
		}
	}
}

// TestFaultIsNotOneRequestEach: readers of a brand that the active module cannot
// score, and of which nothing is cached, share what there is instead.
func TestFaultIsNotOneRequestEach(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.brand("plain", "Plain", 500)
	h.brand("odd", "Odd", wasmtest.BadWords)
	h.catchUp()
	bad := h.activate(wasmtest.Bad(t, "1.0.1"))
	h.until("the module is active", func() bool { return h.edge.Report().Module == bad })
	h.startEdge() // a node that has nothing of the module before
	h.score("odd")
	const readers = 100
	before := h.asked.Load()
	for range readers {
		h.score("odd")
	}
	if asked := h.asked.Load() - before; asked >= readers/2 {
		t.Errorf("%d readers caused %d requests to the origin", readers, asked)
	}
}
