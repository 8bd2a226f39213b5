package edge

import (
	"net/http"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/mcp"
	"github.com/fieldmark/fieldmark/edge/ranking"
	"github.com/fieldmark/fieldmark/edge/site"
)

// endpoint serves the requests for a path.
// get is for what every client may cache; serve is for the rest.
type endpoint struct {
	path   string
	prefix bool                            // serve every path that begins with path
	when   func(*fasthttp.RequestCtx) bool // further condition; nil: none

	route   route                            // that get counts for
	get     func(*fasthttp.RequestCtx)       // serves GET and HEAD; nil: serve handles every method
	serve   func(*fasthttp.RequestCtx) route // serves every method
	limited limitedBy                        // which rate limit serve counts towards
}

// limitedBy is the rate limit that requests count towards.
type limitedBy uint8

const (
	unlimited limitedBy = iota
	byKey               // that of the key, which the origin verifies; without a key that of the client
	// byClient is for what no key is needed or verified for: one that the node has not seen may be made up,
	// and counts as none.
	byClient
)

// routes are the endpoints of a node. The table is searched from its start: its order is the
// rule for paths that overlap.
type routes struct {
	table     []endpoint // the first that matches serves the request
	site      endpoint   // everything on a host of a site behind the edge
	asterisk  endpoint   // OPTIONS *
	api       endpoint   // passes requests to the APIs of the origin
	otherwise endpoint   // passes everything else
}

