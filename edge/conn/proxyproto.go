package conn

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/netip"
	"time"

	"github.com/fieldmark/fieldmark/internal/timeout"
)

// The PROXY protocol, version 2: a proxy that forwards connections begins each with a header
// that names its client. Sections are those of its specification, proxy-protocol.txt of
// HAProxy. Version 1, a line of text, is not supported.
const (
	// proxyFixedSize is the size of the signature, the command, the family and the length.
	proxyFixedSize = 16
	// maxProxyHeader bounds a header, in bytes: every network carries so much in one TCP
	// segment (section 2), and TLVs of common proxies need 100.
	maxProxyHeader = 536
	// proxyTimeout bounds the time until the header has arrived. Proxies send it with the
	// handshake of TCP.
	proxyTimeout = 5 * time.Second * timeout.Scale

	proxySignature = "\r\n\r\n\x00\r\nQUIT\n"
	proxyLocal     = 0x20 // version 2, LOCAL: the proxy itself connects, as for a health check
	proxyProxy     = 0x21 // version 2, PROXY

	proxyUnspecified = 0x00 // the address of the client is not known
	proxyTCP4        = 0x11
	proxyTCP6        = 0x21

	proxyTLVHeader = 3    // bytes of the type and the length of a TLV (section 2.2.6)
	proxyTLVCRC32C = 0x03 // type of the TLV with the checksum (section 2.2.3)
)

// errNoProxyHeader means that a connection ended before its first byte, as health checks over
// TCP do.
var errNoProxyHeader = errors.New("no byte has arrived")

// readProxyHeader reads a header and no byte more. The result is invalid if the header names
// no client; the client is the peer then.
func readProxyHeader(r io.Reader) (client netip.AddrPort, err error) {
	var b [maxProxyHeader]byte
	if n, err := io.ReadFull(r, b[:proxyFixedSize]); err != nil {
		if n == 0 {
			return client, errNoProxyHeader
		}
		return client, fmt.Errorf("read the header: %w", err)
	}
	size := proxyFixedSize + int(binary.BigEndian.Uint16(b[14:]))
	switch {
	case string(b[:len(proxySignature)]) != proxySignature:
		return client, errors.New("the connection does not begin with a header of version 2")
	case size > maxProxyHeader:
		return client, fmt.Errorf("the header has %d bytes, at most %d", size, maxProxyHeader)
	}
	if _, err := io.ReadFull(r, b[proxyFixedSize:size]); err != nil {
		return client, fmt.Errorf("read the header: %w", err)
	}
	return parseProxyHeader(b[:size])
}

// parseProxyHeader parses a whole header (section 2.2).
func parseProxyHeader(b []byte) (client netip.AddrPort, err error) {
	command, family, rest := b[12], b[13], b[proxyFixedSize:]
	switch command {
	case proxyLocal: // the rest is ignored, whatever the family
		return client, nil
	case proxyProxy:
	default:
		return client, fmt.Errorf("version and command %#02x are not supported", command)
	}
	size := 0 // of an address
	switch family {
	case proxyUnspecified: // the rest is ignored
		return client, nil
	case proxyTCP4:
		size = net.IPv4len
	case proxyTCP6:
		size = net.IPv6len
	default:
		return client, fmt.Errorf("address family and transport %#02x are not supported", family)
	}
	// Two addresses and two ports; those of the client come first.
	if len(rest) < 2*size+4 {
		return client, errors.New("the addresses are cut off")
	}
	addr, _ := netip.AddrFromSlice(rest[:size]) // 4 or 16 bytes are an address
	client = netip.AddrPortFrom(addr.Unmap(), binary.BigEndian.Uint16(rest[2*size:]))
	return client, checkProxyTLVs(b, proxyFixedSize+2*size+4)
}

// checkProxyTLVs checks the form of the TLVs, which begin at from, and the checksum if there
// is one. It changes b.
func checkProxyTLVs(b []byte, from int) error {
	checked := false
	for from < len(b) {
		if len(b)-from < proxyTLVHeader {
			return errors.New("a TLV is cut off")
		}
		kind, length := b[from], int(binary.BigEndian.Uint16(b[from+1:]))
		from += proxyTLVHeader
		if len(b)-from < length {
			return errors.New("a TLV is cut off")
		}
		value := b[from : from+length]
		from += length
		if kind != proxyTLVCRC32C {
			continue
		}
		if length != crc32.Size || checked {
			return errors.New("the checksum is not 4 bytes, once")
		}
		checked = true
		want := binary.BigEndian.Uint32(value)
		clear(value) // the checksum is that of a header with zeros in its place
		got := crc32.Checksum(b, castagnoli)
		binary.BigEndian.PutUint32(value, want)
		if got != want {
			return errors.New("the checksum is wrong")
		}
	}
	return nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// isProxy reports whether connections from addr must begin with a PROXY header.
func (s *Server) isProxy(addr netip.Addr) bool {
	for _, p := range s.cfg.ProxyProtocol {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// acceptProxied reads the PROXY header of a connection, and counts the connection for the
// network of the client. It reports whether requests may follow.
func (c *conn) acceptProxied() bool {
	var socket net.Conn = c.Conn
	switch {
	case c.waiter != nil:
		socket = c.waiter
	case c.tls != nil:
		socket = c.Conn.(*tls.Conn).NetConn()
	}
	err := socket.SetReadDeadline(time.Now().Add(proxyTimeout))
	if c.server.Draining() { // Drain may have set its deadline before
		c.expireIdle()
	}
	var client netip.AddrPort
	if err == nil {
		client, err = readProxyHeader(socket)
	}
	if err != nil {
		if !errors.Is(err, errNoProxyHeader) {
			c.server.cfg.OnBadProxyHeader(c.peer.Addr, err)
		}
		return false
	}
	if client.IsValid() {
		c.setClient(client)
	}
	t := &c.server.conns
	network := c.server.cfg.Network(c.peer.Addr)
	t.mu.Lock()
	counts, ok := t.tryAcquire(network)
	if ok {
		c.network, c.counts = network, counts
	}
	t.mu.Unlock()
	if !ok {
		c.server.reject(c.Conn)
	}
	return ok
}

// setClient makes a client the remote address of the connection.
func (c *conn) setClient(client netip.AddrPort) {
	c.peer.Addr = client.Addr()
	c.remote = net.TCPAddrFromAddrPort(client)
	if c.waiter != nil {
		c.waiter.remote = c.remote
	}
}

// RemoteAddr implements net.Conn: it is the address of the client.
func (c *conn) RemoteAddr() net.Addr {
	if c.remote != nil {
		return c.remote
	}
	return c.Conn.RemoteAddr()
}
