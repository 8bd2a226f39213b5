package edge_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/edge/conn/certs"
	"github.com/fieldmark/fieldmark/internal/testkit/acmetest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/acme"
	"github.com/fieldmark/fieldmark/origin/store"
)

const securedName = "marks.example"

// orderCertificates starts an origin over the database of h that orders certificates.
func (h *fixture) orderCertificates(ca *acmetest.CA) *origin.Service {
	h.t.Helper()
	s, err := origin.New(origin.Config{Store: h.store, Secret: bytes.Repeat([]byte("s"), 32),
		Certificates: acme.Config{Names: []string{securedName}, Directory: ca.Directory, Email: "you@example.org",
			HTTP: ca.Client, Dial: func(context.Context, string, string) (net.Conn, error) {
				return nil, syscall.ECONNREFUSED
			}}})
	must(h.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	h.t.Cleanup(func() {
		cancel()
		must(h.t, <-done)
	})
	return s
}

// secureEdge is an edge with the certificates of the origin.
type secureEdge struct {
	*edge.Edge
	certificates *certs.Store
}

// startSecureEdge starts an edge that keeps its certificates in a folder, or not.
func (h *fixture) startSecureEdge(state string, plain net.Listener) secureEdge {
	h.t.Helper()
	store, err := certs.New(certs.Config{Secret: nodeToken})
	must(h.t, err)
	h.change = func(cfg *edge.Config) {
		cfg.Certificates, cfg.CertificatesFromOrigin, cfg.TLSState, cfg.RedirectListener = store, true, state, plain
	}
	h.startEdge()
	return secureEdge{h.edge, store}
}

// serveTLS serves the connections of a listener with the edges in turn.
func serveTLS(ln net.Listener, edges ...secureEdge) {
	for n := 0; ; n++ {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		e := edges[n%len(edges)]
		go e.ServeConn(tls.Server(c, e.certificates.TLSConfig()))
	}
}

// served returns the serial number of the certificate that an edge serves; "": none.
func (e secureEdge) served(t *testing.T, ca *acmetest.CA) string {
	t.Helper()
	client, server := net.Pipe()
	defer client.Close()
	go e.ServeConn(tls.Server(server, e.certificates.TLSConfig()))
	c := tls.Client(client, &tls.Config{ServerName: securedName, RootCAs: ca.Root})
	if c.Handshake() != nil {
		return ""
	}
	return c.ConnectionState().PeerCertificates[0].SerialNumber.String()
}

// TestCertificatesOfOrigin lets two origins and two edges get a certificate, renews it under
// an open connection, and takes the origin away.
func TestCertificatesOfOrigin(t *testing.T) {
	ca := acmetest.New(t, 90*acmetest.Day)
	h := newFixture(t)
	state := t.TempDir()
	a, b := h.startSecureEdge(state, nil), h.startSecureEdge("", ca.HTTP)
	go serveTLS(ca.TLS, a, b)
	first := h.orderCertificates(ca)
	h.orderCertificates(ca)
	both := func(not string) func() bool {
		return func() bool {
			one, two := a.served(t, ca), b.served(t, ca)
			return one != "" && one == two && one != not
		}
	}
	h.until("both edges have the certificate", both(""))
	serial := a.served(t, ca)
	if n := ca.Orders(); n != 1 {
		t.Errorf("%d orders, want 1", n)
	}

	open, err := tls.Dial("tcp", ca.TLS.Addr().String(), &tls.Config{ServerName: securedName, RootCAs: ca.Root})
	must(t, err)
	defer open.Close()
	const request = "GET /status HTTP/1.1\r\nHost: " + securedName + "\r\n\r\n"
	if resp, _ := rawRequest(t, open, request); resp.StatusCode != http.StatusOK {
		t.Errorf("before the renewal: %d", resp.StatusCode)
	}
	_, err = first.Certificates.Renew(t.Context(), securedName)
	must(t, err)
	h.until("both edges have the new certificate", both(serial))
	if resp, _ := rawRequest(t, open, request); resp.StatusCode != http.StatusOK {
		t.Errorf("on a connection that was open before the renewal: %d", resp.StatusCode)
	}
	renewed := a.served(t, ca)
	h.until("the certificates are stored", func() bool {
		kept, err := os.ReadFile(filepath.Join(state, "certificates.json"))
		return err == nil && bytes.Contains(kept, []byte(securedName)) && !bytes.Contains(kept, []byte("PRIVATE KEY"))
	})

	h.down.Store(true)
	if a.served(t, ca) != renewed {
		t.Error("the edge serves another certificate while the origin is unreachable")
	}
	for folder, want := range map[string]string{state: renewed, "": ""} {
		e := h.newSecureEdge(folder)
		// It is ready but for its modules a moment after it serves the certificate.
		h.until(fmt.Sprintf("an edge has started without the origin, folder %q", folder), func() bool {
			err := e.Ready()
			return e.served(t, ca) == want && err != nil && strings.Contains(err.Error(),
				"certificates") == (want == "")
		})
	}
	h.down.Store(false)
}

// newSecureEdge starts an edge and does not wait until it is ready.
func (h *fixture) newSecureEdge(state string) secureEdge {
	h.t.Helper()
	store, err := certs.New(certs.Config{Secret: nodeToken})
	must(h.t, err)
	cfg := h.lastConfig
	cfg.Certificates, cfg.CertificatesFromOrigin, cfg.TLSState, cfg.RedirectListener = store, true, state, nil
	e, err := edge.New(cfg)
	must(h.t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	h.t.Cleanup(func() {
		stop()
		must(h.t, <-done)
	})
	return secureEdge{e, store}
}

// TestChallenges checks what the plain listener answers under the path of HTTP-01, and that
// guessing tokens does not reach the origin.
func TestChallenges(t *testing.T) {
	h := newFixture(t)
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	h.startSecureEdge("", plain)
	token := strings.Repeat("t", 22)
	must(t, h.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		return tx.PutChallenge(ctx, store.Challenge{Token: token, Name: securedName, Kind: "http-01",
			Answer: token + ".thumbprint", ExpiresAt: time.Now().Add(time.Hour)})
	}))
	get := func(token string) (int, string) {
		resp, err := http.Get("http://" + plain.Addr().String() + "/.well-known/acme-challenge/" + token)
		must(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		must(t, err)
		return resp.StatusCode, string(body)
	}
	if status, body := get(token); status != http.StatusOK || body != token+".thumbprint" {
		t.Errorf("an open challenge: %d %q", status, body)
	}
	var asked atomic.Int64
	count := interceptor(func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.Path, "/tls/challenges/") {
			asked.Add(1)
		}
		return false
	})
	h.intercept.Store(&count)
	for _, bad := range []string{"short", strings.Repeat("x", 129), strings.Repeat("x", 21) + "%2e", ""} {
		if status, _ := get(bad); status != http.StatusNotFound {
			t.Errorf("token %q: %d", bad, status)
		}
	}
	if asked.Load() != 0 {
		t.Errorf("the origin was asked %d times for what is no token", asked.Load())
	}
	began := time.Now()
	for range 20 {
		if status, _ := get(strings.Repeat("y", 22)); status != http.StatusNotFound {
			t.Errorf("an unknown token: %d", status)
		}
	}
	// The edge remembers for five seconds that the token is unknown.
	if got, most := asked.Load(), 1+int64(time.Since(began)/(5*time.Second)); got < 1 || got > most || got == 20 {
		t.Errorf("the origin was asked %d times for the same token, want 1 to %d", got, most)
	}
}

// TestFloodChallenges requests many tokens at once: the origin gets ten requests a second.
func TestFloodChallenges(t *testing.T) {
	h := newFixture(t)
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	h.startSecureEdge("", plain)
	var asked atomic.Int64
	seconds := map[int64]bool{}
	count := interceptor(func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.Path, "/tls/challenges/") {
			asked.Add(1)
		}
		return false
	})
	h.intercept.Store(&count)
	for i := range 200 {
		seconds[time.Now().Unix()] = true
		resp, err := http.Get("http://" + plain.Addr().String() + "/.well-known/acme-challenge/" +
			strings.Repeat("z", 30) + string(rune('a'+i%26)) + string(rune('a'+i/26)))
		must(t, err)
		resp.Body.Close()
		seconds[time.Now().Unix()] = true
	}
	if most := int64(10 * len(seconds)); asked.Load() > most {
		t.Errorf("200 tokens in %d seconds: the origin was asked %d times, at most %d", len(seconds), asked.Load(),
			most)
	}
}
