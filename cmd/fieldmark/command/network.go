package command

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark/origin/safehttp"
)

// NetworkFlags select which private networks a command may connect to on behalf of
// others.
type NetworkFlags struct {
	AllowNetworks []netip.Prefix `env:"FIELDMARK_ALLOW_NETWORKS" placeholder:"CIDR" help:"Private networks that audits and webhooks may reach; none by default."`
}

// Client returns an HTTP client for one command. connectTo maps HOST:PORT to the
// address to connect to instead; these addresses may be private, because the user
// of the command named them.
func (f *NetworkFlags) Client(connectTo map[string]string) *safehttp.Client {
	return safehttp.New(safehttp.Config{Allow: f.AllowNetworks, ConnectTo: connectTo, Targets: true})
}

// ParseConnectTo parses the values of a flag, HOST:PORT:HOST:PORT as in curl.
func ParseConnectTo(flag string, list []string) (map[string]string, error) {
	to := map[string]string{}
	for _, item := range list {
		parts := strings.Split(item, ":")
		if len(parts) != 4 {
			return nil, fmt.Errorf("%s: %q is not HOST:PORT:HOST:PORT", flag, item)
		}
		to[net.JoinHostPort(strings.ToLower(parts[0]), parts[1])] = net.JoinHostPort(parts[2], parts[3])
	}
	return to, nil
}

// ListenerURL returns the address of a listener as a client on this machine uses it.
func ListenerURL(ln net.Listener) string {
	addr, ok := ln.Addr().(*net.TCPAddr)
	if !ok {
		return "http://" + ln.Addr().String()
	}
	host := addr.IP.String()
	if addr.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(addr.Port))
}
