package mcp

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/ranking"
)

// evidenceView is evidence of a finding. Patches, which are text to paste, are left out.
type evidenceView struct {
	Fact    foreign `json:"fact,omitempty"`
	Passage foreign `json:"passage,omitempty"`
	URL     foreign `json:"url,omitempty"`
}

func newEvidence(all []fieldmark.Evidence) (list []evidenceView) {
	for _, e := range all[:min(len(all), evidencePerSign)] {
		list = append(list, evidenceView{quote(e.Fact), quote(e.Passage), quote(e.URL)})
	}
	return list
}

// findingView is a condition of eligibility or a gate.
type findingView struct {
	ID       string         `json:"id"`
	State    string         `json:"state,omitempty"`
	Limit    int            `json:"limit,omitempty"`
	Reason   string         `json:"reason"`
	Evidence []evidenceView `json:"evidence,omitempty"`
}

type signalView struct {
	ID       string                  `json:"id"`
	Status   fieldmark.FactState     `json:"status"`
	Points   fieldmark.Milli         `json:"points"`
	Max      int                     `json:"max"`
	Grade    fieldmark.EvidenceGrade `json:"evidenceGrade,omitempty"`
	Evidence []evidenceView          `json:"evidence,omitempty"`
}

type componentView struct {
	ID      string          `json:"id"`
	Weight  int             `json:"weight"`
	Points  fieldmark.Milli `json:"points"`
	Signals []signalView    `json:"signals"`
}

type gainView struct {
	ID       string          `json:"id"`
	Gain     fieldmark.Milli `json:"gain"`
	Score    fieldmark.Milli `json:"score"`
	Advice   string          `json:"advice"`
	Effort   int             `json:"effort,omitempty"`
	Evidence []evidenceView  `json:"evidence,omitempty"`
}

// verdictView is what a module makes of facts.
type verdictView struct {
	Status      fieldmark.ScoreStatus     `json:"status"`
	Score       *fieldmark.Milli          `json:"score"`
	Grade       fieldmark.Grade           `json:"grade,omitempty"`
	Range       *fieldmark.Range          `json:"range"`
	Confidence  fieldmark.ConfidenceLevel `json:"confidence,omitempty"`
	GeoReady    bool                      `json:"geoReady"`
	AsOf        *fieldmark.Time           `json:"asOf"`
	Basis       string                    `json:"basis,omitempty"`
	Pages       int                       `json:"pagesSampled,omitempty"`
	Methodology string                    `json:"methodology,omitempty"`
	Module      fieldmark.Digest          `json:"module,omitempty"`
	Eligibility []findingView             `json:"eligibility,omitempty"`
	Gates       []findingView             `json:"gates,omitempty"`
	Components  []componentView           `json:"components,omitempty"`
	Gains       []gainView                `json:"gains,omitempty"`
	Truncated   bool                      `json:"truncated,omitempty"`
}

func newVerdict(a *fieldmark.Assessment, gains []fieldmark.Gain) verdictView {
	v := verdictView{Status: a.Status, Score: a.Score, Grade: a.Grade, Range: a.Range, Confidence: a.Confidence.Level,
		GeoReady: a.GeoReady, AsOf: a.AsOf, Basis: a.Basis, Pages: a.PagesSampled,
		Methodology: a.Methodology.ID + " " + a.Methodology.Version, Module: a.Module.Digest}
	if a.Eligibility != nil {
		for _, c := range a.Eligibility.Checks {
			v.Eligibility = append(v.Eligibility, findingView{ID: c.ID, State: string(c.State), Reason: c.Reason,
				Evidence: newEvidence(c.Evidence)})
		}
	}
	for _, g := range a.Gates {
		v.Gates = append(v.Gates, findingView{ID: g.ID, Limit: g.Limit, Reason: g.Reason,
			Evidence: newEvidence(g.Evidence)})
	}
	for _, c := range a.Components {
		component := componentView{ID: c.ID, Weight: c.Weight, Points: c.Points, Signals: []signalView{}}
		for _, s := range c.Signals {
			component.Signals = append(component.Signals, signalView{ID: s.ID, Status: s.Status, Points: s.Points,
				Max: s.Max, Grade: s.EvidenceGrade, Evidence: newEvidence(s.Evidence)})
		}
		v.Components = append(v.Components, component)
	}
	for _, g := range gains {
		v.Gains = append(v.Gains, gainView{ID: g.ID, Gain: g.Gain, Score: g.Score, Advice: g.Advice, Effort: g.Effort,
			Evidence: newEvidence(g.Evidence)})
	}
	return v
}

