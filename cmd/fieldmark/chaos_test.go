package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/cachetest"
	"github.com/fieldmark/fieldmark/internal/testkit/porttest"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/store"
)

const (
	chaosSites = 50
	// readsPerSecond and writesPerSecond are arrival rates, independent of earlier
	// responses: two cores run all processes of the fleet and the generator. In the suite
	// they run under the race detector, beside other tests.
	readsPerSecond, readsInSuite = 150, 50
	writesPerSecond              = 8
	// mostUnderWay limits concurrent requests. Arrivals beyond it are counted as turned
	// away, and fail the test.
	mostUnderWay = 2000
	// promised is the maximum delay until a change is visible on every reachable edge.
	// In the suite, tests of other packages use the same machine, and only a lost change
	// is a failure.
	promised, promisedInSuite = time.Second, waittest.Limit
	// returned is the maximum delay until an edge is up to date after a partition.
	returned = time.Second
)

// chaosFleet is a fleet of processes: three edges, two of which serve TLS, two origins,
// PostgreSQL, Redis, a webhook receiver, and clients that send requests all the time.
type chaosFleet struct {
	t        *testing.T
	dir      string
	outage   time.Duration // during which Redis, PostgreSQL and the network are down
	within   time.Duration // maximum delay until a change is visible
	pg       *storetest.Server
	redis    *cachetest.Redis
	netns    *netns
	workload *workload
	origins  []*node
	edges    []*node
	client   *http.Client
	readers  []*http.Client
	ca       *testCA

	phase atomic.Pointer[phase]
	all   []*phase
	lock  sync.Mutex // guards the fields of phases
}

// phase contains the results of client requests during one step.
type phase struct {
	name            string
	took            time.Duration
	reads           int
	stale           int // marked as stale
	moved           int // retried at a second edge, as a load balancer does
	failed          int
	wrote, unheard  int // writes, and those without a response
	slow            []time.Duration
	slowest, caught time.Duration // until a change was visible
}

// node is one process of the fleet; it keeps its addresses over restarts.
type node struct {
	h         *chaosFleet
	name      string
	wrap      []string // prefix of its command line
	args      []string
	at, debug string
	p         *process
}

// start starts the node with a program and waits until it is ready.
func (n *node) start(program string, env ...string) {
	n.h.t.Helper()
	n.launch(program, env...)
	n.await()
}

// launch starts the node with a program.
func (n *node) launch(program string, env ...string) {
	n.h.t.Helper()
	line := slices.Concat(n.wrap, []string{program}, n.args)
	cmd := exec.Command(line[0], line[1:]...)
	n.p = startCommand(n.h.t, n.h.dir, cmd, env...)
}

// await waits until the node is ready.
func (n *node) await() {
	n.h.t.Helper()
	defer func() {
		if n.h.t.Failed() {
			n.h.t.Logf("%s is not ready: %v\n%s", n.name, n.ready(), n.p.printed())
		}
	}()
	waittest.Until(n.h.t, n.name+" is ready", func() bool {
		select {
		case <-n.p.done:
			n.h.t.Fatalf("%s ended", n.name)
		default:
		}
		return n.ready() == nil
	})
}

// ready returns why the node is not ready.
func (n *node) ready() error {
	resp, err := n.h.client.Get(n.debug + "/readyz")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, err := io.ReadAll(resp.Body)
		return errors.Join(fmt.Errorf("%s: %s", resp.Status, body), err)
	}
	return nil
}

