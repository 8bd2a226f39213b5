package validity

import "math/rand/v2"

// Tau returns the correlation of values within studies, its pairs, and the p of a permutation test.
func Tau(x, y [][]float64, random *rand.Rand) (tau float64, s, differInX, differInY int64, p float64) {
	var all []series
	for i := range x {
		all = append(all, newSeries(x[i], y[i]))
	}
	c := pooled(all)
	tau, _ = c.tau()
	return tau, c.s, c.x, c.y, permute(all, c.s, random)
}
