package proxy

import (
	"errors"
	"io"
	"net/http"
	"net/url"
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

	body   io.ReadCloser
	whole  []byte  // of a body that is here already
	upload *upload // of one that is not
	length int64
	prep   http.Header // what Prepare wrote

	upgrade bool // to a protocol that is passed through
}

// fieldRule is what a strict cache does with a request field.
type fieldRule uint8

const (
	foreign fieldRule = iota // any other: passed on, but the answer is not stored
	allowed                  // passed on; answers may vary by it
	keyed                    // passed on; part of the key
	dropped                  // never passed on with a request whose answer is stored
	hidden                   // never passed on
	secret                   // says who asks: the cache has nothing to do with it
)

// fieldRules is the allow-list of what an origin may see of a request whose
// answer others may get. What is not in the key must not reach the origin, or one
// reader could choose what the next one sees.
func fieldRules(extra []string) map[string]fieldRule {
	rules := map[string]fieldRule{}
	for rule, names := range map[fieldRule]string{
		allowed: "Accept Accept-Charset Accept-Language Authorization Host",
		keyed:   "Origin",
		// What browsers and tools send with everything, and what is settled here.
		dropped: "User-Agent Referer Accept-Encoding Cache-Control Pragma Dnt Priority Save-Data Upgrade-Insecure-Requests From " +
			"Device-Memory Downlink Dpr Ect Rtt Viewport-Width Width Purpose X-Purpose X-Moz Te Connection Keep-Alive Content-Length " +
			"If-None-Match If-Modified-Since If-Range Range X-Request-Id Traceparent Tracestate Baggage Expect",
		// What could make the origin take the request for another one.
		hidden: "X-Forwarded-Host X-Forwarded-Server X-Forwarded-Scheme X-Forwarded-Port X-Forwarded-Prefix X-Forwarded-Path " +
			"X-Original-Url X-Rewrite-Url X-Original-Host X-Host X-Http-Method-Override X-Http-Method X-Method-Override Proxy Fieldmark-Edition",
		secret: "Cookie Proxy-Authorization X-Api-Key Api-Key X-Auth-Token X-Access-Token X-Csrf-Token X-Xsrf-Token",
	} {
		for name := range strings.FieldsSeq(names) {
			rules[name] = rule
		}
	}
	for _, name := range extra {
		rules[http.CanonicalHeaderKey(strings.TrimSpace(name))] = keyed
	}
	return rules
}

// rule is what a strict cache does with a field of this name.
func (p *Proxy) rule(name string) fieldRule {
	if r, ok := p.fields[name]; ok {
		return r
	}
	if strings.HasPrefix(name, "Sec-") {
		return dropped
	}
	return foreign
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
	q.upgrade = ctx.IsGet() && ctx.Request.Header.ContentLength() <= 0 && !ctx.Request.IsBodyStream() && ctx.Request.Header.IsHTTP11() && wantsSocket(q.Header)
	rfc9111.DropHop(q.Header) // before we add ours, or Connection could name them
	if err := p.readBody(ctx, q); err != nil {
		return nil, err
	}
	q.Ask = p.cfg.Profile.ParseAsk(q.Header)
	p.classify(q)
	if p.cfg.Prepare != nil {
		q.prep = q.Header.Clone()
		p.cfg.Prepare(ctx, q.prep)
	}
	q.key = p.keyOf(q.secure(ctx), q)
	return q, nil
}

// wantsSocket reports whether a request asks to switch to WebSocket (RFC 9110, 7.8:
// Connection names Upgrade). Never h2c: its requests would pass unseen.
func wantsSocket(h http.Header) bool {
	if !strings.EqualFold(h.Get("Upgrade"), "websocket") {
		return false
	}
	for _, line := range h["Connection"] {
		for option := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(option), "Upgrade") {
				return true
			}
		}
	}
	return false
}

// classify decides the mode.
func (p *Proxy) classify(q *query) {
	q.mode, q.why = bypass, "bypass"
	switch {
	case q.Method != http.MethodGet && q.Method != http.MethodHead:
		q.why = "method"
		return
	case q.body != nil, q.upgrade, len(q.target) > maxKeyTarget, rfc9111.ForOrigin(q.Header):
		return
	}
	if p.cfg.Profile == rfc9111.Strict {
		for name := range q.Header {
			switch p.rule(name) {
			case secret:
				return
			case foreign:
				q.foreign = !ownField(name) || q.foreign
			}
		}
	}
	q.mode = alone
	h := q.Header
	if q.Method == http.MethodHead || q.foreign || q.Ask.NoStore || len(h["Authorization"]) > 0 || len(h["Range"]) > 0 {
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
	if proto := q.prep.Get("X-Forwarded-Proto"); proto != "" {
		return proto == "https"
	}
	return ctx.IsTLS()
}

// ownField reports whether a field is one that Prepare writes anew.
func ownField(name string) bool {
	return name == "Forwarded" || name == "Via" || name == "X-Real-Ip" || strings.HasPrefix(name, "X-Forwarded-") || strings.HasPrefix(name, "Fieldmark-")
}

// keyOf is what a request asks for, without what its answer varies by.
func (p *Proxy) keyOf(tls bool, q *query) string {
	var b strings.Builder
	if tls {
		b.WriteByte('s')
	}
	b.WriteString(q.host)
	b.WriteString(q.target)
	if p.cfg.Profile == rfc9111.Strict {
		for _, name := range p.keyed {
			if lines := q.Header[name]; len(lines) > 0 {
				b.WriteString("\x00" + name + "=" + rfc9111.Normalise(name, lines))
			}
		}
	}
	return b.String()
}

// fieldsFor are the fields of the request to the origin. shared says that others
// may get the answer.
func (p *Proxy) fieldsFor(q *query, shared bool) http.Header {
	from := q.prep
	if from == nil {
		from = q.Header
	}
	h := from.Clone()
	if q.upgrade {
		h.Set("Connection", "Upgrade")
		h.Set("Upgrade", "websocket")
	}
	for _, name := range []string{"Content-Length", "Host", "Expect"} {
		delete(h, name)
	}
	if p.cfg.Profile == rfc9111.RFC {
		return h
	}
	shared = shared && !q.foreign && q.mode != bypass
	for name := range h {
		rule := p.rule(name)
		if rule == hidden || shared && rule == dropped && !q.written(name) && !q.asksPart(name) {
			delete(h, name)
		}
	}
	if shared {
		h.Set("Accept-Encoding", "identity") // what is stored is compressed here, and cut into ranges
		h.Set("User-Agent", agent)
	}
	return h
}

// asksPart reports whether a field belongs to a request for a part, which goes to
// the origin as it is where nothing is stored.
func (q *query) asksPart(name string) bool {
	return len(q.Header["Range"]) > 0 && (name == "Range" || name == "If-Range")
}

// written reports whether Prepare has set a field to something of its own.
func (q *query) written(name string) bool {
	if q.prep == nil {
		return false
	}
	mine, theirs := q.prep[name], q.Header[name]
	return len(mine) == 1 && (len(theirs) != 1 || mine[0] != theirs[0])
}
