package store

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
)

// Brands, texts of their pages, daily dumps and ranking files.

// BrandReader reads brands, their facts and their audits.
type BrandReader struct{ querier }

// BrandTx writes brands, their facts and their audits, in a transaction.
type BrandTx struct {
	BrandReader
	*tx
}

// brandAlias is another slug of a brand.
type brandAlias struct{ slug, brand fieldmark.Slug }

func aliases(ctx context.Context, db querier, first, last fieldmark.Slug) ([]brandAlias, error) {
	rows, err := db.query(ctx, `SELECT slug, brand FROM brand_alias WHERE brand >= $1 AND brand <= $2 ORDER BY brand,
		slug`, string(first), string(last))
	list, err := collect(rows, err, func(row scanner) (a brandAlias, err error) {
		return a, row.Scan(&a.slug,
			&a.brand)
	})
	if err != nil {
		return nil, fmt.Errorf("list aliases of brands %s to %s: %w", first, last, err)
	}
	return list, nil
}

// Aliases lists the other slugs of a brand.
func (db BrandReader) Aliases(ctx context.Context, slug fieldmark.Slug) ([]fieldmark.Slug, error) {
	list, err := aliases(ctx, db, slug, slug)
	slugs := make([]fieldmark.Slug, len(list))
	for i, a := range list {
		slugs[i] = a.slug
	}
	return slugs, err
}

// ResolveAlias returns the brand of an alias; the error is ErrNotFound if there
// is no such alias.
func (db BrandReader) ResolveAlias(ctx context.Context, alias fieldmark.Slug) (slug fieldmark.Slug, err error) {
	err = db.queryRow(ctx, `SELECT brand FROM brand_alias WHERE slug = $1`, string(alias)).Scan(&slug)
	if err != nil {
		return "", fmt.Errorf("resolve alias %s: %w", alias, queryErr(err))
	}
	return slug, nil
}

// PutAlias makes a slug an alias of a brand.
func (t BrandTx) PutAlias(ctx context.Context, alias, brand fieldmark.Slug, at fieldmark.Time) error {
	_, err := t.exec(ctx, `INSERT INTO brand_alias (slug, brand, created_at) VALUES ($1, $2, $3)
		ON CONFLICT (slug) DO UPDATE SET brand = excluded.brand`, string(alias), string(brand), at.Micros())
	if err != nil {
		return fmt.Errorf("put alias %s of %s: %w", alias, brand, err)
	}
	return nil
}

// DeleteAlias deletes an alias and reports whether it was one of the brand.
func (t BrandTx) DeleteAlias(ctx context.Context, alias, brand fieldmark.Slug) (bool, error) {
	n, err := t.exec(ctx, `DELETE FROM brand_alias WHERE slug = $1 AND brand = $2`, string(alias), string(brand))
	if err != nil {
		return false, fmt.Errorf("delete alias %s of %s: %w", alias, brand, err)
	}
	return n > 0, nil
}

// brandTables are the tables whose rows belong to a brand, by its slug.
var brandTables = []string{"revision", "audit", "visibility", "brand_alias", "suspicion",
	"dispute", "page_text", "standing", "watch", "claim", "owner_action", "brand_wishes", "brand_request",
	"mail_address", "study_brand", "public_log_brand", "proxy_variable"}

// RenameBrand changes the slug of a brand and of its rows. The new slug must be
// free.
func (t BrandTx) RenameBrand(ctx context.Context, from, to fieldmark.Slug, at fieldmark.Time) error {
	const rest = `name, url, niche, language, description, public, created_at, facts_digest, facts_at, audit_due,
		audit_rules, audit_refusals, domains, unlisted_at`
	fail := func(err error) error { return fmt.Errorf("rename brand %s to %s: %w", from, to, err) }
	if _, err := t.exec(ctx, `INSERT INTO brand (slug, updated_at, `+rest+`) SELECT $2, $3, `+rest+` FROM brand
		WHERE slug = $1`,
		string(from), string(to), at.Micros()); err != nil {
		return fail(err)
	}
	if err := t.renameWatched(ctx, from, to); err != nil {
		return err
	}
	for _, table := range brandTables {
		if _, err := t.exec(ctx, `UPDATE `+table+` SET brand = $2 WHERE brand = $1`, string(from),
			string(to)); err != nil {
			return fail(err)
		}
	}
	if _, err := t.exec(ctx, `DELETE FROM brand WHERE slug = $1`, string(from)); err != nil {
		return fail(err)
	}
	return nil
}

