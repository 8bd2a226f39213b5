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
	"github.com/fieldmark/fieldmark/internal/timeout"
)

// Limits of the hop to an origin. Each phase has its own, so that a large body
// may take its time while an origin that sends nothing is abandoned soon.
const (
	// dialTimeout is short: an origin is near, and a client waits.
	dialTimeout = 2 * time.Second * timeout.Scale
	// redialEvery is below the second after which TCP repeats the first packet of
	// a connection, and above the way there and back to any origin.
	redialEvery = 250 * time.Millisecond
	// tlsTimeout bounds the handshake; it costs an origin's processor, which may
	// be busy, and two ways there and back.
	tlsTimeout = 5 * time.Second * timeout.Scale
	// DefaultHeadTimeout bounds the wait for the head of a response, from the last byte of
	// the request. It is a little longer than the origin's own limit, so that the origin's
	// timeout response arrives first.
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
	// maxHeaderBytes bounds the head of a response, in bytes: four times what common
	// servers can send, at a negligible cost in memory.
	maxHeaderBytes = 256 << 10
	// earlyResponseWait bounds the wait for the head of a response whose origin reads no
	// more of the request: the response is in transit or will not arrive.
	earlyResponseWait = 5 * time.Second
	// maxAttempts bounds how many origins one request is tried on: a request that
	// three could not take is not helped by a fourth, and its client waits.
	maxAttempts = 3
)

// keepAlive detects within four seconds that the peer of a connection is gone. An event
// poll waits for up to half a minute without a byte: without keep-alives a disconnected
// node would receive purges with that delay.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second, Count: 3}

// Config names the origins and their limits.
type Config struct {
	// Origins are the scheme and host of each origin. At least one. Requests go to the one
	// with the fewest in flight.
	Origins []*url.URL
	// Transport carries the requests; nil is a pooled network transport of its
	// own. Of another one the phases' time limits are its owner's business.
	Transport http.RoundTripper
	// TLS is used with origins of https; nil: the system's roots, TLS 1.2 or newer.
	TLS *tls.Config
	// HealthPath is requested from each origin with GET every HealthEvery; any status from
	// 200 to 399 is healthy. Empty: a connection that opens is healthy.
	HealthPath string
	// HealthEvery is the pause between two checks, jittered by a fifth so that the nodes of
	// a fleet do not check at the same time. Zero: DefaultHealthEvery. Negative: no checks.
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
	origins       []*server
	transport     http.RoundTripper // of requests
	tunnels       http.RoundTripper // of requests to switch to WebSocket
	internal      http.RoundTripper // of Internal
	ownTransports []*http.Transport // none: the transport is the caller's
	log           *slog.Logger
}

// New validates cfg; it opens no connections.
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
		u.origins = append(u.origins, &server{scheme: at.Scheme, host: at.Host})
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

// newTransport pools connections and does not add Accept-Encoding: the origin receives the
// client's. maxConns is per origin; 0: any number.
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

// CloseIdle closes the idle connections.
func (u *Upstream) CloseIdle() {
	for _, t := range u.ownTransports {
		t.CloseIdleConnections()
	}
}
