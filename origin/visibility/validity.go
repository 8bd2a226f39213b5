package visibility

import (
	"context"
	"errors"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/visibility/validity"
)

// maxResults is how many active results of studies are looked through: a year of weekly studies of ten niches.
const maxResults = 520

// afterImports computes the validity when studies were imported in this process, until ctx ends.
// A restart loses the signal, and the daily run makes up for it.
func (s *Service) afterImports(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
			// A failure is logged; the daily run is the next attempt.
			s.jobs.Try(ctx, "compute the validity", s.publishValidity)
		}
	}
}

// publishValidity computes the validity and stores it, unless it is known already. Several processes may do so at
// once: the same input gives the same document, which the first of them publishes.
func (s *Service) publishValidity(ctx context.Context) error {
	results, memory, err := s.rankedResults(ctx)
	if err != nil || len(results) == 0 {
		return err
	}
	proxies, err := s.store.ProxyVariables(ctx)
	if err != nil {
		return err
	}
	var studies []validity.Study
	var module fieldmark.ModuleRef
	for i := range results {
		one := validity.Study{Ref: results[i].StudyRef, Questions: results[i].All.Questions}
		for _, e := range results[i].Engines {
			one.Engines = append(one.Engines, e.Engine)
		}
		// A brand that has a reason has no rates that could be compared.
		for k := range results[i].All.Brands {
			b := &results[i].All.Brands[k]
			if b.Reason != "" {
				continue
			}
			// As of the beginning of the study: facts that were published because of its result must not explain it.
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
				Proxies: proxiesOf(proxies, b.Slug), Assessment: *a})
		}
		studies = append(studies, one)
	}
	v := validity.Compute(studies, module)
	if v.HeldOut, err = s.heldOut(ctx, studies, module, v.Digest); err != nil {
		return err
	}
	v.AsOf = new(fieldmark.At(time.Now()))
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		// Compared in the transaction, because another process may have published the same document meanwhile. The
		// date is not part of the digest, so the same values are not published every day.
		known, err := tx.NewestValidity(ctx)
		// A document from before held-out studies were computed is replaced once.
		same := known.Digest == v.Digest && (known.HeldOut != nil || v.HeldOut == nil)
		if err == nil && same || err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if err := tx.PutValidity(ctx, &v); err != nil {
			return err
		}
		_, err = event.Emit(ctx, tx, access.DefaultAccount, store.Event{Event: fieldmark.Event{
			Type: fieldmark.EventValidityPublished, Tags: []fieldmark.Tag{fieldmark.TagValidity}},
			Subject: string(v.Digest)}, fieldmark.ValidityNotice{Digest: v.Digest, AsOf: *v.AsOf, Module: v.Module,
			Studies: len(v.Studies), Brands: v.Brands, MinBrands: v.MinBrands})
		return err
	})
}

// proxiesOf returns the values of a brand by the names of the variables; nil without any.
func proxiesOf(all map[string]map[fieldmark.Slug]int64, slug fieldmark.Slug) (values map[string]int64) {
	for name, brands := range all {
		if value, ok := brands[slug]; ok {
			if values == nil {
				values = map[string]int64{}
			}
			values[name] = value
		}
	}
	return values
}

// heldOut returns how the scores of the active module are associated with studies that began after its upload;
// nil if the module is not stored.
func (s *Service) heldOut(ctx context.Context, studies []validity.Study, module fieldmark.ModuleRef,
	seed fieldmark.Digest) (*fieldmark.Foretelling, error) {
	record, err := s.store.ModuleRecord(ctx, module.Digest)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var later [][]validity.Scored
	for i := range studies {
		// A module may have been tuned to studies that its author could read before the upload.
		if !studies[i].Ref.From.Std().After(record.CreatedAt.Std()) {
			continue
		}
		var brands []validity.Scored
		for _, b := range studies[i].Brands {
			brands = append(brands, validity.Scored{Mention: b.Mention, Citation: b.Citation,
				Score: b.Assessment.Score})
		}
		later = append(later, brands)
	}
	return validity.Foretell(later, fieldmark.ForetellingHeldOut, seed), nil
}

