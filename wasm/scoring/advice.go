package scoring

import (
	"slices"

	"github.com/fieldmark/fieldmark"
)

// factor weighs gains: a point with strong evidence comes before one with little.
func factor(g fieldmark.EvidenceGrade) fieldmark.Milli {
	switch g {
	case fieldmark.EvidenceReproduced:
		return 4
	case fieldmark.EvidenceDocumented:
		return 3
	case fieldmark.EvidenceOneStudy:
		return 2
	}
	return 1
}

// priority orders advice: gain times the factor of its evidence, for each unit of
// effort.
// It is in integers like all results: two nodes must not disagree about the order.
func priority(g *fieldmark.Gain) fieldmark.Milli {
	return g.Gain * factor(g.EvidenceGrade) * 6 / fieldmark.Milli(max(1, g.Effort)) // 6: whole for 1, 2 and 3
}

// eligibilityAdvice is how to meet a condition of eligibility.
// The evidence comes from the documentation of the engines, but for the last: tests of crawlers
// show that most run no JavaScript.
var eligibilityAdvice = map[string]fieldmark.Gain{
	fieldmark.CheckFetch: {
		Label: "Fix this first: let answer engines fetch the site",
		Advice: "Make the home page and robots.txt respond with 200, and let the crawlers that feed AI answers " +
			"fetch the " +
			"pages. Training crawlers may stay blocked.",
		EvidenceGrade: fieldmark.EvidenceDocumented, Effort: 1,
	},
	fieldmark.CheckIndex: {
		Label: "Fix this first: let answer engines index and quote the pages",
		Advice: "Remove noindex, none, nosnippet and max-snippet:0 from robots meta elements and X-Robots-Tag header " +
			"fields.",
		EvidenceGrade: fieldmark.EvidenceDocumented, Effort: 1,
	},
	fieldmark.CheckRead: {
		Label:         "Fix this first: put the text into the HTML",
		Advice:        "Render the main text on the server, so that it is in the HTML before JavaScript runs.",
		EvidenceGrade: fieldmark.EvidenceReproduced, Effort: 3,
	},
}

// EligibilityPrefix is the prefix of Gain.ID for a condition of eligibility.
const EligibilityPrefix = "eligibility."

// Advise returns what to improve, in the order in which it is worth the effort. The
// conditions of eligibility that are not met come first, without points: as long as
// engines cannot use a site, nothing else on it helps. Then follows the gain of each
// signal below full points. Gates that apply keep applying: if a gate limits the score, no
// signal has a gain.
func Advise(a *fieldmark.Assessment) []fieldmark.Gain {
	gains := []fieldmark.Gain{}
	if a.Eligibility != nil {
		for _, c := range a.Eligibility.Checks {
			// What could not be measured because of a condition above it is no second thing to fix: an
			// unreachable site need not have noindex.
			if c.State == fieldmark.Eligible || c.State == fieldmark.EligibilityUnknown && len(gains) > 0 {
				continue
			}
			g := eligibilityAdvice[c.ID]
			g.ID, g.Advice, g.Evidence = EligibilityPrefix+c.ID, c.Reason+" "+g.Advice, useful(c.Evidence)
			if a.Score != nil {
				g.Score = *a.Score
			}
			gains = append(gains, g)
		}
	}
	if a.Score == nil {
		return gains
	}
	first := len(gains)
	limit := limitOf(a.Gates)
	all := sumUp(slices.Clone(a.Components))
	for _, c := range a.Components {
		for _, s := range c.Signals {
			full := fieldmark.Milli(s.Max) * fieldmark.MilliOne
			// Only this signal gets better; the others keep what they have.
			better := all
			switch {
			case s.Status == fieldmark.NotApplicable || s.Status == fieldmark.Measured && s.Points == full:
				continue
			case s.Status == fieldmark.Measured:
				better.points += full - s.Points
			default:
				better.points += full
				better.measured += s.Max
			}
			score := min(limit, ratio(better.points*100, better.measured)).Tenth()
			// A gain below a tenth of a point is not worth a line.
			if score > *a.Score {
				gains = append(gains, fieldmark.Gain{ID: s.ID, Label: s.Label, Gain: score - *a.Score, Score: score,
					Advice: s.Advice, EvidenceGrade: s.EvidenceGrade, Effort: s.Effort, Evidence: useful(s.Evidence)})
			}
		}
	}
	slices.SortStableFunc(gains[first:], func(a, b fieldmark.Gain) int { return int(priority(&b) - priority(&a)) })
	return gains
}

// useful returns the evidence that helps most to act: with a patch, then with a passage,
// then the rest.
func useful(evidence []fieldmark.Evidence) []fieldmark.Evidence {
	help := func(e fieldmark.Evidence) int {
		switch {
		case e.Patch != "":
			return 0
		case e.Passage != "":
			return 1
		}
		return 2
	}
	list := slices.Clone(evidence)
	slices.SortStableFunc(list, func(a, b fieldmark.Evidence) int { return help(a) - help(b) })
	return list[:min(len(list), fieldmark.MaxEvidence)]
}
