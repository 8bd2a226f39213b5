package edge_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/edge/conn"
	"github.com/fieldmark/fieldmark/edge/conn/certs"
)

// protocolFixture is a fixture whose edge speaks every protocol, and a client for each.
type protocolFixture struct {
	*fixture
	clients map[string]http.RoundTripper
	bases   map[string]string
}

// newProtocolFixture adds a TLS listener to the edge of h.
func newProtocolFixture(t *testing.T, changes ...func(*edge.Config)) *protocolFixture {
	store, err := certs.New(certs.Config{Protocols: []string{certs.ProtocolHTTP2, certs.ProtocolHTTP1}})
	must(t, err)
	pair, err := certs.SelfSigned("")
	must(t, err)
	must(t, store.Set([]tls.Certificate{pair}))
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	must(t, err)
	quicPort := pc.LocalAddr().(*net.UDPAddr).Port
	h := newFixture(t, append(changes, func(cfg *edge.Config) {
		cfg.H2C, cfg.Certificates = true, store
		cfg.HTTP3 = &edge.HTTP3Config{Conn: pc, Port: quicPort, EarlyData: true}
	})...)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	go func() { _ = h.edge.Serve(conn.NewTLSListener(ln, store.TLSConfig())) }()
	t.Cleanup(func() { ln.Close() })
	roots := x509.NewCertPool()
	roots.AddCert(pair.Leaf)
	cfg := &tls.Config{RootCAs: roots, ServerName: "localhost"}
	_, port, err := net.SplitHostPort(ln.Addr().String())
	must(t, err)
	p := &protocolFixture{fixture: h,
		bases: map[string]string{"h1": h.base, "h2c": h.base, "h1s": "https://localhost:" + port,
			"h2": "https://localhost:" + port, "h3": fmt.Sprintf("https://127.0.0.1:%d", quicPort)},
		clients: map[string]http.RoundTripper{
			"h1": &http.Transport{DisableCompression: true},
			"h1s": &http.Transport{DisableCompression: true, TLSClientConfig: cfg,
				TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}},
			"h2":  newHTTP2(t, cfg),
			"h2c": newHTTP2(t, nil),
			"h3": &http3.Transport{TLSClientConfig: cfg, DisableCompression: true,
				QUICConfig: &quic.Config{HandshakeIdleTimeout: 2 * time.Minute, KeepAlivePeriod: 10 * time.Second}},
		}}
	for _, c := range p.clients {
		t.Cleanup(c.(interface{ CloseIdleConnections() }).CloseIdleConnections)
	}
	return p
}

// TestSameAnswers requests everything over each protocol, and compares the answers.
func TestSameAnswers(t *testing.T) {
	t.Parallel()
	h := newProtocolFixture(t)
	h.docs = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60, no-transform")
		http.ServeContent(w, r, "", time.Unix(1_700_000_000, 0),
			strings.NewReader(strings.Repeat("0123456789", 20_000)))
	}
	h.brand("acme", "Acme", 300)
	h.catchUp()
	// On a busy machine the origin may miss the deadline for the reference, and the page
	// without it is kept for incompleteFresh.
	h.until("the page for developers has its reference", func() bool {
		return strings.Contains(h.get("/developers/reference").body, "/api/public/v1/missions/{id}")
	})
	tag := h.get("/api/badge/acme").header.Get("Etag")
	type request struct {
		method, path, body string
		header             []string
	}
	var all []request
	for _, path := range []string{"/", "/api/badge/acme", "/api/badge/acme.json", "/api/badge/acme.png",
		"/api/badge/nobody",
		"/api/badge/acme/embed", "/api/badge/acme?label=x", "/api/v1/score/acme", "/api/v1/leaderboard", "/brands/acme",
		"/methodology", "/developers/reference", "/llms-txt", "/nowhere", "/docs/a", "/api/v1/score/none", "/%zz",
		"/api/public/v1/missions", "/sitemap.xml", "/robots.txt"} {
		all = append(all, request{"GET", path, "", nil}, request{"GET", path, "", nil}, request{"HEAD", path, "", nil},
			request{"OPTIONS", path, "", nil})
	}
	all = append(all,
		request{"GET", "/api/badge/acme", "", []string{"If-None-Match", tag}},
		request{"GET", "/docs/a", "", []string{"Range", "bytes=100-199"}},
		request{"POST", "/api/v1/llms-txt/lint", "# Acme\n", []string{"Content-Type", "text/plain"}},
		request{"POST", "/api/badge/acme", "x", nil},
		request{"POST", "/api/v1/llms-txt/lint", strings.Repeat("x", 1<<20), []string{"Content-Type", "text/plain"}},
		request{"DELETE", "/api/public/v1/missions", "", nil})
	for _, r := range all {
		want := h.answer("h1", r.method, r.path, r.body, r.header)
		for _, proto := range []string{"h1s", "h2", "h2c", "h3"} {
			if got := h.answer(proto, r.method, r.path, r.body, r.header); got != want {
				t.Errorf("%s %s %v: over %s\n%.1500s\nover h1\n%.1500s", r.method, r.path, r.header, proto, got, want)
			}
		}
	}
	gzip := []string{"Accept-Encoding", "gzip"}
	for _, proto := range []string{"h1s", "h2", "h2c", "h3"} {
		// An entry is compressed in the background after each fill.
		h.until("a score is compressed over "+proto+" as over h1", func() bool {
			got := h.answer(proto, "GET", "/api/v1/score/acme", "", gzip)
			return strings.Contains(got, "Content-Encoding") &&
				got == h.answer("h1", "GET", "/api/v1/score/acme", "", gzip)
		})
	}
}

