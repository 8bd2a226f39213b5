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
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/store"
)

// statsTimeout bounds the database queries for one scrape. Prometheus abandons a
// scrape after ten seconds by default.
const statsTimeout = 3 * time.Second * timeout.Scale

// maxCounted limits each count of a scrape; the documentation of the metrics names it.
const maxCounted = 100_000

// buildInfo returns a function that writes the version as a metric that is always 1.
func buildInfo(role string) func(io.Writer) {
	return func(w io.Writer) {
		fmt.Fprintf(w, "fieldmark_build_info{role=%q,version=%q,go=%q} 1\n", role, version, runtime.Version())
	}
}

// originMetrics are the metrics of an origin.
type originMetrics struct {
	set     *metrics.Set
	service *origin.Service
	store   *store.Store

	events                         map[fieldmark.EventType]*metrics.Counter
	writes, refused                *metrics.Counter
	lastRefused                    atomic.Int64 // Unix time in seconds; 0 if never
	writeTime, readTime, timerTime *metrics.PrometheusHistogram
}

// databaseBuckets are in seconds: from a row in memory to a transaction that timed out.
var databaseBuckets = []float64{5e-5, 1e-4, 5e-4, 1e-3, 5e-3, .01, .05, .1, .5, 1, 5, 30}

func newOriginMetrics() *originMetrics {
	m := &originMetrics{set: metrics.NewSet(), events: map[fieldmark.EventType]*metrics.Counter{}}
	for _, kind := range slices.Concat(fieldmark.MissionEvents(), fieldmark.SLAEvents(), fieldmark.PaymentEvents(),
		[]fieldmark.EventType{fieldmark.EventBrandAudited}) {
		m.events[kind] = m.set.NewCounter(fmt.Sprintf(`fieldmark_events_total{type=%q}`, kind))
	}
	m.writes = m.set.NewCounter("fieldmark_database_writes_total")
	m.refused = m.set.NewCounter("fieldmark_database_refused_writes_total")
	m.writeTime = m.set.NewPrometheusHistogramExt("fieldmark_database_write_seconds", databaseBuckets)
	m.readTime = m.set.NewPrometheusHistogramExt("fieldmark_database_read_seconds", databaseBuckets)
	m.timerTime = m.set.NewPrometheusHistogramExt("fieldmark_sla_sweep_seconds", databaseBuckets)
	return m
}

// storeEvents returns the callbacks by which the store reports what it does.
func (m *originMetrics) storeEvents() store.Hooks {
	return store.Hooks{
		Commit: func(took time.Duration, writes int) {
			m.writeTime.Update(took.Seconds())
			m.writes.Add(writes)
		},
		Refused: func() {
			m.refused.Inc()
			m.lastRefused.Store(time.Now().Unix())
		},
		Query: func(took time.Duration) { m.readTime.Update(took.Seconds()) },
		Event: func(kind fieldmark.EventType) {
			if c, ok := m.events[kind]; ok { // others are not counted
				c.Inc()
			}
		},
	}
}

// count returns how many events of a type were committed.
func (m *originMetrics) count(kind fieldmark.EventType) int64 {
	if c, ok := m.events[kind]; ok {
		return int64(c.Get())
	}
	return 0
}

// originRoutes map prefixes of paths to the values of the label route.
var originRoutes = []struct{ prefix, name string }{
	{fieldmark.PathInternal, "internal"}, {"/api/public/", "public"}, {fieldmark.PathAdminAPI, "admin-api"},
	{fieldmark.PathAdmin, "admin"}, {"/calendar/", "calendar"}, {fieldmark.PathTechnician, "technician"},
	{fieldmark.PathPortal, "portal"},
}

func routeOf(path string) string {
	for _, r := range originRoutes {
		if strings.HasPrefix(path, r.prefix) {
			return r.name
		}
	}
	return "other"
}

// wrap counts and times requests. Requests that wait for events are not timed: they last
// until an event occurs.
func (m *originMetrics) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		route, began, seen := routeOf(r.URL.Path), time.Now(), &statusWriter{ResponseWriter: w}
		defer func() {
			status := seen.status
			if status == 0 {
				status = http.StatusOK
			}
			m.set.GetOrCreateCounter(fmt.Sprintf(`fieldmark_origin_requests_total{route=%q,class="%dxx"}`, route,
				status/100)).Inc()
			if r.URL.Path != fieldmark.PathInternalEvents {
				m.set.GetOrCreatePrometheusHistogram(fmt.Sprintf(`fieldmark_origin_request_seconds{route=%q}`,
					route)).UpdateDuration(began)
			}
		}()
		next.ServeHTTP(seen, r)
	})
}

