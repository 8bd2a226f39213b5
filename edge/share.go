package edge

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/valyala/fasthttp"
	"golang.org/x/net/idna"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/badge"
	"github.com/fieldmark/fieldmark/edge/ranking"
	"github.com/fieldmark/fieldmark/edge/site"
)

// Pictures for link previews: share cards of brands, and oEmbed.

// The suffix is part of the path, because some services guess the type of a picture by it.
const (
	pathCard   = site.PathCard
	cardSuffix = ".png"
)

// cardRequest is a parsed request for a share card.
type cardRequest struct {
	slug  fieldmark.Slug
	theme badge.Theme
	width int
}

// key is the address of the card, without what does not change it.
// Two addresses of one card share an entry.
func (r *cardRequest) key() string {
	query := url.Values{}
	if r.theme == badge.Dark {
		query.Set("theme", "dark")
	}
	if r.width != badge.ShareWidth {
		query.Set("width", strconv.Itoa(r.width))
	}
	key := pathCard + string(r.slug) + cardSuffix
	if len(query) > 0 {
		key += "?" + query.Encode()
	}
	return key
}

// parseCard reads the path and the query. Only known values are accepted, so the number of
// pictures of a brand is small.
func parseCard(ctx *fasthttp.RequestCtx) (cardRequest, error) {
	r := cardRequest{theme: badge.Light, width: badge.ShareWidth}
	slug, ok := strings.CutSuffix(string(ctx.Path()[len(pathCard):]), cardSuffix)
	if !ok || !fieldmark.ValidSlug(slug) {
		return r, brandNotFound()
	}
	r.slug = fieldmark.Slug(slug)
	switch theme := string(ctx.QueryArgs().Peek("theme")); theme {
	case "", "light":
	case "dark":
		r.theme = badge.Dark
	default:
		return r, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "unknown theme; known are light, dark")
	}
	if value := string(ctx.QueryArgs().Peek("width")); value != "" {
		r.width = 0
		for _, width := range badge.ShareWidths {
			if value == strconv.Itoa(width) {
				r.width = width
			}
		}
		if r.width == 0 {
			return r, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "unknown width; known are 1200, 600, 300")
		}
	}
	return r, nil
}

// serveCard handles GET /api/card/{slug}.png: the picture for previews of links to a brand.
func (e *badgeEndpoints) serveCard(ctx *fasthttp.RequestCtx) {
	r, err := parseCard(ctx)
	if err != nil {
		e.fail(ctx, err)
		return
	}
	// A hit costs nothing, so it is not counted as a picture that is drawn.
	send := func(ctx *fasthttp.RequestCtx, entry *cache.Entry, from cache.Source) {
		e.send(ctx, entry, from)
		e.setLifetime(ctx, entry, from, r.key)
	}
	if entry, state := e.cache.Get(r.key()); state == cache.Fresh {
		send(ctx, entry, cache.SourceHit)
		return
	}
	fail := func(ctx *fasthttp.RequestCtx, err error) { e.failBrand(ctx, err, pathCard, cardSuffix) }
	// serveDrawn limits the pictures that one network causes: each takes milliseconds of a
	// processor.
	e.serveDrawn(ctx, fail, func() {
		entry, from, err := e.fetcher.get(ctx, r.key(), func(ctx context.Context) (*cache.Entry, error) {
			return e.fillCard(ctx, &r)
		})
		if err != nil {
			fail(ctx, err)
			return
		}
		send(ctx, entry, from)
	})
}

