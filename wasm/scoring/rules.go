package scoring

import "github.com/fieldmark/fieldmark"

// Rules returns the numbers that apply to every module.
func Rules() fieldmark.MethodRules {
	r := fieldmark.MethodRules{
		Score: "100 x points / measured weight, rounded half up to one decimal, and at most the lowest limit of the " +
			"gates that apply. A signal that does not apply is in neither sum; an unknown one is not counted as zero.",
		Range: "From the score with unknown signals at zero less an error, to the score with unknown signals at " +
			"full points plus an error, under the same gates. The error is the root of the sum of two squares: what " +
			"another draw of pages changes in 95 of 100 audits, and what weights up to 1.732 times larger or smaller " +
			"change in 90 of 100 cases. If every page was read, there is no error of the draw.",
		Confidence: fieldmark.ConfidenceRules{
			Formula: "measured weight / applicable weight x min(1, 0.70 + 0.03 x pages), or 1 if every page was read, " +
				"x factor of age",
			Ages: []fieldmark.AgeRule{{Days: 14, Factor: 1000}, {Days: 30, Factor: 900}, {Days: 90, Factor: 750},
				{Factor: 500}},
			Levels: []fieldmark.ConfidenceMin{{Level: fieldmark.ConfidenceHigh, Min: 850},
				{Level: fieldmark.ConfidenceMedium, Min: 600}, {Level: fieldmark.ConfidenceLow, Min: 400}},
		},
		GeoReady: "engines can fetch, index and read the site, by an audit within 30 days; it does not depend on " +
			"the score",
		Ranking: "Public brands with a score, confidence 0.60 or more, audited within 90 days. A brand has every rank " +
			"that its range allows: the best is one more than the number of brands whose range is certainly above its " +
			"own, the last is the number of brands whose range is not certainly below it. A change of rank within a " +
			"week is shown only if the ranks of then and now do not overlap. Lists are ordered by score, then by " +
			"confidence, age and slug.",
		Visibility: fieldmark.VisibilityRules{
			Methodology: fieldmark.VisibilityMethodology,
			Weights: map[string]int{"mentionRate": visibilityWeights[0], "citationRate": visibilityWeights[1],
				"shareOfVoice": visibilityWeights[2]},
			Interval: "Wilson, 95 %, of every rate, carried to the sum; the mean over the engines that may be " +
				"ranked; absent rates are dropped; accuracy is shown and not counted",
			MinPrompts: fieldmark.MinVisibilityPrompts, MinRuns: fieldmark.MinVisibilityRuns,
			MaxAgeDays: int(fieldmark.VisibilityWithin.Hours() / 24),
			Full:       "0.60 x readiness + 0.40 x visibility, where both may be ranked; a list of its own",
		},
		Statuses: map[string]string{
			string(fieldmark.StatusScored): "has a score", string(fieldmark.StatusPending): "not audited yet",
			string(fieldmark.StatusUnreachable):      "its site did not respond",
			string(fieldmark.StatusInsufficientData): "confidence below 0.40",
			string(fieldmark.StatusStale):            "audited more than 90 days ago; not ranked",
		},
	}
	for _, g := range gradeFloors {
		r.Grades = append(r.Grades, fieldmark.GradeRule{Grade: g.grade, Min: g.floor})
	}
	r.Grades = append(r.Grades, fieldmark.GradeRule{Grade: "E"})
	return r
}
