package edge

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/accesslog"
	"github.com/fieldmark/fieldmark/edge/conn"
)

// DefaultInflight bounds the requests that a node answers at once. A hit takes a few
// microseconds, so thousands at once are all waiting for an origin, and one more would
// only wait with them.
const DefaultInflight = conn.DefaultInflight

// defaultHSTS makes browsers that saw a page over https use https for a year, unless
// Config.HSTS is set. The origin sends its own with the admin console.
const defaultHSTS = 365 * 24 * time.Hour

// hstsValue returns the value of Strict-Transport-Security (RFC 6797, 6.1). It leaves out
// includeSubDomains: other hosts of the domain may not have TLS.
func hstsValue(d time.Duration) string {
	return "max-age=" + strconv.FormatInt(int64(d/time.Second), 10)
}

// serve is the handler of every request that the fast path does not answer. In this
// order, it reads a short body, refuses what is too much (admit), finds the endpoint
// (find), enforces the client's rate limit and allows cross-origin access (dispatch),
// calls the endpoint, and sets the header fields that every response has (finish).
func (e *Edge) serve(ctx *fasthttp.RequestCtx) {
	defer e.requestLog.request(ctx)
	defer closeUnread(ctx)
	defer e.responder.recoverPanic(ctx)
	if !e.responder.bufferBody(ctx) {
		return
	}
	began := time.Now()
	r := routeRefused
	inFlight := e.inFlight.Add(1)
	defer e.inFlight.Add(-1)
	if e.admit(ctx, inFlight) {
		r = e.dispatch(ctx, e.find(ctx))
	}
	e.finish(ctx, r)
	e.meters.count(r, ctx.Response.StatusCode())
	since(e.meters.took[r], began)
}

// admit refuses a request if too many are in flight, if it may be a replay, or if its target
// is not acceptable. It turns an absolute target (RFC 9112, 3.2.2) into the path that it names.
func (e *Edge) admit(ctx *fasthttp.RequestCtx, inFlight int64) bool {
	if inFlight > int64(e.cfg.Inflight) {
		e.meters.shed.Inc()
		e.responder.fail(ctx, errOverloaded())
		return false
	}
	// A proxy in front received the request in early data, which an attacker can replay
	// (RFC 8470, 5.1 and 5.2). The edge's own early data never gets here.
	if early := ctx.Request.Header.Peek("Early-Data"); len(early) > 0 && isWrite(ctx) {
		e.responder.fail(ctx, fieldmark.Errorf(fieldmark.CodeTooEarly,
			"%s requests are not answered in early data, which can be replayed", ctx.Method()))
		return false
	}
	target := ctx.RequestURI()
	if isOriginForm(target) || string(target) == "*" {
		return true
	}
	_, rest, _ := bytes.Cut(target, []byte("://"))
	end := bytes.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	if !bytes.EqualFold(rest[:end], ctx.Request.Header.Host()) {
		e.responder.fail(ctx,
			fieldmark.Errorf(fieldmark.CodeInvalidParameter, "the address names another host than Host"))
		return false
	}
	path := string(rest[end:])
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	ctx.Request.SetRequestURI(path)
	return true
}

// isOriginForm reports whether a request target is a path.
func isOriginForm(target []byte) bool { return len(target) > 0 && target[0] == '/' }

// errOverloaded is the answer to a request above a limit. Its Retry-After differs, so
// that clients do not repeat their requests at the same time.
func errOverloaded() *fieldmark.Error {
	return &fieldmark.Error{Code: fieldmark.CodeOverloaded, RetryAfter: jittered(time.Second),
		Detail: "too much is asked at once just now; repeat the request a little later"}
}

// dispatch calls an endpoint and returns the route to count the request for.
func (e *Edge) dispatch(ctx *fasthttp.RequestCtx, p *endpoint) route {
	switch {
	case p.get != nil:
		return e.responder.get(ctx, p.route, p.get)
	case p.limited == unlimited:
		return p.serve(ctx)
	}
	if isPublicAPI(ctx.Path()) {
		defer allowCORS(ctx)
	}
	return e.limiter.limit(ctx, p.limited, p.serve)
}

// get calls a handler for GET and HEAD, answers OPTIONS for scripts of other sites, and
// refuses every other method.
func (w *responder) get(ctx *fasthttp.RequestCtx, r route, handler func(*fasthttp.RequestCtx)) route {
	switch {
	case ctx.IsGet(), ctx.IsHead():
		handler(ctx)
	case ctx.IsOptions():
		h := &ctx.Response.Header
		h.Set("Allow", "GET, HEAD, OPTIONS")
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS")
		h.Set("Access-Control-Allow-Headers", "If-None-Match")
		h.Set("Access-Control-Max-Age", "86400")
		ctx.SetStatusCode(fasthttp.StatusNoContent)
	default:
		ctx.Response.Header.Set("Allow", "GET, HEAD, OPTIONS")
		w.fail(ctx, fieldmark.Errorf(fieldmark.CodeMethodNotAllowed, "only GET, HEAD and OPTIONS are answered here"))
	}
	return r
}

// finish sets what every response has, whatever the route.
func (e *Edge) finish(ctx *fasthttp.RequestCtx, r route) {
	if e.leaving.Load() {
		ctx.SetConnectionClose()
	}
	if ctx.Hijacked() {
		conn.SetTunnel(ctx)
	}
	h := &ctx.Response.Header
	e.setAltSvc(ctx)
	if e.cfg.HSTS > 0 {
		h.Set("Strict-Transport-Security", hstsValue(e.cfg.HSTS))
	} else if r == routePage && e.clients.scheme(ctx) == "https" {
		h.Set("Strict-Transport-Security", hstsValue(defaultHSTS))
	}
	if e.cfg.ServerTiming {
		h.Set("Server-Timing", fmt.Sprintf("edge;dur=%.3f", float64(time.Since(ctx.Time()).Microseconds())/1000))
	}
}

