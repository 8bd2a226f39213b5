package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
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
}

func newOriginMeters(s *origin.Service) *originMeters {
	return &originMeters{set: metrics.NewSet(), service: s}
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

// write writes the counters and the record's vitals.
func (m *originMeters) write(w io.Writer) {
	m.set.WritePrometheus(w)
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
		{"fieldmark_audits_running", float64(v.AuditsRunning)},
	} {
		fmt.Fprintf(w, "%s %g\n", g.name, g.value)
	}
}
