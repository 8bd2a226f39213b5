package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/rankingfile"
	"github.com/fieldmark/fieldmark/internal/testkit/cachetest"
	"github.com/fieldmark/fieldmark/internal/testkit/porttest"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/standing"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

// The size of TestFleetSimulation. In the suite it is the least that has ranking files; make fleet-sim passes
// others, up to a million brands, 20 edges and 1,000 followers on a machine that has the memory.
var (
	simBrands    = flag.Int("brands", fieldmark.MinRankingFile+100, "brands of the simulated fleet")
	simEdges     = flag.Int("edges", 2, "edges of it that start at once")
	simFollowers = flag.Int("followers", 20, "followers of its log")
	simWindow    = flag.Duration("window", 300*time.Millisecond, "time of each measurement of its followers")
	simSQLite    = flag.Bool("sqlite", false, "its database is SQLite, not PostgreSQL")
)

const (
	// maxSimModels is how many different facts the brands have at most.
	maxSimModels = 1024
	// comparedBrands is the largest number of brands of which an edge computes all scores, for comparison: it takes
	// 25 s of two processors.
	comparedBrands = 200_000
	// simStart is how long an edge may take to start before the test fails.
	simStart = 10 * time.Minute
)

// simModels is how many different facts the brands have: few in the suite, where each is a transaction.
func simModels() int { return min(maxSimModels, *simBrands/100) }

// simulation is a fleet of processes whose costs are measured: an origin that mirrors its log, a Redis and two
// chained replicas of it, edges, and followers of the log in this process.
type simulation struct {
	t        *testing.T
	dir      string
	database store.Config
	record   []string // settings of the database
	token    string
	key      string
	redis    []*cachetest.Redis
	origin   *process
	base     string  // address of the origin
	debug    string  // of its metrics
	ownReads float64 // database reads that the metrics take
	figures  []figure
}

// figure is one measured value, with the goal of the contract; 0: it has no goal.
type figure struct {
	what        string
	value, goal float64
	unit        string
}

func (s *simulation) report(what string, value float64, unit string, goal float64) {
	s.figures = append(s.figures, figure{what, value, goal, unit})
}

// print prints all figures.
func (s *simulation) print() {
	var b strings.Builder
	for _, f := range s.figures {
		fmt.Fprintf(&b, "%-66s %12s %-9s", f.what, strconv.FormatFloat(f.value, 'f', 2, 64), f.unit)
		switch {
		case f.goal > 0 && f.value <= f.goal:
			fmt.Fprintf(&b, " goal %g: met", f.goal)
		case f.goal > 0:
			fmt.Fprintf(&b, " goal %g: MISSED", f.goal)
		}
		b.WriteByte('\n')
	}
	s.t.Logf("%d brands, %d edges, %d followers, windows of %s\n%s", *simBrands, *simEdges, *simFollowers, *simWindow,
		b.String())
}

// TestFleetSimulation measures what a fleet costs, and checks that every edge has the ranking that the facts give,
// and every follower each event once and in order. Figures are printed and not checked: they depend on the machine.
func TestFleetSimulation(t *testing.T) {
	t.Parallel()
	s := &simulation{t: t, dir: t.TempDir(), token: strings.Repeat("n", minSecret)}
	defer s.print()
	s.populate()
	s.startRedis()
	s.startOrigin()
	s.calm()
	s.join()
	s.follow()
}

