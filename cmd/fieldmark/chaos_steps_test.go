package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/porttest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/internal/testkit/wasmtest"
	"github.com/fieldmark/fieldmark/wasm"
)

// TestChaos makes the parts of a fleet fail one by one while clients read and write,
// and checks the guarantees: no acknowledged mission is lost or duplicated, every event
// is in the log exactly once and delivered at least once, reads never fail while an
// edge runs, changes are visible everywhere within a second, and no process leaks. The
// suite runs a short version without the slow steps; make chaos runs all of them.
func TestChaos(t *testing.T) {
	outage, calm, wrong := time.Second, time.Second/2, ""
	if *chaos {
		outage, calm, wrong = time.Minute, 10*time.Second, skewed(t)
	}
	h := newChaosFleet(t, outage)
	stop, done := make(chan struct{}), make(chan struct{})
	h.phase.Store(&phase{name: "start"})
	go func() { defer close(done); h.traffic(stop) }()
	all := slices.Concat(h.origins, h.edges)
	killed := all
	if !*chaos {
		killed = []*node{h.origins[0], h.edges[0]}
	}
	h.during("nothing happens", func(p *phase) { h.pass(calm, p, h.edges...) })
	for _, n := range killed {
		h.during("kill -9 of "+n.name, func(p *phase) { h.restart(n, p, n.p.kill) })
	}
	if *chaos {
		for _, n := range all {
			h.during("stop and start of "+n.name, func(p *phase) { h.restart(n, p, n.p.stop) })
		}
	}
	h.during("nothing happens again", func(p *phase) { h.pass(calm, p, h.edges...) })
	goroutines, memory := h.stats(all)
	h.during(fmt.Sprint("Redis is unreachable for ", outage), func(p *phase) {
		h.redis.Kill()
		h.pass(outage, p, h.edges...)
		h.redis.Start()
		h.seen(p, h.edges...)
	})
	h.during(fmt.Sprint("PostgreSQL is unreachable for ", outage), func(p *phase) {
		h.pg.Outage(func() { h.pass(outage, p) })
		began := time.Now()
		_, name := h.change()
		for _, n := range h.edges {
			p.caught = max(p.caught, h.shown(n, name, began))
		}
	})
	if *chaos && h.netns.there() {
		h.during(fmt.Sprint("edge 2 is cut off for ", outage), h.partition)
	}
	h.during("scoring modules change ten times", h.swaps)
	h.during("nothing happens at last", func(p *phase) {
		h.pass(calm, p, h.edges...)
		h.rotated()
	})
	h.grown(all, goroutines, memory)
	if *chaos {
		h.skew(wrong)
	}
	close(stop)
	<-done
	h.reckon()
}

// grown compares the nodes' goroutines and memory with earlier values. Connections
// opened by a burst close after some seconds; what remains is a leak. The short run of
// the suite ends too early to distinguish the two.
func (h *chaosFleet) grown(all []*node, goroutines, memory []int) {
	h.t.Helper()
	now, then := h.stats(all) // goroutines, MiB
	within := func() bool {
		for i := range all {
			if now[i] > goroutines[i]*3/2+50 || then[i] > memory[i]*3/2+16 {
				return false
			}
		}
		return true
	}
	if *chaos {
		waittest.Until(h.t, fmt.Sprintf("no node has more than it had: %v goroutines, %v MiB", goroutines, memory),
			func() bool {
				now, then = h.stats(all)
				return within()
			})
	}
	h.t.Logf("goroutines of %d nodes: %v, then %v; heap in MiB: %v, then %v", len(all), goroutines, now, memory, then)
}

// restart ends a node while the others continue, and starts it again.
func (h *chaosFleet) restart(n *node, p *phase, end func()) {
	end()
	if *chaos {
		h.pass(2*time.Second, p)
	}
	n.start(detector(h.t))
	h.seen(p, h.edges...)
}

// partition disconnects the network of the third edge.
func (h *chaosFleet) partition(p *phase) {
	cut := h.edges[2]
	h.netns.pull()
	h.pass(h.outage, p, h.edges[:2]...)
	at, name := h.change()
	for _, n := range h.edges[:2] {
		h.shown(n, name, at)
	}
	h.netns.plug()
	if p.caught = h.shown(cut, name, time.Now()); p.caught > returned {
		h.t.Errorf("edge 2 was in step %s after its network was back, want %s", p.caught, returned)
	}
	h.seen(p, h.edges...)
}

