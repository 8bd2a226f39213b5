package ranking

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// Niche is a niche with its ranked brands.
type Niche struct {
	Name   string
	Brands int
	Median fieldmark.Milli // of their readiness; of an even number the mean of the two in the middle
}

// Niche returns a niche; one without ranked brands has none and a median of 0.
func (s *Snapshot) Niche(name string) Niche {
	n := Niche{Name: name}
	c := s.byBasis[readiness].niches[name]
	if c == nil {
		return n
	}
	n.Brands = c.rows.size
	var sum fieldmark.Milli // of the one or two rows in the middle
	middle := 1 + (n.Brands+1)%2
	taken := 0
	for r := range c.rows.from((n.Brands - 1) / 2) {
		if taken == middle {
			break
		}
		taken++
		sum += fieldmark.Milli(r.ratings[readiness].score)
	}
	n.Median = (sum / fieldmark.Milli(middle)).Tenth()
	return n
}

// AllNiches returns the limit largest niches by name, and how many there are in all.
func (s *Snapshot) AllNiches(limit int) (largest []Niche, all int) {
	for name := range s.byBasis[readiness].niches {
		largest = append(largest, s.Niche(name))
	}
	all = len(largest)
	slices.SortFunc(largest, func(a, b Niche) int {
		return cmp.Or(cmp.Compare(b.Brands, a.Brands), strings.Compare(a.Name, b.Name))
	})
	largest = largest[:min(all, limit)]
	slices.SortFunc(largest, func(a, b Niche) int { return strings.Compare(a.Name, b.Name) })
	return largest, all
}
