package scoring

import (
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
)

// Shares of the full score. The strongest correlations with being named are outside the
// site of a brand, but causality is not shown, and visibility is an outcome rather than
// effort: therefore the smaller share.
const (
	readinessShare  = 60
	visibilityShare = 40
)

// SetVisibility adds the visibility of a brand, and the full score if both can be ranked.
// It takes the time because studies age: the same study stops counting after some weeks.
func SetVisibility(s *fieldmark.Score, state *fieldmark.BrandState, now time.Time) {
	s.Visibility = Visibility(state.Visibility, state.Studies, now)
	if s.Visibility == nil || s.Visibility.Quality != fieldmark.VisibilityRanked || !s.Ranked() {
		return
	}
	both := full(*s.Score, s.Visibility.Score)
	s.Full = &both
}

// full weighs two scores of 0 to 100.
func full(readiness, visibility fieldmark.Milli) fieldmark.Milli {
	return ratio(readinessShare*readiness+visibilityShare*visibility, readinessShare+visibilityShare).Tenth()
}

// visibilityWeights are the weights of mention rate, citation rate and share of voice;
// those of missing rates are dropped. Accuracy has no weight: the importer decides whether
// statements are verified, so a weight would reward omitting a low rate.
var visibilityWeights = [...]int{35, 30, 25}

// Visibility evaluates the studies of a brand, which have only this brand, and its samples. It returns nil
// without either. Samples count only without a study, and are never ranked: sums of answers do
// not show how much questions differ.
func Visibility(samples []fieldmark.VisibilitySample, studies []fieldmark.StudyResult,
	now time.Time) *fieldmark.Visibility {
	engines := sampleEngines(samples)
	if v := studyVisibility(studies, now); v != nil {
		for _, e := range engines {
			e.Counted = false
			v.Engines = append(v.Engines, e)
		}
		return v
	}
	if len(engines) == 0 {
		return nil
	}
	v := &fieldmark.Visibility{Quality: fieldmark.VisibilityIndicative, Methodology: fieldmark.VisibilityMethodology,
		Engines: engines, Form: fieldmark.FormSamples, Interval: fieldmark.IntervalAnswers, Reason: onlySums}
	var sum, low, high fieldmark.Milli
	for _, e := range engines {
		sum, low, high = sum+e.Score, low+e.Interval.Low, high+e.Interval.High
		if e.AsOf.Std().After(v.AsOf.Std()) {
			v.AsOf = e.AsOf
		}
	}
	v.Score = ratio(sum, len(engines)).Tenth()
	v.Range = fieldmark.Range{Low: ratio(low, len(engines)).Tenth(), High: ratio(high, len(engines)).Tenth()}
	return v
}

// onlySums is the reason of samples.
const onlySums = "sums of answers: the interval treats every answer as independent"

// sampleEngines evaluates samples per engine; samples of one engine are added up. Each engine has the same
// weight, since how many people use it is not public.
func sampleEngines(samples []fieldmark.VisibilitySample) (engines []fieldmark.EngineVisibility) {
	samples = slices.Clone(samples)
	slices.SortStableFunc(samples,
		func(a, b fieldmark.VisibilitySample) int { return strings.Compare(a.Engine, b.Engine) })
	for len(samples) > 0 {
		n := 1
		for n < len(samples) && samples[n].Engine == samples[0].Engine {
			n++
		}
		engines = append(engines, engineVisibility(samples[:n]))
		samples = samples[n:]
	}
	return engines
}

// engineVisibility sums the samples of one engine, so a sample with more answers weighs more.
func engineVisibility(samples []fieldmark.VisibilitySample) fieldmark.EngineVisibility {
	var all fieldmark.VisibilitySample
	e := fieldmark.EngineVisibility{Engine: samples[0].Engine, Counted: true, Reason: onlySums}
	for i := range samples {
		s := &samples[i]
		all.Answers, all.Mentions = all.Answers+s.Answers, all.Mentions+s.Mentions
		all.Cited, all.Citations = all.Cited+s.Cited, all.Citations+s.Citations
		all.Voices, all.Graded, all.Right = all.Voices+s.Voices, all.Graded+s.Graded, all.Right+s.Right
		if s.To.Std().After(e.AsOf.Std()) {
			e.AsOf = s.To
		}
	}
	e.Answers = all.Answers
	e.MentionRate, e.CitationRate = newRate(all.Mentions, all.Answers), newRate(all.Citations, all.Cited)
	e.ShareOfVoice, e.Accuracy = newRate(all.Mentions, all.Voices), newRate(all.Right, all.Graded)
	var sum, low, high fieldmark.Milli
	weight := 0
	for i, r := range [...]*fieldmark.Rate{e.MentionRate, e.CitationRate, e.ShareOfVoice} {
		if r == nil {
			continue
		}
		w := fieldmark.Milli(visibilityWeights[i])
		weight += visibilityWeights[i]
		sum, low, high = sum+w*r.Value, low+w*r.Low, high+w*r.High
	}
	e.Score = ratio(100*sum, weight).Tenth()
	e.Interval = fieldmark.Range{Low: ratio(100*low, weight).Tenth(), High: ratio(100*high, weight).Tenth()}
	return e
}

// newRate returns nil for a rate of nothing, which is absent and not 0.
func newRate(k, n int) *fieldmark.Rate {
	if n == 0 {
		return nil
	}
	low, high := Wilson(k, n)
	return &fieldmark.Rate{Value: ratio(fieldmark.Milli(k)*fieldmark.MilliOne, n), Low: low, High: high, Of: n}
}

// Wilson returns the bounds of the 95 % Wilson interval of k out of n, 0 <= k <= n
// and 1 <= n <= MaxSampleCount, in thousandths (E. B. Wilson, 1927; z = 1.96). It is
// computed in integers, because floating point differs between machines.
//
//	(k + z²/2 ± z √(k(n-k)/n + z²/4)) / (n + z²)
//
// The usual interval around k/n has no width for k = 0 and leaves 0 to 1 for small n; Wilson's does
// neither.
func Wilson(k, n int) (low, high fieldmark.Milli) {
	const unit = 10_000 // z² and the root have four decimals
	const zz = 38_416   // 1.96²
	count, of := int64(k), int64(n)
	root := isqrt(count*(of-count)*unit/of*unit + zz/4*unit) // in units
	middle := count*unit + zz/2
	spread := 196 * root / 100
	bottom := of*unit + zz
	low = ratio64(max(middle-spread, 0)*int64(fieldmark.MilliOne), bottom)
	high = ratio64((middle+spread)*int64(fieldmark.MilliOne), bottom)
	return low, min(high, fieldmark.MilliOne)
}

// ratio64 rounds half up, as the module does, in integers that are the same on every machine.
func ratio64(n, d int64) fieldmark.Milli { return fieldmark.Milli((2*n + d) / (2 * d)) }

// isqrt returns the root of n, rounded down.
// Newton's method from above ends at the largest integer whose square is not above n.
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

// NewFullBoardEntry is NewBoardEntry for the list of full scores.
func NewFullBoardEntry(s *fieldmark.Score) fieldmark.BoardEntry {
	e := fieldmark.NewBoardEntry(s)
	e.Score = *s.Full
	e.Range = fieldmark.Range{Low: full(s.Range.Low, s.Visibility.Range.Low),
		High: full(s.Range.High, s.Visibility.Range.High)}
	e.Grade = GradeOf(e.Range.Low)
	return e
}
