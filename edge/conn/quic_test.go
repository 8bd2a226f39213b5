package conn_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark/edge/conn"
	"github.com/fieldmark/fieldmark/edge/conn/certs"
	"github.com/fieldmark/fieldmark/edge/conn/h3"
	"github.com/fieldmark/fieldmark/edge/conn/mux"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// quicServer is a testServer that also speaks HTTP/3.
type quicServer struct {
	*testServer
	ln *conn.QUICListener
	pc net.PacketConn
}

const testSecret = "the-node-token-of-a-test-that-all-edges-share"

// startQUIC starts a server of HTTP/3.
func startQUIC(t testing.TB, cfg conn.Config) *quicServer {
	t.Helper()
	return startQUICOn(t, cfg, listenUDP(t), newCertificate(t))
}

func listenUDP(t testing.TB) net.PacketConn {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pc.Close() })
	return pc
}

func startQUICOn(t testing.TB, cfg conn.Config, pc net.PacketConn, cert *tls.Certificate) *quicServer {
	t.Helper()
	cfg.AltSvc = `h3=":443"; ma=86400`
	s := &quicServer{testServer: &testServer{Server: conn.New(cfg), t: t, addr: pc.LocalAddr().String()}, pc: pc}
	roots := x509.NewCertPool()
	roots.AddCert(cert.Leaf)
	s.tls = &tls.Config{RootCAs: roots, ServerName: testHost, NextProtos: []string{certs.ProtocolHTTP3}}
	// The keys of tickets are derived from a secret, so that a restarted server knows them.
	server := &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: []string{certs.ProtocolHTTP3},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return cert, nil }}
	server.SetSessionTicketKeys([][32]byte{{1}})
	var err error
	if s.ln, err = s.ListenQUIC(pc, conn.QUICConfig{TLS: server, Secret: testSecret, Host: "test",
		EarlyData: true}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{}, 2)
	go func() { _ = s.Run(ctx); done <- struct{}{} }()
	go func() { _ = s.ln.Serve(); done <- struct{}{} }()
	t.Cleanup(func() {
		_ = s.ln.Stop()
		s.Drain(0)
		_ = s.ln.Close()
		stop()
		<-done
		<-done
	})
	return s
}

// quicConfig returns the settings of a client: a handshake may take longer than the default of 5 s.
func quicConfig() *quic.Config { return &quic.Config{HandshakeIdleTimeout: 2 * time.Minute} }

// dialQUIC opens a QUIC connection.
func (s *quicServer) dialQUIC() *quic.Conn {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c, err := quic.DialAddr(ctx, s.addr, s.tls, quicConfig())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.CloseWithError(0, "") })
	return c
}

// client returns a client of HTTP/3.
func (s *quicServer) client() *http.Client {
	t := &http3.Transport{TLSClientConfig: s.tls, QUICConfig: quicConfig(), DisableCompression: true,
		Dial: func(ctx context.Context, _ string, tls *tls.Config, cfg *quic.Config) (*quic.Conn, error) {
			return quic.DialAddrEarly(ctx, s.addr, tls, cfg)
		}}
	s.t.Cleanup(func() { t.Close() })
	return &http.Client{Transport: t, Timeout: 2 * time.Minute}
}

// TestHTTP3 sends requests of all kinds with the client of quic-go.
func TestHTTP3(t *testing.T) {
	s := startQUIC(t, testConfig())
	c := s.client()
	body := strings.Repeat("0123456789", 50_000)
	for _, tt := range []struct{ method, path, body, want string }{
		{"GET", "/api/badge/acme", "", string(badgeBody)},
		{"GET", "/api/badge/acme", "", string(badgeBody)},
		{"HEAD", "/api/badge/acme", "", ""},
		{"GET", "/api/badge/acme?x=%20", "", string(badgeBody)},
		{"GET", "/api/badge/miss", "", "hello /api/badge/miss"},
		{"GET", "/", "", "hello /"},
		{"POST", "/echo", "", ""},
		{"POST", "/echo", "small", "small"},
		{"POST", "/echo", body, body},
		{"GET", "/large/3000000", "", strings.Repeat("x", 3_000_000)},
		{"GET", "/stream", "", "data: 0\n\ndata: 1\n\ndata: 2\n\n"},
		{"GET", "/interim", "", "after"},
	} {
		for _, sized := range []bool{true, false} {
			var in io.Reader
			if tt.body != "" {
				in = strings.NewReader(tt.body)
				if !sized {
					in = io.MultiReader(in)
				}
			}
			req, err := http.NewRequest(tt.method, s.url(tt.path), in)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := c.Do(req)
			if err != nil {
				t.Fatalf("%s %s: %v", tt.method, tt.path, err)
			}
			got, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || string(got) != tt.want || resp.StatusCode != 200 || resp.ProtoMajor != 3 {
				t.Errorf("%s %s: %s %d bytes %.40q %v, want %d bytes %.40q", tt.method, tt.path, resp.Status,
					len(got), got, err, len(tt.want), tt.want)
			}
		}
	}
}

