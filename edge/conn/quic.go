package conn

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/fieldmark/fieldmark/edge/conn/h3"
)

const (
	// maxQUICConns bounds the connections of HTTP/3: at 80 kB each they take 1.3 GB. Above it
	// new ones are refused, and responses have no Alt-Svc until a quarter of them has ended.
	maxQUICConns = 16 << 10
	// retryRate, retryHandshakes and retryNetwork are how many connections may begin in a
	// second, and how many handshakes may be unfinished in total and of one network, before
	// clients must prove their address (RFC 9000, 8.1.2): that costs an honest client a
	// round trip, and one with a forged address cannot.
	retryRate       = 200
	retryHandshakes = 1000
	retryNetwork    = 32
)

// quicLimits count the connections of QUIC.
type quicLimits struct {
	maxConns      int // guarded by connTracker.mu, as the next three
	open          int
	second        int64
	begun         int // connections in that second
	retries       atomic.Uint64
	receiveBuffer atomic.Int64 // of the socket, in bytes
}

// QUICConfig configures a QUICListener.
type QUICConfig struct {
	TLS *tls.Config // offers the protocol h3
	// Secret is shared by all edges (see h3.ListenConfig), and Host distinguishes this one.
	Secret, Host string
	EarlyData    bool // answer requests from the fast path in a client's first packet (0-RTT)
}

// QUICListener accepts connections of HTTP/3.
type QUICListener struct {
	server *Server
	ln     *h3.Listener
	tls    *tls.Config
}

// ListenQUIC makes the server accept HTTP/3 on a UDP socket, which stays the caller's.
func (s *Server) ListenQUIC(pc net.PacketConn, cfg QUICConfig) (*QUICListener, error) {
	ln, err := h3.Listen(pc, h3.ListenConfig{TLS: cfg.TLS, Secret: cfg.Secret, Host: cfg.Host, EarlyData: cfg.EarlyData,
		Window: &s.window, Retry: s.retryQUIC, Begin: s.beginQUIC})
	if err != nil {
		return nil, err
	}
	size := receiveBuffer(pc)
	s.quic.receiveBuffer.Store(int64(size))
	if 0 < size && size < h3.ReceiveBuffer {
		s.cfg.Log.Warn("the receive buffer of HTTP/3 is small, so bursts lose packets; raise net.core.rmem_max",
			"bytes", size, "wanted", h3.ReceiveBuffer)
	}
	s.altSvc.Store(true)
	return &QUICListener{s, ln, cfg.TLS}, nil
}

// Serve serves connections until Stop is called.
func (l *QUICListener) Serve() error {
	for {
		c, err := l.ln.Accept(context.Background())
		if err != nil {
			l.server.altSvc.Store(false)
			return err
		}
		go l.server.serveQUIC(c, l.tls)
	}
}

// Stop refuses new connections.
func (l *QUICListener) Stop() error { return l.ln.Stop() }

// Close ends all connections at once, without a message to the clients.
func (l *QUICListener) Close() error { return errors.Join(l.ln.Stop(), l.ln.Close()) }

// http3Config returns what the connections of HTTP/3 have in common.
func (s *Server) http3Config() h3.Config {
	plain := h3.NewConstants(s.cfg.ConstantFields...)
	altSvc := append(plain[:len(plain):len(plain)], h3.NewConstants(s.cfg.altSvcField()...)...)
	return h3.Config{Events: s.events(protoHTTP3),
		Date: func() []byte { return s.clock.now.Load().QPACK },
		Constants: func() h3.Constants {
			if s.altSvc.Load() {
				return altSvc
			}
			return plain
		}}
}

// AltSvc returns the value of Alt-Svc on responses over TLS, or an empty string: HTTP/3 is not
// served, or has too many connections.
func (s *Server) AltSvc() string {
	if s.altSvc.Load() {
		return s.cfg.AltSvc
	}
	return ""
}

