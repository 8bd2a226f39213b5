package edge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/badge"
	"github.com/fieldmark/fieldmark/edge/conn"
	"github.com/fieldmark/fieldmark/edge/lifetime"
	"github.com/fieldmark/fieldmark/edge/ranking"
	"github.com/fieldmark/fieldmark/edge/site"
)

// badgeFields are the header fields of every badge. Badges are embedded in pages of other
// sites: any page may embed one (CORP, CORS), it runs no script when opened alone (CSP),
// sets no cookie, and is refreshed after five minutes.
var badgeFields = []string{
	"Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox",
	"X-Content-Type-Options", "nosniff",
	"Cross-Origin-Resource-Policy", "cross-origin",
	"Access-Control-Allow-Origin", "*",
	"Timing-Allow-Origin", "*",
}

const (
	// badgeSeconds is the lifetime of a badge in seconds, unless the URL sets another.
	badgeSeconds = 300
	// badgeErrorSeconds is short: a badge that is wrong must heal soon, and
	// without any Cache-Control image proxies keep it for a year.
	badgeErrorSeconds = 60
	// minCacheSeconds and maxCacheSeconds bound cacheSeconds=. With less than a minute a
	// busy page would send a request for every reader; with more than a day the badge would
	// show an outdated score.
	minCacheSeconds, maxCacheSeconds = 60, 86400

	badgeControlTail  = ", stale-while-revalidate=86400, stale-if-error=604800"
	badgeCacheControl = "public, max-age=300, s-maxage=300" + badgeControlTail
	// badgeProxyControl is for image proxies, whose own lifetime adds to this one.
	badgeProxyControl = "public, max-age=60, s-maxage=300" + badgeControlTail
)

// badgeFormat is a form of a badge, by the end of its address.
type badgeFormat uint8

const (
	formatSVG badgeFormat = iota
	formatJSON
	formatPNG
)

var formatTypes = [...]string{formatSVG: "image/svg+xml; charset=utf-8", formatJSON: "application/json",
	formatPNG: "image/png"}

// badgeRequest is a parsed request for a badge.
type badgeRequest struct {
	slug       fieldmark.Slug
	format     badgeFormat
	options    badge.Options
	scale      int  // of a PNG
	seconds    int  // asked for; 0 if not
	imageProxy bool // the client is an image proxy, which shows only answers with status 200
}

// badgeRenderers holds the renderers and caches of badges.
type badgeRenderers struct {
	svg badge.Renderer
	png *pngRenderer
}

// badgeEndpoints serve badges and the markup that embeds them.
type badgeEndpoints struct {
	*responder
	cache     *cache.Cache
	fetcher   *fetcher
	scorer    *scorer
	rankings  *ranking.Store // scores for badges while the origin is unreachable
	replica   *replicaState
	lifetime  *lifetime.State
	clients   clients
	limiter   *requestLimiter // of drawing PNGs
	renderers badgeRenderers
}

// serve handles GET /api/badge/{slug}, with an optional .svg, .json or .png suffix,
// and {slug}/embed. A path without a query is the cache key, so a hit costs one lookup and
// builds nothing.
func (e *badgeEndpoints) serve(ctx *fasthttp.RequestCtx) {
	path := ctx.Path()
	if len(ctx.URI().QueryString()) == 0 && !conn.FastPathTried(ctx) {
		if entry, state := e.cache.Get(text(path)); state == cache.Fresh {
			e.sendBadge(ctx, entry, cache.SourceHit, &badgeRequest{})
			return
		}
	}
	if bytes.HasSuffix(path, embedSuffix) {
		e.serveEmbed(ctx)
		return
	}
	if slug, ok := strings.CutSuffix(text(path[len(fieldmark.PathBadge):]), fieldmark.BadgeProbe); ok {
		e.serveProbe(ctx, strings.Clone(slug)) // the path is used again
		return
	}
	r, err := parseBadge(ctx)
	if err != nil {
		e.failBadge(ctx, &r, err)
		return
	}
	if r.format == formatPNG {
		e.servePNG(ctx, &r)
		return
	}
	e.serveBadgeEntry(ctx, &r)
}

