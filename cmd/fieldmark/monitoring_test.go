package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// TestMetricsTable compares the runbook's table of metrics with those of a node, and
// the dashboard and the alert rules with both.
func TestMetricsTable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key := newKeyAt(t, dir, nil, "mission:create", "admin:*")
	p := start(t, dir, append([]string{"serve", "--public-api"}, freePorts("var")...)...)
	base, debug := p.logged("serve", "listen"), p.logged("serve", "debug")
	waittest.Until(t, "the node is ready", func() bool {
		status, _, _, err := try("GET", debug+"/readyz", "")
		return err == nil && status == http.StatusOK
	})
	ask(t, "GET", base+"/nowhere", "")
	ask(t, "POST", base+"/api/public/v1/missions", missionJSON("1"), "Authorization", "Bearer "+key)
	ask(t, "PUT", base+"/api/admin/v1/brands/acme",
		`{"name":"Acme","url":"https://acme.example/","niche":"tools","language":"en","public":true}`, "Authorization",
		"Bearer "+key)
	var text string
	waittest.Until(t, "the metrics tell of the mission and of the purge", func() bool {
		_, _, text = ask(t, "GET", debug+"/metrics", "")
		return regexp.MustCompile(
			`(?s)fieldmark_edge_purge_lag_seconds_count [1-9].*fieldmark_events_total\{type="mission.created"\} ` +
				`1\b.*fieldmark_missions_open\{status="NEW"\} 1\b`).MatchString(text)
	})
	checkMetrics(t, text)
	has := map[string]bool{}
	for line := range strings.Lines(text) {
		name, _, _ := strings.Cut(line, " ")
		name, _, _ = strings.Cut(name, "{")
		for _, end := range []string{"_bucket", "_sum", "_count"} { // of a histogram
			name = strings.TrimSuffix(name, end)
		}
		if strings.HasPrefix(name, "fieldmark_") {
			has[name] = true
		}
	}
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(fieldmark_[a-z0-9_]+)").FindAllStringSubmatch(readFile(t, "..",
		"..", "deploy", "README.md"), -1) {
		listed[m[1]] = true
		if !has[m[1]] && !strings.Contains(onDemand, m[1]) {
			t.Errorf("deploy/README.md lists %s, which a node does not have", m[1])
		}
	}
	for name := range has {
		if current := strings.Replace(name, "fieldmark_record_", "fieldmark_database_", 1); !listed[current] {
			t.Errorf("deploy/README.md does not list %s", current)
		}
	}
	for _, file := range []string{"grafana/fieldmark.json", "alerts/fieldmark.rules.yml"} {
		for _, name := range regexp.MustCompile(`\b(fieldmark|process)_[a-z0-9_]+`).FindAllString(readFile(t, "..",
			"..", "deploy", file), -1) {
			plain := name
			for _, end := range []string{"_sum", "_count", "_bucket"} {
				plain = strings.TrimSuffix(plain, end)
			}
			if !listed[plain] && !strings.HasPrefix(name, "process_") {
				t.Errorf("%s asks for %s, which the runbook does not list", file, name)
			}
		}
	}
	p.stop()
}

// checkMetrics validates the metrics of a node with promtool.
func checkMetrics(t *testing.T, text string) {
	t.Helper()
	promtool := promtoolPath(t)
	if promtool == "" {
		return
	}
	cmd := exec.Command(promtool, "check", "metrics")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

// promtoolPath returns the path of promtool, or "" if it may be missing.
func promtoolPath(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatalf("this test needs promtool (Debian: apt-get install prometheus): %v", err)
	}
	return path
}