// newRoutes lists everything that a node serves. Badges come first, as they are most
// requests.
// Conditions come before the same path without one.
func (e *Edge) newRoutes() routes {
	scores := &scoreEndpoints{e.responder, e.fetcher, e.scorer, e.cfg.Origin, &e.replica}
	boards := &boardEndpoints{e.pages, e.scorer, &e.rankings, ranking.NewCursorKey(e.cfg.NodeToken), &e.replica}
	files := &fileEndpoints{e.responder, e.fetcher, e.pages.site, &e.rankings, &e.replica}
	llms := &llmsEndpoints{pageWriter: e.pages, clients: e.clients, hosts: e.hosts, auth: e.auth, proxied: e.proxied,
		originURL: e.cfg.OriginURL, transport: e.transport, originVersion: &e.originVersion, replica: &e.replica}
	pages := &siteEndpoints{pageWriter: e.pages, scorer: e.scorer, origin: e.cfg.Origin, rankings: &e.rankings,
		replica: &e.replica, certificates: e.certificates, node: e.id}
	developers := &developerEndpoints{pageWriter: e.pages, pages: e.developers, auth: e.auth,
		originURL: e.cfg.OriginURL, transport: e.transport, originVersion: &e.originVersion,
		reading: make(chan struct{}, 1)}
	access := &accessEndpoints{pageWriter: e.pages, pages: e.developers, clients: e.clients, origin: e.brands.origin}
	checks := &checkEndpoints{pageWriter: e.pages, clients: e.clients, limits: e.limiter.limits, origin: e.cfg.Origin}
	tools := e.newToolHost(scores, boards, llms)
	batches := &batchEndpoints{e.responder, e.limiter, &e.rankings, &e.replica, tools.Call}
	table := []endpoint{
		{path: fieldmark.PathBadge, prefix: true, route: routeBadge, get: e.badges.serve},
		{path: pathCard, prefix: true, route: routeBadge, get: e.badges.serveCard},
		{path: site.PathOEmbed, route: routeBadge, get: e.badges.serveOEmbed},
		{path: site.PathVerify, prefix: true, route: routePage, get: pages.serveVerify},
		{path: fieldmark.PathScore, prefix: true, route: routeScore, get: scores.serveScoreOf},
		{path: fieldmark.PathScoreBatch, when: isPreflight, serve: preflight},
		{path: fieldmark.PathScoreBatch, serve: batches.serve},
		{path: fieldmark.PathScores, serve: e.passOn, limited: byClient},
		{path: fieldmark.PathDumps, prefix: true, serve: e.passOn, limited: byClient},
		{path: fieldmark.PathStudies, prefix: true, serve: e.passOn, limited: byClient},
		{path: fieldmark.PathLeaderboard, route: routeBoard, get: boards.serveBoard},
		{path: fieldmark.PathModules, prefix: true, route: routeScore, get: scores.serveModule},
		{path: fieldmark.PathMethodology, route: routeBoard, get: scores.serveMethodology},
		{path: fieldmark.PathValidity, route: routeBoard, get: scores.serveValidity},
		{path: "/methodology", route: routePage, get: pages.serveMethodology},
		{path: fieldmark.PathPublic, prefix: true, when: isPreflight, serve: preflight},
		{path: fieldmark.PathLLMs, prefix: true, when: isPreflight, serve: preflight},
		{path: fieldmark.PathLLMs, serve: llms.serve, limited: byClient},
		{path: fieldmark.PathLLMsLint, serve: llms.serve, limited: byClient},
		{path: site.PathLLMs, serve: llms.serveForm, limited: byClient},
		{path: "/", when: hasSearch, serve: boards.searchHome, limited: byClient}, // a search scans every name
		{path: "/", route: routePage, get: boards.serveHome},
		{path: site.PathNiches, route: routePage, get: boards.serveNiches},
		{path: site.PathNiches + "/", prefix: true, route: routePage, get: boards.serveNiche},
		{path: site.PathCompare, serve: boards.serveCompare, limited: byClient}, // a name is searched among all
		{path: fieldmark.PathClaimPage, serve: newClaims(e).serve, limited: byClient},
		{path: fieldmark.PathBrands, prefix: true, serve: e.passOn, limited: byKey},
		{path: fieldmark.PathCheckPage, serve: checks.serveForm, limited: byClient},
		{path: fieldmark.PathCheckPage + "/", prefix: true, route: routePage, get: checks.serveCheck},
		{path: fieldmark.PathPlayground, prefix: true, serve: e.passOn, limited: byClient},
		{path: fieldmark.PathChecks, serve: e.passOn, limited: byClient},
		{path: fieldmark.PathChecks + "/", prefix: true, serve: e.passOn, limited: byClient},
		{path: "/static/", prefix: true, route: routePage, get: pages.serveStatic},
		{path: site.PathBadges, when: hasSearch, serve: pages.searchBadges, limited: byClient},
		{path: site.PathBadges, route: routePage, get: pages.serveBadges},
		{path: site.PathDevelopers, route: routePage, get: pages.serveDevelopers},
		{path: site.PathChangelogFeed, route: routePage, get: developers.serveFeed},
		{path: fieldmark.PathAccessPage, serve: access.serveForm, limited: byClient},
		{path: fieldmark.PathAccessPage + "/", prefix: true, serve: access.serveRequest, limited: byClient},
		{path: site.PathPlayground, route: routePage, get: pages.servePlayground},
		{path: site.PathDevelopers + "/", prefix: true, route: routePage, get: developers.serve},
		{path: site.PathProblems, route: routePage, get: developers.serve},
		{path: site.PathProblems + "/", prefix: true, route: routePage, get: developers.serve},
		{path: site.PathAbout, route: routePage, get: pages.serveAbout},
		{path: fieldmark.PathBot, route: routePage, get: pages.serveBot},
		{path: site.PathStatus, route: routePage, get: pages.serveStatus},
		{path: pathRobots, route: routePage, get: files.serveRobots},
		{path: pathLLMsTxt, route: routePage, get: files.serveLLMs},
		{path: pathFavicon, route: routePage, get: files.serveIcon},
		{path: pathIcon, route: routePage, get: files.serveIcon},
		{path: pathSitemap, route: routePage, get: files.serveSitemap},
		{path: partPrefix, prefix: true, when: isSitemapPart, route: routePage, get: files.serveSitemap},
		{path: fieldmark.PathKeyDirectory, serve: e.passOn}, // not limited: verifiers must always reach it
		{path: pathReady, route: routePage, get: e.serveReady},
		{path: fieldmark.PathInternal, prefix: true, serve: e.refuseInternal},
	}
	return routes{
		table:     slices.Concat(table, e.brandRoutes(scores), e.logRoutes(), e.settingRoutes(tools)),
		site:      endpoint{serve: func(ctx *fasthttp.RequestCtx) route { e.proxied.serve(ctx); return routePassed }},
		asterisk:  endpoint{serve: serveAsterisk},
		api:       endpoint{serve: e.passOn, limited: byKey},
		otherwise: endpoint{serve: e.passOn},
	}
}

