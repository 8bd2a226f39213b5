package scoring

import (
	"slices"
	"time"

	"github.com/fieldmark/fieldmark"
)

// gradeFloors contains the lowest score of each grade except the last.
var gradeFloors = []struct {
	grade fieldmark.Grade
	floor fieldmark.Milli
}{{"A", 85 * fieldmark.MilliOne}, {"B", 70 * fieldmark.MilliOne}, {"C", 55 * fieldmark.MilliOne},
	{"D", 40 * fieldmark.MilliOne}}

// GradeOf returns the grade of a score of 0 to 100.
// Grades are given by the lower end of the range, so a site that is little known never gets a
// better one than its evidence supports.
func GradeOf(score fieldmark.Milli) fieldmark.Grade {
	for _, g := range gradeFloors {
		if score >= g.floor {
			return g.grade
		}
	}
	return "E"
}

// LevelOf returns the level of a confidence of 0 to 1.
// Below 0.4 more is unknown than known, and no score is published.
func LevelOf(value fieldmark.Milli) fieldmark.ConfidenceLevel {
	switch {
	case value >= 850:
		return fieldmark.ConfidenceHigh
	case value >= 600:
		return fieldmark.ConfidenceMedium
	case value >= 400:
		return fieldmark.ConfidenceLow
	}
	return fieldmark.ConfidenceInsufficient
}

// AgeLimits are the ages of facts at which an assessment changes: at each of them the
// confidence decreases, at the second a brand is no longer GEO-ready, and at the third
// its score is stale.
func AgeLimits() [3]time.Duration {
	return [...]time.Duration{14 * 24 * time.Hour, fieldmark.ReadyWithin, fieldmark.StaleAfter}
}

// Assess computes score, range, confidence, grade and status of an assessment as of now,
// from components whose signals have their status, points and maximum. The replicates
// are the scores of facts.Replicates, without gates, in thousandths; a replicate without
// a score is left out. All arithmetic is in integers, so every host computes the same
// bytes.
func Assess(components []fieldmark.Component, gates []fieldmark.Gate, facts *fieldmark.Facts,
	replicates []fieldmark.Milli, now time.Time) fieldmark.Assessment {
	a := fieldmark.Assessment{
		Basis: fieldmark.BasisReadiness, Gates: gates, Components: components,
		AsOf: &facts.AsOf, PagesSampled: facts.Pages,
	}
	age := now.Sub(facts.AsOf.Std())
	sums := sumUp(components)
	a.Confidence = confidence(sums, facts, age)
	a.Eligibility = Eligibility(facts)

	if slices.ContainsFunc(gates, func(g fieldmark.Gate) bool { return g.ID == fieldmark.GateUnreachable }) {
		a.Status = fieldmark.StatusUnreachable
		return a
	}
	// The site refused the auditor. Answer engines may well be admitted, so there is no score.
	if facts.Refused {
		a.Status = fieldmark.StatusRefused
		return a
	}
	if a.Confidence.Level == fieldmark.ConfidenceInsufficient {
		a.Status = fieldmark.StatusInsufficientData
		return a
	}
	limit := limitOf(gates)
	exact := ratio(sums.points*100, sums.measured)
	score := min(limit, exact).Tenth()
	a.Score = &score

	// The two errors are independent, so they add up as squares. What is unknown is not random and
	// widens the range on top of them.
	u := fieldmark.Uncertainty{Sampling: samplingError(facts, replicates),
		Weights: weightError(components, exact, sums.measured)}
	half := u.Weights
	if u.Sampling != nil {
		half = root(u.Weights*u.Weights + *u.Sampling**u.Sampling)
	}
	unknown := fieldmark.Milli(sums.applicable-sums.measured) * fieldmark.MilliOne
	low := ratio(sums.points*100, sums.applicable)
	high := ratio((sums.points+unknown)*100, sums.applicable)
	u.Unknown = (high - low).Tenth()
	practice := fieldmark.Range{Low: max(0, low-half).Tenth(), High: min(100*fieldmark.MilliOne, high+half).Tenth()}
	a.Practice = &fieldmark.Practice{Score: exact.Tenth(), Range: practice}
	a.Range = &fieldmark.Range{Low: min(limit, practice.Low), High: min(limit, practice.High)}
	a.Uncertainty = &u
	// By the lower end of the range: a grade is claimed only if it holds with the stated confidence.
	a.Grade = GradeOf(a.Range.Low)
	a.GeoReady = a.Eligibility.State == fieldmark.Eligible && age <= fieldmark.ReadyWithin
	a.Status = fieldmark.StatusScored
	if age > fieldmark.StaleAfter {
		a.Status = fieldmark.StatusStale
	}
	return a
}

// sums are the totals of components. Signals that do not apply are in neither weight.
type sums struct {
	points               fieldmark.Milli
	measured, applicable int // weights
}

// sumUp adds up components and sets their points and measured weight.
// An unknown signal counts in neither points nor measured weight: it costs confidence and not
// points.
func sumUp(components []fieldmark.Component) (all sums) {
	for i := range components {
		c := &components[i]
		c.Points, c.Measured = 0, 0
		for _, s := range c.Signals {
			if s.Status == fieldmark.NotApplicable {
				continue
			}
			all.applicable += s.Max
			if s.Status == fieldmark.Measured {
				c.Measured += s.Max
				c.Points += s.Points
			}
		}
		all.points += c.Points
		all.measured += c.Measured
	}
	return all
}

// limitOf returns the lowest limit of gates.
func limitOf(gates []fieldmark.Gate) fieldmark.Milli {
	limit := 100 * fieldmark.MilliOne
	for _, g := range gates {
		limit = min(limit, fieldmark.Milli(g.Limit)*fieldmark.MilliOne)
	}
	return limit
}

// ratio divides and rounds half up; 0/0 is 0.
func ratio(n fieldmark.Milli, d int) fieldmark.Milli {
	if d == 0 {
		return 0
	}
	return (2*n + fieldmark.Milli(d)) / (2 * fieldmark.Milli(d))
}

// confidence multiplies the measured share by factors for the number of pages and the
// age of the audit. A site of which every page was read needs no more of them.
// Ten pages give the full factor: more of them change the averages of a site by little.
func confidence(all sums, facts *fieldmark.Facts, age time.Duration) fieldmark.Confidence {
	aged := fieldmark.Milli(500)
	for i, limit := range AgeLimits() {
		if age <= limit {
			aged = [...]fieldmark.Milli{1000, 900, 750}[i]
			break
		}
	}
	sample := min(fieldmark.MilliOne, 700+30*fieldmark.Milli(facts.Pages))
	if complete(facts) {
		sample = fieldmark.MilliOne
	}
	value := ratio(fieldmark.Milli(all.measured)*fieldmark.MilliOne*sample*aged, all.applicable*1000*1000)
	return fieldmark.Confidence{Value: value, Level: LevelOf(value), MeasuredWeight: all.measured,
		ApplicableWeight: all.applicable}
}
