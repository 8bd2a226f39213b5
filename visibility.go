package fieldmark

import (
	"slices"
	"strings"
	"time"
)

// Where answers were taken from: an engine's interface for programs, or the
// surface people see.
const (
	SurfaceAPI = "api"
	SurfaceApp = "app"
)

// VisibilitySample counts what one engine answered to a set of prompts. Counts
// of a brand and of its rivals come from the same answers, so that their shares
// have one denominator.
type VisibilitySample struct {
	Brand   Slug   `json:"brand"`
	Engine  string `json:"engine"` // written like a slug: chatgpt, google-ai-mode
	Model   string `json:"model,omitempty"`
	Surface string `json:"surface"` // SurfaceAPI or SurfaceApp
	Locale  string `json:"locale"`  // BCP 47

	PromptSet      string `json:"promptSetId"`
	PromptSetHash  Digest `json:"promptSetHash"`
	Prompts        int    `json:"prompts"`
	BrandedPrompts int    `json:"brandedPrompts"` // of these, name the brand
	Runs           int    `json:"runs"`           // of each prompt

	Answers   int `json:"answers"`
	Mentions  int `json:"mentions"`  // answers that name the brand
	Cited     int `json:"cited"`     // answers with a citation at all
	Citations int `json:"citations"` // answers that cite the brand's domain
	Voices    int `json:"voices"`    // answers that name the brand or a listed rival
	Graded    int `json:"graded"`    // statements about the brand that somebody checked
	Right     int `json:"right"`     // of these, are true

	From      Time   `json:"from"`
	To        Time   `json:"to"`
	Provider  string `json:"provider"`            // who took the sample
	AliasRule string `json:"aliasRule,omitempty"` // how an ambiguous name was told from the word
	FileHash  Digest `json:"fileHash,omitempty"`  // of the import it came with
	Signer    string `json:"signer,omitempty"`    // the key that imported it
}

// VisibilityImport says what became of each line of an import.
type VisibilityImport struct {
	Added     int          `json:"added"`
	Unchanged int          `json:"unchanged"`
	Rejected  []FieldError `json:"rejected,omitempty"`        // Pointer names the line and the field: /12/mentions; the first 1,000
	Omitted   int          `json:"rejectedOmitted,omitempty"` // further problems
	FileHash  Digest       `json:"fileHash"`
}

// The least a sample must have to be ranked, and the most it may be old.
const (
	MinVisibilityPrompts = 20
	MinVisibilityRuns    = 5
	VisibilityWithin     = 35 * 24 * time.Hour
)

// VisibilityQuality says what a visibility is good for.
type VisibilityQuality string

// A visibility is good enough to be ranked, or only an indication.
const (
	VisibilityRanked     VisibilityQuality = "ranked"
	VisibilityIndicative VisibilityQuality = "indicative"
)

// VisibilityMethodology names how samples are judged.
var VisibilityMethodology = Methodology{ID: "geo-visibility", Version: "1.1", URL: "/methodology#visibility"}

// Rate is a share with its Wilson 95 % interval.
type Rate struct {
	Value Milli `json:"value"` // 0 to 1
	Low   Milli `json:"low"`
	High  Milli `json:"high"`
	Of    int   `json:"of"` // the denominator
}

// EngineVisibility is what one engine's answers come to.
type EngineVisibility struct {
	Engine       string `json:"engine"`
	Score        Milli  `json:"score"` // 0 to 100
	Interval     Range  `json:"interval"`
	MentionRate  *Rate  `json:"mentionRate"`
	CitationRate *Rate  `json:"citationRate"` // null where no answer cited anything
	ShareOfVoice *Rate  `json:"shareOfVoice"` // null where no answer named anyone
	Accuracy     *Rate  `json:"accuracy"`     // null where nothing was graded; never part of the score
	Answers      int    `json:"answers"`
	Counted      bool   `json:"counted"`          // whether it enters the whole
	Reason       string `json:"reason,omitempty"` // why it is not good enough to be ranked
	AsOf         Time   `json:"asOf"`
}

// Visibility is how often answer engines name and cite a brand. It rests on
// samples that somebody took and imported, and stands beside the score.
type Visibility struct {
	Score       Milli              `json:"score"` // 0 to 100, one decimal
	Range       Range              `json:"range"` // at the ends of every interval
	Engines     []EngineVisibility `json:"engines"`
	AsOf        Time               `json:"asOf"` // the end of the newest sample
	Quality     VisibilityQuality  `json:"quality"`
	Methodology Methodology        `json:"methodology"`
}

// visibilityWeights weigh mention rate, citation rate and share of voice in a
// score; those of absent rates are dropped. Accuracy has no weight: the
// importer of a sample decides whether statements were graded, so with a weight
// it would pay to leave out a low rate.
var visibilityWeights = [...]int{35, 30, 25}

