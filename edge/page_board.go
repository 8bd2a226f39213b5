package edge

import (
	"context"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/ranking"
	"github.com/fieldmark/fieldmark/edge/site"
)

const (
	// maxSearch is the longest name looked for, in bytes.
	maxSearch = 100
	// maxChoices is how many niches a form offers, the largest. A select of
	// hundreds is no help, and the page has a weight to keep.
	maxChoices = 60
)

// serveHome answers GET /: the leaderboard for people.
func (e *Edge) serveHome(ctx *fasthttp.RequestCtx) {
	q, err := parseBoardQuery(ctx.QueryArgs(), lenient)
	if err != nil {
		e.failPage(ctx, err, "")
		return
	}
	search := strings.TrimSpace(string(ctx.QueryArgs().Peek("q")))
	if len(search) > maxSearch || !utf8.ValidString(search) {
		e.failPage(ctx, badParameter("q", "length", "must be text of at most "+strconv.Itoa(maxSearch)+" bytes"), "")
		return
	}
	s, offset, err := e.board(q)
	if err != nil {
		e.failPage(ctx, err, "")
		return
	}
	if search != "" {
		q.Cursor, q.Limit, offset = "", fieldmark.MaxBoardLimit, 0
	}
	key := "page/board/" + s.Key() + "/" + q.Key(offset) + "/" + strconv.Quote(strings.ToLower(search))
	e.servePage(ctx, key, "", func(context.Context) (*cache.Entry, error) {
		body, err := e.site.AppendBoard(nil, e.boardPage(s, &q, offset, search))
		if err != nil {
			return nil, err
		}
		return e.ofBoard(newPageEntry(body)), nil
	})
}

// searchHome answers GET /?q=.
func (e *Edge) searchHome(ctx *fasthttp.RequestCtx) route {
	return e.get(ctx, routePage, e.serveHome)
}

// boardPage gathers what a page of the leaderboard shows.
func (e *Edge) boardPage(s *ranking.Snapshot, q *ranking.Query, offset int, search string) site.BoardPage {
	p := site.BoardPage{
		BaseURL: e.cfg.BaseURL, Cursor: q.Cursor, Search: search, Ranked: s.RankedCount(), Pending: s.Pending, Unreachable: s.Unreachable,
		Niches: choices(s.Niches(q.Filter, maxChoices)), Languages: choices(s.Languages()), HasFull: s.HasFull(),
	}
	if search == "" {
		p.Board = s.Page(q, offset, e.cursorKey)
	} else {
		p.Board, p.Unranked = s.Search(q, search)
	}
	if q.Filter.Basis == fieldmark.BasisFull {
		return p
	}
	for _, it := range p.Board.Items {
		p.Past = append(p.Past, s.Row(it.Slug).Past())
	}
	return p
}

// choices are the facets of a ranking as a form offers them.
func choices(facets []ranking.Facet) []site.Choice {
	all := make([]site.Choice, len(facets))
	for i, f := range facets {
		all[i] = site.Choice(f)
	}
	return all
}