// serveBadgeEntry answers a request for a badge from the cache, or draws it.
func (e *badgeEndpoints) serveBadgeEntry(ctx *fasthttp.RequestCtx, r *badgeRequest) {
	rc, cancel := e.fetcher.context(ctx)
	defer cancel()
	if r.options.Label != "" {
		// A badge with a free label is drawn for each request and not cached, in any
		// format: otherwise a client could fill the cache with labels.
		entry, err := e.fillBadge(rc, *r)
		if err != nil {
			e.failBadge(ctx, r, err)
			return
		}
		e.sendBadge(ctx, entry, cache.SourceNone, r)
		return
	}
	if err := e.scorer.modules.require(); err != nil {
		e.failBadge(ctx, r, err)
		return
	}
	kept := *r // outlives the request: another may wait for the same picture
	entry, from, err := e.cache.Fetch(rc, r.key(), func(ctx context.Context) (*cache.Entry,
		error) {
		return e.fillBadge(ctx, kept)
	})
	if err != nil {
		e.failBadge(ctx, r, err)
		return
	}
	e.sendBadge(ctx, entry, from, r)
}

// sendBadge sends an entry with the lifetime that the page or an image proxy needs. The
// lifetime is not part of the entry, so that one picture is one entry.
func (e *badgeEndpoints) sendBadge(ctx *fasthttp.RequestCtx, entry *cache.Entry, from cache.Source, r *badgeRequest) {
	e.send(ctx, entry, from)
	e.setLifetime(ctx, entry, from, r.key)
	switch {
	case r.seconds != 0:
		ctx.Response.Header.Set("Cache-Control", fmt.Sprintf("public, max-age=%d, s-maxage=%d", r.seconds, r.seconds)+
			badgeControlTail)
	case isImageProxy(ctx):
		ctx.Response.Header.SetCanonical(headerCacheControl, proxyControl)
	}
}

// setLifetime sets the lifetime for CDNs that are purged exactly, of a response that the key of its brand and
// that of the module purge, and nothing else changes: badges and share cards. Entries that are outdated, or
// were drawn without the origin, live in a CDN as long as Cache-Control says.
func (e *badgeEndpoints) setLifetime(ctx *fasthttp.RequestCtx, entry *cache.Entry, from cache.Source,
	key func() string) {
	fields := e.lifetime.Current()
	if fields == nil || entry.Fresh < derivedFresh || entry.Status != http.StatusOK {
		return
	}
	switch from {
	case cache.SourceHit:
	case cache.SourceFill, cache.SourceCoalesced:
		// A change during the fill, or a module that is not loaded yet, makes a new entry outdated.
		if _, state := e.cache.Get(key()); state != cache.Fresh {
			return
		}
	default:
		return
	}
	for _, field := range fields.List {
		ctx.Response.Header.SetCanonical(field[0], field[1])
	}
}

// serveProbe handles GET /api/badge/{slug}/probe, by which the origin compares a CDN with this edge.
func (e *badgeEndpoints) serveProbe(ctx *fasthttp.RequestCtx, name string) {
	nonce := string(ctx.QueryArgs().Peek("nonce"))
	if !fieldmark.ValidRequestID(nonce) {
		e.fail(ctx, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "nonce is required"))
		return
	}
	if !fieldmark.ValidSlug(name) {
		e.fail(ctx, brandNotFound())
		return
	}
	slug, err := fieldmark.Slug(name), e.scorer.modules.require()
	var entry *cache.Entry
	if err == nil {
		entry, _, err = e.fetcher.get(ctx, badgeKey(slug, badge.Auto), e.fillOf(slug, badge.Auto))
	}
	if err != nil {
		e.failBrand(ctx, err, fieldmark.PathBadge, fieldmark.BadgeProbe)
		return
	}
	h := entry.Value.(answer).headOf()
	body := appendJSON(nil, fieldmark.BadgeProbeResult{ETag: string(h.etag), Nonce: nonce})
	ctx.Response.Header.SetContentType("application/json")
	ctx.Response.Header.Set("Cache-Control", "no-store")
	ctx.Response.Header.Set("X-Content-Type-Options", "nosniff")
	sendOnce(ctx, http.StatusOK, body)
}

