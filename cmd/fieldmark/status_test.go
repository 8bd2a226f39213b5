package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// TestStatus checks the output of the status command and the metrics of a ready node.
func TestStatus(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir, append([]string{"serve"}, freePorts("var")...)...)
	base, debug := p.logged("serve", "listen"), p.logged("serve", "debug")
	waittest.Until(t, "the node is ready", func() bool {
		status, _, _, err := try("GET", debug+"/readyz", "")
		return err == nil && status == http.StatusOK
	})
	for range 3 {
		ask(t, "GET", base+"/api/v1/leaderboard", "")
	}
	out := runOnce(t, dir, "status", "--node", debug)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 2 {
		t.Fatalf("status prints %d lines, want a heading and a node:\n%s", len(lines), out)
	}
	for _, want := range []string{debug, "serve", "ready", "MiB"} {
		if !strings.Contains(lines[1], want) {
			t.Errorf("status of a node says nothing of %q:\n%s", want, out)
		}
	}
	if quiet := runOnce(t, dir, "status", "--quiet", "--node", debug); quiet != "" {
		t.Errorf("status --quiet prints %q", quiet)
	}
	_, _, text := ask(t, "GET", debug+"/metrics", "")
	for _, want := range []string{`fieldmark_build_info{role="serve"`,
		`fieldmark_origin_requests_total{route="internal",class="2xx"}`,
		"fieldmark_database_up 1", "fieldmark_webhook_backlog 0", "fieldmark_edge_event "} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics have no %s", want)
		}
	}
	p.stop()
}

// TestFit: on a small terminal, lines are cut instead of wrapped, and the first lines stay.
func TestFit(t *testing.T) {
	text := strings.Repeat("NODE ▁▂▃▄▅▆▇█ and more\n", 30)
	for _, row := range []struct {
		columns, rows int
		want          string
	}{
		{40, 24, strings.Repeat("NODE ▁▂▃▄▅▆▇█ and more\n", 22) + "… 8 more lines; --once prints all\n"},
		{10, 40, strings.Repeat("NODE ▁▂▃▄…\n", 30)},
		{8, 3, "NODE ▁▂…\n… 29 mo…\n"},
		{0, 0, "…\n"},
	} {
		if got := fit(text, row.columns, row.rows); got != row.want {
			t.Errorf("%d×%d:\n%s, want\n%s", row.columns, row.rows, got, row.want)
		}
	}
}