// shorten removes the evidence that helps least: that of signals at full points, all but the
// first of each finding, that of all signals, and all other.
func (v *verdictView) shorten(step int) bool {
	v.Truncated = true
	for _, c := range v.Components {
		for i := range c.Signals {
			s := &c.Signals[i]
			full := s.Points >= fieldmark.Milli(s.Max)*fieldmark.MilliOne
			s.Evidence = keepEvidence(s.Evidence, full || v.Gains != nil, step)
		}
	}
	for i := range v.Gates {
		v.Gates[i].Evidence = keepEvidence(v.Gates[i].Evidence, false, step-1)
	}
	for i := range v.Eligibility {
		v.Eligibility[i].Evidence = keepEvidence(v.Eligibility[i].Evidence, false, step-1)
	}
	for i := range v.Gains {
		v.Gains[i].Evidence = keepEvidence(v.Gains[i].Evidence, false, step-1)
	}
	if step > 4 {
		v.Gains = v.Gains[:len(v.Gains)/2]
	}
	return step <= 4 || len(v.Gains) > 0
}

// keepEvidence returns what is left of evidence at a step; none is that of findings without
// any.
func keepEvidence(all []evidenceView, none bool, step int) []evidenceView {
	switch {
	case none || step > 2:
		return nil
	case step == 2:
		return all[:min(len(all), 1)]
	}
	return all
}

// scoreView is the result of the tool score.
type scoreView struct {
	Slug     fieldmark.Slug       `json:"slug"`
	Name     foreign              `json:"untrustedName"`
	Host     foreign              `json:"untrustedHost"`
	Niche    string               `json:"niche"`
	Language string               `json:"language"`
	Full     *fieldmark.Milli     `json:"full"`
	Trend    fieldmark.Trend      `json:"trend"`
	Previous *fieldmark.PastScore `json:"previous,omitempty"`
	Stale    bool                 `json:"stale,omitempty"`
	verdictView

	Rank     *fieldmark.Rank `json:"-"`
	withRank bool
}

func newScoreView(s *fieldmark.Score) *scoreView {
	return &scoreView{Slug: s.Slug, Name: quote(s.Name), Host: quote(hostOf(s.URL)), Niche: s.Niche,
		Language: s.Language, Full: s.Full, Trend: s.Trend, Previous: s.Previous, Stale: s.Stale,
		verdictView: newVerdict(&s.Assessment, s.Gains)}
}

// document encodes the view, with its rank if that is to be part of it.
func (v *scoreView) document() (*Document, error) {
	if !v.withRank {
		return newDocument(v, v.shorten)
	}
	return newDocument(struct {
		*scoreView
		Rank *fieldmark.Rank `json:"rank"`
	}{v, v.Rank}, v.shorten)
}

// NewScore returns the result of the tool score but for the rank, which depends on other brands.
func NewScore(s *fieldmark.Score) (*Document, error) { return newScoreView(s).document() }

// hostOf returns the host of an address.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// comparison is the result of the tool compare.
type comparison struct {
	Brands   []comparedBrand  `json:"brands"`
	Signals  []comparedSignal `json:"signals"`
	Overlaps []overlap        `json:"overlaps"`
}

type comparedBrand struct {
	Slug       fieldmark.Slug            `json:"slug"`
	Name       foreign                   `json:"untrustedName"`
	Status     fieldmark.ScoreStatus     `json:"status"`
	Score      *fieldmark.Milli          `json:"score"`
	Grade      fieldmark.Grade           `json:"grade,omitempty"`
	Range      *fieldmark.Range          `json:"range"`
	Confidence fieldmark.ConfidenceLevel `json:"confidence"`
	GeoReady   bool                      `json:"geoReady"`
	Rank       *fieldmark.Rank           `json:"rank"`
}

// comparedSignal has the points of each brand, in their order; null where a brand has none.
type comparedSignal struct {
	ID     string             `json:"id"`
	Max    int                `json:"max"`
	Points []*fieldmark.Milli `json:"points"`
}

// overlap is whether the ranges of two brands overlap; null if one has none.
type overlap struct {
	A       fieldmark.Slug `json:"a"`
	B       fieldmark.Slug `json:"b"`
	Overlap *bool          `json:"overlap"`
}

