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
	Kinds      []KnowledgeRule   `json:"kinds"`
	Score      string            `json:"score"`
	Sample     string            `json:"sample"`
	Range      string            `json:"range"`
	RangeParts []RangePart       `json:"rangeParts"`
	Confidence ConfidenceRules   `json:"confidence"`
	Grades     []GradeRule       `json:"grades"`
	GeoReady   string            `json:"geoReady"`
	Ranking    string            `json:"ranking"`
	Visibility VisibilityRules   `json:"visibility"`
	Statuses   map[string]string `json:"statuses"`
	// how text that steers a model becomes a public finding, and how its owner contests it
	Accusations string   `json:"accusations"`
	Contest     string   `json:"contest"`
	Limits      []string `json:"limits"` // what a score cannot claim
}

// KnowledgeRule is one of the three kinds of knowledge that a score document keeps apart:
// eligible, practice and visibility.
type KnowledgeRule struct {
	ID       string `json:"id"`
	Question string `json:"question"`
	Basis    string `json:"basis"`
	Claims   string `json:"claims"`
	Not      string `json:"not"` // what it does not claim
}

// RangePart is one part of a range: what it covers, how it is computed, and with which
// constants.
type RangePart struct {
	ID      string `json:"id"` // sampling, weights or unknown
	Covers  string `json:"covers"`
	Formula string `json:"formula"`
	Not     string `json:"not"` // what it does not cover
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

	Grades   []EvidenceRule  `json:"grades,omitempty"`   // of the evidence of signals, the strongest first
	Reported []MethodReason  `json:"reported,omitempty"` // measured and shown without points
	Findings []MethodFinding `json:"findings,omitempty"` // studies that found no effect, or less than they seem to
}

// EvidenceRule is what an evidence grade means and the most points it allows a signal.
type EvidenceRule struct {
	Grade     EvidenceGrade `json:"grade"`
	Why       string        `json:"why"`
	MaxPoints int           `json:"maxPoints"`
}

// MethodFinding is the result of a study and what it does not show.
type MethodFinding struct {
	ID      string   `json:"id"`
	Result  string   `json:"result"`
	Limits  string   `json:"limits"`
	Sources []string `json:"sources"`
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
