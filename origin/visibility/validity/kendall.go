package validity

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/fieldmark/fieldmark"
)

const (
	resamples    = 2_000 // of a bootstrap: the ends of a 95 % interval are the 50th from each side
	permutations = 9_999 // of a test: the least p is 1 in 10,000
	// wholeStudies is the number of studies from which whole studies are resampled in place of brands: the
	// interval then covers other studies too.
	wholeStudies = 12
)

// series has two values of the brands of one study, as ranks: equal values have one rank.
type series struct{ x, y []int32 }

// newSeries ranks the values of brands that have both.
// It leaves out a brand without one of both: a missing value is not a low one.
func newSeries(x, y []float64) series {
	var a, b []float64
	for i := range x {
		if !math.IsNaN(x[i]) && !math.IsNaN(y[i]) {
			a, b = append(a, x[i]), append(b, y[i])
		}
	}
	return series{ranks(a), ranks(b)}
}

// ranks numbers values from the smallest. Only their order matters for tau, and integers compare faster.
func ranks(values []float64) []int32 {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	out := make([]int32, len(values))
	for i, v := range values {
		at, _ := slices.BinarySearch(sorted, v)
		out[i] = int32(at)
	}
	return out
}

// counts are the pairs of brands: S is concordant less discordant ones, x and y are those that differ.
type counts struct{ s, x, y int64 }

func (c *counts) add(o counts) { c.s, c.x, c.y = c.s+o.s, c.x+o.x, c.y+o.y }

// tau returns Kendall's tau-b; false if all brands have one value.
func (c counts) tau() (float64, bool) {
	// The denominator is 0: nothing can be ordered.
	if c.x == 0 || c.y == 0 {
		return 0, false
	}
	return float64(c.s) / math.Sqrt(float64(c.x)*float64(c.y)), true
}

// count compares the brands at the indices of a series.
func (s *series) count(at []int32) (c counts) {
	for i, a := range at {
		xa, ya := s.x[a], s.y[a]
		// Every pair once. It takes time with the square of the brands, of which a study has at most 100.
		for _, b := range at[:i] {
			dx, dy := sign(xa-s.x[b]), sign(ya-s.y[b])
			c.s += int64(dx * dy)
			c.x += int64(dx * dx)
			c.y += int64(dy * dy)
		}
	}
	return c
}

// sign has no branches, because they would be mispredicted in millions of comparisons.
func sign(d int32) int32 { return d>>31 | int32(uint32(-d)>>31) }

// pooled returns the pairs within all studies.
// Brands of different studies are not compared: their rates depend on the questions.
func pooled(all []series) (c counts) {
	for i := range all {
		c.add(all[i].count(identity(len(all[i].x))))
	}
	return c
}

func identity(n int) []int32 {
	at := make([]int32, n)
	for i := range at {
		at[i] = int32(i)
	}
	return at
}

// associate estimates the association of two values over studies; nil if all brands have one value.
func associate(all []series, random *rand.Rand) *fieldmark.Association {
	observed := pooled(all)
	tau, ok := observed.tau()
	if !ok {
		return nil
	}
	a := &fieldmark.Association{Tau: thousandths(tau), Pairs: int(min(observed.x, observed.y))}
	for i := range all {
		a.Brands += len(all[i].x)
	}
	low, high := bootstrap(all, random)
	a.Low, a.High = thousandths(low), thousandths(high)
	a.P = thousandths(permute(all, observed.s, random))
	return a
}

// bootstrap returns the percentile interval of tau. Resamples in which all brands have one value have no tau
// and are left out.
// The percentile interval needs no assumption about the distribution of tau.
func bootstrap(all []series, random *rand.Rand) (low, high float64) {
	own := make([]counts, len(all))
	for i := range all {
		own[i] = all[i].count(identity(len(all[i].x)))
	}
	var taus []float64
	for range resamples {
		var c counts
		for i := range all {
			// Brands of one study are alike, so that resampling only them makes the interval too narrow.
			if len(all) >= wholeStudies {
				c.add(own[random.IntN(len(all))])
				continue
			}
			at := make([]int32, len(all[i].x))
			for k := range at {
				at[k] = int32(random.IntN(len(at)))
			}
			c.add(all[i].count(at))
		}
		if tau, ok := c.tau(); ok {
			taus = append(taus, tau)
		}
	}
	// Most resamples had one value, as with a signal that hardly any site lacks.
	if len(taus) < resamples/2 {
		return -1, 1 // too few for a statement
	}
	slices.Sort(taus)
	// 2.5 % on each side.
	cut := len(taus) / 40
	return taus[cut], taus[len(taus)-1-cut]
}

// permute returns the share of permutations within studies whose S is at least as far from 0.
// It assumes nothing about the rates but that brands could be exchanged if there were no association.
func permute(all []series, observed int64, random *rand.Rand) float64 {
	if observed < 0 {
		observed = -observed
	}
	shuffled := make([]series, len(all))
	at := make([][]int32, len(all))
	for i := range all {
		shuffled[i] = series{all[i].x, slices.Clone(all[i].y)}
		at[i] = identity(len(all[i].x))
	}
	// The observed order is one of the permutations, so p is never 0 (Phipson and Smyth, 2010).
	extreme := 1
	for range permutations {
		var s int64
		for i := range shuffled {
			y := shuffled[i].y
			// Within a study only, so that differences between studies cannot look like an association.
			random.Shuffle(len(y), func(a, b int) { y[a], y[b] = y[b], y[a] })
			s += shuffled[i].count(at[i]).s
		}
		if max(s, -s) >= observed {
			extreme++
		}
	}
	return float64(extreme) / (permutations + 1)
}

// thousandths rounds half away from 0.
func thousandths(v float64) fieldmark.Milli { return fieldmark.Milli(math.Round(v * 1000)) }

// holm marks the associations that differ from 0 at 5 % for all of them together.
func holm(all []*fieldmark.Association) {
	all = slices.DeleteFunc(slices.Clone(all), func(a *fieldmark.Association) bool { return a == nil })
	slices.SortStableFunc(all, func(a, b *fieldmark.Association) int { return cmp.Compare(a.P, b.P) })
	// Sorted by p: the first that is not below its share of 5 % ends the procedure, whatever follows (Holm, 1979).
	for i, a := range all {
		if int64(a.P)*int64(len(all)-i) > 50 { // thousandths
			return
		}
		a.Distinct = true
	}
}
