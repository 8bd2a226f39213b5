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
	disputes, err := s.store.Disputes(ctx, store.DisputeQuery{Brand: slug, Decided: true,
		Limit: fieldmark.MaxHistoryDisputes})
	for i := range disputes {
		if at := disputes[i].DecidedAt.Std(); !at.Before(from) && !at.After(to) {
			h.Disputes = append(h.Disputes, public(&disputes[i]))
		}
	}
	return h, asOf, err
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
