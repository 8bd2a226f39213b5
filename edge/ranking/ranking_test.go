package ranking_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/ranking"
)

// TestOrder: brands are ranked 1, 2, 2, 4 by score, and inside a tie the surer comes
// first, then the newer, then the one whose slug is first.
func TestOrder(t *testing.T) {
	const older, newer = 1_790_000_000_000_000, 1_790_000_001_000_000
	var rows []*ranking.Row
	for _, b := range []struct {
		slug              fieldmark.Slug
		score, confidence fieldmark.Milli
		asOf              int64
	}{
		{"zeta", 80_000, 900, newer}, {"low", 10_000, 1000, newer}, {"alpha", 80_000, 900, newer},
		{"old", 80_000, 900, older},
		{"top", 91_000, 600, older}, {"sure", 80_000, 950, older},
	} {
		at := fieldmark.AtMicros(b.asOf)
		rows = append(rows, ranking.NewRow(&fieldmark.Score{Slug: b.slug, Niche: "tools",
			Assessment: fieldmark.Assessment{
				Status: fieldmark.StatusScored, Score: &b.score, AsOf: &at,
				Range:      &fieldmark.Range{Low: b.score, High: b.score},
				Confidence: fieldmark.Confidence{Value: b.confidence}}}))
	}
	s := ranking.New(ranking.Method{}, rows, fieldmark.Time{})
	page := s.Page(&ranking.Query{Filter: fieldmark.BoardFilter{Basis: fieldmark.BasisReadiness}, Limit: 10}, 0,
		ranking.CursorKey{})
	var got []string
	for _, e := range page.Items {
		got = append(got, fmt.Sprint(e.Rank, " ", e.Slug))
	}
	want := []string{"1 top", "2 sure", "2 alpha", "2 zeta", "2 old", "6 low"}
	if !slices.Equal(got, want) {
		t.Errorf("ranking = %v, want %v", got, want)
	}
}

// TestRankOfScore: a brand that was unlisted has no rank from that moment on, though the
// ranking with it is still the current one.
func TestRankOfScore(t *testing.T) {
	points, at := fieldmark.Milli(80_000), fieldmark.AtMicros(1_790_000_000_000_000)
	score := fieldmark.Score{Slug: "left", Niche: "tools", Assessment: fieldmark.Assessment{
		Status: fieldmark.StatusScored, Score: &points, AsOf: &at, Range: &fieldmark.Range{Low: points, High: points},
		Confidence: fieldmark.Confidence{Value: 900}}}
	var s ranking.Store
	s.Set(ranking.New(ranking.Method{}, []*ranking.Row{ranking.NewRow(&score)}, fieldmark.Time{}))
	if rank := s.Rank(&score); rank == nil || rank.Overall != 1 || rank.Of != 1 {
		t.Errorf("a ranked brand: %+v, want 1 of 1", rank)
	}
	score.Assessment = fieldmark.Assessment{Status: fieldmark.StatusUnlisted}
	if rank := s.Rank(&score); rank != nil {
		t.Errorf("an unlisted brand: %+v, want no rank", rank)
	}
}

// TestRowAfterChanges looks for slugs that share beginnings of any length, while chunks of the ranking grow, split,
// shrink and vanish, and the table of slugs gets more shards.
func TestRowAfterChanges(t *testing.T) {
	r := rand.New(rand.NewPCG(26, 5))
	slugs := make([]fieldmark.Slug, 8000)
	for i := range slugs {
		slugs[i] = fieldmark.Slug(strings.Repeat("same-", i%4) + strconv.FormatInt(r.Int64N(1<<(1+i%62)), 2+i%35))
	}
	row := func(slug fieldmark.Slug) *ranking.Row {
		return ranking.NewRow(&fieldmark.Score{Slug: slug, Assessment: fieldmark.Assessment{
			Status: fieldmark.StatusPending}})
	}
	s, have := ranking.New(ranking.Method{}, nil, fieldmark.Time{}), map[fieldmark.Slug]bool{}
	for round := range 60 {
		keep := []float64{1, 0.5, 0}[round/20] // the share of slugs that remain after their change
		change := map[fieldmark.Slug]*ranking.Row{}
		for range 1 + r.IntN(1000) {
			slug := slugs[r.IntN(len(slugs))]
			change[slug], have[slug] = nil, false
			if r.Float64() < keep {
				change[slug], have[slug] = row(slug), true
			}
		}
		s = s.Apply(change)
		for _, slug := range slugs {
			got := s.Row(slug)
			if found := got != nil; found != have[slug] || found && got.Slug() != slug {
				t.Fatalf("round %d: the row of %s is %+v, want one: %t", round, slug, got, have[slug])
			}
			if other := slug + "-0"; s.Row(other) != nil {
				t.Fatalf("round %d: there is a row of %s", round, other)
			}
		}
	}
}