// JudgeVisibility adds up samples, engine by engine. It is nil where there are
// none. Samples of one engine are added as if they were one.
func JudgeVisibility(samples []VisibilitySample, now time.Time) *Visibility {
	if len(samples) == 0 {
		return nil
	}
	v := &Visibility{Quality: VisibilityIndicative, Methodology: VisibilityMethodology}
	samples = slices.Clone(samples)
	slices.SortStableFunc(samples, func(a, b VisibilitySample) int { return strings.Compare(a.Engine, b.Engine) })
	for len(samples) > 0 {
		n := 1
		for n < len(samples) && samples[n].Engine == samples[0].Engine {
			n++
		}
		v.Engines = append(v.Engines, judgeEngine(samples[:n], now))
		samples = samples[n:]
	}
	good := slices.ContainsFunc(v.Engines, func(e EngineVisibility) bool { return e.Reason == "" })
	if good {
		v.Quality = VisibilityRanked
	}
	var sum, low, high Milli
	counted := 0
	for i := range v.Engines {
		e := &v.Engines[i]
		if e.Counted = e.Reason == "" || !good; !e.Counted {
			continue
		}
		counted++
		sum, low, high = sum+e.Score, low+e.Interval.Low, high+e.Interval.High
		if e.AsOf.Std().After(v.AsOf.Std()) {
			v.AsOf = e.AsOf
		}
	}
	v.Score = ratio(sum, counted).Tenth()
	v.Range = Range{Low: ratio(low, counted).Tenth(), High: ratio(high, counted).Tenth()}
	return v
}

func judgeEngine(samples []VisibilitySample, now time.Time) EngineVisibility {
	var all VisibilitySample
	e := EngineVisibility{Engine: samples[0].Engine}
	for i := range samples {
		s := &samples[i]
		all.Answers, all.Mentions = all.Answers+s.Answers, all.Mentions+s.Mentions
		all.Cited, all.Citations = all.Cited+s.Cited, all.Citations+s.Citations
		all.Voices, all.Graded, all.Right = all.Voices+s.Voices, all.Graded+s.Graded, all.Right+s.Right
		if s.To.Std().After(e.AsOf.Std()) {
			e.AsOf = s.To
		}
		if why := s.shortOf(now); why != "" && e.Reason == "" {
			e.Reason = why
		}
	}
	e.Answers = all.Answers
	e.MentionRate, e.CitationRate = newRate(all.Mentions, all.Answers), newRate(all.Citations, all.Cited)
	e.ShareOfVoice, e.Accuracy = newRate(all.Mentions, all.Voices), newRate(all.Right, all.Graded)
	var sum, low, high Milli
	weight := 0
	for i, r := range [...]*Rate{e.MentionRate, e.CitationRate, e.ShareOfVoice} {
		if r == nil {
			continue
		}
		w := Milli(visibilityWeights[i])
		weight += visibilityWeights[i]
		sum, low, high = sum+w*r.Value, low+w*r.Low, high+w*r.High
	}
	e.Score = ratio(100*sum, weight).Tenth()
	e.Interval = Range{Low: ratio(100*low, weight).Tenth(), High: ratio(100*high, weight).Tenth()}
	return e
}

// shortOf says what keeps a sample from being ranked, or nothing.
func (s *VisibilitySample) shortOf(now time.Time) string {
	switch {
	case s.Prompts < MinVisibilityPrompts:
		return "fewer than 20 prompts"
	case s.Runs < MinVisibilityRuns:
		return "fewer than 5 runs of each prompt"
	case s.Answers < MinVisibilityPrompts*MinVisibilityRuns:
		return "fewer than 100 answers"
	case s.BrandedPrompts > 0:
		return "prompts that name the brand"
	case now.Sub(s.To.Std()) > VisibilityWithin:
		return "older than 35 days"
	}
	return ""
}

func newRate(k, n int) *Rate {
	if n == 0 {
		return nil
	}
	low, high := Wilson(k, n)
	return &Rate{Value: ratio(Milli(k)*MilliOne, n), Low: low, High: high, Of: n}
}

// MaxSampleCount bounds every count of a sample: what Wilson can square.
const MaxSampleCount = 1_000_000

// Wilson returns the ends of the Wilson 95 % interval of k out of n, 0 <= k <= n
// and 1 <= n <= MaxSampleCount, in thousandths (E. B. Wilson, 1927; z = 1.96). It is
// computed in integers, as floating point is not the same on every machine.
//
//	(k + z²/2 ± z √(k(n-k)/n + z²/4)) / (n + z²)
func Wilson(k, n int) (low, high Milli) {
	const unit = 10_000 // z² and the root have four decimals
	const zz = 38_416   // 1.96²
	count, of := int64(k), int64(n)
	root := isqrt(count*(of-count)*unit/of*unit + zz/4*unit) // in units
	middle := count*unit + zz/2
	spread := 196 * root / 100
	bottom := of*unit + zz
	low = ratio64(max(middle-spread, 0)*int64(MilliOne), bottom)
	high = ratio64((middle+spread)*int64(MilliOne), bottom)
	return low, min(high, MilliOne)
}

func ratio64(n, d int64) Milli { return Milli((2*n + d) / (2 * d)) }

// isqrt returns the root of n, rounded down.
func isqrt(n int64) int64 {
	if n < 2 {
		return n
	}
	r := n
	for next := (r + 1) / 2; next < r; next = (r + n/r) / 2 {
		r = next
	}
	return r
}
