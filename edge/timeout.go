package edge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/badge"
	"github.com/fieldmark/fieldmark/edge/conn/framing"
	"github.com/fieldmark/fieldmark/edge/mcp"
	"github.com/fieldmark/fieldmark/edge/proxy"
	"github.com/fieldmark/fieldmark/edge/proxy/upstream"
	"github.com/fieldmark/fieldmark/internal/slots"
	"github.com/fieldmark/fieldmark/internal/timeout"
)

// The timeouts of requests to an origin: how long a client waits for one that accepts requests and does not answer.
const (
	// apiTimeout bounds the wait for the head of an answer of Fieldmark's own
	// origin, all tries together. It is a little longer than the fills of the
	// cache, so that both end before six seconds.
	apiTimeout = fillTimeout + 500*time.Millisecond*timeout.Scale
	// slowTimeout bounds the same wait for slow requests and for sites behind the edge: as
	// long as one attempt may take.
	slowTimeout = upstream.DefaultHeadTimeout
	// chartTimeout bounds the wait for the history of a brand's page, and
	// referenceTimeout that for the API reference: the pages are useful without
	// them, and come complete half a minute later.
	chartTimeout, referenceTimeout = time.Second * timeout.Scale, 3 * time.Second * timeout.Scale
	// rankedTimeout is how long a badge waits for its score when the ranking has
	// enough data to draw it; the fill of the badge itself must not run out of time.
	rankedTimeout = fillTimeout - time.Second*timeout.Scale
)

// slowPaths are where the origin itself calls other servers, runs untrusted
// modules, handles every brand or waits for the end of a check. They have limits of 18 to 60 s at the origin.
var slowPaths = []struct {
	method, prefix, suffix string
}{
	{http.MethodPost, fieldmark.PathLLMsLint, ""},
	{http.MethodPost, fieldmark.PathMissions, fieldmark.PathAttachments}, // may be stored on another server
	{http.MethodPost, fieldmark.PathTechnician, ""},                      // photos, as above
	{http.MethodGet, fieldmark.PathChecks + "/", ""},
	{http.MethodPost, fieldmark.PathPlayground, ""},
	{http.MethodGet, fieldmark.PathScores, "scores"}, // waits for a change
	{http.MethodPost, fieldmark.PathWebhooks, "/test"},
	{http.MethodPost, fieldmark.PathPortal, ""}, // tests, as above
	{http.MethodPost, fieldmark.PathClaims, "/verify"},
	{http.MethodPost, fieldmark.PathClaims, "/object"},
	{http.MethodPost, fieldmark.PathAdminAPI + "webhooks", "/test"},
	{http.MethodPost, fieldmark.PathAdminAPI, "/import"},
	{http.MethodPost, fieldmark.PathAdminAPI + "cdns/", ""},
	{http.MethodPut, fieldmark.PathAdminAPI + "cdns/", ""},
	{http.MethodPost, fieldmark.PathAdminAPI + "modules", "modules"},
	{http.MethodGet, fieldmark.PathAdminAPI + "audit-log/verdict", ""},
	{http.MethodPost, fieldmark.PathAdmin + "/", ""}, // forms: imports, modules, and sign-ins that queue for hashing
	{http.MethodGet, fieldmark.PathSignedOn, ""},
}

// originPaths are the addresses that Fieldmark's own origin answers.
var originPaths = [...]string{fieldmark.PathPublic, "/api/v1/", fieldmark.PathCalendar, fieldmark.PathOpenAPI,
	fieldmark.PathAsyncAPI, "/problems/", fieldmark.PathTechnician,
	fieldmark.PathPortal}

// headTimeout returns how long the head of the answer to r may take, from when r
// was sent.
func (s *siteHosts) headTimeout(r *http.Request) time.Duration {
	if s.isSite(r.Host) {
		return slowTimeout
	}
	for _, s := range slowPaths {
		if r.Method == s.method && strings.HasPrefix(r.URL.Path, s.prefix) && strings.HasSuffix(r.URL.Path, s.suffix) {
			return slowTimeout
		}
	}
	own := func(prefix string) bool { return strings.HasPrefix(r.URL.Path, prefix) }
	if isAdmin(r.URL.Path) || slices.ContainsFunc(originPaths[:], own) {
		return apiTimeout
	}
	return slowTimeout
}

