package edge

import (
	"bytes"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/site"
)

// serve measures and routes a request and recovers from panics.
func (e *Edge) serve(ctx *fasthttp.RequestCtx) {
	defer closeUnread(ctx)
	defer e.recoverPanic(ctx)
	if !e.bufferBody(ctx) {
		return
	}
	began := time.Now()
	route := e.front(ctx)
	e.meters.count(route, ctx.Response.StatusCode())
	since(e.meters.took[route], began)
}

// route answers the request and names the route it took. It is one switch over
// the path, so that the whole surface of a node is read on one screen.
func (e *Edge) route(ctx *fasthttp.RequestCtx) route {
	path := ctx.Path()
	if e.isSite(text(ctx.Host())) {
		e.pass(ctx)
		return routePassed
	}
	switch {
	case bytes.HasPrefix(path, badgePath):
		return e.get(ctx, routeBadge, e.serveBadge)
	case bytes.HasPrefix(path, scorePath):
		return e.get(ctx, routeScore, e.serveScoreOf)
	case string(path) == fieldmark.PathLeaderboard:
		return e.get(ctx, routeBoard, e.serveBoard)
	case bytes.HasPrefix(path, modulePath):
		return e.get(ctx, routeScore, e.serveModule)
	case string(path) == fieldmark.PathMethodology:
		return e.get(ctx, routeBoard, e.serveMethodology)
	case string(path) == "/methodology":
		return e.get(ctx, routePage, e.serveMethodologyPage)
	case isPublicAPI(path) && isPreflight(ctx):
		return e.preflight(ctx)
	case string(path) == fieldmark.PathLLMs, string(path) == fieldmark.PathLLMsLint:
		return e.rateLimited(ctx, e.serveLLMs)
	case string(path) == site.PathLLMs:
		return e.rateLimited(ctx, e.serveLLMsPage)
	case string(path) == "/" && len(ctx.QueryArgs().Peek("q")) > 0:
		return e.rateLimited(ctx, e.searchHome) // looks through every name, so it is counted
	case string(path) == "/":
		return e.get(ctx, routePage, e.serveHome)
	case bytes.HasPrefix(path, brandPath):
		return e.get(ctx, routePage, e.serveBrand)
	case bytes.HasPrefix(path, staticPath):
		return e.get(ctx, routePage, e.serveStatic)
	case bytes.HasPrefix(path, internalPath):
		// The origin's inner interface is not for clients, whatever token they hold.
		e.fail(ctx, fieldmark.Errorf(fieldmark.CodeNotFound, "there is nothing at this address"))
		return routeRefused
	case e.cfg.HideAdmin && isAdmin(path):
		e.fail(ctx, fieldmark.Errorf(fieldmark.CodeNotFound, "administration is not served by this node"))
		return routeRefused
	}
	if page := e.publicPage(string(path)); page != nil {
		return e.get(ctx, routePage, page)
	}
	if isPublicAPI(path) || bytes.HasPrefix(path, adminAPIPath) {
		return e.rateLimited(ctx, e.passOn)
	}
	return e.passOn(ctx)
}

func (e *Edge) passOn(ctx *fasthttp.RequestCtx) route {
	e.pass(ctx)
	e.renderErrorPage(ctx)
	return routePassed
}

// The fixed beginnings of our own paths, as bytes so that comparing is free.
var (
	badgePath    = []byte(fieldmark.PathBadge)
	scorePath    = []byte(fieldmark.PathScore)
	modulePath   = []byte(fieldmark.PathModules)
	brandPath    = []byte(fieldmark.PathBrandPage)
	staticPath   = []byte("/static/")
	internalPath = []byte(fieldmark.PathInternal)
	adminAPIPath = []byte(fieldmark.PathAdminAPI)
)

func isAdmin(path []byte) bool {
	p := string(path)
	return p == fieldmark.PathAdmin || strings.HasPrefix(p, fieldmark.PathAdmin+"/") || strings.HasPrefix(p, fieldmark.PathAdminAPI)
}

// get runs a handler for GET and HEAD, answers OPTIONS for scripts of other
// sites, and refuses every other method.
func (e *Edge) get(ctx *fasthttp.RequestCtx, r route, handler func(*fasthttp.RequestCtx)) route {
	switch {
	case ctx.IsGet(), ctx.IsHead():
		handler(ctx)
	case ctx.IsOptions():
		h := &ctx.Response.Header
		h.Set("Allow", "GET, HEAD, OPTIONS")
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS")
		h.Set("Access-Control-Allow-Headers", "If-None-Match")
		h.Set("Access-Control-Max-Age", "86400")
		ctx.SetStatusCode(fasthttp.StatusNoContent)
	default:
		ctx.Response.Header.Set("Allow", "GET, HEAD, OPTIONS")
		e.fail(ctx, fieldmark.Errorf(fieldmark.CodeMethodNotAllowed, "only GET, HEAD and OPTIONS are answered here"))
	}
	return r
}
