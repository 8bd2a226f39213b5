package store

import (
	"context"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
)

// Facts of brands and their history, and samples of answers.

// ClearFacts removes the active facts of a brand; the revisions stay.
func (t BrandTx) ClearFacts(ctx context.Context, slug fieldmark.Slug) error {
	_, err := t.exec(ctx, `UPDATE brand SET facts_digest = NULL, facts_at = NULL WHERE slug = $1`, string(slug))
	if err != nil {
		return fmt.Errorf("clear the facts of brand %s: %w", slug, err)
	}
	return nil
}

// PutFacts stores a document of facts under its digest and makes it active from
// a time on: as a new revision, or by extending the last one if the digest is
// the same. Bare is the document without its evidence.
func (t BrandTx) PutFacts(ctx context.Context, slug fieldmark.Slug, digest fieldmark.Digest, body, bare []byte,
	at fieldmark.Time) error {
	fail := func(err error) error { return fmt.Errorf("put the facts of brand %s: %w", slug, err) }
	_, err := t.exec(ctx, `INSERT INTO facts (digest, body, bare, created_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (digest) DO NOTHING`,
		string(digest), string(body), string(bare), at.Micros())
	if err != nil {
		return fail(err)
	}
	// Equal facts extend the last revision: a history lists changes, not audits.
	moved, err := t.exec(ctx, `UPDATE revision SET last_at = $1 WHERE brand = $2 AND digest = $3
		AND first_at = (SELECT MAX(r.first_at) FROM revision r WHERE r.brand = $2)`, at.Micros(), string(slug),
		string(digest))
	if err != nil {
		return fail(err)
	}
	if moved == 0 {
		// Of two documents with the same time, the later one counts.
		_, err := t.exec(ctx, `INSERT INTO revision (brand, first_at, last_at, digest) VALUES ($1, $2, $2, $3)
			ON CONFLICT (brand, first_at) DO UPDATE SET digest = excluded.digest`, string(slug), at.Micros(),
			string(digest))
		if err != nil {
			return fail(err)
		}
	}
	_, err = t.exec(ctx, `UPDATE brand SET facts_digest = $1, facts_at = $2 WHERE slug = $3`, string(digest),
		at.Micros(), string(slug))
	if err != nil {
		return fail(err)
	}
	return nil
}

// stateColumns and bareColumns read a brand with its facts, and with its facts
// without their evidence where the database has such a copy.
const (
	stateBrand = `b.slug, b.name, b.url, b.niche, b.language, b.description, b.public, b.created_at, b.updated_at,
	b.unlisted_at, COALESCE(b.facts_digest, ''), b.facts_at, `
	stateTables  = ` FROM brand b LEFT JOIN facts f ON f.digest = b.facts_digest`
	stateColumns = stateBrand + `f.body` + stateTables
	bareColumns  = stateBrand + `COALESCE(f.bare, f.body)` + stateTables
)

func scanState(row scanner) (fieldmark.BrandState, error) {
	var s fieldmark.BrandState
	var public int64
	var at, unlisted *fieldmark.Time
	b := &s.Brand
	err := row.Scan(&b.Slug, &b.Name, &b.URL, &b.Niche, &b.Language, &b.Description, &public,
		timeCol{&b.CreatedAt}, timeCol{&b.UpdatedAt}, nullTime{&unlisted}, &s.FactsDigest, nullTime{&at},
		jsonCol{&s.Facts})
	if err != nil {
		return fieldmark.BrandState{}, queryErr(err)
	}
	if b.Public = public != 0; !b.Public {
		s.UnlistedAt = unlisted
	}
	// The digest does not cover the time (Facts.Digest): the stored document may be of an
	// earlier audit.
	if s.Facts != nil && at != nil {
		s.Facts.AsOf = *at
	}
	return s, nil
}

// BrandState reads a brand with its facts; the error is ErrNotFound if it does
// not exist.
func (db BrandReader) BrandState(ctx context.Context, slug fieldmark.Slug) (fieldmark.BrandState, error) {
	state, err := scanState(db.queryRow(ctx, `SELECT `+stateColumns+` WHERE b.slug = $1`, string(slug)))
	if err != nil {
		return fieldmark.BrandState{}, fmt.Errorf("read the state of brand %s: %w", slug, err)
	}
	return state, nil
}

