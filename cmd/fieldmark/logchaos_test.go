package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/cachetest"
	"github.com/fieldmark/fieldmark/internal/testkit/porttest"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin/client"
	"github.com/fieldmark/fieldmark/origin/store"
)

const (
	logBrands = 20
	// logChanges is the time between two changes, as in TestFleetSimulation.
	logChanges = time.Second / simChanges
	// restored is how long after an act every edge must be up to date again, and restoredInSuite the same where
	// changes may be late.
	restored, restoredInSuite = 4 * time.Second, time.Second / 2
)

// logFleet is a fleet whose edges follow the log by a stream: two origins, PostgreSQL with a standby, Redis with two
// replicas and Sentinels, and three edges. A writer changes brands, and readers compare what edges show with what was
// acknowledged.
type logFleet struct {
	t           *testing.T
	dir         string
	token, key  string
	record      []string
	pg, standby *storetest.Server
	redis       []*cachetest.Redis // servers that Sentinels watch; any may be the primary
	links       []*lossyLink       // of the last edge to the origins and to its Redis
	origins     []*logOrigin
	edges       []*logEdge
	client      *http.Client // of readers and the writer
	internal    *client.Client
	within      time.Duration // how late a change may be seen
	act, calm   time.Duration // of an act, and of the observation after it
	restored    time.Duration

	strict  atomic.Bool // a late answer is an error
	writing sync.Mutex  // held by the writer during a change, and while nothing must be written
	mu      sync.Mutex
	brands  []*logBrand
	retired int
}

type logOrigin struct {
	p         *process
	at, debug string
}

type logEdge struct {
	name      string
	p         *process
	at, debug string

	mu     sync.Mutex
	reads  int
	late   int           // answers that lacked a change for longer than logFleet.within
	oldest time.Duration // how long the latest change was acknowledged that an answer lacked
	all    int           // reads since the start
}

// logBrand is a brand whose name is the number of its last change.
type logBrand struct {
	slug  string
	acked []ack // ascending
}

type ack struct {
	version int
	at      time.Time
}

// startLogFleet starts the fleet.
func startLogFleet(t *testing.T) *logFleet {
	f := &logFleet{t: t, dir: t.TempDir(), token: strings.Repeat("n", minSecret), within: promisedInSuite,
		act: time.Second, calm: time.Second / 2, restored: restoredInSuite,
		client: &http.Client{Timeout: 3 * time.Second}}
	if *chaos {
		f.within, f.act, f.calm, f.restored = promised, 15*time.Second, 15*time.Second, restored
	}
	f.pg = storetest.StartServer(t)
	f.record = []string{"--database-url", f.pg.URL, "--secret", strings.Repeat("s", minSecret)}
	f.key = newKeyAt(t, f.dir, f.record, "admin:*")
	f.standby = f.pg.Standby()
	f.record[1] = f.pg.Or(f.standby).URL
	sentinels := cachetest.StartSentinels(t)
	far := startReplica(t, sentinels.Primary)
	f.redis = []*cachetest.Redis{sentinels.Primary, sentinels.Replica, far}
	var near, linked []string
	for range 2 {
		at, debug := porttest.Address(t), porttest.Address(t)
		o := &logOrigin{at: "http://" + at, debug: "http://" + debug}
		o.p = start(t, f.dir, append([]string{"origin", "--node-token", f.token, "--origin-listen",
			at, "--debug-listen", debug, "--mirror-url", sentinels.URL, "--audit-every", "0",
			"--log-level", "WARN"}, f.record...)...)
		f.origins = append(f.origins, o)
		l := newLossyLink(t, at)
		f.links = append(f.links, l)
		near, linked = append(near, o.at), append(linked, "http://"+l.addr())
	}
	f.links = append(f.links, newLossyLink(t, far.Addr))
	for i, source := range []string{sentinels.URL, sentinels.Replica.URL,
		"redis://" + f.links[len(f.links)-1].addr()} {
		at, debug, origins := porttest.Address(t), porttest.Address(t), near
		if i == 2 {
			origins = linked
		}
		line := []string{program(t), "edge", "--node-token", f.token, "--origin", strings.Join(origins, ","),
			"--listen", at, "--debug-listen", debug, "--log-url", source, "--rate-limit", "off", "--network-rate", "0"}
		f.edges = append(f.edges, &logEdge{name: fmt.Sprint("edge ", i), at: "http://" + at, debug: "http://" + debug,
			p: startCommand(t, f.dir, exec.Command(line[0], line[1:]...))})
	}
	var err error
	f.internal, err = client.New(client.Config{BaseURL: f.origins[0].at, NodeToken: f.token})
	must(t, err)
	for range logBrands {
		f.addBrand()
	}
	for _, e := range f.edges {
		waittest.Until(t, e.name+" follows the stream", func() bool {
			return f.value(e.debug, `fieldmark_edge_log_source{source="stream"}`) == 1 &&
				f.value(e.debug, "fieldmark_edge_ready") == 1
		})
	}
	return f
}

