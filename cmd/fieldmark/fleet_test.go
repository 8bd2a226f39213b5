package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/cachetest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// fleet is an origin, three edges and their shared Redis, each in one process.
type fleet struct {
	t     testing.TB
	dir   string
	admin string
	redis *cachetest.Redis
	edges []string // addresses
	debug []string
	link  *link // between the last edge and the origin
}

func newFleet(t testing.TB) *fleet {
	t.Helper()
	f := &fleet{t: t, dir: t.TempDir(), redis: cachetest.StartRedis(t)}
	token := strings.Repeat("n", 32)
	f.admin = newKey(t, f.dir, "admin:*")
	origin := start(t, f.dir, "origin", "--data", "var", "--node-token", token, "--origin-listen", "127.0.0.1:0",
		"--debug-listen", "127.0.0.1:0")
	at := origin.logged("origin", "listen")
	f.link = newLink(t, strings.TrimPrefix(at, "http://"))
	for _, to := range []string{at, at, "http://" + f.link.Addr().String()} {
		p := start(t, f.dir, "edge", "--origin", to, "--node-token", token, "--redis-url", f.redis.URL, "--listen",
			"127.0.0.1:0", "--debug-listen", "127.0.0.1:0")
		f.edges = append(f.edges, p.logged("edge", "listen"))
		f.debug = append(f.debug, p.logged("edge", "debug"))
	}
	for _, debug := range f.debug {
		waittest.Until(t, "the edge is ready", func() bool {
			status, _, _, err := try("GET", debug+"/readyz", "")
			return err == nil && status == 200
		})
	}
	return f
}

// put creates or renames a brand through the first edge.
func (f *fleet) put(slug, name string) {
	f.t.Helper()
	body := fmt.Sprintf(`{"name":%q,"url":"https://%s.example/","niche":"tools","language":"en","public":true}`, name,
		slug)
	if status, _, answer := ask(f.t, "PUT", f.edges[0]+"/api/admin/v1/brands/"+slug, body, "Authorization",
		"Bearer "+f.admin); status != 200 {
		f.t.Fatalf("put %s: %d %s", slug, status, answer)
	}
}

// shows waits until an edge returns a name, and returns the delay.
func (f *fleet) shows(edge, slug, name string) time.Duration {
	began := time.Now()
	waittest.Until(f.t, edge+" shows "+name, func() bool {
		_, _, score, err := try("GET", edge+"/api/v1/score/"+slug, "")
		if err != nil || !strings.Contains(score, strconv.Quote(name)) {
			return false
		}
		_, _, badge, err := try("GET", edge+"/api/badge/"+slug, "")
		return err == nil && strings.Contains(badge, name)
	})
	return time.Since(began)
}

// counter sums a counter over all edges.
func (f *fleet) counter(name string) (sum int) {
	f.t.Helper()
	for _, debug := range f.debug {
		_, _, text := ask(f.t, "GET", debug+"/metrics", "")
		for line := range strings.Lines(text) {
			if rest, ok := strings.CutPrefix(line, name+" "); ok {
				n, err := strconv.Atoi(strings.TrimSpace(rest))
				must(f.t, err)
				sum += n
			}
		}
	}
	return sum
}

// purge sends a purge to the second edge, and returns the event.
func (f *fleet) purge(body string) fieldmark.Purged {
	f.t.Helper()
	status, _, answer := ask(f.t, "POST", f.edges[1]+"/api/admin/v1/purge", body, "Authorization", "Bearer "+f.admin)
	var p fieldmark.Purged
	if err := json.Unmarshal([]byte(answer), &p); status != 200 || err != nil || p.Event == 0 {
		f.t.Fatalf("purge %s: %d %s", body, status, answer)
	}
	return p
}

// changes returns the number of changes whose delay on all edges is measured: enough for a
// p99 in make chaos. That every edge shows a change, any of them proves.
func changes() int {
	if *chaos {
		return 200
	}
	return 20
}

const (
	redisFills    = `fieldmark_edge_redis_total{result="fill"}`
	eventsApplied = "fieldmark_edge_followed_events_total"
)

// leaseWait is how long an edge waits, at least, for an entry that another is filling.
const leaseWait = 250 * time.Millisecond