// fillCard draws the card of the score that the badge shows.
func (e *badgeEndpoints) fillCard(ctx context.Context, r *cardRequest) (*cache.Entry, error) {
	if err := e.scorer.modules.require(); err != nil {
		return nil, err
	}
	score, entry, err := e.badgeScore(ctx, r.slug)
	if err != nil {
		return nil, err
	}
	// render bounds the pictures that are drawn at once.
	body, err := e.renderers.png.render(ctx, func() ([]byte, error) { return badge.SharePNG(score, r.theme, r.width) })
	if err != nil {
		return nil, err
	}
	drawn := newEntry(body, etagOf(body), append([]string{
		"Content-Type", "image/png",
		"Cache-Control", badgeCacheControl,
		"Link", "<" + e.baseURL + fieldmark.PathBrandPage + string(r.slug) + `>; rel="describedby"`,
	}, badgeFields...)...)
	// The picture is no fresher than its score.
	drawn.Fresh, drawn.OnError = min(derivedFresh, entry.Fresh), derivedOnError
	return drawn.From(entry), nil
}

// oEmbed is the response of an oEmbed provider (oembed.com, 2.3.4.1) about a brand: its
// share card as a photo.
type oEmbed struct {
	Version         string `json:"version"` // of oEmbed: "1.0"
	Type            string `json:"type"`
	Title           string `json:"title"`
	AuthorName      string `json:"author_name"`
	AuthorURL       string `json:"author_url"`
	ProviderName    string `json:"provider_name"`
	ProviderURL     string `json:"provider_url"`
	CacheAge        int    `json:"cache_age"` // seconds
	URL             string `json:"url"`
	Width           int    `json:"width"`
	Height          int    `json:"height"`
	ThumbnailURL    string `json:"thumbnail_url"`
	ThumbnailWidth  int    `json:"thumbnail_width"`
	ThumbnailHeight int    `json:"thumbnail_height"`
}

// serveOEmbed handles GET /oembed?url=: the largest share card of a brand's page that fits
// the bounds.
// The consumer may request any page of this site; only pages of brands have a card.
func (e *badgeEndpoints) serveOEmbed(ctx *fasthttp.RequestCtx) {
	get := func(name string) string { return string(ctx.QueryArgs().Peek(name)) }
	// XML is optional in oEmbed, and its error status is fixed.
	if format := get("format"); format != "" && format != "json" {
		e.failFormat(ctx)
		return
	}
	maxWidth, err := bound("maxwidth", get("maxwidth"))
	if err != nil {
		e.fail(ctx, err)
		return
	}
	maxHeight, err := bound("maxheight", get("maxheight"))
	if err != nil {
		e.fail(ctx, err)
		return
	}
	slug, ok := e.brandOf(get("url"))
	if !ok {
		e.fail(ctx, fieldmark.Errorf(fieldmark.CodeNotFound, "url is not the page of a brand of this site"))
		return
	}
	// The widths are in descending order.
	for _, width := range badge.ShareWidths {
		if width <= maxWidth && badge.ShareHeightOf(width) <= maxHeight {
			e.sendOEmbed(ctx, slug, width)
			return
		}
	}
	e.fail(ctx, fieldmark.Errorf(fieldmark.CodeNotFound, "no picture of this brand fits within maxwidth and maxheight"))
}

// sendOEmbed answers for a brand. It is not cached: the score is, and encoding it takes
// microseconds.
func (e *badgeEndpoints) sendOEmbed(ctx *fasthttp.RequestCtx, slug fieldmark.Slug, width int) {
	rc, cancel := e.fetcher.context(ctx)
	defer cancel()
	score, _, err := e.badgeScore(rc, slug)
	if err != nil {
		// an old address is not redirected: the consumer requests the page itself first
		e.fail(ctx, asMissing(err))
		return
	}
	card := func(width int) string {
		r := cardRequest{slug: score.Slug, theme: badge.Light, width: width}
		return e.baseURL + r.key()
	}
	// The smallest card is the thumbnail.
	least := badge.ShareWidths[len(badge.ShareWidths)-1]
	body, err := json.Marshal(oEmbed{Version: "1.0", Type: "photo",
		Title:      site.ShareText(score),
		AuthorName: score.Name, AuthorURL: e.baseURL + fieldmark.PathBrandPage + string(score.Slug),
		ProviderName: "Fieldmark", ProviderURL: e.baseURL + "/", CacheAge: badgeSeconds,
		URL: card(width), Width: width, Height: badge.ShareHeightOf(width),
		ThumbnailURL: card(least), ThumbnailWidth: least, ThumbnailHeight: badge.ShareHeightOf(least)})
	if err != nil {
		e.fail(ctx, err)
		return
	}
	h := &ctx.Response.Header
	for i := 0; i < len(badgeFields); i += 2 {
		h.Set(badgeFields[i], badgeFields[i+1])
	}
	h.SetContentType("application/json")
	h.Set("Cache-Control", fmt.Sprintf("public, max-age=%d", badgeSeconds))
	setKeys(h, fieldmark.TagBrand(score.Slug), fieldmark.TagModule)
	sendOnce(ctx, http.StatusOK, append(body, '\n'))
}

