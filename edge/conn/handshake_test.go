package conn_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark/edge/conn"
	"github.com/fieldmark/fieldmark/edge/conn/certs"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/internal/timeout"
)

// tlsServer is a server of TLS connections and the results of their handshakes.
type tlsServer struct {
	*conn.Server
	store *certs.Store

	mu      sync.Mutex
	results map[conn.HandshakeResult]int
}

func newTLSServer(t *testing.T, network func(netip.Addr) netip.Addr) *tlsServer {
	t.Helper()
	store, err := certs.New(certs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	pair, err := certs.SelfSigned("")
	if err == nil {
		err = store.Set([]tls.Certificate{pair})
	}
	if err != nil {
		t.Fatal(err)
	}
	s := &tlsServer{store: store, results: map[conn.HandshakeResult]int{}}
	s.Server = conn.New(conn.Config{Name: "test", Network: network, NetworkConns: 1 << 20,
		Handler: func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("hello") },
		OnHandshake: func(r conn.HandshakeResult, _ time.Duration) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.results[r]++
		}})
	return s
}

func (s *tlsServer) result(r conn.HandshakeResult) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.results[r]
}

// addrConn has the address of a client.
type addrConn struct {
	net.Conn
	addr net.Addr
}

func (c addrConn) RemoteAddr() net.Addr { return c.addr }

// pipeListener accepts one connection.
type pipeListener struct {
	net.Listener
	conn net.Conn
}

func (l pipeListener) Accept() (net.Conn, error) { return l.conn, nil }

// connect opens a connection from an address and returns the client's end.
func (s *tlsServer) connect(from string) net.Conn {
	client, server := net.Pipe()
	addr := net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(from), 1))
	secure, _ := conn.NewTLSListener(pipeListener{conn: addrConn{server, addr}}, s.store.TLSConfig()).Accept()
	go s.ServeConn(secure)
	return client
}

// begin opens a connection and sends the first byte of a handshake.
func (s *tlsServer) begin(t *testing.T, from string) net.Conn {
	t.Helper()
	c := s.connect(from)
	if _, err := c.Write([]byte{22}); err != nil {
		t.Error(err)
	}
	synctest.Wait()
	return c
}

// isOpen reports whether a connection that never sent a byte is still open.
func isOpen(c net.Conn) bool {
	_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := c.Read(make([]byte, 1))
	ne, ok := err.(net.Error)
	return ok && ne.Timeout()
}

// countOpen counts the connections that are still open.
func countOpen(all []net.Conn) (n int) {
	for _, c := range all {
		if isOpen(c) {
			n++
		}
	}
	return n
}

// TestHandshakeLimits opens connections that send one byte: one network has 64 of them, all
// networks 1,024, and after their time they are closed.
func TestHandshakeLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTLSServer(t, func(a netip.Addr) netip.Addr { return a })
		var crowd []net.Conn
		for range 70 {
			crowd = append(crowd, s.begin(t, "192.0.2.1"))
		}
		if n := countOpen(crowd); n != 64 || s.result(conn.HandshakeRejected) != 6 {
			t.Errorf("one network: %d handshakes wait, %d were rejected; want 64 and 6", n,
				s.result(conn.HandshakeRejected))
		}
		c := tls.Client(s.connect("192.0.2.2"), &tls.Config{InsecureSkipVerify: true})
		if err := c.Handshake(); err != nil {
			t.Errorf("another network: %v", err)
		}
		c.Close()
		synctest.Wait()
		all := crowd
		for i := range 1000 {
			all = append(all, s.begin(t, netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}).String()))
		}
		if n := countOpen(all); n != 1024 {
			t.Errorf("%d handshakes wait, want 1,024", n)
		}
		time.Sleep(5*time.Second*timeout.Scale + time.Second)
		synctest.Wait()
		if n := countOpen(all); n != 0 || s.result(conn.HandshakeFailed) != 1024 || s.result(conn.HandshakeFull) != 1 {
			t.Errorf("after the time of a handshake: %d wait, results %v", n, s.results)
		}
		for _, c := range all {
			c.Close()
		}
		s.Drain(0)
	})
}

// TestSilentConnections opens connections that send nothing, more of one network and in total than
// there may be handshakes: they hold none, and after their time they are closed.
func TestSilentConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTLSServer(t, func(a netip.Addr) netip.Addr { return a })
		var all []net.Conn
		for i := range 1100 {
			from := netip.AddrFrom4([4]byte{10, 0, 0, byte(i % 11)})
			all = append(all, s.connect(from.String()))
		}
		synctest.Wait()
		if n := countOpen(all); n != len(all) || s.result(conn.HandshakeRejected) != 0 {
			t.Errorf("%d of %d connections wait, %d were rejected", n, len(all), s.result(conn.HandshakeRejected))
		}
		c := tls.Client(s.connect("10.0.0.1"), &tls.Config{InsecureSkipVerify: true})
		if err := c.Handshake(); err != nil {
			t.Errorf("a client of the same network: %v", err)
		}
		c.Close()
		time.Sleep(15*time.Second*timeout.Scale + time.Second)
		synctest.Wait()
		if n := countOpen(all); n != 0 || s.result(conn.HandshakeFailed) != len(all) {
			t.Errorf("after the time of a first byte: %d wait, results %v", n, s.results)
		}
		for _, c := range all {
			c.Close()
		}
		s.Drain(0)
	})
}

// TestSilentSockets is TestSilentConnections over TCP, where a connection waits without a buffer.
func TestSilentSockets(t *testing.T) {
	cfg := testConfig()
	var rejected atomic.Int64
	cfg.OnHandshake = func(r conn.HandshakeResult, _ time.Duration) {
		if r == conn.HandshakeRejected {
			rejected.Add(1)
		}
	}
	s := startServer(t, cfg, true)
	const silent = 80
	for range silent {
		c, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	waittest.Until(t, "the connections are there", func() bool { return s.Open()+int(rejected.Load()) == silent })
	resp, err := s.client().Get(s.url("/api/badge/acme"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if n := rejected.Load(); n != 0 || s.Open() != silent+1 {
		t.Errorf("%d connections are open, %d were rejected; want %d and none", s.Open(), n, silent+1)
	}
}

// TestHandshakeOfCA checks that nothing is served over the protocol of a challenge: its
// connection ends after the handshake (RFC 8737, 3).
func TestHandshakeOfCA(t *testing.T) {
	s := newTLSServer(t, func(netip.Addr) netip.Addr { return netip.Addr{} })
	s.store.Challenge = func(_ context.Context, name string) (*tls.Certificate, error) {
		return certs.ChallengeCertificate(name, "token.thumbprint")
	}
	for protocol, want := range map[string]bool{certs.ProtocolACME: false, "http/1.1": true} {
		c := tls.Client(s.connect("192.0.2.1"), &tls.Config{InsecureSkipVerify: true, ServerName: "localhost",
			NextProtos: []string{protocol}})
		if err := c.Handshake(); err != nil {
			t.Errorf("%s: %v", protocol, err)
		}
		if want { // a challenge's connection is closed by now, and the pipe holds no bytes
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
		}
		if n, err := c.Read(make([]byte, 1)); (n == 1) != want {
			t.Errorf("%s: read %d bytes, %v; want an answer: %v", protocol, n, err, want)
		}
		c.Close()
	}
	s.Drain(0)
}