// swaps activates one module after another.
func (h *chaosFleet) swaps(p *phase) {
	var digests []fieldmark.Digest
	for i, enough := range []int{1000, 2000} {
		module := wasmtest.Words(h.t, fmt.Sprintf("%d.0.0", i+1), "words", enough)
		body, err := json.Marshal(fieldmark.ModulePush{Module: module})
		must(h.t, err)
		if status, _, answer := ask(h.t, "POST", h.edges[0].at+"/api/admin/v1/modules", string(body), "Authorization",
			"Bearer "+h.workload.admin); status/100 != 2 {
			h.t.Fatalf("push a module: %d %s", status, answer)
		}
		ref, err := wasm.Ref(module)
		must(h.t, err)
		digests = append(digests, ref.Digest)
	}
	times := 10
	if !*chaos {
		times = 2
	}
	for i := range times {
		digest := digests[i%2]
		status, _, answer := ask(h.t, "POST", h.edges[i%2].at+"/api/admin/v1/modules/"+string(digest)+"/activate",
			`{"percent":100}`, "Authorization", "Bearer "+h.workload.admin)
		if status != http.StatusOK {
			h.t.Fatalf("activate: %d %s", status, answer)
		}
		at := time.Now()
		for _, n := range h.edges {
			p.caught = max(p.caught, h.shown(n, string(digest), at))
		}
	}
}

// skew sets the clock of an origin an hour ahead and that of an edge an hour back.
func (h *chaosFleet) skew(program string) {
	h.during("an origin an hour ahead, an edge an hour back", func(p *phase) {
		for n, by := range map[*node]string{h.origins[1]: "3600", h.edges[1]: "-3600"} {
			n.p.stop()
			n.start(program, "FIELDMARK_TEST_SKEW="+by)
		}
		h.pass(20*time.Second, p, h.edges...)
	})
	h.during("the clocks are right again", func(p *phase) {
		for _, n := range []*node{h.origins[1], h.edges[1]} {
			h.restart(n, p, n.p.stop)
		}
	})
}

// reckon resolves unanswered requests and compares the acknowledged missions, the log
// and the deliveries.
func (h *chaosFleet) reckon() {
	t, s := h.t, h.workload
	h.report()
	s.settle(h.edges[0].at)
	inLog, moves := map[string]int{}, 0
	var last int64
	for {
		status, _, body := ask(t, "GET", h.origins[0].at+fmt.Sprintf("%s?after=%d", fieldmark.PathInternalEvents, last),
			"", "Authorization", "Bearer "+strings.Repeat("n", minSecret))
		var page fieldmark.EventPage
		if err := json.Unmarshal([]byte(body), &page); status != http.StatusOK || err != nil {
			t.Fatalf("read the log after %d: %d %.300s", last, status, body)
		}
		for _, e := range page.Events {
			if e.Number != last+1 {
				t.Errorf("event %d follows %d", e.Number, last)
			}
			last = e.Number
			var m fieldmark.Mission
			if strings.HasPrefix(string(e.Type), "mission.") && json.Unmarshal(e.Data, &m) == nil {
				inLog[fmt.Sprintf("%s %s %d", m.ID, e.Type, m.Version)]++
				s.mu.Lock()
				if _, arrived := s.events[e.ID]; !arrived {
					t.Errorf("%s of %s is in the log and never arrived", e.Type, m.ID)
				}
				s.mu.Unlock()
			}
		}
		if last >= page.Head {
			break
		}
	}
	for what, n := range inLog {
		if n != 1 {
			t.Errorf("%s is in the log %d times", what, n)
		}
	}
	s.mu.Lock()
	for id, what := range s.arrived {
		for told := range what {
			if inLog[id+" "+told] == 0 {
				t.Errorf("%s of %s arrived and is not in the log", told, id)
			}
		}
	}
	for _, n := range s.moved {
		moves += n
	}
	t.Logf("%d missions, %d moves and %d completions acknowledged; %d events of missions in the log, %d messages "+
		"arrived", len(s.created), moves, len(s.completed), len(inLog), s.messages)
	if len(s.created) == 0 || len(s.completed) == 0 {
		t.Error("too little was written to show anything")
	}
	s.mu.Unlock()
	runOnce(t, h.dir, "db", "check", "--database-url", h.pg.URL)
}

