package estimate

import "math"

// T returns the t of a paired comparison.
func (d Difference) T() float64 {
	spread, _ := d.spread.Float64()
	sum, _ := d.sum.Float64()
	return sum * math.Sqrt(float64(d.questions-1)/spread)
}

// HolmBound returns the quantile that |t| must exceed when some tests are left, in millionths.
func HolmBound(tests, degrees int) int64 { return quantile(holmZ(tests), degrees) }

// Variances returns the variances of a rate over questions, over days and over cells, that of both levels
// together, and its degrees of freedom.
func Variances(r Ratio) (questions, days, cells, both float64, degrees int) {
	s := newSum([]Ratio{r})
	of := func(influences []int64, n int) float64 {
		v, _ := s.between(influences, n).Float64()
		return v / unit / unit
	}
	v, degrees := s.twoLevels(s.between(s.byQuestion, s.questions))
	both, _ = v.Float64()
	return of(s.byQuestion, s.questions), of(s.byDay, s.days), of(s.byCell, s.cells), both / unit / unit, degrees
}
