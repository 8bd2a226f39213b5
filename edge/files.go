package edge

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/developer"
	"github.com/fieldmark/fieldmark/edge/ranking"
	"github.com/fieldmark/fieldmark/edge/site"
	"github.com/fieldmark/fieldmark/origin/client"
	"github.com/fieldmark/fieldmark/sdk"
)

// Files for machines and for developers: robots.txt, llms.txt, sitemaps, icons, the SDK and the developer pages.

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
// Its ETag is a hash of the content, so an unchanged file is answered with 304.
func sendFile(ctx *fasthttp.RequestCtx, contentType string, body []byte) {
	etag := etagOf(body)
	h := &ctx.Response.Header
	h.SetContentType(contentType)
	h.Set("Cache-Control", fileControl)
	setKeys(h) // only a purge of everything concerns it
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Etag", etag)
	if matches(ctx.Request.Header.PeekBytes(headerIfNoneMatch), []byte(etag)) {
		ctx.SetStatusCode(http.StatusNotModified)
		return
	}
	ctx.Response.SetBodyRaw(body)
	ctx.Response.SkipBody = ctx.IsHead()
}

// fileEndpoints serve the files that crawlers and browsers request from every site.
type fileEndpoints struct {
	*responder
	fetcher  *fetcher
	site     *site.Site
	rankings *ranking.Store
	replica  *replicaState
}

// serveReady handles GET /readyz for load balancers: 200 while the node should receive
// requests, 503 before its first ranking and while it is stopping.
// The body names the reason, for the operator who looks at it. Nothing may cache it.
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

// serveRobots handles GET /robots.txt. It names the sitemap and keeps crawlers from the
// console, the API and the results of searches.
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

// npmPackage is the npm package of the TypeScript client, which is packed at the first request.
// It is deterministic, so every node serves the same bytes.
var npmPackage = sync.OnceValues(sdk.NPM)

// serveSDK handles the files of the clients below site.PathSDK.
// The package is served here, so that a client always fits its server.
func (e *developerEndpoints) serveSDK(ctx *fasthttp.RequestCtx) {
	switch strings.TrimPrefix(string(ctx.Path()), site.PathSDK) {
	case sdk.PythonFile:
		sendFile(ctx, "text/x-python; charset=utf-8", sdk.Python())
	case sdk.NPMFile:
		body, err := npmPackage()
		if err != nil {
			e.fail(ctx, err)
			return
		}
		sendFile(ctx, "application/gzip", body)
	default:
		e.fail(ctx, fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such client"))
	}
}

// serveIcon handles the paths at which clients look for an icon by convention.
func (e *fileEndpoints) serveIcon(ctx *fasthttp.RequestCtx) {
	body, contentType, _ := e.site.Icon()
	sendFile(ctx, contentType, body)
}

// serveSitemap handles GET /sitemap.xml and its parts: the fixed pages, the
// niches and every public brand. Aliases are excluded, because they redirect.
// A part is named by its number; the whole is an index once one file cannot hold it.
func (e *fileEndpoints) serveSitemap(ctx *fasthttp.RequestCtx) {
	s := e.rankings.Current()
	if s == nil {
		e.fail(ctx, errNotRanked())
		return
	}
	part := 0 // the whole
	if path := string(ctx.Path()); path != pathSitemap {
		n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(path, partPrefix), partSuffix))
		// The number is written back and compared, so sitemap-01.xml is not another address of
		// the same part.
		if err != nil || n < 1 || path != partPrefix+strconv.Itoa(n)+partSuffix {
			e.fail(ctx, fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such sitemap"))
			return
		}
		part = n
	}
	// The key of the snapshot is part of the cache key: an index and its parts are of one
	// ranking.
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
		// Any change of a public brand may change it.
		return e.replica.taggedBoard(entry), nil
	}, e.fail)
}

// sitemapOf makes one part of the sitemap, or the whole, which is an index where
// one file cannot hold it. It returns nil for a part that is not there.
// most is site.MaxSitemapURLs, or less in tests.
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
		// Aliases and brands that their owners unlisted are in the snapshot and not in the
		// sitemap.
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

// developerEndpoints serve the pages for developers. Most are made from the OpenAPI document of the
// origin, which is read once for each version and parsed once.
type developerEndpoints struct {
	*pageWriter
	pages         *developer.Pages
	auth          *originAuth
	originURL     *url.URL
	transport     http.RoundTripper // to the origin
	originVersion *originVersion

	reading chan struct{} // holds a token while one request reads the document
	known   atomic.Pointer[knownReference]
}

// knownReference is the document that was read last. It has several hundred kilobytes, which is more
// than the cache takes, and parsing it costs as much as rendering a page.
type knownReference struct {
	*developer.Reference
	version string // of the origin
	read    time.Time
}

// maxOpenAPI bounds the OpenAPI document in bytes: several times what it has.
const maxOpenAPI = 8 << 20

// serve handles GET below /developers and /problems. While the origin is unreachable, the pages show what
// this program has itself.
func (e *developerEndpoints) serve(ctx *fasthttp.RequestCtx) {
	path := string(ctx.Path())
	if strings.HasPrefix(path, site.PathSDK) {
		e.serveSDK(ctx)
		return
	}
	e.servePage(ctx, "page/"+strconv.Quote(e.originVersion.get())+path, "",
		func(fc context.Context) (*cache.Entry, error) {
			var reference *developer.Reference
			var missing error
			if developer.NeedsReference(path) {
				if reference, missing = e.reference(fc); missing != nil {
					e.log.Warn("a page for developers is incomplete", "path", path, "err", missing)
				}
			}
			entry, err := pageEntry(e.pages.Append(nil, path, reference))
			if missing != nil {
				if err != nil { // there may be a page at this address
					return nil, asUnavailable(missing)
				}
				entry.Fresh = incompleteFresh
			}
			return entry, err
		})
}

