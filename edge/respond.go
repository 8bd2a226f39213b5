package edge

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/cache/rfc9111"
	"github.com/fieldmark/fieldmark/edge/compress"
	"github.com/fieldmark/fieldmark/edge/conn"
	"github.com/fieldmark/fieldmark/edge/conn/framing"
	"github.com/fieldmark/fieldmark/internal/slots"
	"github.com/fieldmark/fieldmark/internal/trace"
)

// responder sends responses and errors.
type responder struct {
	baseURL    string // Config.BaseURL
	log        *slog.Logger
	meters     *meters
	compressor *compress.Worker
}

// head holds the header fields of a response; it is built once, with the response, and
// written many times.
type head struct {
	// contentType and control are fields of their own: fasthttp writes the one
	// itself, and a badge may replace the other.
	contentType, control []byte
	// block is all other fields but the last, as they go out, and the name of the
	// last; tail is its value. fasthttp writes a field as name, colon, value and
	// does not look into a name given as canonical, so one field carries all. Names
	// and values are ours and hold no line break.
	block, tail  []byte
	etag         []byte     // strong, in quotes
	hpack, qpack []byte     // the fields for HTTP/2 and HTTP/3 (see appendFields); nil: none
	hpackLength  int        // bytes of Content-Length in hpack
	qpackLength  int        // bytes of Content-Length in qpack
	encodings    *encodings // nil: the response is never compressed
	keyed        bool       // addKeys has completed block
}

// newHead prepares header fields given as name, value, name, value.
func newHead(etag string, fields ...string) *head {
	h := &head{etag: []byte(etag)}
	if etag != "" {
		fields = append(fields, "Etag", etag)
	}
	for i := 0; i < len(fields); i += 2 {
		name, value := http.CanonicalHeaderKey(fields[i]), oneLine.Replace(fields[i+1])
		switch name {
		case "Content-Type":
			h.contentType = []byte(value)
		case "Cache-Control":
			h.control = []byte(value)
		default:
			if h.block != nil {
				h.block = append(append(append(h.block, ": "...), h.tail...), "\r\n"...)
			}
			h.block = append(h.block, name...)
			h.tail = []byte(value)
		}
	}
	return h
}

// addKeys adds the surrogate keys of its tags to the head of a cacheable entry, by which
// CDNs in front of the edges purge the response. A private response gets none.
func addKeys(entry *cache.Entry) {
	a, ok := entry.Value.(answer)
	if !ok {
		return
	}
	h := a.headOf()
	if h.keyed || !bytes.HasPrefix(h.control, publicControl) {
		return
	}
	h.keyed = true
	spaced, listed := keysOf(entry.Tags)
	block := []byte("Cache-Tag: " + listed + "\r\nSurrogate-Key")
	if h.block == nil {
		h.block, h.tail = block, []byte(spaced)
		return
	}
	block = append(append(append(block, ": "...), spaced...), "\r\n"...)
	h.block = append(block, h.block...)
}

var publicControl = []byte("public")

// keysOf returns the surrogate keys of tags as the values of Surrogate-Key and Cache-Tag. At
// most cache.MaxTags tags become keys, so that a value stays below 700 bytes: CDNs cut longer
// ones (Fastly at 16 KB) or refuse them.
func keysOf(tags []string) (spaced, listed string) {
	var keys []string
	for _, tag := range tags[:min(len(tags), cache.MaxTags)] {
		if key, ok := fieldmark.Tag(tag).SurrogateKey(); ok {
			keys = append(keys, key)
		}
	}
	keys = append(keys, fieldmark.KeyAll)
	return strings.Join(keys, " "), strings.Join(keys, ",")
}

// setKeys sets the surrogate keys of a response that is not cached here.
func setKeys(h *fasthttp.ResponseHeader, tags ...fieldmark.Tag) {
	names := make([]string, len(tags))
	for i, tag := range tags {
		names[i] = string(tag)
	}
	spaced, listed := keysOf(names)
	h.Set("Surrogate-Key", spaced)
	h.Set("Cache-Tag", listed)
}