// onDemand are metrics that appear with their first observation.
const onDemand = "fieldmark_edge_cache_fill_seconds fieldmark_edge_score_seconds fieldmark_origin_request_seconds " +
	"fieldmark_webhook_attempts_total fieldmark_trace_spans_total " +
	"fieldmark_edge_certificate_days fieldmark_edge_certificate_lifetime_days " +
	"fieldmark_cdn_lag_seconds fieldmark_cdn_probe_state fieldmark_cdn_state " + // of the CDNs that are configured
	"fieldmark_database_partitions_ahead " +
	"fieldmark_database_replica_up fieldmark_database_replica_lag_events fieldmark_database_replica_reads_total " +
	"fieldmark_mirror_fence fieldmark_mirror_head fieldmark_mirror_lag_events fieldmark_mirror_lag_seconds " +
	"fieldmark_edge_spool_requests fieldmark_edge_spool_bytes fieldmark_edge_spool_oldest_seconds " + // with a spool
	"fieldmark_edge_spool_accepted_total fieldmark_edge_spool_sent_total fieldmark_edge_spool_refused_total " +
	"fieldmark_edge_spool_failures_total"

// TestAlertsNameTheirPage checks that every alert links to a heading of the runbook.
func TestAlertsNameTheirPage(t *testing.T) {
	const page = "https://github.com/fieldmark/fieldmark/blob/main/deploy/README.md#"
	anchors := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#{2,} (.+)$`).FindAllStringSubmatch(readFile(t, "..", "..", "deploy",
		"README.md"), -1) {
		plain := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		anchors[strings.ReplaceAll(plain, " ", "-")] = true
	}
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert       string
				Annotations struct{ Summary, Runbook string }
			}
		}
	}
	must(t, yaml.Unmarshal([]byte(readFile(t, "..", "..", "deploy", "alerts", "fieldmark.rules.yml")), &file))
	tests := readFile(t, "..", "..", "deploy", "alerts", "fieldmark.test.yml")
	n := 0
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			n++
			anchor, ok := strings.CutPrefix(rule.Annotations.Runbook, page)
			if !ok || !anchors[anchor] || rule.Annotations.Summary == "" {
				t.Errorf("%s: runbook %q, want %s and the anchor of a heading", rule.Alert, rule.Annotations.Runbook,
					page)
			}
			if !strings.Contains(tests, "alertname: "+rule.Alert+"\n        exp_alerts") {
				t.Errorf("%s: no test fires it", rule.Alert)
			}
		}
	}
	if n < 19 {
		t.Errorf("read %d alerts, want all", n)
	}
}

// TestWatching validates the alert rules with promtool and decodes the dashboard as
// Grafana does.
func TestWatching(t *testing.T) {
	t.Parallel()
	var board struct {
		UID    string
		Panels []struct {
			ID      int
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	must(t, json.Unmarshal([]byte(readFile(t, "..", "..", "deploy", "grafana", "fieldmark.json")), &board))
	seen := map[int]bool{}
	for _, p := range board.Panels {
		if seen[p.ID] || p.Title == "" || len(p.Targets) == 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %d %q: an id twice, no title, nothing to show, or wider than the board", p.ID, p.Title)
		}
		seen[p.ID] = true
	}
	promtool := promtoolPath(t)
	if promtool == "" {
		t.Skip("no promtool")
	}
	for _, args := range [][]string{{"check", "rules", "fieldmark.rules.yml"},
		{"test", "rules", "fieldmark.test.yml"}} {
		cmd := exec.Command(promtool, args...)
		cmd.Dir = "../../deploy/alerts"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
	var rules strings.Builder
	rules.WriteString("groups:\n- name: dashboard\n  rules:\n")
	for _, p := range board.Panels {
		for i, target := range p.Targets {
			fmt.Fprintf(&rules, "  - {record: 'panel_%d_%d', expr: %q}\n", p.ID, i,
				strings.ReplaceAll(target.Expr, "$node", "edge-a"))
		}
	}
	file := filepath.Join(t.TempDir(), "dashboard.yml")
	must(t, os.WriteFile(file, []byte(rules.String()), 0o600))
	if out, err := exec.Command(promtool, "check", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("promtool does not understand what the dashboard asks: %v\n%s", err, out)
	}
}
