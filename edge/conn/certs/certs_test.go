package certs_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark/edge/conn/certs"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newPair returns a self-signed certificate with a serial number for names.
func newPair(t testing.TB, serial int64, names ...string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := x509.Certificate{SerialNumber: big.NewInt(serial), DNSNames: names, NotBefore: time.Now(),
		NotAfter: time.Now().Add(time.Duration(serial) * 24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	must(t, err)
	leaf, err := x509.ParseCertificate(der)
	must(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

func newStore(t testing.TB, cfg certs.Config, pairs ...tls.Certificate) *certs.Store {
	t.Helper()
	s, err := certs.New(cfg)
	must(t, err)
	must(t, s.Set(pairs))
	return s
}

// dial makes a handshake with a store, reads a byte, and returns the client's state.
func dial(t testing.TB, s *certs.Store, cfg *tls.Config) (tls.ConnectionState, error) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer ln.Close()
	go func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		secure := tls.Server(c, s.TLSConfig())
		if secure.Handshake() == nil {
			_, _ = secure.Write([]byte("x"))
		}
		_ = secure.Close()
	}()
	cfg = cfg.Clone()
	cfg.InsecureSkipVerify = true
	raw, err := net.Dial("tcp", ln.Addr().String())
	must(t, err)
	defer raw.Close()
	c := tls.Client(raw, cfg)
	if err := c.Handshake(); err != nil {
		return tls.ConnectionState{}, err
	}
	if n, err := c.Read(make([]byte, 1)); n == 0 { // session tickets come before it
		return tls.ConnectionState{}, err
	}
	return c.ConnectionState(), nil
}

// TestSNI checks which certificate a name gets: its own, that of a wildcard, or none.
func TestSNI(t *testing.T) {
	s := newStore(t, certs.Config{}, newPair(t, 1, "a.example"), newPair(t, 2, "b.example", "*.b.example"),
		newPair(t, 3, "special.b.example", "a.example"))
	for name, want := range map[string]int64{
		"": 1, "a.example": 1, "A.Example": 1, "b.example": 2, "x.b.example": 2, "special.b.example": 3,
		"x.y.b.example": 0, "c.example": 0, "example": 0,
	} {
		state, err := dial(t, s, &tls.Config{ServerName: name})
		if want == 0 {
			if err == nil || !strings.Contains(err.Error(), "unrecognized name") {
				t.Errorf("%q: %v, want the alert unrecognized_name", name, err)
			}
			continue
		}
		if err != nil || state.PeerCertificates[0].SerialNumber.Int64() != want {
			t.Errorf("%q: %v, %v; want certificate %d", name, state.PeerCertificates, err, want)
		}
	}
	must(t, s.Set([]tls.Certificate{newPair(t, 4, "c.example")}, "d.example", "c.example"))
	if state, err := dial(t, s, &tls.Config{ServerName: "c.example"}); err != nil ||
		state.PeerCertificates[0].SerialNumber.Int64() != 4 {
		t.Errorf("the new certificate is not used: %v", err)
	}
	for host, want := range map[string]bool{"c.example": true, "C.example:8443": true, "d.example": true,
		"a.example": false, "": false, "127.0.0.1": false} {
		if got := s.Serves(host); got != want {
			t.Errorf("Serves(%q) = %v", host, got)
		}
	}
	if _, err := dial(t, s, &tls.Config{ServerName: "d.example"}); err == nil {
		t.Error("a name whose certificate is being issued has one")
	}
	if got := s.Expiries(); len(got) != 2 || got[0].Name != "d.example" || !got[0].NotAfter.IsZero() ||
		got[1].Name != "c.example" {
		t.Errorf("Expiries() = %v", got)
	}
}

// TestVersions checks the minimum version, the suites of TLS 1.2 and the choice of the
// protocol.
func TestVersions(t *testing.T) {
	pair := newPair(t, 1, "a.example")
	for _, c := range []struct {
		name   string
		server certs.Config
		client *tls.Config
		ok     bool
	}{
		{"TLS 1.2", certs.Config{}, &tls.Config{MaxVersion: tls.VersionTLS12}, true},
		{"TLS 1.1", certs.Config{}, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, false},
		{"TLS 1.2 below the minimum", certs.Config{MinVersion: tls.VersionTLS13},
			&tls.Config{MaxVersion: tls.VersionTLS12}, false},
		{"CBC", certs.Config{}, &tls.Config{MaxVersion: tls.VersionTLS12,
			CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA}}, false},
		{"http/1.1", certs.Config{}, &tls.Config{NextProtos: []string{"http/1.1"}}, true},
		{"another protocol", certs.Config{}, &tls.Config{NextProtos: []string{"imap"}}, false},
	} {
		if _, err := dial(t, newStore(t, c.server, pair), c.client); (err == nil) != c.ok {
			t.Errorf("%s: %v, want a handshake: %v", c.name, err, c.ok)
		}
	}
}

// TestTicketsOfAnotherEdge checks that a session is resumed by every edge with the same node
// token, and by no other.
func TestTicketsOfAnotherEdge(t *testing.T) {
	pair := newPair(t, 1, "a.example")
	for secret, want := range map[string]bool{"token": true, "another token": false, "": false} {
		client := &tls.Config{ServerName: "a.example", ClientSessionCache: tls.NewLRUClientSessionCache(1)}
		_, err := dial(t, newStore(t, certs.Config{Secret: "token"}, pair), client)
		must(t, err)
		state, err := dial(t, newStore(t, certs.Config{Secret: secret}, pair), client)
		must(t, err)
		if state.DidResume != want {
			t.Errorf("an edge with the token %q resumed: %v", secret, state.DidResume)
		}
	}
}

// TestChallenge checks that acme-tls/1 is used only with a CA, for a name of the store, while
// a challenge is open (RFC 8737).
func TestChallenge(t *testing.T) {
	s, err := certs.New(certs.Config{})
	must(t, err)
	asked := ""
	s.Challenge = func(_ context.Context, name string) (*tls.Certificate, error) {
		asked = name
		if name != "open.example" {
			return nil, errors.New("no challenge is open")
		}
		return certs.ChallengeCertificate(name, "token.thumbprint")
	}
	must(t, s.Set([]tls.Certificate{newPair(t, 1, "closed.example")}, "open.example"))
	for _, c := range []struct {
		name   string
		protos []string
		asked  string
		ok     bool
	}{
		{"open.example", []string{certs.ProtocolACME}, "open.example", true},
		{"OPEN.example", []string{certs.ProtocolACME}, "open.example", true},
		{"closed.example", []string{certs.ProtocolACME}, "closed.example", false},
		{"other.example", []string{certs.ProtocolACME}, "", false},
		{"closed.example", []string{certs.ProtocolACME, "http/1.1"}, "", true},
	} {
		asked = ""
		state, err := dial(t, s, &tls.Config{ServerName: c.name, NextProtos: c.protos})
		if (err == nil) != c.ok || asked != c.asked {
			t.Errorf("%s %v: %v, asked for %q; want %v, %q", c.name, c.protos, err, asked, c.ok, c.asked)
		}
		if c.asked == "open.example" {
			checkChallenge(t, state)
		} else if err == nil && state.NegotiatedProtocol != "http/1.1" {
			t.Errorf("%s %v: protocol %q", c.name, c.protos, state.NegotiatedProtocol)
		}
	}
}

func checkChallenge(t *testing.T, state tls.ConnectionState) {
	t.Helper()
	if state.NegotiatedProtocol != certs.ProtocolACME || len(state.PeerCertificates) != 1 {
		t.Fatalf("protocol %q, %d certificates", state.NegotiatedProtocol, len(state.PeerCertificates))
	}
	leaf := state.PeerCertificates[0]
	sum := sha256.Sum256([]byte("token.thumbprint"))
	want, err := asn1.Marshal(sum[:])
	must(t, err)
	for _, e := range leaf.Extensions {
		if e.Id.String() == "1.3.6.1.5.5.7.1.31" && e.Critical && slices.Equal(e.Value, want) &&
			slices.Equal(leaf.DNSNames, []string{"open.example"}) {
			return
		}
	}
	t.Errorf("the certificate of %v has no acmeIdentifier: %v", leaf.DNSNames, leaf.Extensions)
}

// TestSelfSigned checks that the development certificate is kept, and is valid for the names
// of this machine.
func TestSelfSigned(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	first, err := certs.SelfSigned(dir)
	must(t, err)
	again, err := certs.SelfSigned(dir)
	must(t, err)
	if !first.Leaf.Equal(again.Leaf) {
		t.Error("the second start has another certificate")
	}
	for _, name := range []string{"localhost", "127.0.0.1", "::1"} {
		must(t, first.Leaf.VerifyHostname(name))
	}
	info, err := os.Stat(filepath.Join(dir, "localhost.pem"))
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the key is readable by others: %v", info.Mode())
	}
	if other, err := certs.SelfSigned(""); err != nil || first.Leaf.Equal(other.Leaf) {
		t.Errorf("without a folder: %v", err)
	}
}

