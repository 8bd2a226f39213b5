package conn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark/edge/accesslog"
	"github.com/fieldmark/fieldmark/edge/conn/framing"
	"github.com/fieldmark/fieldmark/edge/conn/h2"
	"github.com/fieldmark/fieldmark/edge/conn/h3"
	"github.com/fieldmark/fieldmark/edge/conn/mux"
	"github.com/fieldmark/fieldmark/internal/timeout"
)

const (
	// ReadTimeout bounds the time from a connection's first byte, or from the end of
	// a request that fasthttp served, to the end of the next request's header.
	ReadTimeout = 15 * time.Second * timeout.Scale
	// IdleTimeout bounds how long a kept-alive connection may be idle.
	IdleTimeout = 75 * time.Second
	// ReadBufferSize is the size of fasthttp's read buffer, in bytes. It is above
	// what package framing lets pass, which therefore refuses a header first.
	ReadBufferSize = framing.MaxHead + 1<<10
	// writeBufferSize is the size of fasthttp's write buffer, in bytes, while it writes a
	// response: most responses fit, and are one write and one TLS record.
	writeBufferSize = 16 << 10
	// acceptPause is the longest pause after an accept failed, which mostly means
	// that the process has no file descriptors left.
	acceptPause = time.Second
	// expireTime is how long an idle connection may still begin a request after the server
	// began to drain, so that a request already in transit gets a response.
	expireTime = 50 * time.Millisecond
)

// Config configures a Server.
type Config struct {
	// Name is the Server header field of responses; required.
	Name string
	// Handler, ErrorHandler, HeaderReceived and ExpectHandler are those of
	// fasthttp.Server. Handler is required.
	Handler        fasthttp.RequestHandler
	ErrorHandler   func(*fasthttp.RequestCtx, error)
	HeaderReceived func(*fasthttp.RequestHeader) fasthttp.RequestConfig
	ExpectHandler  func(*fasthttp.RequestCtx) int

	// FastPath appends the response to r and reports whether it did; if not, Handler
	// serves the request, and dst is unchanged. It must append what Handler would
	// send. It is called for GET requests with a path below FastPathPrefix whose
	// header fields cannot change the response. nil: there is no fast path.
	FastPath       func(dst []byte, r SimpleRequest, now *Time) ([]byte, bool)
	FastPathPrefix string
	// FastResponse is FastPath over HTTP/2 and HTTP/3; nil: there is no fast path.
	FastResponse func(r SimpleRequest, now *Time) (mux.Response, bool)
	// ConstantFields are the header fields that all responses of FastResponse have, as name,
	// value, name, value; the names in lower case.
	ConstantFields []string
	// AltSvc is the value of Alt-Svc (RFC 7838, 3) on responses over TLS while HTTP/3 is
	// served; required with ListenQUIC.
	AltSvc string
	// H2C accepts HTTP/2 without TLS from clients that begin with its preface.
	H2C bool

	// Network returns the client network that an address counts for; if it is
	// invalid, the connection counts in the total only. Required.
	Network func(netip.Addr) netip.Addr
	// NetworkConns bounds the connections of one client network; 0: DefaultNetworkConns.
	NetworkConns int
	// Inflight is how many requests the handlers serve at once. One client network may have a
	// quarter of them under way over HTTP/2 and HTTP/3; 0: DefaultInflight.
	Inflight int
	// ProxyProtocol are the networks of proxies whose connections must begin with a header
	// of the PROXY protocol, version 2. The client that it names is the remote address.
	// Connections of others must not begin with one.
	ProxyProtocol []netip.Prefix

	// OnBadProxyHeader is called for each connection of a proxy that is closed for its
	// header; nil: no call.
	OnBadProxyHeader func(proxy netip.Addr, err error)
	// OnReject is called for each connection above a limit; nil: no call.
	OnReject func()
	// OnFastPath is called with the duration of one in 256 reads that the fast path served,
	// fully or in part; nil: no call.
	OnFastPath func(time.Duration)
	// OnHandshake is called at the end of each TLS handshake with its duration; nil: no call.
	OnHandshake func(HandshakeResult, time.Duration)
	// OnStreamReset, OnGoAway and OnCalm are called when a stream of HTTP/2 is reset by the
	// client or the server, when the server ends a connection, and when a client has
	// exceeded a limit (see package mux); nil: no call.
	OnStreamReset func(client bool)
	OnGoAway      func(code uint64)
	OnCalm        func(bucket string)
	Log           *slog.Logger // nil: none
	// AccessLog gets the requests that the handlers give to LogRequest; nil: none.
	AccessLog *accesslog.Log
}

