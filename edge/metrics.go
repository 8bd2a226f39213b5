package edge

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/conn"
	"github.com/fieldmark/fieldmark/edge/conn/h2"
	"github.com/fieldmark/fieldmark/edge/conn/h3"
	"github.com/fieldmark/fieldmark/edge/conn/mux"
	"github.com/fieldmark/fieldmark/edge/eventlog"
	"github.com/fieldmark/fieldmark/edge/proxy"
	"github.com/fieldmark/fieldmark/edge/spool"
	"github.com/fieldmark/fieldmark/wasm"
)

// route is the kind of a request, for the counters.
// It is a label of metrics, so its values are few and fixed.
type route int

// The routes of a node.
// The order is that of routeNames.
const (
	routeBadge route = iota
	routeScore
	routeBoard
	routePage
	routeLLMs
	routeMCP
	routePassed
	routeRefused
	routeRedirect
	routeCount
)

var routeNames = [routeCount]string{"badge", "score", "leaderboard", "page", "llms", "mcp", "passed",
	"refused", "redirect"}

// secondBuckets reach from a score (two microseconds) to a request that ran out
// of time.
// Their ends are the fastest and the slowest request that the node can have.
var secondBuckets = []float64{1e-6, 5e-6, 1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 0.1, 0.5, 1, 5, 30}

// lagBuckets reach from a purge within a process to one that waited out an origin's
// restart; a second is what is promised.
var lagBuckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60, 600}

// meters are a node's counters. They are made once, so that counting a request
// is one atomic addition.
type meters struct {
	set      *metrics.Set
	requests [routeCount][6]*metrics.Counter // by route and status class
	panics   *metrics.Counter
	shed     *metrics.Counter
	limited  *metrics.Counter
	rejected *metrics.Counter

	badProxyHeaders *metrics.Counter

	purges       *metrics.Counter
	purgeLag     *metrics.PrometheusHistogram
	follows      *metrics.Counter
	lost         *metrics.Counter
	logGaps      *metrics.Counter
	logFallbacks map[string]*metrics.Counter // by reason
	hits         *metrics.Counter
	stales       *metrics.Counter
	misses       *metrics.Counter
	failures     *metrics.Counter
	passed       [passResults]*metrics.Counter
	redis        [redisResults]*metrics.Counter
	took         [routeCount]*metrics.PrometheusHistogram
	fills        *metrics.PrometheusHistogram
	fastPath     *metrics.PrometheusHistogram // of the reads that conn.Config.OnFastPath reports
	calls        *metrics.PrometheusHistogram // to Redis
	evicted      [2]*metrics.Counter          // by cache, as in cacheNames
	scores       *metrics.PrometheusHistogram
	modules      moduleMeters

	snapshots, snapshotsRefused *metrics.Counter // ranking files

	handshakes    map[conn.HandshakeResult]*metrics.Counter
	handshakeTime *metrics.PrometheusHistogram
	resets        [2]*metrics.Counter         // of streams, by the server and by clients
	goAways       map[uint64]*metrics.Counter // by error code
	calmed        map[string]*metrics.Counter
}

