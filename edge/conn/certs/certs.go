package certs

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// ALPN protocols (RFC 7301).
const (
	ProtocolHTTP1 = "http/1.1"
	ProtocolHTTP2 = "h2" // RFC 9113, 3.2
	ProtocolHTTP3 = "h3" // over QUIC (RFC 9114, 3.1)
	// ProtocolACME is that of the challenge TLS-ALPN-01 (RFC 8737, 6.2). A connection with
	// it ends after the handshake.
	ProtocolACME = "acme-tls/1"
)

// Labels begin the HKDF info of the keys of session tickets; the day follows.
const (
	ticketLabel = "tls-ticket/v1 "
	// quicTicketLabel has another number when the SETTINGS of package h3 change: a client that
	// resumes a session sends early data as the SETTINGS of that session allow, which the
	// server must still accept (RFC 9114, 7.2.4.2).
	quicTicketLabel = "quic-ticket/v1 "
)

// Config configures a Store.
type Config struct {
	MinVersion uint16   // 0: TLS 1.2
	Protocols  []string // ALPN, in the order of preference; nil: HTTP/1.1
	// Secret is shared by all edges, so that each resumes the sessions of the others:
	// session tickets are encrypted under keys derived from it. Empty: under random keys
	// of this process.
	Secret string
}

// Store holds the certificates in use. Its methods may be called concurrently.
type Store struct {
	// Challenge returns the certificate that answers TLS-ALPN-01 for a name that Serves
	// reports, or an error if no challenge for it is open. It must be set before the first
	// handshake; nil: there are no challenges.
	Challenge func(ctx context.Context, name string) (*tls.Certificate, error)

	secret  string
	current atomic.Pointer[snapshot]
	config  *tls.Config
	quic    *tls.Config
}

// snapshot is immutable.
type snapshot struct {
	all    []tls.Certificate
	byName map[string]*tls.Certificate // by DNS name or wildcard; nil: the certificate is still being issued
}

// suites are the cipher suites of TLS 1.2: HTTP/2 forbids all others (RFC 9113, 9.2.2).
// Those of TLS 1.3 are not configurable.
var suites = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

// New returns a Store without certificates: until Set is called, every handshake ends with
// unrecognized_name.
func New(cfg Config) (*Store, error) {
	if cfg.MinVersion == 0 {
		cfg.MinVersion = tls.VersionTLS12
	}
	if cfg.Protocols == nil {
		cfg.Protocols = []string{ProtocolHTTP1}
	}
	s := &Store{secret: cfg.Secret}
	s.current.Store(&snapshot{})
	s.config = &tls.Config{
		MinVersion:     cfg.MinVersion,
		CipherSuites:   suites,
		NextProtos:     cfg.Protocols,
		GetCertificate: s.certificate, GetConfigForClient: s.configForClient,
		// All responses to one read are written at once: one record is one system call.
		DynamicRecordSizingDisabled: true,
	}
	s.quic = &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: []string{ProtocolHTTP3},
		GetCertificate: s.certificate}
	if err := s.rotateTickets(time.Now()); err != nil {
		return nil, err
	}
	return s, nil
}

// TLSConfig returns the configuration of listeners. It must not be changed or cloned: a
// clone does not get the ticket keys of later days.
func (s *Store) TLSConfig() *tls.Config { return s.config }

// QUICConfig returns the configuration of HTTP/3 (RFC 9001, 4.2), which may be cloned: each
// handshake gets the ticket keys of the day.
func (s *Store) QUICConfig() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: s.quic.NextProtos, GetCertificate: s.certificate,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.quic, nil }}
}

// Set replaces the certificates. Clients without SNI get the first one; of two for the same
// name the first is used. pending are names whose certificate is still being issued:
// Serves reports them, too.
func (s *Store) Set(all []tls.Certificate, pending ...string) error {
	next := &snapshot{all: slices.Clone(all), byName: map[string]*tls.Certificate{}}
	for i := range next.all {
		c := &next.all[i]
		if c.Leaf == nil { // of tls.X509KeyPair with GODEBUG=x509keypairleaf=0
			leaf, err := x509.ParseCertificate(c.Certificate[0])
			if err != nil {
				return fmt.Errorf("parse a certificate: %w", err)
			}
			c.Leaf = leaf
		}
		for _, name := range c.Leaf.DNSNames {
			if name = strings.ToLower(name); next.byName[name] == nil {
				next.byName[name] = c
			}
		}
	}
	for _, name := range pending {
		if _, ok := next.byName[name]; !ok {
			next.byName[name] = nil
		}
	}
	s.current.Store(next)
	return nil
}

