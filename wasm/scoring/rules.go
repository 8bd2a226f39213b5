package scoring

import "github.com/fieldmark/fieldmark"

// Rules returns the numbers that apply to every module.
// The texts are part of GET /api/v1/methodology. A number that changes in a function of this
// package changes here too.
func Rules() fieldmark.MethodRules {
	r := fieldmark.MethodRules{
		Kinds: kinds(),
		Score: "100 x points / measured weight, rounded half up to one decimal, and at most the lowest limit of the " +
			"gates that apply. A signal that does not apply is in neither sum; an unknown one is not counted as " +
			"zero.",
		Sample: "Always read: the home page, and the pages that it links as about, contact and offer. The others are " +
			"drawn at random, without replacement, from the addresses of the sitemap and the links of the pages " +
			"read; the draw uses a seed that the auditor generates after it has read the sitemap, so that a site " +
			"cannot arrange its sample. Small sites are read completely; for larger ones the number of pages " +
			"grows with the logarithm of the known addresses, up to 32. The facts publish the seed, the number " +
			"of known addresses, and every page with its status, role and hash, so that anybody can repeat the " +
			"audit.",
		Range: "From the score with unknown signals at zero less an error, to the score with unknown signals at " +
			"full points plus the error, under the same gates. The error is the root of the sum of the squares " +
			"of the sampling part and the weights part. The grade is that of the lower end.",
		RangeParts: rangeParts(),
		Confidence: fieldmark.ConfidenceRules{
			Formula: "measured weight / applicable weight x min(1, 0.70 + 0.03 x pages), or 1 if every page was " +
				"read, x " +
				"factor of age",
			Ages: []fieldmark.AgeRule{{Days: 14, Factor: 1000}, {Days: 30, Factor: 900}, {Days: 90, Factor: 750},
				{Factor: 500}},
			Levels: []fieldmark.ConfidenceMin{{Level: fieldmark.ConfidenceHigh, Min: 850},
				{Level: fieldmark.ConfidenceMedium, Min: 600}, {Level: fieldmark.ConfidenceLow, Min: 400}},
		},
		GeoReady: "engines can fetch, index and read the site, by an audit within 30 days; it does not depend on the " +
			"score",
		Ranking: "Public brands with a score, confidence 0.60 or more, audited within 90 days. A brand has every " +
			"rank that its range allows: the best is one more than the number of brands whose range is certainly " +
			"above its own, the last is the number of brands whose range is not certainly below it. A change of " +
			"rank within a week is shown only if the ranks of then and now do not overlap. Lists are ordered by " +
			"score, then by confidence, age and slug.",
		Visibility: fieldmark.VisibilityRules{
			Methodology: fieldmark.VisibilityMethodology,
			Weights: map[string]int{"mentionRate": visibilityWeights[0], "citationRate": visibilityWeights[1],
				"shareOfVoice": visibilityWeights[2]},
			Interval: "Wilson, 95 %, with the effective number of answers, from the variance between questions, " +
				"and Student's t; over questions and days from five days on; the sum has its own interval from " +
				"the summed influences; if fewer than 12 questions name the brand, each question counts as one " +
				"answer; absent rates are dropped; accuracy is shown and not counted; sums of answers are " +
				"indicative and never ranked",
			MinPrompts: fieldmark.MinVisibilityPrompts, MinRuns: fieldmark.MinVisibilityRuns,
			MaxAgeDays: int(fieldmark.VisibilityWithin.Hours() / 24),
			Full:       "0.60 x readiness + 0.40 x visibility, where both may be ranked; a list of its own",
		},
		Statuses: map[string]string{
			string(fieldmark.StatusScored): "has a score", string(fieldmark.StatusPending): "not audited yet",
			string(fieldmark.StatusUnreachable): "its site did not respond",
			string(fieldmark.StatusRefused): "its bot protection refused every audit so far, which says nothing " +
				"about other crawlers",
			string(fieldmark.StatusInsufficientData): "confidence below 0.40",
			string(fieldmark.StatusStale):            "audited more than 90 days ago; not ranked",
			string(fieldmark.StatusUnlisted):         "taken out of all lists by its owner; not audited",
		},
	}
	r.Accusations = "Text that tells language models what to answer limits the score only if it names its addressee " +
		"(a model, an assistant, AI, or a chat token) and gives an order, and if it promotes, also names the " +
		"brand of the site. It must be found by two audits at least 24 hours apart: until the second one, " +
		"nothing public mentions it. The finding then quotes the words with their page."
	r.Contest = "Anybody can contest a finding: POST /api/v1/brands/{slug}/disputes with the id of the signal or " +
		"gate, what is wrong and an e-mail address; no key is needed. The operator decides and publishes the " +
		"reason. If a dispute of the manipulation gate is upheld, later audits ignore the disputed words. If one of " +
		"the fact text.plausible is upheld, text that the registry saw earlier at another brand is attributed to " +
		"this one."
	r.Limits = limits()
	for _, g := range gradeFloors {
		r.Grades = append(r.Grades, fieldmark.GradeRule{Grade: g.grade, Min: g.floor})
	}
	r.Grades = append(r.Grades, fieldmark.GradeRule{Grade: "E"})
	return r
}