// BareState is BrandState without the evidence of facts, which scores do not depend on.
func (db BrandReader) BareState(ctx context.Context, slug fieldmark.Slug) (fieldmark.BrandState, error) {
	state, err := scanState(db.queryRow(ctx, `SELECT `+bareColumns+` WHERE b.slug = $1`, string(slug)))
	if err != nil {
		return fieldmark.BrandState{}, fmt.Errorf("read the state of brand %s: %w", slug, err)
	}
	return state, nil
}

// AuditedAt returns the first public brand with facts, in the order of slugs, that has one
// of the URLs; the error is ErrNotFound if no brand has one.
func (db BrandReader) AuditedAt(ctx context.Context, urls [8]string) (fieldmark.BrandState, error) {
	args := make([]any, len(urls))
	for i, u := range urls {
		args[i] = u
	}
	state, err := scanState(db.queryRow(ctx, `SELECT `+stateColumns+` WHERE b.url IN ($1, $2, $3, $4, $5, $6, $7, $8)
		AND b.public = 1 AND b.facts_digest IS NOT NULL ORDER BY b.slug LIMIT 1`, args...))
	if err != nil {
		return fieldmark.BrandState{}, fmt.Errorf("read the brand at %s: %w", urls[0], err)
	}
	return state, nil
}

// PublicStates lists public brands after a slug, and those that their owners unlisted, with
// their facts, in the order of slugs. Bare leaves out the evidence of facts.
func (db BrandReader) PublicStates(ctx context.Context, after fieldmark.Slug, limit int,
	bare bool) ([]fieldmark.BrandState, error) {
	columns := stateColumns
	if bare {
		columns = bareColumns
	}
	// An unlisted brand is included: its responses differ from those of one that does not exist.
	rows, err := db.query(ctx, `SELECT `+columns+` WHERE (b.public = 1 OR b.unlisted_at IS NOT NULL)
		AND b.slug > $1 ORDER BY b.slug LIMIT $2`,
		string(after), limit)
	list, err := collect(rows, err, scanState)
	if err != nil {
		return nil, fmt.Errorf("list the states of brands after %q: %w", after, err)
	}
	return list, nil
}

// AddHistory adds to states, which are sorted by slug, what edges need besides
// the facts: earlier revisions that were active at one of times or precede the
// active one, visibility samples, aliases, and the claims that hold the brands.
func (db BrandReader) AddHistory(ctx context.Context, states []fieldmark.BrandState, times [3]time.Time) error {
	if len(states) == 0 {
		return nil
	}
	first, last := states[0].Brand.Slug, states[len(states)-1].Brand.Slug
	at := make(map[fieldmark.Slug]*fieldmark.BrandState, len(states))
	for i := range states {
		at[states[i].Brand.Slug] = &states[i]
	}
	if err := db.addRevisions(ctx, at, first, last, times); err != nil {
		return fmt.Errorf("read revisions of brands %s to %s: %w", first, last, err)
	}
	samples, err := db.latestSamples(ctx, `v.brand >= $1 AND v.brand <= $2`, string(first), string(last))
	if err != nil {
		return err
	}
	for _, v := range samples {
		if b := at[v.Brand]; b != nil {
			b.Visibility = append(b.Visibility, v)
		}
	}
	if err := db.addStudies(ctx, at, `s.brand >= $1 AND s.brand <= $2`, string(first), string(last)); err != nil {
		return err
	}
	others, err := aliases(ctx, db, first, last)
	if err != nil {
		return err
	}
	for _, a := range others {
		if b := at[a.brand]; b != nil {
			b.Aliases = append(b.Aliases, a.slug)
		}
	}
	return db.publicClaims(ctx, first, last, at)
}

// brandRevision is a revision of a brand.
type brandRevision struct {
	brand fieldmark.Slug
	fieldmark.Revision
}

