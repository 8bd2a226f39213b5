package edge

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/ranking"
	"github.com/fieldmark/fieldmark/edge/site"
)

// fileControl is the Cache-Control of files for machines.
const fileControl = "public, max-age=3600, stale-while-revalidate=86400"

// sitemapFresh is the lifetime of a sitemap: crawlers fetch it daily at most.
const sitemapFresh = time.Hour

const (
	pathFavicon = "/favicon.ico"
	pathIcon    = "/favicon.svg"
	pathRobots  = "/robots.txt"
	pathLLMsTxt = "/llms.txt"
	pathSitemap = "/sitemap.xml"
	pathReady   = "/readyz"
	partPrefix  = "/sitemap-"
	partSuffix  = ".xml"
)

// sendFile answers with a file that is cheap to make and not cached.
func sendFile(ctx *fasthttp.RequestCtx, contentType string, body []byte) {
	etag := etagOf(body)
	h := &ctx.Response.Header
	h.SetContentType(contentType)
	h.Set("Cache-Control", fileControl)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Etag", etag)
	if matches(ctx.Request.Header.PeekBytes(headerIfNoneMatch), []byte(etag)) {
		ctx.SetStatusCode(http.StatusNotModified)
		return
	}
	ctx.Response.SetBodyRaw(body)
	ctx.Response.SkipBody = ctx.IsHead()
}

// fileEndpoints serve the files that crawlers and browsers ask every site for.
type fileEndpoints struct {
	*responder
	fetcher  *fetcher
	site     *site.Site
	rankings *ranking.Store
	replica  *replicaState
}

// serveReady handles GET /readyz for load balancers: 200 while the node should receive
// requests, 503 before its first ranking and while it is stopping.
func (e *Edge) serveReady(ctx *fasthttp.RequestCtx) {
	if err := e.Ready(); err != nil {
		e.responder.fail(ctx, fieldmark.Errorf(fieldmark.CodeOriginUnavailable, "not ready: %s", err))
		return
	}
	h := &ctx.Response.Header
	h.SetContentType("text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	ctx.Response.SetBodyString("ready\n")
	ctx.Response.SkipBody = ctx.IsHead()
}

// serveRobots handles GET /robots.txt.
func (e *fileEndpoints) serveRobots(ctx *fasthttp.RequestCtx) {
	sendFile(ctx, "text/plain; charset=utf-8", []byte(site.Robots(e.baseURL)))
}

// serveLLMs handles GET /llms.txt: the description of this site for models.
func (e *fileEndpoints) serveLLMs(ctx *fasthttp.RequestCtx) {
	ranked := 0
	if s := e.rankings.Current(); s != nil {
		ranked = s.RankedCount()
	}
	sendFile(ctx, "text/markdown; charset=utf-8", []byte(site.LLMsTxt(e.baseURL, ranked)))
}

// serveIcon handles the paths at which clients look for an icon by convention.
func (e *fileEndpoints) serveIcon(ctx *fasthttp.RequestCtx) {
	body, contentType, _ := e.site.Icon()
	sendFile(ctx, contentType, body)
}

// serveSitemap handles GET /sitemap.xml and its parts: the fixed pages, the
// niches and every public brand. Aliases are excluded, because they redirect.
func (e *fileEndpoints) serveSitemap(ctx *fasthttp.RequestCtx) {
	s := e.rankings.Current()
	if s == nil {
		e.fail(ctx, fieldmark.Errorf(fieldmark.CodeOriginUnavailable, "this node has not ranked the brands yet"))
		return
	}
	part := 0 // the whole
	if path := string(ctx.Path()); path != pathSitemap {
		n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(path, partPrefix), partSuffix))
		if err != nil || n < 1 || path != partPrefix+strconv.Itoa(n)+partSuffix {
			e.fail(ctx, fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such sitemap"))
			return
		}
		part = n
	}
	key := "sitemap/" + s.Key() + "/" + strconv.Itoa(part)
	e.serveCached(ctx, e.fetcher.get, key, func(context.Context) (*cache.Entry, error) {
		body := sitemapOf(s, e.baseURL, part, site.MaxSitemapURLs)
		if body == nil {
			return nil, fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such sitemap")
		}
		entry := newEntry(body, etagOf(body),
			"Content-Type", "application/xml; charset=utf-8", "Cache-Control", fileControl, "X-Content-Type-Options",
			"nosniff")
		entry.Fresh, entry.OnError = sitemapFresh, derivedOnError
		return e.replica.taggedBoard(entry), nil
	}, e.fail)
}

// sitemapOf makes one part of the sitemap, or the whole, which is an index where
// one file cannot hold it. It returns nil for a part that is not there.
func sitemapOf(s *ranking.Snapshot, baseURL string, part, most int) []byte {
	fixed := site.FixedPages()
	niches, _ := s.AllNiches(maxNiches)
	for _, n := range niches {
		fixed = append(fixed, site.NichePath(n.Name))
	}
	total := len(fixed) + s.Len()
	parts := (total + most - 1) / most
	if part == 0 && parts > 1 {
		return site.SitemapIndex(baseURL, parts)
	}
	if part > parts {
		return nil
	}
	first := max(part-1, 0) * most
	entries := make([]site.SitemapEntry, 0, min(most, total))
	for i := first; i < len(fixed); i++ {
		entries = append(entries, site.SitemapEntry{Path: fixed[i]})
	}
	room := most - len(entries)
	for r := range s.Slugs(max(first-len(fixed), 0)) {
		if room--; room < 0 {
			break
		}
		if !r.Listed() {
			continue
		}
		entry := site.SitemapEntry{Path: fieldmark.PathBrandPage + string(r.Slug())}
		if at := r.AsOf(); at > 0 {
			entry.Changed = time.UnixMicro(at)
		}
		entries = append(entries, entry)
	}
	return site.Sitemap(baseURL, entries)
}