// Server serves connections. Its methods may be called concurrently.
type Server struct {
	cfg      Config
	http     *fasthttp.Server
	rejected []byte // the response to a connection above a limit
	conns    connTracker
	clock    clock
	h2       h2.Config
	h2AltSvc h2.Config // of connections whose responses have Alt-Svc
	h3       h3.Config
	quic     quicLimits
	altSvc   atomic.Bool // responses over TLS have Alt-Svc
	window   mux.WindowBudget
	workers  *workers
	requests [protoCount]atomic.Uint64

	streams         atomic.Int64 // requests of HTTP/2 and HTTP/3 that are under way
	networkRequests int64        // how many of them one client network may have
}

// New returns a Server that serves nothing yet.
func New(cfg Config) *Server {
	if cfg.NetworkConns == 0 {
		cfg.NetworkConns = DefaultNetworkConns
	}
	if cfg.Inflight == 0 {
		cfg.Inflight = DefaultInflight
	}
	if cfg.OnBadProxyHeader == nil {
		cfg.OnBadProxyHeader = func(netip.Addr, error) {}
	}
	if cfg.OnReject == nil {
		cfg.OnReject = func() {}
	}
	if cfg.OnFastPath == nil {
		cfg.OnFastPath = func(time.Duration) {}
	}
	if cfg.OnHandshake == nil {
		cfg.OnHandshake = func(HandshakeResult, time.Duration) {}
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{cfg: cfg, rejected: rejection(cfg.Name), workers: newWorkers()}
	s.conns.open = map[*conn]struct{}{}
	s.conns.perNetwork = map[netip.Addr]*networkCounts{}
	s.networkRequests = int64(max(1, cfg.Inflight/NetworkFraction))
	s.conns.networkLimit = cfg.NetworkConns
	s.conns.handshakes.perNetwork = map[netip.Addr]int{}
	s.clock.set(time.Now())
	s.h2, s.h2AltSvc, s.h3 = s.http2Config(), s.http2Config(cfg.altSvcField()...), s.http3Config()
	s.quic.maxConns = maxQUICConns
	s.http = &fasthttp.Server{
		Handler:               cfg.Handler,
		ErrorHandler:          cfg.ErrorHandler,
		HeaderReceived:        cfg.HeaderReceived,
		ExpectHandler:         cfg.ExpectHandler,
		Name:                  cfg.Name,
		NoDefaultServerHeader: true,
		ReadTimeout:           ReadTimeout,
		IdleTimeout:           IdleTimeout,
		ReadBufferSize:        ReadBufferSize,
		WriteBufferSize:       writeBufferSize,
		Logger:                discardLogger{},

		StreamRequestBody:            true, // fasthttp's limit on bodies does not hold then; the handler has its own
		DisablePreParseMultipartForm: true, // a form would be written again, as other bytes
	}
	return s
}

// altSvcField returns the field Alt-Svc as ConstantFields has it.
func (cfg *Config) altSvcField() []string {
	if cfg.AltSvc == "" {
		return nil
	}
	return []string{"alt-svc", cfg.AltSvc}
}

// http2Config returns what the connections of HTTP/2 have in common, with more constant
// fields.
func (s *Server) http2Config(more ...string) h2.Config {
	return h2.Config{Constants: h2.NewConstants(slices.Concat(s.cfg.ConstantFields, more)...),
		Date: func() []byte { return s.clock.now.Load().HPACK }, Window: &s.window,
		Go: s.workers.run, Events: s.events(protoHTTP2)}
}

// events returns the functions that count what happens on connections of a protocol.
func (s *Server) events(proto int32) mux.Events {
	events := mux.Events{Request: func() { s.requests[proto].Add(1) }, Reset: s.cfg.OnStreamReset,
		GoAway: s.cfg.OnGoAway, Calmed: s.cfg.OnCalm}
	if events.Reset == nil {
		events.Reset = func(bool) {}
	}
	if events.GoAway == nil {
		events.GoAway = func(uint64) {}
	}
	if events.Calmed == nil {
		events.Calmed = func(string) {}
	}
	return events
}

// discardLogger drops fasthttp's log lines: ErrorHandler gets the errors of clients,
// which would fill a log.
type discardLogger struct{}

// Printf implements fasthttp.Logger.
func (discardLogger) Printf(string, ...any) {}

// connTracker counts the open connections.
type connTracker struct {
	mu           sync.Mutex
	open         map[*conn]struct{}
	perNetwork   map[netip.Addr]*networkCounts
	networkLimit int
	handshakes   handshakes

	draining atomic.Bool
	done     sync.WaitGroup
}

// Serve serves the connections of a listener until it is closed.
func (s *Server) Serve(ln net.Listener) error {
	var pause time.Duration
	for {
		c, err := ln.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) || s.Draining() {
				return err
			}
			if pause = min(max(2*pause, 5*time.Millisecond), acceptPause); pause == acceptPause {
				s.cfg.Log.Error("accept a connection", "listen", ln.Addr().String(), "err", err)
			}
			time.Sleep(pause)
			continue
		}
		pause = 0
		if tracked, ok := s.track(c); ok {
			go tracked.serve()
		} else {
			s.reject(c)
		}
	}
}

