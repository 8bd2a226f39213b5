package edge

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/cache/rfc9111"
	"github.com/fieldmark/fieldmark/edge/conn/framing"
	"github.com/fieldmark/fieldmark/edge/proxy"
	"github.com/fieldmark/fieldmark/edge/proxy/upstream"
	"github.com/fieldmark/fieldmark/edge/spool"
	"github.com/fieldmark/fieldmark/internal/slots"
	"github.com/fieldmark/fieldmark/internal/trace"
)

// newTransport returns what carries requests to the origin and to sites, within the limits of a client network.
func (e *Edge) newTransport(cfg Config) (http.RoundTripper, error) {
	next := cfg.Transport
	if next == nil {
		own, err := upstream.New(upstream.Config{Origins: []*url.URL{cfg.OriginURL}, Log: cfg.Log})
		if err != nil {
			return nil, err
		}
		next = own
	}
	if cfg.Tracer != nil {
		next = &trace.Transport{Next: next, Tracer: cfg.Tracer, Name: "edge.pass", Roots: true}
	}
	if cfg.Site != nil {
		next = &byHost{hosts: e.hosts, origin: next, site: cfg.Site}
	}
	atOrigin := cfg.Inflight / 2
	return &originTransport{
		next: next, limits: e.limiter.limits, spool: cfg.Spool, onReject: e.meters.shed.Inc,
		headTimeout: e.hosts.headTimeout, network: e.clients.network,
		requests: newSlots(atOrigin, upstream.MaxConns), tunnels: newSlots(min(atOrigin, maxTunnels), maxTunnels),
	}, nil
}

// proxyEndpoints serve all requests outside the edge's own routes.
type proxyEndpoints struct {
	*responder
	clients clients
	hosts   *siteHosts
	auth    *originAuth
	proxy   *proxy.Proxy
	uploads *slots.Slots[netip.Addr] // bodies that are passed on as they come
}

// newProxyEndpoints builds the caching proxy. Responses are shared over Redis only if the operator chose it, because
// a client that can write to Redis could delete or replay them; entries are sealed with the node token.
func (e *Edge) newProxyEndpoints(cfg Config) (*proxyEndpoints, error) {
	p := &proxyEndpoints{responder: e.responder, clients: e.clients, hosts: e.hosts, auth: e.auth,
		uploads: newSlots(maxUploads, maxUploads)}
	var shared *cache.SharedVariants
	if cfg.PassShared {
		shared = e.cache.SharedVariants()
	}
	var err error
	p.proxy, err = proxy.New(proxy.Config{
		Transport: e.transport, Scheme: cfg.OriginURL.Scheme, Host: cfg.OriginURL.Host,
		Profile: cfg.Profile, Bytes: cfg.PassBytes, Fields: cfg.PassFields,
		IgnoreCookies: cfg.IgnoreCookies, CookielessPaths: cfg.CookielessPaths,
		Shared: shared, AsOf: e.replica.purged.Load,
		Prepare:   p.setForwarded,
		BodyLimit: func(ctx *fasthttp.RequestCtx) int64 { return e.hosts.bodyLimit(ctx.Host(), ctx.Path()) },
		Fail:      p.failPass,
		Strip:     []string{fieldmark.HeaderEdition}, // between us and the origin only
		Events:    e.meters.proxyEvents(),
	})
	return p, err
}

// byHost sends requests for the site's hosts to the site, and all others to the origin.
type byHost struct {
	hosts        *siteHosts
	origin, site http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b *byHost) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.hosts.isSite(r.Host) {
		return b.site.RoundTrip(r)
	}
	return b.origin.RoundTrip(r)
}

// siteHosts are the hosts of the sites behind the edge, and the limits of requests to them.
type siteHosts struct {
	own, origin string // host of BaseURL without its port, and of OriginURL with it
	proxyOnly   bool   // every host is a site's: the node has no token
	hasSite     bool   // Config.Site is set
	passBody    int64  // Config.PassBody
}

// isSite reports whether all requests to a host go to a site behind the edge. Requests that
// the edge makes itself have no host, or that of the origin.
func (s *siteHosts) isSite(host string) bool {
	switch {
	case s.proxyOnly:
		return true
	case !s.hasSite || host == "" || host == s.origin:
		return false
	}
	return !strings.EqualFold((&url.URL{Host: host}).Hostname(), s.own)
}

