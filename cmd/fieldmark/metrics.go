package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/store"
)

// vitalsTimeout bounds a look at the record for one reading of the metrics, well
// below the ten seconds a Prometheus waits.
const vitalsTimeout = 3 * time.Second

// buildInfo writes what runs, as a metric that is always 1.
func buildInfo(role string) func(io.Writer) {
	return func(w io.Writer) {
		fmt.Fprintf(w, "fieldmark_build_info{role=%q,version=%q,go=%q} 1\n", role, version, runtime.Version())
	}
}

// originMeters count what an origin answers.
type originMeters struct {
	set     *metrics.Set
	service *origin.Service
	pools   func() []store.Pool

	events                map[fieldmark.EventType]*metrics.Counter
	writes, refused       *metrics.Counter
	lastRefused           atomic.Int64 // Unix time in seconds
	wrote, answers, swept *metrics.PrometheusHistogram
}

// recordBuckets reach from a row in memory to a transaction that was given up, in
// seconds.
var recordBuckets = []float64{5e-5, 1e-4, 5e-4, 1e-3, 5e-3, .01, .05, .1, .5, 1, 5, 30}

func newOriginMeters() *originMeters {
	m := &originMeters{set: metrics.NewSet(), events: map[fieldmark.EventType]*metrics.Counter{}}
	for _, kind := range slices.Concat(fieldmark.MissionEvents(), fieldmark.SLAEvents(), fieldmark.PaymentEvents()) {
		m.events[kind] = m.set.NewCounter(fmt.Sprintf(`fieldmark_events_total{type=%q}`, kind))
	}
	m.writes = m.set.NewCounter("fieldmark_record_writes_total")
	m.refused = m.set.NewCounter("fieldmark_record_refused_writes_total")
	m.wrote = m.set.NewPrometheusHistogramExt("fieldmark_record_write_seconds", recordBuckets)
	m.answers = m.set.NewPrometheusHistogramExt("fieldmark_record_read_seconds", recordBuckets)
	m.swept = m.set.NewPrometheusHistogramExt("fieldmark_sla_sweep_seconds", recordBuckets)
	return m
}

// record counts what the record tells.
func (m *originMeters) record() store.Events {
	return store.Events{
		Wrote: func(took time.Duration, writes int) {
			m.wrote.Update(took.Seconds())
			m.writes.Add(writes)
		},
		Refused: func() {
			m.refused.Inc()
			m.lastRefused.Store(time.Now().Unix())
		},
		Read: func(took time.Duration) { m.answers.Update(took.Seconds()) },
		Told: func(kind fieldmark.EventType) {
			if c, ok := m.events[kind]; ok { // any other is no news of a mission
				c.Inc()
			}
		},
	}
}

// originRoutes are the names an origin's requests are counted by, after how their
// paths begin.
var originRoutes = []struct{ prefix, name string }{
	{fieldmark.PathInternal, "internal"}, {"/api/public/", "public"}, {fieldmark.PathAdminAPI, "admin-api"},
	{fieldmark.PathAdmin, "admin"}, {"/calendar/", "calendar"},
}

func routeOf(path string) string {
	for _, r := range originRoutes {
		if strings.HasPrefix(path, r.prefix) {
			return r.name
		}
	}
	return "other"
}

// wrap counts and times requests. Those that wait for events take as long as
// nothing happens; their time says nothing and is left out.
func (m *originMeters) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		route, began, seen := routeOf(r.URL.Path), time.Now(), &statusWriter{ResponseWriter: w}
		defer func() {
			status := seen.status
			if status == 0 {
				status = http.StatusOK
			}
			m.set.GetOrCreateCounter(fmt.Sprintf(`fieldmark_origin_requests_total{route=%q,class="%dxx"}`, route, status/100)).Inc()
			if r.URL.Path != fieldmark.PathInternalEvents {
				m.set.GetOrCreatePrometheusHistogram(fmt.Sprintf(`fieldmark_origin_request_seconds{route=%q}`, route)).UpdateDuration(began)
			}
		}()
		next.ServeHTTP(seen, r)
	})
}

// statusWriter remembers the status that was sent.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach what it needs.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// refusedWindow is how long a refused write is worth a word on /readyz.
const refusedWindow = time.Minute

// ready reports why the origin cannot answer, if it cannot. A database that
// refuses writes still answers reads, so the origin stays ready and says so: with
// a full disk behind all origins, taking them out would end the reads as well.
func (m *originMeters) ready(ctx context.Context) error {
	if err := m.service.Health(ctx); err != nil {
		return err
	}
	if at := m.lastRefused.Load(); at > 0 && time.Since(time.Unix(at, 0)) < refusedWindow {
		return degraded("the database refused a write within the last minute; is its disk full?")
	}
	return nil
}

// writePools writes how much the connections to the database are used.
func (m *originMeters) writePools(w io.Writer, pools []store.Pool) {
	for _, p := range pools {
		fmt.Fprintf(w, "fieldmark_record_connections{pool=%q,state=\"in_use\"} %d\n", p.Name, p.InUse)
		fmt.Fprintf(w, "fieldmark_record_connections{pool=%q,state=\"idle\"} %d\n", p.Name, p.Idle)
		fmt.Fprintf(w, "fieldmark_record_connection_waits_total{pool=%q} %d\n", p.Name, p.Waits)
	}
}

// write writes the counters and the record's vitals.
func (m *originMeters) write(w io.Writer) {
	m.set.WritePrometheus(w)
	m.writePools(w, m.pools())
	ctx, cancel := context.WithTimeout(context.Background(), vitalsTimeout)
	defer cancel()
	v, err := m.service.Vitals(ctx)
	up := 1
	if err != nil {
		up = 0
	}
	fmt.Fprintf(w, "fieldmark_record_up %d\n", up)
	if err != nil {
		return
	}
	for _, g := range []struct {
		name  string
		value float64
	}{
		{"fieldmark_origin_event", float64(v.Event)}, {"fieldmark_webhook_backlog", float64(v.Backlog)},
		{"fieldmark_webhook_backlog_age_seconds", v.Oldest.Seconds()}, {"fieldmark_webhook_endpoints_stopped", float64(v.Stopped)},
		{"fieldmark_webhook_endpoints_failing", float64(v.Failing)},
		{"fieldmark_webhook_held", float64(v.Held)}, {"fieldmark_webhook_circuits_open", float64(v.Open)}, {"fieldmark_audits_waiting", float64(v.AuditsWaiting)},
		{"fieldmark_audits_running", float64(v.AuditsRunning)}, {"fieldmark_sla_due", float64(v.Due)}, {"fieldmark_sla_due_age_seconds", v.Late.Seconds()},
	} {
		fmt.Fprintf(w, "%s %g\n", g.name, g.value)
	}
	for _, status := range fieldmark.OpenStatuses() {
		fmt.Fprintf(w, "fieldmark_missions_open{status=%q} %d\n", status, v.Missions[status])
	}
}
