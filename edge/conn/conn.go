package conn

import (
	"bytes"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark/edge/conn/certs"
	"github.com/fieldmark/fieldmark/edge/conn/h2"
)

const (
	// readBufferSize is the most that one read returns, in bytes. The headers of browsers
	// fit; a request that does not fit is not served by the fast path.
	readBufferSize = 4 << 10
	// outBufferSize is the initial capacity for responses, in bytes: a badge with its
	// header fits.
	outBufferSize = 4 << 10
	// maxOutBuffer bounds the capacity that a pooled buffer keeps, and how many bytes
	// of pipelined responses are collected before they are written.
	maxOutBuffer = 32 << 10
	// extendEvery is how often the deadline of a busy connection is extended, in
	// seconds: setting a deadline takes longer than parsing a request.
	extendEvery = 5
	// SampleEvery is how many reads share one measurement by Config.OnFastPath:
	// reading the clock twice costs as much as parsing the request.
	SampleEvery = 256
)

// buffer holds the request and the response while one is served by the fast path. An
// idle connection has none.
type buffer struct {
	reads uint32 // counts towards SampleEvery
	in    [readBufferSize]byte
	out   []byte
}

var bufferPool = sync.Pool{New: func() any { return &buffer{out: make([]byte, 0, outBufferSize)} }}

func (b *buffer) release() {
	if cap(b.out) <= maxOutBuffer {
		bufferPool.Put(b)
	}
}

// conn is a client's connection. It waits without a buffer, serves simple requests by
// the fast path, and hands itself to fasthttp for one request of any other kind;
// fasthttp returns it at the end of that request.
//
// One goroutine serves a connection. While fasthttp has it, another may write the
// response; see handoff for what these two share.
type conn struct {
	net.Conn
	server    *Server
	tls       tlsState    // nil: the connection is not encrypted
	tlsConfig *tls.Config // nil: unknown
	waiter    *waitConn   // below tls; nil: the connection waits in its Read
	parent    *conn       // of a stream of HTTP/2 or HTTP/3; nil: this is a socket
	peer      Peer
	remote    net.Addr // of a client that a PROXY header names; nil: that of Conn
	proxied   bool     // the connection begins with a PROXY header
	proto     atomic.Int32
	session   atomic.Pointer[session] // nil: neither HTTP/2 nor HTTP/3

	raw     syscall.RawConn // nil: the connection cannot wait without a buffer
	tryRead func(fd uintptr) bool

	buf     *buffer // held from a successful read until its last byte was consumed
	pending []byte  // read, and not consumed
	readN   int     // result of the last read
	readErr error   // result of the last read

	exchange      *exchange // of the present request; nil: it is not logged
	handoff       handoff
	returned      bool           // fasthttp returned the connection
	fastPathTried bool           // the fast path was tried for the pending request
	extended      int64          // second of the cached time at which the deadline was extended
	network       netip.Addr     // that it counts for; invalid: none
	counts        *networkCounts // of network; nil: it counts for none
	state         atomic.Int32
	closed        atomic.Bool
	onAbort       atomic.Pointer[func()]
	refs          atomic.Int32 // the goroutine that serves it, and the open connection
}

// tlsState is an encrypted connection. A *tls.Conn is one.
type tlsState interface {
	Handshake() error
	ConnectionState() tls.ConnectionState
}

// session is a connection of HTTP/2 or HTTP/3.
type session interface {
	// Shutdown makes the connection end when its requests are served. It returns at once.
	Shutdown()
}

// Peer is the client of a connection.
type Peer struct {
	Addr     netip.Addr // invalid: the connection is not TCP
	Protocol string     // h1, h1s, h2 or h3
}

// Protocols of connections.
const (
	protoPlain int32 = iota // HTTP/1.1
	protoTLS                // HTTP/1.1 over TLS
	protoHTTP2              // HTTP/2, over TLS or not
	protoHTTP3              // HTTP/3
	protoCount
)

// protoNames are the names of the protocols in metrics.
var protoNames = [protoCount]string{"h1", "h1s", "h2", "h3"}

// setProto records the protocol of the connection.
func (c *conn) setProto(proto int32) {
	c.proto.Store(proto)
	c.peer.Protocol = protoNames[proto]
}

// States of a connection, as far as Drain must know.
const (
	stateIdle   int32 = iota // waits for a request, of which no byte was read
	stateActive              // has begun a request
)