var (
	headerCacheControl = []byte("Cache-Control")
	proxyControl       = []byte(badgeProxyControl)
	headerVia          = []byte("Via")
	imageProxyNames    = [][]byte{[]byte("camo"), []byte("Camo"), []byte("ImageProxy"), []byte("image-proxy"),
		[]byte("YahooMailProxy")}
)

// isImageProxy reports whether the request comes from an image proxy, such as GitHub's.
// Image proxies show only responses with status 200.
func isImageProxy(ctx *fasthttp.RequestCtx) bool {
	return namesImageProxy(ctx.Request.Header.UserAgent()) || namesImageProxy(ctx.Request.Header.PeekBytes(headerVia))
}

func namesImageProxy(agent []byte) bool {
	for _, name := range imageProxyNames {
		if bytes.Contains(agent, name) {
			return true
		}
	}
	return false
}

var badgeSuffixes = []struct {
	suffix string
	form   badgeFormat
}{{".svg", formatSVG}, {".json", formatJSON}, {".png", formatPNG}}

// parseBadge parses a request. With an error it returns the options parsed so far, which
// are valid for drawing the error.
func parseBadge(ctx *fasthttp.RequestCtx) (badgeRequest, error) {
	r := badgeRequest{scale: 1, imageProxy: isImageProxy(ctx)}
	slug := string(ctx.Path()[len(fieldmark.PathBadge):])
	for _, f := range badgeSuffixes {
		if rest, ok := strings.CutSuffix(slug, f.suffix); ok {
			slug, r.format = rest, f.form
			break
		}
	}
	query := ctx.QueryArgs()
	get := func(name string) string { return string(query.Peek(name)) }
	var err error
	if r.imageProxy, err = parseSoft(get("soft"), r.imageProxy); err != nil {
		return r, err
	}
	if r.options, err = badge.ParseOptions(get); err != nil {
		return r, err
	}
	if r.seconds, err = cacheSeconds(get("cacheSeconds")); err != nil {
		return r, err
	}
	if r.format == formatPNG {
		if r.scale, err = parseScale(get("scale")); err != nil {
			return r, err
		}
		if !r.options.Drawable() {
			return r, fieldmark.Errorf(fieldmark.CodeInvalidParameter,
				"a PNG can show a label of Latin, Greek or Cyrillic letters only")
		}
	}
	if !fieldmark.ValidSlug(slug) {
		return r, brandNotFound()
	}
	r.slug = fieldmark.Slug(slug)
	return r, nil
}

func parseSoft(value string, proxied bool) (bool, error) {
	switch value {
	case "", "0":
		return proxied, nil
	case "1":
		return true, nil
	}
	return proxied, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "unknown soft; known are 0, 1")
}

// cacheSeconds parses a lifetime in seconds; 0 means that the parameter is absent. The bounds keep an embedding page
// from causing a request for each view, and from showing an old score for longer than a day.
func cacheSeconds(value string) (int, error) {
	if value == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < minCacheSeconds || n > maxCacheSeconds {
		return 0, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "cacheSeconds is a number from %d to %d",
			minCacheSeconds, maxCacheSeconds)
	}
	return n, nil
}

func parseScale(value string) (int, error) {
	if value == "" {
		return 1, nil
	}
	if n, err := strconv.Atoi(value); err == nil && 1 <= n && n <= badge.MaxScale && len(value) == 1 {
		return n, nil
	}
	return 1, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "unknown scale; known are 1, 2, 3")
}