// Foretell compares two modules, the active one first, with what ranked studies measured: with all of them,
// and with those that began after the second was uploaded. It returns nothing without a ranked study.
func (s *Service) Foretell(ctx context.Context, pushed time.Time, score Scorer) ([]fieldmark.Foretelling, error) {
	results, _, err := s.rankedResults(ctx)
	if err != nil || len(results) == 0 {
		return nil, err
	}
	var seen, later [][]validity.Scored
	var seed fieldmark.Digest
	for i := range results {
		brands, err := s.scoreStudy(ctx, &results[i], score)
		if err != nil {
			return nil, err
		}
		// The digest of the last study is the seed, so that a repeated preview shows the same interval.
		seen, seed = append(seen, brands), results[i].Digest
		// As in heldOut: only these could not have been known when the module was made.
		if results[i].From.Std().After(pushed) {
			later = append(later, brands)
		}
	}
	return []fieldmark.Foretelling{*validity.Foretell(seen, fieldmark.ForetellingSeen, seed),
		*validity.Foretell(later, fieldmark.ForetellingHeldOut, seed)}, nil
}

// scoreStudy scores the brands of a study by two modules, from the facts before the study.
func (s *Service) scoreStudy(ctx context.Context, r *fieldmark.StudyResult, score Scorer) (list []validity.Scored,
	err error) {
	at := r.From.Std()
	for k := range r.All.Brands {
		b := &r.All.Brands[k]
		if b.Reason != "" {
			continue
		}
		state, err := s.store.BrandStateAt(ctx, b.Slug, at)
		if errors.Is(err, store.ErrNotFound) || err == nil && state.Facts == nil {
			continue
		}
		if err != nil {
			return nil, err
		}
		one := validity.Scored{Mention: valueOf(b.MentionRate), Citation: valueOf(b.CitationRate)}
		// Module 0 is the active one; both get the same facts and the same time.
		if one.Against, err = score(ctx, 0, state.Facts, at); err == nil {
			one.Score, err = score(ctx, 1, state.Facts, at)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
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
			// Without a search an engine answers from its training data alone.
			if e.Search != fieldmark.SearchOff {
				searched = true
				continue
			}
			for k := range e.Brands {
				key := memoryKey{r.PromptSetHash, e.Brands[k].Slug}
				// Results come the newest first.
				if _, newer := memory[key]; !newer {
					memory[key] = valueOf(e.Brands[k].MentionRate)
				}
			}
		}
		last := len(ranked) - 1
		if last >= 0 && ranked[last].Niche == r.Niche && ranked[last].Locale == r.Locale {
			continue // an older one
		}
		// With fewer brands, a rank correlation has no power.
		if searched && r.All.RankedBrands() >= fieldmark.MinVisibilityBrands {
			ranked = append(ranked, r)
		}
	}
	return ranked, memory, nil
}

// valueOf returns the value of a rate; nil stays nil, because a missing rate is not zero.
func valueOf(r *fieldmark.Rate) *fieldmark.Milli {
	if r == nil {
		return nil
	}
	return &r.Value
}

// assessmentAt scores a brand by the facts that were known at a time; nil without any.
// The active module scores all of them: scores of the modules of their time could not be compared.
func (s *Service) assessmentAt(ctx context.Context, slug fieldmark.Slug,
	at time.Time) (*fieldmark.Assessment, error) {
	state, err := s.store.BrandStateAt(ctx, slug, at)
	// A brand that was not audited by then has no score that the study could support or contradict.
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
		// An empty document has the members of a full one, so clients read both alike.
		return validity.Compute(nil, fieldmark.ModuleRef{}), nil
	}
	return v, err
}
