package fieldmark

import (
	"encoding/json"
	"time"
)

// Surface of an answer engine: its API, or its app for people.
const (
	SurfaceAPI = "api"
	SurfaceApp = "app"
)

// SearchOff is the search mode of an engine that answers from what it was trained on.
const SearchOff = "off"

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
	// Warnings name brands of a study that are not in the registry: they count in denominators only.
	Warnings []FieldError `json:"warnings,omitempty"`
}

// Minimum size and maximum age of a study whose brands can be ranked.
const (
	MinVisibilityPrompts = 40 // without the name of a brand of the panel, answered
	MinVisibilityRuns    = 5  // answers to each, over as many days
	VisibilityWithin     = 35 * 24 * time.Hour
	MinVisibilityBrands  = 5 // of a leaderboard
)

// VisibilityQuality is the quality of a visibility.
type VisibilityQuality string

// A visibility can be ranked, or is only an indication.
const (
	VisibilityRanked     VisibilityQuality = "ranked"
	VisibilityIndicative VisibilityQuality = "indicative"
)

// VisibilityMethodology is the name of the evaluation method.
var VisibilityMethodology = Methodology{ID: "geo-visibility", Version: "2.0", URL: "/methodology#visibility"}

// Rate is a share with its 95 % interval: of a study, on the variance between questions; of a
// sample, as if every answer were independent.
type Rate struct {
	Value     Milli `json:"value"` // 0 to 1
	Low       Milli `json:"low"`
	High      Milli `json:"high"`
	Of        int   `json:"of"`                  // answers in the denominator
	Questions int   `json:"questions,omitempty"` // in the denominator; 0: not known
	// Few: so few questions vary that each counts as one answer; only High is to be shown.
	Few bool `json:"few,omitempty"`
}

// EngineVisibility is the visibility in one engine.
type EngineVisibility struct {
	Engine       string `json:"engine"`
	Model        string `json:"model,omitempty"`   // only of a study
	Surface      string `json:"surface,omitempty"` // likewise
	Search       string `json:"search,omitempty"`  // likewise: auto, required or off
	Score        Milli  `json:"score"`             // 0 to 100
	Interval     Range  `json:"interval"`
	MentionRate  *Rate  `json:"mentionRate"`
	CitationRate *Rate  `json:"citationRate"`        // null if no answer cited anything
	ShareOfVoice *Rate  `json:"shareOfVoice"`        // null if no answer named any brand
	FirstRate    *Rate  `json:"firstRate,omitempty"` // named before the other brands; only of a study
	Top3Rate     *Rate  `json:"top3Rate,omitempty"`  // among the first three
	Accuracy     *Rate  `json:"accuracy"`            // null if nothing was verified; not part of the score
	// MemoryRate is how often the same model names the brand without a search, in the same study: how well known
	// the brand is.
	MemoryRate *Rate `json:"memoryRate,omitempty"`
	// Agreement is that of the people who graded statements, once more for a part of them.
	Agreement *Agreement `json:"agreement,omitempty"`
	Answers   int        `json:"answers"`
	Failed    int        `json:"failed,omitempty"`        // requests without an answer
	Searched  *Milli     `json:"searchedShare,omitempty"` // of the answers, 0 to 1
	PanelMean *Milli     `json:"panelMean,omitempty"`     // mean mention rate of the panel; only of a study
	Counted   bool       `json:"counted"`                 // whether it is part of the total
	Reason    string     `json:"reason,omitempty"`        // why it cannot be ranked
	AsOf      Time       `json:"asOf"`
}

// Forms of an import: sums of answers, or counts by question and day.
const (
	FormSamples = 1
	FormStudy   = 2
)

// What an interval of a study covers.
const (
	IntervalQuestions     = "questions"          // other questions, on these days
	IntervalQuestionsDays = "questions and days" // at least five days
	IntervalAnswers       = "answers"            // as if every answer were independent
)

// Visibility is how often answer engines name and cite a brand, from an imported study, or else from
// samples. It is shown beside the score.
type Visibility struct {
	Score       Milli              `json:"score"` // 0 to 100, one decimal
	Range       Range              `json:"range"` // of the 95 % interval
	Engines     []EngineVisibility `json:"engines"`
	AsOf        Time               `json:"asOf"` // end of the newest sample
	Quality     VisibilityQuality  `json:"quality"`
	Methodology Methodology        `json:"methodology"`

	Form     int               `json:"form"` // FormStudy or FormSamples
	Interval string            `json:"interval"`
	Few      bool              `json:"few"`              // too few questions name the brand
	Reason   string            `json:"reason,omitempty"` // why it cannot be ranked
	Study    *StudyRef         `json:"study,omitempty"`
	All      *EngineVisibility `json:"all,omitempty"`  // the mean of the engines that count
	Rank     *StudyRank        `json:"rank,omitempty"` // by mention rate in all engines; only if ranked
}