// populate fills the database: models with random facts whose standings are computed, and copies of them.
func (s *simulation) populate() {
	t, ctx := s.t, s.t.Context()
	began, secret := time.Now(), strings.Repeat("s", minSecret)
	s.database = store.Config{Path: filepath.Join(s.dir, "var", "fieldmark.db")}
	s.record = []string{"--secret", secret}
	if !*simSQLite {
		s.database = store.Config{URL: storetest.StartServer(t).URL}
		s.record = append(s.record, "--database-url", s.database.URL)
	}
	s.key = newKeyAt(t, s.dir, s.record, "admin:*", "mission:create")
	st, err := store.Open(ctx, s.database)
	must(t, err)
	builtIn, err := builtInModules()
	must(t, err)
	scorer, log := &wasm.Scorer{}, slog.New(slog.DiscardHandler)
	service, err := origin.New(origin.Config{Store: st, Secret: []byte(secret), BuiltIn: builtIn})
	must(t, err)
	must(t, service.Prepare(ctx))
	random := rand.New(rand.NewPCG(20, 26))
	for i := range simModels() {
		slug := fieldmark.Slug(fmt.Sprint("model-", i))
		_, _, err := service.Brands.Put(ctx, fieldmark.Brand{Slug: slug, Name: "Model " + string(slug),
			URL: "https://" + string(slug) + ".example/", Niche: "models", Language: "en", Public: true})
		must(t, err)
		_, err = service.Brands.PutFacts(ctx, slug, simFacts(random))
		must(t, err)
	}
	standings := standing.New(standing.Config{Store: st, Scorer: scorer, Log: log, Jobs: job.NewRunner(st, log)})
	computing, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- standings.Run(computing) }()
	plan, err := st.ModulePlan(ctx)
	must(t, err)
	waittest.Until(t, "the models have standings", func() bool {
		late, err := st.StandingsLate(ctx, plan.Digest, time.Now())
		must(t, err)
		return !late
	})
	stop()
	must(t, <-done)
	must(t, scorer.Close(ctx))
	must(t, st.Close())
	s.copyModels(*simBrands - simModels())
	s.report("database filled", time.Since(began).Seconds(), "s", 0)
}

// simFacts are facts for every input of the built-in module.
func simFacts(random *rand.Rand) fieldmark.Facts {
	f := fieldmark.Facts{Version: fieldmark.FactsVersion, URL: "https://model.example/", Pages: 10,
		AsOf: fieldmark.At(time.Now().Add(-2 * time.Hour))}
	most := map[string]int64{"share": 1000, "level": 4000}
	for _, in := range geo.Card().Manifest().Inputs {
		value := random.Int64N(cmp.Or(most[in.Unit], 1_000_000) + 1)
		if in.Unit == "bool" {
			value = 1000 * (value % 2)
		}
		if in.Name == "home.reachable" {
			value = 1000
		}
		f.Facts = append(f.Facts, fieldmark.Fact{ID: in.Name, State: fieldmark.Measured, Unit: in.Unit, Value: value})
	}
	slices.SortFunc(f.Facts, func(a, b fieldmark.Fact) int { return strings.Compare(a.ID, b.ID) })
	return f
}

// simRows is how many standings are written in one statement.
const simRows = 500

// spread is a number of 32 bits for a brand; no two brands have the same.
const spread = 2654435761

func spreadOf(i int) int64 { return int64(i) * spread % (1 << 32) }

// copyModels adds n brands with the facts and standings of the models. Each has another time at which its facts
// were confirmed, and other names, so that a ranking file compresses no better than one of audited brands.
func (s *simulation) copyModels(n int) {
	numbers := fmt.Sprintf(`WITH RECURSIVE
		i(i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM i WHERE i < %d),
		n AS (SELECT i, i * %d %% 4294967296 AS h FROM i) `, n, spread)
	model := fmt.Sprintf(`'model-' || (i %% %d)`, simModels())
	script := []string{`INSERT INTO brand (slug, name, url, niche, language, description, public, created_at,
			updated_at, facts_digest, facts_at) ` + numbers + `SELECT 'brand-' || h, 'Brand ' || h,
			'https://brand-' || h || '.example/', 'niche-' || (h % 50), b.language, b.description, 1, b.created_at,
			b.updated_at, b.facts_digest, b.facts_at + h % 3600000 * 1000 FROM n JOIN brand b ON b.slug = ` + model,
		`INSERT INTO revision (brand, first_at, last_at, digest) SELECT b.slug, b.facts_at, b.facts_at, b.facts_digest
			FROM brand b WHERE b.slug LIKE 'brand-%'`,
		`INSERT INTO score_change (slug, event) SELECT slug, 0 FROM brand WHERE slug LIKE 'brand-%'`}
	models := s.models()
	for from := 1; from <= n; from += simRows {
		var rows []string
		for i := from; i < min(from+simRows, n+1); i++ {
			rows = append(rows, models[i%len(models)].row(s.t, spreadOf(i)))
		}
		script = append(script, `INSERT INTO standing (brand, module, facts, body, due_at, low, high) VALUES `+
			strings.Join(rows, ","))
	}
	analyze := "ANALYZE"
	if s.database.URL != "" {
		analyze = "VACUUM ANALYZE" // the server of tests runs no autovacuum
	}
	storetest.Exec(s.t, s.database, append(script, analyze)...)
}

