package edge

import (
	"net/http"
	"slices"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/compress"
)

// encodings are the encoded bodies of a cached response, each with its entity tag.
type encodings struct {
	compress.Encodings
	etags [compress.Count][]byte // nil: the response has none
}

// encodingsWeight is what share of a body its encodings are counted as: two of a
// quarter, of the three that there can be.
const encodingsWeight = 2

// newEntry returns an entry for a response, which is sent in the encoding that the
// client prefers if its content is worth compressing.
func newEntry(body []byte, etag string, fields ...string) *cache.Entry {
	e := &cache.Entry{Body: body, Status: http.StatusOK}
	if !compress.Compressible(fieldOf("Content-Type", fields), len(body)) {
		e.Value = newHead(etag, fields...)
		return e
	}
	s := new(encodings)
	for c := range compress.Identity {
		if etag != "" {
			s.etags[c] = []byte(c.ETag(etag))
		}
	}
	h := newHead(etag, withVary(fields)...)
	h.encodings = s
	e.Value, e.Weight = h, int64(len(body)/encodingsWeight)
	return e
}

// withVary adds Accept-Encoding to the Vary field of fields.
func withVary(fields []string) []string {
	if vary := fieldOf("Vary", fields); vary != "" {
		fields = slices.Clone(fields)
		fields[slices.Index(fields, "Vary")+1] = vary + ", Accept-Encoding"
		return fields
	}
	return append([]string{"Vary", "Accept-Encoding"}, fields...)
}

func fieldOf(name string, fields []string) string {
	for i := 0; i < len(fields); i += 2 {
		if fields[i] == name {
			return fields[i+1]
		}
	}
	return ""
}

// acceptEncoding parses the Accept-Encoding of a request.
func acceptEncoding(ctx *fasthttp.RequestCtx) (a compress.AcceptEncoding) {
	for _, line := range ctx.Request.Header.PeekAll(fasthttp.HeaderAcceptEncoding) {
		a.Add(text(line))
	}
	return a
}

// sendOnce sends a body that was rendered for one request and is not stored,
// compressed if that is worthwhile and the client accepts it. All other header fields
// are set already.
func sendOnce(ctx *fasthttp.RequestCtx, status int, body []byte) {
	h := &ctx.Response.Header
	if compress.Compressible(text(h.ContentType()), len(body)) && len(body) <= compress.MaxWaitLength {
		vary := "Accept-Encoding"
		if other := string(h.Peek("Vary")); other != "" {
			vary = other + ", " + vary
		}
		h.Set("Vary", vary)
		accept := acceptEncoding(ctx)
		var c compress.Encoding
		if c, body = compress.Once(&accept, body); c != compress.Identity {
			h.SetContentEncoding(c.String())
		}
	}
	ctx.SetStatusCode(status)
	ctx.Response.SetBodyRaw(body)
	ctx.Response.SkipBody = ctx.IsHead()
}

// clientHas reports whether an If-None-Match list names the response in an encoding
// that the client accepts, and in which. All encodings have the same content, so any
// of them will do.
func (s *encodings) clientHas(list []byte, accept *compress.AcceptEncoding, etag []byte) (compress.Encoding, bool) {
	if text(list) == "*" {
		return accept.Negotiate(s.Ready), true
	}
	if matches(list, etag) {
		return compress.Identity, true
	}
	if len(list) > 0 {
		for c := range compress.Identity {
			if accept.Weight(c) > 0 && matches(list, s.etags[c]) {
				return c, true
			}
		}
	}
	return compress.Identity, false
}

// sendEncoded is send for a response that has encodings.
func (w *responder) sendEncoded(ctx *fasthttp.RequestCtx, h *head, entry *cache.Entry, from cache.Source) {
	accept, list := acceptEncoding(ctx), ctx.Request.Header.PeekBytes(headerIfNoneMatch)
	if c, ok := h.encodings.clientHas(list, &accept, h.etag); ok && entry.Status == http.StatusOK {
		w.writeHead(ctx, h, h.tailOf(c), entry, from)
		ctx.Response.SetStatusCode(fasthttp.StatusNotModified)
		return
	}
	c, body := h.encodings.Choose(w.compressor, &accept, entry.Body)
	w.writeHead(ctx, h, h.tailOf(c), entry, from)
	if c != compress.Identity {
		ctx.Response.Header.SetContentEncoding(c.String())
	}
	ctx.Response.SetStatusCode(entry.Status)
	ctx.Response.SetBodyRaw(body)
	ctx.Response.SkipBody = ctx.IsHead()
}

// tailOf returns the value of the last header field, which is the entity tag of the
// encoding.
func (h *head) tailOf(c compress.Encoding) []byte {
	if c == compress.Identity || len(h.etag) == 0 {
		return h.tail
	}
	return h.encodings.etags[c]
}
