package proxy

import (
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark/cache/rfc9111"
	"github.com/fieldmark/fieldmark/edge/compress"
)

// status holds the parameters of Cache-Status (RFC 9211).
type status struct {
	hit       bool
	stale     bool   // sent in need
	fwd       string // "fwd=" and why it went to the origin
	code      int    // what the origin answered
	stored    bool
	collapsed bool
	detail    string
}

// statusName identifies this cache in Cache-Status.
const statusName = "fieldmark"

func (s *status) append(dst []byte, v *variant, now time.Time) []byte {
	dst = append(dst, statusName...)
	switch {
	case s.hit:
		dst = append(dst, "; hit"...)
	case s.fwd != "":
		dst = append(append(dst, "; "...), s.fwd...)
		if s.code != 0 {
			dst = strconv.AppendInt(append(dst, "; fwd-status="...), int64(s.code), 10)
		}
		if s.stored {
			dst = append(dst, "; stored"...)
		}
		if s.collapsed {
			dst = append(dst, "; collapsed"...)
		}
	}
	if v != nil && (s.hit || s.stored || s.stale) {
		dst = strconv.AppendInt(append(dst, "; ttl="...), int64(v.Fresh(now)/time.Second), 10)
	}
	detail := s.detail
	if s.stale {
		detail = "stale-if-error"
	}
	if detail != "" {
		dst = append(append(dst, "; detail="...), detail...)
	}
	return dst
}

// contentFields are the fields that a 304 does not carry: they describe content that
// is not there (RFC 9110, 15.4.5).
var contentFields = []string{"Content-Type", "Content-Encoding", "Content-Language", "Content-Range", "Content-Md5",
	"Content-Disposition", "Content-Digest", "Server"}

// send answers with what is stored, as far as the reader lacks it.
func (p *Proxy) send(ctx *fasthttp.RequestCtx, q *request, v *variant, s status) {
	now := time.Now()
	// fasthttp would add its own Date beside the one that is stored, by which clients compute
	// the age (RFC 9110, 6.6.1).
	p.noDate.CopyTo(&ctx.Response.Header)
	ctx.Response.Header.SetServer(v.server)
	form := v.negotiate(q.Header)
	block := v.block
	if form.block != nil {
		block = form.block
	}
	body, code := form.body, v.Status
	switch {
	// The tag of a compressed form is our own: only the edge can confirm it.
	case form.tag != "" && v.Status == http.StatusOK && rfc9111.MatchETags(q.Header["If-None-Match"], form.tag):
		code, body = http.StatusNotModified, nil
		block = appendFields(nil, form.header(v), contentFields...)
	case v.NotModified(q.Header): // of the form the reader has, which is as it came
		code, body = http.StatusNotModified, nil
		h := v.Header
		if form.block != nil {
			form.coding = compress.Identity
			h = form.header(v)
		}
		block = appendFields(nil, h, contentFields...)
	// One range is cut out of the stored body. Several ranges in one request are answered with
	// the whole body, which RFC 9110, 14.2 allows: multipart answers invite amplification.
	case v.Status == http.StatusOK && len(q.Header["Range"]) == 1 && q.Method == http.MethodGet &&
		v.IfRangeMatches(q.Header):
		kind, start, length := rfc9111.ParseRange(q.Header["Range"][0], int64(len(v.body)))
		size := strconv.Itoa(len(v.body))
		switch kind {
		case rfc9111.PartialContent:
			code, body = http.StatusPartialContent, v.body[start:start+length]
			block = appendFields(nil, v.Header, "Content-Type", "Content-Range", "Server")
			block = append(block, "\r\nContent-Range: bytes "+strconv.FormatInt(start, 10)+"-"+
				strconv.FormatInt(start+length-1, 10)+"/"+size...)
		case rfc9111.Unsatisfiable:
			code, body = http.StatusRequestedRangeNotSatisfiable, nil
			block = []byte("Content-Range: bytes */" + size)
		}
	}
	// A 304 has no content to describe, and the body of a 416 is empty.
	if code != http.StatusNotModified && code != http.StatusRequestedRangeNotSatisfiable {
		ctx.Response.Header.SetContentTypeBytes(v.ctype)
	}
	head := append(make([]byte, 0, len(block)+128), block...)
	head = append(head, "\r\nCache-Status: "...)
	head = append(s.append(head, v, now), "\r\nAge"...)
	var digits [20]byte
	ctx.Response.Header.SetCanonical(head, strconv.AppendInt(digits[:0], int64(max(0, v.Age(now))/time.Second), 10))
	ctx.SetStatusCode(code)
	if code == http.StatusNotModified || hasNoBody(code) {
		ctx.Response.SkipBody = true
		return
	}
	ctx.Response.SetBodyRaw(body)
	ctx.Response.SkipBody = q.Method == http.MethodHead
}

// hasNoBody reports whether a response never has content, whatever its method.
func hasNoBody(code int) bool { return code == http.StatusNoContent }

