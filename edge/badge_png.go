package edge

import (
	"context"
	"sync"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/badge"
)

// Limits of PNGs that are not in the cache. A badge takes 1 to 5 ms to draw, a thousand
// times as long as an SVG, and a share card 50 ms. One is drawn at a time, so that they
// keep one core busy and not all.
const (
	// maxPNGs bounds the requests in progress: the last of them waits for a third of a
	// second. One client network may have a quarter of them; a browser loads six pictures
	// of a host at a time.
	maxPNGs = 64
	// maxErrorPNGs bounds the cached pictures of errors, at about 4 KB each. Beyond it, an
	// error is shown as an SVG.
	maxErrorPNGs = 1024
)

// pngRenderer draws PNGs and bounds what that costs.
type pngRenderer struct {
	slot    chan struct{} // has room for one
	waiting *slots        // requests that are being answered

	mu     sync.Mutex
	errors map[errorPNG][]byte
}

// errorPNG is all that the picture of an error depends on.
type errorPNG struct {
	status  int // of the words: 400, 404 or 503
	options badge.Options
	scale   int
}

func newPNGs() *pngRenderer {
	return &pngRenderer{slot: make(chan struct{}, 1), waiting: newSlots(maxPNGs, maxPNGs),
		errors: map[errorPNG][]byte{}}
}

// render draws a picture when it is its turn. It returns CodeOverloaded if ctx ends
// before.
func (p *pngRenderer) render(ctx context.Context, picture func() ([]byte, error)) ([]byte, error) {
	select {
	case p.slot <- struct{}{}:
		defer func() { <-p.slot }()
		return picture()
	case <-ctx.Done():
		return nil, errOverloaded()
	}
}

// error returns the picture of an error, which is drawn once and cached, or nil if the
// cache of error pictures is full. Labels are ignored, because there are too many of them
// to cache.
func (p *pngRenderer) error(ctx context.Context, fe *fieldmark.Error, r *badgeRequest) ([]byte, error) {
	key := errorPNG{status: fe.Code.Status(), scale: r.scale,
		options: badge.Options{Style: r.options.Style, Theme: r.options.Theme, Lang: r.options.Lang}}
	if key.status != fasthttp.StatusNotFound && key.status != fasthttp.StatusBadRequest {
		key.status = fasthttp.StatusServiceUnavailable
	}
	find := func() (body []byte, decided bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		body, ok := p.errors[key]
		return body, ok || len(p.errors) >= maxErrorPNGs
	}
	if body, decided := find(); decided {
		return body, nil
	}
	return p.render(ctx, func() ([]byte, error) {
		if body, decided := find(); decided { // while this one waited
			return body, nil
		}
		body, err := badge.ErrorPNG(fe, key.options, key.scale)
		if err != nil {
			return nil, err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.errors[key] = body
		return body, nil
	})
}

// servePNG answers a request for a PNG. What is not in the cache counts as a
// request to an API.
func (e *badgeEndpoints) servePNG(ctx *fasthttp.RequestCtx, r *badgeRequest) {
	if r.options.Label == "" {
		if entry, state := e.cache.Get(r.key()); state == cache.Fresh {
			e.sendBadge(ctx, entry, cache.SourceHit, r)
			return
		}
	}
	e.serveDrawn(ctx, func(ctx *fasthttp.RequestCtx, err error) { e.failBadge(ctx, r, err) },
		func() { e.serveBadgeEntry(ctx, r) })
}

// serveDrawn calls serve, which draws a PNG, if the client may have one drawn now.
func (e *badgeEndpoints) serveDrawn(ctx *fasthttp.RequestCtx, fail func(*fasthttp.RequestCtx, error), serve func()) {
	next := func(ctx *fasthttp.RequestCtx) route {
		release, ok := e.renderers.png.waiting.acquire(e.clients.network(e.clients.addr(ctx)))
		if !ok {
			e.meters.shed.Inc()
			fail(ctx, errOverloaded())
			return routeBadge
		}
		defer release()
		serve()
		return routeBadge
	}
	if e.limiter.limit(ctx, next) == routeRefused {
		fail(ctx, fieldmark.Errorf(fieldmark.CodeRateLimited,
			"too many pictures were requested; Retry-After says when to try again"))
	}
}