// Names and labels are compared with the help texts and the operations guide by a test.
func newMeters() *meters {
	set := metrics.NewSet()
	m := &meters{set: set}
	// Every series exists from the start with zero, so that rates and alerts see the first
	// event.
	for r, name := range routeNames {
		for class := 1; class <= 5; class++ {
			m.requests[r][class] = set.NewCounter(fmt.Sprintf(`fieldmark_edge_requests_total{route=%q,class="%dxx"}`,
				name, class))
		}
	}
	// routeCount bounds the labels: none comes from a request.
	for r, name := range routeNames {
		m.took[r] = set.NewPrometheusHistogramExt(fmt.Sprintf(`fieldmark_edge_request_seconds{route=%q}`, name),
			secondBuckets)
	}
	m.panics = set.NewCounter("fieldmark_edge_panics_total")
	m.shed = set.NewCounter(`fieldmark_edge_shed_total{what="request"}`)
	m.rejected = set.NewCounter(`fieldmark_edge_shed_total{what="connection"}`)
	m.badProxyHeaders = set.NewCounter("fieldmark_edge_proxy_headers_rejected_total")
	m.limited = set.NewCounter("fieldmark_edge_rate_limited_total")
	m.purges = set.NewCounter("fieldmark_edge_purged_tags_total")
	m.purgeLag = set.NewPrometheusHistogramExt("fieldmark_edge_purge_lag_seconds", lagBuckets)
	m.follows = set.NewCounter("fieldmark_edge_followed_events_total")
	m.lost = set.NewCounter("fieldmark_edge_log_lost_total")
	m.logGaps = set.NewCounter("fieldmark_edge_log_gaps_total")
	m.logFallbacks = map[string]*metrics.Counter{}
	for _, reason := range eventlog.Reasons() {
		m.logFallbacks[reason] = set.NewCounter(fmt.Sprintf(`fieldmark_edge_log_fallbacks_total{reason=%q}`, reason))
	}
	m.snapshots = set.NewCounter("fieldmark_edge_snapshots_loaded_total")
	m.snapshotsRefused = set.NewCounter("fieldmark_edge_snapshots_refused_total")
	m.hits = set.NewCounter(`fieldmark_edge_cache_total{result="hit"}`)
	m.stales = set.NewCounter(`fieldmark_edge_cache_total{result="stale"}`)
	m.misses = set.NewCounter(`fieldmark_edge_cache_total{result="miss"}`)
	m.failures = set.NewCounter("fieldmark_edge_cache_fill_errors_total")
	for r, name := range passNames {
		m.passed[r] = set.NewCounter(fmt.Sprintf(`fieldmark_edge_passed_total{result=%q}`, name))
	}
	for r, name := range redisNames {
		m.redis[r] = set.NewCounter(fmt.Sprintf(`fieldmark_edge_redis_total{result=%q}`, name))
	}
	m.fastPath = set.NewPrometheusHistogramExt("fieldmark_edge_hit_seconds", secondBuckets)
	m.calls = set.NewPrometheusHistogramExt("fieldmark_edge_redis_call_seconds", secondBuckets)
	for i, name := range cacheNames {
		m.evicted[i] = set.NewCounter(fmt.Sprintf(`fieldmark_edge_cache_evictions_total{cache=%q}`, name))
	}
	m.fills = set.NewPrometheusHistogramExt("fieldmark_edge_cache_fill_seconds", secondBuckets)
	m.scores = set.NewPrometheusHistogramExt("fieldmark_edge_score_seconds", secondBuckets)
	m.handshakes = map[conn.HandshakeResult]*metrics.Counter{}
	for _, result := range []conn.HandshakeResult{conn.HandshakeFull, conn.HandshakeResumed, conn.HandshakeFailed,
		conn.HandshakeEarly, conn.HandshakeRejected} {
		m.handshakes[result] = set.NewCounter(fmt.Sprintf(`fieldmark_edge_handshakes_total{result=%q}`, result))
	}
	m.resets[0] = set.NewCounter(`fieldmark_edge_stream_resets_total{by="server"}`)
	m.resets[1] = set.NewCounter(`fieldmark_edge_stream_resets_total{by="client"}`)
	m.goAways = map[uint64]*metrics.Counter{}
	count := func(first, last uint64) {
		for code := first; code <= last; code++ {
			m.goAways[code] = set.NewCounter(fmt.Sprintf(`fieldmark_edge_goaways_total{code="%d"}`, code))
		}
	}
	count(uint64(h2.NoError), uint64(h2.EnhanceYourCalm))
	count(uint64(h3.NoError), uint64(h3.MissingSettings))
	count(uint64(h3.DecompressionFailed), uint64(h3.DecoderStreamError))
	m.calmed = map[string]*metrics.Counter{}
	for _, bucket := range mux.Buckets {
		m.calmed[bucket] = set.NewCounter(fmt.Sprintf(`fieldmark_edge_calmed_total{bucket=%q}`, bucket))
	}
	m.handshakeTime = set.NewPrometheusHistogramExt("fieldmark_edge_handshake_seconds", secondBuckets)
	return m
}

