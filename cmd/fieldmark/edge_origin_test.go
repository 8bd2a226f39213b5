package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// TestSplit runs an origin and two edges as separate processes, and stops the origin.
func TestSplit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	oldToken, newToken := strings.Repeat("n", 32), strings.Repeat("m", 32) // as while the token is changed
	tokens := newToken + "," + oldToken
	admin := newKey(t, dir, "admin:*")
	key := newKey(t, dir, "mission:create")
	origin := start(t, dir, "origin", "--data", "var", "--node-token", tokens, "--public-api", "--origin-listen",
		"127.0.0.1:0", "--debug-listen", "127.0.0.1:0")
	originURL := origin.logged("origin", "listen")
	var edges []string
	var nodes []*process
	for _, token := range []string{oldToken, tokens} {
		p := start(t, dir, "edge", "--origin", originURL, "--node-token", token, "--listen", "127.0.0.1:0",
			"--debug-listen", "127.0.0.1:0")
		edges = append(edges, p.logged("edge", "listen"))
		nodes = append(nodes, p)
		debug := p.logged("edge", "debug")
		waittest.Until(t, "the edge is ready", func() bool {
			status, _, _, err := try("GET", debug+"/readyz", "")
			return err == nil && status == 200
		})
		if _, _, body := ask(t, "GET", debug+"/metrics", ""); !strings.Contains(body, "fieldmark_edge_requests_total") {
			t.Error("the edge has no metrics")
		}
	}
	put := func(base, name string) {
		t.Helper()
		body, err := json.Marshal(map[string]any{"name": name, "url": "https://acme.example/", "niche": "tools",
			"language": "en", "public": true})
		must(t, err)
		if status, _, answer := ask(t, "PUT", base+"/api/admin/v1/brands/acme", string(body), "Authorization",
			"Bearer "+admin); status != 200 && status != 201 {
			t.Fatalf("put the brand: %d %s", status, answer)
		}
	}
	shows := func(name string) func() bool {
		return func() bool {
			for _, base := range edges {
				if _, _, body := ask(t, "GET", base+"/api/v1/score/acme", ""); !strings.Contains(body, `"`+name+`"`) {
					return false
				}
			}
			return true
		}
	}
	put(edges[0], "Acme")
	waittest.Until(t, "both edges show the brand", shows("Acme"))
	put(edges[1], "Acme Two")
	waittest.Until(t, "both edges show the change", shows("Acme Two"))

	origin.kill()
	for _, base := range edges {
		if status, _, svg := ask(t, "GET", base+"/api/badge/acme", ""); status != 200 ||
			!strings.HasPrefix(svg, "<svg") {
			t.Errorf("badge without an origin: %d %s", status, svg)
		}
		status, head, body := ask(t, "POST", base+"/api/public/v1/missions", missionJSON("1"), "Authorization",
			"Bearer "+key)
		if status != 503 || head.Get("Retry-After") == "" || !strings.Contains(body, "origin_unavailable") {
			t.Errorf("mission without an origin: %d %q %s", status, head.Get("Retry-After"), body)
		}
	}
	for _, p := range nodes {
		p.stop()
	}
}
