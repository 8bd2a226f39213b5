package edge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/wasm"
)

// The lifetimes of what is derived from facts. Events make it exact, so the
// first one only bounds how long a node that lost its log may be behind.
//
// A score is never served while it is being derived again: what is drawn from
// it would be old at birth. Badges and pages may be.
const (
	derivedFresh   = 5 * time.Minute
	derivedStale   = 24 * time.Hour
	derivedOnError = 7 * 24 * time.Hour
)

// scoreValue is what a cached score document keeps beside its bytes. The body
// ends before the rank, which changes with other brands and is added per answer.
type scoreValue struct {
	head
	score fieldmark.Score
	etag  string // without the rank
}

const scoreCacheControl = "public, max-age=60, s-maxage=300, stale-while-revalidate=3600, stale-if-error=86400"

// serveScore answers GET /api/v1/score/{slug}.
func (e *Edge) serveScore(ctx *fasthttp.RequestCtx) {
	slug := string(ctx.Path()[len(fieldmark.PathScore):])
	if !fieldmark.ValidSlug(slug) {
		e.fail(ctx, noBrand())
		return
	}
	rc, cancel := requestContext()
	defer cancel()
	entry, from, err := e.score(rc, fieldmark.Slug(slug))
	if err != nil {
		e.fail(ctx, err)
		return
	}
	v := entry.Value.(*scoreValue)
	body, etag := e.withRank(entry.Body, v)
	e.writeHead(ctx, &v.head, entry, from)
	ctx.Response.Header.Set("Etag", etag)
	if matches(ctx.Request.Header.PeekBytes(headerIfNoneMatch), []byte(etag)) {
		ctx.SetStatusCode(fasthttp.StatusNotModified)
		return
	}
	ctx.SetStatusCode(http.StatusOK)
	ctx.Response.SetBodyRaw(body)
	ctx.Response.SkipBody = ctx.IsHead()
}

// withRank completes a score document with the brand's place in the present
// ranking, and its entity tag with it.
func (e *Edge) withRank(prefix []byte, v *scoreValue) (body []byte, etag string) {
	rank := e.boards.rank(v.score.Slug)
	body = append(make([]byte, 0, len(prefix)+96), prefix...)
	if rank == nil {
		return append(body, "null}\n"...), `"` + v.etag + `"`
	}
	raw, err := json.Marshal(rank)
	if err != nil {
		panic("BUG: a rank that cannot be encoded: " + err.Error())
	}
	body = append(append(body, raw...), "}\n"...)
	tag := append([]byte(`"`+v.etag), '-')
	for i, n := range []int{rank.Overall, rank.Of, rank.Niche, rank.OfNiche} {
		if i > 0 {
			tag = append(tag, '.')
		}
		tag = strconv.AppendInt(tag, int64(n), 36)
	}
	return body, string(append(tag, '"'))
}

func noBrand() error {
	return fieldmark.Errorf(fieldmark.CodeNotFound, "no public brand has this slug")
}

// score returns the cached score document of a brand, deriving it on a miss.
func (e *Edge) score(ctx context.Context, slug fieldmark.Slug) (*cache.Entry, cache.Source, error) {
	if e.boards.knows(slug) == answerNo {
		return nil, cache.SourceNone, noBrand()
	}
	return e.cache.Fetch(ctx, fieldmark.PathScore+string(slug), func(ctx context.Context) (*cache.Entry, error) {
		state, asOf, err := e.cfg.Origin.BrandState(ctx, slug)
		if err != nil {
			return nil, err
		}
		if !state.Brand.Public {
			return nil, noBrand()
		}
		score, err := e.assess(ctx, state, time.Now())
		if err != nil {
			return nil, err
		}
		return newScoreEntry(score, asOf)
	})
}

// newScoreEntry encodes a score document up to its rank.
func newScoreEntry(score fieldmark.Score, asOf int64) (*cache.Entry, error) {
	raw, err := json.Marshal(score)
	if err != nil {
		return nil, err
	}
	const rankless = "null}" // the rank is the document's last member
	sum := sha256.Sum256(raw)
	v := &scoreValue{score: score, etag: hex.EncodeToString(sum[:12])}
	v.head = *newHead("",
		"Content-Type", "application/json",
		"Cache-Control", scoreCacheControl,
		"X-Content-Type-Options", "nosniff",
		"Access-Control-Allow-Origin", "*",
		"Timing-Allow-Origin", "*",
	)
	return &cache.Entry{
		Body: raw[:len(raw)-len(rankless)], Status: http.StatusOK, Value: v, AsOf: asOf,
		Tags:  []string{string(fieldmark.TagBrand(score.Slug)), string(fieldmark.TagModule)},
		Fresh: derivedFresh, OnError: derivedOnError,
	}, nil
}

// errNoModule is returned while no scoring module is loaded.
var errNoModule = fieldmark.Errorf(fieldmark.CodeOriginUnavailable, "this node has not loaded a scoring module yet")

// assess scores one brand by the active module.
func (e *Edge) assess(ctx context.Context, state fieldmark.BrandState, now time.Time) (fieldmark.Score, error) {
	m := e.module.Load()
	if m == nil {
		return fieldmark.Score{}, errNoModule
	}
	return e.assessBy(ctx, m, state, now)
}

// assessBy scores one brand by a given module.
func (e *Edge) assessBy(ctx context.Context, m *wasm.Module, state fieldmark.BrandState, now time.Time) (fieldmark.Score, error) {
	if state.Facts == nil {
		return fieldmark.NewScore(state.Brand, fieldmark.PendingAssessment()), nil
	}
	began := time.Now()
	a, err := m.Assess(ctx, state.Facts, now)
	if err != nil {
		return fieldmark.Score{}, fmt.Errorf("score %s: %w", state.Brand.Slug, err)
	}
	since(e.meters.scores, began)
	return fieldmark.NewScore(state.Brand, a), nil
}
