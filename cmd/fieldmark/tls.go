package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/listen"
	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/edge/conn"
	"github.com/fieldmark/fieldmark/edge/conn/certs"
)

// tlsSettings configure TLS for the clients of an edge.
type tlsSettings struct {
	TLSCert       string        `name:"tls-cert" env:"FIELDMARK_TLS_CERT" type:"path" placeholder:"FILE" help:"Certificate chain in PEM. The edge serves TLS and reloads the file when it changes."`
	TLSKey        string        `name:"tls-key" env:"FIELDMARK_TLS_KEY" type:"path" placeholder:"FILE" help:"Private key of the certificate, in PEM."`
	TLSSelfSigned bool          `env:"FIELDMARK_TLS_SELF_SIGNED" help:"Serve TLS with a certificate for localhost, for development; only on a loopback address."`
	FromOrigin    bool          `name:"tls-from-origin" env:"FIELDMARK_TLS_FROM_ORIGIN" help:"Serve TLS with the certificates that the origin orders (its --acme)."`
	TLSState      string        `name:"tls-state" env:"FIELDMARK_TLS_STATE" type:"path" placeholder:"DIR" help:"Folder that keeps the certificates of the origin, encrypted under the node token, for a start while the origin is unreachable."`
	TLSMin        string        `env:"FIELDMARK_TLS_MIN" enum:"1.2,1.3" default:"1.2" help:"Minimum TLS: 1.2 or 1.3."`
	HSTS          time.Duration `env:"FIELDMARK_HSTS" default:"0s" help:"Send Strict-Transport-Security with this max-age on every answer; at 0, pages alone have it, with a year."`
	HTTPListen    string        `name:"http-listen" env:"FIELDMARK_HTTP_LISTEN" placeholder:"ADDRESS" help:"Also listen for plain HTTP, to redirect to https and to answer challenges of CAs: usually :80; none if unset. With --acme and port 443 it is port 80 of the same host if unset, and none for no listener."`

	Protocols []string `env:"FIELDMARK_PROTOCOLS" default:"h1,h2,h3" placeholder:"NAME" help:"Protocols to offer over TLS: h1 (HTTP/1.1), which cannot be left out, h2 (HTTP/2) and h3 (HTTP/3, over UDP)."`
	// The address and port of --listen by default, so that --base-url holds for both.
	QUICListen string `name:"quic-listen" env:"FIELDMARK_QUIC_LISTEN" placeholder:"ADDRESS" help:"UDP address to listen on for HTTP/3; that of --listen if unset."`
	EarlyData  bool   `env:"FIELDMARK_EARLY_DATA" default:"true" negatable:"" help:"Answer badges from memory in the first packet of a client that returns over HTTP/3 (0-RTT)."`
	H2C        bool   `name:"h2c" env:"FIELDMARK_H2C" help:"Also accept HTTP/2 without TLS from clients that know of it (prior knowledge), such as a proxy of your own."`

	fromOriginBy string            // setting that implies FromOrigin; empty: --tls-from-origin
	certificates *certs.Store      // nil without TLS
	redirects    net.Listener      // nil without --http-listen
	http3        *edge.HTTP3Config // nil without HTTP/3
}

// errUsage is an error of the settings, for which the program ends with the status of a wrong
// command line.
func errUsage(format string, args ...any) error {
	return command.WithStatus(command.StatusUsage, fmt.Errorf(format, args...))
}

// tlsSource is where an edge has its certificates from.
type tlsSource struct {
	setting string
	set     bool
}

// checkTLS returns whether the edge serves TLS, and an error for settings that contradict each
// other.
func (c *tlsSettings) checkTLS() (bool, error) {
	if _, err := c.alpn(); err != nil {
		return false, err
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return false, errUsage("set both --tls-cert and --tls-key, or neither")
	}
	var chosen []string
	for _, source := range []tlsSource{{"--tls-cert", c.TLSCert != ""}, {"--tls-self-signed", c.TLSSelfSigned},
		{cmp.Or(c.fromOriginBy, "--tls-from-origin"), c.FromOrigin}} {
		if source.set {
			chosen = append(chosen, source.setting)
		}
	}
	if c.HTTPListen == "none" {
		c.HTTPListen = ""
	}
	switch {
	case len(chosen) > 1:
		return false, errUsage("%s are two sources of certificates: set one", strings.Join(chosen, " and "))
	case c.TLSState != "" && !c.FromOrigin:
		return false, errUsage("--tls-state keeps the certificates of the origin: set --tls-from-origin")
	case c.QUICListen != "" && !slices.Contains(c.Protocols, "h3"):
		return false, errUsage("--quic-listen is for HTTP/3: add h3 to --protocols")
	case len(chosen) == 1:
		return true, nil
	case c.QUICListen != "":
		return false, errUsage("--quic-listen is for HTTP/3, which needs TLS: set --tls-cert and --tls-key, or " +
			"--acme and " +
			"--domain")
	case c.HTTPListen != "":
		return false, errUsage("--http-listen redirects to https, which this edge does not serve: " +
			"set --tls-cert and --tls-key, or --acme and --domain")
	case c.HSTS != 0:
		return false, errUsage("--hsts is for an edge that serves TLS: set --tls-cert and --tls-key, or --acme and " +
			"--domain")
	}
	return false, nil
}

