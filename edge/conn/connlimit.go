package conn

import (
	"fmt"
	"net"
	"net/netip"
	"time"
)

// The connection limits: of one client network and of a server.
const (
	// DefaultNetworkConns bounds the connections of one client network. An office
	// behind one NAT address stays well below this; a client above it is misbehaving.
	DefaultNetworkConns = 1024
	// maxConns bounds the connections of one server; at 4 KiB each that is a gigabyte.
	maxConns = 256 << 10
	// rejectTimeout bounds the write to a rejected connection, whose send buffer is empty.
	rejectTimeout = time.Second
)

// tryAcquire reserves a connection slot for network and reports whether one was free.
// The caller holds t.mu.
func (t *connTracker) tryAcquire(network netip.Addr) bool {
	if len(t.open) >= maxConns || network.IsValid() && t.perNetwork[network] >= t.networkLimit {
		return false
	}
	if network.IsValid() {
		t.perNetwork[network]++
	}
	return true
}

// release returns the slot. The caller holds t.mu.
func (t *connTracker) release(network netip.Addr) {
	if !network.IsValid() {
		return
	}
	if t.perNetwork[network]--; t.perNetwork[network] <= 0 {
		delete(t.perNetwork, network)
	}
}

// Addr returns the IP address of a TCP address; an IPv4 address in its own form, not
// mapped to IPv6. It is invalid for an address of another kind.
func Addr(a net.Addr) netip.Addr {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// rejection returns the response to a connection above a limit.
func rejection(name string) []byte {
	const body = "too many connections\n"
	return fmt.Appendf(nil,
		"HTTP/1.1 503 Service Unavailable\r\nServer: %s\r\nContent-Type: text/plain; charset=utf-8\r\n"+
			"X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nRetry-After: 5\r\nContent-Length: %d\r\n"+
			"Connection: close\r\n\r\n%s", name, len(body), body)
}

// reject closes a connection above a limit, after telling the client. Over TLS that
// would need a handshake, the very work that a limit saves.
func (s *Server) reject(c net.Conn) {
	s.cfg.OnReject()
	if tcp, ok := c.(*net.TCPConn); ok && !s.Draining() && c.SetWriteDeadline(time.Now().Add(rejectTimeout)) == nil {
		_, _ = tcp.Write(s.rejected) // the client may have disconnected
	}
	_ = c.Close()
}
