package conn

import (
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"time"
)

// The limits of connections and requests: of one client network and of a server.
const (
	// DefaultNetworkConns bounds the connections of one client network. An office
	// behind one NAT address stays well below this; a client above it is misbehaving.
	DefaultNetworkConns = 1024
	// maxConns bounds the connections of one server; at 4 KiB each that is a gigabyte.
	maxConns = 256 << 10
	// DefaultInflight bounds the requests that handlers serve at once: thousands are all waiting
	// for something, and one more would only wait with them.
	DefaultInflight = 4096
	// NetworkFraction is the share of one client network in what all clients may have at once: a
	// quarter. What is left serves all others, and an office behind one address still has more than
	// browsers use. Without it, a network with all its connections could have 131,072 streams under way.
	NetworkFraction = 4
	// rejectTimeout bounds the write to a rejected connection, whose send buffer is empty.
	rejectTimeout = time.Second
)

// networkCounts counts what a client network has. It lasts for as long as the network has a
// connection, and each request is part of one.
type networkCounts struct {
	conns    int          // guarded by connTracker.mu
	requests atomic.Int64 // under way over HTTP/2 and HTTP/3
}

// tryAcquire reserves a connection slot for network and reports whether one was free. For an
// invalid network counts is nil. The caller holds t.mu.
func (t *connTracker) tryAcquire(network netip.Addr) (counts *networkCounts, ok bool) {
	switch counts = t.perNetwork[network]; {
	case len(t.open) >= maxConns, counts != nil && counts.conns >= t.networkLimit:
		return nil, false
	case !network.IsValid():
		return nil, true
	case counts == nil:
		counts = &networkCounts{}
		t.perNetwork[network] = counts
	}
	counts.conns++
	return counts, true
}

// release returns the slot. The caller holds t.mu.
func (t *connTracker) release(network netip.Addr) {
	if !network.IsValid() {
		return
	}
	counts := t.perNetwork[network]
	if counts.conns--; counts.conns == 0 {
		delete(t.perNetwork, network)
	}
}

// tryBegin reserves a place for a request over HTTP/2 or HTTP/3 and reports whether one was free.
// It takes no lock, as every request that is not answered from memory calls it.
func (s *Server) tryBegin(counts *networkCounts) bool {
	if counts != nil && counts.requests.Add(1) > s.networkRequests {
		counts.requests.Add(-1)
		return false
	}
	s.streams.Add(1)
	return true
}

// endRequest frees the place of a request.
func (s *Server) endRequest(counts *networkCounts) {
	s.streams.Add(-1)
	if counts != nil {
		counts.requests.Add(-1)
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
