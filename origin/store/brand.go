package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/fieldmark/fieldmark"
)

// Brand is a brand and which facts are held to be true of it.
type Brand struct {
	fieldmark.Brand
	FactsDigest fieldmark.Digest // empty until the first audit
	FactsAt     *fieldmark.Time  // when those facts were last found to hold
}

const brandColumns = `slug, name, url, niche, language, description, public, created_at, updated_at,
	COALESCE(facts_digest, ''), facts_at`

func scanBrand(row scanner) (b Brand, err error) {
	var public int64
	err = row.Scan(&b.Slug, &b.Name, &b.URL, &b.Niche, &b.Language, &b.Description, &public,
		instant{&b.CreatedAt}, instant{&b.UpdatedAt}, &b.FactsDigest, maybe{&b.FactsAt})
	b.Public = public != 0
	return b, none(err)
}

func brand(ctx context.Context, from asker, slug fieldmark.Slug) (Brand, error) {
	b, err := scanBrand(from.queryRow(ctx, `SELECT `+brandColumns+` FROM brand WHERE slug = $1`, string(slug)))
	if err != nil {
		return Brand{}, fmt.Errorf("read brand %s: %w", slug, err)
	}
	return b, nil
}

// Brand reads a brand; the error is ErrNone where there is none.
func (s *Store) Brand(ctx context.Context, slug fieldmark.Slug) (Brand, error) {
	return brand(ctx, s, slug)
}

// Brand reads a brand as the transaction sees it.
func (t *Tx) Brand(ctx context.Context, slug fieldmark.Slug) (Brand, error) {
	return brand(ctx, t, slug)
}

// Brands lists brands in the order of their slugs, from the one after after.
func (s *Store) Brands(ctx context.Context, after fieldmark.Slug, limit int) ([]Brand, error) {
	rows, err := s.query(ctx, `SELECT `+brandColumns+` FROM brand WHERE slug > $1 ORDER BY slug LIMIT $2`, string(after), limit)
	list, err := collect(rows, err, scanBrand)
	if err != nil {
		return nil, fmt.Errorf("list brands after %q: %w", after, err)
	}
	return list, nil
}

// PutBrand makes or replaces a brand. It does not touch its facts.
func (t *Tx) PutBrand(ctx context.Context, b fieldmark.Brand) error {
	_, err := t.exec(ctx, `INSERT INTO brand (slug, name, url, niche, language, description, public, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (slug) DO UPDATE SET name = excluded.name, url = excluded.url, niche = excluded.niche,
		language = excluded.language, description = excluded.description, public = excluded.public, updated_at = excluded.updated_at`,
		string(b.Slug), b.Name, b.URL, b.Niche, b.Language, b.Description, bit(b.Public), b.CreatedAt.Micros(), b.UpdatedAt.Micros())
	if err != nil {
		return fmt.Errorf("put brand %s: %w", b.Slug, err)
	}
	return nil
}

// DropFacts takes a brand's facts from it; the revisions stay.
func (t *Tx) DropFacts(ctx context.Context, slug fieldmark.Slug) error {
	_, err := t.exec(ctx, `UPDATE brand SET facts_digest = NULL, facts_at = NULL WHERE slug = $1`, string(slug))
	if err != nil {
		return fmt.Errorf("drop the facts of brand %s: %w", slug, err)
	}
	return nil
}

// PutFacts keeps a document of facts under its digest and makes it what is true
// of a brand from at on: as a new revision, or by moving the last one's end. Bare
// is the document without its evidence.
func (t *Tx) PutFacts(ctx context.Context, slug fieldmark.Slug, digest fieldmark.Digest, body, bare []byte, at fieldmark.Time) error {
	fail := func(err error) error { return fmt.Errorf("put the facts of brand %s: %w", slug, err) }
	_, err := t.exec(ctx, `INSERT INTO facts (digest, body, bare, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT (digest) DO NOTHING`,
		string(digest), string(body), string(bare), at.Micros())
	if err != nil {
		return fail(err)
	}
	moved, err := t.exec(ctx, `UPDATE revision SET last_at = $1 WHERE brand = $2 AND digest = $3
		AND first_at = (SELECT MAX(r.first_at) FROM revision r WHERE r.brand = $2)`, at.Micros(), string(slug), string(digest))
	if err != nil {
		return fail(err)
	}
	if moved == 0 {
		_, err := t.exec(ctx, `INSERT INTO revision (brand, first_at, last_at, digest) VALUES ($1, $2, $2, $3)
			ON CONFLICT (brand, first_at) DO UPDATE SET digest = excluded.digest`, string(slug), at.Micros(), string(digest))
		if err != nil {
			return fail(err)
		}
	}
	_, err = t.exec(ctx, `UPDATE brand SET facts_digest = $1, facts_at = $2 WHERE slug = $3`, string(digest), at.Micros(), string(slug))
	if err != nil {
		return fail(err)
	}
	return nil
}

// stateColumns and bareColumns read a brand with its facts, and with its facts
// without their evidence where the database has such a copy.
const (
	stateBrand = `b.slug, b.name, b.url, b.niche, b.language, b.description, b.public, b.created_at, b.updated_at,
	COALESCE(b.facts_digest, ''), b.facts_at, `
	stateTables  = ` FROM brand b LEFT JOIN facts f ON f.digest = b.facts_digest`
	stateColumns = stateBrand + `f.body` + stateTables
	bareColumns  = stateBrand + `COALESCE(f.bare, f.body)` + stateTables
)

func scanState(row scanner) (fieldmark.BrandState, error) {
	var s fieldmark.BrandState
	var public int64
	var at *fieldmark.Time
	b := &s.Brand
	err := row.Scan(&b.Slug, &b.Name, &b.URL, &b.Niche, &b.Language, &b.Description, &public,
		instant{&b.CreatedAt}, instant{&b.UpdatedAt}, &s.FactsDigest, maybe{&at}, document{&s.Facts})
	if err != nil {
		return fieldmark.BrandState{}, none(err)
	}
	b.Public = public != 0
	if s.Facts != nil && at != nil {
		s.Facts.AsOf = *at
	}
	return s, nil
}

// BrandState reads a brand with its facts; the error is ErrNone where there is none.
func (s *Store) BrandState(ctx context.Context, slug fieldmark.Slug) (fieldmark.BrandState, error) {
	state, err := scanState(s.queryRow(ctx, `SELECT `+stateColumns+` WHERE b.slug = $1`, string(slug)))
	if err != nil {
		return fieldmark.BrandState{}, fmt.Errorf("read the state of brand %s: %w", slug, err)
	}
	return state, nil
}

// PublicStates lists public brands with their facts in the order of their
// slugs, from the one after after. Bare leaves out the evidence of the facts.
func (s *Store) PublicStates(ctx context.Context, after fieldmark.Slug, limit int, bare bool) ([]fieldmark.BrandState, error) {
	columns := stateColumns
	if bare {
		columns = bareColumns
	}
	rows, err := s.query(ctx, `SELECT `+columns+` WHERE b.public = 1 AND b.slug > $1 ORDER BY b.slug LIMIT $2`, string(after), limit)
	list, err := collect(rows, err, scanState)
	if err != nil {
		return nil, fmt.Errorf("list the states of brands after %q: %w", after, err)
	}
	return list, nil
}

// HasBrand reports whether there is a brand under slug.
func (t *Tx) HasBrand(ctx context.Context, slug fieldmark.Slug) (bool, error) {
	_, err := t.Brand(ctx, slug)
	if errors.Is(err, ErrNone) {
		return false, nil
	}
	return err == nil, err
}
