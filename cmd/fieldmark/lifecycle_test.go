package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
)

// TestLifecycleCommands sets SLA policies and follows a payment, from the command line
// through an edge to the database.
func TestLifecycleCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key, admin := newKey(t, dir, "mission:create"), newKey(t, dir, "admin:*")
	p := start(t, dir, append([]string{"serve", "--public-api", "--payment-due-on", "COMPLETED"},
		freePorts("var")...)...)
	base := p.logged("serve", "listen")
	run := func(want string, args ...string) string {
		t.Helper()
		got := runOnce(t, dir, append(args, "--url", base, "--admin-key", admin)...)
		if !strings.Contains(got, want) {
			t.Errorf("fieldmark %s prints %q, want %q", strings.Join(args, " "), got, want)
		}
		return got
	}
	calendar := `{"timeZone":"Europe/Vienna","hours":[{"days":["MON","FRI"],"from":"07:00","to":"24:00"}],` +
		`"holidays":[{"date":"12-25","name":"Christmas"}]}`
	must(t, os.WriteFile(filepath.Join(dir, "shop.json"), []byte(calendar), 0o600))
	run(`"12-25"`, "sla", "set-calendar", "shop", "shop.json")
	run("HIGH      response 1h30m   onsite 8h      resolution 24h     calendar shop; at risk after 50%, 90%; paused "+
		"by WEATHER",
		"sla", "set-policy", "high", "--response", "90m", "--calendar", "shop", "--at-risk", "90,50", "--paused-by",
		"WEATHER")
	run("calendar shop", "sla", "policies")
	run(`"shop"`, "sla", "calendars")

	status, _, body := ask(t, "POST", base+"/api/public/v1/missions",
		strings.Replace(missionJSON("1"), "{", `{"priority":"HIGH",`, 1), "Authorization", "Bearer "+key)
	var m fieldmark.Mission
	if status != http.StatusCreated || json.Unmarshal([]byte(body), &m) != nil || m.SLA == nil ||
		m.SLA.Metrics[0].TargetMinutes != 90 {
		t.Fatalf("opened under the policy: %d %s", status, body)
	}
	run("PENDING", "payment", "set", m.ID, "125.5 EUR", "--direction", "PAYOUT", "--terms", "NET 7")
	run("COMPLETED", "mission", "complete", m.ID)
	line := run("DUE", "payment", "list", "--status", "due")
	id, _, _ := strings.Cut(line, " ")
	run("PROCESSING", "payment", "processing", id)
	run("FAILED", "payment", "failed", id, "--code", "returned", "--will-retry")
	run("PROCESSING", "payment", "processing", id)
	run("PAID", "payment", "paid", id, "--at", "2026-11-20T10:00:00Z")
	run("PARTIALLY_REFUNDED", "payment", "refund", id, "--amount", "25.50 EUR", "--reference", "R-1")
	run("125.50 EUR", "payment", "refund", id)
	run(`"refundedTotal": 12550`, "payment", "show", id)

	run("", "sla", "reset-policy", "HIGH")
	run("", "sla", "delete-calendar", "shop")
	run("HIGH      response 1h ", "sla", "policies")
	p.stop()
	runOnce(t, dir, "db", "check", "--data", "var")
}