// value returns a metric; -1: the process does not answer.
func (f *logFleet) value(debug, name string) float64 {
	_, _, text, err := try("GET", debug+"/metrics", "")
	if err != nil {
		return -1
	}
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			must(f.t, err)
			return n
		}
	}
	return 0
}

// addBrand adds a brand, in place of one for which the outcome of a change is unknown.
func (f *logFleet) addBrand() {
	f.mu.Lock()
	b := &logBrand{slug: fmt.Sprint("log-", f.retired+len(f.brands))}
	f.mu.Unlock()
	waittest.Until(f.t, "a brand is added", func() bool { return f.put(b.slug, 1) == nil })
	b.acked = []ack{{1, time.Now()}}
	f.mu.Lock()
	f.brands = append(f.brands, b)
	f.mu.Unlock()
}

// put changes a brand by either origin.
func (f *logFleet) put(slug string, version int) (err error) {
	body := fmt.Sprintf(`{"name":"%d","url":"https://%s.example/","niche":"tools","language":"en","public":true}`,
		version, slug)
	o := f.origins[rand.IntN(len(f.origins))]
	req, err := http.NewRequest("PUT", o.at+"/api/admin/v1/brands/"+slug, strings.NewReader(body))
	must(f.t, err)
	req.Header.Set("Authorization", "Bearer "+f.key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := f.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("put %s: %s", slug, resp.Status)
	}
	return nil
}

// write changes random brands until ctx ends.
func (f *logFleet) write(ctx context.Context) {
	tick := time.NewTicker(logChanges)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		f.writing.Lock()
		f.change()
		f.writing.Unlock()
	}
}

// change changes a random brand. If the outcome is unknown, the change may take effect later, so the brand is not
// used any more.
func (f *logFleet) change() {
	f.mu.Lock()
	i := rand.IntN(len(f.brands))
	b := f.brands[i]
	version := b.acked[len(b.acked)-1].version + 1
	f.mu.Unlock()
	err := f.put(b.slug, version)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		b.acked = append(b.acked, ack{version, time.Now()})
		return
	}
	if len(f.brands) > 1 {
		f.brands = append(f.brands[:i:i], f.brands[i+1:]...)
		f.retired++
	}
}

// read reads random brands from an edge until ctx ends.
func (f *logFleet) read(ctx context.Context, e *logEdge) {
	pause := 20 * time.Millisecond
	if *chaos {
		pause = 0 // as many as possible
	}
	for ctx.Err() == nil {
		time.Sleep(pause)
		f.mu.Lock()
		b := f.brands[rand.IntN(len(f.brands))]
		acked := b.acked[:len(b.acked):len(b.acked)]
		f.mu.Unlock()
		began, strict := time.Now(), f.strict.Load()
		version, err := f.shown(e, b.slug)
		if err != nil {
			if strict && f.strict.Load() && ctx.Err() == nil {
				f.t.Errorf("%s does not answer: %v", e.name, err)
			}
			continue
		}
		var lacks time.Duration // the age of the oldest change that the answer lacks
		for _, a := range acked {
			if a.version > version {
				lacks = began.Sub(a.at)
				break
			}
		}
		e.mu.Lock()
		e.reads++
		e.all++
		e.oldest = max(e.oldest, lacks)
		if lacks > f.within {
			e.late++
		}
		e.mu.Unlock()
	}
}

// shown returns the number of the change of a brand that an edge shows.
func (f *logFleet) shown(e *logEdge, slug string) (int, error) {
	resp, err := f.client.Get(e.at + fieldmark.PathScore + slug)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s: %.200s", resp.Status, body)
	}
	var score fieldmark.Score
	if err := json.Unmarshal(body, &score); err != nil {
		return 0, err
	}
	return strconv.Atoi(score.Name)
}

// position is what an edge has done so far.
type position struct {
	cursor, applied, restarts float64
}

func (f *logFleet) positions() (all []position) {
	for _, e := range f.edges {
		all = append(all, position{f.value(e.debug, "fieldmark_edge_event"), f.value(e.debug,
			"fieldmark_edge_followed_events_total"), f.value(e.debug, "fieldmark_edge_log_lost_total")})
	}
	return all
}

