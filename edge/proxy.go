package edge

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/framing"
	"github.com/fieldmark/fieldmark/edge/proxy"
	"github.com/fieldmark/fieldmark/edge/upstream"
	"github.com/fieldmark/fieldmark/trace"
)

// newProxy makes what everything that is not the edge's own goes through.
func (e *Edge) newProxy(cfg Config) (*proxy.Proxy, error) {
	e.origin = cfg.Transport
	if e.origin == nil {
		own, err := upstream.New(upstream.Config{Origins: []*url.URL{cfg.OriginURL}, Log: cfg.Log})
		if err != nil {
			return nil, err
		}
		e.origin = own
	}
	if cfg.Tracer != nil {
		e.origin = &trace.Transport{Next: e.origin, Tracer: cfg.Tracer, Name: "edge.pass", Roots: true}
	}
	e.origin = &outward{next: e.origin, limits: e.limits, most: int64(cfg.Inflight) / 2, shed: e.meters.shed.Inc}
	return proxy.New(proxy.Config{
		Transport: e.origin, Scheme: cfg.OriginURL.Scheme, Host: cfg.OriginURL.Host,
		Profile: cfg.Profile, Bytes: cfg.PassBytes, Fields: cfg.PassFields,
		Prepare: e.prepare,
		Fail:    func(ctx *fasthttp.RequestCtx, err error) { e.fail(ctx, passError(err)) },
		Strip:   []string{fieldmark.HeaderEdition}, // between us and the origin only
		Events:  e.meters.proxyEvents(),
	})
}

// pass hands the request to the origin, or answers with what it has said before.
func (e *Edge) pass(ctx *fasthttp.RequestCtx) {
	limit := bodyLimit(ctx.Path())
	if int64(len(ctx.Request.Body())) > limit {
		fe := fieldmark.Errorf(fieldmark.CodeBodyTooLarge, "the body is larger than %d bytes", limit)
		fe.Limit = limit
		e.fail(ctx, fe)
		return
	}
	e.proxy.Serve(ctx)
}

// prepare writes what the edge says of a request beside what its client does. The
// answer depends on none of it but in what is never stored.
func (e *Edge) prepare(ctx *fasthttp.RequestCtx, h http.Header) {
	e.forward(ctx, h)
}

// bodyLimit is what a body may weigh: administrators import lists, a file to
// be linted may be too large by every rule, everyone else sends one document.
func bodyLimit(path []byte) int64 {
	switch {
	case strings.HasPrefix(text(path), fieldmark.PathAdminAPI), strings.HasPrefix(text(path), fieldmark.PathAdmin+"/"):
		return fieldmark.MaxBulkBody
	case strings.HasPrefix(text(path), fieldmark.PathAlerts):
		return fieldmark.MaxAlertBody
	case text(path) == fieldmark.PathMissionBatch:
		return fieldmark.MaxBatchBody
	case text(path) == fieldmark.PathLLMsLint:
		return fieldmark.MaxLintBody
	}
	for _, own := range ownPaths {
		if strings.HasPrefix(text(path), own) {
			return fieldmark.MaxBody
		}
	}
	return fieldmark.MaxBulkBody // of a site that the edge stands before
}

// ownPaths are where Fieldmark's own origin takes documents and forms.
var ownPaths = [...]string{fieldmark.PathPublic, "/api/v1/", fieldmark.PathAdmin, fieldmark.PathInternal}

// passError says why a request could not be answered.
func passError(err error) error {
	if fe, ok := errors.AsType[*fieldmark.Error](err); ok {
		return fe
	}
	if refused, ok := errors.AsType[*framing.Error](err); ok {
		return malformed(refused)
	}
	var ne net.Error
	switch {
	case errors.Is(err, proxy.ErrTarget):
		return fieldmark.Errorf(fieldmark.CodeInvalidParameter, "the request target must be a path")
	case errors.Is(err, proxy.ErrNotCached):
		return fieldmark.Errorf(fieldmark.CodeTimeout, "the answer is not in the cache, and the request asks for nothing else")
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &ne) && ne.Timeout():
		return &fieldmark.Error{Code: fieldmark.CodeTimeout, Detail: "the origin did not answer in time; it is safe to repeat a request that names its mission", Err: err}
	}
	return &fieldmark.Error{Code: fieldmark.CodeOriginUnavailable, Detail: "the origin cannot be reached just now; repeat the request a little later", Err: err}
}
