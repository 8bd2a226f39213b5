package ranking_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/ranking"
)

// brandRange is a brand with the range of its score, in points.
type brandRange struct {
	slug      fieldmark.Slug
	niche     string
	low, high int
	score     int
	weekAgo   int // score; -1: none
}

func (b *brandRange) row() *ranking.Row {
	milli := func(points int) fieldmark.Milli { return fieldmark.Milli(points) * fieldmark.MilliOne }
	score := milli(b.score)
	s := &fieldmark.Score{Slug: b.slug, Niche: b.niche, Assessment: fieldmark.Assessment{
		Status: fieldmark.StatusScored, Score: &score, AsOf: &fieldmark.Time{},
		Range:      &fieldmark.Range{Low: milli(b.low), High: milli(b.high)},
		Confidence: fieldmark.Confidence{Value: fieldmark.MilliOne}}}
	if b.weekAgo >= 0 {
		moved := score - milli(b.weekAgo)
		s.Trend.D7 = &moved
	}
	return ranking.NewRow(s)
}

// list returns the first page of a list.
func list(s *ranking.Snapshot, f fieldmark.BoardFilter) []fieldmark.BoardEntry {
	f.Basis = fieldmark.BasisReadiness
	return s.Page(&ranking.Query{Filter: f, Limit: 10_000}, 0, ranking.CursorKey{}).Items
}

