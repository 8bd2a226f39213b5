package access

import (
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

// Network returns the network of the caller, or "" for an unknown address.
func (c Caller) Network() string { return networkOf(c.Addr) }

// networkOf returns the network of an address, or "" for an unknown address.
func networkOf(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return fieldmark.NetworkOf(a).String()
}

// addressOf returns the address of a caller, or "" if it is unknown.
func addressOf(c Caller) string {
	if !c.Addr.IsValid() {
		return ""
	}
	return c.Addr.Unmap().String()
}