// newChaosFleet starts the fleet.
func newChaosFleet(t *testing.T, outage time.Duration) *chaosFleet {
	h := &chaosFleet{t: t, dir: t.TempDir(), outage: outage, within: promisedInSuite, pg: storetest.StartServer(t)}
	if *chaos {
		h.within = promised
	}
	h.netns = newNetns(t)
	h.newClients()
	h.redis = cachetest.StartRedis(t, "bind", h.netns.bind(), "protected-mode", "no")
	secret, token := strings.Repeat("s", minSecret), strings.Repeat("n", minSecret)
	record := []string{"--database-url", h.pg.URL, "--secret", secret}
	h.populate(secret)
	h.workload = &workload{t: t, key: newKeyAt(t, h.dir, record, "mission:create", "mission:read", "mission:operate"),
		admin:   newKeyAt(t, h.dir, record, "admin:*"),
		created: map[string]string{}, completed: map[string]bool{}, moved: map[string]int{},
		events: map[string]string{}, arrived: map[string]map[string]bool{},
		clocks: map[string]map[string]bool{}}
	receiver := httptest.NewServer(http.HandlerFunc(h.workload.receive))
	t.Cleanup(receiver.Close)

	var far []string // the origins as the walled edge reaches them
	for i := range 2 {
		at := porttest.Address(t)
		port := at[strings.LastIndexByte(at, ':'):]
		n := &node{h: h, name: fmt.Sprint("origin ", i), at: "http://" + at, debug: "http://" + porttest.Address(t)}
		far = append(far, "http://"+h.netns.outer()+port)
		n.args = append([]string{"origin", "--node-token", token, "--origin-listen", h.netns.listen() + port,
			"--debug-listen", strings.TrimPrefix(n.debug, "http://"),
			"--public-api", "--allow-networks", "127.0.0.0/8", "--audit-every", "0", "--log-level", "WARN"}, record...)
		h.origins = append(h.origins, n)
	}
	for i := range 3 {
		at, debug := porttest.Address(t), porttest.Address(t)
		redis, origins := h.redis.Addr, h.origins[0].at+","+h.origins[1].at
		n := &node{h: h, name: fmt.Sprint("edge ", i)}
		if i == 2 { // behind the netns
			at, debug = h.netns.inner(at), h.netns.inner(debug)
			redis = h.netns.outer() + redis[strings.LastIndexByte(redis, ':'):]
			origins, n.wrap = strings.Join(far, ","), h.netns.wrap()
		}
		n.at, n.debug = "http://"+at, "http://"+debug
		n.args = []string{"edge", "--node-token", token, "--origin", origins, "--redis-url", "redis://" + redis,
			"--listen", at, "--debug-listen", debug,
			"--rate-limit", "off", "--network-rate", "0", "--log-level", "WARN"}
		if i < 2 {
			n.at = "https://" + at
			n.args = append(n.args, "--tls-cert", "cert.pem", "--tls-key", "key.pem")
		}
		h.edges = append(h.edges, n)
	}
	all := slices.Concat(h.origins, h.edges)
	for _, n := range all {
		n.launch(detector(t))
	}
	for _, n := range all {
		n.await()
	}
	status, _, body := ask(t, "POST", h.edges[0].at+"/api/admin/v1/webhooks",
		fmt.Sprintf(`{"url":%q,"events":["mission.*"]}`, receiver.URL+"/"), "Authorization", "Bearer "+h.workload.admin)
	if status != http.StatusCreated {
		t.Fatalf("register the receiver: %d %s", status, body)
	}
	return h
}

// newClients creates the certificate and the clients that trust it: of three readers the
// first speaks HTTP/2, the second HTTP/1.1, and the third opens a connection for each read.
// Writers speak HTTP/2 too.
func (h *chaosFleet) newClients() {
	h.ca = newTestCA(h.t)
	h.rotate()
	patience := waittest.Limit
	if *chaos { // a read of an edge that is cut off moves to the next one
		patience = 5 * time.Second
	}
	for i := range 3 {
		transport := &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: 5 * time.Second,
			ForceAttemptHTTP2: i == 0,
			TLSClientConfig:   &tls.Config{RootCAs: h.ca.roots}, DisableKeepAlives: i == 2}
		h.readers = append(h.readers, &http.Client{Timeout: patience, Transport: transport})
	}
	h.client = h.readers[0]
	http.DefaultClient.Transport = h.client.Transport // of ask and try; no other test runs meanwhile
	h.t.Cleanup(func() { http.DefaultClient.Transport = nil })
}

// rotate replaces the certificate of the edges, which check the files every 5 s.
func (h *chaosFleet) rotate() { h.ca.write(h.dir, "127.0.0.1") }

// rotated waits until the edges serve a certificate that is no older than the last but one,
// which was written when the previous phase began.
func (h *chaosFleet) rotated() {
	h.t.Helper()
	want := h.ca.last - 1
	for _, n := range h.edges[:2] {
		waittest.Until(h.t, n.name+" serves a certificate that was rotated", func() bool {
			c, err := tls.Dial("tcp", strings.TrimPrefix(n.at, "https://"), &tls.Config{RootCAs: h.ca.roots})
			if err != nil {
				return false
			}
			defer c.Close()
			return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64() >= want
		})
	}
}

// populate stores brands with facts in the database.
func (h *chaosFleet) populate(secret string) {
	h.t.Helper()
	ctx := h.t.Context()
	st, err := store.Open(ctx, store.Config{URL: h.pg.URL})
	must(h.t, err)
	service, err := origin.New(origin.Config{Store: st, Secret: []byte(secret)})
	must(h.t, err)
	for i := range chaosSites {
		slug := fieldmark.Slug(fmt.Sprintf("site-%02d", i))
		_, _, err := service.Brands.Put(ctx, fieldmark.Brand{Slug: slug, Name: "Site",
			URL: "https://" + string(slug) + ".example/", Niche: "tools", Language: "en", Public: true})
		must(h.t, err)
		_, err = service.Brands.PutFacts(ctx, slug, fieldmark.Facts{
			Version: fieldmark.FactsVersion, URL: "https://" + string(slug) + ".example/", Pages: 10,
			AsOf: fieldmark.At(time.Now()),
			Facts: []fieldmark.Fact{{ID: "text.words", State: fieldmark.Measured, Value: int64(20*(i+1)) * 1000,
				Unit: "words"}},
		})
		must(h.t, err)
	}
	must(h.t, st.Close())
}

