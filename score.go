package fieldmark

import (
	"slices"
	"time"
)

// Grade is the letter grade of a score, A to E.
type Grade string

// gradeFloors contains the lowest score of each grade except the last.
var gradeFloors = []struct {
	grade Grade
	floor Milli
}{{"A", 85 * MilliOne}, {"B", 70 * MilliOne}, {"C", 55 * MilliOne}, {"D", 40 * MilliOne}}

// GradeOf returns the grade of a score of 0 to 100.
func GradeOf(score Milli) Grade {
	for _, g := range gradeFloors {
		if score >= g.floor {
			return g.grade
		}
	}
	return "E"
}

// ScoreStatus states whether a brand has a score, and if not, why.
type ScoreStatus string

// A score is known, missing for one of three reasons, or too old.
const (
	StatusScored           ScoreStatus = "scored"
	StatusPending          ScoreStatus = "pending"           // not audited yet
	StatusUnreachable      ScoreStatus = "unreachable"       // its site did not respond
	StatusInsufficientData ScoreStatus = "insufficient_data" // confidence below low
	StatusStale            ScoreStatus = "stale"             // audited more than StaleAfter ago
)

// Age limits of a score.
const (
	ReadyWithin = 30 * 24 * time.Hour // an older audit cannot make a brand GEO-ready
	StaleAfter  = 90 * 24 * time.Hour // an older audit is shown as stale and not ranked
)

// ConfidenceLevel is a confidence as a word.
type ConfidenceLevel string

// Confidence levels with their lowest value.
const (
	ConfidenceHigh         ConfidenceLevel = "high"   // 0.85
	ConfidenceMedium       ConfidenceLevel = "medium" // 0.60
	ConfidenceLow          ConfidenceLevel = "low"    // 0.40
	ConfidenceInsufficient ConfidenceLevel = "insufficient"
)

// LevelOf returns the level of a confidence of 0 to 1.
func LevelOf(value Milli) ConfidenceLevel {
	switch {
	case value >= 850:
		return ConfidenceHigh
	case value >= 600:
		return ConfidenceMedium
	case value >= 400:
		return ConfidenceLow
	}
	return ConfidenceInsufficient
}

// Confidence describes how much of the method was measured, on how many pages, and how
// long ago.
type Confidence struct {
	Value            Milli           `json:"value"` // 0 to 1
	Level            ConfidenceLevel `json:"level"`
	MeasuredWeight   int             `json:"measuredWeight"`
	ApplicableWeight int             `json:"applicableWeight"`
}

// Range is the score with every unknown signal at its worst and at its best.
type Range struct {
	Low  Milli `json:"low"`
	High Milli `json:"high"`
}

// Signal is the result of one signal of the method.
type Signal struct {
	ID       string     `json:"id"`
	Label    string     `json:"label"`
	Status   FactState  `json:"status"`
	Value    *Milli     `json:"value"` // of Unit; null unless measured
	Unit     string     `json:"unit"`
	Points   Milli      `json:"points"`
	Max      int        `json:"max"`
	Evidence []Evidence `json:"evidence"`
	Advice   string     `json:"advice,omitempty"` // how to raise it; empty at full points
}

// Component is a group of signals with a weight; the weights add up to 100.
type Component struct {
	ID       string   `json:"id"`
	Label    string   `json:"label"`
	Weight   int      `json:"weight"`
	Points   Milli    `json:"points"`
	Measured int      `json:"measured"` // weight of its measured signals
	Signals  []Signal `json:"signals"`
}

// GateUnreachable is the gate that prevents a score.
const GateUnreachable = "unreachable"

// Gate is an upper limit that applies to a score.
type Gate struct {
	ID     string `json:"id"`
	Limit  int    `json:"limit"`
	Reason string `json:"reason"`
}

// Basis of a score: the site of the brand, or the site and visibility samples. They
// are never in one list.
const (
	BasisReadiness = "readiness"
	BasisFull      = "full"
)

