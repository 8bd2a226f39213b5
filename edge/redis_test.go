package edge_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/internal/testkit/cachetest"
)

// TestSharedScoresNeedTheNodeToken reads from Redis what an edge stored there, as
// a process with the node token and as others.
func TestSharedScoresNeedTheNodeToken(t *testing.T) {
	server := cachetest.StartRedis(t)
	h := newFixture(t, func(cfg *edge.Config) { cfg.RedisURL = server.URL })
	h.brand("acme", "Acme", 100)
	// The version of the document's form is part of the key, so that nodes of another
	// program do not take this one's documents for theirs.
	const key = "score/7/acme"
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
