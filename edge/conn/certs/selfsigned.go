package certs

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	// selfSignedLife is the life of a development certificate. When selfSignedRest is left of
	// it, a new one is made.
	selfSignedLife = 30 * 24 * time.Hour
	selfSignedRest = 15 * 24 * time.Hour
	// selfSignedFile holds the certificate and its key.
	selfSignedFile = "localhost.pem"
	// challengeLife is the life of the certificate of a challenge. CAs do not check it.
	challengeLife = time.Hour
)

// SelfSigned returns a certificate for localhost, 127.0.0.1 and ::1 that is stored in a
// folder, so that a developer has to trust it only twice a month. It makes a new one if none
// is there or the old one expires soon. If dir is empty, the certificate is not stored.
func SelfSigned(dir string) (tls.Certificate, error) {
	path := filepath.Join(dir, selfSignedFile)
	if dir != "" {
		c, err := tls.LoadX509KeyPair(path, path)
		if err == nil && time.Until(c.Leaf.NotAfter) > selfSignedRest {
			return c, nil
		}
	}
	template := &x509.Certificate{
		Subject:  pkix.Name{CommonName: "localhost", Organization: []string{"Fieldmark development"}},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
	c, err := selfSign(template, selfSignedLife)
	if err != nil || dir == "" {
		return c, err
	}
	key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		return c, fmt.Errorf("encode the key of localhost: %w", err)
	}
	both := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return c, fmt.Errorf("store the certificate of localhost: %w", err)
	}
	if err := os.WriteFile(path, both, 0o600); err != nil {
		return c, fmt.Errorf("store the certificate of localhost: %w", err)
	}
	return c, nil
}

// RunSelfSigned replaces the certificate of SelfSigned, which s must have, before it expires,
// until ctx ends.
func RunSelfSigned(ctx context.Context, s *Store, dir string, log *slog.Logger) error {
	for {
		timer := time.NewTimer(time.Until(s.Expiries()[0].NotAfter.Add(-selfSignedRest)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		c, err := SelfSigned(dir)
		if c.Leaf == nil {
			return err
		}
		if err != nil { // it is used, but not stored
			log.Error("the new certificate for localhost is not stored", "err", err)
		}
		if err := s.Set([]tls.Certificate{c}); err != nil {
			return err
		}
		log.Info("new certificate for localhost", "expires", c.Leaf.NotAfter)
	}
}

// acmeIdentifier is the extension that carries the digest of a key authorization (RFC 8737,
// 6.1).
var acmeIdentifier = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 31}

// ChallengeCertificate returns the certificate that answers TLS-ALPN-01 for a name (RFC 8737,
// 3).
func ChallengeCertificate(name, keyAuthorization string) (*tls.Certificate, error) {
	digest := sha256.Sum256([]byte(keyAuthorization))
	value, err := asn1.Marshal(digest[:])
	if err != nil {
		return nil, fmt.Errorf("encode the answer to a challenge: %w", err)
	}
	c, err := selfSign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "ACME challenge"}, DNSNames: []string{name},
		ExtraExtensions: []pkix.Extension{{Id: acmeIdentifier, Critical: true, Value: value}},
	}, challengeLife)
	if err != nil {
		return nil, err
	}
	return &c, nil
}

// selfSign completes and signs a template with a new key.
func selfSign(template *x509.Certificate, life time.Duration) (tls.Certificate, error) {
	fail := func(err error) (tls.Certificate, error) {
		return tls.Certificate{}, fmt.Errorf("sign the certificate of %v: %w", template.DNSNames, err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fail(err)
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return fail(err)
	}
	now := time.Now()
	template.NotBefore, template.NotAfter = now.Add(-time.Hour), now.Add(life) // clocks differ
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.BasicConstraintsValid = true
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return fail(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return fail(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}