// oneLine prevents a value that an origin sent from starting another header field.
var oneLine = strings.NewReplacer("\r", " ", "\n", " ")

// cacheStatus are the values of Cache-Status (RFC 9211) that the edge sends, by source.
var cacheStatus = [...]string{
	cache.SourceNone:      "fieldmark; fwd=miss",
	cache.SourceHit:       "fieldmark; hit",
	cache.SourceStale:     "fieldmark; hit; detail=stale-while-revalidate",
	cache.SourceFill:      "fieldmark; fwd=miss; stored",
	cache.SourceCoalesced: "fieldmark; fwd=miss; collapsed",
	cache.SourceOnError:   "fieldmark; hit; detail=stale-if-error",
}

var headerIfNoneMatch = []byte("If-None-Match")

// statusAndAge are the Cache-Status of each source and the name of the next
// field, Age, in one block as head.block is.
var statusAndAge = func() (blocks [len(cacheStatus)][]byte) {
	for source, status := range cacheStatus {
		blocks[source] = []byte("Cache-Status: " + status + "\r\nAge")
	}
	return blocks
}()

// send writes a cached response: 304 if the client has it already, else the body. It does
// not allocate.
func (w *responder) send(ctx *fasthttp.RequestCtx, entry *cache.Entry, from cache.Source) {
	h := entry.Value.(answer).headOf()
	if h.encodings != nil {
		w.sendEncoded(ctx, h, entry, from)
		return
	}
	w.writeHead(ctx, h, h.tail, entry, from)
	if entry.Status == http.StatusOK && matches(ctx.Request.Header.PeekBytes(headerIfNoneMatch), h.etag) {
		ctx.Response.SetStatusCode(fasthttp.StatusNotModified)
		return
	}
	ctx.Response.SetStatusCode(entry.Status)
	ctx.Response.SetBodyRaw(entry.Body)
	ctx.Response.SkipBody = ctx.IsHead()
}

// answer is what a cached entry holds beside its bytes: at least the head.
type answer interface{ headOf() *head }

func (h *head) headOf() *head { return h }

// writeHead writes the fields of an answer; tail is h.tail or that of another form.
func (w *responder) writeHead(ctx *fasthttp.RequestCtx, h *head, tail []byte, entry *cache.Entry, from cache.Source) {
	rh := &ctx.Response.Header
	if h.contentType != nil {
		rh.SetContentTypeBytes(h.contentType)
	}
	if h.control != nil {
		rh.SetCanonical(headerCacheControl, h.control)
	}
	if h.block != nil {
		rh.SetCanonical(h.block, tail)
	}
	var digits [20]byte
	age := max(0, int64(time.Since(entry.Born)/time.Second))
	rh.SetCanonical(statusAndAge[from], strconv.AppendInt(digits[:0], age, 10))
}

// matches reports whether an If-None-Match list contains etag, without allocating.
func matches(list, etag []byte) bool {
	if len(list) == 0 || len(etag) == 0 {
		return false
	}
	return rfc9111.MatchETag(unsafe.String(unsafe.SliceData(list), len(list)),
		unsafe.String(unsafe.SliceData(etag), len(etag)))
}

// fetcher reads the cache for requests.
type fetcher struct {
	cache   *cache.Cache
	clients clients
	limits  *rateLimiter             // of getLimited
	fetches *slots.Slots[netip.Addr] // requests that wait in getLimited
	meters  *meters
	tracer  *trace.Tracer // nil: none
}

// context bounds the work done for one request. It does not descend from
// the fasthttp context, which is used again for another request.
func (f *fetcher) context(ctx *fasthttp.RequestCtx) (context.Context, context.CancelFunc) {
	rc := context.Background()
	if f.tracer != nil {
		rc = trace.With(rc, trace.Parse(string(ctx.Request.Header.Peek(trace.Header))))
	}
	return context.WithTimeout(rc, fillTimeout)
}

