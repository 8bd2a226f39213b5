package edge

import (
	"context"
	"slices"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/ranking"
	"github.com/fieldmark/fieldmark/edge/site"
)

// parseVisibility parses the query of a leaderboard by visibility and returns all problems at once.
func parseVisibility(args *fasthttp.Args, u unknownParameters) (ranking.VisibilityQuery, error) {
	q, bad := ranking.ParseVisibility(args.All(), u == ignoreUnknown, parseConfidence,
		func(name string) *fieldmark.FieldError {
			if u == ignoreUnknown {
				return nil
			}
			return new(unknownParameter(name, ranking.VisibilityParameters))
		})
	if bad != nil {
		return q, &fieldmark.Error{Code: fieldmark.CodeInvalidParameter, Detail: "the query is not acceptable",
			Fields: bad}
	}
	return q, nil
}

// serveVisibility handles GET /api/v1/leaderboard?basis=visibility: the newest study of a niche.
// It is cached until another study of the niche is imported, or brands are ranked again.
func (e *boardEndpoints) serveVisibility(ctx *fasthttp.RequestCtx) {
	q, err := parseVisibility(ctx.QueryArgs(), rejectUnknown)
	if err != nil {
		e.fail(ctx, err)
		return
	}
	s := e.rankings.Current()
	if s == nil {
		e.fail(ctx, errNotRanked())
		return
	}
	// getLimited, because a client can name any number of niches.
	key, fill := e.visibilityEntry(s, &q)
	e.serveCached(ctx, e.fetcher.getLimited, key, fill, e.fail)
}

// visibilityEntry returns the key of a leaderboard by visibility in the cache, and how it is made.
func (e *boardEndpoints) visibilityEntry(s *ranking.Snapshot, q *ranking.VisibilityQuery) (string, cache.Fill) {
	// The snapshot is part of the key, because names and slugs of brands come from it, and a cursor is valid for one.
	return "visibility/" + s.Key() + "/" + q.Key(), func(ctx context.Context) (*cache.Entry, error) {
		asOf := e.replica.purged.Load() // before the study is read
		board, err := e.visibilityBoard(ctx, s, q)
		if err != nil {
			return nil, err
		}
		entry, err := newJSONEntry(board, "", boardCacheControl)
		if err != nil {
			return nil, err
		}
		return tagStudy(entry, asOf, q.Filter.Niche), nil
	}
}

// visibilityBoard reads the newest study of a niche and lists its brands.
func (e *boardEndpoints) visibilityBoard(ctx context.Context, s *ranking.Snapshot,
	q *ranking.VisibilityQuery) (fieldmark.VisibilityBoard, error) {
	r, err := e.scorer.origin.NewestStudy(ctx, q.Filter.Niche, q.Filter.Locale)
	if err != nil {
		return fieldmark.VisibilityBoard{}, asUnavailable(err)
	}
	return s.VisibilityBoard(&r, q, e.cursorKey)
}

// tagStudy makes an entry valid until a study of a niche is imported.
func tagStudy(entry *cache.Entry, asOf int64, niche string) *cache.Entry {
	entry.AsOf, entry.Tags = asOf, append(slices.Clip(boardTags), string(fieldmark.TagStudy(niche)))
	entry.Fresh, entry.OnError = boardFresh, derivedOnError
	return entry
}

// serveVisibilityPage handles GET /?basis=visibility: the same for people. Without a niche it shows the choice of
// niches.
func (e *boardEndpoints) serveVisibilityPage(ctx *fasthttp.RequestCtx) {
	q, err := parseVisibility(ctx.QueryArgs(), ignoreUnknown)
	asked := q.Filter.Niche != ""
	if err != nil && asked {
		e.failPage(ctx, err, "")
		return
	}
	s := e.rankings.Current()
	if s == nil {
		e.failPage(ctx, errNotRanked(), "")
		return
	}
	fill := func(ctx context.Context) (*cache.Entry, error) {
		asOf := e.replica.purged.Load()
		niches := s.Niches(fieldmark.BoardFilter{Niche: q.Filter.Niche}, maxChoices)
		// The choices of niches come from the ranking: niches without a study are listed too, and say so when chosen.
		p := site.VisibilityPage{BaseURL: e.baseURL, Niches: choices(niches), Cursor: q.Cursor,
			Board: fieldmark.VisibilityBoard{Filters: q.Filter}}
		if asked {
			board, err := e.visibilityBoard(ctx, s, &q)
			switch {
			case err == nil:
				p.Board = board
			case !fieldmark.IsCode(err, fieldmark.CodeNotFound):
				return nil, err
			}
		}
		body, err := e.site.AppendVisibility(nil, p)
		if err != nil {
			return nil, err
		}
		return tagStudy(newPageEntry(body), asOf, q.Filter.Niche), nil
	}
	e.serveCached(ctx, e.fetcher.getLimited, "page/visibility/"+s.Key()+"/"+q.Key(), fill,
		func(ctx *fasthttp.RequestCtx, err error) { e.failPage(ctx, err, "") })
}

// addStudy adds the newest study of a niche to its page, if the origin answers in time.
func (e *boardEndpoints) addStudy(ctx context.Context, s *ranking.Snapshot, p *site.BoardPage) error {
	optional, cancel := context.WithTimeout(ctx, chartTimeout)
	defer cancel()
	q := ranking.VisibilityQuery{Limit: maxStudied, Filter: fieldmark.VisibilityFilter{Niche: p.Niche.Name,
		Basis: fieldmark.BasisVisibility, Metric: fieldmark.MetricMention}}
	board, err := e.visibilityBoard(optional, s, &q)
	// Most niches have no study: that is no error of the page.
	if fieldmark.IsCode(err, fieldmark.CodeNotFound) {
		return nil
	}
	if err == nil && len(board.Items) > 0 {
		p.Study = &board
	}
	return err
}

// maxStudied is how many brands of a study are shown on the page of their niche, the first.
const maxStudied = 10

// serveValidity handles GET /api/v1/validity: how scores relate to measured answers.
func (e *scoreEndpoints) serveValidity(ctx *fasthttp.RequestCtx) {
	if err := noParameters(ctx); err != nil {
		e.fail(ctx, err)
		return
	}
	e.serveCached(ctx, e.fetcher.get, fieldmark.PathValidity, func(ctx context.Context) (*cache.Entry, error) {
		asOf := e.replica.purged.Load() // before the document is read
		v, err := e.origin.Validity(ctx)
		if err != nil {
			return nil, asUnavailable(err)
		}
		entry, err := newJSONEntry(v, "", boardCacheControl)
		if err != nil {
			return nil, err
		}
		entry.AsOf, entry.Tags = asOf, []string{string(fieldmark.TagValidity)}
		entry.Fresh, entry.OnError = derivedFresh, derivedOnError
		return entry, nil
	}, e.fail)
}
