package conn_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/valyala/fasthttp"
	"golang.org/x/net/http2"

	"github.com/fieldmark/fieldmark/edge/conn"
	"github.com/fieldmark/fieldmark/edge/conn/certs"
	"github.com/fieldmark/fieldmark/edge/conn/h3"
	"github.com/fieldmark/fieldmark/edge/conn/mux"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// networkRequests is how many requests one network may have under way at a heldServer.
const networkRequests = 8

// heldServer is a server of HTTP/2 and HTTP/3 whose handler holds the requests for /held.
type heldServer struct {
	*quicServer
	tcp     *testServer
	network atomic.Pointer[netip.Addr] // that new connections count for
	release chan struct{}              // closed: nothing is held
	held    atomic.Int64
	served  atomic.Int64 // other requests
}

var firstNetwork, otherNetwork = netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")

func startHeld(t *testing.T) *heldServer {
	t.Helper()
	s := &heldServer{release: make(chan struct{})}
	s.network.Store(&firstNetwork)
	cfg := testConfig()
	cfg.Inflight = 4 * networkRequests
	cfg.Network = func(netip.Addr) netip.Addr { return *s.network.Load() }
	fast, large := cfg.FastResponse, bytes.Repeat(badgeBody, 8) // more than a packet, which QUIC would buffer
	cfg.FastResponse = func(r conn.SimpleRequest, now *conn.Time) (mux.Response, bool) {
		resp, ok := fast(r, now)
		if string(r.Target) == "/api/badge/large" {
			resp.Body = large
		}
		return resp, ok
	}
	cfg.Handler = func(ctx *fasthttp.RequestCtx) {
		switch string(ctx.Path()) {
		case "/held":
		case "/api/badge/large": // its request arrived in more than one packet
			ctx.SetBody(large)
			return
		default:
			s.served.Add(1)
			serveTest(ctx)
			return
		}
		aborted := make(chan struct{})
		ctx.Conn().(interface{ OnAbort(func()) }).OnAbort(sync.OnceFunc(func() { close(aborted) }))
		s.held.Add(1)
		defer s.held.Add(-1)
		select {
		case <-s.release:
		case <-aborted:
		}
	}
	cert := newCertificate(t)
	s.quicServer = startQUICOn(t, cfg, listenUDP(t), cert)
	store, err := certs.New(certs.Config{Protocols: []string{certs.ProtocolHTTP2}})
	if err == nil {
		err = store.Set([]tls.Certificate{*cert})
	}
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.tcp = &testServer{Server: s.Server, t: t, addr: ln.Addr().String(), tls: s.tls}
	done := make(chan struct{})
	go func() { _ = s.Serve(conn.NewTLSListener(ln, store.TLSConfig())); close(done) }()
	t.Cleanup(func() { _ = ln.Close(); <-done })
	return s
}