// secure adds TLS to a listener if a source of certificates is set, and opens the listener
// for redirects. data is the folder that keeps a self-signed certificate, or empty. The function it
// returns keeps the certificates up to date until ctx ends.
func (c *tlsSettings) secure(ln net.Listener, tokens, data string, log *slog.Logger) (net.Listener,
	func(context.Context) error, error) {
	run := func(context.Context) error { return nil }
	secured, err := c.checkTLS()
	if err != nil || !secured {
		return ln, run, err
	}
	minVersion := map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}[c.TLSMin]
	protocols, _ := c.alpn() // checkTLS accepted them
	if c.certificates, err = certs.New(certs.Config{MinVersion: minVersion,
		Protocols: protocols, Secret: fieldmark.SplitNodeTokens(tokens)[0]}); err != nil {
		return nil, nil, err
	}
	switch {
	case c.TLSSelfSigned:
		err = c.selfSign(ln, data)
		run = func(ctx context.Context) error { return certs.RunSelfSigned(ctx, c.certificates, data, log) }
	case c.FromOrigin: // the edge loads them
		if err = fromOriginToken(tokens); err == nil && c.TLSState != "" {
			err = os.MkdirAll(c.TLSState, 0o700)
		}
	default:
		var files *certs.Files
		if files, err = certs.Open(c.certificates, c.TLSCert, c.TLSKey, log); err == nil {
			run = files.Run
		}
	}
	if err == nil && c.HTTPListen != "" {
		c.redirects, err = listen.Open(c.HTTPListen, "--http-listen")
	}
	if err != nil {
		return nil, nil, err
	}
	return conn.NewTLSListener(ln, c.certificates.TLSConfig()), run, nil
}

// alpn returns the protocols that TLS over TCP offers, in the order of preference.
func (c *tlsSettings) alpn() (protocols []string, err error) {
	for _, name := range c.Protocols {
		if name != "h1" && name != "h2" && name != "h3" {
			return nil, errUsage("--protocols: %q is not a protocol; known are h1, h2 and h3", name)
		}
	}
	if !slices.Contains(c.Protocols, "h1") {
		return nil, errUsage("--protocols: h1 cannot be left out, as WebSocket and old clients need it")
	}
	if slices.Contains(c.Protocols, "h2") {
		protocols = append(protocols, certs.ProtocolHTTP2)
	}
	return append(protocols, certs.ProtocolHTTP1), nil
}

// selfSign uses a certificate for localhost. On other addresses people would learn to accept
// certificates without verification.
func (c *tlsSettings) selfSign(ln net.Listener, data string) error {
	if addr, ok := ln.Addr().(*net.TCPAddr); !ok || !addr.IP.IsLoopback() {
		return errUsage("--tls-self-signed is for development on this machine: listen on 127.0.0.1 or [::1], not on %s",
			ln.Addr())
	}
	pair, err := certs.SelfSigned(data)
	if err != nil {
		return err
	}
	return c.certificates.Set([]tls.Certificate{pair})
}

// transport returns a transport to the edge of this process that accepts its certificate;
// nil without TLS.
func (c *tlsSettings) transport() http.RoundTripper {
	if c.certificates == nil {
		return nil
	}
	roots := x509.NewCertPool()
	if cert, err := c.certificates.TLSConfig().GetCertificate(&tls.ClientHelloInfo{}); err == nil && cert != nil {
		roots.AddCert(cert.Leaf)
	}
	return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
}

// isTLS reports whether the edge serves TLS.
func (c *tlsSettings) isTLS() bool { return c.TLSCert != "" || c.TLSSelfSigned || c.FromOrigin }

// fromOriginToken returns an error if an edge cannot request certificates from its origin.
func fromOriginToken(tokens string) error {
	if tokens == "" {
		return errUsage("--tls-from-origin needs FIELDMARK_NODE_TOKEN, which encrypts the keys on their way")
	}
	return nil
}