// asMissing returns the error of a brand that has another address as one that is missing.
func asMissing(err error) error {
	if _, ok := err.(redirectError); ok {
		return brandNotFound()
	}
	return err
}

// failFormat answers a request for a format other than JSON with 501, as oEmbed demands.
// The status is that of the specification (2.3.4), the body a problem document as for every
// other error.
func (e *badgeEndpoints) failFormat(ctx *fasthttp.RequestCtx) {
	fe := fieldmark.Errorf(fieldmark.CodeNotAcceptable, "format is not supported; use json")
	p := fe.Problem(e.baseURL, requestID(ctx))
	p.Status = http.StatusNotImplemented
	body, err := json.Marshal(p)
	if err != nil {
		e.fail(ctx, err)
		return
	}
	e.fail(ctx, fe)
	ctx.SetStatusCode(http.StatusNotImplemented)
	ctx.Response.SetBody(body)
}

// bound parses a bound of oEmbed in pixels; an empty value is no bound.
// No bound is the bound of the largest card.
func bound(name, value string) (int, error) {
	if value == "" {
		return badge.ShareWidth, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return 0, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "%s is a number of pixels", name)
	}
	return n, nil
}

// brandOf returns the slug of a page of this site about a brand.
// The address is compared with the base URL of this site, so cards are not offered for pages of
// others.
func (e *badgeEndpoints) brandOf(address string) (fieldmark.Slug, bool) {
	u, err := url.Parse(address)
	if err != nil {
		return "", false
	}
	u.RawQuery, u.Fragment = "", ""
	for _, prefix := range []string{fieldmark.PathBrandPage, site.PathVerify} {
		if slug, ok := strings.CutPrefix(u.String(), e.baseURL+prefix); ok && fieldmark.ValidSlug(slug) {
			return fieldmark.Slug(slug), true
		}
	}
	return "", false
}

// annotations are what a brand is shown with beside its score, which does not depend on them.
type annotations struct {
	claim    *fieldmark.BrandClaim     // verified; nil: the brand is not claimed
	disputes []fieldmark.DisputeStatus // published ones, the newest first; never nil
}

// annotationsKey is the cache key of the annotations of a brand.
func annotationsKey(slug fieldmark.Slug) string { return "annotations/" + string(slug) }

// annotations returns the annotations of a brand and their cache entry. They are cached apart
// from the score: a claim or a dispute changes no score.
func (s *scorer) annotations(ctx context.Context, slug fieldmark.Slug) (annotations, *cache.Entry, error) {
	entry, _, err := s.cache.Fetch(ctx, annotationsKey(slug), func(ctx context.Context) (*cache.Entry, error) {
		state, asOf, err := s.origin.BrandState(ctx, slug)
		if err := asNotFound(slug, &state, err); err != nil {
			return nil, asUnavailable(err)
		}
		a := annotations{disputes: append([]fieldmark.DisputeStatus{}, state.Disputes...)}
		if state.Claim != nil && state.Claim.Verified {
			a.claim = state.Claim
		}
		return &cache.Entry{Value: a, AsOf: asOf, Status: http.StatusOK,
			Weight: int64(len(appendJSON(nil, a.disputes))), // about what they take in memory
			// No module changes them, but pages and badges are made from them and a score: see cache.Entry.From.
			Tags:  scoreTags(slug),
			Fresh: derivedFresh, OnError: derivedOnError}, nil
	})
	if err != nil {
		return annotations{}, nil, err
	}
	return entry.Value.(annotations), entry, nil
}

