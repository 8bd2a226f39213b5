package fieldmark

import "encoding/json"

// Method is the complete scoring method, with the reason and source of every number:
// GET /api/v1/methodology.
type Method struct {
	Methodology Methodology `json:"methodology"`
	Module      ModuleRef   `json:"module"`
	Manifest    any         `json:"manifest"` // manifest of the module
	Rules       MethodRules `json:"rules"`
	// Reasons of the built-in method; null if another module is active.
	Reasons *MethodReasons `json:"reasons"`
}

// MethodRules are the numbers that apply to every module.
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

// ConfidenceRules are the rules for the confidence of a score.
type ConfidenceRules struct {
	Formula string          `json:"formula"`
	Ages    []AgeRule       `json:"ages"`
	Levels  []ConfidenceMin `json:"levels"`
}

// AgeRule is the factor for an audit up to an age.
type AgeRule struct {
	Days   int   `json:"days,omitempty"` // at most; 0: any age
	Factor Milli `json:"factor"`
}

// ConfidenceMin is the lowest confidence of a level.
type ConfidenceMin struct {
	Level ConfidenceLevel `json:"level"`
	Min   Milli           `json:"min"`
}

// GradeRule is the lowest score of a grade.
type GradeRule struct {
	Grade Grade `json:"grade"`
	Min   Milli `json:"min"`
}

// VisibilityRules are the rules for visibility samples.
type VisibilityRules struct {
	Methodology Methodology    `json:"methodology"`
	Weights     map[string]int `json:"weights"`
	Interval    string         `json:"interval"`
	MinPrompts  int            `json:"minPrompts"`
	MinRuns     int            `json:"minRuns"`
	MaxAgeDays  int            `json:"maxAgeDays"`
	Full        string         `json:"full"`
}

// MethodReasons explain the numbers of a method.
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

// MethodReason explains a number and lists the ids of its sources. Without a source it is
// a judgment of the authors.
type MethodReason struct {
	ID      string   `json:"id,omitempty"`
	Why     string   `json:"why"`
	Sources []string `json:"sources"`
}

// SignalReason is the reason of a signal with its curves.
type SignalReason struct {
	MethodReason
	Combine string       `json:"combine"` // of the parts: mean or min
	Parts   []SignalPart `json:"parts"`
}

// SignalPart is one input of a signal.
type SignalPart struct {
	Input  string          `json:"input"`
	Weight int             `json:"weight,omitempty"` // among the parts; 0 means 1
	Curve  json.RawMessage `json:"curve"`            // as in the scorecard: pairs of value and share
}

// GateReason is the reason of a gate and its condition.
type GateReason struct {
	MethodReason
	When json.RawMessage `json:"when"`
}

// MethodSource is a source of a reason.
type MethodSource struct {
	ID    string `json:"id"`
	By    string `json:"by"`
	Year  int    `json:"year"`
	Title string `json:"title"`
	URL   string `json:"url,omitempty"`
	Read  string `json:"read"` // primary: the work itself; secondary: a report about it; measured: by the authors
}