// key is the badge's own address, without what does not change it.
func (r *badgeRequest) key() string {
	base := fieldmark.PathBadge + string(r.slug)
	switch r.format {
	case formatJSON:
		// Of the options, the data have only the words.
		return base + ".json" + badge.Options{Lang: r.options.Lang, Label: r.options.Label}.Query()
	case formatPNG:
		key := base + ".png" + r.options.Query()
		if r.scale != 1 {
			key += "#" + strconv.Itoa(r.scale)
		}
		return key
	}
	return base + r.options.Query()
}

// themeQuery is what a theme adds to a pill's own address, of the themes that
// are redrawn as soon as a score changes.
var themeQuery = [...]string{badge.Auto: "", badge.Light: "?theme=light", badge.Dark: "?theme=dark"}

// badgeKey is the address of a pill.
func badgeKey(slug fieldmark.Slug, theme badge.Theme) string {
	return fieldmark.PathBadge + string(slug) + themeQuery[theme]
}

func (e *badgeEndpoints) fillOf(slug fieldmark.Slug, theme badge.Theme) cache.Fill {
	r := badgeRequest{slug: slug, options: badge.Options{Theme: theme}, scale: 1}
	return func(ctx context.Context) (*cache.Entry, error) { return e.fillBadge(ctx, r) }
}

// fillBadge draws a badge from the score it shares with the other forms.
func (e *badgeEndpoints) fillBadge(ctx context.Context, r badgeRequest) (*cache.Entry, error) {
	score, entry, err := e.badgeScore(ctx, r.slug)
	if err != nil {
		return nil, err
	}
	parts, b, fresh := []*cache.Entry{entry}, badge.Of(score), min(derivedFresh, entry.Fresh)
	if r.options.Claimed {
		a, claimEntry, err := e.scorer.annotations(ctx, r.slug)
		if err == nil {
			parts = append(parts, claimEntry)
		} else { // without a tick, until the origin is back
			fresh = min(fresh, rankingBadgeFresh)
		}
		b.Claimed = a.claim != nil
	}
	page := e.baseURL + fieldmark.PathBrandPage + string(r.slug)
	body, err := e.renderBadge(ctx, score, b, &r, page)
	if err != nil {
		return nil, err
	}
	fields := append([]string{
		"Content-Type", formatTypes[r.format],
		"Cache-Control", badgeCacheControl,
		"Link", "<" + page + `>; rel="describedby"`,
	}, badgeFields...)
	if score.AsOf != nil {
		fields = append(fields, "Last-Modified", score.AsOf.Std().Format(http.TimeFormat))
	}
	drawn := &cache.Entry{
		Body: body, Status: http.StatusOK, Value: newHead(etagOf(body), fields...),
		Fresh: fresh, OnError: derivedOnError,
	}
	if r.format == formatSVG && r.options.Query() == themeQuery[min(int(r.options.Theme), len(themeQuery)-1)] {
		// These may be served while they are drawn again, because a change of
		// the score redraws them at once.
		drawn.Stale = derivedStale
	}
	return packEntry(drawn.From(parts...)), nil
}

// rankingBadgeFresh is the lifetime of a badge drawn from the ranking alone.
const rankingBadgeFresh = retryAfter

// badgeScore returns the score that a badge shows and its cache entry. If the score is not
// available, it uses the one in the ranking.
func (e *badgeEndpoints) badgeScore(ctx context.Context, slug fieldmark.Slug) (*fieldmark.Score, *cache.Entry, error) {
	event := e.replica.applied.Load() // before the ranking is read
	ranked, ok := e.rankings.Score(slug)
	if ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, rankedTimeout)
		defer cancel()
	}
	entry, _, err := e.scorer.get(ctx, slug)
	if err == nil {
		return &entry.Value.(*scoreValue).score, entry, nil
	}
	if !ok || fieldmark.IsCode(err, fieldmark.CodeNotFound) {
		return nil, nil, err
	}
	return ranked, &cache.Entry{AsOf: event, Born: time.Now(), Fresh: rankingBadgeFresh,
		Tags: scoreTags(slug)}, nil
}

