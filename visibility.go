package fieldmark

import (
	"time"
)

// Surface of an answer engine: its API, or its app for people.
const (
	SurfaceAPI = "api"
	SurfaceApp = "app"
)

// VisibilitySample contains the counts of the answers of one engine to a set of prompts.
// Counts of a brand and its competitors come from the same answers, so that their shares
// have one denominator.
type VisibilitySample struct {
	Brand   Slug   `json:"brand"`
	Engine  string `json:"engine"` // in the form of a slug: chatgpt, google-ai-mode
	Model   string `json:"model,omitempty"`
	Surface string `json:"surface"` // SurfaceAPI or SurfaceApp
	Locale  string `json:"locale"`  // BCP 47

	PromptSet      string `json:"promptSetId"`
	PromptSetHash  Digest `json:"promptSetHash"`
	Prompts        int    `json:"prompts"`
	BrandedPrompts int    `json:"brandedPrompts"` // of these, contain the brand name
	Runs           int    `json:"runs"`           // per prompt

	Answers   int `json:"answers"`
	Mentions  int `json:"mentions"`  // answers that name the brand
	Cited     int `json:"cited"`     // answers with any citation
	Citations int `json:"citations"` // answers that cite the domain of the brand
	Voices    int `json:"voices"`    // answers that name the brand or a listed competitor
	Graded    int `json:"graded"`    // verified statements about the brand
	Right     int `json:"right"`     // of these, true statements

	From      Time   `json:"from"`
	To        Time   `json:"to"`
	Provider  string `json:"provider"`            // source of the sample
	AliasRule string `json:"aliasRule,omitempty"` // how an ambiguous name was distinguished from the word
	FileHash  Digest `json:"fileHash,omitempty"`  // digest of its import file
	Signer    string `json:"signer,omitempty"`    // id of the key that imported it
}

// VisibilityImport is the result of an import.
type VisibilityImport struct {
	Added     int `json:"added"`
	Unchanged int `json:"unchanged"`
	// Pointer identifies line and field: /12/mentions; the first 1,000
	Rejected []FieldError `json:"rejected,omitempty"`
	Omitted  int          `json:"rejectedOmitted,omitempty"` // further problems
	FileHash Digest       `json:"fileHash"`
}

// Minimum size and maximum age of a sample that can be ranked.
const (
	MinVisibilityPrompts = 20
	MinVisibilityRuns    = 5
	VisibilityWithin     = 35 * 24 * time.Hour
)

// VisibilityQuality is the quality of a visibility.
type VisibilityQuality string

// A visibility can be ranked, or is only an indication.
const (
	VisibilityRanked     VisibilityQuality = "ranked"
	VisibilityIndicative VisibilityQuality = "indicative"
)

// VisibilityMethodology is the name of the evaluation method.
var VisibilityMethodology = Methodology{ID: "geo-visibility", Version: "1.1", URL: "/methodology#visibility"}

// Rate is a share with its 95 % Wilson interval.
type Rate struct {
	Value Milli `json:"value"` // 0 to 1
	Low   Milli `json:"low"`
	High  Milli `json:"high"`
	Of    int   `json:"of"` // the denominator
}

// EngineVisibility is the visibility in one engine.
type EngineVisibility struct {
	Engine       string `json:"engine"`
	Score        Milli  `json:"score"` // 0 to 100
	Interval     Range  `json:"interval"`
	MentionRate  *Rate  `json:"mentionRate"`
	CitationRate *Rate  `json:"citationRate"` // null if no answer cited anything
	ShareOfVoice *Rate  `json:"shareOfVoice"` // null if no answer named any brand
	Accuracy     *Rate  `json:"accuracy"`     // null if nothing was verified; not part of the score
	Answers      int    `json:"answers"`
	Counted      bool   `json:"counted"`          // whether it is part of the total
	Reason       string `json:"reason,omitempty"` // why it cannot be ranked
	AsOf         Time   `json:"asOf"`
}

// Visibility is how often answer engines name and cite a brand, from imported samples.
// It is shown beside the score.
type Visibility struct {
	Score       Milli              `json:"score"` // 0 to 100, one decimal
	Range       Range              `json:"range"` // with every interval at its ends
	Engines     []EngineVisibility `json:"engines"`
	AsOf        Time               `json:"asOf"` // end of the newest sample
	Quality     VisibilityQuality  `json:"quality"`
	Methodology Methodology        `json:"methodology"`
}

// MaxSampleCount limits every count of a sample, so that Wilson cannot overflow.
const MaxSampleCount = 1_000_000
