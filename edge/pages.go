package edge

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/badge"
	"github.com/fieldmark/fieldmark/edge/conn/certs"
	"github.com/fieldmark/fieldmark/edge/ranking"
	"github.com/fieldmark/fieldmark/edge/site"
	"github.com/fieldmark/fieldmark/origin/client"
	"github.com/fieldmark/fieldmark/wasm/scoring"
)

// pageFields go out with every page: nothing is run or loaded from
// elsewhere, no other site may frame it, and a link leads models to /llms.txt.
var pageFields = []string{
	"Content-Type", "text/html; charset=utf-8",
	"Content-Security-Policy",
	"default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self' data:; " +
		"manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
	"X-Content-Type-Options", "nosniff",
	"Link", `</llms.txt>; rel="describedby"; type="text/markdown"`,
	"Referrer-Policy", "strict-origin-when-cross-origin",
	"Cache-Control", "public, max-age=30, stale-while-revalidate=300, stale-if-error=86400",
}

// brandEndpoints serve the pages of brands and the forms that dispute their findings.
type brandEndpoints struct {
	*pageWriter
	scorer   *scorer
	origin   *client.Client
	rankings *ranking.Store
}

// serve handles GET /brands/{slug}: the score explained.
func (e *brandEndpoints) serve(ctx *fasthttp.RequestCtx) {
	slug := strings.TrimPrefix(string(ctx.Path()), fieldmark.PathBrandPage)
	if !fieldmark.ValidSlug(slug) {
		e.failPage(ctx, brandNotFound(), slug)
		return
	}
	e.servePage(ctx, e.key(fieldmark.Slug(slug)), slug, e.fillOf(fieldmark.Slug(slug)))
}

// key includes the ranking, because a page shows a brand's rank. A page then goes stale
// with its score alone.
func (e *brandEndpoints) key(slug fieldmark.Slug) string {
	return "page/brand/" + e.rankings.ID() + "/" + string(slug)
}

// fillOf renders a brand's page from the score it shares with the other forms.
func (e *brandEndpoints) fillOf(slug fieldmark.Slug) cache.Fill {
	return func(ctx context.Context) (*cache.Entry, error) {
		entry, _, err := e.scorer.get(ctx, slug)
		if err != nil {
			return nil, err
		}
		score, err := decodeScore(entry.Body)
		if err != nil {
			return nil, err
		}
		// The rank is not part of a score's entry: it changes with every other brand of the niche.
		score.Rank = e.rankings.Rank(&score)
		p := site.BrandPage{BaseURL: e.baseURL, Score: score}
		if score.Status != fieldmark.StatusUnlisted {
			p.Badge = embedOf(e.baseURL, &score, badge.Options{}, false, "html", "markdown")
		}
		if s := e.rankings.Current(); s != nil {
			niche := s.Niche(score.Niche)
			p.NicheMedian, p.NicheBrands = niche.Median, niche.Brands
		}
		annotated, incomplete := e.addBrandParts(ctx, &p)
		if incomplete != nil {
			e.log.Warn("a brand's page is incomplete", "slug", slug, "err", incomplete)
		}
		body, err := e.site.AppendBrand(nil, p)
		if err != nil {
			return nil, err
		}
		parts := []*cache.Entry{entry}
		if annotated != nil {
			parts = append(parts, annotated)
		}
		page := newPageEntry(body).From(parts...)
		if incomplete != nil {
			// A page without an optional part is rendered again soon, not after the lifetime of a complete one.
			page.Fresh = incompleteFresh
		}
		return page, nil
	}
}