// report prints the observations of clients, one line for each phase.
func (h *chaosFleet) report() {
	var b strings.Builder
	fmt.Fprintf(&b, "%-46s %6s %7s %6s %6s %6s %7s %7s %7s %7s %9s %9s\n", "", "s", "reads", "failed", "stale", "moved",
		"p50 ms", "p99 ms", "max ms", "writes", "change ms", "caught ms")
	h.lock.Lock()
	defer h.lock.Unlock()
	for _, p := range h.all {
		slices.Sort(p.slow)
		at := func(share int) float64 {
			if len(p.slow) == 0 {
				return 0
			}
			return float64(p.slow[min(len(p.slow)*share/100, len(p.slow)-1)].Microseconds()) / 1000
		}
		fmt.Fprintf(&b, "%-46s %6.1f %7d %6d %6d %6d %7.1f %7.1f %7.1f %7d %9d %9d\n", p.name, p.took.Seconds(),
			p.reads, p.failed, p.stale, p.moved, at(50), at(99), at(100), p.wrote, p.slowest.Milliseconds(),
			p.caught.Milliseconds())
	}
	h.t.Logf("what clients saw:\n%s", b.String())
}

// TestDiskFull fills the disk of an SQLite database. Writes fail while it is full,
// acknowledged data stays, reads continue, and writes succeed again once there is
// space.
func TestDiskFull(t *testing.T) {
	if !*chaos {
		return // make chaos: the test mounts a separate file system
	}
	dir := t.TempDir()
	data := filepath.Join(dir, "var")
	must(t, os.Mkdir(data, 0o700))
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", data).CombinedOutput(); err != nil {
		t.Logf("not tried: a small file system takes root to mount: %v %s", err, out)
		return
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", data).Run() })
	s := &workload{t: t, key: newKey(t, dir, "mission:create", "mission:read", "mission:operate"),
		admin:   newKey(t, dir, "admin:*"),
		created: map[string]string{}, completed: map[string]bool{}, moved: map[string]int{},
		events: map[string]string{}, arrived: map[string]map[string]bool{}}
	p := start(t, dir, append([]string{"serve", "--public-api", "--rate-limit", "off", "--log-level", "ERROR"},
		freePorts("var")...)...)
	p.kill() // this start only creates the database
	at, debug := porttest.Address(t), porttest.Address(t)
	p = start(t, dir, "serve", "--public-api", "--rate-limit", "off", "--log-level", "ERROR", "--data", "var",
		"--listen", at, "--origin-listen", "127.0.0.1:0", "--debug-listen", debug)
	base := "http://" + at
	waittest.Until(t, "it is ready", func() bool {
		status, _, _, err := try("GET", "http://"+debug+"/readyz", "")
		return err == nil && status == 200
	})
	for range 50 {
		s.write(base)
	}
	before := len(s.created)
	filler, err := os.Create(filepath.Join(data, "filler"))
	must(t, err)
	_, err = io.Copy(filler, zeros{})
	if err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Fatalf("the disk did not fill: %v", err)
	}
	must(t, filler.Close())
	accepted := 0
	for range 2000 {
		status, _, body, err := try("POST", base+"/api/public/v1/missions", missionJSON(fmt.Sprint("full-", accepted)),
			"Authorization", "Bearer "+s.key)
		must(t, err)
		if status == http.StatusCreated {
			var m fieldmark.Mission
			must(t, json.Unmarshal([]byte(body), &m))
			s.created[fmt.Sprint("full-", accepted)] = m.ID // room within the files it has
			accepted++
			continue
		}
		if status != http.StatusServiceUnavailable || !strings.Contains(body, `"code"`) {
			t.Fatalf("a write to a full disk: %d %s, want 503 and a code", status, body)
		}
		break
	}
	if status, _, body := ask(t, "GET", base+"/api/v1/leaderboard", ""); status != 200 {
		t.Errorf("a read while the disk is full: %d %s", status, body)
	}
	if status, _, body := ask(t, "GET", base+"/api/public/v1/missions?limit=1", "", "Authorization",
		"Bearer "+s.key); status != 200 {
		t.Errorf("missions read while the disk is full: %d %s", status, body)
	}
	must(t, os.Remove(filepath.Join(data, "filler")))
	waittest.Until(t, "writes go on when there is room", func() bool {
		status, _, _, err := try("POST", base+"/api/public/v1/missions", missionJSON("after"), "Authorization",
			"Bearer "+s.key)
		return err == nil && status == http.StatusCreated
	})
	for external, id := range s.created {
		_, _, body := ask(t, "GET", base+"/api/public/v1/missions?source=workload&externalId="+external, "",
			"Authorization", "Bearer "+s.key)
		var page fieldmark.List[fieldmark.Mission]
		must(t, json.Unmarshal([]byte(body), &page))
		if len(page.Data) != 1 || page.Data[0].ID != id {
			t.Errorf("mission %s (%s) after the disk was full: %s", external, id, body)
		}
	}
	p.stop()
	runOnce(t, dir, "db", "check", "--data", "var")
	t.Logf("%d missions acknowledged, %d of them when the disk was full already; all there", len(s.created),
		len(s.created)-before)
}

// zeros is an endless stream of zero bytes.
type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
