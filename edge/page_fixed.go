package edge

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/badge"
	"github.com/fieldmark/fieldmark/edge/site"
)

// fixedEntry keeps a page that follows from the program and a module alone.
func fixedEntry(body []byte, err error) (*cache.Entry, error) {
	if err != nil {
		return nil, err
	}
	return newPageEntry(body), nil
}

// serveAbout answers GET /about.
func (e *Edge) serveAbout(ctx *fasthttp.RequestCtx) {
	e.servePage(ctx, "page/about", "", func(context.Context) (*cache.Entry, error) {
		return fixedEntry(e.site.AppendAbout(nil, e.cfg.BaseURL))
	})
}

// sendPage answers a page made for one request: what it shows depends on what
// somebody typed, so it is not kept.
func (e *Edge) sendPage(ctx *fasthttp.RequestCtx, status int, body []byte, err error) {
	if err != nil {
		e.failPage(ctx, err, "")
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

// serveBadges answers GET /badges: the builder, with a badge once one is named.
func (e *Edge) serveBadges(ctx *fasthttp.RequestCtx) {
	get := func(name string) string { return string(ctx.QueryArgs().Peek(name)) }
	p := site.BadgesPage{
		BaseURL: e.cfg.BaseURL, Styles: badge.Styles(), Themes: badge.Themes(), Langs: badge.Languages(), Asked: ctx.QueryArgs().Len() > 0,
		Slug: get("slug"), Style: get("style"), Theme: get("theme"), Lang: get("lang"), Label: get("label"), Animate: get("animate") == "1",
	}
	status := http.StatusOK
	if p.Slug != "" {
		embed, err := e.embedFor(p.Slug, get)
		if fe := publicError(err); err != nil {
			status, p.Problem = fe.Code.Status(), fe.Detail
			if fe.Code == fieldmark.CodeNotFound {
				p.Problem = "No brand is registered under this name, or it is not public."
			}
		} else {
			p.Badge = embed
		}
	}
	body, err := e.site.AppendBadges(nil, p)
	e.sendPage(ctx, status, body, err)
}

// embedFor returns how to show a brand's badge.
func (e *Edge) embedFor(slug string, get func(string) string) (*site.Badge, error) {
	if !fieldmark.ValidSlug(slug) {
		return nil, noBrand()
	}
	look, err := badge.ParseLook(get)
	if err != nil {
		return nil, err
	}
	rc, cancel := context.WithTimeout(context.Background(), fillTimeout)
	defer cancel()
	entry, _, err := e.score(rc, fieldmark.Slug(slug))
	if err != nil {
		return nil, err
	}
	return e.embedOf(&entry.Value.(*scoreValue).score, look), nil
}

// embedOf returns how to show a badge, in the given formats or in all.
func (e *Edge) embedOf(score *fieldmark.Score, look badge.Look, formats ...string) *site.Badge {
	address := string(score.Slug)
	embed := badge.EmbedOf(badge.Of(score), look, e.cfg.BaseURL+fieldmark.PathBadge+address, e.cfg.BaseURL+fieldmark.PathBrandPage+address)
	b := &site.Badge{Image: fieldmark.PathBadge + address + look.Query(), Alt: embed.Alt, Lang: badge.Languages()[look.Lang],
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
	"html": "HTML", "picture": "HTML that follows the theme of the page’s reader", "markdown": "Markdown", "rst": "reStructuredText",
	"asciidoc": "AsciiDoc", "bbcode": "BBCode", "react": "React",
}

// withoutReference is how long a page lasts that lacks what the origin could not
// be asked for just then.
const withoutReference = 30 * time.Second

// serveDevelopers answers GET /developers. The reference is made of the origin's
// own document; without it the page is there all the same.
func (e *Edge) serveDevelopers(ctx *fasthttp.RequestCtx) {
	e.servePage(ctx, "page/developers/"+strconv.Quote(e.edition.now()), "", func(fc context.Context) (*cache.Entry, error) {
		p := site.DevelopersPage{BaseURL: e.cfg.BaseURL}
		raw, err := e.openAPI(fc)
		if err == nil {
			p.Version, p.Groups, err = site.ParseReference(raw)
		}
		if err != nil {
			e.log.Warn("the page for developers has no reference", "err", err)
		}
		entry, rerr := fixedEntry(e.site.AppendDevelopers(nil, p))
		if rerr == nil && err != nil {
			entry.Fresh = withoutReference
		}
		return entry, rerr
	})
}

// openAPI reads the origin's description of itself.
func (e *Edge) openAPI(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, referenceTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.cfg.OriginURL.JoinPath("/api/openapi.json").String(), nil)
	if err != nil {
		return nil, fmt.Errorf("ask the origin: %w", err)
	}
	e.identify(req.Header, "")
	resp, err := e.origin.RoundTrip(req)
	if err != nil {
		return nil, passError(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, passError(err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the OpenAPI document: status %d", resp.StatusCode)
	}
	return body, nil
}
