package webhook_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// leafOf returns a certificate for a host with an end, signed by itself.
func leafOf(t *testing.T, host string, end time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{host}, NotAfter: end,
		NotBefore: end.AddDate(0, -3, 0), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, leaf, leaf, &key.PublicKey, key)
	if err == nil {
		leaf, err = x509.ParseCertificate(der)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// noSuchName is a DNS server that knows no name: it returns each query as its response.
func noSuchName(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe() // has the framing of DNS over TCP
	go func() {
		defer server.Close()
		var length [2]byte
		for {
			if _, err := io.ReadFull(server, length[:]); err != nil {
				return
			}
			query := make([]byte, binary.BigEndian.Uint16(length[:]))
			if _, err := io.ReadFull(server, query); err != nil {
				return
			}
			query[2], query[3] = query[2]|0x80, 0x83 // a response: recursion available, NXDOMAIN
			if _, err := server.Write(append(length[:], query...)); err != nil {
				return
			}
		}
	}()
	return client, nil
}

// receiver starts a receiver and returns its address as host and port. With a certificate it
// speaks TLS.
func receiver(t *testing.T, answer http.HandlerFunc, cert *tls.Certificate) string {
	t.Helper()
	server := httptest.NewUnstartedServer(answer)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes fail
	if cert == nil {
		server.Start()
	} else {
		server.TLS = &tls.Config{Certificates: []tls.Certificate{*cert}}
		server.StartTLS()
	}
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// TestVerdicts: what is wrong with a receiver is named in words that its owner can act on, whatever
// the network, TLS or HTTP says of it.
func TestVerdicts(t *testing.T) {
	const host = "hook.example.com"
	month := time.Now().AddDate(0, 1, 0)
	valid, other := leafOf(t, host, month), leafOf(t, "www.example.com", month)
	expired := leafOf(t, host, time.Now().AddDate(0, -1, 0))
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(code)
		}
	}
	secure := func(cert, root tls.Certificate) (string, safehttp.Config) {
		roots := x509.NewCertPool()
		roots.AddCert(root.Leaf)
		return "https://" + host + "/", safehttp.Config{Roots: roots,
			ConnectTo: map[string]string{host + ":443": receiver(t, status(204), &cert)}}
	}
	plain := func(answer http.HandlerFunc) (string, safehttp.Config) {
		return "http://" + receiver(t, answer, nil) + "/", safehttp.Config{}
	}
	named := func(dial func(context.Context, string, string) (net.Conn, error)) (string, safehttp.Config) {
		return "https://" + host + "/", safehttp.Config{Resolver: &net.Resolver{PreferGo: true, Dial: dial}}
	}
	for _, row := range []struct {
		name, want string
		receiver   func() (url string, cfg safehttp.Config)
	}{
		{"expired", "certificate expired or not valid yet", func() (string, safehttp.Config) {
			return secure(expired, expired)
		}},
		{"authority", "certificate is not trusted; the chain may be incomplete", func() (string, safehttp.Config) {
			return secure(valid, other)
		}},
		{"other host", "certificate is for another host", func() (string, safehttp.Config) {
			return secure(other, other)
		}},
		{"no TLS", "TLS handshake fails", func() (string, safehttp.Config) {
			url, cfg := plain(status(204))
			return strings.Replace(url, "http:", "https:", 1), cfg
		}},
		{"no such name", "host name does not exist", func() (string, safehttp.Config) { return named(noSuchName) }},
		{"no DNS", "host name cannot be resolved", func() (string, safehttp.Config) {
			return named(func(context.Context, string, string) (net.Conn, error) { return nil, io.ErrClosedPipe })
		}},
		{"nothing listens", "refuses connections", func() (string, safehttp.Config) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			return "http://" + ln.Addr().String() + "/", safehttp.Config{}
		}},
		{"hangs", "does not answer within 15 s", func() (string, safehttp.Config) {
			return plain(func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // after it, the server notices that the client has gone
				<-r.Context().Done()
			})
		}},
		{"redirect", "answers 302, a redirect, which is not followed", func() (string, safehttp.Config) {
			return plain(status(302))
		}},
		{"client error", "answers 404", func() (string, safehttp.Config) { return plain(status(404)) }},
		{"gone", "answers 410", func() (string, safehttp.Config) { return plain(status(410)) }},
		{"server error", "answers 503", func() (string, safehttp.Config) { return plain(status(503)) }},
		{"internal", "has an address that may not be reached", func() (string, safehttp.Config) {
			return "http://10.0.0.1/", safehttp.Config{}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			url, cfg := row.receiver()
			cfg.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
			client := safehttp.New(cfg)
			defer client.CloseIdle()
			ctx, cancel := t.Context(), context.CancelFunc(func() {})
			if row.name == "hangs" {
				ctx, cancel = context.WithTimeout(ctx, 50*time.Millisecond) // instead of the 15 s
			}
			defer cancel()
			a := send(ctx, client, url, vectorSecret, envelope, time.Now())
			if got := webhook.Verdict(a.Error); got != row.want {
				t.Errorf("%q: %q, want %q", a.Error, got, row.want)
			}
		})
	}
}
