package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/trace"
)

// traceSettings are where spans go.
type traceSettings struct {
	OTLPEndpoint string  `name:"otlp-endpoint" env:"FIELDMARK_OTLP_ENDPOINT" placeholder:"URL" help:"Collector that traces are sent to by OTLP over HTTP: http://127.0.0.1:4318; none if unset."`
	OTLPRatio    float64 `name:"otlp-ratio" env:"FIELDMARK_OTLP_RATIO" default:"1" help:"Share of traces that begin here to send, 0 to 1; what comes with a traceparent goes by that."`
}

// tracer makes what spans are made with; nil where they go nowhere.
func (t *traceSettings) tracer(role string, log *slog.Logger) (*trace.Tracer, error) {
	if t.OTLPEndpoint == "" {
		return nil, nil
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return trace.New(trace.Config{Endpoint: t.OTLPEndpoint, Ratio: t.OTLPRatio, Log: log, Resource: map[string]string{
		"service.name": "fieldmark", "service.version": version, "service.instance.id": host + "-" + strconv.Itoa(os.Getpid()), "host.name": host, "fieldmark.role": role,
	}})
}

// telling sends spans while work runs, and then what is left of them.
func telling(ctx context.Context, t *trace.Tracer, work func() error) error {
	if t == nil {
		return work()
	}
	behind, stop := context.WithCancel(context.WithoutCancel(ctx))
	var g errgroup.Group
	g.Go(func() error { return t.Run(behind) })
	err := work()
	stop()
	return errors.Join(err, g.Wait())
}

// traced makes what an origin does for a request part of its trace, and tells of
// it. What edges ask by themselves all day is told of only as part of another.
func traced(t *trace.Tracer, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parent := trace.Parse(r.Header.Get(trace.Header))
		if t == nil && !parent.Valid() {
			next.ServeHTTP(w, r)
			return
		}
		begin := t.Start
		if strings.HasPrefix(r.URL.Path, fieldmark.PathInternal) {
			begin = t.Child
		}
		route := routeOf(r.URL.Path)
		self, span := begin(parent, "origin."+route, trace.Server)
		defer span.End()
		seen := &statusWriter{ResponseWriter: w}
		next.ServeHTTP(seen, r.WithContext(trace.With(r.Context(), self)))
		span.Text("http.request.method", r.Method)
		span.Text("url.path", fieldmark.LoggedPath(r.URL.Path))
		span.Text("fieldmark.request", w.Header().Get(fieldmark.HeaderRequestID))
		span.Number("http.response.status_code", int64(seen.status))
		if seen.status >= http.StatusInternalServerError {
			span.Fail(fmt.Sprintf("answered %d", seen.status))
		}
	})
}