func newComparison(scores []*fieldmark.Score) *comparison {
	v := &comparison{Signals: []comparedSignal{}, Overlaps: []overlap{}}
	at := map[string]int{}
	for i, s := range scores {
		v.Brands = append(v.Brands, comparedBrand{Slug: s.Slug, Name: quote(s.Name), Status: s.Status, Score: s.Score,
			Grade: s.Grade, Range: s.Range, Confidence: s.Confidence.Level, GeoReady: s.GeoReady, Rank: s.Rank})
		for _, c := range s.Components {
			for _, signal := range c.Signals {
				j, ok := at[signal.ID]
				if !ok {
					j = len(v.Signals)
					at[signal.ID] = j
					v.Signals = append(v.Signals, comparedSignal{ID: signal.ID, Max: signal.Max,
						Points: make([]*fieldmark.Milli, len(scores))})
				}
				v.Signals[j].Points[i] = &signal.Points
			}
		}
		for _, other := range scores[:i] {
			o := overlap{A: other.Slug, B: s.Slug}
			if other.Range != nil && s.Range != nil {
				does := other.Range.Low <= s.Range.High && s.Range.Low <= other.Range.High
				o.Overlap = &does
			}
			v.Overlaps = append(v.Overlaps, o)
		}
	}
	return v
}

// historyView is the result of the tool history.
type historyView struct {
	Slug      fieldmark.Slug  `json:"slug"`
	Name      foreign         `json:"untrustedName"`
	From      fieldmark.Time  `json:"from"`
	To        fieldmark.Time  `json:"to"`
	Step      string          `json:"step"`
	Points    []historyPoint  `json:"points"`
	Changes   []historyChange `json:"changes"`
	Truncated bool            `json:"truncated,omitempty"`
}

type historyPoint struct {
	At     fieldmark.Time        `json:"at"`
	Status fieldmark.ScoreStatus `json:"status"`
	Score  *fieldmark.Milli      `json:"score"`
	Grade  fieldmark.Grade       `json:"grade,omitempty"`
}

type historyChange struct {
	At      fieldmark.Time   `json:"at"`
	Kind    string           `json:"kind"`
	Score   *fieldmark.Milli `json:"score,omitempty"`
	Moved   *fieldmark.Milli `json:"moved,omitempty"`
	Signals []string         `json:"signals,omitempty"`
}

// maxChanges bounds the changes of a history, the newest.
const maxChanges = 20

func newHistoryView(h *fieldmark.ScoreHistory) *historyView {
	v := &historyView{Slug: h.Slug, Name: quote(h.Name), From: h.From, To: h.To, Step: h.Step,
		Points: []historyPoint{}, Changes: []historyChange{}}
	for _, p := range h.Points {
		v.Points = append(v.Points, historyPoint{p.At, p.Status, p.Score, p.Grade})
	}
	changes := h.Changes
	if n := len(changes); n > maxChanges {
		changes, v.Truncated = changes[n-maxChanges:], true
	}
	for _, c := range changes {
		change := historyChange{At: c.At, Kind: c.Kind, Score: c.Score, Moved: c.Moved}
		for _, s := range c.Signals {
			change.Signals = append(change.Signals, s.ID)
		}
		v.Changes = append(v.Changes, change)
	}
	return v
}

// shorten removes the signals of changes, then every other point.
func (v *historyView) shorten(step int) bool {
	v.Truncated = true
	if step == 1 {
		for i := range v.Changes {
			v.Changes[i].Signals = nil
		}
		return true
	}
	kept := v.Points[:0]
	for i := range v.Points {
		if i%2 != len(v.Points)%2 { // the last one stays
			kept = append(kept, v.Points[i])
		}
	}
	v.Points = kept
	return len(kept) > 1
}

// boardView is the result of the tool leaderboard.
type boardView struct {
	Items      []boardItem     `json:"items"`
	NextCursor string          `json:"nextCursor,omitempty"`
	Total      int             `json:"total"`
	AsOf       *fieldmark.Time `json:"asOf"`
	Basis      string          `json:"basis"`
	Truncated  bool            `json:"truncated,omitempty"`
}

// shorten cuts the names. No item is left out, as the cursor leads to the one after the last.
func (v *boardView) shorten(step int) bool {
	v.Truncated = true
	for i := range v.Items {
		v.Items[i].Name.cutTo(shortText / step)
	}
	return step <= 2
}

type boardItem struct {
	Rank       int                       `json:"rank"`
	RankLast   int                       `json:"rankLast"`
	Slug       fieldmark.Slug            `json:"slug"`
	Name       foreign                   `json:"untrustedName"`
	Score      fieldmark.Milli           `json:"score"`
	Grade      fieldmark.Grade           `json:"grade"`
	Range      *fieldmark.Range          `json:"range"`
	Confidence fieldmark.ConfidenceLevel `json:"confidence"`
	GeoReady   bool                      `json:"geoReady"`
}

