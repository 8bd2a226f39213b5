package edge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
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
	if err := noParameters(ctx); err != nil {
		e.fail(ctx, err)
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

// noParameters refuses a query where none has a meaning.
func noParameters(ctx *fasthttp.RequestCtx) error {
	for name := range ctx.QueryArgs().All() {
		return &fieldmark.Error{Code: fieldmark.CodeInvalidParameter, Detail: "the query is not acceptable",
			Fields: []fieldmark.FieldError{unknownParameter(string(name), "none")}}
	}
	return nil
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
	return e.deriveScore(ctx, slug)
}

// deriveScore is score for those who know better than the ranking which brands
// there are. One node of the fleet asks the origin and runs the module.
func (e *Edge) deriveScore(ctx context.Context, slug fieldmark.Slug) (*cache.Entry, cache.Source, error) {
	key := fieldmark.PathScore + string(slug)
	return e.cache.Fetch(ctx, key, e.cache.Shared(key, reviveScore, func(ctx context.Context) (*cache.Entry, error) {
		known := e.follow.module.Load() // before the module is read
		state, asOf, err := e.cfg.Origin.BrandState(ctx, slug)
		if fieldmark.IsCode(err, fieldmark.CodeNotFound) || err == nil && !state.Brand.Public {
			return nil, fmt.Errorf("%w: %w", cache.ErrGone, noBrand())
		}
		if err != nil {
			return nil, err
		}
		score, err := e.assess(ctx, state, time.Now())
		if err != nil {
			return nil, err
		}
		return newScoreEntry(score, min(asOf, known))
	}))
}

// rankless ends a score document without a rank, which is its last member.
const rankless = "null}"

// newScoreEntry encodes a score document up to its rank.
func newScoreEntry(score fieldmark.Score, asOf int64) (*cache.Entry, error) {
	raw, err := json.Marshal(score)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(raw)
	etag := hex.EncodeToString(sum[:12])
	return &cache.Entry{
		Body: raw[:len(raw)-len(rankless)], ETag: etag, Status: http.StatusOK, Value: newScoreValue(score, etag), AsOf: asOf,
		Tags:  []string{string(fieldmark.TagBrand(score.Slug)), string(fieldmark.TagModule)},
		Fresh: derivedFresh, OnError: derivedOnError,
	}, nil
}

func newScoreValue(score fieldmark.Score, etag string) *scoreValue {
	return &scoreValue{score: score, etag: etag, head: *newHead("",
		"Content-Type", "application/json",
		"Cache-Control", scoreCacheControl,
		"X-Content-Type-Options", "nosniff",
		"Access-Control-Allow-Origin", "*",
		"Timing-Allow-Origin", "*",
	)}
}

// reviveScore reads a score document that another node has made.
func reviveScore(entry *cache.Entry) error {
	var score fieldmark.Score
	if err := json.Unmarshal(append(slices.Clip(entry.Body), rankless...), &score); err != nil {
		return fmt.Errorf("read a score of another node: %w", err)
	}
	entry.Value = newScoreValue(score, entry.ETag)
	return nil
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
		a := fieldmark.PendingAssessment()
		a.Methodology, a.Module = m.Methodology(), m.Ref() // by which it will be scored
		return fieldmark.NewScore(state.Brand, a), nil
	}
	began := time.Now()
	a, err := m.Assess(ctx, state.Facts, now)
	if err != nil {
		return fieldmark.Score{}, fmt.Errorf("score %s: %w", state.Brand.Slug, err)
	}
	since(e.meters.scores, began)
	return fieldmark.NewScore(state.Brand, a), nil
}