// during replaces the certificate, runs one step and records the client results meanwhile.
func (h *chaosFleet) during(name string, act func(*phase)) {
	h.t.Helper()
	p, began := &phase{name: name}, time.Now()
	h.all = append(h.all, p)
	h.phase.Store(p)
	h.rotate()
	act(p)
	p.took = time.Since(began)
	h.t.Logf("%-44s %s", name, p.took.Round(100*time.Millisecond))
}

// traffic sends requests at their rates until stop is closed, and returns when all have
// ended.
func (h *chaosFleet) traffic(stop <-chan struct{}) {
	var under sync.WaitGroup
	var waiting, turnedAway atomic.Int64
	arrive := func(every time.Duration, what func(arrived time.Time)) {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case at := <-tick.C:
				if waiting.Add(1) > mostUnderWay {
					waiting.Add(-1)
					turnedAway.Add(1)
					continue
				}
				under.Go(func() { defer waiting.Add(-1); what(at) })
			}
		}
	}
	var sources sync.WaitGroup
	reads := time.Second / readsInSuite
	if *chaos {
		reads = time.Second / readsPerSecond
	}
	sources.Go(func() { arrive(reads, h.read) })
	sources.Go(func() { arrive(time.Second/writesPerSecond, h.write) })
	sources.Wait()
	under.Wait()
	if n := turnedAway.Load(); n > 0 {
		h.t.Errorf("%d requests found %d others waiting", n, mostUnderWay)
	}
}

