package edge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/upstream"
)

// Limits of the hop to the origin.
const (
	// passTimeout bounds one passed request from its first byte to its last.
	passTimeout = 30 * time.Second
)

// proxy passes requests on to the origin.
type proxy struct {
	base      *url.URL
	transport http.RoundTripper
	nodeToken string
	own       *upstream.Upstream
}

func newProxy(cfg Config) (*proxy, error) {
	p := &proxy{base: cfg.OriginURL, transport: cfg.Transport, nodeToken: cfg.NodeToken}
	if p.transport == nil {
		var err error
		if p.own, err = upstream.New(upstream.Config{Origins: []*url.URL{cfg.OriginURL}, Log: cfg.Log}); err != nil {
			return nil, err
		}
		p.transport = p.own
	}
	return p, nil
}

func (p *proxy) close() {
	if p.own != nil {
		p.own.CloseIdle()
	}
}

// pass sends the request to the origin and streams the answer back.
func (e *Edge) pass(ctx *fasthttp.RequestCtx) {
	limit := bodyLimit(ctx.Path())
	if int64(len(ctx.Request.Body())) > limit {
		fe := fieldmark.Errorf(fieldmark.CodeBodyTooLarge, "the body is larger than %d bytes", limit)
		fe.Limit = limit
		e.fail(ctx, fe)
		return
	}
	rc, cancel := context.WithTimeout(context.Background(), passTimeout)
	req, err := e.proxy.request(rc, ctx)
	if err != nil {
		cancel()
		e.fail(ctx, err)
		return
	}
	resp, err := e.proxy.transport.RoundTrip(req)
	if err != nil {
		cancel()
		e.fail(ctx, passError(err))
		return
	}
	e.proxy.answer(ctx, resp, cancel)
}

// bodyLimit is what a body may weigh: administrators import lists, a file to
// be linted may be too large by every rule, everyone else sends one document.
func bodyLimit(path []byte) int64 {
	switch {
	case strings.HasPrefix(text(path), fieldmark.PathAdminAPI):
		return fieldmark.MaxBulkBody
	case strings.HasPrefix(text(path), fieldmark.PathAlerts):
		return fieldmark.MaxAlertBody
	case text(path) == fieldmark.PathLLMsLint:
		return fieldmark.MaxLintBody
	}
	return fieldmark.MaxBody
}

// passError says whether the origin was away or slow.
func passError(err error) error {
	var ne net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &ne) && ne.Timeout() {
		return &fieldmark.Error{Code: fieldmark.CodeTimeout, Detail: "the origin did not answer in time; it is safe to repeat a request that names its mission", Err: err}
	}
	return &fieldmark.Error{Code: fieldmark.CodeOriginUnavailable, Detail: "the origin cannot be reached just now; repeat the request a little later", Err: err}
}

// request copies what the client sent into a request to the origin. Every
// string is a copy: fasthttp uses its buffers again.
func (p *proxy) request(rc context.Context, ctx *fasthttp.RequestCtx) (*http.Request, error) {
	target, err := url.ParseRequestURI(string(ctx.RequestURI()))
	if err != nil || target.IsAbs() {
		return nil, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "the request target must be a path")
	}
	target.Scheme, target.Host = p.base.Scheme, p.base.Host
	body := bytes.NewReader(bytes.Clone(ctx.Request.Body())) // an answer may come before all of it is sent
	req, err := http.NewRequestWithContext(rc, string(ctx.Method()), target.String(), body)
	if err != nil {
		return nil, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "the request cannot be passed on")
	}
	req.Host = string(ctx.Host())
	for k, v := range ctx.Request.Header.All() {
		req.Header.Add(string(k), string(v))
	}
	dropHopByHop(req.Header)
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", fieldmark.HeaderClient, fieldmark.HeaderNode} {
		req.Header.Del(name)
	}
	req.Header.Set(fieldmark.HeaderRequestID, requestID(ctx))
	req.Header.Set(fieldmark.HeaderClient, ctx.RemoteIP().String())
	req.Header.Set(fieldmark.HeaderNode, p.nodeToken)
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "") // keeps net/http from inventing one
	}
	return req, nil
}

// hopByHop are the fields that belong to one connection (RFC 9110, 7.6.1).
var hopByHop = []string{
	"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length", "Host", "Expect",
}

func dropHopByHop(h http.Header) {
	for _, list := range h.Values("Connection") {
		for name := range strings.SplitSeq(list, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hopByHop {
		h.Del(name)
	}
}

// answer writes the origin's answer to the client, body and all, without
// holding it in memory.
func (p *proxy) answer(ctx *fasthttp.RequestCtx, resp *http.Response, cancel context.CancelFunc) {
	length := resp.ContentLength
	dropHopByHop(resp.Header)
	resp.Header.Del(fieldmark.HeaderEdition) // between us and the origin only
	h := &ctx.Response.Header
	for name, values := range resp.Header {
		for _, v := range values {
			h.Add(name, v)
		}
	}
	h.Set("Cache-Status", fmt.Sprintf("fieldmark; fwd=bypass; fwd-status=%d", resp.StatusCode))
	ctx.SetStatusCode(resp.StatusCode)
	if ctx.IsHead() || resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified {
		ctx.Response.SkipBody = true
		if length >= 0 && ctx.IsHead() {
			h.SetContentLength(int(length))
		}
		resp.Body.Close()
		cancel()
		return
	}
	ctx.Response.SetBodyStream(&passedBody{resp.Body, cancel}, int(length))
}

// passedBody ends the request's deadline when its answer was read.
type passedBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (b *passedBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
