package edge

import (
	"bytes"
	"strconv"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
)

// Cross-origin access to the public API, which uses no cookies. A key is sent in
// Authorization, which a script must be given, so every site may send requests.
const (
	corsMethods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
	corsHeaders = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Traceparent, X-Request-Id"
	corsExposed = "Allow, API-Key-Expires, Content-Disposition, Deprecation, ETag, Idempotency-Replayed, Link, Llms-Txt-Warnings, " +
		"Location, Mission-Deduplicated, RateLimit, RateLimit-Policy, Retry-After, Sunset, WWW-Authenticate, X-Request-Id"
	corsSeconds = 86400
)

// isPublicAPI reports whether scripts of other sites may send requests to path.
func isPublicAPI(path []byte) bool {
	return bytes.HasPrefix(path, publicPath) || bytes.HasPrefix(path, llmsPath)
}

var (
	publicPath = []byte(fieldmark.PathPublic)
	llmsPath   = []byte(fieldmark.PathLLMs)
)

// preflight answers a preflight request to the public API.
func (e *Edge) preflight(ctx *fasthttp.RequestCtx) route {
	h := &ctx.Response.Header
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", corsHeaders)
	h.Set("Access-Control-Max-Age", strconv.Itoa(corsSeconds))
	ctx.SetStatusCode(fasthttp.StatusNoContent)
	return routePassed
}

// isPreflight reports whether a request is a preflight request, which a browser sends
// before that of a script.
func isPreflight(ctx *fasthttp.RequestCtx) bool {
	return ctx.IsOptions() && len(ctx.Request.Header.Peek("Access-Control-Request-Method")) > 0
}

// allowCORS lets scripts of other sites read the response.
func allowCORS(ctx *fasthttp.RequestCtx) {
	h := &ctx.Response.Header
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", corsExposed)
}