// serve sends the request to the origin, or serves a cached response.
func (e *proxyEndpoints) serve(ctx *fasthttp.RequestCtx) {
	if ctx.Request.IsBodyStream() {
		release, ok := e.uploads.Acquire(e.clients.network(e.clients.addr(ctx)))
		if !ok {
			e.meters.shed.Inc()
			e.fail(ctx, errOverloaded())
			return
		}
		defer release()
	}
	e.proxy.Serve(ctx)
}

// failPass sends the error of a request that could not be passed on.
func (e *proxyEndpoints) failPass(ctx *fasthttp.RequestCtx, err error) {
	if _, large := errors.AsType[*proxy.TooLargeError](err); large || errors.Is(err, proxy.ErrBody) {
		e.fail(ctx, bodyError(ctx.Path(), err))
		return
	}
	ctx.SetUserValue(notSentKey{}, !errors.Is(err, proxy.ErrRefused) && upstream.NotSent(err))
	e.fail(ctx, passError(err))
}

// notSentKey is the user value of a request that got no answer: whether no origin took a connection for it.
type notSentKey struct{}

// passError returns the public error of a request that could not be passed on.
func passError(err error) error {
	if limited, ok := errors.AsType[*limitError](err); ok {
		return limited
	}
	if fe, ok := errors.AsType[*fieldmark.Error](err); ok {
		return fe
	}
	if refused, ok := errors.AsType[*framing.Error](err); ok {
		return errMalformed(refused)
	}
	var ne net.Error
	switch {
	case errors.Is(err, proxy.ErrTarget):
		return fieldmark.Errorf(fieldmark.CodeInvalidParameter, "the request target must be a path")
	case errors.Is(err, proxy.ErrNotCached):
		return fieldmark.Errorf(fieldmark.CodeTimeout,
			"the answer is not in the cache, and the request accepts only cached answers")
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &ne) && ne.Timeout():
		return errOriginTimeout(err)
	}
	return &fieldmark.Error{Code: fieldmark.CodeOriginUnavailable,
		Detail: "the origin cannot be reached just now; repeat the request a little later", Err: err}
}

// originTransport limits the requests in flight to the origin, in total and per client
// network, and records key quotas from response headers.
type originTransport struct {
	next   http.RoundTripper
	limits *rateLimiter
	spool  *spool.Spool // records keys; nil: none
	// requests and tunnels are what is under way, in total and for each network.
	requests, tunnels *slots.Slots[netip.Addr]
	network           func(client netip.Addr) netip.Addr // that a client is counted for
	onReject          func()
	headTimeout       func(*http.Request) time.Duration // for the head of an answer
}

// RoundTrip implements http.RoundTripper. A refusal wraps a *fieldmark.Error; what
// is cached may be sent in its place.
func (o *originTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	use := o.requests
	if rfc9111.IsWebSocketUpgrade(r.Header) {
		use = o.tunnels
	}
	network := o.network(clientOfRequest(r))
	release, ok := use.Acquire(network)
	if !ok {
		o.onReject()
		return nil, refuseRequest(r, errOverloaded())
	}
	if err := o.limits.checkQuota(r.Context(), r.URL.Path, network); err != nil {
		release()
		return nil, refuseRequest(r, err)
	}
	resp, end, err := roundTripWithin(o.next, r, o.headTimeout(r))
	if err != nil {
		release()
		return nil, err
	}
	done := func() { release(); end() }
	if o.spool != nil {
		observeKeyForSpool(o.spool, r.Header.Get("Authorization"), resp)
	}
	o.limits.observeKey(r.Header.Get("Authorization"), resp)
	if rw, ok := resp.Body.(io.ReadWriteCloser); ok && resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Body = &trackedConn{rw, done}
	} else {
		resp.Body = &trackedBody{resp.Body, done}
	}
	return resp, nil
}

// clientOfRequest returns the client that the edge sends r for; it is invalid if no client
// caused r.
func clientOfRequest(r *http.Request) netip.Addr {
	client, err := netip.ParseAddr(cmp.Or(r.Header.Get(fieldmark.HeaderClient), r.Header.Get("X-Forwarded-For")))
	if err != nil {
		return netip.Addr{}
	}
	return client
}

