package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// testCA signs the certificates of a test.
type testCA struct {
	t     testing.TB
	key   *ecdsa.PrivateKey
	cert  *x509.Certificate
	roots *x509.CertPool
	last  int64 // serial number
}

func newTestCA(t testing.TB) *testCA {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	ca := &testCA{t: t, key: key, roots: x509.NewCertPool(),
		cert: &x509.Certificate{Subject: pkix.Name{CommonName: "test"},
			IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}}
	ca.cert = ca.sign(ca.cert, key)
	ca.roots.AddCert(ca.cert)
	return ca
}

// sign completes and signs a certificate.
func (ca *testCA) sign(template *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	ca.t.Helper()
	ca.last++
	template.SerialNumber = big.NewInt(ca.last)
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, key.Public(), ca.key)
	must(ca.t, err)
	cert, err := x509.ParseCertificate(der)
	must(ca.t, err)
	return cert
}

// write makes a certificate for hosts and replaces cert.pem and key.pem in a folder.
func (ca *testCA) write(dir string, hosts ...string) *x509.Certificate {
	ca.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(ca.t, err)
	template := &x509.Certificate{Subject: pkix.Name{CommonName: hosts[0]}, KeyUsage: x509.KeyUsageDigitalSignature}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	cert := ca.sign(template, key)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	must(ca.t, err)
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: cert.Raw},
		"key.pem": {Type: "PRIVATE KEY", Bytes: der}} {
		path := filepath.Join(dir, name)
		must(ca.t, os.WriteFile(path+".new", pem.EncodeToMemory(block), 0o600))
		must(ca.t, os.Rename(path+".new", path))
	}
	return cert
}