// exchange opens a connection for one request of raw fields.
func (s *quicServer) exchange(all ...string) string {
	s.t.Helper()
	f := &quicFlooder{Conn: s.dialQUIC(), t: s.t}
	return answer(f.ask(fields(all...)))
}

// gatedConn is a socket of a client. Nothing is read before it is opened, and after the first
// packet was read nothing is written before it is released: the handshake cannot end.
type gatedConn struct {
	net.PacketConn
	opened, released chan struct{}
	read             atomic.Bool
}

func (g *gatedConn) ReadFrom(p []byte) (int, net.Addr, error) {
	<-g.opened
	n, a, err := g.PacketConn.ReadFrom(p)
	g.read.Store(true)
	return n, a, err
}

func (g *gatedConn) WriteTo(p []byte, a net.Addr) (int, error) {
	if g.read.Load() {
		select {
		case <-g.released:
		default:
			return len(p), nil // lost
		}
	}
	return g.PacketConn.WriteTo(p, a)
}

// TestEarlyData resumes a session and sends requests in the first packet: only the one that the
// fast path answers is served before the end of the handshake.
func TestEarlyData(t *testing.T) {
	cfg := testConfig()
	var mu sync.Mutex
	results := map[conn.HandshakeResult]int{}
	cfg.OnHandshake = func(r conn.HandshakeResult, _ time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		results[r]++
	}
	var released atomic.Bool
	cfg.Handler = func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) == "/late" && !released.Load() {
			t.Error("the handler got a request before the end of the handshake")
		}
		serveTest(ctx)
	}
	var hit atomic.Bool
	fast := cfg.FastResponse
	cfg.FastResponse = func(r conn.SimpleRequest, now *conn.Time) (mux.Response, bool) {
		if bytes.Contains(r.Target, []byte("early")) {
			hit.Store(true)
		}
		return fast(r, now)
	}
	s := startQUIC(t, cfg)
	s.tls.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	first := s.dialQUIC()
	waittest.Until(t, "a session ticket arrives and the handshake is counted", func() bool {
		_, ok := s.tls.ClientSessionCache.Get(testHost)
		mu.Lock()
		defer mu.Unlock()
		return ok && results[conn.HandshakeFull] == 1
	})
	_ = first.CloseWithError(0, "")

	g := &gatedConn{PacketConn: listenUDP(t), opened: make(chan struct{}), released: make(chan struct{})}
	tr := &quic.Transport{Conn: g}
	c, err := tr.DialEarly(t.Context(), s.pc.LocalAddr(), s.tls, quicConfig())
	if err != nil {
		t.Fatal(err)
	}
	f := &quicFlooder{Conn: c, t: t}
	asked := []*quic.Stream{f.ask(requestFields("GET", "/late"))}
	// A request whose end does not arrive with it is served after the handshake like the first.
	waittest.Until(t, "a request is answered before the handshake", func() bool {
		asked = append(asked, f.ask(requestFields("GET", "/api/badge/early")))
		return hit.Load()
	})
	released.Store(true)
	close(g.released)
	close(g.opened)
	for _, st := range asked {
		if got := answer(st); got != "200" {
			t.Errorf("stream %d: %s", st.StreamID(), got)
		}
	}
	waittest.Until(t, "the handshake is counted", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return results[conn.HandshakeEarly] == 1 && results[conn.HandshakeFull] == 1
	})
	_ = c.CloseWithError(0, "")
	_ = tr.Close()
}

