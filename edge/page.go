package edge

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/badge"
	"github.com/fieldmark/fieldmark/edge/site"
)

// pageFields go out with every page: nothing is run or loaded from
// elsewhere, no other site may frame it, and models are told where to begin.
var pageFields = []string{
	"Content-Type", "text/html; charset=utf-8",
	"Content-Security-Policy", "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
	"X-Content-Type-Options", "nosniff",
	"Link", `</llms.txt>; rel="describedby"; type="text/markdown"`,
	"Referrer-Policy", "strict-origin-when-cross-origin",
	"Cache-Control", "public, max-age=30, stale-while-revalidate=300, stale-if-error=86400",
}

// serveBrand answers GET /brands/{slug}: the score explained.
func (e *Edge) serveBrand(ctx *fasthttp.RequestCtx) {
	slug := strings.TrimPrefix(string(ctx.Path()), fieldmark.PathBrandPage)
	if !fieldmark.ValidSlug(slug) {
		e.failPage(ctx, noBrand(), slug)
		return
	}
	e.servePage(ctx, e.pageKey(fieldmark.Slug(slug)), slug, e.pageFill(fieldmark.Slug(slug)))
}

// pageKey names the ranking too, because a page shows a brand's place in it. A
// page then goes stale with its score alone.
func (e *Edge) pageKey(slug fieldmark.Slug) string {
	return "page/brand/" + e.rankings.ID() + "/" + string(slug)
}

// pageFill renders a brand's page from the score it shares with the other forms.
func (e *Edge) pageFill(slug fieldmark.Slug) cache.Fill {
	return func(ctx context.Context) (*cache.Entry, error) {
		entry, _, err := e.score(ctx, slug)
		if err != nil {
			return nil, err
		}
		score, err := decodeScore(entry.Body)
		if err != nil {
			return nil, err
		}
		score.Rank = e.rankings.Rank(score.Slug)
		past, err := e.past(ctx, slug)
		if err != nil {
			e.log.Warn("a brand's page has no history", "slug", slug, "err", err)
		}
		body, rerr := e.site.AppendBrand(nil, site.BrandPage{BaseURL: e.cfg.BaseURL, Score: score, History: past,
			Badge: e.embedOf(&score, badge.Look{}, "html", "markdown")})
		if rerr != nil {
			return nil, rerr
		}
		page := newPageEntry(body).From(entry)
		if err != nil {
			page.Fresh = withoutReference
		}
		return page, nil
	}
}

func newPageEntry(body []byte) *cache.Entry {
	sum := sha256.Sum256(body)
	entry := newEntry(body, `"`+hex.EncodeToString(sum[:12])+`"`, pageFields...)
	entry.Fresh, entry.Stale, entry.OnError = derivedFresh, derivedStale, derivedOnError
	return entry
}

// servePage answers with a cached page, making it on a miss.
func (e *Edge) servePage(ctx *fasthttp.RequestCtx, key, brand string, fill cache.Fill) {
	rc, cancel := e.requestContext(ctx)
	defer cancel()
	entry, from, err := e.cache.Fetch(rc, key, fill)
	if redirect(ctx, err, fieldmark.PathBrandPage, "") {
		return
	}
	if err != nil {
		e.failPage(ctx, err, brand)
		return
	}
	e.send(ctx, entry, from)
}

// failPage says to a person what went wrong.
func (e *Edge) failPage(ctx *fasthttp.RequestCtx, err error, brand string) {
	fe := publicError(err)
	id := requestID(ctx)
	if fe.Code == fieldmark.CodeInternal {
		e.log.Error("page failed", "requestId", id, "path", string(ctx.Path()), "err", err)
	}
	body, perr := e.site.AppendError(nil, site.ErrorPage{BaseURL: e.cfg.BaseURL, Code: fe.Code, Brand: brand, RequestID: id})
	if perr != nil {
		e.log.Error("render the error page", "requestId", id, "err", perr)
		e.fail(ctx, err)
		return
	}
	h := &ctx.Response.Header
	for i := 0; i < len(pageFields); i += 2 {
		h.Set(pageFields[i], pageFields[i+1])
	}
	h.Set("Cache-Control", "no-store")
	h.Set(fieldmark.HeaderRequestID, id)
	status := fe.Code.Status()
	setRetryAfter(ctx, status, fe.RetryAfter)
	sendOnce(ctx, status, body)
}

// sayToPerson puts a page in the place of a problem document that says there is
// nothing at an address, or that the origin is away, where a browser asked for
// one. Programs, and whoever asks the interfaces, get the document.
func (e *Edge) sayToPerson(ctx *fasthttp.RequestCtx) {
	status := ctx.Response.StatusCode()
	if status < http.StatusNotFound || !bytes.HasPrefix(ctx.Response.Header.ContentType(), problemType) ||
		bytes.HasPrefix(ctx.Path(), apiPath) || !bytes.Contains(ctx.Request.Header.Peek("Accept"), htmlType) {
		return
	}
	code, ok := map[int]fieldmark.Code{
		http.StatusNotFound: fieldmark.CodeNotFound, http.StatusServiceUnavailable: fieldmark.CodeOriginUnavailable, http.StatusGatewayTimeout: fieldmark.CodeTimeout,
	}[status]
	if ok {
		ctx.Response.Reset()
		e.failPage(ctx, fieldmark.Errorf(code, "%s", http.StatusText(status)), "")
		ctx.Response.Header.Set("Vary", "Accept")
	}
}

var (
	problemType = []byte("application/problem+json")
	htmlType    = []byte("text/html")
	apiPath     = []byte("/api/")
)

// serveStatic answers the pages' own assets, whose addresses name their content.
func (e *Edge) serveStatic(ctx *fasthttp.RequestCtx) {
	path := string(ctx.Path())
	body, contentType, etag, ok := e.site.Asset(path)
	if !ok {
		e.failPage(ctx, fieldmark.Errorf(fieldmark.CodeNotFound, "there is nothing at this address"), "")
		return
	}
	e.servePage(ctx, path, "", func(context.Context) (*cache.Entry, error) {
		entry := newEntry(body, etag, "Content-Type", contentType, "Cache-Control", "public, max-age=31536000, immutable", "X-Content-Type-Options", "nosniff")
		entry.Fresh, entry.Stale = derivedStale, derivedStale
		return entry, nil
	})
}
