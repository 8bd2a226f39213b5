package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/cachetest"
	"github.com/fieldmark/fieldmark/internal/testkit/porttest"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// watched is an origin with its receiver, an edge, Redis and PostgreSQL, each of which is
// killed in turn.
type watched struct {
	t                  testing.TB
	at, admin, account string
}

// issues returns the list of issues as an administrator gets it, also while the database is
// unreachable: then only the page says so.
func (w *watched) issues() (codes []string) {
	w.t.Helper()
	status, _, body, err := try("GET", w.at+"/api/admin/v1/issues", "", "Authorization", "Bearer "+w.admin)
	if err != nil {
		return nil
	}
	if status != 200 {
		_, _, page, err := try("GET", w.at+"/admin", "")
		if err == nil && strings.Contains(page, "The database cannot be reached") {
			return []string{string(fieldmark.IssueDatabaseUnavailable)}
		}
		return nil
	}
	var list fieldmark.IssueList
	must(w.t, json.Unmarshal([]byte(body), &list))
	for _, i := range list.Data {
		codes = append(codes, string(i.Code))
	}
	return codes
}

// shows kills something, waits for its issue, brings it back and waits until nothing is wrong.
func (w *watched) shows(code fieldmark.IssueCode, kill, meanwhile, revive func()) {
	w.t.Helper()
	began := time.Now()
	kill()
	waittest.Until(w.t, string(code), func() bool { return slices.Contains(w.issues(), string(code)) })
	seen := time.Since(began)
	meanwhile()
	revive()
	began = time.Now()
	w.clear()
	w.t.Logf("%s: listed after %v, cleared after %v", code, seen.Round(time.Millisecond),
		time.Since(began).Round(time.Millisecond))
}

func (w *watched) clear() {
	w.t.Helper()
	waittest.Until(w.t, "no issue is left", func() bool {
		status, _, body, err := try("GET", w.at+"/api/admin/v1/issues", "", "Authorization", "Bearer "+w.admin)
		return err == nil && status == 200 && strings.Contains(body, `"data":[]`)
	})
}

// receiver is a webhook receiver that can be killed.
type receiver struct {
	address string
	server  *http.Server
}

func (r *receiver) start(t testing.TB) {
	t.Helper()
	ln, err := net.Listen("tcp", r.address)
	must(t, err)
	r.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})}
	go func() { _ = r.server.Serve(ln) }()
	t.Cleanup(func() { _ = r.server.Close() })
}

// TestIssuesOfProcesses: killing the receiver, Redis, an edge and PostgreSQL lists the right
// issue each time, and what comes back clears it. The log has how long both took.
func TestIssuesOfProcesses(t *testing.T) {
	t.Parallel()
	pg, redis, dir := storetest.StartServer(t), cachetest.StartRedis(t), t.TempDir()
	token, record := strings.Repeat("n", 32), []string{"--database-url", pg.URL, "--secret",
		strings.Repeat("s", minSecret)}
	w := &watched{t: t}
	w.admin = newKeyAt(t, dir, record, "admin:*")
	w.account = newKeyAt(t, dir, record, "mission:create", "webhook:manage")
	origin := start(t, dir, append([]string{"origin", "--node-token", token, "--origin-listen", "127.0.0.1:0",
		"--debug-listen", "127.0.0.1:0", "--public-api", "--allow-networks", "127.0.0.0/8"}, record...)...)
	w.at = origin.logged("origin", "listen")
	listen := porttest.Address(t)
	startEdge := func() *process {
		return start(t, dir, "edge", "--origin", w.at, "--node-token", token, "--redis-url", redis.URL, "--listen",
			listen,
			"--debug-listen", "127.0.0.1:0")
	}
	edge := startEdge()
	waittest.Until(t, "the edge has reported", func() bool {
		_, _, body, err := try("GET", w.at+"/api/admin/v1/modules/status", "", "Authorization", "Bearer "+w.admin)
		return err == nil && strings.Contains(body, `"nod_`)
	})
	hook := &receiver{address: porttest.Address(t)}
	hook.start(t)
	if status, _, body := ask(t, "POST", w.at+"/api/public/v1/webhooks", fmt.Sprintf(
		`{"url":"http://%s/","events":["mission.*"]}`, hook.address), "Authorization",
		"Bearer "+w.account); status != 201 {
		t.Fatalf("create an endpoint: %d %s", status, body)
	}
	w.clear()

	w.shows(fieldmark.IssueCircuitOpen, func() {
		_ = hook.server.Close()
		tries := 0
		for range 6 { // one more than open the circuit
			waittest.Until(t, "a mission is created", func() bool {
				tries++
				status, _, body := ask(t, "POST", w.at+"/api/public/v1/missions", missionJSON(fmt.Sprint(tries)),
					"Authorization", "Bearer "+w.account)
				if status != 201 && status != 503 && status != 504 {
					t.Fatalf("mission: %d %s", status, body)
				}
				return status == 201
			})
		}
	}, func() {}, func() { hook.start(t) })
	w.shows(fieldmark.IssueRedisUnavailable, redis.Kill, func() {
		waittest.Until(t, "top prints the issue and a chart", func() bool { // it waits three seconds for a screen
			out := runOnce(t, dir, "top", "--once", "--node", w.at, "--url", w.at, "--admin-key", w.admin)
			return strings.Contains(out, "Redis does not answer 1 of 1 edge") && strings.Contains(out, "▁▁▁")
		})
	}, redis.Start)
	w.shows(fieldmark.IssueEdgeUnseen, edge.kill, func() {}, func() { edge = startEdge() })
	pg.Outage(func() {
		began := time.Now()
		waittest.Until(t, "the database is listed", func() bool {
			return slices.Contains(w.issues(), string(fieldmark.IssueDatabaseUnavailable))
		})
		t.Logf("database_unavailable: listed after %v", time.Since(began).Round(time.Millisecond))
	})
	began := time.Now()
	w.clear()
	t.Logf("database_unavailable: cleared after %v", time.Since(began).Round(time.Millisecond))
	edge.stop()
	w.clear() // an edge that stops in an orderly way is not missed
	if _, _, body := ask(t, "GET", w.at+"/api/admin/v1/metrics?range=24h", "", "Authorization",
		"Bearer "+w.admin); strings.Count(body, `"p99Micros"`) != 96 {
		t.Errorf("a day of metrics: %s, want 96 points", body)
	}
}
