package edge

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/conn"
)

// clients finds out who sent a request.
type clients struct {
	trusted []netip.Prefix // Config.TrustedNetworks
}

// trusts reports whether addr is a proxy of the operator, whose X-Forwarded fields are
// believed.
func (c clients) trusts(addr netip.Addr) bool {
	for _, p := range c.trusted {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// onBadProxyHeader returns the function that counts connections of proxies without a good
// PROXY header. It logs the first as a warning: a proxy that sends none is a mistake in the
// settings.
func (e *Edge) onBadProxyHeader() func(proxy netip.Addr, err error) {
	var warned atomic.Bool
	return func(proxy netip.Addr, err error) {
		e.meters.badProxyHeaders.Inc()
		level := slog.LevelDebug
		if !warned.Swap(true) {
			level = slog.LevelWarn
		}
		e.log.Log(context.Background(), level, "a connection of a proxy has no good PROXY header; see --proxy-protocol",
			"proxy", proxy.String(), "err", err)
	}
}

// addr returns the address of the client: the remote address, or if that is a
// trusted proxy, the last address in X-Forwarded-For that is not. A client can make up
// everything before it.
func (c clients) addr(ctx *fasthttp.RequestCtx) netip.Addr {
	client := conn.Addr(ctx.RemoteAddr())
	if len(c.trusted) == 0 || !c.trusts(client) {
		return client
	}
	return c.lastUntrusted(client, string(bytes.Join(ctx.Request.Header.PeekAll("X-Forwarded-For"), []byte(","))))
}

// lastUntrusted returns the last address in the value of X-Forwarded-For that is not of a
// trusted proxy, if client is one. It does not allocate.
func (c clients) lastUntrusted(client netip.Addr, forwarded string) netip.Addr {
	for forwarded != "" && c.trusts(client) {
		i := strings.LastIndexByte(forwarded, ',')
		addr, err := parseNode(forwarded[i+1:])
		if err != nil {
			break
		}
		client, forwarded = addr, forwarded[:max(i, 0)]
	}
	return client
}

// parseNode parses an address with or without a port. An address without one is parsed first,
// as it is common and an error allocates.
func parseNode(s string) (netip.Addr, error) {
	s = strings.TrimSpace(s)
	if a, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
		return a.Unmap().WithZone(""), nil
	}
	ap, err := netip.ParseAddrPort(s)
	return ap.Addr().Unmap().WithZone(""), err
}

// clientNetwork returns the network that a client counts for: its IPv4 address, or the
// /64 that a site has of IPv6, within which it can choose any address. Shorter prefixes
// would make customers of one provider share a limit. Where the origin shortens an
// address further (/24 and /48), it is to store no personal data.
func clientNetwork(a netip.Addr) netip.Addr {
	if a = a.Unmap(); !a.Is6() {
		return a
	}
	p, err := a.WithZone("").Prefix(64)
	if err != nil {
		return a
	}
	return p.Addr()
}

// network returns the network whose share of a limit a client uses. It is invalid
// for a trusted proxy, because all clients may be behind it.
func (c clients) network(client netip.Addr) netip.Addr {
	if !client.IsValid() || c.trusts(client) {
		return netip.Addr{}
	}
	return clientNetwork(client)
}

// scheme returns the scheme by which the client reached the site.
func (c clients) scheme(ctx *fasthttp.RequestCtx) string {
	if len(c.trusted) > 0 && c.trusts(conn.Addr(ctx.RemoteAddr())) {
		if proto := string(ctx.Request.Header.Peek("X-Forwarded-Proto")); proto == "https" || proto == "http" {
			return proto
		}
	}
	if ctx.IsTLS() {
		return "https"
	}
	return "http"
}

// forwardedPrefix begins the header fields by which an authenticating proxy names the
// user.
const forwardedPrefix = "X-Forwarded-"

// setForwarded sets the fields of a request to the origin that describe its client. The
// proxy has removed those that a client may not set (proxy.Config.Prepare); fields that
// name the user are accepted from a trusted proxy only.
func (e *proxyEndpoints) setForwarded(ctx *fasthttp.RequestCtx, h http.Header) {
	if !e.clients.trusts(conn.Addr(ctx.RemoteAddr())) {
		for name := range h {
			if strings.HasPrefix(name, forwardedPrefix) {
				delete(h, name)
			}
		}
	}
	client, scheme, host := e.clients.addr(ctx), e.clients.scheme(ctx), string(ctx.Request.Header.Host())
	if client.IsValid() {
		h.Set("X-Forwarded-For", client.String())
		node := client.String()
		if client.Is6() {
			node = `"[` + node + `]"`
		}
		h.Set("Forwarded", fmt.Sprintf("for=%s;host=%q;proto=%s", node, host, scheme))
	}
	if !e.hosts.isSite(host) {
		e.auth.setNodeToken(h, client.String())
	}
	h.Set("X-Forwarded-Proto", scheme) // no X-Forwarded-Host: Host is not changed
	h.Set(fieldmark.HeaderRequestID, requestID(ctx))
}

// originAuth authenticates the node's own requests to the origin.
type originAuth struct {
	token  string       // Config.NodeToken
	proven *atomic.Bool // replicaState.originProven
}

// setNodeToken adds the node token to a request to the origin, and the address of the
// client that the request is for, unless it is empty. It does so only after the origin
// has answered a request for its event log: the token must not be sent to another site
// in its place, which could use it.
func (a *originAuth) setNodeToken(h http.Header, client string) {
	if a.token == "" || !a.proven.Load() {
		return
	}
	h.Set(fieldmark.HeaderNode, a.token)
	if client != "" {
		h.Set(fieldmark.HeaderClient, client)
	}
}