// track registers a connection, unless a limit is reached or the server drains.
func (s *Server) track(nc net.Conn) (*conn, bool) {
	c := &conn{Conn: nc, server: s, peer: Peer{Addr(nc.RemoteAddr()), protoNames[protoPlain]}}
	if c.proxied = s.isProxy(c.peer.Addr); !c.proxied && c.peer.Addr.IsValid() {
		c.network = s.cfg.Network(c.peer.Addr)
	}
	switch nc := nc.(type) {
	case *tlsSocket:
		c.Conn, c.tls, c.tlsConfig = nc.Conn, nc.Conn, nc.cfg
		c.waiter, _ = nc.NetConn().(*waitConn)
	case *tls.Conn:
		c.tls = nc
	}
	if c.tls != nil {
		c.setProto(protoTLS)
	}
	c.refs.Store(2)
	c.prepare()
	s.conns.mu.Lock()
	defer s.conns.mu.Unlock()
	if s.Draining() {
		return nil, false
	}
	var ok bool
	if c.counts, ok = s.conns.tryAcquire(c.network); !ok {
		return nil, false
	}
	s.conns.open[c] = struct{}{}
	s.conns.done.Add(1)
	return c, true
}

// release drops one of the two references and unregisters the connection with the
// last: a tunnel stays open after serve has returned.
func (c *conn) release() {
	if c.parent != nil || c.refs.Add(-1) != 0 {
		return
	}
	t := &c.server.conns
	t.mu.Lock()
	delete(t.open, c)
	t.release(c.network)
	t.mu.Unlock()
	t.done.Done()
}

// serve serves requests until the connection ends.
func (c *conn) serve() {
	defer c.release()
	if c.proxied && !c.acceptProxied() {
		_ = c.Close()
		return
	}
	if c.tls != nil {
		// The state of TLS is kept out of this frame: the stack of an idle connection is
		// 4 KiB only if less than 2 KiB are used.
		protocol, ok := c.handshake()
		if ok && protocol == certs.ProtocolHTTP2 {
			c.serveHTTP2(c.waiter)
		}
		if !ok || protocol == certs.ProtocolHTTP2 {
			_ = c.Close() // HTTP/2 has closed it
			return
		}
	}
	requests := c.requestConn()
	if c.SetReadDeadline(time.Now().Add(ReadTimeout)) == nil {
		for c.serveFastPath() {
			c.returned, c.handoff.complete = false, false
			c.server.requests[c.proto.Load()].Add(1)
			err := c.server.http.ServeConn(requests)
			if !c.handoff.tunnel {
				c.logExchange()
				c.exchange = nil
			}
			if !c.returned && err == nil && !c.closed.Load() {
				return // it is a tunnel now, whose owner closes it
			}
			if !c.returned || c.SetReadDeadline(time.Now().Add(IdleTimeout)) != nil {
				break
			}
		}
	}
	c.returned = false
	_ = c.Close() // all responses are written
}

// requestConn returns the connection as fasthttp gets it.
func (c *conn) requestConn() net.Conn {
	if c.tls != nil {
		return tlsConn{c, c.tls}
	}
	return c
}

// tlsConn has the methods by which fasthttp recognizes an encrypted connection.
type tlsConn struct {
	*conn
	tls tlsState
}

// Handshake implements the interface that fasthttp checks for.
func (c tlsConn) Handshake() error { return c.tls.Handshake() }

// ConnectionState implements the interface of RequestCtx.TLSConnectionState.
func (c tlsConn) ConnectionState() tls.ConnectionState { return c.tls.ConnectionState() }

// connOf returns the connection that was handed to fasthttp, or nil if nc is not one of
// a Server.
func connOf(nc net.Conn) *conn {
	switch nc := nc.(type) {
	case *conn:
		return nc
	case tlsConn:
		return nc.conn
	}
	return nil
}

// FastPathTried reports whether Config.FastPath was called for the request and did not
// answer it. A cache has one client in many refresh an entry before it expires;
// the handler must not look the entry up again and find it fresh.
func FastPathTried(ctx *fasthttp.RequestCtx) bool {
	c := connOf(ctx.Conn())
	return c != nil && c.fastPathTried
}

// SetTunnel marks a connection whose handler has hijacked it: what follows on it is not
// HTTP. The handler must call it before it returns.
func SetTunnel(ctx *fasthttp.RequestCtx) {
	if c := connOf(ctx.Conn()); c != nil {
		c.handoff.tunnel = true
	}
}

// setIdle records that no byte of a request was read.
func (c *conn) setIdle() {
	c.state.Store(stateIdle)
	if c.server.Draining() {
		c.expireIdle()
	}
}