// ClaimAccounts lists the accounts that claims of a brand made.
func (db BrandReader) ClaimAccounts(ctx context.Context, slug fieldmark.Slug) ([]string, error) {
	rows, err := db.query(ctx, `SELECT DISTINCT account FROM claim WHERE brand = $1 AND account <> ''
		ORDER BY account`, string(slug))
	list, err := collect(rows, err, func(row scanner) (a string, err error) { return a, row.Scan(&a) })
	if err != nil {
		return nil, fmt.Errorf("list the accounts of claims of brand %s: %w", slug, err)
	}
	return list, nil
}

// DeleteBrand deletes a brand and its rows. Documents of facts that other brands
// share stay.
func (t BrandTx) DeleteBrand(ctx context.Context, slug fieldmark.Slug) error {
	fail := func(err error) error { return fmt.Errorf("delete brand %s: %w", slug, err) }
	rows, err := t.query(ctx, `SELECT DISTINCT digest FROM revision WHERE brand = $1`, string(slug))
	digests, err := collect(rows, err, func(row scanner) (d string, err error) { return d, row.Scan(&d) })
	if err != nil {
		return fail(err)
	}
	if err := t.renameWatched(ctx, slug, ""); err != nil {
		return err
	}
	for _, table := range brandTables {
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

// Brand is a brand and its active facts.
type Brand struct {
	fieldmark.Brand
	FactsDigest fieldmark.Digest // empty until the first audit
	FactsAt     *fieldmark.Time  // when an audit last confirmed them
}

const brandColumns = `slug, name, url, niche, language, description, public, created_at, updated_at,
	COALESCE(facts_digest, ''), facts_at`

func scanBrand(row scanner) (b Brand, err error) {
	var public int64
	err = row.Scan(&b.Slug, &b.Name, &b.URL, &b.Niche, &b.Language, &b.Description, &public,
		timeCol{&b.CreatedAt}, timeCol{&b.UpdatedAt}, &b.FactsDigest, nullTime{&b.FactsAt})
	b.Public = public != 0
	return b, queryErr(err)
}

// Brand reads a brand; the error is ErrNotFound if it does not exist.
func (db BrandReader) Brand(ctx context.Context, slug fieldmark.Slug) (Brand, error) {
	b, err := scanBrand(db.queryRow(ctx, `SELECT `+brandColumns+` FROM brand WHERE slug = $1`, string(slug)))
	if err != nil {
		return Brand{}, fmt.Errorf("read brand %s: %w", slug, err)
	}
	return b, nil
}

// Brands lists brands after a slug, in the order of slugs.
func (db BrandReader) Brands(ctx context.Context, after fieldmark.Slug, limit int) ([]Brand, error) {
	rows, err := db.query(ctx, `SELECT `+brandColumns+` FROM brand WHERE slug > $1 ORDER BY slug LIMIT $2`,
		string(after), limit)
	list, err := collect(rows, err, scanBrand)
	if err != nil {
		return nil, fmt.Errorf("list brands after %q: %w", after, err)
	}
	return list, nil
}

// PutBrand creates or replaces a brand. Its facts do not change.
func (t BrandTx) PutBrand(ctx context.Context, b fieldmark.Brand) error {
	_, err := t.exec(ctx, `INSERT INTO brand (slug, name, url, niche, language, description, public, created_at,
		updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (slug) DO UPDATE SET name = excluded.name, url = excluded.url, niche = excluded.niche,
		language = excluded.language, description = excluded.description, public = excluded.public,
			updated_at = excluded.updated_at`,
		string(b.Slug), b.Name, b.URL, b.Niche, b.Language, b.Description, boolInt(b.Public), b.CreatedAt.Micros(),
		b.UpdatedAt.Micros())
	if err != nil {
		return fmt.Errorf("put brand %s: %w", b.Slug, err)
	}
	return nil
}

// HasBrand reports whether a brand exists.
func (t BrandTx) HasBrand(ctx context.Context, slug fieldmark.Slug) (bool, error) {
	_, err := t.Brand(ctx, slug)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// CountPublicBrands counts the public brands.
func (db BrandReader) CountPublicBrands(ctx context.Context) (n int, err error) {
	if err := db.queryRow(ctx, `SELECT COUNT(*) FROM brand WHERE public = 1`).Scan(&n); err != nil {
		return 0, fmt.Errorf("count brands: %w", err)
	}
	return n, nil
}

// PageText is the sketch of the main text of a brand's page.
type PageText struct {
	Brand     fieldmark.Slug
	URL       string
	Domain    string // of the URL, registrable
	Sketch    string // encoded; equal texts have equal sketches
	Keys      [4]int64
	FirstSeen time.Time

	// Of SimilarTexts only.
	Public bool     // whether the brand is
	Claims []string // other domains that the site of the brand claims
}

const textColumns = `t.brand, t.url, t.domain, t.sketch, t.key0, t.key1, t.key2, t.key3, t.first_seen`

func (p *PageText) columns() []any {
	return []any{&p.Brand, &p.URL, &p.Domain, &p.Sketch, &p.Keys[0], &p.Keys[1], &p.Keys[2], &p.Keys[3],
		exactTime{&p.FirstSeen}}
}

// SimilarTexts lists up to limit texts of all brands that share a key at its position, those
// seen first at the start.
func (db BrandReader) SimilarTexts(ctx context.Context, keys [4]int64, limit int) ([]PageText, error) {
	rows, err := db.query(ctx, `SELECT `+textColumns+`, b.public, b.domains FROM page_text t
		JOIN brand b ON b.slug = t.brand
		WHERE t.key0 = $1 OR t.key1 = $2 OR t.key2 = $3 OR t.key3 = $4
		ORDER BY t.first_seen, t.brand, t.url LIMIT $5`, keys[0], keys[1], keys[2], keys[3], limit)
	list, err := collect(rows, err, func(row scanner) (p PageText, err error) {
		var public int64
		var domains string
		err = row.Scan(append(p.columns(), &public, &domains)...)
		p.Public, p.Claims = public == 1, strings.Fields(domains)
		return p, err
	})
	if err != nil {
		return nil, fmt.Errorf("list similar texts: %w", err)
	}
	return list, nil
}

// PageTexts lists the stored texts of a brand, those seen first at the start.
func (db BrandReader) PageTexts(ctx context.Context, slug fieldmark.Slug) ([]PageText, error) {
	rows, err := db.query(ctx, `SELECT `+textColumns+` FROM page_text t WHERE t.brand = $1
		ORDER BY t.first_seen, t.url`, string(slug))
	list, err := collect(rows, err, func(row scanner) (p PageText, err error) { return p, row.Scan(p.columns()...) })
	if err != nil {
		return nil, fmt.Errorf("list the texts of brand %s: %w", slug, err)
	}
	return list, nil
}

// PutPageTexts stores texts of a brand that were seen at a time, in place of those with the
// same URL, and the domains that its site claims. It deletes all but the limit texts that
// were seen last.
func (t BrandTx) PutPageTexts(ctx context.Context, slug fieldmark.Slug, claims []string, list []PageText,
	at time.Time, limit int) error {
	fail := func(err error) error { return fmt.Errorf("put the texts of brand %s: %w", slug, err) }
	for _, p := range list {
		if _, err := t.exec(ctx, `INSERT INTO page_text (brand, url, domain, sketch, key0, key1, key2, key3,
				first_seen, last_seen) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
			ON CONFLICT (brand, url) DO UPDATE SET domain = excluded.domain, sketch = excluded.sketch,
				key0 = excluded.key0, key1 = excluded.key1, key2 = excluded.key2, key3 = excluded.key3,
				first_seen = excluded.first_seen, last_seen = excluded.last_seen`, string(slug), p.URL, p.Domain,
			p.Sketch, p.Keys[0], p.Keys[1], p.Keys[2], p.Keys[3], p.FirstSeen.UnixMicro(), at.UnixMicro()); err != nil {
			return fail(err)
		}
	}
	if _, err := t.exec(ctx, `DELETE FROM page_text WHERE brand = $1 AND url NOT IN (SELECT k.url FROM page_text k
		WHERE k.brand = $1 ORDER BY k.last_seen DESC, k.url LIMIT $2)`, string(slug), limit); err != nil {
		return fail(err)
	}
	if _, err := t.exec(ctx, `UPDATE brand SET domains = $1 WHERE slug = $2`, strings.Join(claims, " "),
		string(slug)); err != nil {
		return fail(err)
	}
	return nil
}

// Dump is a pair of files with the scores of all listed brands.
type Dump struct {
	fieldmark.Dump
	ID        string
	CreatedAt time.Time
	// Withdrawn: a brand that it contains is no longer listed. It must not be read.
	Withdrawn bool
	Recorded  bool // the row says so, too: its files may be deleted already
}

// A dump has a brand that was listed by its event, and gone later.
const (
	withdrawn = `(withdrawn_at IS NOT NULL OR EXISTS (SELECT 1 FROM score_change c
		WHERE c.gone_at IS NOT NULL AND c.event > dump.event AND c.listed <= dump.event))`
	dumpColumns = `id, day, event, log, module, brands, bytes, sha256, csv_bytes, csv_sha256, created_at,
		withdrawn_at IS NOT NULL, ` + withdrawn
)

func scanDump(row scanner) (d Dump, err error) {
	var created int64
	err = row.Scan(&d.ID, &d.Day, &d.Event, &d.Log, jsonCol{&d.Module}, &d.Brands, &d.Bytes, &d.SHA256, &d.CSV.Bytes,
		&d.CSV.SHA256, &created, &d.Recorded, &d.Withdrawn)
	d.CreatedAt = time.UnixMicro(created)
	return d, err
}

// Dumps lists all dumps that have rows, the newest first: some tens.
func (db StandingReader) Dumps(ctx context.Context) ([]Dump, error) {
	rows, err := db.query(ctx, `SELECT `+dumpColumns+` FROM dump ORDER BY id DESC`)
	list, err := collect(rows, err, scanDump)
	if err != nil {
		return nil, fmt.Errorf("list dumps: %w", err)
	}
	return list, nil
}

// DumpOf reads the newest dump that has a file with a digest; the error is ErrNotFound if there is
// no such file.
func (db StandingReader) DumpOf(ctx context.Context, sha256 string) (Dump, error) {
	d, err := scanDump(db.queryRow(ctx, `SELECT `+dumpColumns+` FROM dump WHERE sha256 = $1 OR csv_sha256 = $1
		ORDER BY id DESC LIMIT 1`, sha256))
	if err != nil {
		return d, fmt.Errorf("read the dump of %s: %w", sha256, queryErr(err))
	}
	return d, nil
}

// pageOfAll is how many brands a reader of all brands reads at once: a megabyte or two.
const pageOfAll = 2000

// eachBySlug calls each for every row of a query that reads a page after a slug ($1, with a limit $2), until it fails.
// Pages follow the indexes of slugs, so memory does not grow with the brands; a query for all of them would be sorted
// on disk, with 2 kB for each.
func eachBySlug[T any](ctx context.Context, db querier, page string, scan func(scanner) (T, error),
	slug func(*T) fieldmark.Slug, each func(*T) error) error {
	for after, n := fieldmark.Slug(""), pageOfAll; n == pageOfAll; {
		rows, err := db.query(ctx, page, string(after), pageOfAll)
		list, err := collect(rows, err, scan)
		if err != nil {
			return fmt.Errorf("read all brands after %q: %w", after, err)
		}
		for i := range list {
			if err := each(&list[i]); err != nil {
				return err
			}
			after = slug(&list[i])
		}
		n = len(list)
	}
	return nil
}

const scorePage = `SELECT c.slug, c.event, ` + scoreItem + ` FROM score_change c JOIN brand b ON b.slug = c.slug
	LEFT JOIN standing s ON s.brand = b.slug WHERE c.gone_at IS NULL AND c.slug > $1 ORDER BY c.slug LIMIT $2`

// EachScore calls each for every listed brand, in the order of slugs, until it fails. In a Snapshot all calls are of
// one state of the database.
func (db StandingReader) EachScore(ctx context.Context, each func(*fieldmark.ScoreItem) error) error {
	return eachBySlug(ctx, db, scorePage, func(row scanner) (item fieldmark.ScoreItem, err error) {
		return item, scanItem(row, &item, &item.Slug, &item.Event)
	}, func(item *fieldmark.ScoreItem) fieldmark.Slug { return item.Slug }, each)
}

// AddDump adds a dump whose files are stored.
func (t StandingTx) AddDump(ctx context.Context, d Dump) error {
	module, err := jsonText(d.Module)
	if err == nil {
		_, err = t.exec(ctx, `INSERT INTO dump (id, day, event, log, module, brands, bytes, sha256, csv_bytes,
			csv_sha256, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`, d.ID, d.Day, d.Event, d.Log,
			module, d.Brands, d.Bytes, d.SHA256, d.CSV.Bytes, d.CSV.SHA256, d.CreatedAt.UnixMicro())
	}
	if err != nil {
		return fmt.Errorf("add dump %s: %w", d.ID, err)
	}
	return nil
}

// WithdrawDumps records which dumps have brands that are no longer listed. If there are new ones, the
// job that makes the next dump is due at a time at the latest.
func (t StandingTx) WithdrawDumps(ctx context.Context, now, next time.Time) error {
	n, err := t.exec(ctx, `UPDATE dump SET withdrawn_at = $1 WHERE withdrawn_at IS NULL AND `+withdrawn,
		now.UnixMicro())
	if err == nil && n > 0 {
		_, err = t.exec(ctx, `UPDATE daily_job SET due_at = $1 WHERE name = $2 AND due_at > $1`, next.UnixMicro(),
			string(JobDump))
	}
	if err != nil {
		return fmt.Errorf("withdraw dumps: %w", err)
	}
	return nil
}

// DeleteDump deletes the row of a dump.
func (t StandingTx) DeleteDump(ctx context.Context, id string) error {
	if _, err := t.exec(ctx, `DELETE FROM dump WHERE id = $1`, id); err != nil {
		return fmt.Errorf("delete dump %s: %w", id, err)
	}
	return nil
}

// RankedBrand is a public brand, one that its owner unlisted, or an alias of one of both, with its standing.
type RankedBrand struct {
	Slug   fieldmark.Slug
	Target fieldmark.Slug // of an alias, which has no other field; empty: a brand

	Name, URL, Niche, Language string
	Unlisted                   bool
	Audited                    bool             // it has facts
	Module                     fieldmark.Digest // of the standing; empty: it was not computed yet
	DueAt                      *time.Time
	Values                     []byte // of the standing; nil: none
}

// valuesPrefix begins the document of a standing with values, which are less than 100 bytes.
const valuesPrefix = `{"values":"`

// rankedPage limits both parts, because PostgreSQL would sort all of a part that it only limits together.
const (
	rankedPage = `SELECT * FROM (` + rankedBrands + `) AS b UNION ALL SELECT * FROM (` + rankedAliases + `) AS a
		ORDER BY 1 LIMIT $2`
	rankedBrands = `SELECT b.slug, '' AS target, b.name, b.url, b.niche, b.language, b.public = 0 AS unlisted,
		b.facts_digest IS NOT NULL AS audited, COALESCE(s.module, '') AS module, s.due_at,
		SUBSTR(COALESCE(s.body, ''), 1, 200) AS body
		FROM brand b LEFT JOIN standing s ON s.brand = b.slug
		WHERE b.slug > $1 AND (b.public = 1 OR b.unlisted_at IS NOT NULL) ORDER BY b.slug LIMIT $2`
	rankedAliases = `SELECT a.slug, a.brand, '', '', '', '', b.public = 0, b.facts_digest IS NOT NULL, '',
		CAST(NULL AS BIGINT), ''
		FROM brand_alias a JOIN brand b ON b.slug = a.brand
		WHERE a.slug > $1 AND (b.public = 1 OR b.unlisted_at IS NOT NULL) ORDER BY a.slug LIMIT $2`
)

// EachRanked calls each for every brand and alias of rankings, in the order of slugs, until it fails. In a
// Snapshot all calls are of one state of the database.
func (db StandingReader) EachRanked(ctx context.Context, each func(*RankedBrand) error) error {
	return eachBySlug(ctx, db, rankedPage, scanRanked, func(b *RankedBrand) fieldmark.Slug { return b.Slug }, each)
}

func scanRanked(row scanner) (b RankedBrand, err error) {
	var due *int64
	var body string
	if err := row.Scan(&b.Slug, &b.Target, &b.Name, &b.URL, &b.Niche, &b.Language, &b.Unlisted, &b.Audited, &b.Module,
		&due, &body); err != nil {
		return b, err
	}
	if due != nil {
		b.DueAt = new(time.UnixMicro(*due))
	}
	if text, ok := strings.CutPrefix(body, valuesPrefix); ok {
		text, _, _ = strings.Cut(text, `"`)
		if b.Values, err = base64.StdEncoding.DecodeString(text); err != nil {
			err = fmt.Errorf("values of %s: %w", b.Slug, err)
		}
	}
	return b, err
}

// RankingFile is a file with the standings of all brands, from which edges start. Its bytes are an object.
type RankingFile struct {
	fieldmark.RankingFile
	ID string // of the object; ids sort by time
}

const rankingFileColumns = `id, epoch, event, module, day, lines, bytes, sha256, head_bytes, head_sha256, created_at`

// RankingFiles lists the files that have rows, the newest first.
func (db StandingReader) RankingFiles(ctx context.Context) ([]RankingFile, error) {
	rows, err := db.query(ctx, `SELECT `+rankingFileColumns+` FROM ranking_file ORDER BY id DESC`)
	list, err := collect(rows, err, func(row scanner) (f RankingFile, err error) {
		return f, row.Scan(&f.ID, &f.Epoch, &f.Event, jsonCol{&f.Module}, &f.Day, &f.Lines, &f.Bytes, &f.SHA256,
			&f.HeadBytes, &f.HeadSHA256, timeCol{&f.CreatedAt})
	})
	if err != nil {
		return nil, fmt.Errorf("list ranking files: %w", err)
	}
	return list, nil
}

// AddRankingFile adds a file whose object is stored.
func (t StandingTx) AddRankingFile(ctx context.Context, f RankingFile) error {
	module, err := jsonText(f.Module)
	if err == nil {
		_, err = t.exec(ctx, `INSERT INTO ranking_file (`+rankingFileColumns+`)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`, f.ID, f.Epoch, f.Event, module, f.Day, f.Lines,
			f.Bytes, f.SHA256, f.HeadBytes, f.HeadSHA256, f.CreatedAt.Micros())
	}
	if err != nil {
		return fmt.Errorf("add ranking file %s: %w", f.ID, err)
	}
	return nil
}

// DeleteRankingFile deletes the row of a file.
func (t StandingTx) DeleteRankingFile(ctx context.Context, id string) error {
	if _, err := t.exec(ctx, `DELETE FROM ranking_file WHERE id = $1`, id); err != nil {
		return fmt.Errorf("delete ranking file %s: %w", id, err)
	}
	return nil
}

// CountScoreChanges counts the brands whose score changed after an event, up to limit.
func (db StandingReader) CountScoreChanges(ctx context.Context, after int64, limit int) (n int, err error) {
	err = db.queryRow(ctx, `SELECT COUNT(*) FROM (SELECT event FROM score_change WHERE event > $1 LIMIT $2) AS c`,
		after, limit).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the changes of scores after %d: %w", after, queryErr(err))
	}
	return n, nil
}

// MoreBrands reports whether there are more than n brands.
func (db StandingReader) MoreBrands(ctx context.Context, n int) (bool, error) {
	var found int
	err := db.queryRow(ctx, `SELECT COUNT(*) FROM (SELECT slug FROM brand LIMIT $1) AS b`, n+1).Scan(&found)
	if err != nil {
		return false, fmt.Errorf("count brands: %w", queryErr(err))
	}
	return found > n, nil
}
