package store

import (
	"context"
	"fmt"

	"github.com/fieldmark/fieldmark"
)

// aliasOf is a slug and the brand it leads to.
type aliasOf struct{ slug, brand fieldmark.Slug }

func aliases(ctx context.Context, from asker, first, last fieldmark.Slug) ([]aliasOf, error) {
	rows, err := from.query(ctx, `SELECT slug, brand FROM brand_alias WHERE brand >= $1 AND brand <= $2 ORDER BY brand, slug`, string(first), string(last))
	list, err := collect(rows, err, func(row scanner) (a aliasOf, err error) { return a, row.Scan(&a.slug, &a.brand) })
	if err != nil {
		return nil, fmt.Errorf("list aliases of brands %s to %s: %w", first, last, err)
	}
	return list, nil
}

func aliasesOf(ctx context.Context, from asker, slug fieldmark.Slug) ([]fieldmark.Slug, error) {
	list, err := aliases(ctx, from, slug, slug)
	slugs := make([]fieldmark.Slug, len(list))
	for i, a := range list {
		slugs[i] = a.slug
	}
	return slugs, err
}

// Aliases lists the other slugs of a brand.
func (s *Store) Aliases(ctx context.Context, slug fieldmark.Slug) ([]fieldmark.Slug, error) {
	return aliasesOf(ctx, s, slug)
}

// Aliases lists the other slugs of a brand as the transaction sees them.
func (t *Tx) Aliases(ctx context.Context, slug fieldmark.Slug) ([]fieldmark.Slug, error) {
	return aliasesOf(ctx, t, slug)
}

func resolve(ctx context.Context, from asker, alias fieldmark.Slug) (slug fieldmark.Slug, err error) {
	err = from.queryRow(ctx, `SELECT brand FROM brand_alias WHERE slug = $1`, string(alias)).Scan(&slug)
	if err != nil {
		return "", fmt.Errorf("resolve alias %s: %w", alias, none(err))
	}
	return slug, nil
}

// Resolve returns the brand an alias leads to; the error is ErrNone where it is none.
func (s *Store) Resolve(ctx context.Context, alias fieldmark.Slug) (fieldmark.Slug, error) {
	return resolve(ctx, s, alias)
}

// Resolve is Store.Resolve as the transaction sees it.
func (t *Tx) Resolve(ctx context.Context, alias fieldmark.Slug) (fieldmark.Slug, error) {
	return resolve(ctx, t, alias)
}

// PutAlias lets a slug lead to a brand.
func (t *Tx) PutAlias(ctx context.Context, alias, brand fieldmark.Slug, at fieldmark.Time) error {
	_, err := t.exec(ctx, `INSERT INTO brand_alias (slug, brand, created_at) VALUES ($1, $2, $3)
		ON CONFLICT (slug) DO UPDATE SET brand = excluded.brand`, string(alias), string(brand), at.Micros())
	if err != nil {
		return fmt.Errorf("put alias %s of %s: %w", alias, brand, err)
	}
	return nil
}

// DropAlias frees a slug; it reports whether it led to the brand.
func (t *Tx) DropAlias(ctx context.Context, alias, brand fieldmark.Slug) (bool, error) {
	n, err := t.exec(ctx, `DELETE FROM brand_alias WHERE slug = $1 AND brand = $2`, string(alias), string(brand))
	if err != nil {
		return false, fmt.Errorf("drop alias %s of %s: %w", alias, brand, err)
	}
	return n > 0, nil
}

// ofBrand are the tables whose rows belong to a brand, by its slug.
var ofBrand = []string{"revision", "audit", "visibility", "brand_alias"}

// RenameBrand gives a brand, and all that belongs to it, another slug, which must
// be free.
func (t *Tx) RenameBrand(ctx context.Context, from, to fieldmark.Slug, at fieldmark.Time) error {
	const rest = `name, url, niche, language, description, public, created_at, facts_digest, facts_at, audit_due, audit_rules`
	fail := func(err error) error { return fmt.Errorf("rename brand %s to %s: %w", from, to, err) }
	if _, err := t.exec(ctx, `INSERT INTO brand (slug, updated_at, `+rest+`) SELECT $2, $3, `+rest+` FROM brand WHERE slug = $1`,
		string(from), string(to), at.Micros()); err != nil {
		return fail(err)
	}
	for _, table := range ofBrand {
		if _, err := t.exec(ctx, `UPDATE `+table+` SET brand = $2 WHERE brand = $1`, string(from), string(to)); err != nil {
			return fail(err)
		}
	}
	if _, err := t.exec(ctx, `DELETE FROM brand WHERE slug = $1`, string(from)); err != nil {
		return fail(err)
	}
	return nil
}

// DeleteBrand removes a brand and everything that is known of it. What other
// brands share stays.
func (t *Tx) DeleteBrand(ctx context.Context, slug fieldmark.Slug) error {
	fail := func(err error) error { return fmt.Errorf("delete brand %s: %w", slug, err) }
	rows, err := t.query(ctx, `SELECT DISTINCT digest FROM revision WHERE brand = $1`, string(slug))
	digests, err := collect(rows, err, func(row scanner) (d string, err error) { return d, row.Scan(&d) })
	if err != nil {
		return fail(err)
	}
	for _, table := range ofBrand {
		if _, err := t.exec(ctx, `DELETE FROM `+table+` WHERE brand = $1`, string(slug)); err != nil {
			return fail(err)
		}
	}
	if _, err := t.exec(ctx, `DELETE FROM brand WHERE slug = $1`, string(slug)); err != nil {
		return fail(err)
	}
	for _, d := range digests {
		if _, err := t.exec(ctx, `DELETE FROM facts WHERE digest = $1
			AND NOT EXISTS (SELECT 1 FROM revision r WHERE r.digest = $1)`, d); err != nil {
			return fail(err)
		}
	}
	return nil
}
