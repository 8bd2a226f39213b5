package edge

import (
	"encoding/json"
	"net/http"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
)

// serveMethodology answers GET /api/v1/methodology: what the module in force
// says of itself, every weight, input and gate.
func (e *Edge) serveMethodology(ctx *fasthttp.RequestCtx) {
	m, release, err := e.modules.active.Acquire()
	if err != nil {
		e.fail(ctx, errNoModule)
		return
	}
	defer release()
	body, err := json.Marshal(struct {
		Methodology fieldmark.Methodology `json:"methodology"`
		Module      fieldmark.ModuleRef   `json:"module"`
		Manifest    any                   `json:"manifest"`
	}{m.Methodology(), m.Ref(), m.Manifest()})
	if err != nil {
		e.fail(ctx, err)
		return
	}
	etag := `"` + string(m.Ref().Digest) + `"`
	h := &ctx.Response.Header
	h.SetContentType("application/json")
	h.Set("Cache-Control", boardCacheControl)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Etag", etag)
	if matches(ctx.Request.Header.PeekBytes(headerIfNoneMatch), []byte(etag)) {
		ctx.SetStatusCode(http.StatusNotModified)
		return
	}
	ctx.Response.SetBody(append(body, '\n'))
	ctx.Response.SkipBody = ctx.IsHead()
}

// seeMethodology answers GET /methodology, the address scores give.
func (e *Edge) seeMethodology(ctx *fasthttp.RequestCtx) {
	ctx.Response.Header.Set("Location", fieldmark.PathMethodology)
	ctx.Response.Header.Set("Cache-Control", boardCacheControl)
	ctx.SetStatusCode(http.StatusSeeOther)
}
