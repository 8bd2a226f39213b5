package ranking_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/ranking"
)

// TestNiche: the median of a niche is that of a sorted list of its scores, after changes
// too, and brands of other niches do not count.
func TestNiche(t *testing.T) {
	random := rand.New(rand.NewPCG(24, 1))
	s := ranking.New(ranking.Method{}, nil, fieldmark.Time{})
	scores := map[fieldmark.Slug]int{}
	for step := range 300 {
		slug := fieldmark.Slug(fmt.Sprint("b", random.IntN(40)))
		if random.IntN(4) == 0 {
			delete(scores, slug)
			s = s.Apply(map[fieldmark.Slug]*ranking.Row{slug: nil})
		} else {
			scores[slug] = random.IntN(101)
			b := brandRange{slug: slug, niche: "tools", low: scores[slug], high: scores[slug], score: scores[slug],
				weekAgo: -1}
			other := brandRange{slug: "other-" + slug, niche: "food", low: 1, high: 1, score: 1, weekAgo: -1}
			s = s.Apply(map[fieldmark.Slug]*ranking.Row{slug: b.row(), other.slug: other.row()})
		}
		var sorted []int
		for _, score := range scores {
			sorted = append(sorted, score)
		}
		slices.Sort(sorted)
		want := ranking.Niche{Name: "tools", Brands: len(sorted)}
		if n := len(sorted); n > 0 {
			want.Median = fieldmark.Milli(sorted[(n-1)/2]+sorted[n/2]) * fieldmark.MilliOne / 2
		}
		if got := s.Niche("tools"); got != want {
			t.Fatalf("step %d: %+v, want %+v of %v", step, got, want, sorted)
		}
	}
	if got := s.Niche("none"); got != (ranking.Niche{Name: "none"}) {
		t.Errorf("a niche without brands: %+v", got)
	}
}

// TestAllNiches: the largest niches are listed by name, and all are counted.
func TestAllNiches(t *testing.T) {
	var rows []*ranking.Row
	for niche, brands := range map[string]int{"c": 3, "a": 2, "b": 1, "d": 2} {
		for i := range brands {
			b := brandRange{slug: fieldmark.Slug(fmt.Sprint(niche, i)), niche: niche, low: 10, high: 10, score: 10 * i,
				weekAgo: -1}
			rows = append(rows, b.row())
		}
	}
	s := ranking.New(ranking.Method{}, rows, fieldmark.Time{})
	got, all := s.AllNiches(3)
	want := []ranking.Niche{{"a", 2, 5_000}, {"c", 3, 10_000}, {"d", 2, 5_000}}
	if !slices.Equal(got, want) || all != 4 {
		t.Errorf("niches %v of %d, want %v of 4", got, all, want)
	}
}
