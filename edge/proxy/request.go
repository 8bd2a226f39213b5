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

// maxKeyTarget bounds the target of what is cached, in bytes: longer ones carry
// data and are asked once.
const maxKeyTarget = 2 << 10

// agent is who a strict cache says it is when others may get the answer.
const agent = "fieldmark"

// ErrTarget goes to Fail when a request's target is no path.
var ErrTarget = errors.New("proxy: the request target must be a path")

// mode is what the cache has to do with a request.
type mode uint8

const (
	bypass mode = iota // nothing
	alone              // it may be answered from the cache, but waits for nobody
	queues             // it may share the answer to another
)

// query is one request, copied out of fasthttp's buffers.
type query struct {
	rfc9111.Request
	target string // path and query as sent
	url    *url.URL
	host   string // lower case
	key    string
	mode   mode
	why    string // of a bypass, in the words of RFC 9211
	// foreign: it carries fields that a cached answer may not depend on, so its
	// answer is its own and touches nothing stored.
	foreign bool
	address string // host and target, for either scheme
	fields  string // the part of key beyond scheme, host and target; empty: none

	body   io.ReadCloser
	whole  []byte  // of a body that is here already
	upload *upload // of one that is not
	length int64
	sent   http.Header     // Header as it goes to the origin: without removed fields, with what Prepare wrote
	own    map[string]bool // names of the fields that Prepare set

	upgrade bool // to a protocol that is passed through
}

// read copies a request and says what the cache has to do with it.
func (p *Proxy) read(ctx *fasthttp.RequestCtx) (*query, error) {
	q := &query{target: string(ctx.RequestURI()), host: strings.ToLower(string(ctx.Host()))}
	var err error
	if q.url, err = url.ParseRequestURI(q.target); err != nil || q.url.IsAbs() || q.url.Host != "" || q.target[0] != '/' && q.target != "*" {
		return nil, ErrTarget
	}
	q.Method = string(ctx.Method())
	q.Header = http.Header{}
	for k, v := range ctx.Request.Header.All() {
		q.Header.Add(string(k), string(v))
	}
	q.Header.Del("Host")
	q.upgrade = ctx.IsGet() && ctx.Request.Header.ContentLength() <= 0 && !ctx.Request.IsBodyStream() && ctx.Request.Header.IsHTTP11() && rfc9111.IsWebSocketUpgrade(q.Header)
	rfc9111.RemoveHopByHop(q.Header) // before we add ours, or Connection could name them
	if err := p.readBody(ctx, q); err != nil {
		return nil, err
	}
	q.Directives = p.cfg.Profile.ParseRequestDirectives(q.Header)
	p.classify(q)
	p.prepare(ctx, q)
	p.setKey(q, q.secure(ctx))
	return q, nil
}

// prepare makes the fields that go to the origin.
func (p *Proxy) prepare(ctx *fasthttp.RequestCtx, q *query) {
	q.sent, q.own = q.Header.Clone(), map[string]bool{}
	for name := range q.sent {
		if p.rule(name) == removed {
			delete(q.sent, name)
		}
	}
	if p.cfg.Prepare == nil {
		return
	}
	before := maps.Clone(q.sent)
	p.cfg.Prepare(ctx, q.sent)
	for name, lines := range q.sent {
		q.own[name] = !slices.Equal(lines, before[name])
	}
}

// classify decides the mode.
func (p *Proxy) classify(q *query) {
	q.mode, q.why = bypass, "bypass"
	switch {
	case q.Method != http.MethodGet && q.Method != http.MethodHead:
		q.why = "method"
		return
	case q.body != nil, q.upgrade, len(q.target) > maxKeyTarget, rfc9111.RequiresOrigin(q.Header):
		return
	}
	if p.cfg.Profile == rfc9111.Strict {
		for name := range q.Header {
			switch p.rule(name) {
			case secret:
				if name != "Cookie" || !p.ignoresCookies(q) {
					return
				}
			case foreign:
				q.foreign = true
			}
		}
	}
	q.mode = alone
	h := q.Header
	if q.Method == http.MethodHead || q.foreign || q.Directives.NoStore || len(h["Authorization"]) > 0 || len(h["Range"]) > 0 {
		return
	}
	if p.cfg.Profile == rfc9111.RFC && (len(h["If-None-Match"]) > 0 || len(h["If-Modified-Since"]) > 0) {
		return // its own conditions go to the origin
	}
	q.mode = queues
}

// secure reports whether the reader came over TLS: here, or at a proxy that Prepare
// believes. An answer for the one may send the other in circles.
func (q *query) secure(ctx *fasthttp.RequestCtx) bool {
	if proto := q.sent.Get("X-Forwarded-Proto"); proto != "" {
		return proto == "https"
	}
	return ctx.IsTLS()
}

// setKey names what a request asks for, without what its answer varies by. NUL
// stands between the parts: no host, target or field value can hold it.
func (p *Proxy) setKey(q *query, tls bool) {
	q.address = addressOf(q.host, q.target)
	if p.cfg.Profile == rfc9111.Strict {
		q.fields = rfc9111.ExactKey(present(p.keyed, q.sent), q.sent)
	}
	q.key = keyOf(tls, q.address) + q.fields
}

// present returns the names that h has.
func present(names []string, h http.Header) (there []string) {
	for _, name := range names {
		if len(h[name]) > 0 {
			there = append(there, name)
		}
	}
	return there
}

// addressOf names what a request asks for over any scheme.
func addressOf(host, target string) string { return host + "\x00" + target + "\x00" }

// keyOf is the key of an address that is asked for without keyed fields.
func keyOf(tls bool, address string) string {
	if tls {
		return "https\x00" + address
	}
	return "http\x00" + address
}

// fieldsFor are the fields of the request to the origin. shared says that others
// may get the answer.
func (p *Proxy) fieldsFor(q *query, shared bool) http.Header {
	h := q.sent.Clone()
	if q.upgrade {
		h.Set("Connection", "Upgrade")
		h.Set("Upgrade", "websocket")
	}
	for _, name := range []string{"Content-Length", "Host", "Expect"} {
		delete(h, name)
	}
	if p.cfg.Profile == rfc9111.RFC || !shared || q.foreign || q.mode == bypass {
		return h
	}
	for name := range h {
		if rule := p.rule(name); rule == dropped && !q.own[name] || name == "Cookie" {
			delete(h, name)
		}
	}
	h.Set("Accept-Encoding", "identity") // what is stored is compressed here, and cut into ranges
	h.Set("User-Agent", agent)
	return h
}
