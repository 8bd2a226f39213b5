package fieldmark

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