// ServeConn serves one connection until it ends.
func (s *Server) ServeConn(c net.Conn) {
	if tracked, ok := s.track(c); ok {
		tracked.serve()
	} else {
		s.reject(c)
	}
}

// Run updates the cached time, which responses carry as their Date, until ctx ends.
func (s *Server) Run(ctx context.Context) error { return s.clock.run(ctx) }

// Open returns the number of open connections.
func (s *Server) Open() int {
	s.conns.mu.Lock()
	defer s.conns.mu.Unlock()
	return len(s.conns.open)
}

// WriteMetrics writes the open connections and the requests of each protocol in the
// Prometheus text format.
func (s *Server) WriteMetrics(w io.Writer) {
	var open [protoCount]int
	s.conns.mu.Lock()
	for c := range s.conns.open {
		open[c.proto.Load()]++
	}
	s.conns.mu.Unlock()
	for i, name := range protoNames {
		fmt.Fprintf(w, "fieldmark_edge_connections{proto=%q} %d\n", name, open[i])
		fmt.Fprintf(w, "fieldmark_edge_protocol_requests_total{proto=%q} %d\n", name, s.requests[i].Load())
	}
	fmt.Fprintf(w, "fieldmark_edge_streams %d\n", s.streams.Load())
	fmt.Fprintf(w, "fieldmark_edge_quic_retries_total %d\n", s.quic.retries.Load())
	fmt.Fprintf(w, "fieldmark_edge_quic_receive_buffer_bytes %d\n", s.quic.receiveBuffer.Load())
}

// Draining reports whether Drain was called.
func (s *Server) Draining() bool { return s.conns.draining.Load() }

// Drain ends idle connections and waits for the others to finish their request, no
// longer than limit. It closes those that are left and returns how many these were.
func (s *Server) Drain(limit time.Duration) (closed int) {
	t := &s.conns
	t.mu.Lock()
	t.draining.Store(true)
	for c := range t.open {
		if session := c.session.Load(); session != nil {
			(*session).Shutdown()
		} else if c.state.Load() == stateIdle {
			c.expireIdle()
		}
	}
	t.mu.Unlock()
	done := make(chan struct{})
	go func() {
		t.done.Wait()
		close(done)
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return 0
	case <-timer.C:
	}
	t.mu.Lock()
	closed = len(t.open)
	for c := range t.open {
		c.abort()
	}
	t.mu.Unlock()
	<-done
	return closed
}