// serveVerify handles GET /verify/{slug}, to which badges lead: what the badge claims, and
// whether the page that showed it is the brand's own. The page depends on the Referer of
// one request, which is neither stored nor logged nor sent on, so no cache may keep it.
// A badge that was copied to another site thus shows that it is not its own.
func (e *siteEndpoints) serveVerify(ctx *fasthttp.RequestCtx) {
	e.writeVerify(ctx, strings.TrimPrefix(string(ctx.Path()), site.PathVerify))
	ctx.Response.Header.Set("Cache-Control", "no-store")
	ctx.Response.Header.Del("Surrogate-Key") // of a redirect
	ctx.Response.Header.Del("Cache-Tag")
	ctx.Response.Header.Set("Referrer-Policy", "no-referrer")
}

// writeVerify writes the page or an error page.
func (e *siteEndpoints) writeVerify(ctx *fasthttp.RequestCtx, slug string) {
	if !fieldmark.ValidSlug(slug) {
		e.failPage(ctx, brandNotFound(), slug)
		return
	}
	rc, cancel := e.fetcher.context(ctx)
	defer cancel()
	entry, _, err := e.scorer.get(rc, fieldmark.Slug(slug))
	if err != nil {
		if !redirect(ctx, err, site.PathVerify, "") {
			e.failPage(ctx, err, slug)
		}
		return
	}
	// The page is made for each request; what it needs is cached.
	p := site.VerifyPage{BaseURL: e.baseURL, Score: entry.Value.(*scoreValue).score}
	// Without the claim the page still shows the score and compares the brand's own address.
	a, _, err := e.scorer.annotations(rc, fieldmark.Slug(slug))
	if err != nil {
		e.log.Warn("a page that verifies a badge lacks the claim", "slug", slug, "err", err)
	}
	p.Claim = a.claim
	p.Host = refererHost(string(ctx.Request.Header.Referer()), e.baseURL)
	p.Own = p.Host != "" && ownHost(p.Host, p.Score.URL, p.Claim)
	body, err := e.site.AppendVerify(nil, p)
	e.sendPage(ctx, http.StatusOK, body, err)
}

// refererHost returns the host of the page that a request came from, in its ASCII form. It
// is empty if the browser does not send it, or if it is this site's.
// It is all that is read of the Referer.
func refererHost(referer, baseURL string) string {
	host := hostOf(referer)
	if host == hostOf(baseURL) {
		return ""
	}
	return host
}

// hostOf returns the host of a web address in its ASCII form, or an empty string.
// Names are compared in ASCII form, so that a name with other characters that look alike is not
// taken for another.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	host, err := hostNames.ToASCII(strings.TrimSuffix(u.Hostname(), "."))
	if err != nil {
		return ""
	}
	return host
}

// hostNames is idna.Lookup with the length of labels checked, and with the hyphens that
// content networks have in their names.
var hostNames = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(true), idna.VerifyDNSLength(true),
	idna.CheckHyphens(false))

// ownHost reports whether a host belongs to a brand: it is that of its address, with or
// without www, or within the domain that its owner proved to control.
// A proof by a file or an element is about one host; one in the DNS is about the whole domain.
func ownHost(host, address string, claim *fieldmark.BrandClaim) bool {
	if own := hostOf(address); own != "" && strings.TrimPrefix(host, "www.") == strings.TrimPrefix(own, "www.") {
		return true
	}
	if claim == nil || claim.Domain == "" {
		return false
	}
	return host == claim.Domain || claim.Method == fieldmark.ClaimDNS && strings.HasSuffix(host, "."+claim.Domain)
}