// streamReset counts a stream of HTTP/2 or HTTP/3 that was reset.
// streamReset is called for every stream, so it only adds.
func (m *meters) streamReset(client bool) {
	if client {
		m.resets[1].Inc()
	} else {
		m.resets[0].Inc()
	}
}

// goAway counts a connection of HTTP/2 or HTTP/3 that the node ends. Their codes differ.
func (m *meters) goAway(code uint64) { m.goAways[code].Inc() }

// countCalmed counts a client that has exceeded a limit of HTTP/2 or HTTP/3.
func (m *meters) countCalmed(bucket string) {
	m.calmed[bucket].Inc()
}

// handshake counts a TLS handshake and times a successful one.
// Failed handshakes are not timed: an attacker decides how long they take.
func (m *meters) handshake(result conn.HandshakeResult, took time.Duration) {
	m.handshakes[result].Inc()
	switch result {
	case conn.HandshakeFull, conn.HandshakeResumed, conn.HandshakeEarly:
		m.handshakeTime.Update(took.Seconds())
	}
}

// cacheNames are the caches of a node: what it derives itself, and answers of the
// origin that it passed on.
var cacheNames = [...]string{"derived", "passed"}

// watch adds the gauges, which are read when the metrics are.
// Gauges read atomics or take short locks: a scrape never waits for a request.
func (m *meters) watch(e *Edge) {
	for _, name := range cacheNames {
		memory := func() (bytes, entries int64) {
			if name == cacheNames[1] {
				return e.proxied.proxy.Memory()
			}
			return e.cache.Used(), e.cache.Entries()
		}
		m.set.NewGauge(fmt.Sprintf(`fieldmark_edge_cache_bytes{cache=%q}`, name),
			func() float64 { n, _ := memory(); return float64(n) })
		m.set.NewGauge(fmt.Sprintf(`fieldmark_edge_cache_entries{cache=%q}`, name),
			func() float64 { _, n := memory(); return float64(n) })
	}
	for name, stream := range map[string]bool{"stream": true, "poll": false} {
		m.set.NewGauge(fmt.Sprintf(`fieldmark_edge_log_source{source=%q}`, name), func() float64 {
			if e.streaming.Load() == stream {
				return 1
			}
			return 0
		})
	}
	m.set.NewGauge("fieldmark_edge_event", func() float64 { return float64(e.replica.applied.Load()) })
	m.set.NewGauge("fieldmark_edge_ranking_age_seconds",
		func() float64 { return e.replica.rankingAge(time.Now()).Seconds() })
	m.set.NewGauge("fieldmark_edge_replication_lag_seconds",
		func() float64 { return e.replica.lag(time.Now()).Seconds() })
	// It is 0 for the same reasons as /readyz is 503.
	m.set.NewGauge("fieldmark_edge_ready", func() float64 {
		if e.Ready() != nil {
			return 0
		}
		return 1
	})
}

// watchSpool adds the numbers of a spool, which only nodes with one have.
func (m *meters) watchSpool(s *spool.Spool) {
	for name, read := range map[string]func(spool.Stats) float64{
		"fieldmark_edge_spool_requests":       func(v spool.Stats) float64 { return float64(v.Requests) },
		"fieldmark_edge_spool_bytes":          func(v spool.Stats) float64 { return float64(v.Bytes) },
		"fieldmark_edge_spool_oldest_seconds": func(v spool.Stats) float64 { return v.Oldest.Seconds() },
		"fieldmark_edge_spool_accepted_total": func(v spool.Stats) float64 { return float64(v.Accepted) },
		"fieldmark_edge_spool_sent_total":     func(v spool.Stats) float64 { return float64(v.Delivered) },
		"fieldmark_edge_spool_refused_total":  func(v spool.Stats) float64 { return float64(v.Refused) },
		"fieldmark_edge_spool_failures_total": func(v spool.Stats) float64 { return float64(v.Failures) },
	} {
		m.set.NewGauge(name, func() float64 { return read(s.Stats()) })
	}
}