// simStanding is the standing of a model.
type simStanding struct {
	store.Standing
	body   string
	values rankingfile.Values
}

// models returns the standings of the models.
func (s *simulation) models() []simStanding {
	st, err := store.Open(s.t.Context(), s.database)
	must(s.t, err)
	defer st.Close()
	all := make([]simStanding, simModels())
	for i := range all {
		m := &all[i]
		m.Standing, err = st.Standing(s.t.Context(), fieldmark.Slug(fmt.Sprint("model-", i)))
		must(s.t, err)
		m.values, err = rankingfile.ParseValues(m.Values)
		must(s.t, err)
		body, err := json.Marshal(m.StandingBody)
		must(s.t, err)
		m.body = string(body)
	}
	return all
}

// row returns the row of a brand with the standing of a model.
func (m *simStanding) row(t *testing.T, h int64) string {
	values := m.values
	values.AsOf += h % 3600000 * 1000 // times have milliseconds
	encode := base64.StdEncoding.EncodeToString
	body := strings.Replace(m.body, encode(m.Values), encode(values.Append(nil)), 1)
	if m.Range == nil || strings.Contains(body, "'") {
		t.Fatalf("the standing of %s: %s", m.Brand, m.body)
	}
	due := "NULL"
	if m.DueAt != nil {
		due = fmt.Sprint(m.DueAt.UnixMicro())
	}
	return fmt.Sprintf("('brand-%d','%s','%s','%s',%s,%d,%d)", h, m.Module, m.Facts, body, due, m.Range.Low,
		m.Range.High)
}

// startRedis starts a primary and two replicas, of which the second follows the first.
func (s *simulation) startRedis() {
	s.redis = []*cachetest.Redis{cachetest.StartRedis(s.t)}
	for range 2 {
		s.redis = append(s.redis, startReplica(s.t, s.redis[len(s.redis)-1]))
	}
}

// startReplica starts a Redis that replicates another one.
func startReplica(t testing.TB, of *cachetest.Redis, args ...string) *cachetest.Redis {
	t.Helper()
	r := cachetest.StartRedis(t, args...)
	host, port, _ := strings.Cut(of.Addr, ":")
	r.Do("REPLICAOF", host, port)
	waittest.Until(t, "the replica is connected", func() bool {
		return strings.Contains(r.Do("INFO", "replication"), "master_link_status:up")
	})
	return r
}

// startOrigin starts the origin, and waits for its ranking file.
func (s *simulation) startOrigin() {
	t := s.t
	s.debug = "http://" + porttest.Address(t)
	began := time.Now()
	s.origin = start(t, s.dir, append([]string{"origin", "--data", "var", "--node-token", s.token, "--public-api",
		"--origin-listen", "127.0.0.1:0", "--debug-listen", strings.TrimPrefix(s.debug, "http://"),
		"--audit-every", "0", "--mirror-url", s.redis[0].URL}, s.record...)...)
	s.base = s.origin.logged("origin", "listen")
	s.report("origin listens after", time.Since(began).Seconds(), "s", 0)
	number := func(field string) float64 {
		n, err := strconv.ParseFloat(s.origin.logged("made a ranking file", field), 64)
		must(t, err)
		return n
	}
	lines := number("lines")
	if int(lines) != *simBrands {
		t.Errorf("the ranking file has %v lines, want %d", lines, *simBrands)
	}
	s.report("ranking file: made in", number("tookSeconds"), "s", 0)
	s.report("ranking file: size", number("bytes")/(1<<20), "MiB", 0)
	s.report("ranking file: bytes a brand", number("bytes")/lines, "bytes", 0)
	s.report("origin: processor until then", cpuOf(t, s.origin.cmd.Process.Pid).Seconds(), "s", 0)
	s.report("origin: peak memory until then", peakOf(t, s.origin.cmd.Process.Pid), "MiB", 0)
}