func places(entries []fieldmark.BoardEntry) string {
	var all []string
	for _, e := range entries {
		text := fmt.Sprintf("%s %d-%d", e.Slug, e.Rank, e.RankLast)
		if e.Overall != 0 {
			text += fmt.Sprintf(" of all %d-%d", e.Overall, e.OverallLast)
		}
		if e.Change != nil {
			text += fmt.Sprintf(" %+d", e.Change.Rank)
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func TestRankRanges(t *testing.T) {
	for _, tt := range []struct {
		name   string
		brands []brandRange
		filter fieldmark.BoardFilter
		want   string
	}{
		{"apart", []brandRange{
			{"a", "n", 80, 90, 85, -1}, {"b", "n", 60, 79, 70, -1}, {"c", "n", 10, 20, 15, -1},
		}, fieldmark.BoardFilter{}, "a 1-1, b 2-2, c 3-3"},
		{"equal points without a range", []brandRange{
			{"a", "n", 80, 80, 80, -1}, {"b", "n", 80, 80, 80, -1}, {"c", "n", 70, 70, 70, -1},
		}, fieldmark.BoardFilter{}, "a 1-2, b 1-2, c 3-3"},
		{"touching ranges overlap", []brandRange{
			{"a", "n", 70, 90, 80, -1}, {"b", "n", 60, 70, 65, -1},
		}, fieldmark.BoardFilter{}, "a 1-2, b 1-2"},
		{"a chain", []brandRange{
			{"a", "n", 70, 90, 80, -1}, {"b", "n", 55, 75, 65, -1}, {"c", "n", 40, 60, 50, -1},
			{"d", "n", 30, 45, 35, -1},
		}, fieldmark.BoardFilter{}, "a 1-2, b 1-3, c 2-4, d 3-4"},
		{"a wide range has a better rank than the score above it", []brandRange{
			{"a", "n", 81, 90, 85, -1}, {"b", "n", 70, 80, 75, -1}, {"c", "n", 20, 100, 74, -1},
		}, fieldmark.BoardFilter{}, "a 1-2, b 2-3, c 1-3"},
		{"the ends of the scale", []brandRange{
			{"a", "n", 100, 100, 100, -1}, {"b", "n", 0, 100, 50, -1}, {"c", "n", 0, 0, 0, -1},
		}, fieldmark.BoardFilter{}, "a 1-2, b 1-3, c 2-3"},
		{"of a niche", []brandRange{
			{"a", "m", 80, 90, 85, -1}, {"b", "n", 60, 75, 70, -1}, {"c", "n", 50, 65, 60, -1},
		}, fieldmark.BoardFilter{Niche: "n"}, "b 1-2 of all 2-3, c 1-2 of all 2-3"},
		{"a change within the range does not count", []brandRange{
			{"a", "n", 70, 80, 75, 70}, {"b", "n", 66, 76, 71, 74},
		}, fieldmark.BoardFilter{}, "a 1-2 +0, b 1-2 +0"},
		{"a certain change", []brandRange{
			{"a", "n", 85, 95, 90, 10}, {"b", "n", 60, 70, 65, 65}, {"c", "n", 40, 50, 45, -1},
		}, fieldmark.BoardFilter{}, "a 1-1 +1, b 2-2 -1, c 3-3"},
		{"only what is certain of a change", []brandRange{
			{"a", "n", 85, 95, 90, 10}, {"b", "n", 60, 70, 65, 65}, {"c", "n", 65, 75, 70, 70},
		}, fieldmark.BoardFilter{}, "a 1-1 +2, c 2-3 +0, b 2-3 +0"},
	} {
		var rows []*ranking.Row
		for i := range tt.brands {
			rows = append(rows, tt.brands[i].row())
		}
		s := ranking.New(ranking.Method{}, rows, fieldmark.Time{})
		if got := places(list(s, tt.filter)); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

// naiveRank is the published rule, word for word.
func naiveRank(low, high int, all []brandRange, ends func(*brandRange) (low, high int, ok bool)) (best, last int) {
	best = 1
	for i := range all {
		switch l, h, ok := ends(&all[i]); {
		case !ok:
			continue
		case l > high:
			best++
		case h < low:
			continue
		}
		last++
	}
	return best, last
}

func nowEnds(b *brandRange) (low, high int, ok bool) { return b.low, b.high, true }

func thenEnds(b *brandRange) (low, high int, ok bool) {
	moved := b.weekAgo - b.score
	return min(max(b.low+moved, 0), 100), min(max(b.high+moved, 0), 100), b.weekAgo >= 0
}

func randomBrand(r *rand.Rand, i int) brandRange {
	b := brandRange{slug: brand(i), niche: fmt.Sprint("n", r.IntN(4)), score: r.IntN(101), weekAgo: r.IntN(102) - 1}
	b.low, b.high = max(0, b.score-r.IntN(12)), min(100, b.score+r.IntN(12))
	return b
}

// TestRanksOfThousand compares ranks with the definition, of a ranking that was built at
// once and of one that was changed step by step.
func TestRanksOfThousand(t *testing.T) {
	r := rand.New(rand.NewPCG(22, 4))
	all := make([]brandRange, 1000)
	rows := make([]*ranking.Row, len(all))
	for i := range all {
		all[i] = randomBrand(r, i)
		rows[i] = all[i].row()
	}
	changed := ranking.New(ranking.Method{}, rows, fieldmark.Time{})
	check := func(s *ranking.Snapshot, all []brandRange) {
		t.Helper()
		entries := list(s, fieldmark.BoardFilter{})
		if len(entries) != len(all) {
			t.Fatalf("%d entries, want %d", len(entries), len(all))
		}
		bySlug := map[fieldmark.Slug]*brandRange{}
		for i := range all {
			bySlug[all[i].slug] = &all[i]
		}
		for _, e := range entries {
			b := bySlug[e.Slug]
			best, last := naiveRank(b.low, b.high, all, nowEnds)
			if e.Rank != best || e.RankLast != last {
				t.Fatalf("%+v: rank %d-%d, want %d-%d", b, e.Rank, e.RankLast, best, last)
			}
			inNiche := slices.DeleteFunc(slices.Clone(all), func(o brandRange) bool { return o.niche != b.niche })
			niche, nicheLast := naiveRank(b.low, b.high, inNiche, nowEnds)
			want := fieldmark.Rank{Overall: best, OverallLast: last, Of: len(all), Niche: niche, NicheLast: nicheLast,
				OfNiche: len(inNiche)}
			if got := s.Rank(e.Slug); got == nil || *got != want {
				t.Fatalf("%+v: rank %+v, want %+v", b, got, want)
			}
			gained, ok := naiveChange(b, all)
			if (e.Change != nil) != ok || ok && e.Change.Rank != gained {
				t.Fatalf("%+v: change %+v, want %d, %t", b, e.Change, gained, ok)
			}
		}
	}
	check(changed, all)
	for range 50 {
		change := map[fieldmark.Slug]*ranking.Row{}
		for range 20 {
			i := r.IntN(len(all))
			all[i] = randomBrand(r, i)
			change[all[i].slug] = all[i].row()
		}
		changed = changed.Apply(change)
	}
	check(changed, all)
	for i := range all {
		rows[i] = all[i].row()
	}
	if fresh := ranking.New(ranking.Method{}, rows, fieldmark.Time{}); fresh.ID != changed.ID ||
		places(list(fresh, fieldmark.BoardFilter{})) != places(list(changed, fieldmark.BoardFilter{})) {
		t.Error("the ranking that was changed differs from one that was built at once")
	}
	removed := map[fieldmark.Slug]*ranking.Row{}
	for _, b := range all[900:] {
		removed[b.slug] = nil
	}
	check(changed.Apply(removed), all[:900])
}

// naiveChange returns the distance between the ranks of then and of now.
func naiveChange(b *brandRange, all []brandRange) (gained int, ok bool) {
	low, high, ok := thenEnds(b)
	if !ok {
		return 0, false
	}
	best, last := naiveRank(b.low, b.high, all, nowEnds)
	bestThen, lastThen := naiveRank(low, high, all, thenEnds)
	return max(0, bestThen-last) - max(0, best-lastThen), true
}