// serveFeed handles GET /developers/changelog.atom.
func (e *developerEndpoints) serveFeed(ctx *fasthttp.RequestCtx) {
	body, err := e.pages.Feed()
	if err != nil {
		e.fail(ctx, err)
		return
	}
	sendFile(ctx, site.FeedType+"; charset=utf-8", body)
}

// reference returns the OpenAPI document of the origin: the one known while it is current, and
// while the origin is unreachable.
func (e *developerEndpoints) reference(ctx context.Context) (*developer.Reference, error) {
	current := func() *developer.Reference {
		k := e.known.Load()
		if k == nil || k.version != e.originVersion.get() || time.Since(k.read) > derivedFresh {
			return nil
		}
		return k.Reference
	}
	if r := current(); r != nil {
		return r, nil
	}
	select {
	case e.reading <- struct{}{}:
		defer func() { <-e.reading }()
	case <-ctx.Done():
		return nil, passError(ctx.Err())
	}
	if r := current(); r != nil { // read by the request before
		return r, nil
	}
	version := e.originVersion.get()
	body, err := e.openAPI(ctx)
	if err == nil {
		var r *developer.Reference
		if r, err = developer.Parse(body); err == nil {
			e.known.Store(&knownReference{r, version, time.Now()})
			return r, nil
		}
	}
	if k := e.known.Load(); k != nil {
		return k.Reference, nil
	}
	return nil, err
}

// openAPI requests the document.
func (e *developerEndpoints) openAPI(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, referenceTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.originURL.JoinPath(fieldmark.PathOpenAPI).String(),
		nil)
	if err != nil {
		return nil, fmt.Errorf("request the OpenAPI document: %w", err)
	}
	e.auth.setNodeToken(req.Header, "")
	resp, err := e.transport.RoundTrip(req)
	if err != nil {
		return nil, passError(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxOpenAPI))
	if err != nil {
		return nil, passError(err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the OpenAPI document: status %d", resp.StatusCode)
	}
	return body, nil
}

// The lifetimes of files of the public log. A checkpoint is on every edge within a second of a change.
const (
	checkpointFresh   = 250 * time.Millisecond
	checkpointControl = "public, max-age=1"
	// A partial tile is soon superseded by a wider one, so it is kept for clients that read now.
	partialFresh = time.Minute
	// maxCheckpointPath bounds the checkpoints that can be requested: a log number has at most 4 digits.
	maxCheckpointPath = len("/9999/" + fieldmark.LogCheckpoint)
)

// logEndpoints serve the public log of scores.
type logEndpoints struct {
	*responder
	fetcher *fetcher
	origin  *client.Client
	replica *replicaState
}

// serveList handles GET /api/v1/log.
func (e *logEndpoints) serveList(ctx *fasthttp.RequestCtx) {
	e.serve(ctx, e.fetcher.get, "", func(rc context.Context) (*cache.Entry, error) {
		all, err := e.origin.OriginLogs(rc)
		if err != nil {
			return nil, err
		}
		entry, err := newJSONEntry(fieldmark.List[fieldmark.PublicLog]{Data: all}, "", checkpointControl)
		if err == nil {
			entry.Fresh = checkpointFresh
		}
		return entry, err
	})
}

// serveFile handles GET /api/v1/log/{number}/: checkpoints, tiles and entry bundles (C2SP tlog-tiles).
func (e *logEndpoints) serveFile(ctx *fasthttp.RequestCtx) {
	path := string(ctx.Path()[len(fieldmark.PathLog):])
	kind, control, fresh := "application/octet-stream", foreverControl, digestFresh
	fetch := e.fetcher.getLimited // a client can name any number of tiles
	switch {
	case strings.HasSuffix(path, "/"+fieldmark.LogCheckpoint) && len(path) <= maxCheckpointPath:
		kind, control, fresh = "text/plain; charset=utf-8", checkpointControl, checkpointFresh
		fetch = e.fetcher.get // so that witnesses can follow the log at any rate
	case !strings.Contains(path, "/tile/"): // proofs are served beside scores
		e.fail(ctx, fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such file of the public log"))
		return
	case strings.Contains(path, ".p/"):
		fresh = partialFresh
	}
	e.serve(ctx, fetch, path, func(rc context.Context) (*cache.Entry, error) {
		body, err := e.origin.OriginLogFile(rc, path)
		if err != nil {
			return nil, err
		}
		entry := newEntry(body, etagOf(body), "Content-Type", kind, "Cache-Control", control,
			"X-Content-Type-Options", "nosniff", "Access-Control-Allow-Origin", "*")
		entry.Fresh = fresh
		return entry, nil
	})
}

// serve sends what read returns, unless the cache has it.
func (e *logEndpoints) serve(ctx *fasthttp.RequestCtx, fetch fetchFunc, path string,
	read func(context.Context) (*cache.Entry, error)) {
	if err := noParameters(ctx); err != nil {
		e.fail(ctx, err)
		return
	}
	e.serveCached(ctx, fetch, fieldmark.PathLog+path,
		func(rc context.Context) (*cache.Entry, error) {
			asOf := e.replica.purged.Load()
			entry, err := read(rc)
			if err != nil && fieldmark.AsError(err).Code.Status() == http.StatusNotFound {
				return nil, fmt.Errorf("%w: %w", cache.ErrGone, err)
			}
			if err != nil {
				return nil, asUnavailable(err)
			}
			entry.AsOf, entry.OnError = asOf, derivedOnError
			return entry, nil
		}, e.fail)
}
