package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark/cache/rfc9111"
)

// exchange is one question to the origin and its answer.
type exchange struct {
	resp      *http.Response
	requested time.Time
	received  time.Time
	seq       int64    // Proxy.seq before it began
	url       *asked   // nil: nothing of it is stored
	withheld  []string // negotiated fields of the request that the origin was not shown
	cancel    context.CancelFunc
}

// close ends an exchange whose answer nobody reads.
func (x *exchange) close() {
	x.resp.Body.Close()
	x.cancel()
}

// ask sends q to the origin with the given fields. ctx is whom 1xx answers go to;
// nil is nobody.
func (p *Proxy) ask(ctx *fasthttp.RequestCtx, q *query, method string, h http.Header) (*exchange, error) {
	var early *interim
	rc, stop := context.WithCancelCause(context.Background())
	cancel := func() { stop(nil) }
	// Nobody's patience bounds what others wait for, so the wait has an end of its
	// own. A body may take its time.
	patience := time.AfterFunc(headTimeout, func() { stop(context.DeadlineExceeded) })
	defer patience.Stop()
	if q.upload != nil { // its client and the origin have limits of their own while it is sent
		q.upload.watch(patience)
		defer q.upload.watch(nil)
	}
	trace := rc
	if ctx != nil && ctx.Request.Header.IsHTTP11() {
		early = &interim{w: ctx.Conn()}
		trace = httptrace.WithClientTrace(rc, &httptrace.ClientTrace{Got1xxResponse: early.pass})
	}
	target := *q.url
	target.Scheme, target.Host = p.cfg.Scheme, p.cfg.Host
	req := &http.Request{Method: method, URL: &target, Host: q.host, Header: h, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	if q.target == "*" {
		req.URL = &url.URL{Scheme: target.Scheme, Host: target.Host, Opaque: "*"}
	}
	if q.body != nil && q.mode == bypass {
		req.Body, req.ContentLength = q.body, q.length
		if q.whole != nil { // so that it can be sent again on another connection, if this one was closed before
			req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(q.whole)), nil }
		}
	}
	if _, named := h["User-Agent"]; !named {
		h["User-Agent"] = nil // keeps net/http from inventing one
	}
	x := &exchange{requested: time.Now(), seq: p.seq.Load(), cancel: cancel}
	if q.mode != bypass {
		p.keeps(q, x)
	}
	resp, err := p.cfg.Transport.RoundTrip(req.WithContext(trace))
	if early != nil {
		early.end()
	}
	if err != nil {
		x.cancel()
		return nil, err
	}
	x.resp, x.received = resp, time.Now()
	return x, nil
}

// interim passes 1xx answers on as they come (RFC 9110, 15.2).
type interim struct {
	mu   sync.Mutex
	w    io.Writer
	over bool
}

// pass implements httptrace's Got1xxResponse. 100 was said by the edge already.
func (i *interim) pass(code int, h textproto.MIMEHeader) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.over || code == http.StatusContinue || code == http.StatusSwitchingProtocols {
		return nil
	}
	fields := http.Header(h).Clone()
	rfc9111.RemoveHopByHop(fields)
	b := fmt.Appendf(nil, "HTTP/1.1 %d %s", code, http.StatusText(code))
	if len(fields) > 0 {
		b = append(append(b, "\r\n"...), appendFields(nil, fields)...)
	}
	if _, err := i.w.Write(append(b, "\r\n\r\n"...)); err != nil {
		i.over = true // the client is gone; its request is not
	}
	return nil
}

// end lets nothing more through: the final answer comes.
func (i *interim) end() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.over = true
}

// pass sends the request on and its answer back, and stores nothing.
func (p *Proxy) pass(ctx *fasthttp.RequestCtx, q *query, why string) {
	x, err := p.ask(ctx, q, q.Method, p.fieldsFor(q, false))
	if err != nil {
		if q.upload != nil {
			q.upload.settle() // its trailer is read into the head, which Fail reads
		}
		p.cfg.Fail(ctx, err)
		return
	}
	p.invalidate(q, x.resp.StatusCode, x.resp.Header)
	if p.cfg.Profile == rfc9111.RFC && q.answersGet(x.resp) {
		x.seq = p.seq.Load() // after what it has just invalidated
		p.keeps(q, x)
		get := *q
		get.Method, get.mode, get.body = http.MethodGet, alone, nil
		get.Directives.NoStore = get.Directives.NoStore || q.url.Path == "*"
		p.received(ctx, &get, &found{seq: x.seq}, nil, x)
		return
	}
	p.stream(ctx, q, x, x.resp.Body, status{fwd: why})
}

