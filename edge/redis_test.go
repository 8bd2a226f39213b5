package edge_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/cache/rfc9111"
	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/internal/testkit/cachetest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin/client"
)

// TestSharedScoresNeedTheNodeToken reads from Redis what an edge stored there, as
// a process with the node token and as others.
func TestSharedScoresNeedTheNodeToken(t *testing.T) {
	server := cachetest.StartRedis(t)
	h := newFixture(t, func(cfg *edge.Config) {
		cfg.RedisURL = server.URL
		cfg.AllowSlowRedis(waittest.Limit)
	})
	h.brand("acme", "Acme", 100)
	// The version of the document's form is part of the key, so that nodes of another
	// program do not take this one's documents for theirs.
	const key = "score/9/acme" // see scoreFormat
	var stored string
	h.until("the score is shared", func() bool {
		h.get("/api/v1/score/acme")
		for name := range strings.Lines(server.Do("KEYS", "*")) {
			if strings.HasSuffix(strings.TrimSpace(name), key) && !strings.Contains(name, ":lease:") {
				stored = strings.TrimSpace(name)
			}
		}
		return stored != ""
	})
	log := strings.TrimSuffix(strings.TrimPrefix(stored, "fieldmark1:"), ":"+key)
	for secret, want := range map[string]bool{nodeToken: true, "": false, "guess": false} {
		if got := bytes.Contains(readShared(t, server.URL, secret, log, key), []byte(`"Acme"`)); got != want {
			t.Errorf("reading with the secret %q: got the score %t, want %t", secret, got, want)
		}
	}
}

// readShared returns the body of an entry in Redis, nil if it does not open.
func readShared(t *testing.T, url, secret, log, key string) []byte {
	t.Helper()
	r, err := cache.NewRedis(cache.RedisConfig{URL: url, Timeout: time.Minute, Secret: []byte(secret)})
	must(t, err)
	defer r.Close()
	c, err := cache.New(cache.Config{Redis: r})
	must(t, err)
	defer c.Close()
	const anyEvent = 1 << 40
	c.Join(log, anyEvent)
	e, _, err := c.Fetch(t.Context(), key, c.SharedFill(key, time.Second, nil,
		func(context.Context) (*cache.Entry, error) {
			return nil, errors.New("not in Redis")
		}))
	if err != nil {
		return nil
	}
	return e.Body
}

// TestSharedPassed: edges that share proxied responses make one request to the origin for all of them, for a page and
// after each purge of it, and none serves the page from before once it has applied the purge.
func TestSharedPassed(t *testing.T) {
	server := cachetest.StartRedis(t)
	h := newFixture(t, func(cfg *edge.Config) {
		cfg.RedisURL, cfg.PassShared = server.URL, true
		cfg.AllowSlowRedis(waittest.Limit) // after a slow call an edge asks the origin itself
	})
	bases := []string{h.base}
	for range 2 {
		h.startEdge()
		bases = append(bases, h.base)
	}
	var asked atomic.Int64
	h.docs = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=3600")
		w.Header().Set("Surrogate-Key", "manual")
		fmt.Fprint(w, asked.Add(1))
	}
	ask := func(base string) (string, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "GET", base+"/docs/a", http.NoBody)
		must(t, err)
		req.Host = "marks.example" // the host of the fleet
		resp, err := http.DefaultTransport.RoundTrip(req)
		must(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		must(t, err)
		return string(body), resp.Header.Get("Cache-Status")
	}
	for i, r := range []fieldmark.PurgeRequest{{}, {Tags: []fieldmark.Tag{"manual"}}, {URL: "/docs/a", Hard: true},
		{URL: "http://marks.example/docs/a"}, {Everything: true}} {
		if i > 0 {
			_, err := h.service.Purge(t.Context(), "key_test", r)
			must(t, err)
		}
		want := fmt.Sprint(i + 1)
		for _, base := range bases {
			h.until("the purge is followed", func() bool { body, _ := ask(base); return body == want })
			if body, status := ask(base); body != want || !strings.Contains(status, "; hit") {
				t.Errorf("after %+v: %q with %q, want a hit of %q", r, body, status, want)
			}
		}
		if n := asked.Load(); n != int64(i+1) {
			t.Errorf("after %+v: %d requests to the origin, want %d", r, n, i+1)
		}
	}
	var metrics bytes.Buffer
	h.edge.WriteMetrics(&metrics)
	if !strings.Contains(metrics.String(), `fieldmark_edge_passed_total{result="shared"}`) {
		t.Error("no count of answers from the shared tier")
	}
}

// TestSharedPassedNeeds: the setting is refused where answers could not be shared safely.
func TestSharedPassedNeeds(t *testing.T) {
	target, err := url.Parse("http://127.0.0.1:1")
	must(t, err)
	origin, err := client.New(client.Config{BaseURL: target.String(), NodeToken: nodeToken})
	must(t, err)
	full := edge.Config{Origin: origin, OriginURL: target, BaseURL: "http://a.example", PassShared: true,
		NodeToken: nodeToken, RedisURL: "redis://127.0.0.1:1"}
	for what, change := range map[string]func(*edge.Config){
		"no Redis":        func(c *edge.Config) { c.RedisURL = "" },
		"no node token":   func(c *edge.Config) { c.NodeToken = "" },
		"the rfc profile": func(c *edge.Config) { c.Profile = rfc9111.RFC },
	} {
		cfg := full
		change(&cfg)
		if _, err := edge.New(cfg); err == nil || !strings.Contains(err.Error(), "shared proxied responses") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
