package site

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/wasm/scoring"
)

// gateView is a gate that applies, and what lifts it.
type gateView struct {
	fieldmark.Gate
	Disputes []fieldmark.DisputeStatus
	First    bool            // it limits the score most
	From, To fieldmark.Milli // the score while it applies, and about what follows it; both 0 without a score
	Advice   string
	Patches  []fieldmark.Patch
}

// gateChecks are the conditions of eligibility that gates of the published modules stand
// for: their advice and evidence say how to lift the gate.
var gateChecks = map[string]string{
	"answer_crawlers_blocked": fieldmark.CheckFetch, "not_indexable": fieldmark.CheckIndex,
	"app_shell": fieldmark.CheckRead,
}

// shownGain is the least difference that lifting a gate must make to be announced with both
// scores, which are shown in whole points.
const shownGain = fieldmark.MilliOne

// gatesOf lists the gates of a score, the lowest limit first: it has to be lifted before
// another one counts. Behind the last follows the score without gates.
func gatesOf(p *BrandPage) []gateView {
	gates := make([]gateView, len(p.Score.Gates))
	for i, g := range p.Score.Gates {
		gates[i] = gateView{Gate: g, Disputes: disputesOf(p.Disputes, g.ID)}
	}
	slices.SortStableFunc(gates, func(a, b gateView) int { return cmp.Compare(a.Limit, b.Limit) })
	advice := scoring.Advise(&p.Score.Assessment)
	for i := range gates {
		g := &gates[i]
		g.First = i == 0
		if p.Score.Practice != nil {
			limit := func(i int) fieldmark.Milli {
				if i == len(gates) {
					return p.Score.Practice.Score
				}
				return min(p.Score.Practice.Score, fieldmark.Milli(gates[i].Limit)*fieldmark.MilliOne)
			}
			if from, to := limit(i), limit(i+1); to-from >= shownGain {
				g.From, g.To = from, to
			}
		}
		for _, a := range advice {
			if check := gateChecks[g.ID]; check != "" && a.ID == scoring.EligibilityPrefix+check {
				g.Advice, g.Patches = fixOf(p.Score.Eligibility, &a), fieldmark.Patches(a.Evidence)
			}
		}
	}
	return gates
}

// fixOf returns advice without the reason of its condition of eligibility, with which
// scoring.Advise begins it: a page shows the reason above it.
func fixOf(e *fieldmark.Eligibility, advice *fieldmark.Gain) string {
	if e != nil {
		for _, c := range e.Checks {
			if advice.ID == scoring.EligibilityPrefix+c.ID {
				return strings.TrimPrefix(advice.Advice, c.Reason+" ")
			}
		}
	}
	return advice.Advice
}

// liftsGate reports whether advice is shown with a gate.
func liftsGate(s *fieldmark.Score, advice *fieldmark.Gain) bool {
	return slices.ContainsFunc(s.Gates, func(g fieldmark.Gate) bool {
		return gateChecks[g.ID] != "" && advice.ID == scoring.EligibilityPrefix+gateChecks[g.ID]
	})
}