// StudyRef identifies a study. Its digest is that of the rows of all its engines:
// GET /api/v1/visibility/studies/{digest}.
type StudyRef struct {
	ID     string `json:"id"`
	Digest Digest `json:"digest"`
	Niche  string `json:"niche"`
	Locale string `json:"locale"`
	From   Time   `json:"from"`
	To     Time   `json:"to"`
}

// StudyRank is where a brand may be in a study. All ranks lie in their ranges with 95 %.
type StudyRank struct {
	Low   int `json:"low"`
	High  int `json:"high"`
	Of    int `json:"of"`    // ranked brands
	Group int `json:"group"` // brands of a group do not differ significantly from its first
}

// StudyResult is what the answers of a study show about the brands of its panel.
type StudyResult struct {
	StudyRef
	PromptSet     string        `json:"promptSetId"`
	PromptSetHash Digest        `json:"promptSetHash"`
	PanelHash     Digest        `json:"panelHash"`
	Provider      string        `json:"provider"`
	Provenance    string        `json:"provenance"` // who wrote the questions, and how
	Methodology   Methodology   `json:"methodology"`
	Interval      string        `json:"interval"`
	Documents     []Digest      `json:"documents"` // of the rows of each engine
	Engines       []StudyEngine `json:"engines"`
	All           StudyEngine   `json:"all"` // the mean of the engines that count
}

// StudyEngine is what one engine answered, or the mean of several.
type StudyEngine struct {
	Engine    string       `json:"engine"` // empty: all
	Model     string       `json:"model,omitempty"`
	Surface   string       `json:"surface,omitempty"`
	Search    string       `json:"search,omitempty"`
	Questions int          `json:"questions"`
	Answers   int          `json:"answers"`
	Failed    int          `json:"failed"`
	Searched  *Milli       `json:"searchedShare,omitempty"`
	PanelMean *Milli       `json:"panelMean,omitempty"` // mean mention rate of all brands of the panel, 0 to 1
	Reason    string       `json:"reason,omitempty"`    // why its brands cannot be ranked; age is not considered
	Agreement *Agreement   `json:"agreement,omitempty"` // of graders
	Brands    []StudyBrand `json:"brands"`
}

// Agreement is how far people who graded the same statements agree.
type Agreement struct {
	Kappa      Milli `json:"kappa"`      // Cohen's, -1 to 1
	Statements int   `json:"statements"` // graded twice
}

// MinKappa is the agreement below which grades are not counted: they say more about the graders.
const MinKappa = 600

// CountedEngines returns the indexes of the engines of a study whose mean is its result: of those that search the ones
// that can be ranked, or all of them if none can. Answers without a search show how well known a brand is, so they
// count only if no engine searches.
func CountedEngines(engines []StudyEngine) (counted []int) {
	for _, want := range []func(*StudyEngine) bool{
		func(e *StudyEngine) bool { return e.Reason == "" && e.Search != SearchOff },
		func(e *StudyEngine) bool { return e.Search != SearchOff },
		func(e *StudyEngine) bool { return e.Reason == "" },
		func(*StudyEngine) bool { return true },
	} {
		for i := range engines {
			if want(&engines[i]) {
				counted = append(counted, i)
			}
		}
		if counted != nil {
			return counted
		}
	}
	return nil
}

// RankedBrands returns how many brands have a rank.
func (e *StudyEngine) RankedBrands() (n int) {
	for i := range e.Brands {
		if len(e.Brands[i].Ranks) > 0 {
			n++
		}
	}
	return n
}

// StudyNotice is the data of visibility.study.
type StudyNotice struct {
	Study  string `json:"study"`
	Digest Digest `json:"digest"` // of its result
	Niche  string `json:"niche"`
	Brands int    `json:"brands"`           // of the panel that have a page
	Reason string `json:"reason,omitempty"` // why it cannot be ranked
}

// ValidityNotice is the data of validity.published. The document is at GET /api/v1/validity.
type ValidityNotice struct {
	Digest  Digest    `json:"digest"` // of the input: studies, module and facts
	AsOf    Time      `json:"asOf"`
	Module  ModuleRef `json:"module"`
	Studies int       `json:"studies"`
	Brands  int       `json:"brands"` // of all studies; a brand of two studies counts twice
	// MinBrands is how many brands the document wants: with fewer it has no lines.
	MinBrands int `json:"minBrands"`
}

