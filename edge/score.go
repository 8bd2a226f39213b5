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
	stale bool   // what the module before made of it, for the present one could not
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
	body, etag := e.withRank(entry.Body, v, v.stale || from == cache.SourceOnError)
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
func (e *Edge) withRank(prefix []byte, v *scoreValue, stale bool) (body []byte, etag string) {
	rank := e.boards.rank(v.score.Slug)
	body = append(make([]byte, 0, len(prefix)+96), prefix...)
	end, mark := "}\n", ""
	if stale {
		end, mark = `,"stale":true}`+"\n", "-stale"
	}
	if rank == nil {
		return append(append(body, "null"...), end...), `"` + v.etag + mark + `"`
	}
	raw, err := json.Marshal(rank)
	if err != nil {
		panic("BUG: a rank that cannot be encoded: " + err.Error())
	}
	body = append(append(body, raw...), end...)
	tag := append([]byte(`"`+v.etag+mark), '-')
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
	entry, from, err := e.cache.Fetch(ctx, key, e.cache.Shared(key, e.reviveScore, func(ctx context.Context) (*cache.Entry, error) {
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
	if isFault(err) {
		entry, err = e.despite(ctx, slug)
		return entry, cache.SourceFill, err
	}
	return entry, from, err
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
// One that another module made is none of ours: that node may have gone back to
// an earlier module by itself, or not yet have the one in force.
func (e *Edge) reviveScore(entry *cache.Entry) error {
	var score fieldmark.Score
	if err := json.Unmarshal(append(slices.Clip(entry.Body), rankless...), &score); err != nil {
		return fmt.Errorf("read a score of another node: %w", err)
	}
	if digest := e.modules.digest(score.Slug); score.Module.Digest != digest {
		return fmt.Errorf("%s was scored by %s, here by %s", score.Slug, score.Module.Digest, digest)
	}
	entry.Value = newScoreValue(score, entry.ETag)
	return nil
}