// kinds are the three kinds of knowledge that a score document keeps apart.
func kinds() []fieldmark.KnowledgeRule {
	return []fieldmark.KnowledgeRule{
		{
			ID: "eligible", Question: "Can answer engines fetch, index and read the site?",
			Basis: "conditions in the documentation of the engines, checked on robots.txt, response headers and HTML",
			Claims: "yes, partly, no or unknown, with the reason; “GEO-ready” means yes by an audit within 30 days, " +
				"and nothing else",
			Not: "that an engine uses the site, or ever has",
		},
		{
			ID: "practice", Question: "Does the site follow good practice?",
			Basis:  "facts that anyone can look up on the site, weighted by the strength of their evidence",
			Claims: "0 to 100 with a range: good practice, effect not proven",
			Not:    "that more points lead to more citations or mentions",
		},
		{
			ID: "visibility", Question: "How often do engines name or cite the brand?",
			Basis:  "answers of engines to repeated prompts, imported with their counts",
			Claims: "measured rates with intervals, for the engines, prompts and dates of the sample",
			Not:    "why; and nothing at all without imported answers",
		},
	}
}

func rangeParts() []fieldmark.RangePart {
	return []fieldmark.RangePart{
		{
			ID: "sampling", Covers: "Another draw of pages from the unchanged site",
			Formula: "t(0.975; n − 1) × √2 × s × √(n / (n − 1)), where s is the standard deviation of the score " +
				"over 24 " +
				"bootstrap samples of the n drawn pages. The bootstrap repeats the draw without replacement: each " +
				"drawn page represents as many pages of the site as it was drawn from. It is a repeatability limit " +
				"(ISO 5725-6): two audits of the same site differ by less in 95 of 100 cases. 0 if every known page " +
				"was read; not estimated with fewer than two drawn pages.",
			Not: "pages that neither the sitemap nor a link names, and changes of the site between two audits",
		},
		{
			ID: "weights", Covers: "Other weights that could be defended as well",
			Formula: "0.522 × √(Σ (w × (100 × m − score))²) / Σ w, over the measured signals of weight w and mark " +
				"m: the " +
				"90 % interval of the score, to first order, if each weight is multiplied by an independent factor " +
				"that is uniform in logarithm between 1 / 1.732 and 1.732.",
			Not: "other signals and other curves",
		},
		{
			ID: "unknown", Covers: "Signals that could not be measured",
			Formula: "The low end counts them as 0, the high end as full points.",
			Not:     "signals that do not apply to the site: they are in neither sum",
		},
	}
}

func limits() []string {
	return []string{
		"It does not say that raising the score raises citations or mentions. No study has shown this for " +
			"this score, and the one pre-registered study of a comparable score found no relation.",
		"It does not separate brands whose ranges overlap; they share a rank.",
		"The weights are a judgement within the limits of the evidence grades, not a measurement. The range " +
			"covers other weights, not other signals.",
		"It describes the site of a brand. What others write about the brand correlates more strongly with " +
			"being named and is not measured.",
		"It counts figures, sources and quotations, and does not check whether they are true or relevant.",
		"It describes the pages that were read, at the time of the audit, as the auditor received them. A " +
			"site can answer an engine differently.",
		"Facts about text are unknown if most texts of a site were seen at least a day earlier on the site of " +
			"another brand. This comes from the registry and not from the site: an audit outside of it cannot " +
			"tell, and text that was changed, or that is not in the registry, is not recognized. Who was seen " +
			"first need not be who wrote it; a dispute can change it.",
		"Patterns of words and common words are known for 28 languages. In others more facts are unknown, " +
			"and the range is wider.",
		"A site can follow the rules without being useful. Claims that can be " +
			"verified are verified: profiles, dates and the language of the text. The others are taken as they " +
			"are.",
	}
}