// brandRoutes returns the routes of the pages of a brand.
func (e *Edge) brandRoutes(scores *scoreEndpoints) []endpoint {
	return []endpoint{
		{path: fieldmark.PathBrandPage, prefix: true, when: isDisputePage, serve: e.brands.serveDispute,
			limited: byClient},
		{path: fieldmark.PathBrandPage, prefix: true, when: isRecompute, route: routePage,
			get: e.brands.serveRecompute},
		{path: fieldmark.PathBrandPage, prefix: true, when: isFeed, route: routePage, get: scores.serveFeed},
		{path: fieldmark.PathBrandPage, prefix: true, route: routePage, get: e.brands.serve},
	}
}

// logRoutes are those of the public log.
func (e *Edge) logRoutes() []endpoint {
	log := &logEndpoints{e.responder, e.fetcher, e.cfg.Origin, &e.replica}
	return []endpoint{
		{path: fieldmark.PathLog, route: routeScore, get: log.serveList},
		{path: fieldmark.PathLog + "/", prefix: true, route: routeScore, get: log.serveFile},
	}
}

// settingRoutes returns the routes that exist only with certain settings.
func (e *Edge) settingRoutes(tools *toolHost) (added []endpoint) {
	if e.cfg.MCP != mcp.Off {
		added = append(added, endpoint{path: mcp.Path, serve: e.newMCPEndpoint(tools).serve})
	}
	if e.cfg.Spool != nil {
		added = append(added, e.newIntakeEndpoints().routes()...)
	}
	if e.cfg.HideAdmin {
		added = append(added,
			endpoint{path: fieldmark.PathAdmin, serve: e.refuseAdmin},
			endpoint{path: fieldmark.PathAdmin + "/", prefix: true, serve: e.refuseAdmin},
			endpoint{path: fieldmark.PathAdminAPI, prefix: true, serve: e.refuseAdmin})
	}
	return added
}

// find returns the endpoint that serves a request.
// The host decides first: a site behind the edge owns all paths of its host.
func (e *Edge) find(ctx *fasthttp.RequestCtx) *endpoint {
	if string(ctx.RequestURI()) == "*" {
		return &e.routes.asterisk
	}
	if e.hosts.isSite(text(ctx.Host())) {
		return &e.routes.site
	}
	path := text(ctx.Path())
	for i := range e.routes.table {
		p := &e.routes.table[i]
		if (path == p.path || p.prefix && strings.HasPrefix(path, p.path)) && (p.when == nil || p.when(ctx)) {
			return p
		}
	}
	// APIs are passed to the origin and limited there by key, here by address.
	if isPublicAPI(ctx.Path()) || strings.HasPrefix(path, fieldmark.PathAdminAPI) {
		return &e.routes.api
	}
	return &e.routes.otherwise
}

// hasSearch reports whether a page was requested with a search, which costs more.
func hasSearch(ctx *fasthttp.RequestCtx) bool { return len(ctx.QueryArgs().Peek("q")) > 0 }

// isFeed reports whether a path below a brand's page is that of its feed.
func isFeed(ctx *fasthttp.RequestCtx) bool {
	return strings.HasSuffix(text(ctx.Path()), site.FeedSuffix)
}

// isRecompute reports whether a path below a brand's page is of the page that recomputes its score.
func isRecompute(ctx *fasthttp.RequestCtx) bool {
	return strings.HasSuffix(text(ctx.Path()), site.RecomputeSuffix)
}

// isSitemapPart reports whether a path is that of a part of the sitemap.
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
// The answer is the one of a path that does not exist.
func (e *Edge) refuseInternal(ctx *fasthttp.RequestCtx) route {
	e.responder.fail(ctx, fieldmark.Errorf(fieldmark.CodeNotFound, "there is nothing at this address"))
	return routeRefused
}

// refuseAdmin answers on nodes that hide the administration. It hides it from the public
// network; the origin checks credentials all the same.
func (e *Edge) refuseAdmin(ctx *fasthttp.RequestCtx) route {
	e.responder.fail(ctx, fieldmark.Errorf(fieldmark.CodeNotFound, "administration is not served by this node"))
	return routeRefused
}

// passOn passes a request to the origin. Errors without a body get a page.
func (e *Edge) passOn(ctx *fasthttp.RequestCtx) route {
	e.proxied.serve(ctx)
	e.pages.renderErrorPage(ctx)
	return routePassed
}

// isAdmin reports whether a path is of the console or of the admin API.
func isAdmin(path string) bool {
	return path == fieldmark.PathAdmin || strings.HasPrefix(path, fieldmark.PathAdmin+"/") ||
		strings.HasPrefix(path, fieldmark.PathAdminAPI)
}