// Assessment is the result of a module for facts, without the brand.
type Assessment struct {
	Status       ScoreStatus `json:"status"`
	Score        *Milli      `json:"score"` // 0 to 100, one decimal; null unless scored or stale
	Grade        Grade       `json:"grade,omitempty"`
	Basis        string      `json:"basis"`
	Range        *Range      `json:"range"`
	Confidence   Confidence  `json:"confidence"`
	GeoReady     bool        `json:"geoReady"`
	Gates        []Gate      `json:"gates"`
	Components   []Component `json:"components"`
	AsOf         *Time       `json:"asOf"`
	PagesSampled int         `json:"pagesSampled"`
	FactsDigest  Digest      `json:"factsDigest,omitempty"`
	Methodology  Methodology `json:"methodology"`
	Module       ModuleRef   `json:"module"`
	Canary       bool        `json:"canary,omitempty"` // scored by a canary module; rankings use the active one
}

// Judge computes score, range, confidence, grade and status of an assessment as of now,
// from components whose signals have their status, points and maximum. All arithmetic is
// in integers, so every host computes the same bytes.
func Judge(components []Component, gates []Gate, facts *Facts, now time.Time) Assessment {
	a := Assessment{
		Basis: BasisReadiness, Gates: gates, Components: components,
		AsOf: &facts.AsOf, PagesSampled: facts.Pages,
	}
	var points Milli
	var measured, applicable int
	for i := range components {
		c := &components[i]
		c.Points, c.Measured = 0, 0
		for _, s := range c.Signals {
			if s.Status == NotApplicable {
				continue
			}
			applicable += s.Max
			if s.Status == Measured {
				c.Measured += s.Max
				c.Points += s.Points
			}
		}
		points += c.Points
		measured += c.Measured
	}
	age := now.Sub(facts.AsOf.Std())
	a.Confidence = confidence(measured, applicable, facts.Pages, age)

	if slices.ContainsFunc(gates, func(g Gate) bool { return g.ID == GateUnreachable }) {
		a.Status = StatusUnreachable
		return a
	}
	if a.Confidence.Level == ConfidenceInsufficient {
		a.Status = StatusInsufficientData
		return a
	}
	limit := 100 * MilliOne
	for _, g := range gates {
		limit = min(limit, Milli(g.Limit)*MilliOne)
	}
	score := min(limit, ratio(points*100, measured)).Tenth()
	a.Score = &score
	a.Grade = GradeOf(score)
	unknown := Milli(applicable-measured) * MilliOne
	a.Range = &Range{
		Low:  min(limit, ratio(points*100, applicable)).Tenth(),
		High: min(limit, ratio((points+unknown)*100, applicable)).Tenth(),
	}
	a.GeoReady = score >= 70*MilliOne && len(gates) == 0 && a.Confidence.Value >= 600 && age <= ReadyWithin
	a.Status = StatusScored
	if age > StaleAfter {
		a.Status = StatusStale
	}
	return a
}

// ratio divides and rounds half up; 0/0 is 0.
func ratio(n Milli, d int) Milli {
	if d == 0 {
		return 0
	}
	return (2*n + Milli(d)) / (2 * Milli(d))
}

// AgeLimits are the ages of facts at which an assessment changes: at each of them the
// confidence decreases, at the second a brand is no longer GEO-ready, and at the third
// its score is stale.
func AgeLimits() [3]time.Duration {
	return [...]time.Duration{14 * 24 * time.Hour, ReadyWithin, StaleAfter}
}

// confidence multiplies the measured share by factors for the number of pages and the
// age of the audit.
func confidence(measured, applicable, pages int, age time.Duration) Confidence {
	aged := Milli(500)
	for i, limit := range AgeLimits() {
		if age <= limit {
			aged = [...]Milli{1000, 900, 750}[i]
			break
		}
	}
	sample := min(MilliOne, 700+30*Milli(pages))
	value := ratio(Milli(measured)*MilliOne*sample*aged, applicable*1000*1000)
	return Confidence{Value: value, Level: LevelOf(value), MeasuredWeight: measured, ApplicableWeight: applicable}
}

