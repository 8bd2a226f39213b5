package scoring

import (
	"slices"

	"github.com/fieldmark/fieldmark"
)

// factor weighs gains: a point that is well founded comes before one that is
// not.
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
func priority(g *fieldmark.Gain) fieldmark.Milli {
	return g.Gain * factor(g.EvidenceGrade) * 6 / fieldmark.Milli(max(1, g.Effort)) // 6: whole for 1, 2 and 3
}

// Advise returns the gain of each signal below full points, in the order in which it is
// worth the effort. Gates that apply keep applying: if a gate limits the score, no
// signal has a gain.
func Advise(a *fieldmark.Assessment) []fieldmark.Gain {
	gains := []fieldmark.Gain{}
	if a.Score == nil {
		return gains
	}
	limit := limitOf(a.Gates)
	all := sumUp(slices.Clone(a.Components))
	for _, c := range a.Components {
		for _, s := range c.Signals {
			full := fieldmark.Milli(s.Max) * fieldmark.MilliOne
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
			if score > *a.Score {
				gains = append(gains, fieldmark.Gain{ID: s.ID, Label: s.Label, Gain: score - *a.Score, Score: score,
					Advice: s.Advice, EvidenceGrade: s.EvidenceGrade, Effort: s.Effort, Evidence: s.Evidence})
			}
		}
	}
	slices.SortStableFunc(gains, func(a, b fieldmark.Gain) int { return int(priority(&b) - priority(&a)) })
	return gains
}