// statusWriter records the status of a response.
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

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// refusedWindow is the time for which /readyz mentions a refused write.
const refusedWindow = time.Minute

// ready returns an error if the origin cannot serve. An origin whose database refuses
// writes stays ready, with a note: if the disk behind all origins is full, removing them
// from the load balancer would end reads as well.
func (m *originMetrics) ready(ctx context.Context) error {
	if err := m.service.Health(ctx); err != nil {
		return err
	}
	if at := m.lastRefused.Load(); at > 0 && time.Since(time.Unix(at, 0)) < refusedWindow {
		return degraded("the database refused a write within the last minute; is its disk full?")
	}
	if n, divided := m.store.PartitionsAhead(); divided && n == 0 {
		return degraded("the event log is in its last partition; run fieldmark db partition")
	}
	return nil
}

// writePools writes the state of the connection pools.
func (m *originMetrics) writePools(w io.Writer, pools []store.Pool) {
	for _, p := range pools {
		fmt.Fprintf(w, "fieldmark_database_connections{pool=%q,state=\"in_use\"} %d\n", p.Name, p.InUse)
		fmt.Fprintf(w, "fieldmark_database_connections{pool=%q,state=\"idle\"} %d\n", p.Name, p.Idle)
		fmt.Fprintf(w, "fieldmark_database_connection_waits_total{pool=%q} %d\n", p.Name, p.Waits)
	}
}

// writePartitions writes how many partitions have no event yet, if the tables are divided.
func (m *originMetrics) writePartitions(w io.Writer) {
	if n, divided := m.store.PartitionsAhead(); divided {
		fmt.Fprintf(w, "fieldmark_database_partitions_ahead %d\n", n)
	}
}

// writeReplica writes the state of the replica of the database, if there is one.
func (m *originMetrics) writeReplica(ctx context.Context, w io.Writer) {
	r, configured, err := m.store.Replica(ctx)
	if err != nil || !configured {
		return
	}
	up := 0
	if r.Up {
		up = 1
		fmt.Fprintf(w, "fieldmark_database_replica_lag_events %d\n", r.Lag)
	}
	fmt.Fprintf(w, "fieldmark_database_replica_up %d\n", up)
	fmt.Fprintf(w, "fieldmark_database_replica_reads_total{result=\"read\"} %d\n", r.Reads)
	fmt.Fprintf(w, "fieldmark_database_replica_reads_total{result=\"behind\"} %d\n", r.Behind)
	fmt.Fprintf(w, "fieldmark_database_replica_reads_total{result=\"failed\"} %d\n", r.Failed)
}

// writeMirror writes the state of the mirror of the event log.
func (m *originMetrics) writeMirror(w io.Writer) {
	s := m.service.Mirror.Status()
	if !s.Enabled {
		return
	}
	fmt.Fprintf(w, "fieldmark_mirror_fence %d\n", s.Fence)
	fmt.Fprintf(w, "fieldmark_mirror_head %d\n", s.Head)
	fmt.Fprintf(w, "fieldmark_mirror_lag_events %d\n", s.LagEvents)
	fmt.Fprintf(w, "fieldmark_mirror_lag_seconds %g\n", s.LagSeconds)
}

// writePublicLog writes the state of the public log; the origins of a database write the same size.
func (m *originMetrics) writePublicLog(ctx context.Context, w io.Writer) {
	logs, err := m.service.PublicLog.List(ctx)
	if err != nil {
		return // it is off, or fieldmark_database_up reports it
	}
	fmt.Fprintf(w, "fieldmark_public_log_leaves %d\n", logs[0].Size)
	fmt.Fprintf(w, "fieldmark_public_log_errors_total %d\n", m.service.PublicLog.Errors())
}