// redisTrouble counts the calls of Redis that failed or were skipped: an edge then fills
// without a lease, as it must. On a busy machine some take longer than they may.
func (f *fleet) redisTrouble() int {
	f.t.Helper()
	return f.counter(`fieldmark_edge_redis_total{result="error"}`) +
		f.counter(`fieldmark_edge_redis_total{result="skip"}`)
}

func TestFleet(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	t.Run("a change is seen on every edge", func(t *testing.T) {
		f.put("acme", "Acme")
		for _, edge := range f.edges {
			f.shows(edge, "acme", "Acme")
		}
		fills := f.counter(redisFills)
		var took []time.Duration
		for i := range changes() {
			name := fmt.Sprint("Acme ", i)
			f.put("acme", name)
			var mu sync.Mutex
			var wg sync.WaitGroup
			for _, edge := range f.edges {
				wg.Go(func() {
					d := f.shows(edge, "acme", name)
					mu.Lock()
					defer mu.Unlock()
					took = append(took, d)
				})
			}
			wg.Wait()
		}
		slices.Sort(took)
		p99 := took[len(took)*99/100]
		t.Logf("%d changes seen on %d edges: p50 %s, p99 %s, slowest %s; %d fills", changes(), len(f.edges),
			took[len(took)/2], p99, took[len(took)-1], f.counter(redisFills)-fills)
	})
	t.Run("a cold key is filled once in the fleet", f.testCold)
	t.Run("a purge reaches every edge", f.testPurge)
	t.Run("what a partition missed is caught up", f.testPartition)
	t.Run("readers do not notice Redis", f.testRedis)
}

func (f *fleet) testCold(t *testing.T) {
	f.put("cold", "Cold")
	for _, edge := range f.edges {
		f.shows(edge, "cold", "Cold")
	}
	counted := 0
	for round := 0; counted < 10 && round < 30; round++ {
		trouble, applied, before := f.redisTrouble(), f.counter(eventsApplied), f.counter(redisFills)
		began := time.Now()
		// Purged and not changed: no follower is quicker than the readers.
		f.purge(`{"tags":["brand:cold"]}`)
		var wg sync.WaitGroup
		for _, edge := range f.edges {
			for range 20 {
				wg.Go(func() {
					if status, _, body, err := try("GET", edge+"/api/v1/score/cold", ""); err != nil || status != 200 {
						t.Errorf("read: %d %s %v", status, body, err)
					}
				})
			}
		}
		wg.Wait()
		took := time.Since(began)
		waittest.Until(t, "every edge applied the purge",
			func() bool { return f.counter(eventsApplied) >= applied+len(f.edges) })
		waittest.Until(t, "it was filled", func() bool {
			return f.counter(redisFills) > before || f.redisTrouble() > trouble
		})
		n := f.counter(redisFills) - before
		if took > leaseWait || f.redisTrouble() > trouble {
			continue // each edge may have filled for itself
		}
		counted++
		if n != 1 {
			t.Errorf("round %d: %d fills in the fleet, want 1", round, n)
		}
	}
	t.Logf("%d rounds were quick enough to count their fills", counted)
}