// checkQuota counts a request to the origin for the network of its client; an invalid
// network is not counted.
func (l *rateLimiter) checkQuota(ctx context.Context, path string, network netip.Addr) error {
	if !network.IsValid() || l.limiter == nil || l.network.Quota == 0 {
		return nil
	}
	b := bucket{name: "network", key: "network:" + network.String(), rate: l.network}
	v := l.limiter.Take(ctx, b.key, b.rate)
	if v.Allowed {
		return nil
	}
	return &limitError{errRateLimited([]byte(path), b, v), b, v}
}

// refuseRequest closes the body of a request that is not sent, as a RoundTripper must, and
// wraps err in ErrRefused. The error does not count against the origin's health and does
// not apply to other requests that wait for the same response.
func refuseRequest(r *http.Request, err error) error {
	if r.Body != nil {
		r.Body.Close()
	}
	return fmt.Errorf("%w: %w", proxy.ErrRefused, err)
}

// trackedBody counts a response as in flight until it is read.
type trackedBody struct {
	io.ReadCloser
	release func()
}

// Close implements io.Closer.
func (b *trackedBody) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}

// trackedConn counts a tunnel as in flight until it ends.
type trackedConn struct {
	io.ReadWriteCloser
	release func()
}

// Close implements io.Closer.
func (t *trackedConn) Close() error {
	defer t.release()
	return t.ReadWriteCloser.Close()
}

// intakeEndpoints accept requests that create missions while no origin can be reached, and answer what became
// of them. Everything else is passed on as without a spool.
type intakeEndpoints struct {
	*responder
	clients clients
	spool   *spool.Spool
	proxied *proxyEndpoints
	pages   *pageWriter
}

func (e *Edge) newIntakeEndpoints() *intakeEndpoints {
	e.meters.watchSpool(e.cfg.Spool)
	return &intakeEndpoints{e.responder, e.clients, e.cfg.Spool, e.proxied, e.pages}
}

func (e *intakeEndpoints) routes() []endpoint {
	return []endpoint{
		{path: fieldmark.PathMissions, when: (*fasthttp.RequestCtx).IsPost, serve: e.create, limited: byKey},
		{path: fieldmark.PathAlerts, prefix: true, when: isWrite, serve: e.create, limited: byKey},
		{path: fieldmark.PathIntake, prefix: true, serve: e.status, limited: byKey},
	}
}

// create passes a request on, and accepts it if no origin took it.
func (e *intakeEndpoints) create(ctx *fasthttp.RequestCtx) route {
	key, ok := e.acceptable(ctx)
	if ok && e.isAlert(ctx) && e.spool.Holds(key.Account, alertSource(ctx)) {
		e.accept(ctx, key)
		return routePassed
	}
	e.proxied.serve(ctx)
	// What an origin answered may have the news that the key is no longer valid.
	if ok && noOrigin(ctx) {
		e.accept(ctx, key)
	}
	e.pages.renderErrorPage(ctx)
	return routePassed
}

// noOrigin reports whether no origin took a request, or one answered that it can take none now.
func noOrigin(ctx *fasthttp.RequestCtx) bool {
	if notSent, failed := ctx.UserValue(notSentKey{}).(bool); failed {
		return notSent
	}
	if ctx.Response.StatusCode() != http.StatusServiceUnavailable {
		return false
	}
	var problem struct {
		Code fieldmark.Code `json:"code"`
	}
	return json.Unmarshal(ctx.Response.Body(), &problem) == nil && problem.Code == fieldmark.CodeOverloaded
}

func (e *intakeEndpoints) isAlert(ctx *fasthttp.RequestCtx) bool {
	return strings.HasPrefix(text(ctx.Path()), fieldmark.PathAlerts)
}

// alertSource returns the source of the missions of a notification.
func alertSource(ctx *fasthttp.RequestCtx) string {
	if source := ctx.QueryArgs().Peek("source"); len(source) > 0 {
		return string(source)
	}
	return strings.TrimPrefix(string(ctx.Path()), fieldmark.PathAlerts)
}