// quiesce calls do while nothing is written and every edge has the whole log.
func (f *logFleet) quiesce(do func(head int64)) {
	f.t.Helper()
	f.writing.Lock()
	defer f.writing.Unlock()
	head := f.events(0)
	for _, e := range f.edges {
		waittest.Until(f.t, e.name+" has the whole log", func() bool {
			return f.value(e.debug, "fieldmark_edge_event") >= float64(head)
		})
	}
	do(head)
}

// events returns the head of the log if after is 0, and else how many events for edges follow after.
func (f *logFleet) events(after int64) (n int64) {
	f.t.Helper()
	at := fieldmark.EventCursor{Number: after}
	if after == 0 {
		at.Number = 1 << 53
	}
	for {
		var page fieldmark.EventPage
		waittest.Until(f.t, "an origin sends the log", func() (ok bool) {
			var err error
			page, err = f.internal.Events(f.t.Context(), at, 0)
			return err == nil
		})
		if after == 0 {
			return page.Head
		}
		n += int64(len(page.Events))
		if at = page.Next(at); at.Number >= page.Head {
			return n
		}
	}
}

// during does something to the fleet while it works. In the end every edge has applied each event of the log once,
// and has not started again.
func (f *logFleet) during(what string, act func()) {
	t := f.t
	t.Helper()
	var before []position
	var from int64
	f.quiesce(func(head int64) { before, from = f.positions(), head })
	f.strict.Store(false)
	f.observed()
	act()
	troubled, _ := f.observed()
	time.Sleep(f.restored)
	f.observed()
	f.strict.Store(true)
	time.Sleep(f.calm)
	f.strict.Store(false)
	calm, late := f.observed()
	if late > 0 {
		t.Errorf("%s: %d answers lacked a change for more than %s afterwards", what, late, f.within)
	}
	f.quiesce(func(int64) {
		want := float64(f.events(from))
		for i, p := range f.positions() {
			if got := p.applied - before[i].applied; got != want || p.restarts != before[i].restarts ||
				p.cursor < before[i].cursor {
				t.Errorf("%s, %s: %v events applied, want %v; restarts %v, before %v; cursor %v, before %v", what,
					f.edges[i].name, got, want, p.restarts, before[i].restarts, p.cursor, before[i].cursor)
			}
		}
	})
	t.Logf("%-50s during: %s; afterwards: %s", what, troubled, calm)
}

// observed describes what readers saw since the last call, and returns how many answers were late.
func (f *logFleet) observed() (what string, late int) {
	reads, oldest := 0, time.Duration(0)
	for _, e := range f.edges {
		e.mu.Lock()
		reads, late, oldest = reads+e.reads, late+e.late, max(oldest, e.oldest)
		e.reads, e.late, e.oldest = 0, 0, 0
		e.mu.Unlock()
	}
	return fmt.Sprintf("%6d reads, %4d late, by %5d ms at most", reads, late, oldest.Milliseconds()), late
}

// primary returns the Redis that is the primary now, and one of its replicas.
func (f *logFleet) primary() (primary, replica *cachetest.Redis) {
	f.t.Helper()
	waittest.Until(f.t, "Redis has a primary with replicas", func() bool {
		for i, r := range f.redis {
			if info := r.Do("INFO", "replication"); strings.Contains(info, "role:master") &&
				strings.Contains(info, "state=online") {
				primary, replica = r, f.redis[(i+1)%len(f.redis)]
				return true
			}
		}
		return false
	})
	return primary, replica
}

// holder returns the origin that writes the stream.
func (f *logFleet) holder() (holder *logOrigin) {
	f.t.Helper()
	waittest.Until(f.t, "an origin writes the stream", func() bool {
		for _, o := range f.origins {
			if f.value(o.debug, "fieldmark_mirror_fence") > 0 {
				holder = o
				return true
			}
		}
		return false
	})
	return holder
}

// TestLogChaos makes what edges follow fail, part by part. After each act all edges are up to date, have applied each
// event of the log once, and none has started again; after a standby was promoted that lacks the newest changes, no
// edge shows them. The suite runs the short acts.
func TestLogChaos(t *testing.T) {
	t.Parallel()
	f := startLogFleet(t)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { f.write(ctx) })
	for _, e := range f.edges {
		running.Go(func() { f.read(ctx, e) })
	}
	defer func() { stop(); running.Wait() }()

	f.during("nothing happens", func() { time.Sleep(f.act) })
	f.during("Redis is flushed", func() { p, _ := f.primary(); p.Do("FLUSHALL"); time.Sleep(f.act) })
	f.during("a replica is killed", func() {
		_, r := f.primary()
		r.Kill()
		time.Sleep(f.act)
		r.Start()
	})
	if *chaos {
		f.longActs()
	}
	f.promote()
	if *chaos {
		f.during("after the promotion", func() { time.Sleep(f.act) })
	}
	reads := 0
	for _, e := range f.edges {
		e.mu.Lock()
		reads += e.all
		e.mu.Unlock()
	}
	t.Logf("%d answers compared, %d brands retired", reads, f.retired)
	if reads == 0 {
		t.Error("nothing was read")
	}
}

