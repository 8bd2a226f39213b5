package ranking

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/fieldmark/fieldmark"
)

// Query is a checked request for a page of a ranking.
type Query struct {
	Filter fieldmark.BoardFilter // in its one canonical form
	Limit  int
	Cursor string // empty: the first page of the current ranking
}

// filtered reports whether the list excludes brands of its basis.
func (q *Query) filtered() bool {
	return q.Filter != fieldmark.BoardFilter{Basis: q.Filter.Basis}
}

// Key identifies the page among all pages of one ranking.
func (q *Query) Key(offset int) string {
	f := &q.Filter
	return f.Basis + "/" + f.Niche + "/" + f.Language + "/" + f.MinConfidence.String() + "/" +
		strconv.Itoa(offset) + "/" + strconv.Itoa(q.Limit)
}

// Page returns one page of the ranking, with the cursor of the next one.
func (s *Snapshot) Page(q *Query, offset int, key CursorKey) fieldmark.Board {
	c, basis := s.filter(q.Filter), basisOf(q.Filter.Basis)
	b := s.emptyBoard(q.Filter)
	b.Total = c.rows.size
	for r := range c.rows.from(offset) {
		if len(b.Items) == q.Limit {
			b.NextCursor = key.Encode(s.ID, offset+q.Limit, q.Filter)
			break
		}
		b.Items = append(b.Items, s.rankedEntry(r, c, basis, q.filtered()))
	}
	return b
}

// emptyBoard is a leaderboard without its entries.
func (s *Snapshot) emptyBoard(f fieldmark.BoardFilter) fieldmark.Board {
	return fieldmark.Board{
		Items: []fieldmark.BoardEntry{}, Snapshot: s.ID, AsOf: s.AsOf, Methodology: s.Method.Methodology, Filters: f,
		Note: fieldmark.BoardNote,
	}
}

// rankedEntry is a row with its rank in a list, and with that among all where the list
// is filtered.
func (s *Snapshot) rankedEntry(r *Row, c *category, basis int, filtered bool) fieldmark.BoardEntry {
	e, at := r.entry(basis), &r.ratings[basis]
	e.Rank, e.RankLast = c.now.rank(at.span)
	if filtered {
		e.Overall, e.OverallLast = s.byBasis[basis].all.now.rank(at.span)
	}
	if gained, ok := c.change(at); ok {
		e.Change = &fieldmark.BoardChange{Rank: gained, Score: fieldmark.Milli(at.score - at.weekAgo), Since: s.since}
	}
	return e
}

// filteredCache caches the lists filtered by language and confidence while their ranking is
// the current one.
type filteredCache struct {
	mu    sync.Mutex
	lists map[fieldmark.BoardFilter]*category
	rows  int
}

// maxFilteredRows bounds what the filtered lists of one ranking keep, in rows; a
// pointer each.
const maxFilteredRows = 1 << 21

// filter returns the list of the brands that pass a filter.
func (s *Snapshot) filter(f fieldmark.BoardFilter) *category {
	basis := basisOf(f.Basis)
	from := s.byBasis[basis].all
	if f.Niche != "" {
		if from = s.byBasis[basis].niches[f.Niche]; from == nil {
			return newCategory(basis, nil)
		}
	}
	if f.Language == "" && f.MinConfidence == 0 {
		return from
	}
	f.Language = strings.ToLower(f.Language)
	s.filtered.mu.Lock()
	c := s.filtered.lists[f]
	s.filtered.mu.Unlock()
	if c != nil {
		return c
	}
	known := f.Language == ""
	for tag := range s.languages {
		known = known || fieldmark.MatchesLanguage(tag, f.Language)
	}
	if !known {
		return newCategory(basis, nil)
	}
	var rows []*Row
	for r := range from.rows.from(0) {
		if r.certainty >= f.MinConfidence && (f.Language == "" || fieldmark.MatchesLanguage(r.language, f.Language)) {
			rows = append(rows, r)
		}
	}
	c = newCategory(basis, rows)
	s.filtered.put(f, c)
	return c
}

func (v *filteredCache) put(f fieldmark.BoardFilter, c *category) {
	v.mu.Lock()
	defer v.mu.Unlock()
	const overhead = 2 * len(histogram{}) // four histograms of half a pointer each
	if v.rows += c.rows.size + overhead; v.rows > maxFilteredRows {
		v.lists, v.rows = nil, c.rows.size+overhead
	}
	if v.lists == nil {
		v.lists = map[fieldmark.BoardFilter]*category{}
	}
	v.lists[f] = c
}

// Facet is a value of a filter and how many brands have it.
type Facet struct {
	Value string
	Count int
}

// Niches returns the niches of a filter's basis by name, the limit largest; the niche
// of the filter is always among them.
func (s *Snapshot) Niches(f fieldmark.BoardFilter, limit int) []Facet {
	var all []Facet
	for niche, c := range s.byBasis[basisOf(f.Basis)].niches {
		all = append(all, Facet{niche, c.rows.size})
	}
	slices.SortFunc(all, func(a, b Facet) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
	})
	all = all[:min(len(all), limit)]
	if f.Niche != "" && !slices.ContainsFunc(all, func(c Facet) bool { return c.Value == f.Niche }) {
		all = append(all, Facet{f.Niche, s.filter(fieldmark.BoardFilter{Basis: f.Basis, Niche: f.Niche}).rows.size})
	}
	slices.SortFunc(all, func(a, b Facet) int { return strings.Compare(a.Value, b.Value) })
	return all
}

// Languages returns the primary languages of ranked brands by name.
func (s *Snapshot) Languages() []Facet {
	counts := map[string]int{}
	for tag, n := range s.languages {
		primary, _, _ := strings.Cut(strings.ToLower(tag), "-")
		counts[primary] += n
	}
	var all []Facet
	for tag, n := range counts {
		if ValidLanguageRange(tag) {
			all = append(all, Facet{tag, n})
		}
	}
	slices.SortFunc(all, func(a, b Facet) int { return strings.Compare(a.Value, b.Value) })
	return all
}

// ValidLanguageRange reports whether a text is a basic language range (RFC 4647,
// 2.1). The wildcard is not accepted, as it would filter nothing.
func ValidLanguageRange(s string) bool {
	if len(s) > fieldmark.MaxLanguageTag {
		return false
	}
	for i, part := range strings.Split(s, "-") {
		set := "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		if i > 0 {
			set += "0123456789"
		}
		if len(part) < 1 || len(part) > 8 || strings.Trim(part, set) != "" {
			return false
		}
	}
	return true
}