// acceptable reports whether a request may be accepted if no origin takes it, and returns the key that sent
// it. It reads the body, which is then both passed on and stored.
func (e *intakeEndpoints) acceptable(ctx *fasthttp.RequestCtx) (spool.Key, bool) {
	h, limit := &ctx.Request.Header, int64(fieldmark.MaxAlertBody)
	if !e.isAlert(ctx) {
		if !prefersAsync(h) || len(ctx.URI().QueryString()) > 0 {
			return spool.Key{}, false // a dry run needs an origin
		}
		limit = fieldmark.MaxBody
	}
	// Agents have limits that only an origin can count.
	if len(h.Peek("Content-Encoding")) > 0 || len(h.Peek(fieldmark.HeaderAgent)) > 0 ||
		len(h.PeekAll("Authorization")) != 1 || len(h.PeekAll(fieldmark.HeaderIdempotencyKey)) > 1 {
		return spool.Key{}, false
	}
	hash, ok := parseKey(h.Peek("Authorization"))
	if !ok || int64(h.ContentLength()) > limit || readBody(ctx, limit) != nil {
		return spool.Key{}, false
	}
	return e.spool.Key(hash, e.clients.addr(ctx), time.Now())
}

// prefersAsync reports whether a request has the preference respond-async (RFC 7240, 4.1).
func prefersAsync(h *fasthttp.RequestHeader) bool {
	for _, field := range h.PeekAll("Prefer") {
		for preference := range strings.SplitSeq(string(field), ",") {
			name, _, _ := strings.Cut(preference, ";")
			if strings.EqualFold(strings.TrimSpace(name), "respond-async") {
				return true
			}
		}
	}
	return false
}

// accept stores a request and answers 202. A request that could never be carried out is refused now. If it
// cannot be stored, the answer is that no origin can be reached.
func (e *intakeEndpoints) accept(ctx *fasthttp.RequestCtx, key spool.Key) {
	r, err := e.spoolRequest(ctx, key)
	var accepted fieldmark.Intake
	if err == nil {
		accepted, err = e.spool.Accept(r)
	}
	ctx.Response.Reset()
	ctx.RemoveUserValue(notSentKey{})
	switch {
	case errors.Is(err, spool.ErrConflict):
		err = fieldmark.Errorf(fieldmark.CodeMissionExists,
			"source and externalId are those of another request that was accepted and waits for an origin")
	case errors.Is(err, spool.ErrReused):
		err = fieldmark.Errorf(fieldmark.CodeIdempotencyReused, "the key was sent with another body before")
	case err != nil && !isPublic(err):
		e.log.Error("accept a request without an origin", "requestId", requestID(ctx), "err", err)
		err = &fieldmark.Error{Code: fieldmark.CodeOriginUnavailable,
			Detail: "the origin cannot be reached just now; repeat the request a little later", Err: err}
	}
	if err != nil {
		e.fail(ctx, err)
		return
	}
	h := &ctx.Response.Header
	if !e.isAlert(ctx) {
		h.Set("Preference-Applied", "respond-async")
	}
	h.Set("Location", fieldmark.PathIntake+accepted.ID)
	e.sendIntake(ctx, http.StatusAccepted, accepted)
}

// isPublic reports whether an error may be shown to a client as it is. Any other is logged and answered as an
// unavailable origin.
func isPublic(err error) bool { _, ok := errors.AsType[*fieldmark.Error](err); return ok }