// find returns the entry of a name: of the name itself, or of a wildcard for it.
func (n *snapshot) find(name string) (c *tls.Certificate, ok bool) {
	name = strings.ToLower(name)
	if c, ok = n.byName[name]; ok {
		return c, true
	}
	_, parent, _ := strings.Cut(name, ".")
	c, ok = n.byName["*."+parent]
	return c, ok
}

// Serves reports whether there is, or will be, a certificate for a host. host may have a
// port.
func (s *Store) Serves(host string) bool {
	_, ok := s.current.Load().find((&url.URL{Host: host}).Hostname())
	return ok
}

// certificate implements tls.Config.GetCertificate. Without a certificate for the name it
// returns nil, and the client gets the alert unrecognized_name (RFC 6066, 3).
func (s *Store) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	n := s.current.Load()
	if hello.ServerName != "" {
		c, _ := n.find(hello.ServerName)
		return c, nil
	}
	if len(n.all) == 0 {
		return nil, nil
	}
	return &n.all[0], nil
}

// configForClient implements tls.Config.GetConfigForClient: a CA that validates TLS-ALPN-01
// offers only that protocol (RFC 8737, 3). If no challenge is open, the client gets the
// ordinary configuration, with which it has no protocol in common.
func (s *Store) configForClient(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	if len(hello.SupportedProtos) != 1 || hello.SupportedProtos[0] != ProtocolACME || s.Challenge == nil ||
		!s.Serves(hello.ServerName) {
		return nil, nil
	}
	c, err := s.Challenge(hello.Context(), strings.ToLower(hello.ServerName))
	if err != nil {
		return nil, nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{ProtocolACME},
		Certificates: []tls.Certificate{*c}, SessionTicketsDisabled: true}, nil
}

// rotateTickets sets the ticket keys of the day, and those of the days around it: clocks
// differ, and a session can be resumed for a day.
func (s *Store) rotateTickets(now time.Time) error {
	if s.secret == "" {
		return nil
	}
	for label, config := range map[string]*tls.Config{ticketLabel: s.config, quicTicketLabel: s.quic} {
		var keys [][32]byte
		for _, days := range []int{0, -1, 1} {
			day := now.UTC().AddDate(0, 0, days).Format(time.DateOnly)
			key, err := hkdf.Key(sha256.New, []byte(s.secret), nil, label+day, 32)
			if err != nil {
				return fmt.Errorf("derive the key of session tickets: %w", err)
			}
			keys = append(keys, [32]byte(key))
		}
		config.SetSessionTicketKeys(keys)
	}
	return nil
}

// Run sets new ticket keys at midnight UTC until ctx ends.
func (s *Store) Run(ctx context.Context) error {
	for {
		now := time.Now()
		timer := time.NewTimer(now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(now))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		if err := s.rotateTickets(time.Now()); err != nil {
			return err
		}
	}
}

// Expiry is the validity of the certificate of a name.
type Expiry struct {
	Name                string
	NotBefore, NotAfter time.Time // zero while the certificate is being issued
}

// Expiries lists the certificates, each under its first name, the soonest to expire first.
func (s *Store) Expiries() []Expiry {
	var list []Expiry
	n := s.current.Load()
	for i := range n.all {
		leaf := n.all[i].Leaf
		name := leaf.Subject.CommonName
		if len(leaf.DNSNames) > 0 {
			name = leaf.DNSNames[0]
		}
		list = append(list, Expiry{name, leaf.NotBefore, leaf.NotAfter})
	}
	for name, c := range n.byName {
		if c == nil {
			list = append(list, Expiry{Name: name})
		}
	}
	slices.SortFunc(list, func(a, b Expiry) int {
		if c := a.NotAfter.Compare(b.NotAfter); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list
}

// WriteMetrics writes the remaining and the whole life of each certificate.
func (s *Store) WriteMetrics(w io.Writer) {
	const day = 24 * time.Hour
	for _, c := range s.Expiries() {
		if c.NotAfter.IsZero() {
			continue
		}
		fmt.Fprintf(w, "fieldmark_edge_certificate_days{name=%q} %.3f\n", c.Name,
			time.Until(c.NotAfter).Seconds()/day.Seconds())
		fmt.Fprintf(w, "fieldmark_edge_certificate_lifetime_days{name=%q} %.3f\n", c.Name,
			c.NotAfter.Sub(c.NotBefore).Seconds()/day.Seconds())
	}
}
