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

	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/cache/rfc9111"
)

// exchange is one request to the origin and its response.
type exchange struct {
	resp      *http.Response
	requested time.Time
	received  time.Time
	seq       int64       // Proxy.seq before it began
	asOf      int64       // number of the newest event before it began; 0: responses are not shared
	pending   *pendingURL // nil: nothing of it is stored
	withheld  []string    // negotiated fields of the request that the origin was not shown
	cancel    context.CancelFunc
}

// close ends an exchange whose response is not read.
func (x *exchange) close() {
	x.resp.Body.Close()
	x.cancel()
}

// roundTrip sends q to the origin with the given fields. 1xx responses go to the client of
// ctx; nil drops them.
func (p *Proxy) roundTrip(ctx *fasthttp.RequestCtx, q *request, method string, h http.Header) (*exchange, error) {
	var early *interim
	rc, stop := context.WithCancelCause(context.Background())
	cancel := func() { stop(nil) }
	// Others may wait for the answer too, so the client's context does not bound the
	// wait for its head. A body may take its time.
	patience := time.AfterFunc(headTimeout, func() { stop(context.DeadlineExceeded) })
	defer patience.Stop()
	if q.upload != nil { // its client and the origin have limits of their own while it is sent
		q.upload.resetOnRead(patience)
		defer q.upload.resetOnRead(nil)
	}
	trace := rc
	if ctx != nil && ctx.Request.Header.IsHTTP11() {
		early = &interim{w: ctx.Conn()}
		trace = httptrace.WithClientTrace(rc, &httptrace.ClientTrace{Got1xxResponse: early.pass})
	}
	// The transport picks the server of a pool by this scheme and host. The client's own Host
	// is sent as it came: the site behind the edge chooses its virtual host by it.
	target := *q.url
	target.Scheme, target.Host = p.cfg.Scheme, p.cfg.Host
	req := &http.Request{Method: method, URL: &target, Host: q.host, Header: h, Proto: "HTTP/1.1", ProtoMajor: 1,
		ProtoMinor: 1}
	if q.target == "*" {
		req.URL = &url.URL{Scheme: target.Scheme, Host: target.Host, Opaque: "*"}
	}
	// A request that may share its response carries no body: its meaning is not in the key.
	if q.body != nil && q.mode == bypass {
		req.Body, req.ContentLength = q.body, q.length
		if q.buffered != nil { // so that it can be sent again on another connection, if this one was closed before
			req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(q.buffered)), nil }
		}
	}
	if _, named := h["User-Agent"]; !named {
		h["User-Agent"] = nil // keeps net/http from inventing one
	}
	// The number of the newest purge is read before the request leaves: a purge during the
	// exchange makes its response outdated.
	x := &exchange{requested: time.Now(), seq: p.store.seq.Load(), cancel: cancel}
	if p.shared != nil {
		x.asOf = p.shared.asOf()
	}
	if q.mode != bypass {
		p.store.trackStore(q, x)
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

// interim forwards 1xx responses as they arrive (RFC 9110, 15.2).
type interim struct {
	mu   sync.Mutex
	w    io.Writer
	over bool
}

// pass implements httptrace's Got1xxResponse. It drops 100, which the edge already sent.
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

// end stops the forwarding of 1xx responses, because the final response follows.
func (i *interim) end() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.over = true
}

// pass sends the request on and returns the response, and stores nothing.
func (p *Proxy) pass(ctx *fasthttp.RequestCtx, q *request, why string) {
	x, err := p.roundTrip(ctx, q, q.Method, p.fields.fieldsFor(q, false))
	if err != nil {
		if q.upload != nil {
			q.upload.stop() // its trailer is read into the head, which Fail reads
		}
		p.cfg.Fail(ctx, err)
		return
	}
	p.invalidate(q, x.resp.StatusCode, x.resp.Header)
	if p.cfg.Profile == rfc9111.RFC && q.isResponseToGet(x.resp) {
		x.seq = p.store.seq.Load() // after what it has just invalidated
		p.store.trackStore(q, x)
		get := *q
		get.Method, get.mode, get.body = http.MethodGet, solo, nil
		get.Directives.NoStore = get.Directives.NoStore || q.url.Path == "*"
		p.handleResponse(ctx, &get, &lookup{seq: x.seq}, nil, x)
		return
	}
	p.stream(ctx, q, x, x.resp.Body, status{fwd: why})
}