// addBrandParts adds to a page the origin's data besides the score, and returns the
// entry of the annotations. The requests run at once, because the page waits for all of them.
func (e *brandEndpoints) addBrandParts(ctx context.Context, p *site.BrandPage) (annotated *cache.Entry, err error) {
	if p.Score.Status == fieldmark.StatusUnlisted { // nothing of it is public
		return nil, nil
	}
	var wg sync.WaitGroup
	var facts, notes, past error
	wg.Go(func() { p.Facts, facts = e.brandFacts(ctx, &p.Score) })
	wg.Go(func() {
		optional, cancel := context.WithTimeout(ctx, chartTimeout)
		defer cancel()
		var a annotations
		a, annotated, notes = e.scorer.annotations(optional, p.Score.Slug)
		p.Claim, p.Disputes = a.claim, a.disputes
	})
	p.History, past = e.scorer.history(ctx, p.Score.Slug)
	wg.Wait()
	return annotated, errors.Join(past, facts, notes)
}

// brandFacts returns the facts of a score, nil before the first audit.
func (e *brandEndpoints) brandFacts(ctx context.Context, score *fieldmark.Score) (*fieldmark.Facts, error) {
	if score.FactsDigest == "" {
		return nil, nil
	}
	optional, cancel := context.WithTimeout(ctx, chartTimeout)
	defer cancel()
	body, _, err := e.origin.FactsBody(optional, score.Slug, score.FactsDigest)
	if err != nil {
		return nil, err
	}
	facts := new(fieldmark.Facts)
	if err := json.Unmarshal(body, facts); err != nil {
		return nil, fmt.Errorf("decode facts %s: %w", score.FactsDigest, err)
	}
	return facts, nil
}

// newPageEntry returns the entry of a page. Its caller sets the event number and the tags, or derives them by From.
func newPageEntry(body []byte) *cache.Entry {
	entry := newEntry(body, etagOf(body), pageFields...)
	entry.Fresh, entry.Stale, entry.OnError = derivedFresh, derivedStale, derivedOnError
	return entry
}

// pageWriter sends HTML pages and error pages.
type pageWriter struct {
	*responder
	fetcher *fetcher
	site    *site.Site
}

// servePage serves a cached page and builds it on a miss.
func (w *pageWriter) servePage(ctx *fasthttp.RequestCtx, key, brand string, fill cache.Fill) {
	w.servePageBy(ctx, w.fetcher.get, key, brand, fill)
}

// servePageBy is servePage with another way to fetch the page.
func (w *pageWriter) servePageBy(ctx *fasthttp.RequestCtx, fetch fetchFunc, key, brand string, fill cache.Fill) {
	w.serveCached(ctx, fetch, key, fill, func(ctx *fasthttp.RequestCtx, err error) {
		if !redirect(ctx, err, fieldmark.PathBrandPage, "") {
			w.failPage(ctx, err, brand)
		}
	})
}

