package acmetest

import (
	"context"
	"crypto/x509"
	"encoding/binary"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/fieldmark/fieldmark/internal/testkit/porttest"
)

// Day is the unit of the life of certificates, in seconds.
const Day = 24 * 3600

// orderPath is the path of new orders.
const orderPath = "/order-plz"

// CA is a certification authority.
// Its methods may be called from any goroutine.
type CA struct {
	Directory string
	Client    *http.Client      // trusts Server
	Server    *x509.Certificate // of the CA's own HTTPS server
	Root      *x509.CertPool
	// HTTP and TLS are the listeners on which the CA validates challenges, for every name.
	HTTP, TLS net.Listener

	mu        sync.Mutex
	orders    int
	intercept func(http.ResponseWriter, *http.Request) bool
}

// New starts a CA that ends with the test. Its certificates are valid for a number of seconds.
func New(t testing.TB, life uint64) *CA {
	t.Helper()
	// Pebble sleeps before validations, rejects good nonces and reuses authorizations at random, to test
	// clients. Here each run takes the same steps.
	for name, value := range map[string]string{"PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": "0",
		"PEBBLE_AUTHZREUSE": "0"} {
		t.Setenv(name, value)
	}
	// Tests close the listeners and have a program listen there.
	c := &CA{HTTP: listen(t, porttest.Address(t)), TLS: listen(t, porttest.Address(t))}
	resolver := listen(t, "127.0.0.1:0")
	go serveDNS(resolver)
	logger, store := log.New(io.Discard, "", 0), db.NewMemoryStore()
	issuer := ca.New(logger, store, "", "ecdsa", 0, 1, map[string]ca.Profile{
		"default": {Description: "The default profile", ValidityPeriod: life}})
	validator := va.New(logger, c.HTTP.Addr().(*net.TCPAddr).Port, c.TLS.Addr().(*net.TCPAddr).Port, true,
		resolver.Addr().String(), store)
	front := wfe.New(logger, store, validator, issuer, nil, true, false, 0, 0)
	handler := front.Handler()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		intercept := c.intercept
		c.mu.Unlock()
		if intercept != nil && intercept(w, r) {
			return
		}
		// Only an order that the CA has accepted counts.
		seen := &statusWriter{ResponseWriter: w}
		handler.ServeHTTP(seen, r)
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, orderPath) &&
			seen.status == http.StatusCreated {
			c.mu.Lock()
			c.orders++
			c.mu.Unlock()
		}
	}))
	t.Cleanup(server.Close)
	c.Directory, c.Client = server.URL+wfe.DirectoryPath, server.Client()
	c.Server = server.Certificate()
	c.Root = x509.NewCertPool()
	c.Root.AddCert(issuer.GetRootCert(0).Cert)
	return c
}

// statusWriter keeps the status of a response.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Orders returns the number of orders that were made.
func (c *CA) Orders() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.orders
}

// Intercept calls fn before each request; it may answer in place of the CA. nil ends that.
func (c *CA) Intercept(fn func(http.ResponseWriter, *http.Request) (answered bool)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.intercept = fn
}

// IsNewOrder reports whether a request makes an order.
func IsNewOrder(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, orderPath) }

// listen opens a port of loopback that is closed with the test.
func listen(t testing.TB, address string) net.Listener {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}

// serveDNS resolves every name to 127.0.0.1, over TCP.
func serveDNS(ln net.Listener) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			for answerDNS(c) == nil { // until the client closes
			}
		}()
	}
}

// answerDNS answers one query. Over TCP, two bytes with the length precede each message (RFC 1035,
// section 4.2.2).
// Only A is answered: with an AAAA record the CA would try IPv6 first.
func answerDNS(c net.Conn) error {
	var size [2]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return err
	}
	text := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(c, text); err != nil {
		return err
	}
	var m dnsmessage.Message
	if err := m.Unpack(text); err != nil {
		return err
	}
	// The EDNS record of the query (RFC 6891) is not repeated.
	m.Response, m.Additionals = true, nil
	for _, q := range m.Questions {
		if q.Type == dnsmessage.TypeA {
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET},
				Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}}})
		}
	}
	out, err := m.AppendPack(make([]byte, 2))
	if err != nil {
		return err
	}
	binary.BigEndian.PutUint16(out, uint16(len(out)-2))
	_, err = c.Write(out)
	return err
}