// read sends one read to a random edge. After a broken connection or a 503 it tries the
// next edge, as a reverse proxy is configured to do. It must succeed while any edge
// runs.
func (h *chaosFleet) read(arrived time.Time) {
	slug := fmt.Sprintf("site-%02d", rand.IntN(chaosSites))
	path := []string{"/api/badge/" + slug, "/api/badge/" + slug, "/api/badge/" + slug + "?theme=dark",
		"/api/v1/score/" + slug, "/brands/" + slug, "/", "/api/v1/leaderboard"}[rand.IntN(7)]
	client := h.readers[[]int{0, 0, 0, 0, 0, 1, 1, 1, 1, 2}[rand.IntN(10)]]
	first, moved := rand.IntN(len(h.edges)), 0
	var trouble []string
	for i := range h.edges {
		n := h.edges[(first+i)%len(h.edges)]
		resp, err := client.Get(n.at + path)
		var body []byte
		if err == nil {
			body, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		if err == nil && resp.StatusCode == http.StatusServiceUnavailable { // starting or stopping
			err = fmt.Errorf("%s %s: 503 %.200s", n.name, path, body)
		}
		if err != nil {
			trouble = append(trouble, err.Error())
			moved++
			continue
		}
		if resp.StatusCode != http.StatusOK {
			trouble = append(trouble, fmt.Sprintf("%s %s: %d %.200s", n.name, path, resp.StatusCode, body))
			break
		}
		took, marked := time.Since(arrived), strings.Contains(resp.Header.Get("Cache-Status"), "stale") ||
			bytes.Contains(body, []byte(`"stale":true`))
		h.note(func(p *phase) {
			p.reads++
			p.moved += moved
			p.slow = append(p.slow, took)
			if marked {
				p.stale++
			}
		})
		return
	}
	h.note(func(p *phase) { p.failed++ })
	h.t.Errorf("during %q a read failed: %v", h.phase.Load().name, trouble)
}

func (h *chaosFleet) write(time.Time) {
	before := 0
	h.workload.note(func() { before = len(h.workload.open) })
	h.workload.write(h.edges[rand.IntN(len(h.edges))].at)
	h.note(func(p *phase) {
		p.wrote++
		h.workload.note(func() { p.unheard += max(len(h.workload.open)-before, 0) })
	})
}

func (h *chaosFleet) note(what func(*phase)) {
	h.lock.Lock()
	defer h.lock.Unlock()
	what(h.phase.Load())
}

// change renames a brand and returns the time and the name. It retries until an edge
// and an origin accept the change.
func (h *chaosFleet) change() (time.Time, string) {
	h.t.Helper()
	name := fmt.Sprintf("Acme %x", rand.Uint64())
	body := fmt.Sprintf(`{"name":%q,"url":"https://site-00.example/","niche":"tools","language":"en","public":true}`,
		name)
	waittest.Until(h.t, "a brand is renamed", func() bool {
		status, _, _, err := try("PUT", h.edges[rand.IntN(2)].at+"/api/admin/v1/brands/site-00", body, "Authorization",
			"Bearer "+h.workload.admin)
		return err == nil && status == http.StatusOK
	})
	return time.Now(), name
}

// shown waits until an edge shows a name and returns how long that took.
func (h *chaosFleet) shown(n *node, name string, since time.Time) time.Duration {
	h.t.Helper()
	waittest.Until(h.t, n.name+" shows "+name, func() bool {
		resp, err := h.client.Get(n.at + "/api/v1/score/site-00")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return err == nil && bytes.Contains(body, []byte(name))
	})
	return time.Since(since)
}

// seen makes a change and checks that each of the edges shows it in time.
func (h *chaosFleet) seen(p *phase, edges ...*node) {
	h.t.Helper()
	at, name := h.change()
	var wg sync.WaitGroup
	for _, n := range edges {
		wg.Go(func() {
			took := h.shown(n, name, at)
			h.note(func(*phase) { p.slowest = max(p.slowest, took) })
			if took > h.within {
				h.t.Errorf("%s: %s showed a change after %s, want %s", p.name, n.name, took, h.within)
			}
		})
	}
	wg.Wait()
}

// pass waits, and from time to time makes a change that these edges must show.
func (h *chaosFleet) pass(d time.Duration, p *phase, edges ...*node) {
	h.t.Helper()
	end := time.NewTimer(d)
	defer end.Stop()
	tick := time.NewTicker(max(d/12, time.Second/2))
	defer tick.Stop()
	for {
		select {
		case <-end.C:
			return
		case <-tick.C:
			if len(edges) > 0 {
				h.seen(p, edges...)
			}
		}
	}
}

// stats returns the goroutines and the memory of the nodes, in MiB, and zeros for a
// node in a network namespace, because profiles are served to loopback only.
func (h *chaosFleet) stats(nodes []*node) (goroutines, memory []int) {
	h.t.Helper()
	for _, n := range nodes {
		if !strings.Contains(n.debug, "//127.") {
			goroutines, memory = append(goroutines, 0), append(memory, 0)
			continue
		}
		_, _, heap := ask(h.t, "GET", n.debug+"/debug/pprof/heap?gc=1&debug=1", "") // gc=1 collects
		_, _, text := ask(h.t, "GET", n.debug+"/debug/pprof/goroutine?debug=1", "")
		var count, inUse int
		_, err := fmt.Sscanf(text, "goroutine profile: total %d", &count)
		must(h.t, err)
		for line := range strings.Lines(heap) {
			if _, err := fmt.Sscanf(line, "# HeapInuse = %d", &inUse); err == nil {
				break
			}
		}
		goroutines, memory = append(goroutines, count), append(memory, inUse>>20)
	}
	return goroutines, memory
}

// skewed builds the program with a clock that an environment variable shifts. It
// overlays time.Now of the standard library, because all processes of a machine share
// its clock.
func skewed(t *testing.T) string {
	t.Helper()
	root := strings.TrimSpace(goOutput(t, "env", "GOROOT"))
	dir := t.TempDir()
	source := readFile(t, root, "src", "time", "time.go")
	const now = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	if !strings.Contains(source, now) {
		t.Fatalf("%s: time.Now does not begin as it did in Go 1.26; this is %s", root, runtime.Version())
	}
	source = strings.Replace(source, now, now+"\tsec += testSkew\n", 1)
	own := "package time\n\nimport \"syscall\"\n\nvar testSkew = func() (n int64) {\n\ts, _ := " +
		"syscall.Getenv(\"FIELDMARK_TEST_SKEW\")\n\tfor i := range len(s) {\n" +
		"\t\tif s[i] != '-' {\n\t\t\tn = 10*n + int64(s[i]-'0')\n\t\t}\n\t}\n\tif s != \"\" && s[0] == '-' {\n\t\tn " +
		"= -n\n\t}\n\treturn n\n}()\n"
	must(t, os.WriteFile(filepath.Join(dir, "time.go"), []byte(source), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "skew.go"), []byte(own), 0o600))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {
		filepath.Join(root, "src", "time", "time.go"): filepath.Join(dir, "time.go"),
		filepath.Join(root, "src", "time", "skew.go"): filepath.Join(dir, "skew.go")}})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))
	program := filepath.Join(os.TempDir(), fmt.Sprintf("fieldmark-skewed-%d", os.Getpid()))
	t.Cleanup(func() { _ = os.Remove(program) })
	goOutput(t, "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, ".")
	return program
}

func goOutput(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("go", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("go %v: %v\n%s", args, err, out)
	}
	return string(out)
}
