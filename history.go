package fieldmark

// ScoreHistory is a brand's score over time: GET /api/v1/score/{slug}/history. It
// is old facts scored by today's module, so that nothing in it moved because the
// method did; where the module in force changed, Changes says so.
type ScoreHistory struct {
	Slug        Slug            `json:"slug"`
	Name        string          `json:"name"`
	From        Time            `json:"from"`
	To          Time            `json:"to"`
	Step        string          `json:"step"`    // StepDay or StepWeek
	Points      []HistoryPoint  `json:"points"`  // oldest first, one at the end of each step
	Changes     []HistoryChange `json:"changes"` // oldest first
	Methodology Methodology     `json:"methodology"`
	Module      ModuleRef       `json:"module"`
}

// The steps of a history.
const (
	StepDay  = "day"
	StepWeek = "week"
)

// MaxHistoryPoints bounds a history: more than a year of days.
const MaxHistoryPoints = 400

// HistoryPoint is what was known at a time.
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

// What a change in a history is of.
const (
	ChangeFacts  = "facts"  // an audit found something else
	ChangeModule = "module" // another module came into force
)

// HistoryChange marks a point at which something other than time moved the score,
// or the method by which it was published then.
type HistoryChange struct {
	At          Time           `json:"at"`
	Kind        string         `json:"kind"`
	FactsDigest Digest         `json:"factsDigest,omitempty"`
	Score       *Milli         `json:"score,omitempty"` // after a change of facts
	Moved       *Milli         `json:"moved,omitempty"` // by how much, where there was a score before
	Signals     []SignalChange `json:"signals,omitempty"`
	Gates       []GateChange   `json:"gates,omitempty"` // gates that this change applied or lifted
	Module      *ModuleRef     `json:"module,omitempty"`
}

// SignalChange is a signal whose points differ, in thousandths on both sides.
type SignalChange struct {
	ID   string `json:"id"`
	From Milli  `json:"from"`
	To   Milli  `json:"to"`
}

// GateChange is a gate that began or ceased to cap the score.
type GateChange struct {
	Gate
	Applied bool `json:"applied"` // false where the change lifted it
}
