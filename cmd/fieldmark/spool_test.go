package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/porttest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// TestSpoolProcesses sends missions through an edge with a spool while the origin is killed and comes back, and kills
// the edge in between. Every mission that was accepted is created once. The suite kills 9 processes, make chaos 201.
func TestSpoolProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	token := strings.Repeat("n", 32)
	key := newKey(t, dir, "mission:create", "mission:read")
	at, edgeAt := porttest.Address(t), porttest.Address(t)
	startOrigin := func() *process {
		p := start(t, dir, "origin", "--data", "var", "--node-token", token, "--public-api", "--origin-listen", at,
			"--debug-listen", "127.0.0.1:0")
		p.logged("origin", "listen")
		return p
	}
	startEdge := func() *process {
		p := start(t, dir, "edge", "--origin", "http://"+at, "--node-token", token, "--listen", edgeAt,
			"--debug-listen", "127.0.0.1:0", "--spool", filepath.Join(dir, "spool"))
		p.logged("edge", "listen")
		return p
	}
	base := "http://" + edgeAt
	origin, edge := startOrigin(), startEdge()
	// learn waits until the edge trusts the origin, to which it sends its token from then on, and has
	// recorded the key.
	learn := func() {
		debug := edge.logged("edge", "debug")
		waittest.Until(t, "the edge is ready", func() bool {
			status, _, _, err := try("GET", debug+"/readyz", "")
			return err == nil && status == 200
		})
		if status, _, _ := ask(t, "GET", base+fieldmark.PathMissions+"?limit=1", "", "Authorization",
			"Bearer "+key); status != 200 {
			t.Fatalf("list missions: %d", status)
		}
	}
	learn()
	var mu sync.Mutex
	accepted := map[string]string{} // externalId of what was accepted: address; "" if it was created
	next, later := 0, 0
	// send sends n missions at once from several clients, and returns when each has an answer.
	send := func(n int) {
		var wg sync.WaitGroup
		for range n {
			next++
			id := fmt.Sprintf("m-%d", next)
			wg.Go(func() {
				status, head, _, err := try("POST", base+fieldmark.PathMissions, fmt.Sprintf(
					`{"source":"s%d","externalId":%q,"title":"Work"}`, len(id)%3, id), "Authorization", "Bearer "+key,
					"Content-Type", "application/json", "Prefer", "respond-async")
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err != nil || status == 503 || status == 504: // not accepted
				case status == 201:
					accepted[id] = ""
				case status == 202:
					accepted[id] = head.Get("Location")
					later++
				default:
					t.Errorf("%s: %d", id, status)
				}
			})
		}
		wg.Wait()
	}
	rounds := 3
	if *chaos {
		rounds = 67
	}
	for range rounds {
		send(20)
		origin.kill()
		send(20)
		killed := make(chan struct{})
		go func() { defer close(killed); edge.kill() }() // while requests arrive
		send(10)
		<-killed
		edge = startEdge()
		origin = startOrigin()
		waittest.Until(t, "the edge sends its spool", func() bool {
			_, _, body, err := try("GET", edge.logged("edge", "debug")+"/metrics", "")
			// The spool may be empty: the edge was killed before it had accepted anything.
			return err == nil && (!strings.Contains(body, "fieldmark_edge_spool_sent_total 0") ||
				strings.Contains(body, "fieldmark_edge_spool_requests 0"))
		})
		origin.kill() // while the spool is sent, or just after
		origin = startOrigin()
		learn()
	}
	if later == 0 {
		t.Fatal("nothing was accepted while the origin was unreachable")
	}
	for id, address := range accepted {
		if address == "" {
			continue
		}
		waittest.Until(t, id+" is decided", func() bool {
			var in fieldmark.Intake
			_, _, body, err := try("GET", base+address, "", "Authorization", "Bearer "+key)
			return err == nil && json.Unmarshal([]byte(body), &in) == nil && in.State == fieldmark.IntakeMission
		})
	}
	count := map[string]int{}
	for cursor := ""; ; {
		var page fieldmark.List[fieldmark.Mission]
		waittest.Until(t, "the missions are listed", func() bool { // those above may have used up the limit of reads
			status, _, body, err := try("GET", base+fieldmark.PathMissions+"?limit=200"+cursor, "", "Authorization",
				"Bearer "+key)
			if err != nil || status != 200 {
				t.Logf("list missions: %d %v %s", status, err, body)
				return false
			}
			return json.Unmarshal([]byte(body), &page) == nil
		})
		for _, m := range page.Data {
			count[m.ExternalID]++
		}
		if !page.HasMore {
			break
		}
		cursor = "&cursor=" + page.NextCursor
	}
	for id := range accepted {
		if count[id] != 1 {
			t.Errorf("%s was accepted and exists %d times", id, count[id])
		}
	}
	t.Logf("%d answered with success, %d of them accepted without an origin; %d missions", len(accepted), later,
		len(count))
}