func scanRevision(row scanner) (r brandRevision, err error) {
	if err = row.Scan(&r.brand, timeCol{&r.FirstAt}, timeCol{&r.LastAt}, &r.Digest,
		jsonCol{&r.Facts}); err == nil && r.Facts != nil {
		r.Facts.AsOf = r.LastAt
	}
	return r, queryErr(err)
}

const (
	revisionColumns = `SELECT r.brand, r.first_at, r.last_at, r.digest, COALESCE(f.bare, f.body)
		FROM revision r JOIN facts f ON f.digest = r.digest`
	newestRevision = `SELECT MAX(q.first_at) FROM revision q WHERE q.brand = r.brand`
)

// addRevisions adds earlier revisions to brands that have facts, the oldest
// first.
func (db BrandReader) addRevisions(ctx context.Context, to map[fieldmark.Slug]*fieldmark.BrandState, first,
	last fieldmark.Slug, times [3]time.Time) error {
	const newest = newestRevision
	rows, err := db.query(ctx, revisionColumns+` WHERE r.brand >= $1 AND r.brand <= $2 AND r.first_at IN (
			(`+newest+`),
			(`+newest+` AND q.first_at < (SELECT MAX(p.first_at) FROM revision p WHERE p.brand = r.brand)),
			(`+newest+` AND q.first_at <= $3), (`+newest+` AND q.first_at <= $4), (`+newest+` AND q.first_at <= $5))
		ORDER BY r.brand, r.first_at`,
		string(first), string(last), times[0].UnixMicro(), times[1].UnixMicro(), times[2].UnixMicro())
	all, err := collect(rows, err, scanRevision)
	if err == nil {
		setRevisions(to, all)
	}
	return err
}

// setRevisions sets the revisions of brands that have facts; those of a brand follow each other, the oldest first.
func setRevisions(to map[fieldmark.Slug]*fieldmark.BrandState, all []brandRevision) {
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
}

