package fieldmark

import (
	"slices"
	"strings"
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

// visibilityWeights are the weights of mention rate, citation rate and share of voice;
// those of missing rates are dropped. Accuracy has no weight: the importer decides whether
// statements are verified, so a weight would reward omitting a low rate.
var visibilityWeights = [...]int{35, 30, 25}

// JudgeVisibility evaluates samples per engine; samples of one engine are added up. It
// returns nil without samples.
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

// shortOf returns why a sample cannot be ranked, or an empty string.
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

// MaxSampleCount limits every count of a sample, so that Wilson cannot overflow.
const MaxSampleCount = 1_000_000

// Wilson returns the bounds of the 95 % Wilson interval of k out of n, 0 <= k <= n
// and 1 <= n <= MaxSampleCount, in thousandths (E. B. Wilson, 1927; z = 1.96). It is
// computed in integers, because floating point differs between machines.
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