// roundTripWithin sends r by next and fails when the response head has not arrived within
// limit. Time that a client takes to send a body does not count. The caller calls release
// after reading the response.
func roundTripWithin(next http.RoundTripper, r *http.Request, limit time.Duration) (resp *http.Response, release func(),
	err error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	release = func() { cancel(nil) }
	d := &headDeadline{limit: limit, expire: func() { cancel(context.DeadlineExceeded) }}
	d.run()
	r = r.WithContext(upstream.WithHeadTimeout(ctx, limit))
	if r.Body != nil && r.GetBody == nil {
		r.Body = &timedBody{r.Body, d}
	}
	resp, err = next.RoundTrip(r)
	inTime := d.end()
	if err == nil && inTime {
		return resp, release, nil
	}
	if err == nil {
		resp.Body.Close()
	}
	if !inTime {
		err = fmt.Errorf("no answer within %s: %w", limit, context.DeadlineExceeded)
	}
	release()
	return nil, nil, err
}

// headDeadline is the time left for the head of a response.
type headDeadline struct {
	limit  time.Duration
	expire func()

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool // paused, or ended
	ended   bool
	late    bool
}

// run starts the time, from the beginning.
func (d *headDeadline) run() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended || d.late {
		return
	}
	d.stopped = false
	if d.timer == nil {
		d.timer = time.AfterFunc(d.limit, d.passed)
	} else {
		d.timer.Reset(d.limit)
	}
}

// passed is called by the timer, perhaps just after it was stopped.
func (d *headDeadline) passed() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.stopped && !d.late {
		d.late = true
		d.expire()
	}
}

// pause stops the time while a client sends.
func (d *headDeadline) pause() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopped = true
	d.timer.Stop()
}

// end stops the timer permanently and reports whether it had not expired.
func (d *headDeadline) end() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopped, d.ended = true, true
	d.timer.Stop()
	return !d.late
}

// timedBody is a request body that arrives from a client while it is sent to the origin.
type timedBody struct {
	io.ReadCloser
	deadline *headDeadline
}

// Read implements io.Reader.
func (b *timedBody) Read(p []byte) (int, error) {
	b.deadline.pause()
	defer b.deadline.run()
	return b.ReadCloser.Read(p)
}

// publicError returns the error that a client receives for err. A deadline that passed,
// here or in the cache, is reported as a timeout of the origin, not as a fault of the node.
func publicError(err error) *fieldmark.Error {
	if fe, ok := errors.AsType[*fieldmark.Error](err); ok {
		return fe
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, cache.ErrFillTimeout):
		return errOriginTimeout(err)
	case errors.Is(err, cache.ErrBusy):
		return errOverloaded()
	case errors.Is(err, cache.ErrPurged), errors.Is(err, cache.ErrClosed):
		return &fieldmark.Error{Code: fieldmark.CodeOriginUnavailable,
			Detail: "the answer changed while it was made; repeat the request a little later", Err: err}
	}
	return fieldmark.AsError(err)
}

// errOriginTimeout returns the error for a request to which the origin did not respond in
// time.
func errOriginTimeout(err error) *fieldmark.Error {
	return &fieldmark.Error{Code: fieldmark.CodeTimeout,
		Detail: "the origin did not answer in time; it is safe to repeat a request that names its mission", Err: err}
}

// Limits of what clients send.
const (
	// DefaultPassBody bounds the body of a request to a site behind the edge, in bytes. It
	// is streamed, so it costs no memory; the limit is above those of common sites, so that
	// the site decides, and below the size of its disk.
	DefaultPassBody = 1 << 30
	// maxUploads bounds the bodies that are passed on as they come: half of the
	// connections to an origin, as a slow client holds one all the time.
	maxUploads = upstream.MaxConns / 2
)

// bufferBody reads a short body. It reports whether the request can be answered;
// if not, it was.
func (w *responder) bufferBody(ctx *fasthttp.RequestCtx) bool {
	if !ctx.Request.IsBodyStream() {
		return true
	}
	if err := proxy.BufferBody(ctx); err != nil {
		w.fail(ctx, bodyError(ctx.Path(), err))
		w.meters.count(routeRefused, ctx.Response.StatusCode())
		return false
	}
	return true
}

// readBody reads the body for handlers that need all of it.
func readBody(ctx *fasthttp.RequestCtx, limit int64) error {
	if err := proxy.ReadBody(ctx, limit); err != nil {
		return bodyError(ctx.Path(), err)
	}
	return nil
}

// closeUnread closes the connection after a body that was not read completely: the rest of
// the body must not be parsed as a request.
func closeUnread(ctx *fasthttp.RequestCtx) {
	if ctx.Request.IsBodyStream() {
		ctx.SetConnectionClose()
	}
}

