package ranking

import (
	"cmp"
	"slices"

	"github.com/fieldmark/fieldmark"
)

// VisibilityBoard lists the brands of a study that can be ranked and are listed here, by a metric in the
// mean of engines or in one engine. It reports false if the study has no such engine.
func (s *Snapshot) VisibilityBoard(r *fieldmark.StudyResult, f fieldmark.VisibilityFilter) (
	fieldmark.VisibilityBoard, bool) {
	b := fieldmark.VisibilityBoard{Items: []fieldmark.VisibilityEntry{}, Study: r.StudyRef, Interval: r.Interval,
		Methodology: r.Methodology, Filters: f, Groups: []fieldmark.VisibilityGroup{}, Note: fieldmark.VisibilityNote}
	of := &r.All
	for i := range r.Engines {
		b.Engines = append(b.Engines, r.Engines[i].Engine)
		if r.Engines[i].Engine == f.Engine {
			of = &r.Engines[i]
		}
	}
	if of.Engine != f.Engine {
		return b, false
	}
	b.Questions, b.Answers = of.Questions, of.Answers
	for i := range of.Brands {
		brand := &of.Brands[i]
		rank, ranked := brand.Ranks[f.Metric]
		rate, row := brand.Rate(f.Metric), s.Row(brand.Slug)
		if !ranked || rate == nil || row == nil || !row.Listed() {
			continue
		}
		b.Items = append(b.Items, fieldmark.VisibilityEntry{Slug: brand.Slug, Name: row.name, Value: rate.Value,
			Low: rate.Low, High: rate.High, Few: rate.Few, RankLow: rank.Low, RankHigh: rank.High, Group: rank.Group,
			Answers: rate.Of})
	}
	slices.SortFunc(b.Items, func(x, y fieldmark.VisibilityEntry) int {
		return cmp.Or(cmp.Compare(x.Group, y.Group), cmp.Compare(y.Value, x.Value), cmp.Compare(x.Slug, y.Slug))
	})
	for i := range b.Items {
		if last := len(b.Groups) - 1; last < 0 || b.Groups[last].N != b.Items[i].Group {
			b.Groups = append(b.Groups, fieldmark.VisibilityGroup{N: b.Items[i].Group, From: i + 1, To: i + 1})
		} else {
			b.Groups[last].To = i + 1
		}
	}
	return b, true
}
