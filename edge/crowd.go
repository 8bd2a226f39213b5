package edge

import (
	"io"
	"net"
	"net/netip"
	"time"
)

// Limits of all connections together.
const (
	// DefaultNetworkConns bounds the connections of one client network: a whole
	// office behind one address has fewer, and one that opens more wants them for
	// nothing.
	DefaultNetworkConns = 1024
	// maxConns bounds what one node holds open; at 4 KiB each that is a gigabyte.
	maxConns = 256 << 10
	// acceptPause is the longest pause after the system refused a connection, for
	// want of file descriptors mostly.
	acceptPause = time.Second
)

// room takes a place for a connection from a network, if there is one. The
// caller holds the lock.
func (s *visitors) room(network netip.Addr) bool {
	if len(s.open) >= maxConns || network.IsValid() && s.from[network] >= s.most {
		return false
	}
	if network.IsValid() {
		if s.from == nil {
			s.from = map[netip.Addr]int{}
		}
		s.from[network]++
	}
	return true
}

// leave gives the place back. The caller holds the lock.
func (s *visitors) leave(network netip.Addr) {
	if !network.IsValid() {
		return
	}
	if s.from[network]--; s.from[network] <= 0 {
		delete(s.from, network)
	}
}

// countedBy is the network a connection is counted by. Proxies of the operator's
// are not counted: behind one of them is everybody.
func (e *Edge) countedBy(c net.Conn) netip.Addr {
	tcp, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	if at := tcp.AddrPort().Addr().Unmap(); !e.trusts(at) {
		return networkOf(at)
	}
	return netip.Addr{}
}

// crowded is said to a connection there is no room for.
const crowded = "HTTP/1.1 503 Service Unavailable\r\nServer: " + serverName + "\r\nContent-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\n" +
	"Cache-Control: no-store\r\nRetry-After: 5\r\nContent-Length: 21\r\nConnection: close\r\n\r\ntoo many connections\n"

// turnAway closes a connection there is no room for. Over TLS nothing can be said
// without the work that is to be saved.
func (e *Edge) turnAway(c net.Conn) {
	e.meters.turned.Inc()
	if tcp, ok := c.(*net.TCPConn); ok && !e.visitors.stopping.Load() && c.SetWriteDeadline(time.Now().Add(time.Second)) == nil {
		_, _ = io.WriteString(tcp, crowded) // its buffer is empty, so this takes no time
	}
	_ = c.Close()
}