func newBoardView(b *fieldmark.Board) *boardView {
	v := &boardView{Items: []boardItem{}, NextCursor: b.NextCursor, Total: b.Total, AsOf: b.AsOf,
		Basis: b.Filters.Basis}
	for _, e := range b.Items {
		v.Items = append(v.Items, boardItem{e.Rank, e.RankLast, e.Slug, quote(e.Name), e.Score, e.Grade, &e.Range,
			e.Confidence, e.GeoReady})
	}
	return v
}

// visibilityView is the result of the tool leaderboard with the basis visibility. The ranks of brands that a
// study cannot distinguish overlap.
type visibilityView struct {
	Items      []visibilityItem      `json:"items"`
	NextCursor string                `json:"nextCursor,omitempty"`
	Total      int                   `json:"total"`
	AsOf       *fieldmark.Time       `json:"asOf"` // the last day of the study
	Basis      string                `json:"basis"`
	Metric     fieldmark.StudyMetric `json:"metric"`
	Truncated  bool                  `json:"truncated,omitempty"`
}

type visibilityItem struct {
	Rank     int             `json:"rank"`
	RankLast int             `json:"rankLast"`
	Slug     fieldmark.Slug  `json:"slug"`
	Name     foreign         `json:"untrustedName"`
	Value    fieldmark.Milli `json:"value"` // share of the answers, 0 to 1
	Range    fieldmark.Range `json:"range"` // 95 % interval of the value
	Group    int             `json:"group"`
}

func newVisibilityView(b *fieldmark.VisibilityBoard) *visibilityView {
	v := &visibilityView{Items: []visibilityItem{}, NextCursor: b.NextCursor, Total: b.Total, AsOf: &b.Study.To,
		Basis: b.Filters.Basis, Metric: b.Filters.Metric}
	for _, e := range b.Items {
		v.Items = append(v.Items, visibilityItem{e.RankLow, e.RankHigh, e.Slug, quote(e.Name), e.Value,
			fieldmark.Range{Low: e.Low, High: e.High}, e.Group})
	}
	return v
}

// shorten cuts the names, as that of boardView.
func (v *visibilityView) shorten(step int) bool {
	v.Truncated = true
	for i := range v.Items {
		v.Items[i].Name.cutTo(shortText / step)
	}
	return step <= 2
}

// foundView is the result of the tool find_brand.
type foundView struct {
	Items     []foundBrand `json:"items"`
	Total     int          `json:"total"`
	Truncated bool         `json:"truncated,omitempty"`
}

// shorten removes the last quarter of the brands.
func (v *foundView) shorten(int) bool {
	v.Truncated = true
	v.Items = v.Items[:len(v.Items)*3/4]
	return len(v.Items) > 0
}

type foundBrand struct {
	Slug   fieldmark.Slug        `json:"slug"`
	Name   foreign               `json:"untrustedName"`
	Status fieldmark.ScoreStatus `json:"status"`
	Score  *fieldmark.Milli      `json:"score,omitempty"`
	Rank   int                   `json:"rank,omitempty"`
}

func newFoundView(f *ranking.Found) *foundView {
	v := &foundView{Items: []foundBrand{}, Total: f.Board.Total + f.UnrankedTotal}
	for _, e := range f.Board.Items {
		v.Items = append(v.Items, foundBrand{e.Slug, quote(e.Name), fieldmark.StatusScored, &e.Score, e.Rank})
	}
	for _, u := range f.Unranked {
		v.Items = append(v.Items, foundBrand{Slug: u.Slug, Name: quote(u.Name), Status: u.Status})
	}
	return v
}

// methodView is the result of the tool method.
type methodView struct {
	Methodology string                `json:"methodology"`
	Module      fieldmark.Digest      `json:"module"`
	Score       string                `json:"score,omitempty"`
	Range       string                `json:"range,omitempty"`
	GeoReady    string                `json:"geoReady,omitempty"`
	Ranking     string                `json:"ranking,omitempty"`
	Grades      []fieldmark.GradeRule `json:"grades,omitempty"`
	Components  []methodComponent     `json:"components,omitempty"`
	Signal      *methodSignal         `json:"signal,omitempty"`
	Limits      []string              `json:"limits,omitempty"`
}

type methodComponent struct {
	ID      string         `json:"id"`
	Label   string         `json:"label"`
	Weight  int            `json:"weight"`
	Signals []methodSignal `json:"signals"`
}

