package edge

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/site"
)

const (
	// maxSearch is the longest name looked for, in bytes.
	maxSearch = 100
	// maxUnranked is how many brands without a rank a search shows; who means
	// another types more of its name.
	maxUnranked = 10
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
		q.cursor, q.limit, offset = "", fieldmark.MaxBoardLimit, 0
	}
	key := "page/board/" + s.key() + "/" + q.key(offset) + "/" + strconv.Quote(strings.ToLower(search))
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
func (e *Edge) boardPage(s *snapshot, q *boardQuery, offset int, search string) site.BoardPage {
	p := site.BoardPage{
		BaseURL: e.cfg.BaseURL, Cursor: q.cursor, Search: search, Ranked: s.fields[readiness].all.order.size, Pending: s.pending, Unreachable: s.unreachable,
		Niches: s.nicheChoices(q.filter), Languages: s.languageChoices(), HasFull: s.fields[fullScore].all.order.size > 0,
	}
	if search == "" {
		p.Board = s.page(q, offset, e.cursor)
	} else {
		p.Board, p.Unranked = s.search(q, search)
	}
	if q.filter.Basis == fieldmark.BasisFull {
		return p
	}
	for _, it := range p.Board.Items {
		p.Past = append(p.Past, s.line(it.Slug).past())
	}
	return p
}

// past returns a line's readiness 90, 30 and 7 days ago; nil where it had none.
func (l *line) past() (past [3]*fieldmark.Milli) {
	for i, then := range [3]int32{l.ago[1], l.ago[0], l.scores[readiness].then} {
		if then >= 0 {
			score := fieldmark.Milli(then)
			past[i] = &score
		}
	}
	return past
}

// search returns the ranked brands of a filter whose name or slug holds a text,
// by rank, and brands without a rank whose slug does.
func (s *snapshot) search(q *boardQuery, text string) (b fieldmark.Board, unranked []fieldmark.Slug) {
	view, basis := s.view(q.filter), basisOf(q.filter.Basis)
	b = s.envelope(q.filter)
	want := newNeedle(text)
	for l := range view.order.from(0) {
		if !want.in(l) {
			continue
		}
		if b.Total++; len(b.Items) < q.limit {
			b.Items = append(b.Items, s.item(l, view, basis, q.filtered()))
		}
	}
	for l := range s.slugs.from(0) {
		if !l.ranked && l.to == "" && strings.Contains(string(l.slug), want.slug) {
			if unranked = append(unranked, l.slug); len(unranked) == maxUnranked {
				break
			}
		}
	}
	return b, unranked
}

// needle is what a search looks for.
type needle struct{ name, slug string }

func newNeedle(text string) needle {
	text = strings.ToLower(text)
	return needle{name: text, slug: strings.Join(strings.Fields(text), "-")}
}

func (n needle) in(l *line) bool {
	return strings.Contains(string(l.slug), n.slug) || strings.Contains(strings.ToLower(l.name), n.name)
}

// nicheChoices are the niches of a list, the largest, by name; that of the filter
// is always among them.
func (s *snapshot) nicheChoices(f fieldmark.BoardFilter) []site.Choice {
	var all []site.Choice
	for niche, l := range s.fields[basisOf(f.Basis)].niches {
		all = append(all, site.Choice{Value: niche, Count: l.order.size})
	}
	slices.SortFunc(all, func(a, b site.Choice) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
	})
	all = all[:min(len(all), maxChoices)]
	if f.Niche != "" && !slices.ContainsFunc(all, func(c site.Choice) bool { return c.Value == f.Niche }) {
		all = append(all, site.Choice{Value: f.Niche, Count: s.view(fieldmark.BoardFilter{Basis: f.Basis, Niche: f.Niche}).order.size})
	}
	slices.SortFunc(all, func(a, b site.Choice) int { return strings.Compare(a.Value, b.Value) })
	return all
}

// languageChoices are the primary languages of ranked brands.
func (s *snapshot) languageChoices() []site.Choice {
	counts := map[string]int{}
	for tag, n := range s.languages {
		primary, _, _ := strings.Cut(strings.ToLower(tag), "-")
		counts[primary] += n
	}
	var all []site.Choice
	for tag, n := range counts {
		if validRange(tag) {
			all = append(all, site.Choice{Value: tag, Count: n})
		}
	}
	slices.SortFunc(all, func(a, b site.Choice) int { return strings.Compare(a.Value, b.Value) })
	return all
}