// isResponseToGet reports whether the answer to a POST is what a GET of the same
// address would get, by its Content-Location (RFC 9110, 9.3.3).
func (q *request) isResponseToGet(resp *http.Response) bool {
	if q.Method != http.MethodPost || resp.StatusCode != http.StatusOK ||
		!rfc9111.ReadPolicy(resp.StatusCode, resp.Header, time.Now()).Explicit {
		return false
	}
	at, err := url.Parse(resp.Header.Get("Content-Location"))
	if err != nil || resp.Header.Get("Content-Location") == "" || at.Host != "" && !strings.EqualFold(at.Host, q.host) {
		return false
	}
	return q.url.ResolveReference(at).RequestURI() == q.url.RequestURI()
}

// lead fetches the response for all requests that wait on fl.
func (p *Proxy) lead(ctx *fasthttp.RequestCtx, q *request, f *lookup, fl *flight) {
	collecting := false
	defer func() {
		if !collecting { // also after a panic, so that no request waits without end
			p.finish(q, fl)
		}
	}()
	if !p.shared.answer(ctx, q, f, fl) {
		collecting = p.fetch(ctx, q, f, fl)
	}
}

// serveSolo fetches the answer for one client, and stores it if it may.
func (p *Proxy) serveSolo(ctx *fasthttp.RequestCtx, q *request, f *lookup) {
	marked := q.mode == coalesce && f.variant == nil
	part := len(q.Header["Range"]) > 0 && f.variant == nil // the origin sees Range, which is in no key
	if q.foreign || p.cfg.Profile == rfc9111.Strict && (marked || part) {
		p.cfg.Events.Passed()
		p.pass(ctx, q, f.fwd())
		return
	}
	p.fetch(ctx, q, f, nil)
}

// fetch sends q to the origin, stores the response if allowed, responds to ctx (nil: no
// client waits) and resolves fl (nil: no other request waits). collecting reports that the
// body is still being read, and that fl ends with it.
func (p *Proxy) fetch(ctx *fasthttp.RequestCtx, q *request, f *lookup, fl *flight) (collecting bool) {
	p.cfg.Events.Miss()
	x, validates, err := p.roundTripStorable(ctx, q, f)
	switch {
	// The origin sent nothing: a stale answer if RFC 9111, 4.2.4 allows one, else the error.
	case err != nil:
		p.serveUnreachable(ctx, q, f, fl, err)
	// What is stored is still right, and fresh again (RFC 9111, 4.3.4).
	case x.resp.StatusCode == http.StatusNotModified && validates:
		v, stored := p.renew(q, f, fl, x)
		x.close()
		if stored {
			p.resolve(fl, v, false)
		} else { // what the 304 adds, such as Set-Cookie, is for this client alone
			p.endUnshared(fl)
		}
		p.sendTo(ctx, q, v, status{fwd: "fwd=stale", code: http.StatusNotModified, stored: stored})
	// A stored answer is better than an error of the origin (RFC 5861, 4). Revalidations
	// pause, so that a failing origin does not get one for each request.
	case f.variant != nil && rfc9111.IsServerError(x.resp.StatusCode) && p.onError(q, f, rfc9111.ServerError):
		code := x.resp.StatusCode
		x.close()
		p.flights.backOff(q.flightKey(f))
		p.resolve(fl, f.variant, true)
		p.cfg.Events.OnError()
		p.sendTo(ctx, q, f.variant, status{fwd: "fwd=stale", code: code, stale: true})
	default:
		return p.handleResponse(ctx, q, f, fl, x)
	}
	return false
}

