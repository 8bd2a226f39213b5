package safehttp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
)

// How long each part of a request may take. A stranger's server decides how
// slow it is; these decide for how long it may hold one of our workers.
const (
	DefaultTimeout      = 20 * time.Second // the whole request, its body included
	dialTimeout         = 5 * time.Second
	tlsTimeout          = 5 * time.Second
	headerTimeout       = 15 * time.Second
	resolveTimeout      = 5 * time.Second  // of CheckURL, which nobody waits for longer
	idleTimeout         = 30 * time.Second // policy is judged per dial, so no connection lives long
	maxHeaderBytes      = 32 << 10         // of an answer; real ones stay under 8 KiB
	maxConnsPerHost     = 8                // nobody is asked more than this at once
	maxIdleConnsPerHost = 2
	maxURLBytes         = fieldmark.MaxBrandURL
)

// DefaultUserAgent is sent where neither the request nor the Config names one.
const DefaultUserAgent = "Fieldmark/1.0"

// ErrNotAllowed is what every refusal is. It names neither the address found
// nor the rule it broke: a stranger must not map our network with it.
var ErrNotAllowed = fieldmark.Errorf(fieldmark.CodeInvalidParameter, "address not allowed")

// Config says where a Client may go beyond the public internet.
type Config struct {
	Allow     []netip.Prefix    // extra networks, on any port: 127.0.0.0/8 for a demo
	ConnectTo map[string]string // dial another host:port for a lower-case host:port, like curl --connect-to; the guard judges the address dialled
	Targets   bool              // permit the addresses of ConnectTo to requests that it leads there, and to no others
	Ports     []uint16          // on public addresses; empty means 80 and 443
	UserAgent string            // sent where a request has none; "" means DefaultUserAgent
	Timeout   time.Duration     // for a whole request with its body; 0 means DefaultTimeout
	Roots     *x509.CertPool    // authorities to trust; nil means the system's
	Resolver  *net.Resolver     // asked for addresses; nil means the system's

	// ConnsPerHost bounds connections to one host; 0 means 8. Where many of
	// other people's endpoints share a host, their callers bound each of them,
	// and a bound here would let one wait for another.
	ConnsPerHost int
	Certificate  *tls.Certificate // shown to servers that ask for one; nil means none
}

// Client sends requests that cannot reach inward. It is safe for concurrent
// use. Its connections are its own: what one client may reach, no other gets.
type Client struct {
	http      *http.Client
	transport *http.Transport
	guard     *guard
	dialer    *net.Dialer
	userAgent string
	config    Config
}

// WithCertificate returns a client of the same rules that shows a certificate,
// over connections of its own.
func (c *Client) WithCertificate(cert tls.Certificate) *Client {
	same := c.config
	same.Certificate = &cert
	return New(same)
}