// answersGet reports whether the answer to a POST is what a GET of the same
// address would get, as its origin says (RFC 9110, 9.3.3).
func (q *query) answersGet(resp *http.Response) bool {
	if q.Method != http.MethodPost || resp.StatusCode != http.StatusOK || !rfc9111.ReadPolicy(resp.StatusCode, resp.Header, time.Now()).Explicit {
		return false
	}
	at, err := url.Parse(resp.Header.Get("Content-Location"))
	if err != nil || resp.Header.Get("Content-Location") == "" || at.Host != "" && !strings.EqualFold(at.Host, q.host) {
		return false
	}
	return q.url.ResolveReference(at).RequestURI() == q.url.RequestURI()
}

// lead asks for all who wait on fl.
func (p *Proxy) lead(ctx *fasthttp.RequestCtx, q *query, f *found, fl *flight) {
	collecting := false
	defer func() {
		if !collecting { // also if it panicked: nobody may wait for ever
			p.land(q, fl)
		}
	}()
	collecting = p.exchange(ctx, q, f, fl)
}

// alone asks for one reader; what it may, it stores.
func (p *Proxy) alone(ctx *fasthttp.RequestCtx, q *query, f *found) {
	marked := q.mode == queues && f.v == nil
	part := len(q.Header["Range"]) > 0 && f.v == nil // the origin sees Range, which is in no key
	if q.foreign || p.cfg.Profile == rfc9111.Strict && (marked || part) {
		p.cfg.Events.Passed()
		p.pass(ctx, q, f.fwd())
		return
	}
	p.exchange(ctx, q, f, nil)
}

// exchange asks the origin, stores what may be stored, answers ctx (nil: nobody
// is waiting) and tells fl (nil: nobody else is). collecting says that the answer
// is still on its way, and that fl lands with it.
func (p *Proxy) exchange(ctx *fasthttp.RequestCtx, q *query, f *found, fl *flight) (collecting bool) {
	p.cfg.Events.Miss()
	x, validates, err := p.askStorable(ctx, q, f)
	switch {
	case err != nil:
		p.unreachable(ctx, q, f, fl, err)
	case x.resp.StatusCode == http.StatusNotModified && validates:
		v := p.renew(q, f, x)
		x.close()
		p.tell(fl, v, false)
		p.reply(ctx, q, v, status{fwd: "fwd=stale", code: http.StatusNotModified, stored: true})
	case f.v != nil && rfc9111.IsServerError(x.resp.StatusCode) && p.onError(q, f, rfc9111.ServerError):
		code := x.resp.StatusCode
		x.close()
		p.flights.rest(q.flightKey(f))
		p.tell(fl, f.v, true)
		p.cfg.Events.OnError()
		p.reply(ctx, q, f.v, status{fwd: "fwd=stale", code: code, stale: true})
	default:
		return p.received(ctx, q, f, fl, x)
	}
	return false
}

// askStorable asks the origin for an answer that may be stored. validates says that
// a 304 confirms f.v.
func (p *Proxy) askStorable(ctx *fasthttp.RequestCtx, q *query, f *found) (x *exchange, validates bool, err error) {
	h := p.fieldsFor(q, true)
	withheld := p.withhold(q, f, h)
	validates = f.v != nil && f.v.HasValidator()
	switch {
	case validates:
		f.v.SetConditions(h)
	case q.mode == queues || f.v != nil:
		rfc9111.RemoveConditionals(h)
	}
	if x, err = p.ask(ctx, q, q.Method, h); err != nil {
		return nil, false, err
	}
	code, said := x.resp.StatusCode, x.resp.Header
	switch {
	case code == http.StatusNotModified && validates && !f.v.MatchesValidator(said): // it is about another answer
	case ctx != nil && p.missed(q, withheld, code, said):
		h, withheld = p.fieldsFor(q, true), nil
	default:
		x.withheld = withheld
		return x, validates, nil
	}
	x.close()
	if f.v != nil || q.mode == queues {
		rfc9111.RemoveConditionals(h)
	}
	if x, err = p.ask(ctx, q, q.Method, h); err != nil {
		return nil, false, err
	}
	x.withheld = withheld
	return x, false, nil
}

// onError reports whether what is stored may be sent because the origin failed.
func (p *Proxy) onError(q *query, f *found, t rfc9111.Failure) bool {
	return !f.forbidden() && p.cfg.Profile.UseOnError(&q.Directives, f.v.Response, time.Now(), t)
}

// unreachable answers without an origin.
func (p *Proxy) unreachable(ctx *fasthttp.RequestCtx, q *query, f *found, fl *flight, err error) {
	if !errors.Is(err, ErrRefused) {
		p.flights.rest(q.flightKey(f))
	} else if fl != nil {
		p.flights.end(fl, nil, false, err)
	}
	if f.v != nil && p.onError(q, f, rfc9111.Unreachable) {
		p.tell(fl, f.v, true)
		p.cfg.Events.OnError()
		p.reply(ctx, q, f.v, status{fwd: "fwd=stale", stale: true})
		return
	}
	if fl != nil {
		p.flights.end(fl, nil, false, err)
	}
	if ctx != nil {
		p.cfg.Fail(ctx, err)
	}
}

