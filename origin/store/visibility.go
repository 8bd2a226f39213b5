package store

import (
	"context"
	"fmt"

	"github.com/fieldmark/fieldmark"
)

// PutSample keeps an answer sample in place of one of the same engine, surface,
// locale, prompts and end, and reports whether it says anything else.
func (t *Tx) PutSample(ctx context.Context, v fieldmark.VisibilitySample, at fieldmark.Time) (changed bool, err error) {
	fail := func(err error) (bool, error) {
		return false, fmt.Errorf("put a sample of brand %s on %s: %w", v.Brand, v.Engine, err)
	}
	body, err := text(v)
	if err != nil {
		return fail(err)
	}
	key := []any{string(v.Brand), v.Engine, v.Surface, v.Locale, v.To.Micros(), v.PromptSet}
	rows, err := t.query(ctx, `SELECT body FROM visibility WHERE brand = $1 AND engine = $2 AND surface = $3 AND locale = $4
		AND to_at = $5 AND prompt_set = $6`, key...)
	kept, err := collect(rows, err, func(row scanner) (old fieldmark.VisibilitySample, err error) {
		return old, row.Scan(document{&old})
	})
	if err != nil {
		return fail(err)
	}
	for _, old := range kept {
		old.Brand, old.FileHash, old.Signer = v.Brand, v.FileHash, v.Signer // where it came from is no difference
		if old == v {
			return false, nil
		}
	}
	_, err = t.exec(ctx, `INSERT INTO visibility (brand, engine, surface, locale, to_at, prompt_set, body, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (brand, engine, surface, locale, to_at, prompt_set)
		DO UPDATE SET body = excluded.body, created_at = excluded.created_at`, append(key, body, at.Micros())...)
	if err != nil {
		return fail(err)
	}
	return true, nil
}

// samples lists the newest sample of each engine, surface and locale of the
// brands from first to last.
func (s *Store) samples(ctx context.Context, first, last fieldmark.Slug) ([]fieldmark.VisibilitySample, error) {
	rows, err := s.query(ctx, `SELECT v.brand, v.body FROM visibility v WHERE v.brand >= $1 AND v.brand <= $2
		AND v.to_at = (SELECT MAX(w.to_at) FROM visibility w WHERE w.brand = v.brand AND w.engine = v.engine
			AND w.surface = v.surface AND w.locale = v.locale)
		ORDER BY v.brand, v.engine, v.surface, v.locale, v.prompt_set`, string(first), string(last))
	list, err := collect(rows, err, func(row scanner) (v fieldmark.VisibilitySample, err error) {
		var brand fieldmark.Slug // the slug may have changed since
		err = row.Scan(&brand, document{&v})
		v.Brand = brand
		return v, err
	})
	if err != nil {
		return nil, fmt.Errorf("list samples of brands %s to %s: %w", first, last, err)
	}
	return list, nil
}
