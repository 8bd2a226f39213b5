package store

import (
	"context"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
)

// Complete adds to states, which are sorted by slug, what else an edge is told of
// a brand: earlier revisions that were in force at one of times or are the last
// before the present one, answer samples, and other slugs.
func (s *Store) Complete(ctx context.Context, states []fieldmark.BrandState, times [3]time.Time) error {
	if len(states) == 0 {
		return nil
	}
	first, last := states[0].Brand.Slug, states[len(states)-1].Brand.Slug
	at := make(map[fieldmark.Slug]*fieldmark.BrandState, len(states))
	for i := range states {
		at[states[i].Brand.Slug] = &states[i]
	}
	if err := s.addPast(ctx, at, first, last, times); err != nil {
		return fmt.Errorf("read revisions of brands %s to %s: %w", first, last, err)
	}
	samples, err := s.samples(ctx, first, last)
	if err != nil {
		return err
	}
	for _, v := range samples {
		if b := at[v.Brand]; b != nil {
			b.Visibility = append(b.Visibility, v)
		}
	}
	others, err := aliases(ctx, s, first, last)
	if err != nil {
		return err
	}
	for _, a := range others {
		if b := at[a.brand]; b != nil {
			b.Aliases = append(b.Aliases, a.slug)
		}
	}
	return nil
}

// revisionOf is a revision and whose it is.
type revisionOf struct {
	brand fieldmark.Slug
	fieldmark.Revision
}

func scanRevision(row scanner) (r revisionOf, err error) {
	if err = row.Scan(&r.brand, instant{&r.FirstAt}, instant{&r.LastAt}, &r.Digest, document{&r.Facts}); err == nil && r.Facts != nil {
		r.Facts.AsOf = r.LastAt
	}
	return r, none(err)
}

// addPast gives each brand that has facts the revisions before them that times
// ask for, oldest first.
func (s *Store) addPast(ctx context.Context, to map[fieldmark.Slug]*fieldmark.BrandState, first, last fieldmark.Slug, times [3]time.Time) error {
	const newest = `SELECT MAX(q.first_at) FROM revision q WHERE q.brand = r.brand`
	rows, err := s.query(ctx, `SELECT r.brand, r.first_at, r.last_at, r.digest, COALESCE(f.bare, f.body)
		FROM revision r JOIN facts f ON f.digest = r.digest WHERE r.brand >= $1 AND r.brand <= $2 AND r.first_at IN (
			(`+newest+`),
			(`+newest+` AND q.first_at < (SELECT MAX(p.first_at) FROM revision p WHERE p.brand = r.brand)),
			(`+newest+` AND q.first_at <= $3), (`+newest+` AND q.first_at <= $4), (`+newest+` AND q.first_at <= $5))
		ORDER BY r.brand, r.first_at`,
		string(first), string(last), times[0].UnixMicro(), times[1].UnixMicro(), times[2].UnixMicro())
	all, err := collect(rows, err, scanRevision)
	if err != nil {
		return err
	}
	for i, r := range all {
		b := to[r.brand]
		switch {
		case b == nil || b.Facts == nil:
		case i+1 == len(all) || all[i+1].brand != r.brand:
			b.FactsSince = &all[i].FirstAt
		default:
			b.Past = append(b.Past, r.Revision)
		}
	}
	return nil
}

// BrandStateAt reads a brand with the facts that were held to be true at a time,
// if there were any. When they were last confirmed before it is not kept, so they
// are taken to be as young as they can have been.
func (s *Store) BrandStateAt(ctx context.Context, slug fieldmark.Slug, at time.Time) (fieldmark.BrandState, error) {
	fail := func(err error) (fieldmark.BrandState, error) {
		return fieldmark.BrandState{}, fmt.Errorf("read the state of brand %s at %s: %w", slug, at, err)
	}
	b, err := s.Brand(ctx, slug)
	if err != nil {
		return fail(err)
	}
	state := fieldmark.BrandState{Brand: b.Brand}
	rows, err := s.query(ctx, `SELECT r.brand, r.first_at, r.last_at, r.digest, f.body FROM revision r JOIN facts f ON f.digest = r.digest
		WHERE r.brand = $1 AND r.first_at <= $2 ORDER BY r.first_at DESC LIMIT 1`, string(slug), at.UnixMicro())
	found, err := collect(rows, err, scanRevision)
	if err != nil {
		return fail(err)
	}
	for _, r := range found {
		state.FactsDigest, state.Facts, state.FactsSince = r.Digest, r.Facts, &r.FirstAt
		if at := fieldmark.At(at); at.Std().Before(r.LastAt.Std()) {
			state.Facts.AsOf = at
		}
	}
	return state, nil
}

// Revisions lists the newest of a brand's revisions that were in force between
// two times, oldest first, without evidence where it is kept apart.
func (s *Store) Revisions(ctx context.Context, slug fieldmark.Slug, from, to time.Time, limit int) ([]fieldmark.Revision, error) {
	rows, err := s.query(ctx, `SELECT brand, first_at, last_at, digest, facts FROM (
			SELECT r.brand, r.first_at, r.last_at, r.digest, COALESCE(f.bare, f.body) AS facts
			FROM revision r JOIN facts f ON f.digest = r.digest WHERE r.brand = $1 AND r.first_at <= $3
			AND r.first_at >= COALESCE((SELECT MAX(q.first_at) FROM revision q WHERE q.brand = $1 AND q.first_at <= $2), 0)
			ORDER BY r.first_at DESC LIMIT $4) AS newest ORDER BY first_at`,
		string(slug), from.UnixMicro(), to.UnixMicro(), limit)
	found, err := collect(rows, err, scanRevision)
	if err != nil {
		return nil, fmt.Errorf("list revisions of brand %s: %w", slug, err)
	}
	list := make([]fieldmark.Revision, len(found))
	for i, r := range found {
		list[i] = r.Revision
	}
	return list, nil
}

// FactsBody reads a document of facts as it was hashed, if it is or was a
// brand's; the error is ErrNone where it is not.
func (s *Store) FactsBody(ctx context.Context, slug fieldmark.Slug, digest fieldmark.Digest) ([]byte, error) {
	var body string
	err := s.queryRow(ctx, `SELECT f.body FROM facts f WHERE f.digest = $1
		AND EXISTS (SELECT 1 FROM revision r WHERE r.brand = $2 AND r.digest = $1)`, string(digest), string(slug)).Scan(&body)
	if err != nil {
		return nil, fmt.Errorf("read facts %s of brand %s: %w", digest, slug, none(err))
	}
	return []byte(body), nil
}

// Activations lists which module was in force from when on, oldest first.
func (s *Store) Activations(ctx context.Context) ([]fieldmark.Activation, error) {
	rows, err := s.query(ctx, `SELECT e.at, m.name, m.version, m.digest FROM activation a
		JOIN event e ON e.number = a.event JOIN module m ON m.digest = a.digest ORDER BY a.event`)
	list, err := collect(rows, err, func(row scanner) (a fieldmark.Activation, err error) {
		return a, row.Scan(instant{&a.At}, &a.Module.Name, &a.Module.Version, &a.Module.Digest)
	})
	if err != nil {
		return nil, fmt.Errorf("list activations: %w", err)
	}
	return list, nil
}