// writeCDNs writes the state of each CDN in front of the edges; the origins of a database write the
// same.
func (m *originMetrics) writeCDNs(ctx context.Context, w io.Writer) {
	all, err := m.service.CDNs.List(ctx)
	if err != nil {
		return // fieldmark_database_up reports it
	}
	for i := range all {
		c := &all[i]
		fmt.Fprintf(w, "fieldmark_cdn_lag_seconds{cdn=%q} %d\n", c.Name, c.LagSeconds)
		for _, state := range []fieldmark.CDNState{fieldmark.CDNActive, fieldmark.CDNFailing, fieldmark.CDNRefused} {
			value := 0
			if c.State == state {
				value = 1
			}
			fmt.Fprintf(w, "fieldmark_cdn_state{cdn=%q,state=%q} %d\n", c.Name, state, value)
		}
		if c.Probe == nil {
			continue
		}
		states := []fieldmark.CDNProbeState{fieldmark.CDNPending, fieldmark.CDNVerified, fieldmark.CDNFailed}
		for _, state := range states {
			value := 0
			if c.Probe.State == state {
				value = 1
			}
			fmt.Fprintf(w, "fieldmark_cdn_probe_state{cdn=%q,state=%q} %d\n", c.Name, state, value)
		}
	}
}

// writeSnapshots writes the metrics of ranking files; without a file its age and size are 0.
func (m *originMetrics) writeSnapshots(ctx context.Context, w io.Writer) {
	v, err := m.service.Snapshots.Stats(ctx)
	if err != nil {
		return // fieldmark_database_up reports it
	}
	var age time.Duration
	if !v.Made.IsZero() {
		age = time.Since(v.Made)
	}
	fmt.Fprintf(w, "fieldmark_snapshot_age_seconds %g\nfieldmark_snapshot_bytes %d\nfieldmark_snapshot_lines %d\n",
		age.Seconds(), v.Bytes, v.Lines)
	fmt.Fprintf(w, "fieldmark_snapshot_failures_total %d\n", v.Failed)
}

// write writes all metrics of the origin.
func (m *originMetrics) write(w io.Writer) {
	m.set.WritePrometheus(w)
	for _, r := range m.service.Certificates.OrderResults() {
		fmt.Fprintf(w, "fieldmark_certificate_orders_total{result=%q} %d\n", r.Result, r.Count)
	}
	m.writePools(w, m.store.Pools())
	m.writeMirror(w)
	ctx, cancel := context.WithTimeout(context.Background(), statsTimeout)
	defer cancel()
	v, err := m.service.Stats(ctx, maxCounted)
	var due, failing int
	if err == nil {
		due, failing, err = m.service.Certificates.Status(ctx)
	}
	up := 1
	if err != nil {
		up = 0
	}
	fmt.Fprintf(w, "fieldmark_database_up %d\n", up)
	if err != nil {
		return
	}
	for _, g := range []struct {
		name  string
		value float64
	}{
		{"fieldmark_origin_event", float64(v.Event)}, {"fieldmark_webhook_backlog", float64(v.Backlog)},
		{"fieldmark_webhook_backlog_age_seconds", v.Oldest.Seconds()},
		{"fieldmark_webhook_endpoints_stopped", float64(v.Stopped)},
		{"fieldmark_webhook_endpoints_failing", float64(v.Failing)},
		{"fieldmark_webhook_held", float64(v.Held)}, {"fieldmark_webhook_circuits_open", float64(v.CircuitOpen)},
		{"fieldmark_audits_waiting", float64(v.AuditsWaiting)},
		{"fieldmark_audits_running", float64(v.AuditsRunning)},
		{"fieldmark_checks_waiting", float64(v.SiteChecksWaiting)},
		{"fieldmark_checks_running", float64(v.SiteChecksRunning)}, {"fieldmark_sla_due", float64(v.Due)},
		{"fieldmark_sla_due_age_seconds", v.MaxDelay.Seconds()},
		{"fieldmark_certificate_due", float64(due)}, {"fieldmark_certificate_failing", float64(failing)},
	} {
		fmt.Fprintf(w, "%s %g\n", g.name, g.value)
	}
	m.writePublicLog(ctx, w)
	m.writeCDNs(ctx, w)
	m.writeReplica(ctx, w)
	m.writePartitions(w)
	m.writeSnapshots(ctx, w)
	for _, status := range fieldmark.OpenStatuses() {
		fmt.Fprintf(w, "fieldmark_missions_open{status=%q} %d\n", status, v.Missions[status])
	}
}
