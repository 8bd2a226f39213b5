package brand

import (
	"context"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// StateAt returns a brand with the facts that were current at a time. The facts are empty
// if the time is before the first ones. The slug may be an alias.
func (s *Service) StateAt(ctx context.Context, slug fieldmark.Slug, at time.Time) (fieldmark.BrandState, int64, error) {
	// Head comes before the data: an event in between makes the answer look older than it is,
	// and an edge repeats the request. The other order would let it keep an old answer.
	asOf, err := s.store.Head(ctx)
	if err != nil {
		return fieldmark.BrandState{}, 0, err
	}
	if to, err := s.store.ResolveAlias(ctx, slug); err == nil {
		slug = to
	}
	state, err := s.store.BrandStateAt(ctx, slug, at)
	return state, asOf, store.NotFound(err, "there is no such brand")
}

// History returns the revisions of a brand's facts in a period, at most the newest
// fieldmark.MaxRevisions, the activations of modules, and the outcomes of disputes.
func (s *Service) History(ctx context.Context, slug fieldmark.Slug, from, to time.Time) (fieldmark.BrandHistory, int64,
	error) {
	asOf, err := s.store.Head(ctx)
	if err != nil {
		return fieldmark.BrandHistory{}, 0, err
	}
	if present, err := s.store.ResolveAlias(ctx, slug); err == nil {
		slug = present
	}
	h := fieldmark.BrandHistory{}
	b, err := s.store.Brand(ctx, slug)
	if err != nil {
		return h, asOf, store.NotFound(err, "there is no such brand")
	}
	h.Brand = b.Brand
	if h.Revisions, err = s.store.Revisions(ctx, slug, from, to, fieldmark.MaxRevisions); err != nil {
		return h, asOf, err
	}
	// Activations are of all brands: a new module changes the scores, and the pages say so.
	if h.Activations, err = s.store.Activations(ctx); err != nil {
		return h, asOf, err
	}
	// Studies end with a day: one of the day on which the period ends is part of it.
	results, err := s.store.BrandResults(ctx, slug, to.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1),
		fieldmark.MaxHistoryStudies)
	if err != nil {
		return h, asOf, err
	}
	h.Studies = studyPoints(results)
	disputes, err := s.store.Disputes(ctx, store.DisputeQuery{Brand: slug, Decided: true,
		Limit: fieldmark.MaxHistoryDisputes})
	for i := range disputes {
		if at := disputes[i].DecidedAt.Std(); !at.Before(from) && !at.After(to) {
			h.Disputes = append(h.Disputes, public(&disputes[i]))
		}
	}
	return h, asOf, err
}

// studyPoints returns what studies showed of one brand, and what changed from one to the next. Results are the oldest
// first, and each has only this brand.
func studyPoints(results []fieldmark.StudyResult) (points []fieldmark.StudyPoint) {
	type series struct{ niche, locale, engine string }
	type asked struct {
		engine *fieldmark.StudyEngine
		study  *fieldmark.StudyResult
	}
	last := map[series]asked{}
	for i := range results {
		r := &results[i]
		p := fieldmark.StudyPoint{StudyRef: r.StudyRef, PromptSet: r.PromptSet, PromptSetHash: r.PromptSetHash,
			PanelHash: r.PanelHash, Methodology: r.Methodology, Interval: r.Interval,
			Engines: []fieldmark.EnginePoint{}}
		for j := range r.Engines {
			e := &r.Engines[j]
			// This engine has no result about the brand; another one of the study may have one.
			if len(e.Brands) == 0 {
				continue
			}
			b := &e.Brands[0]
			point := fieldmark.EnginePoint{Engine: e.Engine, Model: e.Model, Surface: e.Surface, Search: e.Search,
				MentionRate: b.MentionRate, CitationRate: b.CitationRate, Reason: b.Reason}
			key := series{r.Niche, r.Locale, e.Engine}
			if then, ok := last[key]; ok {
				point.Changed = studyChanges(then.engine, e, then.study, r)
			}
			last[key] = asked{e, r}
			p.Engines = append(p.Engines, point)
		}
		points = append(points, p)
	}
	return points
}

// studyChanges names what differs between two studies of an engine. visibility.changed is not sent over any of these
// but a change of the model, which it names as the cause.
func studyChanges(thenEngine, nowEngine *fieldmark.StudyEngine,
	then, now *fieldmark.StudyResult) (changed []fieldmark.StudyChange) {
	for _, c := range []struct {
		what fieldmark.StudyChange
		then string
		now  string
	}{
		{fieldmark.StudyModel, thenEngine.Model, nowEngine.Model},
		{fieldmark.StudySearch, thenEngine.Search, nowEngine.Search},
		{fieldmark.StudySurface, thenEngine.Surface, nowEngine.Surface},
		{fieldmark.StudyQuestions, string(then.PromptSetHash), string(now.PromptSetHash)},
		{fieldmark.StudyPanel, string(then.PanelHash), string(now.PanelHash)},
		{fieldmark.StudyMethod, then.Methodology.ID + then.Methodology.Version,
			now.Methodology.ID + now.Methodology.Version},
	} {
		if c.then != c.now {
			changed = append(changed, c.what)
		}
	}
	return changed
}

// FactsBody returns the document of a digest of a public brand's current or past
// facts.
func (s *Service) FactsBody(ctx context.Context, slug fieldmark.Slug, digest fieldmark.Digest) ([]byte, int64, error) {
	asOf, err := s.store.Head(ctx)
	if err != nil {
		return nil, 0, err
	}
	b, err := s.store.Brand(ctx, slug)
	// A brand that is not public answers as one that does not exist: its existence is private.
	if err == nil && !b.Public {
		return nil, asOf, fieldmark.Errorf(fieldmark.CodeNotFound, "there are no such facts")
	}
	if err != nil {
		return nil, asOf, store.NotFound(err, "there are no such facts")
	}
	body, err := s.store.FactsBody(ctx, slug, digest)
	return body, asOf, store.NotFound(err, "there are no such facts")
}
