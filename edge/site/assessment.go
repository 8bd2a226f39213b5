package site

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/ui"
	"github.com/fieldmark/fieldmark/wasm/scoring"
)

// What the page of a brand shows of its assessment: eligibility, practice, advice, components and signals.

// checkView is a condition of eligibility in words.
type checkView struct {
	fieldmark.EligibilityCheck
	Question, Answer string
}

var checkQuestions = map[string]string{
	fieldmark.CheckFetch: "Fetch", fieldmark.CheckIndex: "Index and quote", fieldmark.CheckRead: "Read",
}

func checksOf(s *fieldmark.Score) (checks []checkView) {
	if s.Eligibility == nil {
		return nil
	}
	for _, c := range s.Eligibility.Checks {
		checks = append(checks, checkView{c, cmp.Or(checkQuestions[c.ID], c.ID), eligibilityWord(c.State)})
	}
	return checks
}

// eligibilityWord names the answer to a question of eligibility.
func eligibilityWord(s fieldmark.EligibilityState) string {
	switch s {
	case fieldmark.Eligible:
		return "Yes"
	case fieldmark.PartlyEligible:
		return "Partly"
	case fieldmark.NotEligible:
		return "No"
	case fieldmark.EligibilityUnknown:
	}
	return "Unknown"
}

// practiceView is the score without gates, and what its range consists of.
type practiceView struct {
	Score fieldmark.Milli
	Range fieldmark.Range
	Grade fieldmark.Grade
	Parts []string
}

func practiceOf(s *fieldmark.Score) *practiceView {
	if s.Practice == nil {
		return nil
	}
	p := &practiceView{Score: s.Practice.Score, Range: s.Practice.Range, Grade: scoring.GradeOf(s.Practice.Range.Low)}
	if s.Uncertainty == nil {
		return p
	}
	switch sampling := s.Uncertainty.Sampling; {
	case sampling == nil:
		p.Parts = append(p.Parts,
			"Another sample of pages: not estimated, because too few pages were sampled or the audit "+
				"did not record it.")
	case *sampling == 0:
		p.Parts = append(p.Parts, "Another sample of pages: no difference, because every known page was read.")
	default:
		p.Parts = append(p.Parts, fmt.Sprintf("Another sample of pages: ±%s points in 95 of 100 audits.",
			decimal(*sampling)))
	}
	p.Parts = append(p.Parts, fmt.Sprintf("Other weights, each up to %s times larger or smaller: ±%s points in 90 of "+
		"100 cases.", fieldmark.WeightBand, decimal(s.Uncertainty.Weights)))
	if s.Uncertainty.Unknown > 0 {
		p.Parts = append(p.Parts, fmt.Sprintf("Signals that could not be measured: %s points between their worst and "+
			"best.", decimal(s.Uncertainty.Unknown)))
	}
	return p
}

// adviceView is advice with the places that it is about.
type adviceView struct {
	fieldmark.Gain
	About  string
	Places []fieldmark.Evidence // page, passage and patch; at most maxPlaces
}

// maxPlaces is how many places of one piece of advice are shown: enough to see the
// pattern.
const maxPlaces = 2

// adviceOf returns the first advice in the order of scoring.Advise, as if no gate applied:
// while one limits the score nothing else raises it, and the page shows it first.
func adviceOf(s *fieldmark.Score) (advice []adviceView) {
	a := s.Assessment
	if a.Practice != nil {
		a.Gates, a.Score = nil, &a.Practice.Score
	}
	a.Components = slices.Clone(a.Components)
	unknown := map[string]bool{} // there is nothing to do about them
	for _, c := range a.Components {
		for _, sig := range c.Signals {
			unknown[sig.ID] = sig.Status == fieldmark.Unknown
		}
	}
	for _, g := range scoring.Advise(&a) {
		if g.Advice == "" || unknown[g.ID] || liftsGate(s, &g) {
			continue
		}
		g.Advice = fixOf(s.Eligibility, &g)
		v := adviceView{Gain: g, About: aboutAdvice(&g)}
		for _, e := range g.Evidence {
			if (e.Passage != "" || e.Patch != "") && len(v.Places) < maxPlaces {
				v.Places = append(v.Places, e)
			}
		}
		if v.Places == nil {
			v.Places = g.Evidence[:min(len(g.Evidence), 1)]
		}
		if advice = append(advice, v); len(advice) == maxAdvice {
			break
		}
	}
	return advice
}

// componentView is a component with its signals in two lists.
type componentView struct {
	fieldmark.Component
	Failed []signalView // that miss points, the most first, then unknown and disputed ones
	Passed []signalView // with full points, then those that do not apply
}

// signalView is a signal with the disputes of it.
type signalView struct {
	*fieldmark.Signal
	Disputes []fieldmark.DisputeStatus
}

func componentsOf(s *fieldmark.Score, disputes []fieldmark.DisputeStatus) []componentView {
	views := make([]componentView, len(s.Components))
	missing := func(s *signalView) int {
		if s.Status != fieldmark.Measured {
			return 0
		}
		return s.Max*int(fieldmark.MilliOne) - int(s.Points)
	}
	for i, c := range s.Components {
		v := &views[i]
		v.Component = c
		for i := range c.Signals {
			sig := signalView{&c.Signals[i], disputesOf(disputes, c.Signals[i].ID)}
			if sig.Status == fieldmark.Unknown || missing(&sig) > 0 || sig.Disputes != nil {
				v.Failed = append(v.Failed, sig)
			} else {
				v.Passed = append(v.Passed, sig)
			}
		}
		slices.SortStableFunc(v.Failed,
			func(a, b signalView) int { return cmp.Compare(missing(&b), missing(&a)) })
		slices.SortStableFunc(v.Passed, func(a, b signalView) int { return cmp.Compare(a.Status, b.Status) })
	}
	return views
}