// bodyError returns the error for a body that could not be read, of a request to a path.
func bodyError(path []byte, err error) *fieldmark.Error {
	if large, ok := errors.AsType[*proxy.TooLargeError](err); ok {
		return errBodyTooLarge(path, large.Limit)
	}
	if refused, ok := errors.AsType[*framing.Error](err); ok {
		return errMalformed(refused)
	}
	if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
		return errRequestTimeout()
	}
	return fieldmark.Errorf(fieldmark.CodeMalformedRequest, "the body is not whole")
}

func errBodyTooLarge(path []byte, limit int64) *fieldmark.Error {
	fe := fieldmark.Errorf(fieldmark.CodeBodyTooLarge, "the body is larger than %d bytes", limit)
	if isUpload(path) {
		fe = fieldmark.Errorf(fieldmark.CodeAttachmentTooLarge, "an attachment has at most %d MiB (%d bytes)",
			limit>>20, limit)
	}
	fe.Limit = limit
	return fe
}

// attachmentForm is what the form of the admin console needs beside the file: the lines of
// multipart/form-data around it and two short fields.
const attachmentForm = 64 << 10

// technicianForm is what a form of a technician's page needs beside the photo: sixteen short fields. The
// origin has the same limit.
const technicianForm = 1 << 20

// isUpload reports whether the body of a request to a path is an attachment.
func isUpload(path []byte) bool {
	return strings.HasPrefix(text(path), fieldmark.PathMissions+"/") &&
		strings.HasSuffix(text(path), fieldmark.PathAttachments)
}

// refuseLargeBody treats a request whose Content-Length is too large as one with Expect:
// 100-continue, so that it is refused at once: fasthttp would otherwise wait for the
// beginning of the body first.
func (s *siteHosts) refuseLargeBody(h *fasthttp.RequestHeader) (none fasthttp.RequestConfig) {
	if n := int64(h.ContentLength()); n > proxy.MaxBufferedBody {
		path, _, _ := bytes.Cut(h.RequestURI(), []byte("?"))
		if limit := s.bodyLimit(h.Host(), path); limit > 0 && n > limit {
			h.Set("Expect", "100-continue")
		}
	}
	return none
}

// checkExpect is called before a client that sent Expect: 100-continue receives 100 (RFC
// 9110, 10.1.1).
func (e *Edge) checkExpect(ctx *fasthttp.RequestCtx) int {
	limit := e.hosts.bodyLimit(ctx.Host(), ctx.Path())
	if limit <= 0 || int64(ctx.Request.Header.ContentLength()) <= limit {
		return http.StatusContinue
	}
	e.meters.count(routeRefused, http.StatusRequestEntityTooLarge)
	e.responder.fail(ctx, errBodyTooLarge(ctx.Path(), limit))
	e.requestLog.request(ctx)
	return http.StatusRequestEntityTooLarge
}

// bodyLimit is what a body may weigh: administrators import lists, a file to be
// linted may be too large by every rule, everyone else sends one document. What is
// below zero has no limit.
func (s *siteHosts) bodyLimit(host, path []byte) int64 {
	switch {
	case s.isSite(text(host)):
		return s.passBody
	case isUpload(path):
		return fieldmark.MaxAttachment
	case strings.HasPrefix(text(path), fieldmark.PathAdmin+"/missions/") &&
		strings.HasSuffix(text(path), fieldmark.PathAttachments):
		return fieldmark.MaxAttachment + attachmentForm
	case strings.HasPrefix(text(path), fieldmark.PathTechnician):
		return fieldmark.MaxAttachment + technicianForm
	case strings.HasPrefix(text(path), fieldmark.PathAdminAPI), strings.HasPrefix(text(path), fieldmark.PathAdmin+"/"):
		return fieldmark.MaxBulkBody
	case strings.HasPrefix(text(path), fieldmark.PathAlerts):
		return fieldmark.MaxAlertBody
	case text(path) == fieldmark.PathMissionBatch:
		return fieldmark.MaxBatchBody
	case text(path) == mcp.Path:
		return mcp.MaxBody
	case text(path) == fieldmark.PathLLMsLint:
		return fieldmark.MaxLintBody
	case strings.HasPrefix(text(path), fieldmark.PathPlayground):
		return fieldmark.MaxPlayBody
	}
	for _, own := range documentPaths {
		if strings.HasPrefix(text(path), own) {
			return fieldmark.MaxBody
		}
	}
	return s.passBody // of a site behind the edge
}

