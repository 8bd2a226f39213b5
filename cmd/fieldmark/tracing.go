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

// traceSettings configure tracing.
type traceSettings struct {
	OTLPEndpoint string  `name:"otlp-endpoint" env:"FIELDMARK_OTLP_ENDPOINT" placeholder:"URL" help:"OpenTelemetry collector to send traces to, by OTLP over HTTP, such as http://127.0.0.1:4318; none if unset."`
	OTLPRatio    float64 `name:"otlp-ratio" env:"FIELDMARK_OTLP_RATIO" default:"1" help:"Sampling ratio of traces that start here, 0 to 1. A request with a traceparent follows the decision in it."`
}

// tracer returns the tracer, or nil if no collector is set.
func (t *traceSettings) tracer(role string, log *slog.Logger) (*trace.Tracer, error) {
	if t.OTLPEndpoint == "" {
		return nil, nil
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return trace.New(trace.Config{Endpoint: t.OTLPEndpoint, Ratio: t.OTLPRatio, Log: log, Resource: map[string]string{
		"service.name": "fieldmark", "service.version": version,
		"service.instance.id": host + "-" + strconv.Itoa(os.Getpid()), "host.name": host, "fieldmark.role": role,
	}})
}

// withTracing exports spans while work runs, and then the remaining ones.
func withTracing(ctx context.Context, t *trace.Tracer, work func() error) error {
	if t == nil {
		return work()
	}
	exportCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var g errgroup.Group
	g.Go(func() error { return t.Run(exportCtx) })
	err := work()
	stop()
	return errors.Join(err, g.Wait())
}

// traceRequests records a span for each request. Internal requests of edges get a span only
// as part of another trace, because edges poll all day.
func traceRequests(t *trace.Tracer, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parent := trace.Parse(r.Header.Get(trace.Header))
		if t == nil && !parent.Valid() {
			next.ServeHTTP(w, r)
			return
		}
		start := t.Start
		if strings.HasPrefix(r.URL.Path, fieldmark.PathInternal) {
			start = t.Child
		}
		route := routeOf(r.URL.Path)
		ctx, span := start(parent, "origin."+route, trace.Server)
		defer span.End()
		recorder := &statusWriter{ResponseWriter: w}
		next.ServeHTTP(recorder, r.WithContext(trace.With(r.Context(), ctx)))
		span.SetString("http.request.method", r.Method)
		span.SetString("url.path", fieldmark.LoggedPath(r.URL.Path))
		span.SetString("fieldmark.request", w.Header().Get(fieldmark.HeaderRequestID))
		span.SetInt("http.response.status_code", int64(recorder.status))
		if recorder.status >= http.StatusInternalServerError {
			span.SetError(fmt.Sprintf("answered %d", recorder.status))
		}
	})
}