// failPage sends an error page.
func (w *pageWriter) failPage(ctx *fasthttp.RequestCtx, err error, brand string) {
	fe := publicError(err)
	id := requestID(ctx)
	if fe.Code == fieldmark.CodeInternal {
		w.log.Error("page failed", "requestId", id, "path", fieldmark.LoggedPath(string(ctx.Path())), "err", err)
	}
	body, perr := w.site.AppendError(nil, site.ErrorPage{BaseURL: w.baseURL, Code: fe.Code, Brand: brand,
		RequestID: id})
	if perr != nil {
		w.log.Error("render the error page", "requestId", id, "err", perr)
		w.fail(ctx, err)
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

// isDisputePage reports whether a request is for the page that disputes a finding.
func isDisputePage(ctx *fasthttp.RequestCtx) bool {
	return strings.HasSuffix(text(ctx.Path()), fieldmark.DisputeSuffix)
}

// serveDispute handles /brands/{slug}/contest: GET shows the form, or with ?dispute= the
// state of a dispute; POST opens one. A form of another site gains nothing: there is no
// session, and opening a dispute needs no right.
func (e *brandEndpoints) serveDispute(ctx *fasthttp.RequestCtx) route {
	slug, err := fieldmark.ParseSlug(strings.TrimSuffix(strings.TrimPrefix(string(ctx.Path()),
		fieldmark.PathBrandPage), fieldmark.DisputeSuffix))
	if err != nil {
		e.failPage(ctx, brandNotFound(), string(slug))
		return routePage
	}
	rc, cancel := context.WithTimeout(context.Background(), fillTimeout) // of all requests to the origin together
	defer cancel()
	if ctx.IsPost() {
		e.openDispute(rc, ctx, slug)
		return routePage
	}
	return e.get(ctx, routePage, func(ctx *fasthttp.RequestCtx) {
		p := site.DisputePage{Form: map[string]string{"signal": string(ctx.QueryArgs().Peek("signal"))}}
		if id := string(ctx.QueryArgs().Peek("dispute")); id != "" {
			d, err := e.disputeStatus(rc, slug, id)
			if err != nil {
				e.failPage(ctx, err, "")
				return
			}
			p.Opened = &d
		}
		e.sendDispute(rc, ctx, slug, http.StatusOK, p)
	})
}

// disputeStatus reads the state of a dispute. An id of another form is not looked up: it cannot exist.
func (e *brandEndpoints) disputeStatus(rc context.Context, slug fieldmark.Slug, id string) (d fieldmark.DisputeStatus,
	err error) {
	if !fieldmark.CheckID(fieldmark.PrefixDispute, id) {
		return d, fieldmark.Errorf(fieldmark.CodeNotFound, "no such dispute")
	}
	return e.origin.DisputeStatus(rc, slug, id)
}

// openDispute opens the dispute of a form and redirects to its state. With invalid fields
// it shows the form again.
func (e *brandEndpoints) openDispute(rc context.Context, ctx *fasthttp.RequestCtx, slug fieldmark.Slug) {
	if err := readBody(ctx, fieldmark.MaxBody); err != nil {
		e.failPage(ctx, err, "")
		return
	}
	p := site.DisputePage{Form: map[string]string{}}
	for _, name := range []string{"signal", "kind", "text", "email"} {
		// as browsers send line breaks
		p.Form[name] = strings.ReplaceAll(string(ctx.PostArgs().Peek(name)), "\r\n", "\n")
	}
	d, err := e.origin.OpenDispute(rc, slug, fieldmark.DisputeRequest{Signal: p.Form["signal"],
		Kind: fieldmark.DisputeKind(p.Form["kind"]), Text: p.Form["text"], Email: p.Form["email"]})
	if err == nil {
		ctx.Response.Header.Set("Location", fieldmark.DisputePath(slug, "")+"?dispute="+d.ID)
		ctx.Response.Header.Set("Cache-Control", "no-store")
		ctx.SetStatusCode(http.StatusSeeOther)
		return
	}
	fe := publicError(err)
	if fe.Code == fieldmark.CodeNotFound {
		e.failPage(ctx, brandNotFound(), string(slug))
		return
	}
	p.Errors = fieldErrors(fe, false)
	e.sendDispute(rc, ctx, slug, fe.Code.Status(), p)
}

// sendDispute sends the page that disputes a finding.
func (e *brandEndpoints) sendDispute(rc context.Context, ctx *fasthttp.RequestCtx, slug fieldmark.Slug, status int,
	p site.DisputePage) {
	entry, _, err := e.scorer.get(rc, slug)
	if err != nil {
		// An old slug redirects to the form of the brand's present one.
		if !redirect(ctx, err, fieldmark.PathBrandPage, fieldmark.DisputeSuffix) {
			e.failPage(ctx, err, string(slug))
		}
		return
	}
	p.BaseURL = e.baseURL
	if p.Score, err = decodeScore(entry.Body); err != nil {
		e.failPage(ctx, err, "")
		return
	}
	body, err := e.site.AppendDispute(nil, p)
	e.sendPage(ctx, status, body, err)
	ctx.Response.Header.Set("Cache-Control", "no-store")
}

// renderErrorPage replaces a problem document by a page where a browser requested an
// address that does not exist, or while the origin is unreachable. Other clients, and requests
// to the APIs, get the document.
func (w *pageWriter) renderErrorPage(ctx *fasthttp.RequestCtx) {
	status := ctx.Response.StatusCode()
	if status < http.StatusNotFound || !bytes.HasPrefix(ctx.Response.Header.ContentType(), problemType) ||
		bytes.HasPrefix(ctx.Path(), apiPath) || !bytes.Contains(ctx.Request.Header.Peek("Accept"), htmlType) {
		return
	}
	code, ok := map[int]fieldmark.Code{
		http.StatusNotFound: fieldmark.CodeNotFound, http.StatusServiceUnavailable: fieldmark.CodeOriginUnavailable,
		http.StatusGatewayTimeout: fieldmark.CodeTimeout,
	}[status]
	if ok {
		ctx.Response.Reset()
		w.failPage(ctx, fieldmark.Errorf(code, "%s", http.StatusText(status)), "")
		ctx.Response.Header.Set("Vary", "Accept")
	}
}

var (
	problemType = []byte("application/problem+json")
	htmlType    = []byte("text/html")
	apiPath     = []byte("/api/")
)

// siteEndpoints serve the pages about this site, and its assets.
type siteEndpoints struct {
	*pageWriter
	scorer       *scorer
	origin       *client.Client
	rankings     *ranking.Store
	replica      *replicaState
	certificates *certs.Store
	node         string // id of this process
}

// serveStatic serves the static files of the pages; their paths contain a hash of the
// content.
func (e *siteEndpoints) serveStatic(ctx *fasthttp.RequestCtx) {
	path := string(ctx.Path())
	body, contentType, etag, ok := e.site.Asset(path)
	if !ok {
		e.failPage(ctx, fieldmark.Errorf(fieldmark.CodeNotFound, "there is nothing at this address"), "")
		return
	}
	e.servePage(ctx, path, "", func(context.Context) (*cache.Entry, error) {
		fields := []string{"Content-Type", contentType, "Cache-Control", "public, max-age=31536000, immutable",
			"X-Content-Type-Options", "nosniff"}
		if policy := e.site.WorkerPolicy(path); policy != "" {
			fields = append(fields, "Content-Security-Policy", policy)
		}
		entry := newEntry(body, etag, fields...)
		entry.Fresh, entry.Stale = derivedStale, derivedStale
		return entry, nil
	})
}

// pageEntry keeps a page that follows from the program and a module alone.
func pageEntry(body []byte, err error) (*cache.Entry, error) {
	if err != nil {
		return nil, err
	}
	return newPageEntry(body), nil
}

// serveAbout handles GET /about.
func (e *siteEndpoints) serveAbout(ctx *fasthttp.RequestCtx) {
	e.servePage(ctx, "page/about", "", func(context.Context) (*cache.Entry, error) {
		return pageEntry(e.site.AppendAbout(nil, e.baseURL))
	})
}

// serveBot handles GET /bot.
func (e *siteEndpoints) serveBot(ctx *fasthttp.RequestCtx) {
	e.servePage(ctx, "page/bot", "", func(context.Context) (*cache.Entry, error) {
		return pageEntry(e.site.AppendBot(nil, e.baseURL))
	})
}

// sendPage sends a page made for one request. It depends on what the client entered, so it
// is not cached.
func (w *pageWriter) sendPage(ctx *fasthttp.RequestCtx, status int, body []byte, err error) {
	if err != nil {
		w.failPage(ctx, err, "")
		return
	}
	h := &ctx.Response.Header
	for i := 0; i < len(pageFields); i += 2 {
		h.Set(pageFields[i], pageFields[i+1])
	}
	h.Set("Cache-Control", "no-cache")
	setRetryAfter(ctx, status, 0)
	sendOnce(ctx, status, body)
}

// embedOf returns how to show a badge, in the given formats or in all.
func embedOf(baseURL string, score *fieldmark.Score, opts badge.Options, claimed bool, formats ...string) *site.Badge {
	address, shown := string(score.Slug), badge.Of(score)
	shown.Claimed = claimed && opts.Claimed
	embed := badge.EmbedOf(shown, opts, baseURL+fieldmark.PathBadge+address,
		baseURL+site.PathVerify+address)
	b := &site.Badge{Image: fieldmark.PathBadge + address + opts.Query(), Alt: embed.Alt,
		Lang:  badge.Languages()[opts.Lang],
		Width: embed.Width, Height: embed.Height}
	for _, s := range embed.Snippets {
		if len(formats) == 0 || slices.Contains(formats, s.Format) {
			b.Snippets = append(b.Snippets, site.Snippet{Name: snippetNames[s.Format], Text: s.Text})
		}
	}
	return b
}

// snippetNames are the formats of an embed for people.
var snippetNames = map[string]string{
	"html": "HTML", "picture": "HTML that follows the theme of the page’s reader", "markdown": "Markdown",
	"rst":      "reStructuredText",
	"asciidoc": "AsciiDoc", "bbcode": "BBCode", "react": "React",
}

// incompleteFresh is the lifetime of a page that lacks a part because the origin was
// unavailable.
const incompleteFresh = 30 * time.Second

// serveDevelopers handles GET /developers.
func (e *siteEndpoints) serveDevelopers(ctx *fasthttp.RequestCtx) {
	e.servePage(ctx, "page/developers", "", func(context.Context) (*cache.Entry, error) {
		return pageEntry(e.site.AppendDevelopers(nil, site.DevelopersPage{BaseURL: e.baseURL}))
	})
}

// servePlayground handles GET /developers/playground.
func (e *siteEndpoints) servePlayground(ctx *fasthttp.RequestCtx) {
	e.servePage(ctx, "page"+site.PathPlayground, "", func(context.Context) (*cache.Entry, error) {
		body, err := e.site.AppendPlayground(nil, site.DevelopersPage{BaseURL: e.baseURL})
		if err != nil {
			return nil, err
		}
		return newRunPageEntry(body), nil
	})
}

// serviceFresh is the lifetime of the status of the origin: as long as edges take to report.
const serviceFresh = 30 * time.Second

// serviceStatus returns the status of the origin. While that is unreachable it is the last one
// known, which has all outages but the present; nil if none is known.
func (e *siteEndpoints) serviceStatus(ctx *fasthttp.RequestCtx) *fieldmark.ServiceStatus {
	entry, _, err := e.fetcher.get(ctx, "status/origin", func(ctx context.Context) (*cache.Entry, error) {
		optional, cancel := context.WithTimeout(ctx, chartTimeout)
		defer cancel()
		status, err := e.origin.Status(optional)
		if err != nil {
			return nil, err
		}
		entry, err := newJSONEntry(status, "", "no-store")
		if err != nil {
			return nil, err
		}
		entry.Fresh, entry.OnError, entry.AsOf = serviceFresh, derivedOnError, e.replica.purged.Load()
		return entry, nil
	})
	status := new(fieldmark.ServiceStatus)
	if err != nil || json.Unmarshal(entry.Body, status) != nil {
		return nil
	}
	return status
}

// serveStatus handles GET /status: whether the service works, its outages, and the versions
// of this node. It is never cached and contains no private data of operators.
func (e *siteEndpoints) serveStatus(ctx *fasthttp.RequestCtx) {
	p := site.StatusPage{
		BaseURL: e.baseURL, Node: e.node, InStep: e.replica.connected.Load(), Event: e.replica.applied.Load(),
		Now: fieldmark.At(time.Now()),
	}
	if s := e.rankings.Current(); s != nil {
		p.Ranked, p.Pending, p.Unreachable = s.RankedCount(), s.Pending, s.Unreachable
		p.AsOf, p.Snapshot, p.Methodology, p.Module = s.AsOf, s.ID, s.Method.Methodology, s.Method.Module
	}
	for _, c := range e.certificates.Expiries() {
		p.Certificates = append(p.Certificates, site.CertificateStatus{Name: c.Name, Issued: !c.NotAfter.IsZero(),
			DaysLeft: fieldmark.DaysUntil(c.NotAfter, p.Now.Std()), Expires: fieldmark.At(c.NotAfter)})
	}
	p.Service = e.serviceStatus(ctx)
	body, err := e.site.AppendStatus(nil, p)
	e.sendPage(ctx, http.StatusOK, body, err)
	if err == nil {
		ctx.Response.Header.Set("Cache-Control", "no-store")
	}
}

// reasonsFiles explain the versions of the built-in method.
//
//go:embed method-1.json method-2.json
var reasonsFiles embed.FS

// pathMethodPage is the address scores give for their method.
const pathMethodPage = "/methodology"

// method is everything by which this node scores.
func (s *modules) method() (*fieldmark.Method, error) {
	m, release, err := s.active.Acquire()
	if err != nil {
		return nil, errNoModule
	}
	defer release()
	doc := &fieldmark.Method{Methodology: m.Methodology(), Module: m.Ref(), Manifest: m.Manifest(),
		Rules: scoring.Rules()}
	for _, name := range []string{"method-2.json", "method-1.json"} {
		file, err := reasonsFiles.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("BUG: read the reasons of the method: %w", err)
		}
		var reasons fieldmark.MethodReasons
		if err := json.Unmarshal(file, &reasons); err != nil {
			return nil, fmt.Errorf("BUG: read the reasons of the method: %w", err)
		}
		if reasons.ID == doc.Methodology.ID && reasons.Version == doc.Methodology.Version {
			doc.Reasons = &reasons
		}
	}
	return doc, nil
}

// serveMethodology handles GET /api/v1/methodology: the numbers of the scoring method and
// their sources.
func (e *scoreEndpoints) serveMethodology(ctx *fasthttp.RequestCtx) {
	if err := noParameters(ctx); err != nil {
		e.fail(ctx, err)
		return
	}
	if err := e.scorer.modules.require(); err != nil {
		e.fail(ctx, err)
		return
	}
	e.serveCached(ctx, e.fetcher.get, fieldmark.PathMethodology, func(context.Context) (*cache.Entry, error) {
		known := e.replica.moduleAsOf.Load() // before the module is read
		doc, err := e.scorer.modules.method()
		if err != nil {
			return nil, err
		}
		entry, err := newJSONEntry(doc, "", boardCacheControl)
		if err != nil {
			return nil, err
		}
		entry.AsOf, entry.Tags = known, []string{string(fieldmark.TagModule)}
		entry.Fresh, entry.OnError = derivedFresh, derivedOnError
		return entry, nil
	}, e.fail)
}

// serveMethodology handles GET /methodology: the same as a page.
func (e *siteEndpoints) serveMethodology(ctx *fasthttp.RequestCtx) {
	if err := e.scorer.modules.require(); err != nil {
		e.failPage(ctx, err, "")
		return
	}
	e.servePage(ctx, "page"+pathMethodPage, "", func(ctx context.Context) (*cache.Entry, error) {
		known := min(e.replica.moduleAsOf.Load(), e.replica.purged.Load())
		doc, err := e.scorer.modules.method()
		if err != nil {
			return nil, err
		}
		manifest, err := json.Marshal(doc.Manifest)
		if err != nil {
			return nil, err
		}
		p := site.MethodPage{BaseURL: e.baseURL, Method: *doc, Manifest: manifest}
		optional, cancel := context.WithTimeout(ctx, chartTimeout)
		defer cancel()
		v, incomplete := e.origin.Validity(optional)
		if incomplete == nil {
			p.Validity = &v
		} else {
			e.log.Warn("the page of the method is incomplete", "err", incomplete)
		}
		body, err := e.site.AppendMethod(nil, p)
		if err != nil {
			return nil, err
		}
		page := newPageEntry(body)
		page.AsOf, page.Tags = known, []string{string(fieldmark.TagModule), string(fieldmark.TagValidity)}
		if incomplete != nil {
			page.Fresh = incompleteFresh
		}
		return page, nil
	})
}