// StudyDocuments are the rows of a study: GET /api/v1/visibility/studies/{digest}. Each document
// has the counts of one engine in the form of an import.
type StudyDocuments struct {
	Documents []json.RawMessage `json:"documents"`
}

// StudyBrand is a brand in a StudyEngine.
type StudyBrand struct {
	Slug         Slug   `json:"slug"`
	Score        Milli  `json:"score"` // 0 to 100
	Interval     Range  `json:"interval"`
	MentionRate  *Rate  `json:"mentionRate"`
	FirstRate    *Rate  `json:"firstRate"`
	Top3Rate     *Rate  `json:"top3Rate"`
	CitationRate *Rate  `json:"citationRate"`
	ShareOfVoice *Rate  `json:"shareOfVoice"`
	Accuracy     *Rate  `json:"accuracy"`
	MemoryRate   *Rate  `json:"memoryRate,omitempty"`
	Reason       string `json:"reason,omitempty"` // why it cannot be ranked

	Ranks map[StudyMetric]StudyRank `json:"ranks,omitempty"`
}

// StudyMetric is what a leaderboard by visibility is ordered by.
type StudyMetric string

// Metrics of a study.
const (
	MetricMention  StudyMetric = "mention"
	MetricCitation StudyMetric = "citation"
	MetricVoice    StudyMetric = "voice"
	MetricFirst    StudyMetric = "first"
)

// Rate returns the rate of a metric, or nil.
func (b *StudyBrand) Rate(m StudyMetric) *Rate {
	switch m {
	case MetricMention:
		return b.MentionRate
	case MetricCitation:
		return b.CitationRate
	case MetricVoice:
		return b.ShareOfVoice
	case MetricFirst:
		return b.FirstRate
	}
	return nil
}

// Of returns the result with only one brand of the panel, and whether it is in it.
func (r *StudyResult) Of(slug Slug) (StudyResult, bool) {
	one, found := *r, false
	only := func(e StudyEngine) StudyEngine {
		brands := e.Brands
		e.Brands = []StudyBrand{}
		for _, b := range brands {
			if b.Slug == slug {
				e.Brands, found = append(e.Brands, b), true
			}
		}
		return e
	}
	one.Engines = make([]StudyEngine, len(r.Engines))
	for i, e := range r.Engines {
		one.Engines[i] = only(e)
	}
	one.All = only(r.All)
	return one, found
}

// MaxHistoryStudies limits the studies of a niche and locale in a history, the newest: two years of monthly studies,
// and as many dots as a chart on a phone can keep apart.
const MaxHistoryStudies = 24

// StudyPoint is what a study showed of one brand, in a history.
type StudyPoint struct {
	StudyRef
	PromptSet     string        `json:"promptSetId"`
	PromptSetHash Digest        `json:"promptSetHash"`
	PanelHash     Digest        `json:"panelHash"`
	Methodology   Methodology   `json:"methodology"`
	Interval      string        `json:"interval"`
	Engines       []EnginePoint `json:"engines"`
}

// EnginePoint is how often one engine named and cited the brand.
type EnginePoint struct {
	Engine       string `json:"engine"`
	Model        string `json:"model,omitempty"`
	Surface      string `json:"surface,omitempty"`
	Search       string `json:"search,omitempty"`
	MentionRate  *Rate  `json:"mentionRate"`
	CitationRate *Rate  `json:"citationRate"`
	Reason       string `json:"reason,omitempty"` // why it cannot be ranked; age is not considered
	// Changed names what differs from the study before of this engine, niche and locale. Rates on the two sides of
	// such a change cannot be compared: the difference may come from it.
	Changed []StudyChange `json:"changed,omitempty" enum:"model,search,surface,questions,panel,method"`
}

// StudyChange is a part of a study that separates its rates from those of the study before.
type StudyChange string

// Parts of a study that can differ from the study before.
const (
	StudyModel     StudyChange = "model"     // of the engine
	StudySearch    StudyChange = "search"    // whether the engine searches
	StudySurface   StudyChange = "surface"   // API or app
	StudyQuestions StudyChange = "questions" // the set of prompts
	StudyPanel     StudyChange = "panel"     // the brands, their names and domains
	StudyMethod    StudyChange = "method"    // of the evaluation
)

// Renamed returns the result of one brand under its present slug.
func (r StudyResult) Renamed(slug Slug) StudyResult {
	rename := func(e *StudyEngine) {
		for i := range e.Brands {
			e.Brands[i].Slug = slug
		}
	}
	for i := range r.Engines {
		rename(&r.Engines[i])
	}
	rename(&r.All)
	return r
}