// checkLimit checks that the network may have its requests under way, over both protocols, and no
// more, and that others are served.
func (s *heldServer) checkLimit(t *testing.T) {
	t.Helper()
	waittest.Until(t, "all requests end", func() bool { return s.streams() == 0 && s.held.Load() == 0 })
	f, q := newFlooder(t, s.tcp), newQUICFlooder(t, s.quicServer)
	for i := range networkRequests / 2 {
		if err := f.request(uint32(2*i+1), "/held"); err != nil {
			t.Fatal(err)
		}
		q.ask(requestFields("GET", "/held"))
	}
	waittest.Until(t, "the network has its requests", func() bool {
		return s.held.Load() == networkRequests || f.refused.Load() > 0
	})
	served, rejected := s.served.Load(), fmt.Sprintf("reset %#x", uint64(h3.RequestRejected))
	const refused = 2 * networkRequests // refusals must hold no place either
	for i := range refused {
		id := uint32(101 + 2*i)
		if err := errors.Join(f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, EndHeaders: true,
			BlockFragment: f.head("POST", "/count")}), f.WriteData(id, true, []byte("dropped"))); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.request(201, "/api/badge/acme"); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "a hit is answered", func() bool { return f.answers.Load() > 0 })
	if n := f.refused.Load(); n != refused {
		t.Errorf("HTTP/2: %d requests above the limit were refused, want %d", n, refused)
	}
	if got := answer(q.ask(requestFields("GET", "/x"))); got != rejected {
		t.Errorf("HTTP/3: a request above the limit: %s, want %s", got, rejected)
	}
	body, err := q.open(requestFields("POST", "/count"))
	if err != nil {
		t.Fatal(err)
	}
	if got := answer(body); got != rejected {
		t.Errorf("HTTP/3: an upload above the limit: %s, want %s", got, rejected)
	}
	// One that does not arrive at once is refused as well, and may be repeated.
	waittest.Until(t, "a hit over HTTP/3 is answered",
		func() bool { return answer(q.ask(requestFields("GET", "/api/badge/acme"))) == "200" })
	if n := s.served.Load(); n != served {
		t.Errorf("the handler got %d requests above the limit", n-served)
	}
	s.network.Store(&otherNetwork)
	resp, err := s.tcp.client().Get(s.url("/x"))
	if err != nil {
		t.Fatalf("another network: %v", err)
	}
	resp.Body.Close()
	s.network.Store(&firstNetwork)
	close(s.release)
	waittest.Until(t, "the held requests end", func() bool { return s.streams() == 0 })
	if got := answer(q.ask(requestFields("GET", "/x"))); got != "200" {
		t.Errorf("HTTP/3: a request below the limit: %s", got)
	}
	answers := f.answers.Load()
	if err := f.request(203, "/x"); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "a request below the limit is answered", func() bool { return f.answers.Load() > answers })
}