// TestHandshakeOfClosedConnection closes a connection whose handshake is complete before any goroutine
// of the server waits for it: the handshake has not failed.
func TestHandshakeOfClosedConnection(t *testing.T) {
	cert, ended := newCertificate(t), make(chan h3.Handshake, 1)
	pc := listenUDP(t)
	ln, err := h3.Listen(pc, h3.ListenConfig{Window: new(mux.WindowBudget),
		TLS: &tls.Config{Certificates: []tls.Certificate{*cert}, NextProtos: []string{certs.ProtocolHTTP3}},
		Begin: func(net.Addr) func(h3.Handshake) {
			return func(h h3.Handshake) { ended <- h }
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	roots := x509.NewCertPool()
	roots.AddCert(cert.Leaf)
	tickets := tls.NewLRUClientSessionCache(1)
	c, err := quic.DialAddr(t.Context(), pc.LocalAddr().String(), &tls.Config{RootCAs: roots, ServerName: testHost,
		NextProtos: []string{certs.ProtocolHTTP3}, ClientSessionCache: tickets}, quicConfig())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ln.Accept(t.Context()); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "a session ticket arrives, which follows the end of the handshake", func() bool {
		_, ok := tickets.Get(testHost)
		return ok
	})
	_ = c.CloseWithError(0, "") // never fails
	if got, want := <-ended, (h3.Handshake{Done: true}); got != want {
		t.Errorf("the handshake ended as %+v, want %+v", got, want)
	}
}

// TestQUICRestart replaces a server by another on the same socket: a connection of the first
// is reset by the second, which derives its key from the same secret.
func TestQUICRestart(t *testing.T) {
	pc, cert := listenUDP(t), newCertificate(t)
	old := startQUICOn(t, testConfig(), pc, cert)
	f := &quicFlooder{Conn: old.dialQUIC(), t: t}
	ask := func() string {
		st, err := f.send(requestFields("GET", "/api/badge/acme"))
		if err != nil {
			return err.Error()
		}
		return answer(st)
	}
	if got := ask(); got != "200" {
		t.Fatal(got)
	}
	_ = old.ln.Close() // as if the process were killed
	startQUICOn(t, testConfig(), pc, cert)
	ask()
	<-f.Context().Done()
	if err := context.Cause(f.Context()); !errors.As(err, new(*quic.StatelessResetError)) {
		t.Errorf("the connection ended with %v, want a stateless reset", err)
	}
}

// TestQUICMigration moves a client to another address.
func TestQUICMigration(t *testing.T) {
	s := startQUIC(t, testConfig())
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	// A client with connection IDs: without, as DialAddr, it cannot move.
	c, err := (&quic.Transport{Conn: listenUDP(t)}).Dial(ctx, s.pc.LocalAddr(), s.tls, quicConfig())
	if err != nil {
		t.Fatal(err)
	}
	path, err := c.AddPath(&quic.Transport{Conn: listenUDP(t)})
	if err == nil {
		err = path.Probe(ctx)
	}
	if err == nil {
		err = path.Switch()
	}
	if err != nil {
		t.Fatal(err)
	}
	f := &quicFlooder{Conn: c, t: t}
	if got := answer(f.ask(requestFields("GET", "/x"))); got != "200" || s.Open() != 1 {
		t.Errorf("after the move: %s, %d connections", got, s.Open())
	}
}

// TestDrainOverH3 drains a server with a request in flight: it is answered, and so is one that
// the client sends before it has seen GOAWAY.
func TestDrainOverH3(t *testing.T) {
	cfg := testConfig()
	started, release := make(chan struct{}), make(chan struct{})
	cfg.Handler = func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) == "/slow" {
			close(started)
			<-release
		}
		serveTest(ctx)
	}
	s := startQUIC(t, cfg)
	f := newQUICFlooder(t, s)
	control, err := f.AcceptUniStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	next := func(n int) []rawFrame { // the first n frames after the type of the stream
		t.Helper()
		b := make([]byte, 100)
		for {
			if len(got) > 0 {
				if all, _ := splitFrames(got[1:]); len(all) >= n {
					return all
				}
			}
			k, err := control.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, b[:k]...)
		}
	}
	ask := func(path string) *quic.Stream { return f.ask(requestFields("GET", path)) }
	slow := ask("/slow")
	<-started
	drained := make(chan int)
	go func() { drained <- s.Drain(30 * time.Second) }()
	if all := next(2); all[1].typ != 0x7 {
		t.Errorf("frame %#x follows SETTINGS, want GOAWAY", all[1].typ)
	}
	if got := answer(ask("/late")); got != "200" {
		t.Errorf("a request in transit: %s", got)
	}
	if all := next(3); all[2].typ != 0x7 || !bytes.Equal(all[2].payload, []byte{8}) {
		t.Errorf("then %#x %x, want GOAWAY with the first stream that is not served", all[2].typ, all[2].payload)
	}
	if got := answer(ask("/refused")); got != fmt.Sprintf("reset %#x", uint64(h3.RequestRejected)) {
		t.Errorf("a late request: %s", got)
	}
	close(release)
	if got := answer(slow); got != "200" {
		t.Errorf("the request in flight: %s", got)
	}
	if code := f.closed(); code != h3.NoError {
		t.Errorf("the connection was closed with %#x", code)
	}
	if cut := <-drained; cut != 0 {
		t.Errorf("%d connections were cut off", cut)
	}
}

// TestQUICConns opens more connections than there may be: the last is refused, and responses
// have no Alt-Svc until a quarter of them has ended.
func TestQUICConns(t *testing.T) {
	s := startQUIC(t, testConfig())
	conn.SetMaxQUICConns(s.Server, 8)
	var all []*quic.Conn
	for range 8 {
		if s.AltSvc() == "" {
			t.Errorf("Alt-Svc is left out with %d connections", len(all))
		}
		all = append(all, s.dialQUIC())
		waittest.Until(t, "the connection is counted", func() bool { return s.Open() == len(all) })
	}
	if got := s.AltSvc(); got != "" {
		t.Errorf("Alt-Svc is %q with as many connections as there may be", got)
	}
	_, err := quic.DialAddr(t.Context(), s.addr, s.tls, quicConfig())
	if e, ok := errors.AsType[*quic.TransportError](err); !ok || e.ErrorCode != quic.ConnectionRefused {
		t.Errorf("another connection: %v, want CONNECTION_REFUSED", err)
	}
	for i, c := range all[:2] {
		_ = c.CloseWithError(0, "")
		waittest.Until(t, "the connection ends", func() bool { return s.Open() == 7-i })
	}
	waittest.Until(t, "Alt-Svc returns", func() bool { return s.AltSvc() != "" })
}
