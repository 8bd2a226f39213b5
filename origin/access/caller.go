package access

import (
	"net/http"
	"net/netip"

	"github.com/fieldmark/fieldmark"
)

// Caller is the client that presents a credential.
type Caller struct {
	Addr  netip.Addr // invalid: unknown; then a key that is bound to networks is refused
	Agent string     // User-Agent
}

// ParseCaller returns a Caller. Its address is unknown if text is no address.
func ParseCaller(address, agent string) Caller {
	addr, _ := netip.ParseAddr(address)
	return Caller{Addr: addr, Agent: agent}
}

// CallerOf returns the client of a request: the one that an edge reports, or else the peer, which is not an edge
// then: a health check, or an administrator at the origin. An edge sends its node token in a separate header
// field, because Authorization contains the credentials of its client. Without the token the reported address is
// ignored, so that clients cannot forge it.
func CallerOf(r *http.Request, nodes fieldmark.NodeTokens) Caller {
	if reported := r.Header.Get(fieldmark.HeaderClient); reported != "" &&
		nodes.Contains(r.Header.Get(fieldmark.HeaderNode)) {
		if c := ParseCaller(reported, r.UserAgent()); c.Addr.IsValid() {
			return c
		}
	}
	peer, _ := netip.ParseAddrPort(r.RemoteAddr) // the peer of a pipe in memory has no address
	return Caller{Addr: peer.Addr(), Agent: r.UserAgent()}
}

// Network returns the network of the caller, or "" for an unknown address.
func (c Caller) Network() string { return networkOf(c.Addr) }

// networkOf returns the network of an address, or "" for an unknown address.
func networkOf(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return fieldmark.NetworkOf(a).String()
}

// Address returns the address of the caller, or "" if it is unknown.
func (c Caller) Address() string {
	if !c.Addr.IsValid() {
		return ""
	}
	return c.Addr.Unmap().String()
}
