package edge

import (
	"net/http"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/site"
)

// endpoint serves the requests for a path.
type endpoint struct {
	path   string
	prefix bool                            // serve every path that begins with path
	when   func(*fasthttp.RequestCtx) bool // further condition; nil: none

	route   route                            // that get counts for
	get     func(*fasthttp.RequestCtx)       // serves GET and HEAD; nil: serve handles every method
	serve   func(*fasthttp.RequestCtx) route // serves every method
	limited bool                             // serve counts towards the client's rate limit
}

// routes are the endpoints of a node.
type routes struct {
	table     []endpoint // the first that matches serves the request
	site      endpoint   // everything on a host of a site behind the edge
	asterisk  endpoint   // OPTIONS *
	api       endpoint   // passes requests to the APIs of the origin
	otherwise endpoint   // passes everything else
}

// newRoutes lists everything that a node serves. Badges come first, as they are most
// requests.
func (e *Edge) newRoutes() routes {
	table := []endpoint{
		{path: fieldmark.PathBadge, prefix: true, route: routeBadge, get: e.serveBadge},
		{path: fieldmark.PathScore, prefix: true, route: routeScore, get: e.serveScoreOf},
		{path: fieldmark.PathLeaderboard, route: routeBoard, get: e.serveBoard},
		{path: fieldmark.PathModules, prefix: true, route: routeScore, get: e.serveModule},
		{path: fieldmark.PathMethodology, route: routeBoard, get: e.serveMethodology},
		{path: "/methodology", route: routePage, get: e.serveMethodologyPage},
		{path: fieldmark.PathPublic, prefix: true, when: isPreflight, serve: e.preflight},
		{path: fieldmark.PathLLMs, prefix: true, when: isPreflight, serve: e.preflight},
		{path: fieldmark.PathLLMs, serve: e.serveLLMs, limited: true},
		{path: fieldmark.PathLLMsLint, serve: e.serveLLMs, limited: true},
		{path: site.PathLLMs, serve: e.serveLLMsPage, limited: true},
		{path: "/", when: hasSearch, serve: e.searchHome, limited: true}, // a search scans every name
		{path: "/", route: routePage, get: e.serveHome},
		{path: fieldmark.PathBrandPage, prefix: true, when: isDisputePage, serve: e.serveDispute, limited: true},
		{path: fieldmark.PathBrandPage, prefix: true, route: routePage, get: e.serveBrand},
		{path: fieldmark.PathBrands, prefix: true, serve: e.passOn, limited: true},
		{path: "/static/", prefix: true, route: routePage, get: e.serveStatic},
		{path: site.PathBadges, route: routePage, get: e.serveBadges},
		{path: site.PathDevelopers, route: routePage, get: e.serveDevelopers},
		{path: site.PathAbout, route: routePage, get: e.serveAbout},
		{path: site.PathStatus, route: routePage, get: e.serveStatus},
		{path: pathRobots, route: routePage, get: e.serveRobots},
		{path: pathLLMsTxt, route: routePage, get: e.serveOwnLLMs},
		{path: pathFavicon, route: routePage, get: e.serveIcon},
		{path: pathIcon, route: routePage, get: e.serveIcon},
		{path: pathSitemap, route: routePage, get: e.serveSitemap},
		{path: partPrefix, prefix: true, when: isSitemapPart, route: routePage, get: e.serveSitemap},
		{path: pathReady, route: routePage, get: e.serveReady},
		{path: fieldmark.PathInternal, prefix: true, serve: e.refuseInternal},
	}
	if e.cfg.HideAdmin {
		table = append(table,
			endpoint{path: fieldmark.PathAdmin, serve: e.refuseAdmin},
			endpoint{path: fieldmark.PathAdmin + "/", prefix: true, serve: e.refuseAdmin},
			endpoint{path: fieldmark.PathAdminAPI, prefix: true, serve: e.refuseAdmin})
	}
	return routes{
		table:     table,
		site:      endpoint{serve: func(ctx *fasthttp.RequestCtx) route { e.pass(ctx); return routePassed }},
		asterisk:  endpoint{serve: serveAsterisk},
		api:       endpoint{serve: e.passOn, limited: true},
		otherwise: endpoint{serve: e.passOn},
	}
}

// find returns the endpoint that serves a request.
func (e *Edge) find(ctx *fasthttp.RequestCtx) *endpoint {
	if string(ctx.RequestURI()) == "*" {
		return &e.routes.asterisk
	}
	if e.isSite(text(ctx.Host())) {
		return &e.routes.site
	}
	path := text(ctx.Path())
	for i := range e.routes.table {
		p := &e.routes.table[i]
		if (path == p.path || p.prefix && strings.HasPrefix(path, p.path)) && (p.when == nil || p.when(ctx)) {
			return p
		}
	}
	if isPublicAPI(ctx.Path()) || strings.HasPrefix(path, fieldmark.PathAdminAPI) {
		return &e.routes.api
	}
	return &e.routes.otherwise
}

func hasSearch(ctx *fasthttp.RequestCtx) bool { return len(ctx.QueryArgs().Peek("q")) > 0 }

func isSitemapPart(ctx *fasthttp.RequestCtx) bool {
	return strings.HasSuffix(text(ctx.Path()), partSuffix)
}

// serveAsterisk handles OPTIONS for the whole server (RFC 9110, 9.3.7).
func serveAsterisk(ctx *fasthttp.RequestCtx) route {
	ctx.Response.Header.Set("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
	ctx.SetStatusCode(http.StatusNoContent)
	return routePassed
}

// refuseInternal answers requests for the origin's internal interface, which is not for
// clients, whatever token they send.
func (e *Edge) refuseInternal(ctx *fasthttp.RequestCtx) route {
	e.fail(ctx, fieldmark.Errorf(fieldmark.CodeNotFound, "there is nothing at this address"))
	return routeRefused
}

func (e *Edge) refuseAdmin(ctx *fasthttp.RequestCtx) route {
	e.fail(ctx, fieldmark.Errorf(fieldmark.CodeNotFound, "administration is not served by this node"))
	return routeRefused
}

func (e *Edge) passOn(ctx *fasthttp.RequestCtx) route {
	e.pass(ctx)
	e.renderErrorPage(ctx)
	return routePassed
}

func isAdmin(path string) bool {
	return path == fieldmark.PathAdmin || strings.HasPrefix(path, fieldmark.PathAdmin+"/") ||
		strings.HasPrefix(path, fieldmark.PathAdminAPI)
}