// documentPaths are the paths where Fieldmark's own origin accepts documents and forms.
var documentPaths = [...]string{fieldmark.PathPublic, "/api/v1/", fieldmark.PathAdmin, fieldmark.PathInternal}

// Limits of PNGs that are not in the cache. A badge takes 1 to 5 ms to draw, a thousand
// times as long as an SVG, and a share card 50 ms. One is drawn at a time, so that they
// keep one core busy and not all.
const (
	// maxPNGs bounds the requests in progress: the last of them waits for a third of a
	// second. One client network may have a quarter of them; a browser loads six pictures
	// of a host at a time.
	maxPNGs = 64
	// maxErrorPNGs bounds the cached pictures of errors, at about 4 KB each. Beyond it, an
	// error is shown as an SVG.
	maxErrorPNGs = 1024
)

// pngRenderer draws PNGs and bounds what that costs.
type pngRenderer struct {
	slot    chan struct{}            // has room for one
	waiting *slots.Slots[netip.Addr] // requests that are being answered

	mu     sync.Mutex
	errors map[errorPNG][]byte
}

// errorPNG is all that the picture of an error depends on.
type errorPNG struct {
	status  int // of the words: 400, 404 or 503
	options badge.Options
	scale   int
}

func newPNGs() *pngRenderer {
	return &pngRenderer{slot: make(chan struct{}, 1), waiting: newSlots(maxPNGs, maxPNGs),
		errors: map[errorPNG][]byte{}}
}

// render draws a picture when it is its turn. It returns CodeOverloaded if ctx ends
// before.
func (p *pngRenderer) render(ctx context.Context, picture func() ([]byte, error)) ([]byte, error) {
	select {
	case p.slot <- struct{}{}:
		defer func() { <-p.slot }()
		return picture()
	case <-ctx.Done():
		return nil, errOverloaded()
	}
}

// error returns the picture of an error, which is drawn once and cached, or nil if the
// cache of error pictures is full. Labels are ignored, because there are too many of them
// to cache.
func (p *pngRenderer) error(ctx context.Context, fe *fieldmark.Error, r *badgeRequest) ([]byte, error) {
	key := errorPNG{status: fe.Code.Status(), scale: r.scale,
		options: badge.Options{Style: r.options.Style, Theme: r.options.Theme, Lang: r.options.Lang}}
	if key.status != fasthttp.StatusNotFound && key.status != fasthttp.StatusBadRequest {
		key.status = fasthttp.StatusServiceUnavailable
	}
	find := func() (body []byte, decided bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		body, ok := p.errors[key]
		return body, ok || len(p.errors) >= maxErrorPNGs
	}
	if body, decided := find(); decided {
		return body, nil
	}
	return p.render(ctx, func() ([]byte, error) {
		if body, decided := find(); decided { // while this one waited
			return body, nil
		}
		body, err := badge.ErrorPNG(fe, key.options, key.scale)
		if err != nil {
			return nil, err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.errors[key] = body
		return body, nil
	})
}

// servePNG answers a request for a PNG. What is not in the cache counts as a
// request to an API.
func (e *badgeEndpoints) servePNG(ctx *fasthttp.RequestCtx, r *badgeRequest) {
	if r.options.Label == "" {
		if entry, state := e.cache.Get(r.key()); state == cache.Fresh {
			e.sendBadge(ctx, entry, cache.SourceHit, r)
			return
		}
	}
	e.serveDrawn(ctx, func(ctx *fasthttp.RequestCtx, err error) { e.failBadge(ctx, r, err) },
		func() { e.serveBadgeEntry(ctx, r) })
}

// serveDrawn calls serve, which draws a PNG, if the client may have one drawn now.
func (e *badgeEndpoints) serveDrawn(ctx *fasthttp.RequestCtx, fail func(*fasthttp.RequestCtx, error), serve func()) {
	next := func(ctx *fasthttp.RequestCtx) route {
		release, ok := e.renderers.png.waiting.Acquire(e.clients.network(e.clients.addr(ctx)))
		if !ok {
			e.meters.shed.Inc()
			fail(ctx, errOverloaded())
			return routeBadge
		}
		defer release()
		serve()
		return routeBadge
	}
	if e.limiter.limit(ctx, byClient, next) == routeRefused {
		fail(ctx, fieldmark.Errorf(fieldmark.CodeRateLimited,
			"too many pictures were requested; Retry-After says when to try again"))
	}
}