// TestSelfSignedRenewal runs for a month: the certificate is replaced when half of its life is
// left, in the folder too.
func TestSelfSignedRenewal(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		first, err := certs.SelfSigned(dir)
		must(t, err)
		s := newStore(t, certs.Config{}, first)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- certs.RunSelfSigned(ctx, s, dir, slog.New(slog.DiscardHandler)) }()
		time.Sleep(14 * 24 * time.Hour)
		if got := s.Expiries()[0].NotAfter; !got.Equal(first.Leaf.NotAfter) {
			t.Errorf("after 14 days it expires at %v, want %v", got, first.Leaf.NotAfter)
		}
		time.Sleep(16 * 24 * time.Hour)
		synctest.Wait()
		got := s.Expiries()[0].NotAfter
		if left := time.Until(got); left < 14*24*time.Hour {
			t.Errorf("after 30 days it is valid for %v", left)
		}
		stored, err := certs.SelfSigned(dir)
		must(t, err)
		if !stored.Leaf.NotAfter.Equal(got) {
			t.Errorf("the stored certificate expires at %v, that in use at %v", stored.Leaf.NotAfter, got)
		}
		stop()
		must(t, <-done)
	})
}

// writePair writes a certificate and its key.
func writePair(t *testing.T, dir string, pair tls.Certificate) {
	t.Helper()
	raw, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	must(t, err)
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: pair.Certificate[0]},
		"key.pem": {Type: "PRIVATE KEY", Bytes: raw}} {
		must(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600))
	}
}