// Rank is the rank of a brand among the public brands of a snapshot.
type Rank struct {
	Overall int `json:"overall"`
	Of      int `json:"of"`
	Niche   int `json:"niche"`
	OfNiche int `json:"ofNiche"`
}

// Score is the score document of one brand: GET /api/v1/score/{slug}.
type Score struct {
	Slug     Slug   `json:"slug"`
	Name     string `json:"name"`
	URL      string `json:"url"`
	Niche    string `json:"niche"`
	Language string `json:"language"`
	Assessment
	Visibility *Visibility `json:"visibility"` // null without visibility samples
	Full       *Milli      `json:"full"`       // combined score; null unless both can be ranked
	Trend      Trend       `json:"trend"`
	Previous   *PastScore  `json:"previous"` // score of the previous revision; null for the first
	// null unless ranked; last required member, because it changes with other brands
	Rank  *Rank  `json:"rank"`
	Stale bool   `json:"stale,omitempty"` // the last good score, because a refresh failed
	Gains []Gain `json:"gains,omitempty"` // with ?advice=1: what would raise the score, largest gain first
}

// Trend is the change of a score over time. Past facts are scored by the current module,
// so a new module does not change trends.
type Trend struct {
	D7  *Milli `json:"d7"` // null if no audit is that old
	D30 *Milli `json:"d30"`
	D90 *Milli `json:"d90"`
}

// TrendTimes returns the times that D7, D30 and D90 compare with: the start of the day
// in UTC, so that every node computes the same.
func TrendTimes(now time.Time) [3]time.Time {
	day := now.UTC().Truncate(24 * time.Hour)
	return [3]time.Time{day.AddDate(0, 0, -7), day.AddDate(0, 0, -30), day.AddDate(0, 0, -90)}
}

// PastScore is the score of past facts with the current module.
type PastScore struct {
	Score Milli `json:"score"`
	AsOf  Time  `json:"asOf"`
}

// Gain is the effect of full points for one signal.
type Gain struct {
	ID     string `json:"id"` // of the signal
	Label  string `json:"label"`
	Gain   Milli  `json:"gain"`  // increase of the score
	Score  Milli  `json:"score"` // resulting score
	Advice string `json:"advice"`
}

// Advise returns the gain of each signal below full points as of now, largest first.
// Gates that apply keep applying: if a gate limits the score, no signal has a gain.
func (a *Assessment) Advise(now time.Time) []Gain {
	gains := []Gain{}
	if a.Score == nil || a.AsOf == nil {
		return gains
	}
	facts := Facts{AsOf: *a.AsOf, Pages: a.PagesSampled}
	components := slices.Clone(a.Components)
	for i := range components {
		signals := slices.Clone(components[i].Signals)
		components[i].Signals = signals
		for j, s := range signals {
			if s.Status == NotApplicable || s.Points == Milli(s.Max)*MilliOne {
				continue
			}
			signals[j].Status, signals[j].Points = Measured, Milli(s.Max)*MilliOne
			better := Judge(components, a.Gates, &facts, now)
			signals[j] = s
			if better.Score != nil && *better.Score > *a.Score {
				gains = append(gains, Gain{ID: s.ID, Label: s.Label, Gain: *better.Score - *a.Score,
					Score: *better.Score, Advice: s.Advice})
			}
		}
	}
	slices.SortStableFunc(gains, func(a, b Gain) int { return int(b.Gain - a.Gain) })
	return gains
}

// NewScore returns the score document of a brand.
func NewScore(b Brand, a Assessment) Score {
	return Score{Slug: b.Slug, Name: b.Name, URL: b.URL, Niche: b.Niche, Language: b.Language, Assessment: a}
}