// ownFields differ between answers, or between protocols: what they say is tested elsewhere.
var ownFields = []string{"Date", "Age", "Connection", "Transfer-Encoding", "Keep-Alive", "Strict-Transport-Security",
	"Ratelimit", "Cache-Status", "Content-Length", "Set-Cookie", "Alt-Svc"}

// answer returns the response to a request over a protocol as a text.
func (h *protocolFixture) answer(proto, method, path, body string, header []string) string {
	h.t.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(h.t.Context(), method, h.bases[proto], in)
	must(h.t, err)
	req.URL.Opaque = path
	if proto == "h2" || proto == "h2c" || proto == "h3" {
		req.URL.Opaque = ""
		req.URL.Path, req.URL.RawQuery, _ = strings.Cut(path, "?")
		if strings.Contains(path, "%") {
			req.URL.Opaque = path
		}
	}
	req.Host = "localhost"
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := h.clients[proto].RoundTrip(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	must(h.t, err)
	if int(proto[1]-'0') != resp.ProtoMajor {
		h.t.Errorf("a request over %s was answered over %s", proto, resp.Proto)
	}
	if secure := proto != "h1" && proto != "h2c"; secure != strings.HasPrefix(resp.Header.Get("Alt-Svc"), `h3=":`) {
		h.t.Errorf("%s %s over %s: Alt-Svc is %q", method, path, proto, resp.Header.Get("Alt-Svc"))
	}
	for _, name := range ownFields {
		resp.Header.Del(name)
	}
	text := resp.Status[:3] + "\n"
	for _, name := range slices.Sorted(maps.Keys(resp.Header)) {
		text += fmt.Sprintf("%s: %q\n", name, resp.Header[name])
	}
	return requestIDs.ReplaceAllString(text+string(got), "req_")
}

var requestIDs = regexp.MustCompile(`req_[0-9a-z]{26}`)

// TestNetworkShare sends many streams of one network: they have the same share of the
// requests at the origins as connections of HTTP/1.1 have, and other networks have the rest.
func TestNetworkShare(t *testing.T) {
	h := newFixture(t, trustLoopback, func(cfg *edge.Config) {
		cfg.H2C, cfg.Inflight = true, 16 // eight of them at the origin, two of one network
	})
	release := make(chan struct{})
	var atOrigin atomic.Int64
	h.docs = func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/docs/held" {
			atOrigin.Add(1)
			<-release
		}
	}
	client := newHTTP2(t, nil)
	send := func(path, network string) int {
		req, err := http.NewRequestWithContext(t.Context(), "POST", h.base+path, nil)
		must(t, err)
		req.Header.Set("X-Forwarded-For", network)
		resp, err := client.RoundTrip(req)
		must(t, err)
		resp.Body.Close()
		return resp.StatusCode
	}
	const streams, share = 20, 2
	statuses := make(chan int, streams)
	for range streams {
		go func() { statuses <- send("/docs/held", "198.51.100.1") }()
	}
	for range streams - share {
		if status := <-statuses; status != http.StatusServiceUnavailable {
			t.Errorf("a stream above the share got %d, want 503", status)
		}
	}
	if status := send("/docs/free", "198.51.100.2"); status != http.StatusOK {
		t.Errorf("another network got %d, want 200", status)
	}
	close(release)
	for range share {
		if status := <-statuses; status != http.StatusOK {
			t.Errorf("a stream within the share got %d, want 200", status)
		}
	}
	if n := atOrigin.Load(); n != share {
		t.Errorf("the origin got %d requests, want %d", n, share)
	}
}

// newHTTP2 returns a client that speaks HTTP/2 only, without TLS if cfg is nil.
func newHTTP2(t *testing.T, cfg *tls.Config) *http.Transport {
	c := &http.Transport{DisableCompression: true, TLSClientConfig: cfg.Clone(), Protocols: new(http.Protocols)}
	c.Protocols.SetHTTP2(cfg != nil)
	c.Protocols.SetUnencryptedHTTP2(cfg == nil)
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// TestResetEndsExchange reads the beginning of a response that its origin never ends, over
// HTTP/2: when the client resets the stream, the exchange with the origin ends too.
func TestResetEndsExchange(t *testing.T) {
	h := newFixture(t, func(cfg *edge.Config) { cfg.H2C = true })
	ended := make(chan struct{})
	h.docs = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(ended)
	}
	ctx, reset := context.WithCancel(t.Context())
	defer reset()
	req, err := http.NewRequestWithContext(ctx, "GET", h.base+"/docs/events", nil)
	must(t, err)
	resp, err := newHTTP2(t, nil).RoundTrip(req)
	must(t, err)
	defer resp.Body.Close()
	_, err = io.ReadFull(resp.Body, make([]byte, len("data: 1\n\n")))
	must(t, err)
	reset()
	<-ended
}
