package main

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strconv"

	"github.com/fieldmark/fieldmark/cmd/fieldmark/listen"
	"github.com/fieldmark/fieldmark/edge"
)

// maxQUICChain is the size of a certificate chain, in bytes, that a server can send with the
// rest of its handshake before it has verified the client's address: three times the 1,200
// bytes of a client's first packet (RFC 9000, 8.1). A longer one takes another round trip.
const maxQUICChain = 3*1200 - 600

// openHTTP3 opens the UDP socket of HTTP/3 if the edge serves TLS and the protocol is not
// switched off. ln is the listener for the other protocols.
func (c *edgeSettings) openHTTP3(ln net.Listener, log *slog.Logger) error {
	if c.certificates == nil || !slices.Contains(c.Protocols, "h3") {
		return nil
	}
	pc, err := c.listenUDP(ln, log)
	if err != nil || pc == nil {
		return err
	}
	c.http3 = &edge.HTTP3Config{Conn: pc, Port: c.http3Port(pc), EarlyData: c.EarlyData}
	if cert, err := c.certificates.TLSConfig().GetCertificate(&tls.ClientHelloInfo{}); err == nil && cert != nil {
		if size := len(slices.Concat(cert.Certificate...)); size > maxQUICChain {
			log.Warn("the certificate chain is long: handshakes of HTTP/3 take another round trip", "bytes", size,
				"at most", maxQUICChain)
		}
	}
	return nil
}

// listenUDP returns the socket of HTTP/3. It is nil if --listen is a socket of the service
// manager, which passed no datagram socket of that name: installations from before HTTP/3
// have none.
func (c *edgeSettings) listenUDP(ln net.Listener, log *slog.Logger) (net.PacketConn, error) {
	switch {
	case c.QUICListen != "":
		return listen.OpenPacket(c.QUICListen, "--quic-listen")
	case listen.IsInherited(c.Listen):
		pc, err := listen.OpenPacket(c.Listen, "--listen")
		if err != nil {
			log.Warn("HTTP/3 is not served: add ListenDatagram to the socket unit, or set --quic-listen", "err", err)
		}
		return pc, nil
	}
	pc, err := listen.OpenPacket(ln.Addr().String(), "HTTP/3")
	if host, port, _ := net.SplitHostPort(c.Listen); err != nil && port == "0" { // the port is only free for TCP
		pc, err = listen.OpenPacket(net.JoinHostPort(host, port), "HTTP/3")
	}
	if err != nil {
		return nil, fmt.Errorf("%w, by --quic-listen, or switch HTTP/3 off by --protocols h1,h2", err)
	}
	return pc, nil
}

// http3Port returns the UDP port that clients reach: that of --base-url, which may have been
// forwarded from another, unless --quic-listen is set and --base-url names no port.
func (c *edgeSettings) http3Port(pc net.PacketConn) int {
	own := pc.LocalAddr().(*net.UDPAddr).Port
	base, err := url.Parse(c.BaseURL)
	if err != nil || c.BaseURL == "" {
		return own
	}
	if port, err := strconv.Atoi(base.Port()); err == nil {
		return port
	}
	if c.QUICListen != "" {
		return own
	}
	return httpsPort
}
