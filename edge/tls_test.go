package edge_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/edge/conn/certs"
)

// newLocalCertificates returns a store with a certificate for localhost.
func newLocalCertificates(t *testing.T) *certs.Store {
	t.Helper()
	store, err := certs.New(certs.Config{Secret: nodeToken})
	must(t, err)
	pair, err := certs.SelfSigned("")
	must(t, err)
	must(t, store.Set([]tls.Certificate{pair}))
	return store
}

// rawRequest sends a request and returns the response, whose body is read.
func rawRequest(t *testing.T, c io.ReadWriter, text string) (*http.Response, string) {
	t.Helper()
	_, err := io.WriteString(c, text)
	must(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	must(t, err)
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp, string(body)
}

// TestRedirectListener checks that the plain listener redirects requests for hosts of this
// edge, and does nothing else.
func TestRedirectListener(t *testing.T) {
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	newFixture(t, func(cfg *edge.Config) {
		cfg.BaseURL = "https://marks.example:8443"
		cfg.Certificates, cfg.RedirectListener = newLocalCertificates(t), plain
	})
	for _, c := range []struct{ method, host, target, want string }{
		{"GET", "localhost", "/brands/acme?x=1", "308 https://localhost:8443/brands/acme?x=1"},
		{"HEAD", "LocalHost:80", "/", "308 https://LocalHost:8443/"},
		{"GET", "marks.example", "//other.example/", "400 "}, // framing refuses it
		{"GET", "other.example", "/", "421 misdirected_request"},
		{"GET", "localhost.other.example", "/", "421 misdirected_request"},
		{"POST", "localhost", "/api/public/v1/missions", "403 https_required"},
		{"DELETE", "other.example", "/", "403 https_required"},
	} {
		conn, err := net.Dial("tcp", plain.Addr().String())
		must(t, err)
		resp, body := rawRequest(t, conn, fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n",
			c.method,
			c.target, c.host))
		conn.Close()
		got := fmt.Sprint(resp.StatusCode, " ", resp.Header.Get("Location"))
		for _, code := range []fieldmark.Code{fieldmark.CodeMisdirected, fieldmark.CodeHTTPSRequired} {
			if strings.Contains(body, fmt.Sprintf("%q", code)) {
				got += string(code)
			}
		}
		if got != c.want {
			t.Errorf("%s %s for %s: %s, want %s", c.method, c.target, c.host, got, c.want)
		}
		if resp.Header.Get("Strict-Transport-Security") != "" {
			t.Errorf("%s %s: HSTS over plain HTTP (RFC 6797, 7.2)", c.method, c.target)
		}
	}
}

// TestHSTS checks that every answer over TLS has the field, whatever serves it.
func TestHSTS(t *testing.T) {
	store := newLocalCertificates(t)
	h := newFixture(t, func(cfg *edge.Config) { cfg.Certificates, cfg.HSTS = store, 24*time.Hour })
	h.brand("acme", "Acme", 500)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer ln.Close()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go h.edge.ServeConn(tls.Server(c, store.TLSConfig()))
		}
	}()
	client := &tls.Config{ServerName: "localhost", InsecureSkipVerify: true}
	for _, target := range []string{"/api/badge/acme", "/api/badge/acme", "/api/badge/acme?theme=none", "/",
		"/no/such/page"} {
		c, err := tls.Dial("tcp", ln.Addr().String(), client)
		must(t, err)
		resp, _ := rawRequest(t, c, "GET "+target+" HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n")
		c.Close()
		if got := resp.Header.Values("Strict-Transport-Security"); len(got) != 1 || got[0] != "max-age=86400" {
			t.Errorf("%s: %d, Strict-Transport-Security %q", target, resp.StatusCode, got)
		}
	}
	var metrics strings.Builder
	h.edge.WriteMetrics(&metrics)
	for _, want := range []string{`fieldmark_edge_handshakes_total{result="full"} 5`,
		"fieldmark_edge_handshake_seconds_count 5", `fieldmark_edge_certificate_days{name="localhost"}`} {
		if !strings.Contains(metrics.String(), want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}