// longActs are the acts that take longer than a timeout.
func (f *logFleet) longActs() {
	f.during("Redis pauses for 4 s", func() {
		p, _ := f.primary()
		p.Do("CLIENT", "PAUSE", "4000", "ALL")
		time.Sleep(f.act)
	})
	f.during("the primary is killed, with a replica behind", func() {
		p, r := f.primary()
		r.Freeze()
		time.Sleep(time.Second / 2)
		p.Kill()
		r.Thaw()
		time.Sleep(f.act)
		p.Start()
		f.primary()
	})
	f.during("edges lose a permission", func() {
		for _, r := range f.redis {
			r.Do("ACL", "SETUSER", "default", "-xread")
		}
		time.Sleep(f.act)
		for _, r := range f.redis {
			r.Do("ACL", "SETUSER", "default", "+xread")
		}
	})
	f.during("origins lose a permission", func() {
		for _, r := range f.redis {
			r.Do("ACL", "SETUSER", "default", "-evalsha")
		}
		time.Sleep(f.act)
		for _, r := range f.redis {
			r.Do("ACL", "SETUSER", "default", "+evalsha")
		}
	})
	f.during("the origin that writes the stream is stopped for 15 s", func() {
		o := f.holder()
		must(f.t, o.p.cmd.Process.Signal(syscall.SIGSTOP))
		time.Sleep(f.act)
		must(f.t, o.p.cmd.Process.Signal(syscall.SIGCONT))
	})
	f.linkActs()
}

// linkActs are what happens to the network of an edge.
func (f *logFleet) linkActs() {
	each := func(do func(*lossyLink)) {
		for _, l := range f.links {
			do(l)
		}
	}
	f.during("the network of an edge has 200 ms and 5 % loss", func() {
		each(func(l *lossyLink) { l.delay.Store(int64(200 * time.Millisecond)); l.loss.Store(50) })
		time.Sleep(f.act)
		each(func(l *lossyLink) { l.delay.Store(0); l.loss.Store(0) })
	})
	f.during("the network of an edge hangs", func() {
		each(func(l *lossyLink) { l.hangs.Store(true) })
		time.Sleep(f.act)
		each(func(l *lossyLink) { l.hangs.Store(false) })
	})
	f.during("the connections of an edge are closed again and again", func() {
		for end := time.Now().Add(f.act); time.Now().Before(end); time.Sleep(time.Second / 2) {
			each((*lossyLink).cut)
		}
	})
}

// promote promotes a standby that lacks the newest changes, and checks that no edge goes on showing them.
func (f *logFleet) promote() {
	t := f.t
	t.Helper()
	f.strict.Store(false)
	f.quiesce(func(int64) { f.standby.CatchUp(f.pg) })
	f.writing.Lock()
	defer f.writing.Unlock()
	f.standby.Disconnect()
	for range logBrands {
		f.change()
	}
	head := f.events(0)
	for _, e := range f.edges {
		waittest.Until(t, e.name+" shows what will be lost", func() bool {
			return f.value(e.debug, "fieldmark_edge_event") >= float64(head)
		})
	}
	f.pg.Kill()
	f.standby.Promote()
	st, err := store.Open(t.Context(), store.Config{URL: f.standby.URL})
	must(t, err)
	defer st.Close()
	f.mu.Lock()
	brands := f.brands
	f.mu.Unlock()
	for _, b := range brands {
		kept, err := st.Brand(t.Context(), fieldmark.Slug(b.slug))
		must(t, err)
		version, err := strconv.Atoi(kept.Name)
		must(t, err)
		f.mu.Lock()
		b.acked = []ack{{version, time.Now()}}
		f.mu.Unlock()
	}
	// An origin gives the new primary its first number again.
	waittest.Until(t, "origins write to the new primary", func() bool { return f.put("after-promotion", 1) == nil })
	began := time.Now()
	for _, e := range f.edges {
		for _, b := range brands {
			waittest.Until(t, e.name+" shows what the new primary has", func() bool {
				version, err := f.shown(e, b.slug)
				return err == nil && version == b.acked[0].version // nothing is written meanwhile
			})
		}
	}
	t.Logf("a standby that lacks changes is promoted: all edges are right %s after its first write; the goal is 2 s",
		time.Since(began))
	f.observed()
}
