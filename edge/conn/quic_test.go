package conn_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/fieldmark/fieldmark/edge/conn"
	"github.com/fieldmark/fieldmark/edge/conn/certs"
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

// dial opens a connection of QUIC.
func (s *quicServer) dialQUIC() *quic.Conn {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c, err := quic.DialAddr(ctx, s.addr, s.tls, &quic.Config{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.CloseWithError(0, "") })
	return c
}

// client returns a client of HTTP/3.
func (s *quicServer) client() *http.Client {
	t := &http3.Transport{TLSClientConfig: s.tls, QUICConfig: &quic.Config{}, DisableCompression: true,
		Dial: func(ctx context.Context, _ string, tls *tls.Config, cfg *quic.Config) (*quic.Conn, error) {
			return quic.DialAddrEarly(ctx, s.addr, tls, cfg)
		}}
	s.t.Cleanup(func() { t.Close() })
	return &http.Client{Transport: t, Timeout: 60 * time.Second}
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
