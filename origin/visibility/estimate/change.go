package estimate

import "math/big"

// Cause is what a change between two studies is attributed to.
type Cause string

// Causes of a change.
const (
	CauseBrand   Cause = "brand"   // the brand moved against the others
	CauseEngine  Cause = "engine"  // the engine changed, or all brands moved
	CauseUnclear Cause = "unclear" // neither is shown
)

// Change is a change of a rate between two studies of the same questions.
type Change struct {
	Value, Low, High int64 // in millionths, with the 95 % interval
	Cause            Cause
}

// Compare compares the values of common questions in two studies: of a brand, and the mean of the
// others of the panel. It reports false if no change is shown at 0.1 %: of weekly studies
// of a brand one in twenty years is a false alarm. NewModel means that the engine reported another
// model.
func Compare(now, then, othersNow, othersThen []int64, newModel bool) (Change, bool) {
	if len(now) <= minDegrees {
		return Change{}, false
	}
	alarm := quantile(z9995, len(now)-1)
	brand := Paired(now, then)
	if !brand.exceeds(alarm) {
		return Change{}, false
	}
	var c Change
	c.Value, c.Low, c.High = brand.Interval95()
	panel := Paired(othersNow, othersThen).exceeds(alarm)
	relative := Paired(minus(now, othersNow), minus(then, othersThen)).exceeds(alarm)
	switch {
	case newModel || panel && !relative:
		c.Cause = CauseEngine
	case relative:
		c.Cause = CauseBrand
	default:
		c.Cause = CauseUnclear
	}
	return c, true
}

func minus(a, b []int64) []int64 {
	d := make([]int64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return d
}

// leastVariance is the variance between questions that a forecast assumes at least, in
// billionths squared: a pilot of similar questions understates it.
const leastVariance = 20_000_000 * billion

// PilotQuestions is the size of the first stage of a study with a width to reach.
const PilotQuestions = 30

// QuestionsFor returns the number of questions whose interval has a half-width in
// millionths, from the values of a pilot with at least two questions (Stein's two stages): the
// second stage sends as many questions and its result is not read before its end.
func QuestionsFor(pilot []int64, halfWidth int64) int {
	c := big.NewInt(T975(len(pilot) - 1))
	n := new(big.Int).Mul(c.Mul(c, c), pilotVariance(pilot))
	// (10^-6)² · (10^-9)² over (10^-6)²
	d := new(big.Int).Mul(big.NewInt(halfWidth), big.NewInt(halfWidth))
	d.Mul(d, new(big.Int).SetUint64(billion*billion))
	n.Add(n, d).Sub(n, big.NewInt(1)).Quo(n, d)
	return int(n.Int64())
}

// HalfWidthOf returns the half-width in millionths that a number of questions can reach.
func HalfWidthOf(pilot []int64, questions int) int64 {
	v := pilotVariance(pilot)
	v.Quo(v, big.NewInt(int64(questions))).Sqrt(v) // billionths
	v.Mul(v, big.NewInt(T975(len(pilot)-1)))
	return halfUp(v, big.NewInt(billion)).Int64()
}

// pilotVariance is the variance between questions in billionths squared.
func pilotVariance(values []int64) *big.Int {
	d := Paired(values, make([]int64, len(values)))
	m := int64(len(values))
	return maxInt(d.spread.Quo(d.spread, big.NewInt(m*max(m-1, 1))), big.NewInt(leastVariance))
}

func maxInt(a, b *big.Int) *big.Int {
	if a.Cmp(b) < 0 {
		return b
	}
	return a
}