// Shares of the full score. The strongest correlations with being named are outside the
// site of a brand, but causality is not shown, and visibility is an outcome rather than
// effort: therefore the smaller share.
const (
	readinessShare  = 60
	visibilityShare = 40
)

// SetVisibility adds the visibility, and the full score if both can be ranked.
func (s *Score) SetVisibility(samples []VisibilitySample, now time.Time) {
	s.Visibility = JudgeVisibility(samples, now)
	if s.Visibility == nil || s.Visibility.Quality != VisibilityRanked || !s.Ranked() {
		return
	}
	both := full(*s.Score, s.Visibility.Score)
	s.Full = &both
}

func full(readiness, visibility Milli) Milli {
	return ratio(readinessShare*readiness+visibilityShare*visibility, readinessShare+visibilityShare).Tenth()
}

// PendingAssessment is the assessment of a brand before its first audit.
func PendingAssessment() Assessment {
	return Assessment{
		Status: StatusPending, Basis: BasisReadiness, Gates: []Gate{}, Components: []Component{},
		Confidence: Confidence{Level: ConfidenceInsufficient},
	}
}

// Ranked reports whether a score is part of the leaderboard: scored, not stale, and with
// at least medium confidence.
func (a *Assessment) Ranked() bool {
	return a.Status == StatusScored && a.Confidence.Value >= 600
}

// ScoreHistory is the score of a brand over time: GET /api/v1/score/{slug}/history. Past
// facts are scored by the current module, so that a new module does not change it;
// Changes lists the activations.
type ScoreHistory struct {
	Slug        Slug            `json:"slug"`
	Name        string          `json:"name"`
	From        Time            `json:"from"`
	To          Time            `json:"to"`
	Step        string          `json:"step"`    // StepDay or StepWeek
	Points      []HistoryPoint  `json:"points"`  // oldest first, at the end of each step
	Changes     []HistoryChange `json:"changes"` // oldest first
	Methodology Methodology     `json:"methodology"`
	Module      ModuleRef       `json:"module"`
}

// Steps of a history.
const (
	StepDay  = "day"
	StepWeek = "week"
)

// MaxHistoryPoints limits a history: more than a year of days.
const MaxHistoryPoints = 400

// HistoryPoint is the score at a time.
type HistoryPoint struct {
	At          Time            `json:"at"`
	Status      ScoreStatus     `json:"status"`
	Score       *Milli          `json:"score"` // null unless scored or stale
	Grade       Grade           `json:"grade,omitempty"`
	Range       *Range          `json:"range"`
	Confidence  ConfidenceLevel `json:"confidence"`
	AsOf        *Time           `json:"asOf"` // of the audit
	FactsDigest Digest          `json:"factsDigest,omitempty"`
}

// Kinds of changes in a history.
const (
	ChangeFacts  = "facts"  // an audit returned other facts
	ChangeModule = "module" // another module was activated
)

// HistoryChange is a change of the facts or of the active module.
type HistoryChange struct {
	At          Time           `json:"at"`
	Kind        string         `json:"kind"`
	FactsDigest Digest         `json:"factsDigest,omitempty"`
	Score       *Milli         `json:"score,omitempty"` // after a change of facts
	Moved       *Milli         `json:"moved,omitempty"` // change, if there was a score before
	Signals     []SignalChange `json:"signals,omitempty"`
	Gates       []GateChange   `json:"gates,omitempty"` // gates that started or stopped applying
	Module      *ModuleRef     `json:"module,omitempty"`
}

// SignalChange is a signal whose points changed.
type SignalChange struct {
	ID   string `json:"id"`
	From Milli  `json:"from"`
	To   Milli  `json:"to"`
}

// GateChange is a gate that started or stopped limiting the score.
type GateChange struct {
	Gate
	Applied bool `json:"applied"` // false if it stopped applying
}