// sendIntake sends the state of an accepted request. It is stored by no cache: the state changes, and its id is
// known to one client.
func (e *intakeEndpoints) sendIntake(ctx *fasthttp.RequestCtx, status int, v fieldmark.Intake) {
	body, err := json.Marshal(v)
	if err != nil {
		e.fail(ctx, err)
		return
	}
	h := &ctx.Response.Header
	h.SetContentType("application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set(fieldmark.HeaderRequestID, requestID(ctx))
	ctx.SetStatusCode(status)
	ctx.Response.SetBody(append(body, '\n'))
	ctx.Response.SkipBody = ctx.IsHead()
}

// spoolRequest returns the request to store, or why no origin would carry it out.
func (e *intakeEndpoints) spoolRequest(ctx *fasthttp.RequestCtx, key spool.Key) (*spool.Request, error) {
	h, body := &ctx.Request.Header, bytes.Clone(ctx.Request.Body())
	r := &spool.Request{Key: key, Content: sha256.Sum256(body), SpooledRequest: fieldmark.SpooledRequest{Key: key.ID,
		Agent: string(h.UserAgent()), RequestID: requestID(ctx), Method: string(ctx.Method()),
		Target: string(ctx.RequestURI()), ContentType: string(h.ContentType()), Body: body}}
	if client := e.clients.addr(ctx); client.IsValid() {
		r.Client = client.String()
	}
	if e.isAlert(ctx) { // it may be received twice, and an idempotency key could not be kept with its effects
		r.Source = alertSource(ctx)
		if !json.Valid(body) {
			return nil, fieldmark.Errorf(fieldmark.CodeMalformedJSON, "the body is not JSON")
		}
		return r, nil
	}
	r.IdempotencyKey = string(h.Peek(fieldmark.HeaderIdempotencyKey))
	m, err := checkMission(body)
	if err != nil {
		return nil, err
	}
	r.Source, r.ExternalID = m.Source, m.ExternalID
	m.Source = strings.ToLower(m.Source)
	// The order of members and space do not matter, as for the fingerprint of a mission.
	canonical, err := json.Marshal(m)
	r.Content = sha256.Sum256(canonical)
	return r, err
}

// checkMission decodes a request for a mission and checks what an edge can: its form, its members, and what
// identifies it. An origin checks all of it when it carries the request out.
func checkMission(body []byte) (m fieldmark.MissionRequest, err error) {
	if !json.Valid(body) {
		return m, fieldmark.Errorf(fieldmark.CodeMalformedJSON, "the body is not JSON")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return m, &fieldmark.Error{Code: fieldmark.CodeValidationFailed,
			Detail: "a member is unknown or has a wrong type", Err: err}
	}
	var bad []fieldmark.FieldError
	for _, f := range []struct {
		pointer, value string
		most           int
	}{{"/source", m.Source, maxSource}, {"/externalId", m.ExternalID, maxExternalID}, {"/title", m.Title, maxTitle}} {
		switch {
		case fieldmark.IsBlank(f.value):
			bad = append(bad, fieldmark.FieldError{Pointer: f.pointer, Code: "required", Detail: "is required"})
		case utf8.RuneCountInString(f.value) > f.most:
			bad = append(bad, fieldmark.FieldError{Pointer: f.pointer, Code: "too_long",
				Detail: fmt.Sprintf("must have at most %d characters", f.most)})
		}
	}
	if _, ok := fieldmark.ParsePriority(string(m.Priority)); !ok {
		bad = append(bad, fieldmark.FieldError{Pointer: "/priority", Code: "enum",
			Detail: "must be LOW, MEDIUM, HIGH or CRITICAL"})
	}
	if len(bad) > 0 {
		return m, &fieldmark.Error{Code: fieldmark.CodeValidationFailed, Detail: "see errors", Fields: bad}
	}
	return m, nil
}

// Limits of what identifies a mission, in characters: those of fieldmark.MissionRequest.
const (
	maxSource     = 64
	maxExternalID = 255
	maxTitle      = 200
)

// status forwards a request for the state of an accepted request. If an origin has no such request, or cannot be
// reached, the answer comes from the spool.
func (e *intakeEndpoints) status(ctx *fasthttp.RequestCtx) route {
	e.proxied.serve(ctx)
	if (ctx.IsGet() || ctx.IsHead()) && (ctx.Response.StatusCode() == http.StatusNotFound || noOrigin(ctx)) {
		hash, keyed := parseKey(ctx.Request.Header.Peek("Authorization"))
		if key, known := e.spool.Key(hash, e.clients.addr(ctx), time.Now()); keyed && known {
			id := strings.TrimPrefix(string(ctx.Path()), fieldmark.PathIntake)
			waits, found, err := e.spool.Find(ctx, key.Account, id)
			if err != nil {
				e.log.Error("read the spool", "requestId", requestID(ctx), "err", err)
			}
			if found {
				ctx.Response.Reset()
				e.sendIntake(ctx, http.StatusOK, waits)
			}
		}
	}
	e.pages.renderErrorPage(ctx)
	return routePassed
}

// observeKeyForSpool records what a response of the origin reports about the API key of its request.
func observeKeyForSpool(s *spool.Spool, authorization string, resp *http.Response) {
	hash, ok := parseKey([]byte(authorization))
	if !ok {
		return
	}
	if said := resp.Header.Get(fieldmark.HeaderQuota); said != "" {
		s.Accepted(hash, said, time.Now())
	} else if resp.StatusCode == http.StatusUnauthorized {
		s.Rejected(hash)
	}
}