type methodSignal struct {
	ID      string                   `json:"id"`
	Label   string                   `json:"label"`
	Points  int                      `json:"points"`
	Advice  string                   `json:"advice,omitempty"`
	Why     string                   `json:"why,omitempty"`
	Sources []fieldmark.MethodSource `json:"sources,omitempty"`
}

func newMethodView(m *fieldmark.Method, signal string) (*methodView, error) {
	v := &methodView{Methodology: m.Methodology.ID + " " + m.Methodology.Version, Module: m.Module.Digest}
	var manifest struct {
		Components []methodComponent `json:"components"`
	}
	if err := json.Unmarshal(encode(m.Manifest), &manifest); err != nil {
		return nil, err
	}
	for i := range manifest.Components {
		for j := range manifest.Components[i].Signals {
			s := &manifest.Components[i].Signals[j]
			if s.ID == signal {
				v.Signal = s
				explain(s, m.Reasons)
				return v, nil
			}
			s.Advice = ""
		}
	}
	if signal != "" {
		return nil, fieldmark.Errorf(fieldmark.CodeNotFound, "the method has no such signal")
	}
	r := &m.Rules
	v.Score, v.Range, v.GeoReady, v.Ranking = r.Score, r.Range, r.GeoReady, r.Ranking
	v.Grades, v.Components, v.Limits = r.Grades, manifest.Components, r.Limits
	return v, nil
}

// explain adds the reason of a signal with its sources.
func explain(s *methodSignal, reasons *fieldmark.MethodReasons) {
	if reasons == nil {
		return
	}
	for _, r := range reasons.Signals {
		if r.ID != s.ID {
			continue
		}
		s.Why = r.Why
		for _, source := range reasons.Sources {
			if strings.Contains(","+strings.Join(r.Sources, ",")+",", ","+source.ID+",") {
				s.Sources = append(s.Sources, source)
			}
		}
	}
}

// lintView is the result of the tools of llms.txt.
type lintView struct {
	Content   string      `json:"content,omitempty"` // made of the caller's own words
	Level     int         `json:"level"`
	Issues    []lintIssue `json:"issues"`
	Truncated bool        `json:"truncated,omitempty"`
}

type lintIssue struct {
	Code     string  `json:"code"`
	Severity string  `json:"severity"`
	Line     int     `json:"line,omitempty"`
	Message  foreign `json:"untrustedMessage"` // may quote the file
	Count    int     `json:"count,omitempty"`
}

func newLintView(r *LintReport) *lintView {
	v := &lintView{Level: r.Level, Issues: []lintIssue{}}
	for _, i := range r.Issues {
		v.Issues = append(v.Issues, lintIssue{i.Code, i.Severity, i.Line, quote(i.Message), i.Count})
	}
	return v
}

// shorten removes the last half of the issues. A file is never cut: half of one must not be
// published.
func (v *lintView) shorten(int) bool {
	v.Truncated = true
	if len(v.Issues) == 0 {
		return false
	}
	v.Issues = v.Issues[:len(v.Issues)/2]
	return true
}

// checkView is the result of the tool check_site.
type checkView struct {
	ID       string                   `json:"id"`
	State    fieldmark.SiteCheckState `json:"state"`
	Host     foreign                  `json:"untrustedHost"`
	Position int                      `json:"position,omitempty"`
	Step     string                   `json:"step,omitempty"`
	Reason   foreign                  `json:"untrustedReason,omitempty"` // may quote robots.txt
	Brand    fieldmark.Slug           `json:"brand,omitempty"`
	Note     string                   `json:"note,omitempty"`
	*verdictView
}

func newCheckView(c *fieldmark.SiteCheck) *checkView {
	v := &checkView{ID: c.ID, State: c.State, Host: quote(c.Host), Position: c.Position, Step: c.Step,
		Reason: quote(c.Reason), Brand: c.Brand}
	if c.Report != nil {
		verdict := newVerdict(&c.Report.Assessment, c.Report.Gains)
		v.verdictView = &verdict
	}
	switch {
	case !c.State.Ended():
		v.Note = "There is no report yet. Call again with id in a few seconds, until state is done, refused or failed."
	case c.State == fieldmark.SiteCheckDone && c.Report == nil: // a recent check of the same address
		v.Note = "This check has its report. Call again with id to read it."
	}
	return v
}

func (v *checkView) document() (*Document, error) {
	if v.verdictView == nil {
		return newDocument(v, nil)
	}
	return newDocument(v, v.shorten)
}
