package fieldmark

import "encoding/json"

// Method is everything by which a score is made, with the reason and the evidence
// of every number: GET /api/v1/methodology.
type Method struct {
	Methodology Methodology `json:"methodology"`
	Module      ModuleRef   `json:"module"`
	Manifest    any         `json:"manifest"` // what the module says of itself
	Rules       MethodRules `json:"rules"`
	// Reasons are those of the built-in method; null where another is in force.
	Reasons *MethodReasons `json:"reasons"`
}

// MethodRules are the numbers that hold whatever module scores.
type MethodRules struct {
	Score      string            `json:"score"`
	Range      string            `json:"range"`
	Confidence ConfidenceRules   `json:"confidence"`
	Grades     []GradeRule       `json:"grades"`
	GeoReady   string            `json:"geoReady"`
	Ranking    string            `json:"ranking"`
	Visibility VisibilityRules   `json:"visibility"`
	Statuses   map[string]string `json:"statuses"`
}

// ConfidenceRules say how sure a score is.
type ConfidenceRules struct {
	Formula string          `json:"formula"`
	Ages    []AgeRule       `json:"ages"`
	Levels  []ConfidenceMin `json:"levels"`
}

// AgeRule is the factor of an audit up to an age.
type AgeRule struct {
	Days   int   `json:"days,omitempty"` // at most; 0: any older one
	Factor Milli `json:"factor"`
}

// ConfidenceMin is the least confidence of a level.
type ConfidenceMin struct {
	Level ConfidenceLevel `json:"level"`
	Min   Milli           `json:"min"`
}

// GradeRule is the lowest score of a grade.
type GradeRule struct {
	Grade Grade `json:"grade"`
	Min   Milli `json:"min"`
}

// VisibilityRules are how answer samples are judged.
type VisibilityRules struct {
	Methodology Methodology    `json:"methodology"`
	Weights     map[string]int `json:"weights"`
	Interval    string         `json:"interval"`
	MinPrompts  int            `json:"minPrompts"`
	MinRuns     int            `json:"minRuns"`
	MaxAgeDays  int            `json:"maxAgeDays"`
	Full        string         `json:"full"`
}

// MethodReasons say why the numbers of one method are what they are.
type MethodReasons struct {
	ID            string         `json:"id"`
	Version       string         `json:"version"`
	Weights       string         `json:"weights"`
	WeightSources []string       `json:"weightSources"`
	Components    []MethodReason `json:"components"`
	Signals       []SignalReason `json:"signals"`
	Gates         []GateReason   `json:"gates"`
	Visibility    MethodReason   `json:"visibility"`
	Sources       []MethodSource `json:"sources"`
}

// MethodReason is why something counts as much as it does, and the ids of what that
// rests on. Without a source it is our judgement.
type MethodReason struct {
	ID      string   `json:"id,omitempty"`
	Why     string   `json:"why"`
	Sources []string `json:"sources"`
}

// SignalReason is a signal's reason, and the curves it is measured by.
type SignalReason struct {
	MethodReason
	Combine string       `json:"combine"` // of its parts: mean or min
	Parts   []SignalPart `json:"parts"`
}

// SignalPart is one input of a signal.
type SignalPart struct {
	Input  string          `json:"input"`
	Weight int             `json:"weight,omitempty"` // among the parts; 0 means 1
	Curve  json.RawMessage `json:"curve"`            // as in the scorecard: points of value and share
}

// GateReason is a gate's reason, and when it closes.
type GateReason struct {
	MethodReason
	When json.RawMessage `json:"when"`
}

// MethodSource is something a reason rests on.
type MethodSource struct {
	ID    string `json:"id"`
	By    string `json:"by"`
	Year  int    `json:"year"`
	Title string `json:"title"`
	URL   string `json:"url,omitempty"`
	Read  string `json:"read"` // primary: the work itself; secondary: what others report of it; measured: by us
}

// Rules returns the numbers that hold whatever module scores.
func Rules() MethodRules {
	r := MethodRules{
		Score: "100 x points / measured weight, rounded half up to one decimal, at most the lowest limit of a gate it ran into. Signals that do not apply leave both sums; unknown ones are never counted as zero.",
		Range: "low: unknown signals worth nothing; high: worth everything. Both under the same gates.",
		Confidence: ConfidenceRules{
			Formula: "measured weight / applicable weight x min(1, 0.70 + 0.03 x pages) x factor of age",
			Ages:    []AgeRule{{14, 1000}, {30, 900}, {90, 750}, {0, 500}},
			Levels:  []ConfidenceMin{{ConfidenceHigh, 850}, {ConfidenceMedium, 600}, {ConfidenceLow, 400}},
		},
		GeoReady: "70 points or more, no gate, confidence 0.60 or more, audited within 30 days",
		Ranking:  "public brands with a score, confidence 0.60 or more, audited within 90 days; equal scores share a rank (1, 2, 2, 4), inside a tie the surer, the newer, then by slug",
		Visibility: VisibilityRules{
			Methodology: VisibilityMethodology,
			Weights: map[string]int{"mentionRate": visibilityWeights[0], "citationRate": visibilityWeights[1],
				"shareOfVoice": visibilityWeights[2]},
			Interval:   "Wilson, 95 %, of every rate, carried to the sum; the mean over the engines that may be ranked; absent rates are dropped; accuracy is shown and not counted",
			MinPrompts: MinVisibilityPrompts, MinRuns: MinVisibilityRuns, MaxAgeDays: int(VisibilityWithin.Hours() / 24),
			Full: "0.60 x readiness + 0.40 x visibility, where both may be ranked; a list of its own",
		},
		Statuses: map[string]string{
			string(StatusScored): "has a score", string(StatusPending): "not audited yet", string(StatusUnreachable): "its site did not answer",
			string(StatusInsufficientData): "confidence below 0.40", string(StatusStale): "audited more than 90 days ago; not ranked",
		},
	}
	for _, g := range gradeFloors {
		r.Grades = append(r.Grades, GradeRule{g.grade, g.floor})
	}
	r.Grades = append(r.Grades, GradeRule{"E", 0})
	return r
}