// trace starts the span of a fill that the request of parent waits for. A fill has a
// different context from the request, as other requests wait for it too.
func (f *fetcher) trace(ctx, asked context.Context) (context.Context, *trace.Span) {
	if f.tracer == nil {
		return ctx, nil
	}
	self, span := f.tracer.Start(trace.From(asked), "edge.fill", trace.Internal)
	return trace.With(ctx, self), span
}

// get returns the entry of key, made by fill where the cache does not have it.
func (f *fetcher) get(ctx *fasthttp.RequestCtx, key string, fill cache.Fill) (*cache.Entry, cache.Source, error) {
	rc, cancel := f.context(ctx)
	defer cancel()
	return f.cache.Fetch(rc, key, fill)
}

// getLimited is cache.Fetch for responses of which a client can name any number, such as
// those for a time, a period or a digest; each costs one request to the origin. A miss
// counts against the client network's limits, like a request that is passed on.
func (f *fetcher) getLimited(ctx *fasthttp.RequestCtx, key string, fill cache.Fill) (*cache.Entry, cache.Source,
	error) {
	if entry, state := f.cache.Get(key); state == cache.Fresh {
		return entry, cache.SourceHit, nil
	}
	network := f.clients.network(f.clients.addr(ctx))
	release, ok := f.fetches.Acquire(network)
	if !ok {
		f.meters.shed.Inc()
		return nil, cache.SourceNone, errOverloaded()
	}
	defer release()
	rc, cancel := f.context(ctx)
	defer cancel()
	if err := f.limits.checkQuota(rc, string(ctx.Path()), network); err != nil {
		return nil, cache.SourceNone, err
	}
	return f.cache.Fetch(rc, key, fill)
}

// fetchFunc is get or getLimited of a fetcher.
type fetchFunc func(ctx *fasthttp.RequestCtx, key string, fill cache.Fill) (*cache.Entry, cache.Source, error)

// serveCached sends what fetch returns for a key, and passes its errors to fail.
func (w *responder) serveCached(ctx *fasthttp.RequestCtx, fetch fetchFunc, key string, fill cache.Fill,
	fail func(*fasthttp.RequestCtx, error)) {
	entry, from, err := fetch(ctx, key, fill)
	if err != nil {
		fail(ctx, err)
		return
	}
	w.send(ctx, entry, from)
}

// etagOf returns the strong entity tag of a body.
func etagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}

// newJSONEntry returns the entry of a public JSON document, which it encodes. An empty
// etag is that of the content.
func newJSONEntry(doc any, etag, control string) (*cache.Entry, error) {
	body, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	body = append(body, '\n')
	if etag == "" {
		etag = etagOf(body)
	}
	return newEntry(body, etag,
		"Content-Type", "application/json",
		"Cache-Control", control,
		"X-Content-Type-Options", "nosniff",
		"Access-Control-Allow-Origin", "*"), nil
}

// retryAfter is the Retry-After of answers that the node cannot give now: long enough
// for a restart, short enough for tools that stop after a few tries.
const retryAfter = 5 * time.Second

