package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// writePair writes a certificate with a serial number, and its key.
func writePair(t *testing.T, dir string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	cert := x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"edge.example"}}
	der, err := x509.CreateCertificate(rand.Reader, &cert, &cert, &key.PublicKey, key)
	must(t, err)
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der},
		"key.pem": {Type: "PRIVATE KEY", Bytes: raw}} {
		must(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600))
	}
}

// TestCertificate checks that the edge uses the certificate that is currently in the
// files, and that a pair that does not match changes nothing.
func TestCertificate(t *testing.T) {
	dir := t.TempDir()
	c := listenerSettings{TLSCert: filepath.Join(dir, "cert.pem"), TLSKey: filepath.Join(dir, "key.pem")}
	if _, err := (&certReloader{cert: c.TLSCert, key: c.TLSKey}).reload(); err == nil {
		t.Error("files that are not there are accepted")
	}
	if _, _, err := (&listenerSettings{TLSCert: c.TLSCert}).secure(nil, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a certificate without its key is accepted")
	}
	writePair(t, dir, 1)
	k := &certReloader{cert: c.TLSCert, key: c.TLSKey}
	serial := func(want int64, changed bool) {
		t.Helper()
		got, err := k.reload()
		if got != changed || k.current.Load().Leaf.SerialNumber.Int64() != want {
			t.Errorf("certificate %v, changed %v, %v; want %d, %v", k.current.Load().Leaf.SerialNumber, got, err, want,
				changed)
		}
	}
	serial(1, true)
	serial(1, false)
	must(t, os.WriteFile(c.TLSKey, []byte("half of it"), 0o600))
	serial(1, false)
	writePair(t, dir, 2)
	must(t, os.Chtimes(c.TLSCert, time.Now(), time.Now().Add(time.Minute))) // coarse clock
	serial(2, true)

	raw, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ln, _, err := c.secure(raw, slog.New(slog.DiscardHandler))
	must(t, err)
	defer ln.Close()
	go func() {
		if conn, err := ln.Accept(); err == nil {
			_ = conn.(*tls.Conn).Handshake()
			conn.Close()
		}
	}()
	conn, err := tls.Dial("tcp", raw.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	must(t, err)
	defer conn.Close()
	if s := conn.ConnectionState(); s.PeerCertificates[0].SerialNumber.Int64() != 2 || s.Version < tls.VersionTLS12 {
		t.Errorf("served certificate %v over %x", s.PeerCertificates[0].SerialNumber, s.Version)
	}
}