// maxFoundBrands is how many brands the badge builder offers: more are narrowed down faster
// by a longer text than by reading.
const maxFoundBrands = 10

// searchBadges handles GET /badges?q=, which looks through every name. It is a separate route,
// because a search costs more than a page.
func (e *siteEndpoints) searchBadges(ctx *fasthttp.RequestCtx) route {
	return e.get(ctx, routePage, e.serveBadges)
}

// serveBadges handles GET /badges: the brand picker, the gallery, and the builder once a
// brand is chosen.
// Errors of the form are shown on the page, which keeps what was entered.
func (e *siteEndpoints) serveBadges(ctx *fasthttp.RequestCtx) {
	get := func(name string) string { return string(ctx.QueryArgs().Peek(name)) }
	p := site.BadgesPage{
		BaseURL: e.baseURL, Styles: badge.Styles(), Themes: badge.Themes(), Langs: badge.Languages(),
		Asked: ctx.QueryArgs().Len() > 0, Search: strings.TrimSpace(get("q")),
		Slug: get("slug"), Style: get("style"), Theme: get("theme"), Lang: get("lang"), Label: get("label"),
		Animate: get("animate") == "1", Claimed: get("claimed") == "1",
	}
	if len(p.Search) > maxSearch || !utf8.ValidString(p.Search) {
		e.failPage(ctx, badParameter("q", "length", "must be text of at most "+strconv.Itoa(maxSearch)+" bytes"), "")
		return
	}
	if p.Search != "" {
		e.findBrands(&p)
		// The gallery and the builder work without a brand, so an error is part of the page.
	}
	status := http.StatusOK
	opts, err := badge.ParseOptions(get)
	if err == nil && p.Slug != "" {
		err = e.addEmbed(&p, opts)
	}
	if fe := publicError(err); err != nil {
		status, p.Problem = fe.Code.Status(), formProblem(fe)
		if fe.Code == fieldmark.CodeNotFound {
			p.Problem = "No brand is registered under this name, or it is not public."
		}
	}
	addGallery(&p, opts)
	body, err := e.site.AppendBadges(nil, p)
	e.sendPage(ctx, status, body, err)
}

// findBrands adds the brands that a search finds. A single one is chosen at once.
// Brands that are not ranked are found as well, after the ranked ones.
func (e *siteEndpoints) findBrands(p *site.BadgesPage) {
	s := e.rankings.Current()
	if s == nil {
		return
	}
	found := s.Search(&ranking.Query{Limit: maxFoundBrands}, p.Search)
	p.FoundAll = found.Board.Total + found.UnrankedTotal
	for _, it := range found.Board.Items {
		p.Found = append(p.Found, site.FoundBrand{Slug: it.Slug, Name: it.Name, Host: s.Row(it.Slug).Host()})
	}
	for _, u := range found.Unranked {
		if len(p.Found) < maxFoundBrands {
			p.Found = append(p.Found, site.FoundBrand{Slug: u.Slug, Name: cmp.Or(u.Name, string(u.Slug)),
				Host: s.Row(u.Slug).Host()})
		}
	}
	if p.FoundAll == 1 && p.Slug == "" {
		p.Slug = string(p.Found[0].Slug)
	}
}

// addEmbed adds the chosen brand and how to show its badge.
// It waits at most fillTimeout, as the request may be the first for the score.
func (e *siteEndpoints) addEmbed(p *site.BadgesPage, opts badge.Options) error {
	slug, err := fieldmark.ParseSlug(p.Slug)
	if err != nil {
		return brandNotFound()
	}
	rc, cancel := context.WithTimeout(context.Background(), fillTimeout)
	defer cancel()
	entry, _, err := e.scorer.get(rc, slug)
	if err != nil {
		return err
	}
	score := &entry.Value.(*scoreValue).score
	p.Brand = &site.FoundBrand{Slug: slug, Name: score.Name, Host: hostOf(score.URL)}
	a, _, err := e.scorer.annotations(rc, slug)
	if err != nil {
		e.log.Warn("the badge builder lacks a claim", "slug", slug, "err", err)
	}
	p.Owned = a.claim != nil
	p.Badge = embedOf(e.baseURL, score, opts, p.Owned)
	return nil
}

