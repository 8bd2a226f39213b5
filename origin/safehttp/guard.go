package safehttp

import (
	"net/netip"
	"syscall"

	"code.dny.dev/ssrf"
)

// wireServer is Azure's host agent: a public address that hands a machine's
// certificates to whoever asks from inside, and so is on no list of private
// networks.
const wireServer = "168.63.129.16/32"

// guard judges addresses. Its rules are fixed when it is made.
type guard struct {
	allow  []netip.Prefix
	public *ssrf.Guardian
}

func newGuard(allow []netip.Prefix, ports []uint16) *guard {
	if len(ports) == 0 {
		ports = []uint16{80, 443}
	}
	return &guard{
		allow: allow,
		public: ssrf.New(
			ssrf.WithPorts(ports...),
			ssrf.WithDeniedV4Prefixes(netip.MustParsePrefix(wireServer)),
		),
	}
}

// allowed reports whether the operator opened the network of an address.
func (g *guard) allowed(ip netip.Addr) bool {
	for _, p := range g.allow {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

// safe reports whether a connection to ap may be opened.
func (g *guard) safe(ap netip.AddrPort) bool {
	return g.allowed(ap.Addr()) || g.public.SafeAddrPort(ap) == nil
}

// control is a net.Dialer's Control: it sees the address really dialled, after
// every resolution and whatever its spelling was.
func (g *guard) control(network, address string, c syscall.RawConn) error {
	if ap, err := netip.ParseAddrPort(address); err == nil && g.allowed(ap.Addr()) {
		return nil
	}
	if g.public.Safe(network, address, c) != nil {
		return ErrNotAllowed
	}
	return nil
}
