package edge

import (
	"context"
	_ "embed" // the reasons are part of the binary
	"encoding/json"
	"fmt"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/site"
)

//go:embed method.json
var reasonsFile []byte

// pathMethodPage is the address scores give for their method.
const pathMethodPage = "/methodology"

// method is everything by which this node scores.
func (e *Edge) method() (*fieldmark.Method, error) {
	m, release, err := e.modules.active.Acquire()
	if err != nil {
		return nil, errNoModule
	}
	defer release()
	doc := &fieldmark.Method{Methodology: m.Methodology(), Module: m.Ref(), Manifest: m.Manifest(), Rules: fieldmark.Rules()}
	var reasons fieldmark.MethodReasons
	if err := json.Unmarshal(reasonsFile, &reasons); err != nil {
		return nil, fmt.Errorf("BUG: read the reasons of the method: %w", err)
	}
	if reasons.ID == doc.Methodology.ID && reasons.Version == doc.Methodology.Version {
		doc.Reasons = &reasons
	}
	return doc, nil
}

// serveMethodology answers GET /api/v1/methodology: every number, and what it
// rests on.
func (e *Edge) serveMethodology(ctx *fasthttp.RequestCtx) {
	if err := noParameters(ctx); err != nil {
		e.fail(ctx, err)
		return
	}
	if err := e.requireModule(); err != nil {
		e.fail(ctx, err)
		return
	}
	rc, cancel := e.requestContext(ctx)
	defer cancel()
	entry, from, err := e.cache.Fetch(rc, fieldmark.PathMethodology, func(context.Context) (*cache.Entry, error) {
		known := e.replica.moduleAsOf.Load() // before the module is read
		doc, err := e.method()
		if err != nil {
			return nil, err
		}
		body, err := json.Marshal(doc)
		if err != nil {
			return nil, err
		}
		entry := jsonEntry(append(body, '\n'), boardCacheControl)
		entry.AsOf, entry.Tags = known, []string{string(fieldmark.TagModule)}
		entry.Fresh, entry.OnError = derivedFresh, derivedOnError
		return entry, nil
	})
	if err != nil {
		e.fail(ctx, err)
		return
	}
	e.send(ctx, entry, from)
}

// serveMethodologyPage answers GET /methodology: the same for people.
func (e *Edge) serveMethodologyPage(ctx *fasthttp.RequestCtx) {
	if err := e.requireModule(); err != nil {
		e.failPage(ctx, err, "")
		return
	}
	e.servePage(ctx, "page"+pathMethodPage, "", func(context.Context) (*cache.Entry, error) {
		known := e.replica.moduleAsOf.Load()
		doc, err := e.method()
		if err != nil {
			return nil, err
		}
		manifest, err := json.Marshal(doc.Manifest)
		if err != nil {
			return nil, err
		}
		body, err := e.site.AppendMethod(nil, site.MethodPage{BaseURL: e.cfg.BaseURL, Method: *doc, Manifest: manifest})
		if err != nil {
			return nil, err
		}
		page := newPageEntry(body)
		page.AsOf, page.Tags = known, []string{string(fieldmark.TagModule)}
		return page, nil
	})
}
