package cache_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/internal/testkit/cachetest"
	"github.com/fieldmark/fieldmark/internal/testkit/porttest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// TestRedisTLS connects to a server that accepts only TLS. Its certificate is
// trusted the way operators add a private authority: SSL_CERT_FILE. The standard
// library reads that once per process; no other test here uses TLS.
func TestRedisTLS(t *testing.T) {
	cert, key := certificate(t)
	t.Setenv("SSL_CERT_FILE", cert)
	port := porttest.Port(t)
	cachetest.StartRedis(t, "tls-port", port, "tls-cert-file", cert, "tls-key-file", key, "tls-auth-clients", "no")
	url := "rediss://127.0.0.1:" + port
	a, _ := member(t, url, cache.Config{})
	b, _ := member(t, url, cache.Config{})
	waittest.Until(t, "an entry filled by one is read by the other", func() bool {
		k := fmt.Sprint(time.Now().UnixNano()) // the first call may exceed the deadline
		sharedFetch(a, k, &source{text: "one", asOf: 1})
		return strings.HasSuffix(sharedFetch(b, k, &source{text: "two", asOf: 1}), "one")
	})

	if err := dial(t, "redis://127.0.0.1:"+port).Ping(t.Context()); err == nil {
		t.Error("without TLS: the server answered")
	}
}

// certificate writes a self-signed certificate for loopback, the same for a whole
// process.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	made, err := madeCertificate()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: made[0]},
		key: {Type: "PRIVATE KEY", Bytes: made[1]}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

var madeCertificate = sync.OnceValues(func() (made [2][]byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return made, err
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "redis"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	if made[0], err = x509.CreateCertificate(rand.Reader, form, form, private.Public(), private); err != nil {
		return made, err
	}
	made[1], err = x509.MarshalPKCS8PrivateKey(private)
	return made, err
})
