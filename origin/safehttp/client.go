package safehttp

import (
	"cmp"
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
	"github.com/fieldmark/fieldmark/internal/timeout"
)

// Time and size limits of a request. An untrusted server decides how slow it is;
// these limit how long it can block a worker.
const (
	DefaultTimeout      = 20 * time.Second * timeout.Scale // the whole request, including its body
	dialTimeout         = 5 * time.Second * timeout.Scale
	tlsTimeout          = 5 * time.Second * timeout.Scale
	headerTimeout       = 15 * time.Second * timeout.Scale
	resolveTimeout      = 5 * time.Second * timeout.Scale // of CheckURL, while a person waits
	idleTimeout         = 30 * time.Second                // short, as addresses are checked when dialling
	maxHeaderBytes      = 32 << 10                        // of a response; real ones have less than 8 KiB
	maxConnsPerHost     = 8                               // limits the load on one host
	maxIdleConnsPerHost = 2
	maxURLBytes         = fieldmark.MaxBrandURL
)

// DefaultUserAgent is sent if neither the request nor the Config has one.
const DefaultUserAgent = "Fieldmark/1.0"

// ErrNotAllowed is the error of every rejected address. It contains neither the
// resolved address nor the rule, so that it cannot be used to map the internal
// network.
var ErrNotAllowed = fieldmark.Errorf(fieldmark.CodeInvalidParameter, "address not allowed")

// Config lists the addresses that a Client may reach in addition to the public internet.
type Config struct {
	Allow []netip.Prefix // additional networks, on any port: 127.0.0.0/8 for a demo
	// ConnectTo maps a lower-case host:port to the host:port to dial instead, like
	// curl --connect-to. The dialled address is checked.
	ConnectTo map[string]string
	Targets   bool           // permit the targets of ConnectTo, but only for requests that it redirects there
	Ports     []uint16       // on public addresses; empty means 80 and 443
	UserAgent string         // sent where a request has none; "" means DefaultUserAgent
	Timeout   time.Duration  // for a whole request with its body; 0 means DefaultTimeout
	Roots     *x509.CertPool // trusted authorities; nil means the system's
	Resolver  *net.Resolver  // nil means the system's

	// HeaderTimeout bounds the wait for the header of a response; 0 means 15 seconds. An answer engine sends it
	// when the answer is complete.
	HeaderTimeout time.Duration

	// ConnsPerHost limits the connections to one host; 0 means 8. If endpoints of
	// different owners share a host, the caller must limit each endpoint separately,
	// because this limit makes the owners wait for each other.
	ConnsPerHost int
	Certificate  *tls.Certificate // client certificate; nil means none

	// Sign adds signatures to the fields of a request whose address passed the first check;
	// nil means none. A request that is refused when it is dialled is never sent.
	Sign func(*http.Request)
}

// Client sends requests that cannot reach internal networks. It is safe for
// concurrent use. Clients share no connections, so that a Client cannot use a connection
// to an address that only another Client may reach.
type Client struct {
	http      *http.Client
	transport *http.Transport
	guard     *guard
	dialer    *net.Dialer
	userAgent string
	config    Config
}

// WithCertificate returns a client with the same configuration, a client
// certificate and its own connections.
func (c *Client) WithCertificate(cert tls.Certificate) *Client {
	same := c.config
	same.Certificate = &cert
	return New(same)
}

// PublicOnly returns a client with the same configuration, except that it reaches no address of
// Allow, and its own connections.
func (c *Client) PublicOnly() *Client {
	same := c.config
	same.Allow = nil
	return New(same)
}

// New returns a Client. It opens no connection.
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
		Proxy:                  nil, // a proxy from the environment would dial instead of the checked dialer
		DialContext:            client.dial,
		TLSClientConfig:        trust,
		ForceAttemptHTTP2:      true, // a custom dialer disables it otherwise
		TLSHandshakeTimeout:    tlsTimeout,
		ResponseHeaderTimeout:  cmp.Or(c.HeaderTimeout, headerTimeout),
		MaxResponseHeaderBytes: maxHeaderBytes,
		MaxConnsPerHost:        perHost,
		MaxIdleConnsPerHost:    idlePerHost,
		IdleConnTimeout:        idleTimeout,
		DisableCompression:     true, // callers decompress with their own limit
	}
	client.http = &http.Client{
		Transport:     client.transport,
		Timeout:       cmp.Or(c.Timeout, DefaultTimeout),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return client
}

