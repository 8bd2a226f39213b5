package proxy

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark/cache/rfc9111"
)

// maxKeyTarget bounds the target of a cached request, in bytes: longer ones carry data and
// are requested once.
const maxKeyTarget = 2 << 10

// userAgent is sent by a strict cache when other clients may get the answer.
const userAgent = "fieldmark"

// ErrTarget is passed to Fail when a request's target is not a path.
var ErrTarget = errors.New("proxy: the request target must be a path")

// mode is what the cache has to do with a request.
type mode uint8

const (
	bypass   mode = iota // nothing
	solo                 // it may be served from the cache, but waits for no other request
	coalesce             // it may share the answer to another
)

// request is one request, copied out of fasthttp's buffers.
type request struct {
	rfc9111.Request
	target       string // path and query as sent
	url          *url.URL
	host         string // lower case
	key          string
	mode         mode
	bypassReason string // of a bypass, in the words of RFC 9211
	// foreign: it carries fields that a cached response may not depend on, so its response
	// is not shared and does not change what is stored.
	foreign bool
	address string // host and target, for either scheme
	fields  string // the part of key beyond scheme, host and target; empty: none

	body           io.ReadCloser
	buffered       []byte  // of a body that is here already
	upload         *upload // of one that is not
	length         int64
	upstreamHeader http.Header     // Header as it goes to the origin: without removed fields, with what Prepare wrote
	setByEdge      map[string]bool // names of the fields that Prepare set

	upgrade bool // to a protocol that is passed through
}

// read copies a request and decides how the cache handles it.
func (p *Proxy) read(ctx *fasthttp.RequestCtx) (*request, error) {
	// Everything is copied: fasthttp reuses its buffers when the handler returns, and flights
	// and refreshes go on after that.
	q := &request{target: string(ctx.RequestURI()), host: strings.ToLower(string(ctx.Host()))}
	var err error
	if q.url, err = url.ParseRequestURI(q.target); err != nil || q.url.IsAbs() || q.url.Host != "" ||
		q.target[0] != '/' && q.target != "*" {
		return nil, ErrTarget
	}
	q.Method = string(ctx.Method())
	q.Header = http.Header{}
	for k, v := range ctx.Request.Header.All() {
		q.Header.Add(string(k), string(v))
	}
	q.Header.Del("Host")
	q.upgrade = ctx.IsGet() && ctx.Request.Header.ContentLength() <= 0 && !ctx.Request.IsBodyStream() &&
		ctx.Request.Header.IsHTTP11() && rfc9111.IsWebSocketUpgrade(q.Header)
	rfc9111.RemoveHopByHop(q.Header) // first, or Connection could name them
	if err := p.readBody(ctx, q); err != nil {
		return nil, err
	}
	q.Directives = p.cfg.Profile.ParseRequestDirectives(q.Header)
	p.classify(q)
	p.prepare(ctx, q)
	p.fields.setKey(q, q.secure(ctx))
	return q, nil
}

// prepare builds the fields that are sent to the origin.
func (p *Proxy) prepare(ctx *fasthttp.RequestCtx, q *request) {
	q.upstreamHeader, q.setByEdge = q.Header.Clone(), map[string]bool{}
	for name := range q.upstreamHeader {
		if p.fields.rule(name) == removed {
			delete(q.upstreamHeader, name)
		}
	}
	if p.cfg.Prepare == nil {
		return
	}
	// What Prepare changed is the edge's own word, the same for all clients.
	before := maps.Clone(q.upstreamHeader)
	p.cfg.Prepare(ctx, q.upstreamHeader)
	for name, lines := range q.upstreamHeader {
		q.setByEdge[name] = !slices.Equal(lines, before[name])
	}
}

// classify decides the mode.
func (p *Proxy) classify(q *request) {
	q.mode, q.bypassReason = bypass, "bypass"
	switch {
	case q.Method != http.MethodGet && q.Method != http.MethodHead:
		q.bypassReason = "method"
		return
	case q.body != nil, q.upgrade, len(q.target) > maxKeyTarget, rfc9111.RequiresOrigin(q.Header):
		return
	}
	// In the strict profile a field that is neither in the key nor known to be harmless makes a
	// response unshareable: an origin may reflect any field, and a cache that stored the result
	// would serve one client's input to all others.
	if p.cfg.Profile == rfc9111.Strict {
		for name := range q.Header {
			switch p.fields.rule(name) {
			case secret:
				if name != "Cookie" || !p.fields.ignoresCookies(q) {
					return
				}
			case foreign:
				q.foreign = true
			}
		}
	}
	// These may be answered from the store, but their response is of one client only.
	q.mode = solo
	h := q.Header
	if q.Method == http.MethodHead || q.foreign || q.Directives.NoStore || len(h["Authorization"]) > 0 ||
		len(h["Range"]) > 0 {
		return
	}
	if p.cfg.Profile == rfc9111.RFC && (len(h["If-None-Match"]) > 0 || len(h["If-Modified-Since"]) > 0) {
		return // its own conditions go to the origin
	}
	q.mode = coalesce
}

// secure reports whether the client used TLS: to the edge, or to a proxy that Prepare
// trusts. A response for one scheme may cause a redirect loop for the other.
func (q *request) secure(ctx *fasthttp.RequestCtx) bool {
	if proto := q.upstreamHeader.Get("X-Forwarded-Proto"); proto != "" {
		return proto == "https"
	}
	return ctx.IsTLS()
}

// fieldsFor returns the fields of the request to the origin. shared reports that other
// clients may get the response.
func (p *fieldPolicy) fieldsFor(q *request, shared bool) http.Header {
	h := q.upstreamHeader.Clone()
	if q.upgrade {
		h.Set("Connection", "Upgrade")
		h.Set("Upgrade", "websocket")
	}
	for _, name := range []string{"Content-Length", "Host", "Expect"} {
		delete(h, name)
	}
	if p.profile == rfc9111.RFC || !shared || q.foreign || q.mode == bypass {
		return h
	}
	for name := range h {
		if rule := p.rule(name); rule == dropped && !q.setByEdge[name] || name == "Cookie" {
			delete(h, name)
		}
	}
	h.Set("Accept-Encoding", "identity") // what is stored is compressed here, and cut into ranges
	h.Set("User-Agent", userAgent)
	return h
}
