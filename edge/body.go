package edge

import (
	"bytes"
	"errors"
	"net"
	"net/http"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/conn/framing"
	"github.com/fieldmark/fieldmark/edge/proxy"
	"github.com/fieldmark/fieldmark/edge/proxy/upstream"
)

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
		w.fail(ctx, bodyError(err))
		w.meters.count(routeRefused, ctx.Response.StatusCode())
		return false
	}
	return true
}

// readBody reads the body for handlers that need all of it.
func readBody(ctx *fasthttp.RequestCtx, limit int64) error {
	if err := proxy.ReadBody(ctx, limit); err != nil {
		return bodyError(err)
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

// bodyError returns the error for a body that could not be read.
func bodyError(err error) *fieldmark.Error {
	if large, ok := errors.AsType[*proxy.TooLargeError](err); ok {
		return errBodyTooLarge(large.Limit)
	}
	if refused, ok := errors.AsType[*framing.Error](err); ok {
		return errMalformed(refused)
	}
	if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
		return errRequestTimeout()
	}
	return fieldmark.Errorf(fieldmark.CodeMalformedRequest, "the body is not whole")
}

func errBodyTooLarge(limit int64) *fieldmark.Error {
	fe := fieldmark.Errorf(fieldmark.CodeBodyTooLarge, "the body is larger than %d bytes", limit)
	fe.Limit = limit
	return fe
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
	e.responder.fail(ctx, errBodyTooLarge(limit))
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
	case strings.HasPrefix(text(path), fieldmark.PathAdminAPI), strings.HasPrefix(text(path), fieldmark.PathAdmin+"/"):
		return fieldmark.MaxBulkBody
	case strings.HasPrefix(text(path), fieldmark.PathAlerts):
		return fieldmark.MaxAlertBody
	case text(path) == fieldmark.PathMissionBatch:
		return fieldmark.MaxBatchBody
	case text(path) == fieldmark.PathLLMsLint:
		return fieldmark.MaxLintBody
	}
	for _, own := range documentPaths {
		if strings.HasPrefix(text(path), own) {
			return fieldmark.MaxBody
		}
	}
	return s.passBody // of a site that the edge stands before
}

// documentPaths are the paths where Fieldmark's own origin accepts documents and forms.
var documentPaths = [...]string{fieldmark.PathPublic, "/api/v1/", fieldmark.PathAdmin, fieldmark.PathInternal}
