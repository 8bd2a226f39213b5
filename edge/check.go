package edge

import (
	"context"
	"net/http"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/site"
	"github.com/fieldmark/fieldmark/origin/client"
)

// checkEndpoints serve the pages that request a check of a site and show what it found.
// Nothing of them is cached.
type checkEndpoints struct {
	*pageWriter
	clients clients
	limits  *rateLimiter
	origin  *client.Client
}

// serveForm handles /check: GET shows the form, POST requests a check and leads to its page.
// A form of another site gains nothing: there is no session, and a check needs no right.
func (e *checkEndpoints) serveForm(ctx *fasthttp.RequestCtx) route {
	if !ctx.IsPost() {
		return e.get(ctx, routePage, func(ctx *fasthttp.RequestCtx) {
			e.send(ctx, http.StatusOK, site.CheckPage{URL: string(ctx.QueryArgs().Peek("url"))})
		})
	}
	if err := readBody(ctx, fieldmark.MaxBody); err != nil {
		e.failPage(ctx, err, "")
		return routePage
	}
	rc, cancel := context.WithTimeout(context.Background(), fillTimeout)
	defer cancel()
	p := site.CheckPage{URL: string(ctx.PostArgs().Peek("url"))}
	check, _, err := e.origin.RequestCheckFor(rc, e.clients.addr(ctx).String(),
		fieldmark.SiteCheckRequest{URL: site.SiteAddress(p.URL)})
	if err == nil {
		ctx.Response.Header.Set("Location", fieldmark.PathCheckPage+"/"+check.ID)
		ctx.Response.Header.Set("Cache-Control", "no-store")
		ctx.SetStatusCode(http.StatusSeeOther)
		return routePage
	}
	fe := publicError(err)
	p.Problem = fe.Detail
	if len(fe.Fields) > 0 {
		p.Problem = "The address " + fe.Fields[0].Detail + "."
	} else if fe.RetryAfter > 0 {
		p.Problem = sentence(fe.Detail) + " " + site.RetryText(fe.RetryAfter)
	}
	e.send(ctx, fe.Code.Status(), p)
	setRetryAfter(ctx, fe.Code.Status(), fe.RetryAfter)
	return routePage
}

// sentence begins with a capital letter and ends with a full stop.
func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + strings.TrimSuffix(s[1:], ".") + "."
}

// serveCheck handles GET /check/{id}.
func (e *checkEndpoints) serveCheck(ctx *fasthttp.RequestCtx) {
	id := strings.TrimPrefix(string(ctx.Path()), fieldmark.PathCheckPage+"/")
	rc, cancel := context.WithTimeout(context.Background(), fillTimeout)
	defer cancel()
	err := e.limits.checkQuota(rc, fieldmark.PathCheckPage, e.clients.network(e.clients.addr(ctx)))
	if err == nil && !fieldmark.CheckID(fieldmark.PrefixCheck, id) {
		err = fieldmark.Errorf(fieldmark.CodeNotFound, "no such check")
	}
	if err != nil {
		e.failPage(ctx, err, "")
		return
	}
	check, err := e.origin.Check(rc, id, 0)
	if fieldmark.IsCode(err, fieldmark.CodeCheckExpired) {
		e.send(ctx, http.StatusGone, site.CheckPage{
			Problem: "That check is deleted: it is kept for a day. Enter the address to check the site again."})
		return
	}
	if err != nil {
		e.failPage(ctx, err, "")
		return
	}
	e.send(ctx, http.StatusOK, site.CheckPage{Check: &check})
}

func (e *checkEndpoints) send(ctx *fasthttp.RequestCtx, status int, p site.CheckPage) {
	p.BaseURL = e.baseURL
	body, err := e.site.AppendCheck(nil, p)
	e.sendPage(ctx, status, body, err)
	h := &ctx.Response.Header
	h.Set("Cache-Control", "no-store")
	if p.Check != nil {
		h.Set("X-Robots-Tag", "noindex")
	}
}