// VisibilityFilter selects a leaderboard by visibility. Questions of two niches have no common scale.
type VisibilityFilter struct {
	Basis  string      `json:"basis"` // BasisVisibility
	Niche  string      `json:"niche"`
	Locale string      `json:"locale,omitempty"`
	Engine string      `json:"engine,omitempty"` // empty: the mean of the engines that count
	Metric StudyMetric `json:"metric"`

	MinConfidence Milli `json:"minConfidence,omitempty"` // of the score of the brand's site, 0 to 1
}

// VisibilityBoard is GET /api/v1/leaderboard?basis=visibility: the brands of the newest study of a niche that
// can be ranked, at most 100, by group and then by value.
type VisibilityBoard struct {
	Items       []VisibilityEntry `json:"items"`
	NextCursor  string            `json:"nextCursor,omitempty"`
	Total       int               `json:"total"`
	Groups      []VisibilityGroup `json:"groups"` // of the whole list
	Study       StudyRef          `json:"study"`
	Engines     []string          `json:"engines"`
	Counted     []string          `json:"counted"` // engines whose mean is shown without the filter engine
	Questions   int               `json:"questions"`
	Answers     int               `json:"answers"`
	PanelMean   *Milli            `json:"panelMean,omitempty"` // mean mention rate; with the metric mention
	Provider    string            `json:"provider"`
	Provenance  string            `json:"provenance"` // who wrote the questions, and how
	Interval    string            `json:"interval"`
	Methodology Methodology       `json:"methodology"`
	Filters     VisibilityFilter  `json:"filters"`
	Note        string            `json:"note"`
}

// VisibilityEntry is a brand in a VisibilityBoard. Its true rank is between RankLow and RankHigh.
type VisibilityEntry struct {
	Slug     Slug   `json:"slug"`
	Name     string `json:"name"`
	Value    Milli  `json:"value"` // 0 to 1, with its 95 % interval
	Low      Milli  `json:"low"`
	High     Milli  `json:"high"`
	Few      bool   `json:"few,omitempty"`
	RankLow  int    `json:"rankLow"`
	RankHigh int    `json:"rankHigh"`
	Group    int    `json:"group"`
	Answers  int    `json:"answers"`
}

// VisibilityGroup has the places in the list of a group, from 1.
type VisibilityGroup struct {
	N    int `json:"n"`
	From int `json:"from"`
	To   int `json:"to"`
}

// VisibilityNote is the note on every leaderboard by visibility.
const VisibilityNote = "Brands of a group cannot be told apart from the first of the group by this study: the order " +
	"within a group means nothing. All ranks are within rankLow and rankHigh with 95 %."

// VisibilityChange is the data of visibility.changed: the rate of a brand in one engine differs
// between two studies of the same questions.
type VisibilityChange struct {
	Slug    Slug        `json:"slug"`
	Niche   string      `json:"niche"`
	Metric  StudyMetric `json:"metric"`
	Engine  string      `json:"engine"`
	From    Milli       `json:"from"` // 0 to 1
	To      Milli       `json:"to"`
	Change  RateChange  `json:"change"`
	Cause   string      `json:"cause" enum:"brand,engine,unclear"` // engine: it changed, or all brands moved
	Studies [2]Digest   `json:"studies"`                           // the earlier one, the later one
}

// RateChange is the difference of two rates with its 95 % interval, -1 to 1.
type RateChange struct {
	Value Milli `json:"value"`
	Low   Milli `json:"low"`
	High  Milli `json:"high"`
}

// MaxSampleCount limits every count of a sample, so that Wilson cannot overflow.
const MaxSampleCount = 1_000_000

// MinValidityBrands is the least number of brands of which a Validity has lines: with fewer, an interval is
// wider than 0.32 on each side.
const MinValidityBrands = 30

// Kinds of a ValidityLine.
const (
	ValidityScore     = "score"
	ValidityComponent = "component"
	ValiditySignal    = "signal"
)

// Validity is GET /api/v1/validity: whether brands that score higher are named and cited more often. Brands are
// compared within a study. It shows no cause.
type Validity struct {
	AsOf      *Time           `json:"asOf"`   // when it was computed; null: there is no study yet
	Digest    Digest          `json:"digest"` // of the input: studies, module and facts
	Module    ModuleRef       `json:"module"`
	Studies   []ValidityStudy `json:"studies"`
	Brands    int             `json:"brands"` // of all studies; a brand of two studies counts twice
	MinBrands int             `json:"minBrands"`
	Questions int             `json:"questions"`
	Engines   []string        `json:"engines"`
	Lines     []ValidityLine  `json:"lines"`    // by id, after the score; none below minBrands
	Tested    int             `json:"tested"`   // signals
	ByChance  Milli           `json:"byChance"` // how many of these would differ from 0 at 5 % by chance
	NotTested []string        `json:"notTested"`

	// Studies that began after the upload of the module; absent: the upload is not known.
	HeldOut *Foretelling `json:"heldOut,omitempty"`
}