// renderBadge draws a badge in the format of the request. PNGs are limited by the renderer, because one costs as much
// processor time as hundreds of SVGs.
func (e *badgeEndpoints) renderBadge(ctx context.Context, score *fieldmark.Score, b badge.Badge, r *badgeRequest,
	page string) ([]byte, error) {
	switch r.format {
	case formatJSON:
		return badge.EndpointOf(score, r.options, badgeSeconds, page)
	case formatPNG:
		return e.renderers.png.render(ctx,
			func() ([]byte, error) { return badge.PNG(b, r.options, r.scale) })
	}
	// Kept for long: without the room that drawing took.
	return bytes.Clone(e.renderers.svg.AppendSVG(make([]byte, 0, 2048), b, r.options)), nil
}

// failBadge draws the error as a badge. Browsers show it with any status, image proxies
// only with 200. Server errors keep their status, so that a cache on the way serves its
// stored badge instead.
func (e *badgeEndpoints) failBadge(ctx *fasthttp.RequestCtx, r *badgeRequest, err error) {
	if redirect(ctx, err, fieldmark.PathBadge, string(ctx.Path()[len(fieldmark.PathBadge)+len(r.slug):])) {
		return
	}
	fe := publicError(err)
	if r.format == formatJSON {
		e.fail(ctx, fe)
		return
	}
	status := fe.Code.Status()
	h := &ctx.Response.Header
	switch {
	case fe.Code == fieldmark.CodeInternal:
		e.log.Error("badge failed", "path", string(ctx.Path()), "err", err)
	case status == http.StatusNotFound:
		h.Set("X-Badge-Status", "unknown")
	case status == http.StatusBadRequest:
		h.Set("X-Badge-Status", "invalid")
	}
	setRetryAfter(ctx, status, fe.RetryAfter)
	if r.imageProxy && (status == http.StatusNotFound || status == http.StatusBadRequest) {
		status = http.StatusOK
	}
	body, kind := e.renderBadgeError(ctx, fe, r), r.format
	if body == nil {
		body, kind = badge.AppendError(nil, fe, r.options), formatSVG
	}
	for i := 0; i < len(badgeFields); i += 2 {
		h.Set(badgeFields[i], badgeFields[i+1])
	}
	h.Set("Content-Type", formatTypes[kind])
	h.Set("Cache-Control", fmt.Sprintf("public, max-age=%d", badgeErrorSeconds))
	if fe.Code == fieldmark.CodeRateLimited || fe.Code == fieldmark.CodeOverloaded {
		h.Set("Cache-Control", "no-store") // it concerns this client, and others share its cache
	} else {
		setKeys(h, fieldmark.TagBrand(r.slug), fieldmark.TagModule)
	}
	ctx.SetStatusCode(status)
	ctx.Response.SetBody(body)
	ctx.Response.SkipBody = ctx.IsHead()
}

// renderBadgeError draws the error as a PNG or, for an unknown brand, as an SVG. It returns
// nil if the caller must draw the error as an SVG.
func (e *badgeEndpoints) renderBadgeError(ctx *fasthttp.RequestCtx, fe *fieldmark.Error, r *badgeRequest) []byte {
	if r.format != formatPNG {
		if fe.Code == fieldmark.CodeNotFound {
			return badge.AppendSVG(nil, badge.Badge{}, r.options)
		}
		return nil
	}
	rc, cancel := e.fetcher.context(ctx)
	defer cancel()
	body, err := e.renderers.png.error(rc, fe, r)
	if err != nil && !fieldmark.IsCode(err, fieldmark.CodeOverloaded) {
		e.log.Error("draw an error", "err", err)
	}
	return body
}

var embedSuffix = []byte("/embed")

// embedFormats are the values of format=.
const embedFormats = "json, html, picture, markdown, rst, asciidoc, bbcode, react"

