package safehttp

import (
	"net/netip"
	"syscall"

	"code.dny.dev/ssrf"
)

// wireServer is the host agent of Azure: a public address that gives a machine's
// certificates to any process on it, and is not on lists of private networks.
const wireServer = "168.63.129.16/32"

// guard checks addresses. It is immutable.
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

// allowed reports whether the operator allowed the network of an address.
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

// control is the Control function of a net.Dialer: it gets the address to be
// dialled, after name resolution and in canonical form.
func (g *guard) control(network, address string, c syscall.RawConn) error {
	if ap, err := netip.ParseAddrPort(address); err == nil && g.allowed(ap.Addr()) {
		return nil
	}
	if g.public.Safe(network, address, c) != nil {
		return ErrNotAllowed
	}
	return nil
}