// roundTripStorable requests a response that may be stored from the origin. validates
// reports that a 304 confirms f.v.
func (p *Proxy) roundTripStorable(ctx *fasthttp.RequestCtx, q *request, f *lookup) (x *exchange, validates bool,
	err error) {
	// The client's own conditions are replaced by those of the stored variant, as the response
	// is for every client; the client's are evaluated against it afterwards.
	h := p.fields.fieldsFor(q, true)
	withheld := p.fields.withhold(q, f, h)
	validates = f.variant != nil && f.variant.HasValidator()
	switch {
	case validates:
		f.variant.SetConditions(h)
	case q.mode == coalesce || f.variant != nil:
		rfc9111.RemoveConditionals(h)
	}
	if x, err = p.roundTrip(ctx, q, q.Method, h); err != nil {
		return nil, false, err
	}
	code, said := x.resp.StatusCode, x.resp.Header
	switch {
	// A second request, without conditions or with what was withheld, gets a full response.
	case code == http.StatusNotModified && validates && !f.variant.MatchesValidator(said): // it is about another answer
	case ctx != nil && p.fields.mustRepeat(q, withheld, code, said):
		h, withheld = p.fields.fieldsFor(q, true), nil
	default:
		x.withheld = withheld
		return x, validates, nil
	}
	x.close()
	if f.variant != nil || q.mode == coalesce {
		rfc9111.RemoveConditionals(h)
	}
	if x, err = p.roundTrip(ctx, q, q.Method, h); err != nil {
		return nil, false, err
	}
	x.withheld = withheld
	return x, false, nil
}

// onError reports whether what is stored may be sent because the origin failed.
func (p *Proxy) onError(q *request, f *lookup, t rfc9111.Failure) bool {
	return !f.hardPurged() && p.cfg.Profile.UseOnError(&q.Directives, f.variant.Response, time.Now(), t)
}

// serveUnreachable responds without an origin.
func (p *Proxy) serveUnreachable(ctx *fasthttp.RequestCtx, q *request, f *lookup, fl *flight, err error) {
	if !errors.Is(err, ErrRefused) {
		p.flights.backOff(q.flightKey(f))
	} else if fl != nil {
		p.flights.end(fl, nil, false, err)
	}
	if f.variant != nil && p.onError(q, f, rfc9111.Unreachable) {
		p.resolve(fl, f.variant, true)
		p.cfg.Events.OnError()
		p.sendTo(ctx, q, f.variant, status{fwd: "fwd=stale", stale: true})
		return
	}
	if fl != nil {
		p.flights.end(fl, nil, false, err)
	}
	if ctx != nil {
		p.cfg.Fail(ctx, err)
	}
}

// serveFailed responds to a request whose origin could not be reached.
func (p *Proxy) serveFailed(ctx *fasthttp.RequestCtx, q *request, f *lookup, err error) {
	if f.variant != nil && p.onError(q, f, rfc9111.Unreachable) {
		p.cfg.Events.OnError()
		p.send(ctx, q, f.variant, status{fwd: "fwd=stale", stale: true, collapsed: true})
		return
	}
	p.cfg.Fail(ctx, err)
}

// resolve ends a flight with an answer for all, if there is one to end.
func (p *Proxy) resolve(fl *flight, v *variant, onError bool) {
	if fl != nil {
		p.flights.end(fl, v, onError, nil)
	}
}

// endUnshared ends fl, if there is one, without a response for those who wait.
func (p *Proxy) endUnshared(fl *flight) {
	if fl != nil {
		p.flights.end(fl, nil, false, nil)
		fl.lease.decline(soloFor)
	}
}