func (f *fleet) testPurge(t *testing.T) {
	f.put("acme", "Acme")
	purged := func() int { return f.counter(eventsApplied) }
	for _, body := range []string{
		`{"tags":["brand:acme","module"]}`, `{"url":"/api/badge/acme.svg"}`, `{"url":"https://fieldmark.example/"}`,
		`{"everything":true}`, `{"everything":true,"hard":true}`,
	} {
		before := purged()
		f.purge(body)
		waittest.Until(t, "every edge did "+body, func() bool { return purged() >= before+len(f.edges) })
		for _, edge := range f.edges {
			for _, path := range []string{"/api/badge/acme", "/api/v1/score/acme", "/brands/acme", "/",
				"/api/v1/leaderboard"} {
				if status, _, answer := ask(t, "GET", edge+path, ""); status != 200 {
					t.Errorf("%s after %s: %d %s", path, body, status, answer)
				}
				waittest.Until(t, path+" is cached again after "+body, func() bool {
					_, head, _ := ask(t, "GET", edge+path, "")
					return head.Get("Cache-Status") == "fieldmark; hit"
				})
			}
		}
	}
	for body, pointer := range map[string]string{
		`{}`: `""`, `{"tags":["brand:a"],"everything":true}`: `""`, `{"tags":["brand:A B"]}`: "/tags/0",
		`{"url":"/api/badge/A"}`: "/url",
	} {
		if status, _, answer := ask(t, "POST", f.edges[0]+"/api/admin/v1/purge", body, "Authorization",
			"Bearer "+f.admin); status != 422 || !strings.Contains(answer, pointer) {
			t.Errorf("purge %s: %d %s, want 422 and %s", body, status, answer, pointer)
		}
	}
	if status, _, _ := ask(t, "POST", f.edges[0]+"/api/admin/v1/purge", `{"everything":true}`); status != 401 {
		t.Errorf("purge without a key: %d, want 401", status)
	}
	said := runOnce(t, f.dir, "purge", "--tag", "brand:acme", "--url", f.edges[0], "--admin-key", f.admin)
	if !strings.Contains(said, "purge is event ") {
		t.Errorf("fieldmark purge said %q", said)
	}
}

func (f *fleet) testPartition(t *testing.T) {
	cut := f.edges[2]
	f.put("acme", "Before")
	f.shows(cut, "acme", "Before")
	f.link.cut()
	f.put("acme", "Changed meanwhile")
	f.purge(`{"tags":["brand:cold"],"hard":true}`)
	for _, edge := range f.edges[:2] {
		f.shows(edge, "acme", "Changed meanwhile")
	}
	if status, _, body := ask(t, "GET", cut+"/api/badge/acme", ""); status != 200 {
		t.Errorf("a read during the partition: %d %s", status, body)
	}
	f.link.mend()
	t.Logf("caught up %s after the return", f.shows(cut, "acme", "Changed meanwhile"))
	f.shows(cut, "cold", "Cold")
}

// testRedis makes Redis fail in every way while all edges are read and changed.
func (f *fleet) testRedis(t *testing.T) {
	stop, reads := make(chan struct{}), atomic.Int64{}
	var wg sync.WaitGroup
	for _, edge := range f.edges {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				path := []string{"/api/badge/acme", "/api/v1/score/cold", "/", "/api/v1/score/acme",
					"/brands/cold"}[i%5]
				if status, _, body, err := try("GET", edge+path, ""); err != nil || status != 200 {
					t.Errorf("%s: %d %s %v", path, status, body, err)
				}
				reads.Add(1)
			}
		})
	}
	for i, act := range []struct {
		name string
		do   func()
	}{{"killed", f.redis.Kill}, {"started", f.redis.Start}, {"frozen", f.redis.Freeze}, {"thawed", f.redis.Thaw}} {
		act.do()
		began, before := time.Now(), reads.Load()
		for n := range 3 {
			name := fmt.Sprintf("Change %d-%d", i, n)
			f.put("acme", name)
			for _, edge := range f.edges {
				f.shows(edge, "acme", name)
			}
		}
		t.Logf("Redis %s: %d reads in %s", act.name, reads.Load()-before, time.Since(began))
	}
	close(stop)
	wg.Wait()
}

// link is a connection to the origin that the test can interrupt.
type link struct {
	net.Listener
	to string

	mu   sync.Mutex
	down bool
	open []net.Conn
}

func newLink(t testing.TB, to string) *link {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	l := &link{Listener: ln, to: to}
	t.Cleanup(func() { _ = ln.Close(); l.cut() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go l.carry(conn)
		}
	}()
	return l
}

func (l *link) carry(from net.Conn) {
	to, err := net.Dial("tcp", l.to)
	l.mu.Lock()
	if err != nil || l.down {
		l.mu.Unlock()
		_ = from.Close()
		if err == nil {
			_ = to.Close()
		}
		return
	}
	l.open = append(l.open, from, to)
	l.mu.Unlock()
	go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
	_, _ = io.Copy(from, to)
	_ = from.Close()
}

func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = true
	for _, c := range l.open {
		_ = c.Close()
	}
	l.open = nil
}

func (l *link) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = false
}
