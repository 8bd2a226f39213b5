package scoring

import (
	"slices"
	"time"

	"github.com/fieldmark/fieldmark"
)

// tooOld is the reason of a study that ended too long ago.
const tooOld = "older than 35 days"

// StudyReason returns why a brand in a result cannot be ranked now, or an empty string.
func StudyReason(b *fieldmark.StudyBrand, to fieldmark.Time, now time.Time) string {
	if b.Reason == "" && now.Sub(to.Std()) > fieldmark.VisibilityWithin {
		return tooOld
	}
	return b.Reason
}

// studyVisibility returns the visibility of a brand by its studies, which have only this brand; nil without
// studies. One that can be ranked comes before one that cannot, then the newest, then the first by id.
func studyVisibility(studies []fieldmark.StudyResult, now time.Time) (best *fieldmark.Visibility) {
	for i := range studies {
		if len(studies[i].All.Brands) == 0 || studies[i].All.Brands[0].MentionRate == nil {
			continue
		}
		if v := newStudyVisibility(&studies[i], now); best == nil || comesBefore(v, best) {
			best = v
		}
	}
	return best
}

// comesBefore prefers ranked studies, then newer ones; the id decides between equal ones.
func comesBefore(a, b *fieldmark.Visibility) bool {
	switch {
	case a.Quality != b.Quality:
		return a.Quality == fieldmark.VisibilityRanked
	case a.AsOf != b.AsOf:
		return a.AsOf.Std().After(b.AsOf.Std())
	}
	return a.Study.ID < b.Study.ID
}

// newStudyVisibility takes the time, so that a score depends only on its arguments.
func newStudyVisibility(r *fieldmark.StudyResult, now time.Time) *fieldmark.Visibility {
	b, ref := &r.All.Brands[0], r.StudyRef
	all := studyEngine(&r.All, r.To)
	v := &fieldmark.Visibility{Score: b.Score, Range: b.Interval, AsOf: r.To, Quality: fieldmark.VisibilityRanked,
		Methodology: r.Methodology, Form: fieldmark.FormStudy, Interval: r.Interval, Few: b.MentionRate.Few,
		Reason: StudyReason(b, r.To, now), Study: &ref, All: &all, Engines: []fieldmark.EngineVisibility{}}
	if v.Reason != "" {
		v.Quality = fieldmark.VisibilityIndicative
	} else if rank, ok := b.Ranks[fieldmark.MetricMention]; ok {
		v.Rank = &rank
	}
	counted := fieldmark.CountedEngines(r.Engines)
	for i := range r.Engines {
		if len(r.Engines[i].Brands) == 0 {
			continue
		}
		e := studyEngine(&r.Engines[i], r.To)
		e.Counted = slices.Contains(counted, i)
		v.Engines = append(v.Engines, e)
	}
	return v
}

// studyEngine returns what a study shows for one engine, in the form that samples have.
func studyEngine(e *fieldmark.StudyEngine, to fieldmark.Time) fieldmark.EngineVisibility {
	b := &e.Brands[0]
	return fieldmark.EngineVisibility{Engine: e.Engine, Model: e.Model, Surface: e.Surface, Search: e.Search,
		Score: b.Score, Interval: b.Interval, MentionRate: b.MentionRate, CitationRate: b.CitationRate,
		ShareOfVoice: b.ShareOfVoice, FirstRate: b.FirstRate, Top3Rate: b.Top3Rate, Accuracy: b.Accuracy,
		MemoryRate: b.MemoryRate, Agreement: e.Agreement, Answers: e.Answers, Failed: e.Failed,
		Searched: e.Searched, PanelMean: e.PanelMean, Counted: true, Reason: b.Reason, AsOf: to}
}
