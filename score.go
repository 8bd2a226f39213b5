package fieldmark

import (
	"slices"
	"time"
)

// Grade is the school grade of a score, A to E.
type Grade string

// gradeFloors lists the lowest score of each grade but the last.
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

// ScoreStatus says whether a brand has a score, and if not, why.
type ScoreStatus string

// A brand's score is known, missing for one of three reasons, or too old.
const (
	StatusScored           ScoreStatus = "scored"
	StatusPending          ScoreStatus = "pending"           // not audited yet
	StatusUnreachable      ScoreStatus = "unreachable"       // its site did not answer
	StatusInsufficientData ScoreStatus = "insufficient_data" // confidence below low
	StatusStale            ScoreStatus = "stale"             // audited more than StaleAfter ago
)

// The ages that decide what a score may claim.
const (
	ReadyWithin = 30 * 24 * time.Hour // an older audit cannot make a brand GEO-ready
	StaleAfter  = 90 * 24 * time.Hour // an older audit is shown as stale and not ranked
)

// ConfidenceLevel is a confidence in one word.
type ConfidenceLevel string

// The levels of confidence and the lowest value of each.
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

// Confidence says how much of what could be measured was measured, on how many
// pages, and how long ago.
type Confidence struct {
	Value            Milli           `json:"value"` // 0 to 1
	Level            ConfidenceLevel `json:"level"`
	MeasuredWeight   int             `json:"measuredWeight"`
	ApplicableWeight int             `json:"applicableWeight"`
}

// Range holds the score if every unknown signal were worst, and if best.
type Range struct {
	Low  Milli `json:"low"`
	High Milli `json:"high"`
}

// Signal is one line of the method applied to one brand.
type Signal struct {
	ID       string     `json:"id"`
	Label    string     `json:"label"`
	Status   FactState  `json:"status"`
	Value    *Milli     `json:"value"` // of Unit; null unless measured
	Unit     string     `json:"unit"`
	Points   Milli      `json:"points"`
	Max      int        `json:"max"`
	Evidence []Evidence `json:"evidence"`
	Advice   string     `json:"advice,omitempty"` // what would raise it; empty at full marks
}

// Component is a group of signals with a weight; all weights come to 100.
type Component struct {
	ID       string   `json:"id"`
	Label    string   `json:"label"`
	Weight   int      `json:"weight"`
	Points   Milli    `json:"points"`
	Measured int      `json:"measured"` // the weight of its measured signals
	Signals  []Signal `json:"signals"`
}

// GateUnreachable is the one gate that leaves no score at all.
const GateUnreachable = "unreachable"

// Gate is an upper limit a score ran into.
type Gate struct {
	ID     string `json:"id"`
	Limit  int    `json:"limit"`
	Reason string `json:"reason"`
}

// What a score rests on: the brand's own site, or that and its answers. They
// never stand in one list.
const (
	BasisReadiness = "readiness"
	BasisFull      = "full"
)

// Assessment is a score without a name on it: what a module made of facts.
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
	Canary       bool        `json:"canary,omitempty"` // scored by a module on trial; the ranking is not
}

// Judge adds up components, whose signals carry their status, points and
// maximum, and decides score, range, confidence, grade and status as of now.
// The sums are integers throughout, so every host comes to the same bytes.
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

// ratio divides and rounds half up; nothing divided by nothing is nothing.
func ratio(n Milli, d int) Milli {
	if d == 0 {
		return 0
	}
	return (2*n + Milli(d)) / (2 * Milli(d))
}

// AgeLimits are the ages of facts after which an assessment changes by age alone:
// at each of them confidence falls, at the second a brand stops being GEO-ready,
// and at the third its score is stale.
func AgeLimits() [3]time.Duration {
	return [...]time.Duration{14 * 24 * time.Hour, ReadyWithin, StaleAfter}
}

// confidence multiplies what was measured by the size of the sample and the
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

// Rank is a brand's place among the public brands of one snapshot.
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
	Visibility *Visibility `json:"visibility"` // null unless answer samples were imported
	Full       *Milli      `json:"full"`       // of both; null unless both are good enough to be ranked
	Trend      Trend       `json:"trend"`
	Previous   *PastScore  `json:"previous"`        // of the revision before this one; null for the first
	Rank       *Rank       `json:"rank"`            // null unless ranked; no member that is always there follows, as it changes with other brands
	Stale      bool        `json:"stale,omitempty"` // the last good score: it could not be made anew
	Gains      []Gain      `json:"gains,omitempty"` // with ?advice=1: what would raise it, the most first
}

// Trend says how far a score is above what it was. Old facts are scored by
// today's module, so a change of the module moves no trend.
type Trend struct {
	D7  *Milli `json:"d7"` // null where no audit is that old
	D30 *Milli `json:"d30"`
	D90 *Milli `json:"d90"`
}

// TrendTimes returns what D7, D30 and D90 look back to: the start of the day, in
// UTC, so many days before now. Whole days make every node say the same.
func TrendTimes(now time.Time) [3]time.Time {
	day := now.UTC().Truncate(24 * time.Hour)
	return [3]time.Time{day.AddDate(0, 0, -7), day.AddDate(0, 0, -30), day.AddDate(0, 0, -90)}
}

// PastScore is what older facts come to by today's module.
type PastScore struct {
	Score Milli `json:"score"`
	AsOf  Time  `json:"asOf"`
}

// Gain is what a full mark for one signal would do to a score.
type Gain struct {
	ID     string `json:"id"` // of the signal
	Label  string `json:"label"`
	Gain   Milli  `json:"gain"`  // what the score would rise by
	Score  Milli  `json:"score"` // and to
	Advice string `json:"advice"`
}

// Advise says for each signal short of full marks what a full mark would do to
// the score as of now, the largest gain first. Gates that caught go on catching:
// where they decide, no signal gains anything.
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
				gains = append(gains, Gain{ID: s.ID, Label: s.Label, Gain: *better.Score - *a.Score, Score: *better.Score, Advice: s.Advice})
			}
		}
	}
	slices.SortStableFunc(gains, func(a, b Gain) int { return int(b.Gain - a.Gain) })
	return gains
}

// NewScore puts a brand's name on an assessment.
func NewScore(b Brand, a Assessment) Score {
	return Score{Slug: b.Slug, Name: b.Name, URL: b.URL, Niche: b.Niche, Language: b.Language, Assessment: a}
}

// Shares of the full score. The strongest correlations with being named are off
// a brand's own site, but none is known to be causal, and visibility is outcome
// and not effort: so the lesser half.
const (
	readinessShare  = 60
	visibilityShare = 40
)

// SetVisibility puts what answer samples come to beside a score, and the full
// score with it where both may be ranked.
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

// PendingAssessment is what a brand has before its first audit.
func PendingAssessment() Assessment {
	return Assessment{
		Status: StatusPending, Basis: BasisReadiness, Gates: []Gate{}, Components: []Component{},
		Confidence: Confidence{Level: ConfidenceInsufficient},
	}
}

// Ranked reports whether a score may stand in the leaderboard: scored, not
// stale, and with at least medium confidence.
func (a *Assessment) Ranked() bool {
	return a.Status == StatusScored && a.Confidence.Value >= 600
}
