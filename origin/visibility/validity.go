package visibility

import (
	"context"
	"errors"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/visibility/validity"
)

// maxResults is how many active results of studies are looked through: a year of weekly studies of ten niches.
const maxResults = 520

// afterImports computes the validity when studies were imported in this process, until ctx ends.
func (s *Service) afterImports(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
			s.jobs.Try(ctx, "compute the validity", s.publishValidity)
		}
	}
}

// publishValidity computes the validity and stores it, unless it is known already. Two processes may do so at
// once: the same input gives the same document.
func (s *Service) publishValidity(ctx context.Context) error {
	results, memory, err := s.rankedResults(ctx)
	if err != nil || len(results) == 0 {
		return err
	}
	var studies []validity.Study
	var module fieldmark.ModuleRef
	for i := range results {
		one := validity.Study{Ref: results[i].StudyRef, Questions: results[i].All.Questions}
		for _, e := range results[i].Engines {
			one.Engines = append(one.Engines, e.Engine)
		}
		for k := range results[i].All.Brands {
			b := &results[i].All.Brands[k]
			if b.Reason != "" {
				continue
			}
			a, err := s.assessmentAt(ctx, b.Slug, results[i].From.Std())
			if err != nil {
				return err
			}
			if a == nil {
				continue // it was not audited before the study
			}
			module = a.Module
			one.Brands = append(one.Brands, validity.Brand{Slug: b.Slug, Mention: valueOf(b.MentionRate),
				Citation: valueOf(b.CitationRate), Memory: memory[memoryKey{results[i].PromptSetHash, b.Slug}],
				Assessment: *a})
		}
		studies = append(studies, one)
	}
	v := validity.Compute(studies, module)
	known, err := s.store.NewestValidity(ctx)
	if err == nil && known.Digest == v.Digest || err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	v.AsOf = new(fieldmark.At(time.Now()))
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.PutValidity(ctx, &v); err != nil {
			return err
		}
		_, err := event.Emit(ctx, tx, "", store.Event{Event: fieldmark.Event{Type: fieldmark.EventValidityPublished,
			Tags: []fieldmark.Tag{fieldmark.TagValidity}}, Subject: string(v.Digest)}, nil)
		return err
	})
}

// memoryKey names a brand among the answers to a set of prompts.
type memoryKey struct {
	prompts fieldmark.Digest
	slug    fieldmark.Slug
}

// rankedResults returns the newest result of each niche and locale with enough brands that can be ranked, and
// the mention rates without search: how often engines name a brand from memory.
func (s *Service) rankedResults(ctx context.Context) (ranked []fieldmark.StudyResult,
	memory map[memoryKey]*fieldmark.Milli, err error) {
	bodies, err := s.store.ActiveResults(ctx, maxResults)
	if err != nil {
		return nil, nil, err
	}
	memory = map[memoryKey]*fieldmark.Milli{}
	for _, body := range bodies {
		r, err := decodeResult(body)
		if err != nil {
			return nil, nil, err
		}
		searched := false
		for i := range r.Engines {
			e := &r.Engines[i]
			if e.Search != "off" {
				searched = true
				continue
			}
			for k := range e.Brands {
				key := memoryKey{r.PromptSetHash, e.Brands[k].Slug}
				if _, newer := memory[key]; !newer {
					memory[key] = valueOf(e.Brands[k].MentionRate)
				}
			}
		}
		last := len(ranked) - 1
		if last >= 0 && ranked[last].Niche == r.Niche && ranked[last].Locale == r.Locale {
			continue // an older one
		}
		if searched && r.All.RankedBrands() >= fieldmark.MinVisibilityBrands {
			ranked = append(ranked, r)
		}
	}
	return ranked, memory, nil
}

func valueOf(r *fieldmark.Rate) *fieldmark.Milli {
	if r == nil {
		return nil
	}
	return &r.Value
}

// assessmentAt scores a brand by the facts that were known at a time; nil without any.
func (s *Service) assessmentAt(ctx context.Context, slug fieldmark.Slug,
	at time.Time) (*fieldmark.Assessment, error) {
	state, err := s.store.BrandStateAt(ctx, slug, at)
	if errors.Is(err, store.ErrNotFound) || err == nil && state.Facts == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	score, err := s.score(ctx, &state, at)
	if err != nil {
		return nil, err
	}
	return &score.Assessment, nil
}

// Validity returns the newest document of validity. Without one it has no date.
func (s *Service) Validity(ctx context.Context) (fieldmark.Validity, error) {
	v, err := s.store.NewestValidity(ctx)
	if errors.Is(err, store.ErrNotFound) {
		return validity.Compute(nil, fieldmark.ModuleRef{}), nil
	}
	return v, err
}
