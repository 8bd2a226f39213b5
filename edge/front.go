package edge

import (
	"bytes"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/conn"
)

// DefaultInflight bounds the requests a node answers at once. A request takes a
// few microseconds if it is a hit; thousands at once are all waiting for an
// origin, and one more would wait behind them.
const DefaultInflight = 4096

// hstsHeader has browsers that were shown a page over https come by https for
// a year, as the admin console does. What is passed on says for itself what it wants.
const hstsHeader = "max-age=31536000"

// front does for every request what does not depend on its address: it refuses
// what there is no room for, and writes what every answer carries.
func (e *Edge) front(ctx *fasthttp.RequestCtx) route {
	flying := e.inFlight.Add(1)
	defer e.inFlight.Add(-1)
	var r route
	switch {
	case flying > int64(e.cfg.Inflight):
		r = routeRefused
		e.meters.shed.Inc()
		e.fail(ctx, errOverloaded())
	case !isOriginForm(ctx.RequestURI()):
		r = e.oddForm(ctx)
	default:
		r = e.route(ctx)
	}
	if e.leaving.Load() {
		ctx.SetConnectionClose()
	}
	if ctx.Hijacked() {
		conn.SetTunnel(ctx)
	}
	if r == routePage && e.scheme(ctx) == "https" {
		ctx.Response.Header.Set("Strict-Transport-Security", hstsHeader)
	}
	if e.cfg.ServerTiming {
		ctx.Response.Header.Set("Server-Timing", fmt.Sprintf("edge;dur=%.3f", float64(time.Since(ctx.Time()).Microseconds())/1000))
	}
	return r
}

// errOverloaded is the answer to a request there is no room for. Clients come back
// at different times.
func errOverloaded() *fieldmark.Error {
	return &fieldmark.Error{Code: fieldmark.CodeOverloaded, Detail: "too much is asked at once just now; repeat the request a little later", RetryAfter: jittered(time.Second)}
}

// isOriginForm reports whether a request's address is a path.
func isOriginForm(target []byte) bool { return len(target) > 0 && target[0] == '/' }

// oddForm answers the other two forms of an address (RFC 9112, 3.2): an absolute
// one must name the host that Host names, and is the path in it.
func (e *Edge) oddForm(ctx *fasthttp.RequestCtx) route {
	target := ctx.RequestURI()
	if string(target) == "*" {
		ctx.Response.Header.Set("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
		ctx.SetStatusCode(fasthttp.StatusNoContent)
		return routePassed
	}
	_, rest, _ := bytes.Cut(target, []byte("://"))
	end := bytes.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	if !bytes.EqualFold(rest[:end], ctx.Request.Header.Host()) {
		e.fail(ctx, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "the address names another host than Host"))
		return routeRefused
	}
	path := string(rest[end:])
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	ctx.Request.SetRequestURI(path)
	return e.route(ctx)
}

// trusts reports whether what a peer says of its own client is believed.
func (e *Edge) trusts(peer netip.Addr) bool {
	for _, p := range e.cfg.TrustedNetworks {
		if p.Contains(peer) {
			return true
		}
	}
	return false
}

// clientAddr is who asks: the peer, or whom a trusted peer says it asks for. Of a
// chain the last address that is not trusted counts: everything before it can be
// made up.
func (e *Edge) clientAddr(ctx *fasthttp.RequestCtx) netip.Addr {
	at := conn.Addr(ctx.RemoteAddr())
	if len(e.cfg.TrustedNetworks) == 0 || !e.trusts(at) {
		return at
	}
	chain := strings.Split(string(bytes.Join(ctx.Request.Header.PeekAll("X-Forwarded-For"), []byte(","))), ",")
	for i := len(chain) - 1; i >= 0; i-- {
		a, err := parseNode(chain[i])
		if err != nil {
			break
		}
		if at = a; !e.trusts(a) {
			break
		}
	}
	return at
}

// parseNode reads an address with or without a port.
func parseNode(s string) (netip.Addr, error) {
	s = strings.TrimSpace(s)
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return ap.Addr().Unmap().WithZone(""), nil
	}
	a, err := netip.ParseAddr(strings.Trim(s, "[]"))
	return a.Unmap().WithZone(""), err
}