// logFallback counts that the stream of the log is not used for a while.
func (m *meters) logFallback(reason string) { m.logFallbacks[reason].Inc() }

// count records one served request.
// Statuses outside of 100 to 599 come from an origin that violates HTTP; they have no class.
func (m *meters) count(r route, status int) {
	if class := status / 100; class >= 1 && class <= 5 {
		m.requests[r][class].Inc()
	}
}

// since notes how long something took.
func since(h *metrics.PrometheusHistogram, began time.Time) { h.Update(time.Since(began).Seconds()) }

// WriteMetrics writes the node's counters in the Prometheus text format.
func (e *Edge) WriteMetrics(w io.Writer) {
	e.meters.set.WritePrometheus(w)
	e.conns.WriteMetrics(w)
	e.certificates.WriteMetrics(w)
	e.cfg.AccessLog.WriteMetrics(w)
}

// cacheEvents counts the events of the cache.
func (m *meters) cacheEvents() cache.Events {
	return cache.Events{
		Hit:        m.hits.Inc,
		Stale:      m.stales.Inc,
		Miss:       m.misses.Inc,
		Filled:     func(took time.Duration) { m.fills.Update(took.Seconds()) },
		FillFailed: func(error) { m.failures.Inc() },
		Evicted:    m.evicted[0].Add,
	}
}

// Results of proxied requests.
const (
	passHit = iota
	passStale
	passMiss
	passBypass
	passCollapsed
	passOnError
	passShared
	passResults
)

var passNames = [passResults]string{"hit", "stale", "miss", "bypass", "collapsed", "on-error", "shared"}

// proxyEvents counts the events of the proxy.
func (m *meters) proxyEvents() proxy.Events {
	return proxy.Events{
		Hit: m.passed[passHit].Inc, Stale: m.passed[passStale].Inc, Miss: m.passed[passMiss].Inc,
		Passed: m.passed[passBypass].Inc, Collapsed: m.passed[passCollapsed].Inc, OnError: m.passed[passOnError].Inc,
		Shared:  m.passed[passShared].Inc,
		Evicted: m.evicted[1].Add,
	}
}

// Results of calls to the shared tier.
const (
	redisHit = iota
	redisMiss
	redisFill
	redisWait
	redisError
	redisSkip
	redisResults
)

var redisNames = [redisResults]string{"hit", "miss", "fill", "wait", "error", "skip"}

// redisEvents counts the events of the shared tier.
func (m *meters) redisEvents() cache.RedisEvents {
	return cache.RedisEvents{
		Hit: m.redis[redisHit].Inc, Miss: m.redis[redisMiss].Inc, Filled: m.redis[redisFill].Inc,
		Waited: m.redis[redisWait].Inc,
		Failed: func(error) { m.redis[redisError].Inc() }, Skipped: m.redis[redisSkip].Inc,
		Called: func(took time.Duration) { m.calls.Update(took.Seconds()) },
	}
}

// meteredModules is how many modules a node keeps counters of, the newest ones;
// a year of activations must not become a year of series.
const meteredModules = 8

// moduleMeters are the counters of each module, by its digest.
type moduleMeters struct {
	mu    sync.RWMutex
	of    map[fieldmark.Digest]*moduleMeter
	order []fieldmark.Digest // oldest first
}