// BrandStateAt reads a brand with the facts that were active at a time, if any.
// The database does not keep when they were last confirmed before it; the latest
// possible time is assumed.
func (db BrandReader) BrandStateAt(ctx context.Context, slug fieldmark.Slug,
	at time.Time) (fieldmark.BrandState, error) {
	fail := func(err error) (fieldmark.BrandState, error) {
		return fieldmark.BrandState{}, fmt.Errorf("read the state of brand %s at %s: %w", slug, at, err)
	}
	b, err := db.Brand(ctx, slug)
	if err != nil {
		return fail(err)
	}
	state := fieldmark.BrandState{Brand: b.Brand}
	rows, err := db.query(ctx, `SELECT r.brand, r.first_at, r.last_at, r.digest, f.body FROM revision r JOIN facts f
		ON f.digest = r.digest
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

// Revisions lists the newest revisions of a brand that were active between two
// times, the oldest first, without evidence where there is such a copy.
func (db BrandReader) Revisions(ctx context.Context, slug fieldmark.Slug, from, to time.Time,
	limit int) ([]fieldmark.Revision, error) {
	rows, err := db.query(ctx, `SELECT brand, first_at, last_at, digest, facts FROM (
			SELECT r.brand, r.first_at, r.last_at, r.digest, COALESCE(f.bare, f.body) AS facts
			FROM revision r JOIN facts f ON f.digest = r.digest WHERE r.brand = $1 AND r.first_at <= $3
			AND r.first_at >= COALESCE((SELECT MAX(q.first_at) FROM revision q WHERE q.brand = $1
				AND q.first_at <= $2), 0)
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

// FactsBody reads a document of facts as it was hashed, if it is or was active
// for the brand; the error is ErrNotFound otherwise.
func (db BrandReader) FactsBody(ctx context.Context, slug fieldmark.Slug, digest fieldmark.Digest) ([]byte, error) {
	var body string
	err := db.queryRow(ctx, `SELECT f.body FROM facts f WHERE f.digest = $1
		AND EXISTS (SELECT 1 FROM revision r WHERE r.brand = $2 AND r.digest = $1)`, string(digest),
		string(slug)).Scan(&body)
	if err != nil {
		return nil, fmt.Errorf("read facts %s of brand %s: %w", digest, slug, queryErr(err))
	}
	return []byte(body), nil
}

// PutSample stores a visibility sample in place of the one with the same engine,
// surface, locale, prompts and end, and reports whether it differs from that.
func (t BrandTx) PutSample(ctx context.Context, v fieldmark.VisibilitySample,
	at fieldmark.Time) (changed bool, err error) {
	fail := func(err error) (bool, error) {
		return false, fmt.Errorf("put a visibility sample of brand %s on %s: %w", v.Brand, v.Engine, err)
	}
	body, err := jsonText(v)
	if err != nil {
		return fail(err)
	}
	key := []any{string(v.Brand), v.Engine, v.Surface, v.Locale, v.To.Micros(), v.PromptSet}
	rows, err := t.query(ctx, `SELECT body FROM visibility WHERE brand = $1 AND engine = $2 AND surface = $3
		AND locale = $4
		AND to_at = $5 AND prompt_set = $6`, key...)
	kept, err := collect(rows, err, func(row scanner) (old fieldmark.VisibilitySample, err error) {
		return old, row.Scan(jsonCol{&old})
	})
	if err != nil {
		return fail(err)
	}
	for _, old := range kept {
		old.Brand, old.FileHash, old.Signer = v.Brand, v.FileHash, v.Signer // the source does not count
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

// BareStates reads brands by slug with their visibility samples and without the evidence of
// facts. Brands that do not exist are missing.
func (db BrandReader) BareStates(ctx context.Context,
	slugs []fieldmark.Slug) (map[fieldmark.Slug]*fieldmark.BrandState, error) {
	states := make(map[fieldmark.Slug]*fieldmark.BrandState, len(slugs))
	if len(slugs) == 0 {
		return states, nil
	}
	in, args := slugList(slugs, 1)
	rows, err := db.query(ctx, `SELECT `+bareColumns+` WHERE b.slug`+in, args...)
	all, err := collect(rows, err, scanState)
	if err != nil {
		return nil, fmt.Errorf("read the states of %d brands: %w", len(slugs), err)
	}
	for i := range all {
		states[all[i].Brand.Slug] = &all[i]
	}
	samples, err := db.latestSamples(ctx, `v.brand`+in, args...)
	if err != nil {
		return nil, err
	}
	for _, v := range samples {
		if state := states[v.Brand]; state != nil {
			state.Visibility = append(state.Visibility, v)
		}
	}
	return states, db.addStudies(ctx, states, `s.brand`+in, args...)
}

// addStudies adds to states the newest study of each niche and locale of the brands that a condition
// selects.
func (db BrandReader) addStudies(ctx context.Context, states map[fieldmark.Slug]*fieldmark.BrandState, brands string,
	args ...any) error {
	rows, err := db.query(ctx, `SELECT s.brand, s.body FROM study_brand s WHERE `+brands+`
		AND s.to_at = (SELECT MAX(n.to_at) FROM study_brand n WHERE n.brand = s.brand AND n.niche = s.niche
			AND n.locale = s.locale)
		ORDER BY s.brand, s.niche, s.locale, s.study`, args...)
	if err != nil {
		return fmt.Errorf("list studies of brands: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var brand fieldmark.Slug
		var r fieldmark.StudyResult
		if err := rows.Scan(&brand, jsonCol{&r}); err != nil {
			return fmt.Errorf("list studies of brands: %w", err)
		}
		if state := states[brand]; state != nil {
			state.Studies = append(state.Studies, r.Renamed(brand))
		}
	}
	return rows.Err()
}

// AddTrends adds to states, which BareStates read, what the trends of scores need: since when the present facts
// are, and the revisions that were active at times, the oldest first. It returns for each brand and time when the
// next revision began, after which another one will be active; brands without such a revision are missing.
func (db BrandReader) AddTrends(ctx context.Context, states map[fieldmark.Slug]*fieldmark.BrandState,
	times [3]time.Time) (map[fieldmark.Slug][3]*time.Time, error) {
	next := map[fieldmark.Slug][3]*time.Time{}
	if len(states) == 0 {
		return next, nil
	}
	in, args := slugList(slices.Collect(maps.Keys(states)), 4)
	args = append([]any{times[0].UnixMicro(), times[1].UnixMicro(), times[2].UnixMicro()}, args...)
	fail := func(err error) error { return fmt.Errorf("read revisions of %d brands: %w", len(states), err) }
	rows, err := db.query(ctx, revisionColumns+` WHERE r.brand`+in+` AND r.first_at IN ((`+newestRevision+`),
			(`+newestRevision+` AND q.first_at <= $1), (`+newestRevision+` AND q.first_at <= $2),
			(`+newestRevision+` AND q.first_at <= $3))
		ORDER BY r.brand, r.first_at`, args...)
	all, err := collect(rows, err, scanRevision)
	if err != nil {
		return nil, fail(err)
	}
	setRevisions(states, all)
	const first = `(SELECT MIN(q.first_at) FROM revision q WHERE q.brand = b.slug AND q.first_at > `
	rows, err = db.query(ctx, `SELECT b.slug, `+first+`$1), `+first+`$2), `+first+`$3) FROM brand b WHERE b.slug`+in,
		args...)
	type began struct {
		brand fieldmark.Slug
		at    [3]*int64
	}
	list, err := collect(rows, err, func(row scanner) (b began, err error) {
		return b, row.Scan(&b.brand, &b.at[0], &b.at[1], &b.at[2])
	})
	if err != nil {
		return nil, fail(err)
	}
	for _, b := range list {
		var at [3]*time.Time
		for i, micros := range b.at {
			if micros != nil {
				at[i] = new(time.UnixMicro(*micros))
			}
		}
		next[b.brand] = at
	}
	return next, nil
}

// slugList returns a condition and its arguments, whose numbers begin with first. Lists are filled up to a power
// of two, so that there are few different statements.
func slugList(slugs []fieldmark.Slug, first int) (in string, args []any) {
	args = make([]any, 1<<bits.Len(uint(len(slugs)-1)))
	list := make([]string, len(args))
	for i := range args {
		args[i], list[i] = string(slugs[min(i, len(slugs)-1)]), fmt.Sprintf("$%d", i+first)
	}
	return ` IN (` + strings.Join(list, ", ") + `)`, args
}

// latestSamples lists the newest sample of each engine, surface and locale of the brands that
// a condition selects.
func (db BrandReader) latestSamples(ctx context.Context, brands string,
	args ...any) ([]fieldmark.VisibilitySample, error) {
	rows, err := db.query(ctx, `SELECT v.brand, v.body FROM visibility v WHERE `+brands+`
		AND v.to_at = (SELECT MAX(w.to_at) FROM visibility w WHERE w.brand = v.brand AND w.engine = v.engine
			AND w.surface = v.surface AND w.locale = v.locale)
		ORDER BY v.brand, v.engine, v.surface, v.locale, v.prompt_set`, args...)
	list, err := collect(rows, err, func(row scanner) (v fieldmark.VisibilitySample, err error) {
		var brand fieldmark.Slug // the slug may have changed since
		err = row.Scan(&brand, jsonCol{&v})
		v.Brand = brand
		return v, err
	})
	if err != nil {
		return nil, fmt.Errorf("list visibility samples: %w", err)
	}
	return list, nil
}

// Study is the stored document of one engine in a study.
type Study struct {
	Digest     fieldmark.Digest
	ID, Engine string
	Niche      string
	Locale     string
	To         fieldmark.Time
	Body       []byte // compressed
	FileHash   fieldmark.Digest
	Signer     string
}

const studyColumns = `digest, id, engine, niche, locale, to_at, body, file_hash, signer`

func scanStudy(row scanner) (s Study, err error) {
	return s, row.Scan(&s.Digest, &s.ID, &s.Engine, &s.Niche, &s.Locale, timeCol{&s.To}, &s.Body, &s.FileHash,
		&s.Signer)
}