// failed answers one who waited for an origin that could not be asked.
func (p *Proxy) failed(ctx *fasthttp.RequestCtx, q *query, f *found, err error) {
	if f.v != nil && p.onError(q, f, rfc9111.Unreachable) {
		p.cfg.Events.OnError()
		p.send(ctx, q, f.v, status{fwd: "fwd=stale", stale: true, collapsed: true})
		return
	}
	p.cfg.Fail(ctx, err)
}

// tell ends a flight with an answer for all, if there is one to end.
func (p *Proxy) tell(fl *flight, v *variant, onError bool) {
	if fl != nil {
		p.flights.end(fl, v, onError, nil)
	}
}

// reply answers whoever is waiting himself.
func (p *Proxy) reply(ctx *fasthttp.RequestCtx, q *query, v *variant, s status) {
	if ctx != nil {
		p.send(ctx, q, v, s)
	}
}

// received deals with an answer that is new.
func (p *Proxy) received(ctx *fasthttp.RequestCtx, q *query, f *found, fl *flight, x *exchange) (collecting bool) {
	code, h := x.resp.StatusCode, x.resp.Header
	if q.Method == http.MethodHead && f.v != nil && code == http.StatusOK { // RFC 9111, 4.3.5
		if f.v.HeadMatches(h, int64(len(f.v.body))) {
			p.renew(q, f, x)
		} else {
			p.forget(q.host, q.target)
		}
	}
	policy := rfc9111.ReadPolicy(code, h, x.received)
	why := p.cfg.Profile.Storable(&q.Request, code, h, &policy)
	if code == http.StatusPartialContent && f.v == nil && p.keepsParts(q) {
		why = p.cfg.Profile.Storable(&q.Request, http.StatusOK, h, &policy)
		q = q.part()
	}
	if why == "" && x.resp.ContentLength > p.limit {
		why = "too-large"
	}
	if why != "" {
		if fl != nil {
			p.flights.end(fl, nil, false, nil)
		}
		if f.v != nil && q.Method == http.MethodGet && code != http.StatusPartialContent && !rfc9111.IsServerError(code) {
			p.forget(q.host, q.target) // the origin has something else now, and does not want it kept
		}
		if ctx == nil {
			x.close()
			return false
		}
		p.stream(ctx, q, x, x.resp.Body, status{fwd: f.fwd(), detail: string(why)})
		return false
	}
	return p.collect(ctx, q, f, fl, x)
}

// collect takes an answer into memory while it goes to its reader.
func (p *Proxy) collect(ctx *fasthttp.RequestCtx, q *query, f *found, fl *flight, x *exchange) (collecting bool) {
	r := rfc9111.NewResponse(x.resp.StatusCode, x.resp.Header, x.requested, x.received)
	tags := tagsOf(q, x.resp.Header)
	keep := func(body []byte) *variant {
		v := p.newVariant(q, x, r, body, tags)
		p.put(q, v, x.seq, x.url)
		p.tell(fl, v, false)
		return v
	}
	c := newCollector(x.resp.Body, p.limit, x.cancel)
	n := x.resp.ContentLength
	if ctx == nil || n >= 0 && n <= wholeAt {
		defer x.cancel()
		if ctx == nil {
			defer c.Close()
		}
		body, err := c.pump()
		if err != nil {
			p.unreachable(ctx, q, f, fl, err)
			return false
		}
		p.reply(ctx, q, keep(body), status{fwd: f.fwd(), code: r.Status, stored: true})
		return false
	}
	p.behind.Go(func() {
		if fl != nil {
			defer p.land(q, fl)
		}
		body, err := c.pump()
		if errors.Is(err, errTooLarge) {
			return // the rest is its reader's
		}
		defer x.cancel()
		if err == nil {
			keep(body)
		}
	})
	p.stream(ctx, q, x, c, status{fwd: f.fwd(), stored: true})
	return true
}

// refresh validates what is stale behind the answer, once at a time for a key.
func (p *Proxy) refresh(q *query, f *found) {
	if q.foreign || p.flights.resting(q.flightKey(f)) {
		return
	}
	fl, leads := p.join(q, f)
	if !leads {
		return
	}
	back := *q
	back.Method, back.mode = http.MethodGet, queues
	back.Directives = rfc9111.RequestDirectives{}
	found := *f
	p.behind.Go(func() {
		p.lead(nil, &back, &found, fl)
	})
}