// TestFiles checks that the certificate that is currently in the files is used, and that a
// pair that does not match changes nothing.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	s, err := certs.New(certs.Config{})
	must(t, err)
	if _, err := certs.Open(s, cert, key, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("files that are not there are accepted")
	}
	writePair(t, dir, newPair(t, 1, "edge.example"))
	f, err := certs.Open(s, cert, key, slog.New(slog.DiscardHandler))
	must(t, err)
	serial := func(want int64, changed bool) {
		t.Helper()
		reloaded, reloadErr := f.Reload()
		state, err := dial(t, s, &tls.Config{ServerName: "edge.example"})
		must(t, err)
		if got := state.PeerCertificates[0].SerialNumber.Int64(); reloaded != changed || got != want {
			t.Errorf("certificate %v, changed %v, %v; want %d, %v", got, reloaded, reloadErr, want, changed)
		}
	}
	serial(1, false)
	must(t, os.WriteFile(key, []byte("half of it"), 0o600))
	serial(1, false)
	writePair(t, dir, newPair(t, 2, "edge.example"))
	must(t, os.Chtimes(cert, time.Now(), time.Now().Add(time.Minute))) // coarse clock
	serial(2, true)
	var metrics strings.Builder
	s.WriteMetrics(&metrics)
	for _, want := range []string{`fieldmark_edge_certificate_days{name="edge.example"} `,
		`fieldmark_edge_certificate_lifetime_days{name="edge.example"} 2.0`} {
		if !strings.Contains(metrics.String(), want) {
			t.Errorf("metrics %q, want %s", metrics.String(), want)
		}
	}
}