// ForetellingBasis is the studies that a Foretelling is computed from.
type ForetellingBasis string

// The author of a module could have looked at studies that began before its upload, and not at later ones.
const (
	ForetellingSeen    ForetellingBasis = "seen"
	ForetellingHeldOut ForetellingBasis = "held_out"
)

// Foretelling is how the scores of a module are associated with what studies measured afterwards: Kendall's
// tau-b within studies. It shows no cause. With fewer than MinBrands there are counts only.
type Foretelling struct {
	Basis     ForetellingBasis       `json:"basis" enum:"seen,held_out"`
	Metric    string                 `json:"metric" enum:"citation,mention"`
	Brands    int                    `json:"brands"`
	Studies   int                    `json:"studies"`
	MinBrands int                    `json:"minBrands"`
	Tau       *Milli                 `json:"tau,omitempty"` // -1 to 1
	Low       *Milli                 `json:"low,omitempty"` // 95 % interval: bootstrap of brands within studies
	High      *Milli                 `json:"high,omitempty"`
	Against   *ForetellingDifference `json:"against,omitempty"`
}

// ForetellingDifference compares the tau of a module with that of the active one, for the same brands.
type ForetellingDifference struct {
	Tau        Milli  `json:"tau"`        // of the active module
	Difference Milli  `json:"difference"` // of the module less the active one
	Low        *Milli `json:"low"`        // 95 % interval of the difference: paired bootstrap
	High       *Milli `json:"high"`
}

// ValidityStudy is a study of a Validity.
type ValidityStudy struct {
	StudyRef
	Brands int `json:"brands"` // that could be ranked, with facts from before the study
}

// ValidityLine is the association of one value of the score with measured rates.
type ValidityLine struct {
	ID       string       `json:"id"`
	Kind     string       `json:"kind" enum:"score,component,signal"`
	Label    string       `json:"label"`
	Citation *Association `json:"citation"` // with the citation rate; null: all brands have one value
	Mention  *Association `json:"mention"`
}

// Association is a rank correlation, Kendall's tau-b within studies.
type Association struct {
	Tau        Milli       `json:"tau"` // -1 to 1
	Low        Milli       `json:"low"` // 95 % interval: bootstrap of brands within studies
	High       Milli       `json:"high"`
	P          Milli       `json:"p"`                    // of a permutation test within studies
	Distinct   bool        `json:"distinct"`             // differs from 0 at 5 % for all signals together (Holm)
	Brands     int         `json:"brands"`               // with both values
	Pairs      int         `json:"pairs"`                // of brands that differ
	Popularity *Popularity `json:"popularity,omitempty"` // absent: the memory rate of too few brands is known
	Proxies    []Proxy     `json:"proxies,omitempty"`    // by name; those that too few brands have are absent
}

// Proxy is Popularity by a proxy variable that the operator imported, such as the number of links to a site, in place
// of the memory rate.
type Proxy struct {
	Name string `json:"name"`
	Popularity
}

// ProxyVariable is the body of PUT /api/admin/v1/visibility/proxies/{name}: all values of a proxy variable of the
// popularity of brands. Without values the variable is deleted.
type ProxyVariable struct {
	Values []ProxyValue `json:"values"`
}

// ProxyValue is the value of a brand. Only the order of values matters.
type ProxyValue struct {
	Brand Slug  `json:"brand"`
	Value int64 `json:"value"` // 0 to MaxProxyValue
}

// Limits of proxy variables.
const (
	MaxProxies     = 8                     // each is another line of numbers for every signal
	MaxProxyValues = 10_000                // brands
	MaxProxyValue  = 1_000_000_000_000_000 // exact as a number of JSON
)

// Popularity is an Association under the confounder that is measured: how often a brand is named without
// search, from what the model remembers.
type Popularity struct {
	Brands  int    `json:"brands"`
	Line    *Milli `json:"line"`    // tau of the line and the memory rate
	Rate    *Milli `json:"rate"`    // tau of the measured rate and the memory rate
	Low     *Milli `json:"low"`     // the same tau among brands below the median memory rate; null: one value
	High    *Milli `json:"high"`    // and at or above it
	Partial *Milli `json:"partial"` // partial tau
}
