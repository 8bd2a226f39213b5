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
	"github.com/fieldmark/fieldmark/edge/conn/framing"
	"github.com/fieldmark/fieldmark/edge/proxy"
	"github.com/fieldmark/fieldmark/edge/proxy/upstream"
	"github.com/fieldmark/fieldmark/internal/trace"
)

// newProxy returns the proxy for all requests outside the edge's own routes.
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
	if cfg.Site != nil {
		e.origin = &byHost{edge: e, origin: e.origin, site: cfg.Site}
	}
	atOrigin := cfg.Inflight / 2
	e.uploads, e.fetches = newSlots(maxUploads, maxUploads), newSlots(maxFetches, maxFetches)
	e.origin = &originTransport{
		next: e.origin, limits: e.limits, onReject: e.meters.shed.Inc, headTimeout: e.headTimeout,
		network:  e.countedNetwork,
		requests: newSlots(atOrigin, upstream.MaxConns), tunnels: newSlots(min(atOrigin, maxTunnels), maxTunnels),
	}
	return proxy.New(proxy.Config{
		Transport: e.origin, Scheme: cfg.OriginURL.Scheme, Host: cfg.OriginURL.Host,
		Profile: cfg.Profile, Bytes: cfg.PassBytes, Fields: cfg.PassFields,
		IgnoreCookies: cfg.IgnoreCookies, CookielessPaths: cfg.CookielessPaths,
		Prepare:   e.setForwarded,
		BodyLimit: func(ctx *fasthttp.RequestCtx) int64 { return e.bodyLimit(ctx.Host(), ctx.Path()) },
		Fail:      e.failPass,
		Strip:     []string{fieldmark.HeaderEdition}, // between us and the origin only
		Events:    e.meters.proxyEvents(),
	})
}

// byHost sends requests for the site's hosts to the site, and all others to the origin.
type byHost struct {
	edge         *Edge
	origin, site http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b *byHost) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.edge.isSite(r.Host) {
		return b.site.RoundTrip(r)
	}
	return b.origin.RoundTrip(r)
}

// isSite reports whether all requests to a host go to a site behind the edge. Requests that
// the edge makes itself have no host, or that of the origin.
func (e *Edge) isSite(host string) bool {
	switch {
	case e.cfg.NodeToken == "":
		return true
	case e.cfg.Site == nil || host == "" || host == e.cfg.OriginURL.Host:
		return false
	}
	return !strings.EqualFold((&url.URL{Host: host}).Hostname(), e.host)
}

// pass sends the request to the origin, or serves a cached response.
func (e *Edge) pass(ctx *fasthttp.RequestCtx) {
	if ctx.Request.IsBodyStream() {
		release, ok := e.uploads.acquire(e.countedNetwork(e.clientAddr(ctx)))
		if !ok {
			e.meters.shed.Inc()
			e.fail(ctx, errOverloaded())
			return
		}
		defer release()
	}
	e.proxy.Serve(ctx)
}

// failPass sends the error of a request that could not be passed on.
func (e *Edge) failPass(ctx *fasthttp.RequestCtx, err error) {
	if _, large := errors.AsType[*proxy.TooLargeError](err); large || errors.Is(err, proxy.ErrBody) {
		e.fail(ctx, bodyError(err))
		return
	}
	e.fail(ctx, passError(err))
}

// passError returns the public error of a request that could not be passed on.
func passError(err error) error {
	if limited, ok := errors.AsType[*limitError](err); ok {
		return limited
	}
	if fe, ok := errors.AsType[*fieldmark.Error](err); ok {
		return fe
	}
	if refused, ok := errors.AsType[*framing.Error](err); ok {
		return errMalformed(refused)
	}
	var ne net.Error
	switch {
	case errors.Is(err, proxy.ErrTarget):
		return fieldmark.Errorf(fieldmark.CodeInvalidParameter, "the request target must be a path")
	case errors.Is(err, proxy.ErrNotCached):
		return fieldmark.Errorf(fieldmark.CodeTimeout,
			"the answer is not in the cache, and the request accepts only cached answers")
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &ne) && ne.Timeout():
		return errOriginTimeout(err)
	}
	return &fieldmark.Error{Code: fieldmark.CodeOriginUnavailable,
		Detail: "the origin cannot be reached just now; repeat the request a little later", Err: err}
}
