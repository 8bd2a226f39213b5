package conn_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark/edge/conn"
	"github.com/fieldmark/fieldmark/edge/conn/certs"
	"github.com/fieldmark/fieldmark/edge/conn/framing"
	"github.com/fieldmark/fieldmark/edge/conn/h2"
	"github.com/fieldmark/fieldmark/edge/conn/h3"
	"github.com/fieldmark/fieldmark/edge/conn/mux"
)

const (
	testHost  = "marks.example"
	otherHost = "other.example" // covered by the certificate too
)

// testServer is a Server on a loopback address.
type testServer struct {
	*conn.Server
	t    testing.TB
	addr string
	tls  *tls.Config // of clients; nil: the server speaks HTTP/1.1 and h2c
	cert *tls.Certificate
}

// badgeBody is what the fast path of a testServer responds with.
var badgeBody = bytes.Repeat([]byte("<svg/>"), 146)

// testConfig returns the configuration of a server whose fast path answers badges that do
// not begin with "miss".
func testConfig() conn.Config {
	etag := `"0123456789abcdef01234567"`
	var full, notModified mux.Response
	for _, f := range []framing.Field{{Name: "content-length", Value: strconv.Itoa(len(badgeBody))},
		{Name: "content-type", Value: "image/svg+xml; charset=utf-8"}, {Name: "etag", Value: etag}} {
		full.HPACK = h2.AppendField(full.HPACK, f.Name, f.Value)
		full.QPACK = h3.AppendField(full.QPACK, f.Name, f.Value)
		if f.Name != "content-length" {
			notModified.HPACK = h2.AppendField(notModified.HPACK, f.Name, f.Value)
			notModified.QPACK = h3.AppendField(notModified.QPACK, f.Name, f.Value)
		}
	}
	full.Body, notModified.NotModified = badgeBody, true
	fast := func(r conn.SimpleRequest) bool { return !bytes.HasPrefix(r.Target, []byte("/api/badge/miss")) }
	return conn.Config{
		Name:    "test",
		Handler: serveTest,
		Network: func(a netip.Addr) netip.Addr { return a },
		ErrorHandler: func(ctx *fasthttp.RequestCtx, err error) {
			ctx.SetStatusCode(400)
			if refused, ok := errors.AsType[*framing.Error](err); ok {
				ctx.SetStatusCode(refused.Status)
			}
			ctx.SetConnectionClose()
		},
		FastPathPrefix: "/api/badge/",
		FastPath: func(dst []byte, r conn.SimpleRequest, now *conn.Time) ([]byte, bool) {
			if !fast(r) {
				return dst, false
			}
			dst = fmt.Appendf(dst, "HTTP/1.1 200 OK\r\nServer: test\r\nDate: %s\r\nContent-Type: image/svg+xml; "+
				"charset=utf-8\r\nContent-Length: %d\r\nCache-Status: test; hit\r\nEtag: %s\r\nAge: 0\r\n\r\n",
				now.Date[:], len(badgeBody), etag)
			return append(dst, badgeBody...), true
		},
		FastResponse: func(r conn.SimpleRequest, now *conn.Time) (mux.Response, bool) {
			if !fast(r) {
				return mux.Response{}, false
			}
			if string(r.IfNoneMatch) == etag {
				return notModified, true
			}
			return full, true
		},
		ConstantFields: []string{"server", "test", "cache-status", "test; hit"},
		H2C:            true,
	}
}