// scheme is how the client reached the site.
func (e *Edge) scheme(ctx *fasthttp.RequestCtx) string {
	if len(e.cfg.TrustedNetworks) > 0 && e.trusts(conn.Addr(ctx.RemoteAddr())) {
		if said := string(ctx.Request.Header.Peek("X-Forwarded-Proto")); said == "https" || said == "http" {
			return said
		}
	}
	if ctx.IsTLS() {
		return "https"
	}
	return "http"
}

// forwardedPrefix begins the fields by which a proxy that signs people in says who
// somebody is.
const forwardedPrefix = "X-Forwarded-"

// setForwarded writes into a request to the origin who its client is. What a client may
// not say of that is out already (proxy.Config.Prepare); who somebody is, only a
// trusted proxy may say.
func (e *Edge) setForwarded(ctx *fasthttp.RequestCtx, h http.Header) {
	if !e.trusts(conn.Addr(ctx.RemoteAddr())) {
		for name := range h {
			if strings.HasPrefix(name, forwardedPrefix) {
				delete(h, name)
			}
		}
	}
	client, scheme, host := e.clientAddr(ctx), e.scheme(ctx), string(ctx.Request.Header.Host())
	if client.IsValid() {
		h.Set("X-Forwarded-For", client.String())
		node := client.String()
		if client.Is6() {
			node = `"[` + node + `]"`
		}
		h.Set("Forwarded", fmt.Sprintf("for=%s;host=%q;proto=%s", node, host, scheme))
	}
	if !e.isSite(host) {
		e.setNodeToken(h, client.String())
	}
	h.Set("X-Forwarded-Proto", scheme) // Host is passed on as it came, so its twin says nothing new
	h.Set(fieldmark.HeaderRequestID, requestID(ctx))
}

// setNodeToken writes into a request to the origin for which client the edge sends it,
// if for one, and the node token that proves it. It does so only once the origin has answered a question
// about its event log: the token must not be shown to a site that the edge is put
// before, which may pass it on to anybody.
func (e *Edge) setNodeToken(h http.Header, client string) {
	if e.cfg.NodeToken == "" || !e.replica.originProven.Load() {
		return
	}
	h.Set(fieldmark.HeaderNode, e.cfg.NodeToken)
	if client != "" {
		h.Set(fieldmark.HeaderClient, client)
	}
}

// Cross-origin access to the API that needs no cookie. Keys travel in
// Authorization, which a script has to be given; so any site may ask.
const (
	corsMethods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
	corsHeaders = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Traceparent, X-Request-Id"
	corsExposed = "Allow, API-Key-Expires, Content-Disposition, Deprecation, ETag, Idempotency-Replayed, Link, Llms-Txt-Warnings, Location, " +
		"Mission-Deduplicated, RateLimit, RateLimit-Policy, Retry-After, Sunset, WWW-Authenticate, X-Request-Id"
	corsSeconds = 86400
)

// isPublicAPI reports whether scripts of other sites may ask there.
func isPublicAPI(path []byte) bool {
	return bytes.HasPrefix(path, publicPath) || bytes.HasPrefix(path, llmsPath)
}

var (
	publicPath = []byte(fieldmark.PathPublic)
	llmsPath   = []byte(fieldmark.PathLLMs)
)

// preflight answers a browser that asks what a script may do.
func (e *Edge) preflight(ctx *fasthttp.RequestCtx) route {
	h := &ctx.Response.Header
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", corsHeaders)
	h.Set("Access-Control-Max-Age", strconv.Itoa(corsSeconds))
	ctx.SetStatusCode(fasthttp.StatusNoContent)
	return routePassed
}

// isPreflight reports whether a browser asks before a script does.
func isPreflight(ctx *fasthttp.RequestCtx) bool {
	return ctx.IsOptions() && len(ctx.Request.Header.Peek("Access-Control-Request-Method")) > 0
}

// allowCORS lets scripts of other sites read an answer.
func allowCORS(ctx *fasthttp.RequestCtx) {
	h := &ctx.Response.Header
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", corsExposed)
}