// expireIdle ends the wait for a request soon.
func (c *conn) expireIdle() { _ = c.Conn.SetReadDeadline(time.Now().Add(expireTime)) }

// serveFastPath serves requests by the fast path. It returns true with the beginning of
// another request pending, and false at the end of the connection.
func (c *conn) serveFastPath() bool {
	for {
		if len(c.pending) == 0 {
			c.setIdle()
			if !c.wait() {
				return false
			}
		}
		c.state.Store(stateActive)
		if c.server.cfg.H2C && c.tls == nil && bytes.HasPrefix(c.pending, prefacePrefix) {
			first := bytes.Clone(c.pending)
			c.putBuffer()
			w := newWaitConn(c.Conn, first)
			w.remote = c.remote
			c.serveHTTP2(w)
			return false
		}
		if !c.answerPending() {
			return false
		}
		if len(c.pending) > 0 {
			return true
		}
	}
}

// prefacePrefix begins a connection of a client with prior knowledge that the server speaks HTTP/2
// (RFC 9113, 3.3).
var prefacePrefix = []byte("PRI ")

// answerPending answers the pending requests, up to the first that the fast path does
// not serve. It returns false if the connection failed.
func (c *conn) answerPending() bool {
	if c.buf == nil { // the pending bytes were read together with another request
		c.buf = bufferPool.Get().(*buffer)
	}
	b, s := c.buf, c.server
	now := s.clock.now.Load()
	b.out = b.out[:0]
	c.fastPathTried = false
	var began time.Time // of one read in SampleEvery
	if b.reads++; b.reads%SampleEvery == 0 {
		began = time.Now()
	}
	served, altSvc := uint64(0), c.tls != nil && s.altSvc.Load()
	for len(c.pending) > 0 && len(b.out) < maxOutBuffer && s.cfg.FastPath != nil && !s.Draining() {
		r, ok := ParseSimpleGET(c.pending, s.cfg.FastPathPrefix)
		if !ok {
			break
		}
		r.AltSvc, r.Peer = altSvc, &c.peer
		if b.out, ok = s.cfg.FastPath(b.out, r, now); !ok {
			c.fastPathTried = true
			break
		}
		c.pending = c.pending[r.Size:]
		served++
	}
	if served > 0 {
		s.requests[c.proto.Load()].Add(served)
		if !c.extendDeadline(now) {
			return false
		}
		if _, err := c.Conn.Write(b.out); err != nil {
			c.putBuffer()
			return false
		}
		if !began.IsZero() {
			s.cfg.OnFastPath(time.Since(began))
		}
	}
	if len(c.pending) == 0 {
		c.putBuffer()
	}
	return true
}

// extendDeadline extends the deadline of both directions.
func (c *conn) extendDeadline(now *Time) bool {
	if second := now.At.Unix(); second-c.extended >= extendEvery {
		c.extended = second
		return c.Conn.SetDeadline(time.Now().Add(IdleTimeout)) == nil
	}
	return true
}

// putBuffer returns the buffer to the pool; nothing may be pending in it.
func (c *conn) putBuffer() {
	if c.buf != nil {
		c.buf.release()
		c.buf = nil
	}
	c.pending = nil // even an empty slice would keep what it is a part of from the collector
}

// wait reads bytes and leaves them pending.
func (c *conn) wait() bool {
	if c.raw == nil {
		if !c.read() {
			return false
		}
	} else if err := c.raw.Read(c.tryRead); err != nil {
		return false
	}
	if c.readN <= 0 {
		c.putBuffer()
		return false
	}
	c.pending = c.buf.in[:c.readN]
	return true
}

// read reads from a connection that is encrypted or no socket. It holds no buffer while it
// waits if it has a waiter.
func (c *conn) read() bool {
	for {
		c.buf = bufferPool.Get().(*buffer)
		if c.waiter != nil {
			c.waiter.nonblocking = true
		}
		c.readN, c.readErr = c.Conn.Read(c.buf.in[:])
		if c.waiter == nil {
			return true
		}
		c.waiter.nonblocking = false
		if !errors.Is(c.readErr, h2.ErrNotReady) {
			return true
		}
		c.putBuffer()
		if c.waiter.wait() != nil {
			return false
		}
	}
}

// SetReadDeadline sets fasthttp's deadline, which extendDeadline must replace even if it
// extended one less than extendEvery ago.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.extended = 0
	return c.Conn.SetReadDeadline(t)
}