// fail sends a problem document, which renderErrorPage may replace by an error page.
func (w *responder) fail(ctx *fasthttp.RequestCtx, err error) {
	fe := publicError(err)
	id := requestID(ctx)
	if fe.Code == fieldmark.CodeInternal {
		w.log.Error("request failed", "requestId", id, "method", string(ctx.Method()), "path",
			fieldmark.LoggedPath(string(ctx.Path())), "err", err)
	}
	p := fe.Problem(w.baseURL, id)
	body, merr := json.Marshal(p)
	if merr != nil {
		w.log.Error("encode problem", "requestId", id, "err", merr)
		body = []byte(`{"type":"about:blank","title":"Internal error","status":500,"code":"internal"}`)
	}
	h := &ctx.Response.Header
	h.SetContentType(fieldmark.ProblemType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set(fieldmark.HeaderRequestID, id)
	setRetryAfter(ctx, p.Status, fe.RetryAfter)
	if limited, ok := errors.AsType[*limitError](err); ok {
		limited.bucket.write(h, limited.verdict)
	}
	ctx.SetStatusCode(p.Status)
	ctx.Response.SetBody(body)
	ctx.Response.SkipBody = ctx.IsHead()
}

// setRetryAfter sets when a request may be repeated: after a given time, or after
// retryAfter where by its status the node or its origin could not answer.
func setRetryAfter(ctx *fasthttp.RequestCtx, status int, after time.Duration) {
	if after == 0 && (status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout) {
		after = retryAfter
	}
	if after > 0 {
		ctx.Response.Header.Set("Retry-After", strconv.Itoa(int(after.Seconds())))
	}
}

// requestIDKey is the user value of a request that holds its id.
type requestIDKey struct{}

// requestID returns a client's request id if it is plain, and otherwise a new one, which is
// the same at every call.
func requestID(ctx *fasthttp.RequestCtx) string {
	if id, ok := ctx.UserValue(requestIDKey{}).(string); ok {
		return id
	}
	id := string(ctx.Request.Header.Peek(fieldmark.HeaderRequestID))
	if !fieldmark.ValidRequestID(id) {
		id = newRequestID()
	}
	ctx.SetUserValue(requestIDKey{}, id)
	return id
}

// badRequest responds to bytes that fasthttp could not parse as a request.
func (w *responder) badRequest(ctx *fasthttp.RequestCtx, err error) {
	w.meters.count(routeRefused, fasthttp.StatusBadRequest)
	var small *fasthttp.ErrSmallBuffer
	refused, malformedly := errors.AsType[*framing.Error](err)
	var late net.Error
	switch {
	case malformedly:
		w.fail(ctx, errMalformed(refused))
		if refused.Status == http.StatusMethodNotAllowed {
			ctx.Response.Header.Set("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
		}
	case errors.As(err, &late) && late.Timeout():
		w.fail(ctx, errRequestTimeout())
	case errors.As(err, &small):
		w.fail(ctx, fieldmark.Errorf(fieldmark.CodeHeadersTooLarge, "the request's head is larger than %d bytes",
			conn.ReadBufferSize))
	default:
		w.fail(ctx, fieldmark.Errorf(fieldmark.CodeMalformedRequest, "this is not an HTTP/1.1 request"))
	}
	ctx.SetConnectionClose()
}

func errRequestTimeout() *fieldmark.Error {
	return fieldmark.Errorf(fieldmark.CodeRequestTimeout, "the request did not arrive in time")
}

// errMalformed returns the public error of a request that was refused by its form.
func errMalformed(refused *framing.Error) *fieldmark.Error {
	code := fieldmark.CodeMalformedRequest
	switch refused.Status {
	case http.StatusMisdirectedRequest:
		code = fieldmark.CodeMisdirected
	case http.StatusMethodNotAllowed:
		code = fieldmark.CodeMethodNotAllowed
	case http.StatusRequestURITooLong:
		code = fieldmark.CodeURITooLong
	case http.StatusRequestHeaderFieldsTooLarge:
		code = fieldmark.CodeHeadersTooLarge
	}
	return fieldmark.Errorf(code, "%s", refused.Reason)
}

// recoverPanic responds to a request whose handler panicked; the node continues.
func (w *responder) recoverPanic(ctx *fasthttp.RequestCtx) {
	if p := recover(); p != nil {
		w.meters.panics.Inc()
		w.log.Error("BUG: panic in a handler", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		ctx.Response.Reset()
		w.fail(ctx, fieldmark.Errorf(fieldmark.CodeInternal, ""))
	}
}

// text returns b as a string that shares its bytes: for lookups that end before the request
// does.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

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
