package edge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache/rfc9111"
	"github.com/fieldmark/fieldmark/edge/conn/framing"
	"github.com/fieldmark/fieldmark/edge/proxy"
	"github.com/fieldmark/fieldmark/edge/proxy/upstream"
	"github.com/fieldmark/fieldmark/internal/trace"
)

// newTransport returns what carries requests to the origin and to sites, within the limits of a client network.
func (e *Edge) newTransport(cfg Config) (http.RoundTripper, error) {
	next := cfg.Transport
	if next == nil {
		own, err := upstream.New(upstream.Config{Origins: []*url.URL{cfg.OriginURL}, Log: cfg.Log})
		if err != nil {
			return nil, err
		}
		next = own
	}
	if cfg.Tracer != nil {
		next = &trace.Transport{Next: next, Tracer: cfg.Tracer, Name: "edge.pass", Roots: true}
	}
	if cfg.Site != nil {
		next = &byHost{hosts: e.hosts, origin: next, site: cfg.Site}
	}
	atOrigin := cfg.Inflight / 2
	return &originTransport{
		next: next, limits: e.limiter.limits, onReject: e.meters.shed.Inc, headTimeout: e.hosts.headTimeout,
		network:  e.clients.network,
		requests: newSlots(atOrigin, upstream.MaxConns), tunnels: newSlots(min(atOrigin, maxTunnels), maxTunnels),
	}, nil
}

// proxyEndpoints serve all requests outside the edge's own routes.
type proxyEndpoints struct {
	*responder
	clients clients
	hosts   *siteHosts
	auth    *originAuth
	proxy   *proxy.Proxy
	uploads *slots // bodies that are passed on as they come
}

func (e *Edge) newProxyEndpoints(cfg Config) (*proxyEndpoints, error) {
	p := &proxyEndpoints{responder: e.responder, clients: e.clients, hosts: e.hosts, auth: e.auth,
		uploads: newSlots(maxUploads, maxUploads)}
	var err error
	p.proxy, err = proxy.New(proxy.Config{
		Transport: e.transport, Scheme: cfg.OriginURL.Scheme, Host: cfg.OriginURL.Host,
		Profile: cfg.Profile, Bytes: cfg.PassBytes, Fields: cfg.PassFields,
		IgnoreCookies: cfg.IgnoreCookies, CookielessPaths: cfg.CookielessPaths,
		Prepare:   p.setForwarded,
		BodyLimit: func(ctx *fasthttp.RequestCtx) int64 { return e.hosts.bodyLimit(ctx.Host(), ctx.Path()) },
		Fail:      p.failPass,
		Strip:     []string{fieldmark.HeaderEdition}, // between us and the origin only
		Events:    e.meters.proxyEvents(),
	})
	return p, err
}

// byHost sends requests for the site's hosts to the site, and all others to the origin.
type byHost struct {
	hosts        *siteHosts
	origin, site http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b *byHost) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.hosts.isSite(r.Host) {
		return b.site.RoundTrip(r)
	}
	return b.origin.RoundTrip(r)
}

// siteHosts knows which hosts belong to sites behind the edge, and the limits of requests to them.
type siteHosts struct {
	own, origin string // host of BaseURL without its port, and of OriginURL with it
	proxyOnly   bool   // every host is a site's: the node has no token
	hasSite     bool   // Config.Site is set
	passBody    int64  // Config.PassBody
}

// isSite reports whether all requests to a host go to a site behind the edge. Requests that
// the edge makes itself have no host, or that of the origin.
func (s *siteHosts) isSite(host string) bool {
	switch {
	case s.proxyOnly:
		return true
	case !s.hasSite || host == "" || host == s.origin:
		return false
	}
	return !strings.EqualFold((&url.URL{Host: host}).Hostname(), s.own)
}

// serve sends the request to the origin, or serves a cached response.
func (e *proxyEndpoints) serve(ctx *fasthttp.RequestCtx) {
	if ctx.Request.IsBodyStream() {
		release, ok := e.uploads.acquire(e.clients.network(e.clients.addr(ctx)))
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
func (e *proxyEndpoints) failPass(ctx *fasthttp.RequestCtx, err error) {
	if _, large := errors.AsType[*proxy.TooLargeError](err); large || errors.Is(err, proxy.ErrBody) {
		e.fail(ctx, bodyError(ctx.Path(), err))
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

// originTransport limits the requests in flight to the origin, in total and per client
// network, and records key quotas from response headers.
type originTransport struct {
	next   http.RoundTripper
	limits *rateLimiter
	// requests and tunnels are what is under way, in total and for each network.
	requests, tunnels *slots
	network           func(client netip.Addr) netip.Addr // that a client is counted for
	onReject          func()
	headTimeout       func(*http.Request) time.Duration // for the head of an answer
}

// RoundTrip implements http.RoundTripper. A refusal wraps a *fieldmark.Error; what
// is cached may be sent in its place.
func (o *originTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	use := o.requests
	if rfc9111.IsWebSocketUpgrade(r.Header) {
		use = o.tunnels
	}
	network := o.network(clientOfRequest(r))
	land, ok := use.acquire(network)
	if !ok {
		o.onReject()
		return nil, refuseRequest(r, errOverloaded())
	}
	if err := o.limits.checkQuota(r.Context(), r.URL.Path, network); err != nil {
		land()
		return nil, refuseRequest(r, err)
	}
	resp, release, err := roundTripWithin(o.next, r, o.headTimeout(r))
	if err != nil {
		land()
		return nil, err
	}
	acquired := land
	land = func() { acquired(); release() }
	o.limits.observeKey(r.Header.Get("Authorization"), resp)
	if rw, ok := resp.Body.(io.ReadWriteCloser); ok && resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Body = &trackedConn{rw, land}
	} else {
		resp.Body = &trackedBody{resp.Body, land}
	}
	return resp, nil
}

// clientOfRequest returns the client that the edge sends r for; it is invalid if no client
// caused r.
func clientOfRequest(r *http.Request) netip.Addr {
	client, err := netip.ParseAddr(cmp.Or(r.Header.Get(fieldmark.HeaderClient), r.Header.Get("X-Forwarded-For")))
	if err != nil {
		return netip.Addr{}
	}
	return client
}

// checkQuota counts a request to the origin for the network of its client; an invalid
// network is not counted.
func (l *rateLimiter) checkQuota(ctx context.Context, path string, network netip.Addr) error {
	if !network.IsValid() || l.limiter == nil || l.network.Quota == 0 {
		return nil
	}
	b := bucket{name: "network", key: "network:" + network.String(), rate: l.network}
	v := l.limiter.Take(ctx, b.key, b.rate)
	if v.Allowed {
		return nil
	}
	return &limitError{errRateLimited([]byte(path), b, v), b, v}
}

// refuseRequest closes the body of a request that is not sent, as a RoundTripper must, and
// wraps err in ErrRefused. The error does not count against the origin's health and does
// not apply to other requests that wait for the same response.
func refuseRequest(r *http.Request, err error) error {
	if r.Body != nil {
		r.Body.Close()
	}
	return fmt.Errorf("%w: %w", proxy.ErrRefused, err)
}

// trackedBody counts a response as in flight until it is read.
type trackedBody struct {
	io.ReadCloser
	release func()
}

// Close implements io.Closer.
func (b *trackedBody) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}

// trackedConn counts a tunnel as in flight until it ends.
type trackedConn struct {
	io.ReadWriteCloser
	release func()
}

// Close implements io.Closer.
func (t *trackedConn) Close() error {
	defer t.release()
	return t.ReadWriteCloser.Close()
}