// moduleMeter holds the metrics of one module.
type moduleMeter struct {
	digest    fieldmark.Digest
	fuel      *metrics.PrometheusHistogram
	seconds   *metrics.PrometheusHistogram
	faults    map[wasm.FaultKind]*metrics.Counter
	waits     *metrics.Counter
	instances *metrics.Gauge
	load      *metrics.Gauge
	rollbacks *metrics.Counter
}

// fuelBuckets reach from a small scorecard to the most fuel a call may use.
var fuelBuckets = []float64{1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6, 3e6, 1e7, 1e8}

var faultKinds = []wasm.FaultKind{
	wasm.FaultFuel, wasm.FaultDepth, wasm.FaultTrap, wasm.FaultOutput, wasm.FaultGrowth, wasm.FaultDeclined,
	wasm.FaultInput,
}

// module returns the counters of a module, making them the first time.
func (m *meters) module(digest fieldmark.Digest) *moduleMeter {
	s := &m.modules
	s.mu.RLock()
	meter := s.of[digest]
	s.mu.RUnlock()
	if meter != nil {
		return meter
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if meter = s.of[digest]; meter != nil {
		return meter
	}
	if s.of == nil {
		s.of = map[fieldmark.Digest]*moduleMeter{}
	}
	if len(s.order) == meteredModules {
		m.unregister(s.of[s.order[0]])
		delete(s.of, s.order[0])
		s.order = s.order[1:]
	}
	meter = m.newModule(digest)
	s.of[digest] = meter
	s.order = append(s.order, digest)
	return meter
}

func moduleMetric(name string, digest fieldmark.Digest) string {
	return fmt.Sprintf(`fieldmark_edge_module_%s{digest=%q}`, name, digest)
}

func faultMetric(digest fieldmark.Digest, kind wasm.FaultKind) string {
	return fmt.Sprintf(`fieldmark_edge_module_faults_total{digest=%q,kind=%q}`, digest, kind)
}

// newModule registers the metrics of a module under its digest. Their number is bounded by meteredModules, because
// each activation adds a series that Prometheus stores.
func (m *meters) newModule(d fieldmark.Digest) *moduleMeter {
	meter := &moduleMeter{
		digest:    d,
		fuel:      m.set.NewPrometheusHistogramExt(moduleMetric("fuel", d), fuelBuckets),
		seconds:   m.set.NewPrometheusHistogramExt(moduleMetric("seconds", d), secondBuckets),
		waits:     m.set.NewCounter(moduleMetric("waits_total", d)),
		instances: m.set.NewGauge(moduleMetric("instances", d), nil),
		load:      m.set.NewGauge(moduleMetric("load_seconds", d), nil),
		rollbacks: m.set.NewCounter(moduleMetric("rollbacks_total", d)),
		faults:    map[wasm.FaultKind]*metrics.Counter{},
	}
	for _, kind := range faultKinds {
		meter.faults[kind] = m.set.NewCounter(faultMetric(d, kind))
	}
	return meter
}

func (m *meters) unregister(old *moduleMeter) {
	for _, name := range []string{"fuel", "seconds", "waits_total", "instances", "load_seconds", "rollbacks_total"} {
		m.set.UnregisterMetric(moduleMetric(name, old.digest))
	}
	for _, kind := range faultKinds {
		m.set.UnregisterMetric(faultMetric(old.digest, kind))
	}
}

// observer counts what modules do.
func (m *meters) observer() wasm.Observer {
	return wasm.Observer{
		Loaded: func(r fieldmark.ModuleRef, took time.Duration) { m.module(r.Digest).load.Set(took.Seconds()) },
		Scored: func(r fieldmark.ModuleRef, fuel int64, took time.Duration) {
			meter := m.module(r.Digest)
			meter.fuel.Update(float64(fuel))
			meter.seconds.Update(took.Seconds())
		},
		Faulted: func(r fieldmark.ModuleRef, kind wasm.FaultKind) {
			if counter := m.module(r.Digest).faults[kind]; counter != nil {
				counter.Inc()
			}
		},
		Waited:    func(r fieldmark.ModuleRef) { m.module(r.Digest).waits.Inc() },
		Instances: func(r fieldmark.ModuleRef, change int) { m.module(r.Digest).instances.Add(float64(change)) },
	}
}

func (m *meters) rollback(r fieldmark.ModuleRef) { m.module(r.Digest).rollbacks.Inc() }

// minuteReader turns counters into the counts of minutes.
type minuteReader struct {
	meters  *meters
	minute  time.Time              // that is counted
	totals  fieldmark.MetricBucket // at its begin
	pending []fieldmark.MetricBucket
}

func newMinuteReader(m *meters, now time.Time) *minuteReader {
	return &minuteReader{meters: m, minute: now.Truncate(time.Minute), totals: m.totals()}
}

// read adds the counts of a minute that has ended.
func (r *minuteReader) read(now time.Time) {
	minute := now.Truncate(time.Minute)
	if !minute.After(r.minute) {
		return
	}
	totals := r.meters.totals()
	was := r.totals
	b := fieldmark.MetricBucket{At: fieldmark.At(r.minute), MetricCounts: fieldmark.MetricCounts{
		Requests: totals.Requests - was.Requests, Errors: totals.Errors - was.Errors, Hits: totals.Hits - was.Hits,
		Misses: totals.Misses - was.Misses, Fetches: totals.Fetches - was.Fetches,
	}, Latency: slices.Clone(totals.Latency)}
	for i := range b.Latency {
		b.Latency[i] -= was.Latency[i]
	}
	r.minute, r.totals = minute, totals
	r.pending = append(r.pending, b)
	r.pending = r.pending[max(len(r.pending)-fieldmark.MaxNodeBuckets, 0):]
}

// totals reads the counters since the start.
func (m *meters) totals() (b fieldmark.MetricBucket) {
	for r := range m.requests {
		for class, counter := range m.requests[r] {
			if counter == nil {
				continue
			}
			b.Requests += int64(counter.Get())
			if class == 5 {
				b.Errors += int64(counter.Get())
			}
		}
	}
	passedHits := m.passed[passHit].Get() + m.passed[passStale].Get() + m.passed[passCollapsed].Get()
	b.Hits = int64(m.hits.Get() + m.stales.Get() + passedHits)
	b.Misses = int64(m.misses.Get() + m.passed[passMiss].Get() + m.passed[passBypass].Get())
	b.Fetches = b.Misses
	var text bytes.Buffer
	m.set.WritePrometheus(&text)
	b.Latency = readLatency(text.String())
	return b
}

// readLatency sums the histograms of requests. Of the fast path one read in conn.SampleEvery is
// measured; the histograms have no other reader than their text.
func readLatency(text string) []int64 {
	bounds := fieldmark.LatencyBounds()
	sums := make([]int64, len(bounds)+1)
	for line := range strings.Lines(text) {
		weight := int64(1)
		switch {
		case strings.HasPrefix(line, "fieldmark_edge_request_seconds_bucket"):
		case strings.HasPrefix(line, "fieldmark_edge_hit_seconds_bucket"):
			weight = conn.SampleEvery
		default:
			continue
		}
		_, rest, _ := strings.Cut(line, `le="`)
		le, rest, _ := strings.Cut(rest, `"} `)
		n, err := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
		seconds, ferr := strconv.ParseFloat(le, 64)
		if err != nil || ferr != nil {
			continue
		}
		i := slices.IndexFunc(bounds, func(d time.Duration) bool { return d.Seconds() >= seconds*(1-1e-9) })
		if i < 0 {
			i = len(bounds)
		}
		sums[i] += weight * n
	}
	for i := len(sums) - 1; i > 0; i-- { // the text is cumulative
		sums[i] -= sums[i-1]
	}
	return sums
}