// calm waits until the origin has done what a first start causes, such as the dump of the day.
func (s *simulation) calm() {
	began := time.Now()
	for before := s.usage(); time.Since(began) < simStart; {
		time.Sleep(*simWindow)
		now := s.usage()
		if now.since(before).processor < 0.05 {
			break
		}
		before = now
	}
	s.report("origin: idle after", time.Since(began).Seconds(), "s", 0)
	first := s.usage()
	s.ownReads = s.usage().reads - first.reads
}

// peakOf returns the largest resident memory of a process so far, in MiB.
func peakOf(t testing.TB, pid int) float64 {
	t.Helper()
	for line := range strings.Lines(readFile(t, fmt.Sprintf("/proc/%d/status", pid))) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			must(t, err)
			return kib / 1024
		}
	}
	t.Fatal("the kernel does not say how much memory a process has used")
	return 0
}

// metric returns a metric in the text of a process, summed over its labels.
func (s *simulation) metric(text, name string) (sum float64) {
	s.t.Helper()
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest[0] != ' ' && rest[0] != '{' {
			continue
		}
		fields := strings.Fields(line)
		v, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		must(s.t, err)
		sum += v
	}
	return sum
}

// usage is what the origin has used so far.
type usage struct {
	at                               time.Time
	processor                        time.Duration
	internal, requests, reads, write float64
}

// usage reads the metrics once, because each time takes a dozen reads of the database.
func (s *simulation) usage() usage {
	s.t.Helper()
	_, _, text := ask(s.t, "GET", s.debug+"/metrics", "")
	return usage{time.Now(), cpuOf(s.t, s.origin.cmd.Process.Pid),
		s.metric(text, `fieldmark_origin_requests_total{route="internal",class="2xx"}`),
		s.metric(text, "fieldmark_origin_requests_total"), s.metric(text, "fieldmark_database_read_seconds_count"),
		s.metric(text, "fieldmark_database_writes_total")}
}

// joined is an edge that has started.
type joined struct {
	p    *process
	took time.Duration
	base string
}

// startEdge starts an edge, and waits until it is ready.
func (s *simulation) startEdge(origin string) (j joined, err error) {
	debug := porttest.Address(s.t)
	began := time.Now()
	j.p = start(s.t, s.dir, "edge", "--origin", origin, "--node-token", s.token, "--listen", "127.0.0.1:0",
		"--debug-listen", debug, "--log-url", s.redis[len(s.redis)-1].URL)
	for ready := false; !ready; {
		if time.Since(began) > simStart {
			return j, fmt.Errorf("an edge is not ready after %s:\n%s", simStart, j.p.printed())
		}
		time.Sleep(5 * time.Millisecond)
		status, _, _, err := try("GET", "http://"+debug+"/readyz", "")
		ready = err == nil && status == http.StatusOK
	}
	j.took = time.Since(began)
	j.base = j.p.logged("edge", "listen")
	return j, nil
}

// snapshotID returns the id of the ranking that an edge has: it is a digest of the ranking.
func (s *simulation) snapshotID(base string) string {
	s.t.Helper()
	var board fieldmark.Board
	status, _, body := ask(s.t, "GET", base+fieldmark.PathLeaderboard, "")
	if err := json.Unmarshal([]byte(body), &board); status != http.StatusOK || err != nil {
		s.t.Fatalf("the leaderboard of %s: %d %.200s", base, status, body)
	}
	if board.Snapshot == "" || len(board.Items) == 0 {
		s.t.Errorf("the leaderboard of %s is empty", base)
	}
	return board.Snapshot
}