// PassedCount returns how many signals have full points.
func (v *componentView) PassedCount() int {
	return len(v.Passed) - v.NotApplicable()
}

// NotApplicable returns how many signals do not apply.
func (v *componentView) NotApplicable() (n int) {
	for _, s := range v.Passed {
		if s.Status == fieldmark.NotApplicable {
			n++
		}
	}
	return n
}

// gradeName is an evidence grade in words.
type gradeName struct{ Name, Text string }

var gradeNames = map[fieldmark.EvidenceGrade]gradeName{
	fieldmark.EvidenceReproduced: {"reproduced", "an effect or association measured more than once"},
	fieldmark.EvidenceDocumented: {"documented", "a condition in the documentation of an engine"},
	fieldmark.EvidenceOneStudy:   {"one study", "measured once, or contested"},
	fieldmark.EvidenceJudgement:  {"judgement", "plausible, no study"},
}

// Grades returns the evidence grades of the page's signals, the strongest first.
func (v *brandView) Grades() (grades []gradeName) {
	for _, g := range []fieldmark.EvidenceGrade{fieldmark.EvidenceReproduced, fieldmark.EvidenceDocumented,
		fieldmark.EvidenceOneStudy, fieldmark.EvidenceJudgement} {
		if slices.ContainsFunc(v.Score.Components, func(c fieldmark.Component) bool {
			return slices.ContainsFunc(c.Signals, func(s fieldmark.Signal) bool { return s.EvidenceGrade == g })
		}) {
			grades = append(grades, gradeNames[g])
		}
	}
	return grades
}

// aboutAdvice returns how long advice takes and how well it is known that it matters.
func aboutAdvice(g *fieldmark.Gain) string {
	var parts []string
	if efforts := [...]string{"hours", "days", "weeks"}; 1 <= g.Effort && g.Effort <= len(efforts) {
		parts = append(parts, "Effort: "+efforts[g.Effort-1])
	}
	if grade, ok := gradeNames[g.EvidenceGrade]; ok {
		parts = append(parts, "evidence: "+grade.Name+" ("+grade.Text+")")
	}
	return strings.Join(parts, " · ")
}

// sampleView is what an audit read, and how to repeat it.
type sampleView struct {
	*fieldmark.Sample
	Profiles []fieldmark.Profile
	Command  string
	Dispute  string // path on which text that was seen earlier elsewhere is disputed; empty without such text
}

func sampleOf(p *BrandPage) *sampleView {
	if p.Facts == nil || p.Facts.Sample == nil && len(p.Facts.Profiles) == 0 {
		return nil
	}
	v := &sampleView{Sample: p.Facts.Sample, Profiles: p.Facts.Profiles}
	if v.Sample != nil {
		v.Command = "fieldmark audit " + quoteShell(p.Score.URL)
		if v.Seed != "" {
			v.Command += " --seed " + quoteShell(v.Seed)
		}
		if p.Facts.Wide() {
			v.Command += " --facts wide"
		}
		if slices.ContainsFunc(v.Pages, func(p fieldmark.SampledPage) bool { return p.Earlier != "" }) {
			v.Dispute = fieldmark.DisputePath(p.Score.Slug, fieldmark.FactText)
		}
	}
	return v
}

// observedView is an observed fact in words.
type observedView struct {
	Label, Answer string
	Known         bool
	Evidence      []fieldmark.Evidence
}

// observedOf returns the observed facts of a brand, nil if the audit is older than they are.
func observedOf(p *BrandPage) (list []observedView) {
	if p.Facts == nil {
		return nil
	}
	for _, o := range fieldmark.ObservedFacts() {
		f, ok := p.Facts.Find(o.ID)
		if !ok || !p.Facts.Wide() {
			continue
		}
		v := observedView{Label: o.Label, Answer: f.Answer(), Known: f.State == fieldmark.Measured,
			Evidence: f.Evidence}
		if !o.Wide && !v.Known {
			v.Answer = "not stated"
		}
		list = append(list, v)
	}
	return list
}

// quoteShell quotes a word for a POSIX shell, where it needs it: the address comes from
// outside, and the command is made to be pasted.
func quoteShell(s string) string {
	s = plain(s)
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/%=") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// profileWord returns whether a profile links back to the site, in words.
func profileWord(s fieldmark.ProfileState) string {
	switch s {
	case fieldmark.ProfileVerified:
		return "leads back"
	case fieldmark.ProfileRefuted:
		return "does not lead back"
	case fieldmark.ProfileUnknown:
	}
	return "could not be read"
}

// shortHash shortens a hash to what a reader compares by eye.
func shortHash(s string) string { return s[:min(len(s), 12)] }

// pathOf shortens the address of a page of a site to its path.
func pathOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return raw
	}
	return u.RequestURI()
}

// ranksOf writes the range of ranks: 3, or 1–4.
func ranksOf(best, last int) string {
	if last <= best {
		return ui.Number(best)
	}
	return ui.Number(best) + "–" + ui.Number(last)
}

// betweenOf writes a range in words.
func betweenOf(r fieldmark.Range) string {
	return "between " + decimal(r.Low) + " and " + decimal(r.High)
}