// Do sends req and returns the response, which may be a redirect. The caller closes
// the body and limits how much of it is read. A rejected address returns ErrNotAllowed.
func (c *Client) Do(req *http.Request) (*http.Response, error) {
	if err := c.checkParsed(req.URL); err != nil {
		return nil, err
	}
	if req.Header.Get("User-Agent") == "" || c.config.Sign != nil {
		req = req.Clone(req.Context())
		if req.Header == nil {
			req.Header = http.Header{}
		}
		req.Header.Set("User-Agent", cmp.Or(req.Header.Get("User-Agent"), c.userAgent))
	}
	if c.config.Sign != nil {
		c.config.Sign(req)
	}
	resp, err := c.http.Do(req)
	if errors.Is(err, ErrNotAllowed) {
		return nil, ErrNotAllowed // without the dialled address, which net adds
	}
	return resp, err
}

// CheckURL checks an address before it is stored: scheme, user, port, and all
// addresses that its host has now. It gives early feedback to the person who typed
// the address; the protection is in Do, which checks again when dialling.
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

// CloseIdle closes idle connections, for example after a configuration change:
// addresses are checked when dialling, not when reusing a connection.
func (c *Client) CloseIdle() { c.transport.CloseIdleConnections() }

// checkParsed rejects addresses that are invalid whatever their host resolves to.
func (c *Client) checkParsed(u *url.URL) error {
	switch {
	case u == nil || u.Scheme != "http" && u.Scheme != "https":
		return fieldmark.Errorf(fieldmark.CodeInvalidParameter, "only http and https addresses are supported")
	case u.User != nil:
		return fieldmark.Errorf(fieldmark.CodeInvalidParameter, "an address must not contain a user name or password")
	case u.Hostname() == "" || u.Opaque != "":
		return fieldmark.Errorf(fieldmark.CodeInvalidParameter, "the address has no host")
	}
	host := u.Hostname()
	if ip, err := netip.ParseAddr(host); err == nil {
		// Sites and endpoints have names. A bare IP address is likely an attempt to
		// reach an internal host, unless the operator allowed its network.
		if !c.guard.allowed(ip) {
			return ErrNotAllowed
		}
	} else if looksNumeric(host) {
		return ErrNotAllowed
	}
	return nil
}

// looksNumeric reports whether a host is an IP address in a notation that some
// resolvers accept and netip does not: 127.1, 2130706433, 0x7f.1, 0177.0.0.1.
// Public names never end in a numeric label (RFC 3696, section 2).
func looksNumeric(host string) bool {
	last := strings.TrimSuffix(host, ".")
	last = last[strings.LastIndexByte(last, '.')+1:]
	if last == "" {
		return true
	}
	_, err := strconv.ParseUint(last, 0, 64)
	return err == nil || strings.Trim(last, "0123456789") == ""
}

// canonicalAddr returns the host:port that a request to u dials.
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

// target applies ConnectTo. A permitted address needs no further check.
func (c *Client) target(addr string) (to string, permitted bool) {
	if to, ok := c.config.ConnectTo[strings.ToLower(addr)]; ok {
		return to, c.config.Targets
	}
	return addr, false
}

// lookup returns all addresses of a host.
func (c *Client) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil
	}
	if isLocalhost(host) {
		// Either address is fine; dial uses the one that is allowed.
		if allowed := slices.DeleteFunc(loopback(),
			func(ip netip.Addr) bool { return !c.guard.allowed(ip) }); len(allowed) > 0 {
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
		addrs[i] = a.Unmap() // resolvers return IPv4 as ::ffff:1.2.3.4
	}
	return addrs, nil
}

// dial opens a connection. The dialer's Control checks the address immediately
// before connecting, after name resolution, so that DNS rebinding has no effect.
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

// isLocalhost reports whether a name is localhost or below it. Such names are
// loopback and are never resolved by DNS (RFC 6761, section 6.3), which could
// return any address.
func isLocalhost(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

func loopback() []netip.Addr {
	return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
}