// Cross-origin access to the public API, which uses no cookies. A key is sent in
// Authorization, which a script must be given, so every site may send requests.
const (
	corsMethods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
	corsHeaders = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Prefer, Traceparent, " +
		"X-Request-Id"
	corsExposed = "Allow, API-Key-Expires, Content-Disposition, Deprecation, ETag, Fieldmark-Dry-Run, " +
		"Fieldmark-World, Idempotency-Replayed, Link, Llms-Txt-Warnings, " +
		"Location, Mission-Deduplicated, Preference-Applied, RateLimit, RateLimit-Policy, Retry-After, Sunset, " +
		"WWW-Authenticate, X-Request-Id"
	corsSeconds = 86400
)

// isPublicAPI reports whether scripts of other sites may send requests to path.
func isPublicAPI(path []byte) bool {
	return bytes.HasPrefix(path, publicPath) || bytes.HasPrefix(path, llmsPath)
}

var (
	publicPath = []byte(fieldmark.PathPublic)
	llmsPath   = []byte(fieldmark.PathLLMs)
)

// preflight answers a preflight request to the public API.
func preflight(ctx *fasthttp.RequestCtx) route {
	h := &ctx.Response.Header
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", corsHeaders)
	h.Set("Access-Control-Max-Age", strconv.Itoa(corsSeconds))
	ctx.SetStatusCode(fasthttp.StatusNoContent)
	return routePassed
}

// isPreflight reports whether a request is a preflight request, which a browser sends
// before that of a script.
func isPreflight(ctx *fasthttp.RequestCtx) bool {
	return ctx.IsOptions() && len(ctx.Request.Header.Peek("Access-Control-Request-Method")) > 0
}

// allowCORS lets scripts of other sites read the response.
func allowCORS(ctx *fasthttp.RequestCtx) {
	h := &ctx.Response.Header
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", corsExposed)
}

// requestLog gives requests to the access log.
type requestLog struct {
	log     *accesslog.Log // nil: none
	clients clients
}

// hit logs a badge that the fast path answered. Its duration is below a millisecond and
// not measured, and it has no request id: a request with one is not served by the fast path.
// It does not allocate.
func (l requestLog) hit(r *conn.SimpleRequest, status, size int) {
	if r.Peer == nil || !l.log.Selects(status) {
		return
	}
	path, _, _ := bytes.Cut(r.Target, queryMark)
	l.log.Add(&accesslog.Entry{Time: time.Now(), Client: l.clients.lastUntrusted(r.Peer.Addr, text(r.ForwardedFor)),
		Method: http.MethodGet, Host: text(r.Host), Path: text(path), Protocol: r.Peer.Protocol, Status: status,
		Bytes: int64(size), Cache: "hit"})
}

var queryMark = []byte("?")

// request logs every other request. It must be called when the response is complete.
func (l requestLog) request(ctx *fasthttp.RequestCtx) {
	if l.log != nil {
		l.add(ctx, accesslog.Entry{Method: string(ctx.Method()), Host: string(ctx.Host()), Path: string(ctx.Path())})
	}
}

// refused logs a request that fasthttp did not get, if its method has arrived.
func (l requestLog) refused(ctx *fasthttp.RequestCtx) {
	if l.log == nil {
		return
	}
	if method, target, host := conn.RefusedRequest(ctx); method != "" {
		l.add(ctx, accesslog.Entry{Method: method, Host: host, Path: refusedPath(target)})
	}
}

// refusedPath returns the path of a request target of any form, decoded as far as it can be.
// A host in it, which may come with a password, is left out.
func refusedPath(target string) string {
	if i := strings.IndexAny(target, "?#"); i >= 0 {
		target = target[:i]
	}
	if !strings.HasPrefix(target, "/") && target != "*" {
		_, rest, _ := strings.Cut(target, "://")
		i := strings.IndexByte(rest, '/')
		if i < 0 {
			return ""
		}
		target = rest[i:]
	}
	if path, err := url.PathUnescape(target); err == nil {
		return path
	}
	return target
}

// add completes the entry of a request.
func (l requestLog) add(ctx *fasthttp.RequestCtx, entry accesslog.Entry) {
	entry.Time, entry.Status, entry.Client = ctx.Time(), ctx.Response.StatusCode(), l.clients.addr(ctx)
	entry.Path, entry.Cache = fieldmark.LoggedPath(entry.Path), ownCacheStatus(&ctx.Response.Header)
	if id, ok := ctx.UserValue(requestIDKey{}).(string); ok {
		entry.RequestID = id
	} else if id := string(ctx.Request.Header.Peek(fieldmark.HeaderRequestID)); fieldmark.ValidRequestID(id) {
		entry.RequestID = id
	}
	conn.LogRequest(ctx, entry)
}

// ownCacheStatus returns the parameters of this edge's member of Cache-Status, such as "hit" or
// "fwd=miss; stored". Responses of caches have the field in one block with others.
func ownCacheStatus(h *fasthttp.ResponseHeader) (status string) {
	const field = "Cache-Status: " + serverName
	for name, value := range h.All() {
		block := string(name) + ": " + string(value)
		if i := strings.LastIndex(block, field); i >= 0 {
			status, _, _ = strings.Cut(block[i+len(field):], "\r\n")
		}
	}
	return strings.TrimPrefix(status, "; ")
}

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
	spools bool         // the node has a spool, which needs the keys
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
	if a.spools {
		h.Set(fieldmark.HeaderSpool, "1")
	}
	if client != "" {
		h.Set(fieldmark.HeaderClient, client)
	}
}