// sendTo sends v to the client of ctx, if a client waits.
func (p *Proxy) sendTo(ctx *fasthttp.RequestCtx, q *request, v *variant, s status) {
	if ctx != nil {
		p.send(ctx, q, v, s)
	}
}

// handleResponse handles a new response.
func (p *Proxy) handleResponse(ctx *fasthttp.RequestCtx, q *request, f *lookup, fl *flight,
	x *exchange) (collecting bool) {
	code, h := x.resp.StatusCode, x.resp.Header
	if q.Method == http.MethodHead && f.variant != nil && code == http.StatusOK { // RFC 9111, 4.3.5
		if f.variant.HeadMatches(h, int64(len(f.variant.body))) {
			p.renew(q, f, nil, x)
		} else {
			p.invalidateURL(q.host, q.target)
		}
	}
	// A part is stored only as the part that was asked for, under a key with its range.
	policy := rfc9111.ReadPolicy(code, h, x.received)
	why := p.cfg.Profile.Storable(&q.Request, code, h, &policy)
	if code == http.StatusPartialContent && f.variant == nil && p.storesRanges(q) {
		why = p.cfg.Profile.Storable(&q.Request, http.StatusOK, h, &policy)
		q = q.rangeRequest()
	}
	if why == "" && x.resp.ContentLength > p.limit {
		why = "too-large"
	}
	if why != "" {
		p.endUnshared(fl)
		if f.variant != nil && q.Method == http.MethodGet && code != http.StatusPartialContent &&
			!rfc9111.IsServerError(code) {
			p.invalidateURL(q.host, q.target) // the origin changed it and forbids storing
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

// collect stores a response in memory while it streams to the client.
func (p *Proxy) collect(ctx *fasthttp.RequestCtx, q *request, f *lookup, fl *flight, x *exchange) (collecting bool) {
	// The tags are read before the fields that carry them are removed from what is stored.
	r := rfc9111.NewResponse(x.resp.StatusCode, x.resp.Header, x.requested, x.received)
	tags := tagsOf(q, x.resp.Header)
	keep := func(body []byte) *variant {
		v := p.newVariant(q, x, r, body, tags)
		if p.store.put(q, v, x.seq, x.pending) {
			p.compressLater(v)
			p.shared.publish(q, fl, v, x.asOf)
		}
		p.resolve(fl, v, false)
		return v
	}
	n := x.resp.ContentLength
	if fl != nil && fl.lease != nil {
		if x.resp.Body = fl.lease.watch(x.resp.Body); n > cache.MaxVariantBytes {
			fl.lease.decline(soloFor)
		}
	}
	c := newCollector(x.resp.Body, p.limit, x.cancel)
	// A short body is read at once: then even the first client gets its exact length, and an
	// origin that fails halfway is an error instead of a cut response.
	if ctx == nil || n >= 0 && n <= bufferBelow {
		defer x.cancel()
		if ctx == nil {
			defer c.Close()
		}
		body, err := c.readAll()
		if err != nil {
			p.serveUnreachable(ctx, q, f, fl, err)
			return false
		}
		p.sendTo(ctx, q, keep(body), status{fwd: f.fwd(), code: r.Status, stored: true})
		return false
	}
	// A long body goes to the client as it comes. Reading to its end goes on here even if that
	// client is slow or has left, as others may wait for the response.
	p.background.Go(func() {
		if fl != nil {
			defer p.finish(q, fl)
		}
		body, err := c.readAll()
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

// refresh revalidates a stale entry in the background, at most once at a time per key.
func (p *Proxy) refresh(q *request, f *lookup) {
	if q.foreign || p.flights.isBackingOff(q.flightKey(f)) {
		return
	}
	fl, leads := p.join(q, f)
	if !leads {
		return
	}
	back := *q
	back.Method, back.mode = http.MethodGet, coalesce
	back.Directives = rfc9111.RequestDirectives{}
	found := *f
	p.background.Go(func() {
		p.lead(nil, &back, &found, fl)
	})
}