// retryQUIC reports whether a client must prove its address before its handshake.
func (s *Server) retryQUIC(a net.Addr) bool {
	network, second := s.quicNetwork(a), time.Now().Unix()
	t, q := &s.conns, &s.quic
	t.mu.Lock()
	defer t.mu.Unlock()
	if q.second != second {
		q.second, q.begun = second, 0
	}
	q.begun++
	retry := q.begun > retryRate || t.handshakes.total >= retryHandshakes ||
		network.IsValid() && t.handshakes.perNetwork[network] >= retryNetwork
	if retry {
		q.retries.Add(1)
	}
	return retry
}

// quicNetwork returns the network that a client counts for; invalid: none.
func (s *Server) quicNetwork(a net.Addr) netip.Addr {
	if udp, ok := a.(*net.UDPAddr); ok {
		return s.cfg.Network(udp.AddrPort().Addr().Unmap())
	}
	return netip.Addr{}
}

// beginQUIC counts a handshake and returns the function to call at its end, or nil if a limit
// is reached.
func (s *Server) beginQUIC(a net.Addr) func(h3.Handshake) {
	network := s.quicNetwork(a)
	t := &s.conns
	t.mu.Lock()
	ok := !s.Draining() && s.quic.open < s.quic.maxConns && t.handshakes.tryAcquire(network)
	t.mu.Unlock()
	if !ok {
		s.cfg.OnHandshake(HandshakeRejected, 0)
		return nil
	}
	began := time.Now()
	return func(h h3.Handshake) {
		t.mu.Lock()
		t.handshakes.release(network)
		t.mu.Unlock()
		result := HandshakeFailed
		switch {
		case h.Early:
			result = HandshakeEarly
		case h.Resumed:
			result = HandshakeResumed
		case h.Done:
			result = HandshakeFull
		}
		s.cfg.OnHandshake(result, time.Since(began))
	}
}

// serveQUIC serves a connection until it ends.
func (s *Server) serveQUIC(hc *h3.Conn, cfg *tls.Config) {
	c := &conn{Conn: quicSocket{c: hc}, server: s, tls: hc, tlsConfig: cfg, peer: Peer{Addr: Addr(hc.RemoteAddr())}}
	c.network = s.cfg.Network(c.peer.Addr)
	c.setProto(protoHTTP3)
	c.refs.Store(1)
	if !s.trackQUIC(c) {
		s.cfg.OnReject()
		_ = hc.Close() // never fails
		return
	}
	defer s.releaseQUIC(c)
	c.setSession(hc)
	hc.Serve(&streamHandler{conn: c, scheme: "https"}, &s.h3)
}

// trackQUIC registers a connection, unless a limit is reached or the server drains.
func (s *Server) trackQUIC(c *conn) bool {
	t, q := &s.conns, &s.quic
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.Draining() || q.open >= q.maxConns {
		return false
	}
	var ok bool
	if c.counts, ok = t.tryAcquire(c.network); !ok {
		return false
	}
	t.open[c] = struct{}{}
	t.done.Add(1)
	if q.open++; q.open >= q.maxConns {
		s.altSvc.Store(false)
	}
	return true
}

// releaseQUIC unregisters a connection.
func (s *Server) releaseQUIC(c *conn) {
	t, q := &s.conns, &s.quic
	t.mu.Lock()
	if q.open--; q.open == q.maxConns*3/4 && !s.Draining() {
		s.altSvc.Store(true)
	}
	t.mu.Unlock()
	c.release()
}

// quicSocket is a connection of HTTP/3 as the tracker sees it: it can be closed. Its streams
// are read and written by package h3.
type quicSocket struct {
	net.Conn // nil
	c        *h3.Conn
}

// Close implements net.Conn.
func (q quicSocket) Close() error { return q.c.Close() }

// LocalAddr implements net.Conn.
func (q quicSocket) LocalAddr() net.Addr { return q.c.LocalAddr() }

// RemoteAddr implements net.Conn.
func (q quicSocket) RemoteAddr() net.Addr { return q.c.RemoteAddr() }
