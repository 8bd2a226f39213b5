package upstream

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/fieldmark/fieldmark"
)

// Limits of the hop to an origin. Each phase has its own, so that a large body
// may take its time while a silent origin is given up soon.
const (
	// dialTimeout is short: an origin is near, and a client waits.
	dialTimeout = 2 * time.Second
	// redialEvery is below the second after which TCP repeats the first packet of
	// a connection, and above the way there and back to any origin.
	redialEvery = 250 * time.Millisecond
	// tlsTimeout bounds the handshake; it costs an origin's processor, which may
	// be busy, and two ways there and back.
	tlsTimeout = 5 * time.Second
	// DefaultHeadTimeout bounds the wait for the head of an answer, from the last
	// byte of the request. It is a little longer than the origin works on anything, so
	// that the origin's own answer to a request that took too long comes first.
	DefaultHeadTimeout = (fieldmark.MaxBulkTime + 5) * time.Second
	// DefaultIdleTimeout bounds the silence within a body, in either direction.
	DefaultIdleTimeout = 30 * time.Second
	// idleConnTimeout is below what origins commonly keep an idle connection open (60 s
	// and more), so that we never write on one that is just being closed.
	idleConnTimeout = 30 * time.Second
	// MaxConns bounds the connections for requests that one node opens to one origin;
	// more would queue there. Tunnels, which are the edge's to count, and the internal
	// interface (Internal) have connections of their own.
	MaxConns = 256
	// maxHeaderBytes bounds the head of an answer, in bytes: four times what common
	// servers can send, and no memory to speak of.
	maxHeaderBytes = 256 << 10
	// earlyResponseWait bounds the wait for the head of an answer whose origin takes no more
	// of the request: it is here already, or does not come.
	earlyResponseWait = 5 * time.Second
	// maxAttempts bounds how many origins one request is tried on: a request that
	// three could not take is not helped by a fourth, and its client waits.
	maxAttempts = 3
)

// keepAlive finds out within four seconds that a connection leads nowhere any
// more. An event poll hangs for half a minute without a byte: a node that was cut
// off would wait for its end, and hear that late of what was purged meanwhile.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second, Count: 3}

// Config names the origins and their limits.
type Config struct {
	// Origins are asked in turn of their load: scheme and host each. At least one.
	Origins []*url.URL
	// Transport carries the requests; nil is a pooled network transport of its
	// own. Of another one the phases' time limits are its owner's business.
	Transport http.RoundTripper
	// TLS is used with origins of https; nil: the system's roots, TLS 1.2 or newer.
	TLS *tls.Config
	// HealthPath is asked of each origin with GET every HealthEvery; any status
	// from 200 to 399 is healthy. Empty: a connection that opens is healthy.
	HealthPath string
	// HealthEvery is the pause between two checks, give or take a fifth so that
	// a fleet does not ask in step. Zero: DefaultHealthEvery. Negative: no checks.
	HealthEvery time.Duration
	// HeadTimeout and IdleTimeout replace the defaults; zero keeps them.
	HeadTimeout, IdleTimeout time.Duration
	// Log gets a line when an origin becomes unhealthy and when it recovers.
	Log *slog.Logger
}

// Upstream is a set of origins that is one http.RoundTripper. It is safe
// for concurrent use.
type Upstream struct {
	cfg           Config
	origins       []*origin
	transport     http.RoundTripper // of requests
	tunnels       http.RoundTripper // of requests to switch to WebSocket
	internal      http.RoundTripper // of Internal
	ownTransports []*http.Transport // none: the transport is the caller's
	log           *slog.Logger
}

// New checks cfg; it connects to nothing.
func New(cfg Config) (*Upstream, error) {
	if len(cfg.Origins) == 0 {
		return nil, errors.New("upstream: at least one origin is required")
	}
	var wrong []error
	for _, u := range cfg.Origins {
		wrong = append(wrong, checkOrigin(u))
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, fmt.Errorf("upstream: %w", err)
	}
	if cfg.HealthEvery == 0 {
		cfg.HealthEvery = DefaultHealthEvery
	}
	if cfg.HeadTimeout == 0 {
		cfg.HeadTimeout = DefaultHeadTimeout
	}
	if cfg.IdleTimeout == 0 {
		cfg.IdleTimeout = DefaultIdleTimeout
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	u := &Upstream{cfg: cfg, transport: cfg.Transport, log: cfg.Log}
	for _, at := range cfg.Origins {
		u.origins = append(u.origins, &origin{scheme: at.Scheme, host: at.Host})
	}
	u.tunnels, u.internal = cfg.Transport, cfg.Transport
	if cfg.Transport == nil {
		u.ownTransports = []*http.Transport{newTransport(cfg, MaxConns), newTransport(cfg, 0),
			newTransport(cfg, MaxConns)}
		u.transport, u.tunnels, u.internal = u.ownTransports[0], u.ownTransports[1], u.ownTransports[2]
	}
	return u, nil
}

// checkOrigin accepts a scheme and a host: a path would have to be part of every
// key and of every link the origin writes.
func checkOrigin(u *url.URL) error {
	switch {
	case u == nil:
		return errors.New("an origin without an address")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("origin %s: must be http:// or https:// and a host", u.Redacted())
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Path != "" && u.Path != "/":
		return fmt.Errorf("origin %s: must have no user, path or query", u.Redacted())
	}
	return nil
}

// newTransport pools connections and asks for no compression: what the client
// asked for is what the origin is asked for. maxConns is for one origin; 0: any
// number.
func newTransport(cfg Config, maxConns int) *http.Transport {
	d := &dialer{net: net.Dialer{KeepAliveConfig: keepAlive}, idle: cfg.IdleTimeout, tls: cfg.TLS}
	if d.tls == nil {
		d.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return &http.Transport{
		DialContext:            d.plain,
		DialTLSContext:         d.secure,
		DisableCompression:     true,
		MaxConnsPerHost:        maxConns,
		MaxIdleConnsPerHost:    MaxConns,
		IdleConnTimeout:        idleConnTimeout,
		ResponseHeaderTimeout:  cfg.HeadTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
}

// CloseIdle closes the connections that nothing is using.
func (u *Upstream) CloseIdle() {
	for _, t := range u.ownTransports {
		t.CloseIdleConnections()
	}
}
