package edge

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/cache/rfc9111"
	"github.com/fieldmark/fieldmark/edge/proxy"
)

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
	ctx, cancel := context.WithTimeout(ctx, rateLimitTimeout)
	defer cancel()
	b := bucket{name: "network", key: "network:" + network.String(), rate: l.network}
	v := l.limiter.Take(ctx, b.key, b.rate)
	if v.Allowed {
		return nil
	}
	return &limitError{errRateLimited([]byte(path), b, v), b, v}
}

// fetchLimited is cache.Fetch for responses of which a client can name any number, such as
// those for a time, a period or a digest; each costs one request to the origin. A miss
// counts against the client network's limits, like a request that is passed on.
func (e *Edge) fetchLimited(ctx *fasthttp.RequestCtx, key string, fill cache.Fill) (*cache.Entry, cache.Source, error) {
	if entry, state := e.cache.Get(key); state == cache.Fresh {
		return entry, cache.SourceHit, nil
	}
	network := e.countedNetwork(e.clientAddr(ctx))
	release, ok := e.fetches.acquire(network)
	if !ok {
		e.meters.shed.Inc()
		return nil, cache.SourceNone, errOverloaded()
	}
	defer release()
	rc, cancel := e.requestContext(ctx)
	defer cancel()
	if err := e.limits.checkQuota(rc, string(ctx.Path()), network); err != nil {
		return nil, cache.SourceNone, err
	}
	return e.cache.Fetch(rc, key, fill)
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