// join starts one edge, then several at once, and compares their rankings with that of an edge that scores all
// brands.
func (s *simulation) join() {
	t := s.t
	before := s.usage()
	first, err := s.startEdge(s.base)
	must(t, err)
	after := s.usage()
	pid := first.p.cmd.Process.Pid
	s.report("one edge: ready after", first.took.Seconds(), "s", 10)
	s.report("one edge: processor", cpuOf(t, pid).Seconds(), "s", 0)
	s.report("one edge: peak memory", peakOf(t, pid), "MiB", 0)
	s.report("one edge: requests to the origin", after.internal-before.internal, "", 0)
	s.report("one edge: processor of the origin", (after.processor-before.processor).Seconds()*1000, "ms", 50)
	s.report("one edge: database reads of the origin", after.reads-before.reads, "", 0)
	first.p.waitFor(`"msg":"ranking file loaded"`)
	want := s.snapshotID(first.base)

	before = s.usage()
	edges := make([]joined, *simEdges)
	var starting sync.WaitGroup
	for i := range edges {
		starting.Go(func() {
			var err error
			if edges[i], err = s.startEdge(s.base); err != nil {
				t.Error(err)
			}
		})
	}
	starting.Wait()
	after = s.usage()
	if t.Failed() {
		t.FailNow()
	}
	slowest := slices.MaxFunc(edges, func(a, b joined) int { return cmp.Compare(a.took, b.took) }).took
	n := float64(len(edges))
	s.report("edges at once: the slowest is ready after", slowest.Seconds(), "s", 0)
	s.report("edges at once: that is, times one edge", slowest.Seconds()/first.took.Seconds(), "x", 1.5)
	s.report("edges at once: processor of the origin, each",
		(after.processor-before.processor).Seconds()*1000/n, "ms", 50)
	s.report("edges at once: database reads of the origin, each", (after.reads-before.reads)/n, "", 0)
	for _, e := range edges {
		if got := s.snapshotID(e.base); got != want {
			t.Errorf("an edge has the ranking %s, the first one %s", got, want)
		}
	}
	s.idle("idle edges", len(edges)+1)
	if *simBrands <= comparedBrands {
		s.compare(want)
	}
	for _, e := range append(edges, first) {
		e.p.kill()
	}
}

// idle reports what n idle followers of the log cost.
func (s *simulation) idle(who string, n int) {
	before := s.usage()
	time.Sleep(*simWindow)
	u := s.usage().since(before)
	u.reads -= s.ownReads / simWindow.Seconds()
	s.report(fmt.Sprintf("%d %s: database reads", n, who), u.reads, "/s", 10)
	s.report(fmt.Sprintf("%d %s: requests to the origin, each", n, who), u.internal/float64(n), "/s", 1.1)
	s.report(fmt.Sprintf("%d %s: processor of the origin", n, who), u.processor, "cores", 0)
}

// rates are per second.
type rates struct{ processor, internal, reads, writes float64 }

func (u usage) since(before usage) rates {
	seconds := u.at.Sub(before.at).Seconds()
	return rates{(u.processor - before.processor).Seconds() / seconds, (u.internal - before.internal) / seconds,
		(u.reads - before.reads) / seconds, (u.write - before.write) / seconds}
}

// compare compares a ranking with that of an edge that is given no ranking file.
func (s *simulation) compare(want string) {
	target, err := url.Parse(s.base)
	must(s.t, err)
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	without := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, fieldmark.PathInternalSnapshots) {
			proxy.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", fieldmark.ProblemType)
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"code":"not_found","status":404}`))
	}))
	defer without.Close()
	e, err := s.startEdge(without.URL)
	must(s.t, err)
	defer e.p.kill()
	s.report("an edge that scores all brands: ready after", e.took.Seconds(), "s", 0)
	s.report("an edge that scores all brands: processor", cpuOf(s.t, e.p.cmd.Process.Pid).Seconds(), "s", 0)
	if got := s.snapshotID(e.base); got != want {
		s.t.Errorf("the ranking from the file is %s, that from the facts %s", want, got)
	}
}
