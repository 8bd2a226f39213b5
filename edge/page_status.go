package edge

import (
	"net/http"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/site"
)

// serveStatus answers GET /status: what this node knows and by what it ranks. It
// is never kept, and says nothing that an operator would rather not.
func (e *Edge) serveStatus(ctx *fasthttp.RequestCtx) {
	p := site.StatusPage{
		BaseURL: e.cfg.BaseURL, Node: e.id, InStep: e.follow.connected.Load(), Event: e.follow.cursor.Load(), Now: fieldmark.At(time.Now()),
	}
	if s := e.rankings.Current(); s != nil {
		p.Ranked, p.Pending, p.Unreachable = s.RankedCount(), s.Pending, s.Unreachable
		p.AsOf, p.Snapshot, p.Methodology, p.Module = s.AsOf, s.ID, s.Method.Methodology, s.Method.Module
	}
	body, err := e.site.AppendStatus(nil, p)
	e.sendPage(ctx, http.StatusOK, body, err)
	if err == nil {
		ctx.Response.Header.Set("Cache-Control", "no-store")
	}
}