// TestNetworkRequests ends many requests in each of the ways that there are, which all must free
// the place of the request once.
func TestNetworkRequests(t *testing.T) {
	const n = 3 * networkRequests
	untilHeld := func(s *heldServer, want int64) {
		waittest.Until(s.t, "requests are held", func() bool { return s.held.Load() == want })
	}
	for name, end := range map[string]func(t *testing.T, s *heldServer) error{
		"none": func(*testing.T, *heldServer) error { return nil },
		"h2 answered": func(t *testing.T, s *heldServer) error {
			f := newFlooder(t, s.tcp)
			for i := range n {
				if err := f.request(uint32(2*i+1), "/x"); err != nil {
					return err
				}
				waittest.Until(t, "an answer arrives",
					func() bool { return f.answers.Load() == int64(i+1) && s.streams() == 0 })
			}
			return nil
		},
		"h2 reset by the client": func(t *testing.T, s *heldServer) error {
			f := newFlooder(t, s.tcp)
			for i := range uint32(n) {
				if err := f.request(2*i+1, "/held"); err != nil {
					return err
				}
				untilHeld(s, 1)
				if err := f.WriteRSTStream(2*i+1, http2.ErrCodeCancel); err != nil {
					return err
				}
				untilHeld(s, 0)
				waittest.Until(t, "the stream ends", func() bool { return s.streams() == 0 })
			}
			return nil
		},
		"h2 reset by the server": func(t *testing.T, s *heldServer) error {
			f := newFlooder(t, s.tcp)
			for i := range n {
				if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), EndHeaders: true,
					BlockFragment: f.head("POST", "/early")}); err != nil {
					return err
				}
				waittest.Until(t, "a reset arrives",
					func() bool { return f.resets.Load() == int64(i+1) && s.streams() == 0 })
			}
			return nil
		},
		"h2 malformed": func(t *testing.T, s *heldServer) error {
			f := newFlooder(t, s.tcp)
			for i := range n {
				if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), EndHeaders: true,
					EndStream: true, BlockFragment: f.head("GET", "/", "Upper", "x")}); err != nil {
					return err
				}
			}
			waittest.Until(t, "the resets arrive", func() bool { return f.resets.Load() == n })
			return nil
		},
		"h2 connection lost": func(t *testing.T, s *heldServer) error {
			for range n {
				f := newFlooder(t, s.tcp)
				if err := f.request(1, "/held"); err != nil {
					return err
				}
				untilHeld(s, 1)
				_ = f.nc.Close() // the end of the connection is what is tested, and not how it closes
				untilHeld(s, 0)
			}
			return nil
		},
		"h2 protocol error": func(t *testing.T, s *heldServer) error {
			for range n {
				f := newFlooder(t, s.tcp)
				if err := f.request(1, "/held"); err != nil {
					return err
				}
				untilHeld(s, 1)
				if err := f.WriteRawFrame(http2.FrameData, 0, 0, nil); err != nil {
					return err
				}
				untilHeld(s, 0)
			}
			return nil
		},
		"h3 answered": func(t *testing.T, s *heldServer) error {
			q := newQUICFlooder(t, s.quicServer)
			for range n {
				if got := answer(q.ask(requestFields("GET", "/x"))); got != "200" {
					return errors.New(got)
				}
				waittest.Until(t, "the stream ends", func() bool { return s.streams() == 0 })
			}
			return nil
		},
		"h3 reset by the client": func(t *testing.T, s *heldServer) error {
			q := newQUICFlooder(t, s.quicServer)
			for range n {
				st := q.ask(requestFields("GET", "/held"))
				untilHeld(s, 1)
				st.CancelRead(quic.StreamErrorCode(h3.RequestCancelled))
				untilHeld(s, 0)
				waittest.Until(t, "the stream ends", func() bool { return s.streams() == 0 })
			}
			return nil
		},
		"h3 malformed": func(t *testing.T, s *heldServer) error {
			q := newQUICFlooder(t, s.quicServer)
			for range n {
				if got := answer(q.ask(requestFields("GET", "/", "Upper", "x"))); got != "malformed" {
					return errors.New(got)
				}
			}
			return nil
		},
		"h3 without a request": func(t *testing.T, s *heldServer) error {
			q := newQUICFlooder(t, s.quicServer)
			for range n {
				st, err := q.open(frame(0x21, nil)) // ignored
				if err != nil {
					return err
				}
				waittest.Until(t, "the stream is read", func() bool { return s.streams() == 1 })
				_ = st.Close() // fails if the server has stopped waiting for the request: the stream ends too
				waittest.Until(t, "the stream ends", func() bool { return s.streams() == 0 })
			}
			return nil
		},
		"h3 response that waits for its client": func(t *testing.T, s *heldServer) error {
			c, err := quic.DialAddr(t.Context(), s.addr, s.tls.Clone(), &quic.Config{InitialStreamReceiveWindow: 16,
				MaxStreamReceiveWindow: 16, HandshakeIdleTimeout: 2 * time.Minute})
			if err != nil {
				return err
			}
			defer func() { _ = c.CloseWithError(0, "") }()
			q := &quicFlooder{Conn: c, t: t}
			for range n {
				st := q.ask(requestFields("GET", "/api/badge/large"))
				waittest.Until(t, "the response waits", func() bool { return s.streams() == 1 })
				st.CancelRead(quic.StreamErrorCode(h3.RequestCancelled))
				waittest.Until(t, "the stream ends", func() bool { return s.streams() == 0 })
			}
			return nil
		},
		"h3 connection lost": func(t *testing.T, s *heldServer) error {
			for range n {
				q := newQUICFlooder(t, s.quicServer)
				q.ask(requestFields("GET", "/held"))
				untilHeld(s, 1)
				_ = q.CloseWithError(0, "") // the same
				untilHeld(s, 0)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := startHeld(t)
			if err := end(t, s); err != nil {
				t.Fatal(err)
			}
			s.checkLimit(t)
		})
	}
}

// TestDrainHeldRequests drains a server with requests under way: none is left over.
func TestDrainHeldRequests(t *testing.T) {
	s := startHeld(t)
	f, q := newFlooder(t, s.tcp), newQUICFlooder(t, s.quicServer)
	if err := f.request(1, "/held"); err != nil {
		t.Fatal(err)
	}
	q.ask(requestFields("GET", "/held"))
	waittest.Until(t, "requests are held", func() bool { return s.held.Load() == 2 })
	if cut := s.Drain(0); cut != 2 {
		t.Errorf("%d connections were cut off, want 2", cut)
	}
	if n := s.streams(); n != 0 {
		t.Errorf("%d requests are under way after the end of the server", n)
	}
}
