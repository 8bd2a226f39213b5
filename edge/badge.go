package edge

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/badge"
)

const svgType = "image/svg+xml; charset=utf-8"

// badgeFields go out with every badge. A badge is shown by strangers' pages:
// it may be embedded anywhere (CORP, CORS), runs nothing when opened alone
// (CSP), and is refreshed after five minutes.
var badgeFields = []string{
	"Content-Type", svgType,
	"Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox",
	"X-Content-Type-Options", "nosniff",
	"Cross-Origin-Resource-Policy", "cross-origin",
	"Access-Control-Allow-Origin", "*",
	"Timing-Allow-Origin", "*",
}

const (
	badgeCacheControl = "public, max-age=300, s-maxage=300, stale-while-revalidate=86400, stale-if-error=604800"
	// badgeErrorControl is short: a badge that is wrong must heal soon, and
	// without any Cache-Control image proxies keep it for a year.
	badgeErrorControl = "public, max-age=60"
)

var svgSuffix = []byte(".svg")

// serveBadge answers GET /api/badge/{slug} and {slug}.svg. The plain address is
// itself the cache key, so a hit is one look-up and nothing is built.
func (e *Edge) serveBadge(ctx *fasthttp.RequestCtx) {
	path := ctx.Path()
	if len(ctx.URI().QueryString()) == 0 {
		if entry, state := e.cache.Get(text(path)); state == cache.Fresh {
			e.send(ctx, entry, cache.SourceHit)
			return
		}
	}
	slug := string(bytes.TrimSuffix(path[len(fieldmark.PathBadge):], svgSuffix))
	if !fieldmark.ValidSlug(slug) {
		e.badgeNotFound(ctx)
		return
	}
	theme, ok := badge.ParseTheme(string(ctx.QueryArgs().Peek("theme")))
	if !ok {
		e.badgeError(ctx, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "unknown theme; known are auto, light and dark"), badge.Auto)
		return
	}
	rc, cancel := requestContext()
	defer cancel()
	entry, from, err := e.cache.Fetch(rc, badgeKey(fieldmark.Slug(slug), theme), e.badgeFill(fieldmark.Slug(slug), theme))
	switch {
	case err == nil:
		e.send(ctx, entry, from)
	case fieldmark.IsCode(err, fieldmark.CodeNotFound):
		e.badgeNotFound(ctx)
	default:
		e.badgeError(ctx, fieldmark.AsError(err), theme)
	}
}

// themeQuery is what a theme adds to a badge's own address.
var themeQuery = [...]string{badge.Auto: "", badge.Light: "?theme=light", badge.Dark: "?theme=dark"}

// badgeKey is the badge's own address, without what does not change it.
func badgeKey(slug fieldmark.Slug, theme badge.Theme) string {
	return fieldmark.PathBadge + string(slug) + themeQuery[theme]
}

func (e *Edge) badgeFill(slug fieldmark.Slug, theme badge.Theme) cache.Fill {
	return func(ctx context.Context) (*cache.Entry, error) { return e.fillBadge(ctx, slug, theme) }
}

// fillBadge draws a badge from the score it shares with the other forms.
func (e *Edge) fillBadge(ctx context.Context, slug fieldmark.Slug, theme badge.Theme) (*cache.Entry, error) {
	entry, _, err := e.score(ctx, slug)
	if err != nil {
		return nil, err
	}
	score := &entry.Value.(*scoreValue).score
	body := badge.AppendSVG(make([]byte, 0, 1024), badge.Of(score), theme)
	sum := sha256.Sum256(body)
	fields := append([]string{
		"Cache-Control", badgeCacheControl,
		"Link", "<" + e.cfg.BaseURL + fieldmark.PathBrandPage + string(slug) + `>; rel="describedby"`,
	}, badgeFields...)
	if score.AsOf != nil {
		fields = append(fields, "Last-Modified", score.AsOf.Std().Format(http.TimeFormat))
	}
	drawn := &cache.Entry{
		Body: body, Status: http.StatusOK, Value: newHead(`"`+hex.EncodeToString(sum[:12])+`"`, fields...),
		Fresh: derivedFresh, Stale: derivedStale, OnError: derivedOnError,
	}
	return drawn.From(entry), nil
}

// badgeNotFound answers 404 with a picture: browsers show it all the same.
func (e *Edge) badgeNotFound(ctx *fasthttp.RequestCtx) {
	ctx.Response.Header.Set("X-Badge-Status", "unknown")
	e.sendBadgeError(ctx, http.StatusNotFound, badge.AppendSVG(nil, badge.Badge{State: badge.Unknown}, badge.Auto))
}

// badgeError says in the picture what is wrong.
func (e *Edge) badgeError(ctx *fasthttp.RequestCtx, fe *fieldmark.Error, theme badge.Theme) {
	status := fe.Code.Status()
	if fe.Code == fieldmark.CodeInternal {
		e.log.Error("badge failed", "path", string(ctx.Path()), "err", fe)
	}
	if status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout {
		ctx.Response.Header.Set("Retry-After", strconv.Itoa(int(retryAfter.Seconds())))
	}
	e.sendBadgeError(ctx, status, badge.AppendError(nil, fe, theme))
}

func (e *Edge) sendBadgeError(ctx *fasthttp.RequestCtx, status int, body []byte) {
	for i := 0; i < len(badgeFields); i += 2 {
		ctx.Response.Header.Set(badgeFields[i], badgeFields[i+1])
	}
	ctx.Response.Header.Set("Cache-Control", badgeErrorControl)
	ctx.SetStatusCode(status)
	ctx.Response.SetBody(body)
	ctx.Response.SkipBody = ctx.IsHead()
}