// serveTest answers what the fast path does not: the path decides how.
func serveTest(ctx *fasthttp.RequestCtx) {
	switch path := string(ctx.Path()); {
	case path == "/echo":
		body, err := io.ReadAll(ctx.RequestBodyStream())
		if err != nil {
			ctx.Error(err.Error(), 400)
			return
		}
		ctx.SetBody(body)
	case path == "/count":
		n, err := io.Copy(io.Discard, ctx.RequestBodyStream())
		if err != nil {
			ctx.Error(err.Error(), 400)
			return
		}
		fmt.Fprint(ctx, n)
	case strings.HasPrefix(path, "/api/badge/") && !strings.HasPrefix(path, "/api/badge/miss"):
		ctx.SetBody(badgeBody)
	case path == "/head":
		fmt.Fprintf(ctx, "%s %s\n", ctx.Method(), ctx.RequestURI())
		for name, value := range ctx.Request.Header.All() {
			fmt.Fprintf(ctx, "%s: %s\n", name, value)
		}
	case strings.HasPrefix(path, "/large/"):
		n, _ := strconv.Atoi(path[len("/large/"):])
		ctx.Response.SetBodyRaw(bytes.Repeat([]byte("x"), n))
	case path == "/stream":
		ctx.Response.SetBodyStreamWriter(func(w *bufio.Writer) {
			for i := range 3 {
				fmt.Fprintf(w, "data: %d\n\n", i)
				_ = w.Flush()
			}
		})
	case path == "/early":
		ctx.SetStatusCode(413)
		ctx.SetConnectionClose()
	case path == "/interim":
		_, _ = io.WriteString(ctx.Conn(), "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n")
		ctx.SetBodyString("after")
	default:
		if stream := ctx.RequestBodyStream(); stream != nil {
			_, _ = io.Copy(io.Discard, stream) // whatever is wrong with it
		}
		ctx.SetContentType("text/plain")
		ctx.SetBodyString("hello " + path)
	}
}

// startServer starts a server, over TLS or not.
func startServer(t testing.TB, cfg conn.Config, secure bool) *testServer {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &testServer{Server: conn.New(cfg), t: t, addr: ln.Addr().String()}
	if secure {
		s.cert = newCertificate(t)
		store, err := certs.New(certs.Config{Protocols: []string{certs.ProtocolHTTP2, certs.ProtocolHTTP1}})
		if err == nil {
			err = store.Set([]tls.Certificate{*s.cert})
		}
		if err != nil {
			t.Fatal(err)
		}
		ln = conn.NewTLSListener(ln, store.TLSConfig())
		roots := x509.NewCertPool()
		roots.AddCert(s.cert.Leaf)
		s.tls = &tls.Config{RootCAs: roots, ServerName: testHost}
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { _ = s.Run(ctx); close(done) }()
	go func() { _ = s.Serve(ln) }()
	t.Cleanup(func() {
		_ = ln.Close()
		s.Drain(0)
		stop()
		<-done
	})
	return s
}

func newCertificate(t testing.TB) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: testHost},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, DNSNames: []string{testHost, otherHost},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// dial opens a connection whose first protocol is proto.
func (s *testServer) dial(proto string) net.Conn {
	s.t.Helper()
	nc, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	if s.tls != nil {
		cfg := s.tls.Clone()
		cfg.NextProtos = []string{proto}
		nc = tls.Client(nc, cfg)
	}
	s.t.Cleanup(func() { nc.Close() })
	if err := nc.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		s.t.Fatal(err)
	}
	return nc
}

// client returns a client that speaks HTTP/2 only.
func (s *testServer) client() *http.Client {
	t := &http.Transport{Protocols: new(http.Protocols), TLSClientConfig: s.tls.Clone(),
		DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("tcp", s.addr) }}
	t.Protocols.SetHTTP2(s.tls != nil)
	t.Protocols.SetUnencryptedHTTP2(s.tls == nil)
	s.t.Cleanup(t.CloseIdleConnections)
	return &http.Client{Transport: t, Timeout: 2 * time.Minute}
}

// url returns an address on the server.
func (s *testServer) url(path string) string {
	if s.tls != nil {
		return "https://" + testHost + path
	}
	return "http://" + testHost + path
}

// TestHTTP2 sends requests of all kinds with the client of x/net.
func TestHTTP2(t *testing.T) {
	for _, secure := range []bool{true, false} {
		t.Run(fmt.Sprintf("tls=%v", secure), func(t *testing.T) {
			s := startServer(t, testConfig(), secure)
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
					if err != nil || string(got) != tt.want || resp.StatusCode != 200 || resp.ProtoMajor != 2 {
						t.Errorf("%s %s: %s %d bytes %.40q %v, want %d bytes %.40q", tt.method, tt.path, resp.Status,
							len(got), got, err, len(tt.want), tt.want)
					}
				}
			}
		})
	}
}