// New returns a Client; it opens no connection.
func New(c Config) *Client {
	g := newGuard(c.Allow, c.Ports)
	client := &Client{
		guard:     g,
		userAgent: c.UserAgent,
		config:    c,
		dialer:    &net.Dialer{Timeout: dialTimeout, Control: g.control, Resolver: c.Resolver},
	}
	if client.userAgent == "" {
		client.userAgent = DefaultUserAgent
	}
	perHost, idlePerHost := maxConnsPerHost, maxIdleConnsPerHost
	if c.ConnsPerHost > 0 {
		perHost, idlePerHost = c.ConnsPerHost, c.ConnsPerHost
	}
	trust := &tls.Config{RootCAs: c.Roots, MinVersion: tls.VersionTLS12}
	if c.Certificate != nil {
		trust.Certificates = []tls.Certificate{*c.Certificate}
	}
	client.transport = &http.Transport{
		Proxy:                  nil, // a proxy from the environment would dial for us, past the guard
		DialContext:            client.dial,
		TLSClientConfig:        trust,
		ForceAttemptHTTP2:      true, // a dialer of one's own switches it off
		TLSHandshakeTimeout:    tlsTimeout,
		ResponseHeaderTimeout:  headerTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		MaxConnsPerHost:        perHost,
		MaxIdleConnsPerHost:    idlePerHost,
		IdleConnTimeout:        idleTimeout,
		DisableCompression:     true, // callers decompress with a bound of their own
	}
	timeout := c.Timeout
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	client.http = &http.Client{
		Transport:     client.transport,
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return client
}

// Do sends req and returns the answer; a redirect is an answer. The caller
// closes the body and bounds what it reads of it. A refusal is ErrNotAllowed.
func (c *Client) Do(req *http.Request) (*http.Response, error) {
	if err := c.checkParsed(req.URL); err != nil {
		return nil, err
	}
	if req.Header.Get("User-Agent") == "" {
		req = req.Clone(req.Context())
		if req.Header == nil {
			req.Header = http.Header{}
		}
		req.Header.Set("User-Agent", c.userAgent)
	}
	resp, err := c.http.Do(req)
	if errors.Is(err, ErrNotAllowed) {
		return nil, ErrNotAllowed // without the dialled address that net wraps around it
	}
	return resp, err
}

// CheckURL judges an address before it is stored: scheme, userinfo, port, and
// every address its host has now. It is a courtesy to whoever types the
// address; the guard is Do, which judges again at each dial.
func (c *Client) CheckURL(ctx context.Context, rawURL string) error {
	if len(rawURL) > maxURLBytes {
		return fieldmark.Errorf(fieldmark.CodeInvalidParameter, "a URL has at most %d bytes", maxURLBytes)
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		return fieldmark.Errorf(fieldmark.CodeInvalidParameter, "not a URL")
	}
	if err := c.checkParsed(u); err != nil {
		return err
	}
	addr, permitted := c.target(canonicalAddr(u))
	if permitted {
		return nil
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return ErrNotAllowed
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return ErrNotAllowed
	}
	addrs, err := c.lookup(ctx, host)
	if err != nil {
		return err
	}
	for _, a := range addrs {
		if !c.guard.safe(netip.AddrPortFrom(a, uint16(n))) {
			return ErrNotAllowed
		}
	}
	return nil
}

// CloseIdle closes connections no request uses, for instance after a change of
// policy: the guard judges dials, not requests on an open connection.
func (c *Client) CloseIdle() { c.transport.CloseIdleConnections() }

// checkParsed refuses what no resolution could make right.
func (c *Client) checkParsed(u *url.URL) error {
	switch {
	case u == nil || u.Scheme != "http" && u.Scheme != "https":
		return fieldmark.Errorf(fieldmark.CodeInvalidParameter, "only http and https addresses are fetched")
	case u.User != nil:
		return fieldmark.Errorf(fieldmark.CodeInvalidParameter, "an address must not carry a user name or password")
	case u.Hostname() == "" || u.Opaque != "":
		return fieldmark.Errorf(fieldmark.CodeInvalidParameter, "the address names no host")
	}
	host := u.Hostname()
	if ip, err := netip.ParseAddr(host); err == nil {
		// A site or an endpoint has a name. A bare address is a guess at one of
		// ours, unless the operator opened its network.
		if !c.guard.allowed(ip) {
			return ErrNotAllowed
		}
	} else if looksNumeric(host) {
		return ErrNotAllowed
	}
	return nil
}

// looksNumeric reports whether a host is an address in a spelling that some
// resolvers understand and netip does not: 127.1, 2130706433, 0x7f.1, 0177.0.0.1.
// No public name ends in a label that is a number (RFC 3696, section 2).
func looksNumeric(host string) bool {
	last := strings.TrimSuffix(host, ".")
	last = last[strings.LastIndexByte(last, '.')+1:]
	if last == "" {
		return true
	}
	_, err := strconv.ParseUint(last, 0, 64)
	return err == nil || strings.Trim(last, "0123456789") == ""
}

// canonicalAddr returns the host:port a request to u would dial.
func canonicalAddr(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "80"
		if u.Scheme == "https" {
			port = "443"
		}
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// target applies ConnectTo. An address that is permitted needs no further check.
func (c *Client) target(addr string) (to string, permitted bool) {
	if to, ok := c.config.ConnectTo[strings.ToLower(addr)]; ok {
		return to, c.config.Targets
	}
	return addr, false
}

// lookup returns every address a host has.
func (c *Client) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil
	}
	if isLocalhost(host) {
		// Either address will do; dial uses the one that is allowed.
		if allowed := slices.DeleteFunc(loopback(), func(ip netip.Addr) bool { return !c.guard.allowed(ip) }); len(allowed) > 0 {
			return allowed, nil
		}
		return loopback(), nil
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	resolver := c.dialer.Resolver
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	addrs, err := resolver.LookupNetIP(ctx, "ip", host)
	if err != nil || len(addrs) == 0 {
		return nil, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "the host name does not resolve")
	}
	for i, a := range addrs {
		addrs[i] = a.Unmap() // resolvers write IPv4 as ::ffff:1.2.3.4; it is dialled as IPv4
	}
	return addrs, nil
}

// dial opens a connection; the dialer's Control judges the address at the last
// moment before the packet leaves.
func (c *Client) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	to, permitted := c.target(addr)
	host, port, err := net.SplitHostPort(to)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	dialer := c.dialer
	if permitted {
		dialer = &net.Dialer{Timeout: dialTimeout, Resolver: c.dialer.Resolver}
	}
	if !isLocalhost(host) {
		return dialer.DialContext(ctx, network, net.JoinHostPort(host, port))
	}
	var first error
	for _, ip := range loopback() {
		conn, err := dialer.DialContext(ctx, network, net.JoinHostPort(ip.String(), port))
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// isLocalhost reports whether a name is localhost or stands under it. Such
// names are loopback and never asked of DNS (RFC 6761, section 6.3), which
// could answer anything.
func isLocalhost(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

func loopback() []netip.Addr {
	return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
}