// stream streams a response that is not in memory.
func (p *Proxy) stream(ctx *fasthttp.RequestCtx, q *request, x *exchange, body io.ReadCloser, s status) {
	resp := x.resp
	if resp.StatusCode == http.StatusSwitchingProtocols {
		p.tunnel(ctx, resp, x.cancel)
		return
	}
	// What concerns one connection is removed (RFC 9110, 7.6.1), and a missing Date is set, as a
	// recipient with a clock must (6.6.1).
	h := resp.Header
	s.code = resp.StatusCode
	length := resp.ContentLength
	if length < 0 && q.Method == http.MethodHead {
		if n, err := strconv.Atoi(h.Get("Content-Length")); err == nil {
			length = int64(n)
		}
	}
	rfc9111.RemoveHopByHop(h)
	for _, name := range p.strip {
		delete(h, name)
	}
	if _, ok := rfc9111.ParseDate(h.Get("Date"), x.received); !ok {
		h.Set("Date", x.received.UTC().Format(http.TimeFormat))
	}
	p.noDate.CopyTo(&ctx.Response.Header)
	ctx.Response.Header.SetServer(oneLine.Replace(h.Get("Server")))
	code := resp.StatusCode
	if q.mode != bypass && code == http.StatusOK && len(q.Header["If-None-Match"])+
		len(q.Header["If-Modified-Since"]) > 0 {
		// The origin may have been sent a request without the client's condition, so it is
		// evaluated here; if the condition was sent, a 200 means that it does not match.
		if r := rfc9111.NewResponse(code, h, x.requested, x.received); r.NotModified(q.Header) {
			code = http.StatusNotModified
		}
	}
	// fasthttp writes these itself.
	without := []string{"Content-Type", "Content-Length", "Server"}
	if code == http.StatusNotModified {
		without = append(without, contentFields...)
	} else if t := h.Get("Content-Type"); t != "" {
		ctx.Response.Header.SetContentType(oneLine.Replace(t))
	}
	block := appendFields(nil, h, without...)
	ctx.Response.Header.SetCanonical(append(block, "\r\nCache-Status"...), s.append(nil, nil, x.received))
	ctx.SetStatusCode(code)
	// A response to HEAD repeats the length that a GET would have (RFC 9110, 9.3.2).
	if q.Method == http.MethodHead || hasNoBody(code) || code == http.StatusNotModified {
		ctx.Response.SkipBody = true
		if length >= 0 && q.Method == http.MethodHead {
			ctx.Response.Header.SetContentLength(int(length))
		}
		body.Close()
		x.cancel()
		return
	}
	answer := &streamed{ReadCloser: body, cancel: x.cancel, upload: q.upload}
	if answer.conn, _ = ctx.Conn().(abortable); answer.conn != nil {
		answer.conn.OnAbort(answer.abort)
	}
	ctx.Response.SetBodyStream(answer, int(length))
}

// abortable is a connection that reports its end while a response is read from the origin.
type abortable interface{ OnAbort(func()) }

// streamed ends the exchange when its response was read.
type streamed struct {
	io.ReadCloser
	cancel context.CancelFunc
	upload *upload   // of its request; nil: none that is still under way
	conn   abortable // nil: unknown
}

// abort ends the reads of a client that has disconnected, and the exchange unless others
// wait for the response too.
func (b *streamed) abort() {
	if c, collected := b.ReadCloser.(*collector); collected {
		_ = c.Close() // the reads fail in any case
		return
	}
	b.cancel()
}

// Close implements io.Closer.
func (b *streamed) Close() error {
	if b.upload != nil {
		b.upload.stop()
	}
	if b.conn != nil {
		b.conn.OnAbort(nil)
	}
	if _, collected := b.ReadCloser.(*collector); !collected {
		defer b.cancel()
	}
	return b.ReadCloser.Close()
}

// tunnel hands the connection over to a protocol both sides have agreed on.
func (p *Proxy) tunnel(ctx *fasthttp.RequestCtx, resp *http.Response, cancel context.CancelFunc) {
	// net/http gives a 101 a body that can be written too.
	far, ok := resp.Body.(io.ReadWriteCloser)
	if !ok {
		resp.Body.Close()
		cancel()
		ctx.SetStatusCode(http.StatusBadGateway)
		return
	}
	h := resp.Header
	protocol := h.Get("Upgrade")
	rfc9111.RemoveHopByHop(h)
	p.noDate.CopyTo(&ctx.Response.Header)
	ctx.SetStatusCode(http.StatusSwitchingProtocols)
	block := appendFields(nil, h, "Content-Type", "Content-Length")
	if len(block) > 0 {
		block = append(block, "\r\n"...)
	}
	ctx.Response.Header.SetCanonical(append(block, "Connection: Upgrade\r\nUpgrade"...),
		[]byte(oneLine.Replace(protocol)))
	// After a hijack no limit of the server applies, so the tunnel has its own idle limit.
	ctx.Hijack(func(near net.Conn) {
		defer cancel()
		defer far.Close()
		end := func() {
			far.Close()
			_ = near.SetDeadline(time.Now()) // fasthttp's Close does nothing until this handler returns
		}
		idle := time.AfterFunc(tunnelIdle, end)
		defer idle.Stop()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = io.Copy(near, &activityReader{far, idle}) // whichever side ends, ends both
			_ = near.SetReadDeadline(time.Now())
		}()
		_, _ = io.Copy(far, &activityReader{near, idle})
		far.Close()
		_ = near.SetWriteDeadline(time.Now().Add(tunnelFlush))
		<-done
	})
}

// Limits of a tunnel.
const (
	// tunnelIdle ends a tunnel in which neither side has said anything. WebSocket
	// applications that keep one open send a ping every minute or more often, as
	// balancers commonly allow that.
	tunnelIdle = 5 * time.Minute
	// tunnelFlush is how long a client may take for the last bytes after its own end.
	tunnelFlush = 5 * time.Second
)

// activityReader is one side of a tunnel; each read resets the tunnel's idle timer.
type activityReader struct {
	io.Reader
	idle *time.Timer
}

// Read implements io.Reader.
func (h *activityReader) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	if err == nil {
		h.idle.Reset(tunnelIdle)
	}
	return n, err
}
