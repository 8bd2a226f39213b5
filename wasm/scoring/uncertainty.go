package scoring

import "github.com/fieldmark/fieldmark"

// weightBand90 is 1.645 standard deviations of the logarithm of a factor that is uniform
// in logarithm between 1/WeightBand and WeightBand: 1.645 x ln(1.732) / 1.732, in
// millionths.
const weightBand90 = 521_700

// weightError returns the half width of the interval that contains 90 % of the scores
// with every weight multiplied by such a factor, to first order: a signal moves the
// score by its weight and its distance from the score.
func weightError(components []fieldmark.Component, score fieldmark.Milli, measured int) fieldmark.Milli {
	if measured == 0 {
		return 0
	}
	var sum int64 // of at most 100 signals of 100 points each: below 2^57
	for _, c := range components {
		for _, s := range c.Signals {
			if s.Status == fieldmark.Measured {
				moved := int64(s.Points)*100 - int64(score)*int64(s.Max) // hundred times
				sum += moved * moved
			}
		}
	}
	return fieldmark.Milli(weightBand90 * isqrt(sum) / int64(measured) / 1_000_000).Tenth()
}

// repeatability contains, by degrees of freedom from 1, the two-sided 95 % quantile of
// Student's t times the root of 2, in thousandths: the factor from the standard deviation
// of one score to the difference of two (ISO 5725-6, section 4.1).
var repeatability = [...]fieldmark.Milli{17969, 6085, 4501, 3927, 3635, 3460, 3344, 3261, 3199, 3151,
	3113, 3081, 3055, 3033, 3014, 2998, 2984, 2971, 2960, 2950,
	2941, 2933, 2925, 2919, 2913, 2907, 2902, 2897, 2892, 2888, 2884}

// samplingError returns how far a second audit of an unchanged site, with another draw of
// pages, may differ in 95 of 100 cases: 0 if every page was requested, nil if the facts do
// not show it.
// It answers an owner's question: is the change since the last audit more than chance?
func samplingError(facts *fieldmark.Facts, replicates []fieldmark.Milli) *fieldmark.Milli {
	var half fieldmark.Milli
	switch {
	case complete(facts):
		return &half
	case facts.Replicates == nil || facts.Replicates.Drawn < 2 || len(replicates) < 2:
		return nil
	}
	var mean, squares int64
	for _, r := range replicates {
		mean += int64(r)
	}
	n := int64(len(replicates))
	mean /= n
	for _, r := range replicates {
		squares += (int64(r) - mean) * (int64(r) - mean)
	}
	// A bootstrap sample of n pages varies less than n new pages, by (n-1)/n.
	drawn := int64(facts.Replicates.Drawn)
	variance := squares / (n - 1) * drawn / (drawn - 1)
	factor := repeatability[min(int(drawn)-1, len(repeatability))-1]
	half = (fieldmark.Milli(isqrt(variance)) * factor / fieldmark.MilliOne).Tenth()
	return &half
}

// complete reports whether an audit requested every known page, so that nothing was drawn.
func complete(facts *fieldmark.Facts) bool {
	return facts.Sample != nil && facts.Pages > 0 && facts.Sample.Seed == ""
}

// root returns the square root of m, which is in millionths, in thousandths.
func root(m fieldmark.Milli) fieldmark.Milli { return fieldmark.Milli(isqrt(int64(m))) }
