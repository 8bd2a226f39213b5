package access

import "net/netip"

// Caller is the client that presents a credential.
type Caller struct {
	Addr  netip.Addr // invalid: unknown; then a key that is bound to networks is refused
	Agent string     // User-Agent
}

// ParseCaller reads who asks from an address as text, which may be none.
func ParseCaller(address, agent string) Caller {
	addr, _ := netip.ParseAddr(address) // none is not known
	return Caller{Addr: addr, Agent: agent}
}

// networkOf names the network of an address, which tells enough and is nobody's
// personal data: a /24, or a /48 of IPv6.
func networkOf(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	bits := 48
	if a = a.Unmap(); a.Is4() {
		bits = 24
	}
	p, err := a.WithZone("").Prefix(bits)
	if err != nil {
		return ""
	}
	return p.String()
}

func addressOf(c Caller) string {
	if !c.Addr.IsValid() {
		return ""
	}
	return c.Addr.Unmap().String()
}