// styleNotes describe the styles of badges, in the order of badge.Styles.
var styleNotes = []string{"28 px, the default", "20 px, for rows of badges", "56 px, with grade and month",
	"96 px square, for footers", "20 px, as shields.io", "20 px, as shields.io", "28 px, as shields.io"}

// exampleStates are the states of a badge, for the gallery.
var exampleStates = []struct {
	badge      badge.Badge
	name, text string
}{
	{badge.Badge{State: badge.Ready, Score: 92_000, Grade: "A"}, "GEO-ready",
		"Answer engines can use the site. With the score and its grade."},
	{badge.Badge{State: badge.NotYet, Score: 45_000, Grade: "D"}, "GEO 45, not yet",
		"Some or all answer engines cannot, or it is not known."},
	{badge.Badge{State: badge.Stale, Score: 83_000, Grade: "B"}, "GEO: stale",
		"The last audit is more than 90 days old. With its month."},
	{badge.Badge{State: badge.Pending}, "GEO: pending", "Registered, not audited yet."},
	{badge.Badge{State: badge.Unreachable}, "GEO: unreachable", "The site did not respond to the last audit."},
	{badge.Badge{State: badge.Unrated}, "GEO: not rated", "Too little could be measured, or there is no such brand."},
}

// addGallery adds pictures of every style and every state. Styles show the chosen brand, or
// an example that is in the page itself.
// The examples are data URLs, so the gallery needs no further requests.
func addGallery(p *site.BadgesPage, opts badge.Options) {
	month := badge.MonthOf(time.Now())
	example := exampleStates[0].badge
	example.Name, example.AsOf = "Example", month
	for i, name := range badge.Styles() {
		l := opts
		l.Style, l.Theme, l.Animate = badge.Style(i), badge.Light, false
		dark := l
		dark.Theme = badge.Dark
		// Styles of shields.io look the same in both themes: one picture is enough.
		oneTheme := dataImage(example, l) == dataImage(example, dark)
		b := site.Picture{Name: name, Text: styleNotes[i], Here: p.Brand != nil && opts.Style == l.Style}
		b.Width, b.Height = badge.Size(example, l)
		if p.Brand == nil {
			b.Image, b.Dark = dataImage(example, l), dataImage(example, dark)
		} else {
			slug := string(p.Brand.Slug)
			b.Image = template.URL(fieldmark.PathBadge + slug + l.Query())
			b.Dark = template.URL(fieldmark.PathBadge + slug + dark.Query())
			l.Theme = opts.Theme
			b.Link = site.PathBadges + "?slug=" + slug + strings.Replace(l.Query(), "?", "&", 1)
		}
		if oneTheme {
			b.Dark = ""
		}
		p.Gallery = append(p.Gallery, b)
	}
	for _, s := range exampleStates {
		b := s.badge
		b.Name, b.AsOf = "Example", month
		if b.State == badge.Stale {
			b.AsOf -= 4 // months
		}
		l := badge.Options{Lang: opts.Lang, Theme: badge.Light}
		picture := site.Picture{Name: s.name, Text: s.text, Image: dataImage(b, l)}
		picture.Width, picture.Height = badge.Size(b, l)
		p.States = append(p.States, picture)
	}
}

// dataImage returns a badge as an address that contains it.
// The picture is one of this package and contains no text of a client but the options.
func dataImage(b badge.Badge, opts badge.Options) template.URL {
	return template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(badge.AppendSVG(nil, b, opts)))
}