// serveEmbed handles GET /api/badge/{slug}/embed: how to show the badge on
// another page, in every markup as JSON, or in one of them.
func (e *badgeEndpoints) serveEmbed(ctx *fasthttp.RequestCtx) {
	slug := string(bytes.TrimSuffix(ctx.Path()[len(fieldmark.PathBadge):], embedSuffix))
	if !fieldmark.ValidSlug(slug) {
		e.fail(ctx, brandNotFound())
		return
	}
	get := func(name string) string { return string(ctx.QueryArgs().Peek(name)) }
	opts, err := badge.ParseOptions(get)
	if err != nil {
		e.fail(ctx, err)
		return
	}
	rc, cancel := e.fetcher.context(ctx)
	defer cancel()
	entry, _, err := e.scorer.get(rc, fieldmark.Slug(slug))
	if err != nil {
		e.failBrand(ctx, err, fieldmark.PathBadge, string(embedSuffix))
		return
	}
	b := badge.Of(&entry.Value.(*scoreValue).score)
	if opts.Claimed {
		a, _, err := e.scorer.annotations(rc, fieldmark.Slug(slug))
		if err != nil {
			e.fail(ctx, err)
			return
		}
		b.Claimed = a.claim != nil
	}
	embed := badge.EmbedOf(b, opts,
		e.baseURL+fieldmark.PathBadge+slug, e.baseURL+site.PathVerify+slug)
	body, kind, err := embedAs(&embed, get("format"), string(ctx.Request.Header.Peek("Accept")))
	if err != nil {
		e.fail(ctx, err)
		return
	}
	h := &ctx.Response.Header
	for i := 0; i < len(badgeFields); i += 2 {
		h.Set(badgeFields[i], badgeFields[i+1])
	}
	if strings.HasPrefix(kind, "text/html") {
		// A browser that opens this URL directly shows the badge.
		h.Set("Content-Security-Policy",
			"default-src 'none'; img-src 'self'; sandbox allow-top-navigation-by-user-activation")
	}
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", fmt.Sprintf("public, max-age=%d", badgeSeconds))
	h.Set("Vary", "Accept")
	setKeys(h, fieldmark.TagBrand(fieldmark.Slug(slug)), fieldmark.TagModule)
	sendOnce(ctx, http.StatusOK, body)
}

// embedAs encodes an embed in the given format, or else as Accept requests. A snippet requested by
// format is sent as plain text to copy; so is HTML that a browser would render.
func embedAs(embed *badge.Embed, format, accept string) (body []byte, kind string, err error) {
	if format == "" {
		format = acceptedFormat(embed, accept)
		if s, ok := embed.Snippet(format); ok {
			return []byte(s.Text + "\n"), s.Type + "; charset=utf-8", nil
		}
	}
	if s, ok := embed.Snippet(format); ok {
		return []byte(s.Text + "\n"), "text/plain; charset=utf-8", nil
	}
	if format != "json" {
		return nil, "", fieldmark.Errorf(fieldmark.CodeInvalidParameter, "unknown format; known are %s", embedFormats)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false) // the snippets are there to be read
	enc.SetIndent("", "  ")
	if err := enc.Encode(embed); err != nil {
		return nil, "", fmt.Errorf("encode the snippets: %w", err)
	}
	return out.Bytes(), "application/json", nil
}

// acceptedFormat returns the first supported format of an Accept list, or JSON if it has none. A
// type of weight 0 is not acceptable (RFC 9110, section 12.4.2); other weights are ignored.
func acceptedFormat(embed *badge.Embed, accept string) string {
	for item := range strings.SplitSeq(accept, ",") {
		kind, params, _ := mime.ParseMediaType(item) // without parameters if they are malformed
		if weight, err := strconv.ParseFloat(cmp.Or(params["q"], "1"), 64); err != nil || weight == 0 {
			continue
		}
		for _, s := range embed.Snippets {
			if s.Type == kind {
				return s.Format
			}
		}
		if kind == "application/json" {
			break
		}
	}
	return "json"
}
