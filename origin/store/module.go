package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
)

// Scoring modules with their previews, and the public logs of scores.

// ModuleReader reads scoring modules.
type ModuleReader struct{ querier }

// ModuleTx writes scoring modules, in a transaction.
type ModuleTx struct {
	ModuleReader
	*tx
}

// Activations lists since when which module was active, the oldest first.
// Pages show which module a score of the past was made with.
func (db ModuleReader) Activations(ctx context.Context) ([]fieldmark.Activation, error) {
	rows, err := db.query(ctx, `SELECT COALESCE(a.at, e.at), m.name, m.version, m.digest FROM activation a
		LEFT JOIN event e ON e.number = a.event JOIN module m ON m.digest = a.digest
		WHERE COALESCE(a.at, e.at) IS NOT NULL ORDER BY a.event`)
	list, err := collect(rows, err, func(row scanner) (a fieldmark.Activation, err error) {
		return a, row.Scan(timeCol{&a.At}, &a.Module.Name, &a.Module.Version, &a.Module.Digest)
	})
	if err != nil {
		return nil, fmt.Errorf("list activations: %w", err)
	}
	return list, nil
}

// PutModule stores a scoring module under its digest, with its validation
// report. An existing module stays; a missing signature or report is added.
// The same bytes may be uploaded again with a signature that was missing before.
func (t ModuleTx) PutModule(ctx context.Context, m fieldmark.SignedModule, body []byte, report json.RawMessage,
	at fieldmark.Time) error {
	var signature, said *string
	if m.Signature != nil {
		text, err := json.Marshal(m.Signature)
		if err != nil {
			return fmt.Errorf("put module %s: %w", m.Digest, err)
		}
		signature = new(string(text))
	}
	if report != nil {
		said = new(string(report))
	}
	_, err := t.exec(ctx, `INSERT INTO module (digest, name, version, body, created_at, signature, report) VALUES ($1,
		$2, $3, $4, $5, $6, $7)
		ON CONFLICT (digest) DO UPDATE SET signature = COALESCE(excluded.signature, module.signature),
			report = COALESCE(excluded.report, module.report)`,
		string(m.Digest), m.Name, m.Version, body, at.Micros(), signature, said)
	if err != nil {
		return fmt.Errorf("put module %s: %w", m.Digest, err)
	}
	return nil
}

// ActivateModule makes a stored module active as of an event; below 100 percent,
// as a canary. The activation outlives its event.
func (t ModuleTx) ActivateModule(ctx context.Context, digest fieldmark.Digest, event int64, percent int,
	at time.Time) error {
	_, err := t.exec(ctx, `INSERT INTO activation (event, digest, percent, at) VALUES ($1, $2, $3, $4)`, event,
		string(digest), percent, at.UnixMicro())
	if err != nil {
		return fmt.Errorf("activate module %s: %w", digest, err)
	}
	// Standings of the other module are computed again.
	t.touched[TopicStandings] = true
	return nil
}

// scanSigned reads the columns of a module and more.
func scanSigned(row scanner, more ...any) (m fieldmark.SignedModule, err error) {
	var signature *string
	if err := queryErr(row.Scan(append([]any{&m.Name, &m.Version, &m.Digest, &signature}, more...)...)); err != nil {
		return m, err
	}
	if signature != nil {
		m.Signature = new(fieldmark.ModuleSignature)
		err = json.Unmarshal([]byte(*signature), m.Signature)
	}
	return m, err
}

// ModulePlan reads the active module, the one before it, and the canary; the
// error is ErrNotFound without an active module.
// The canary is the newest activation, unless a later one is for all.
func (db ModuleReader) ModulePlan(ctx context.Context) (plan fieldmark.ModulePlan, err error) {
	const chosen = `SELECT m.name, m.version, m.digest, m.signature, a.event, a.percent FROM activation a
		JOIN module m ON m.digest = a.digest `
	var event, newest int64
	var percent int
	if plan.SignedModule, err = scanSigned(db.queryRow(ctx, chosen+`WHERE a.percent = 100 ORDER BY a.event DESC
		LIMIT 1`), &event, &percent); err != nil {
		return plan, fmt.Errorf("read the active module: %w", err)
	}
	before, err := scanSigned(db.queryRow(ctx, chosen+`WHERE a.percent = 100 AND a.digest <> $1 ORDER BY a.event DESC
		LIMIT 1`, string(plan.Digest)), &newest, &percent)
	if err == nil {
		plan.Previous = &before
	} else if !errors.Is(err, ErrNotFound) {
		return plan, fmt.Errorf("read the previous module: %w", err)
	}
	latest, err := scanSigned(db.queryRow(ctx, chosen+`ORDER BY a.event DESC LIMIT 1`), &newest, &percent)
	if err != nil {
		return plan, fmt.Errorf("read the canary module: %w", err)
	}
	if newest > event && percent < 100 {
		plan.Canary = &fieldmark.ModuleCanary{SignedModule: latest, Percent: percent}
	}
	return plan, nil
}

// SignedModule reads the name and the signature of a module.
// It does not read the bytes, which may be megabytes.
func (t ModuleTx) SignedModule(ctx context.Context, digest fieldmark.Digest) (fieldmark.SignedModule, error) {
	m, err := scanSigned(t.queryRow(ctx, `SELECT name, version, digest, signature FROM module WHERE digest = $1`,
		string(digest)))
	if err != nil {
		return m, fmt.Errorf("read the name of module %s: %w", digest, err)
	}
	return m, nil
}

// Module reads the bytes of a module; the error is ErrNotFound if it does not exist.
func (db ModuleReader) Module(ctx context.Context, digest fieldmark.Digest) ([]byte, error) {
	var body []byte
	if err := queryErr(db.queryRow(ctx, `SELECT body FROM module WHERE digest = $1`,
		string(digest)).Scan(&body)); err != nil {
		return nil, fmt.Errorf("read module %s: %w", digest, err)
	}
	return body, nil
}

// Modules lists up to limit modules, the newest first, without reports.
// Reports are left out, because a list does not show them.
func (db ModuleReader) Modules(ctx context.Context, limit int) ([]fieldmark.ModuleRecord, error) {
	rows, err := db.query(ctx, `SELECT name, version, digest, signature, LENGTH(body), created_at FROM module
		ORDER BY created_at DESC, digest LIMIT $1`, limit)
	list, err := collect(rows, err, func(row scanner) (r fieldmark.ModuleRecord, err error) {
		var at int64
		r.SignedModule, err = scanSigned(row, &r.Bytes, &at)
		r.CreatedAt = fieldmark.AtMicros(at)
		return r, err
	})
	if err != nil {
		return nil, fmt.Errorf("list modules: %w", err)
	}
	return list, nil
}

// ModuleRecord reads the description of a module, with its report.
func (db ModuleReader) ModuleRecord(ctx context.Context,
	digest fieldmark.Digest) (r fieldmark.ModuleRecord, err error) {
	var at int64
	var report *string
	r.SignedModule, err = scanSigned(db.queryRow(ctx, `SELECT name, version, digest, signature, LENGTH(body),
		created_at, report
		FROM module WHERE digest = $1`, string(digest)), &r.Bytes, &at, &report)
	if err != nil {
		return r, fmt.Errorf("read module %s: %w", digest, err)
	}
	if r.CreatedAt = fieldmark.AtMicros(at); report != nil {
		r.Report = json.RawMessage(*report)
	}
	return r, nil
}

const previewColumns = `digest, against, state, done, total, error, result, requested_at`

func scanPreview(row scanner) (p fieldmark.ModulePreview, err error) {
	var result *string
	var at int64
	if err := queryErr(row.Scan(&p.Digest, &p.Against, &p.State, &p.Done, &p.Total, &p.Error, &result,
		&at)); err != nil {
		return p, err
	}
	p.RequestedAt = fieldmark.AtMicros(at)
	if result != nil {
		err = json.Unmarshal([]byte(*result), &p.Result)
	}
	return p, err
}

// EnqueuePreview queues a preview, in place of an earlier one of the module. A
// running one starts over.
func (t ModuleTx) EnqueuePreview(ctx context.Context, p fieldmark.ModulePreview) error {
	_, err := t.exec(ctx, `INSERT INTO preview (`+previewColumns+`) VALUES ($1, $2, $3, 0, 0, '', NULL, $4)
		ON CONFLICT (digest) DO UPDATE SET against = excluded.against, state = excluded.state, done = 0, total = 0,
			error = '', result = NULL,
		requested_at = excluded.requested_at, lease_until = NULL, lease_owner = NULL, claims = 0`,
		string(p.Digest), string(p.Against), string(fieldmark.PreviewWaiting), p.RequestedAt.Micros())
	if err != nil {
		return fmt.Errorf("request a preview of %s: %w", p.Digest, err)
	}
	t.touched[TopicPreviews] = true
	return nil
}

// ClaimPreviews leases up to limit previews to owner. A preview that was claimed
// most times without a result fails for a reason instead.
func (t ModuleTx) ClaimPreviews(ctx context.Context, owner string, now, lease time.Time, limit, most int,
	reason string) ([]fieldmark.ModulePreview, error) {
	_, err := t.exec(ctx, `UPDATE preview SET state = 'failed', error = $1, lease_until = NULL, lease_owner = NULL
		WHERE state IN ('waiting', 'running') AND claims >= $2 AND (lease_until IS NULL OR lease_until <= $3)`,
		reason, most, now.UnixMicro())
	if err != nil {
		return nil, fmt.Errorf("fail previews: %w", err)
	}
	rows, err := t.query(ctx, `UPDATE preview SET lease_until = $1, lease_owner = $2, state = 'running',
		claims = claims + 1
		WHERE digest IN (SELECT p.digest FROM preview p WHERE p.state IN ('waiting', 'running')
			AND (p.lease_until IS NULL OR p.lease_until <= $3)
			ORDER BY p.requested_at, p.digest LIMIT $4)
		AND (lease_until IS NULL OR lease_until <= $3)
		RETURNING `+previewColumns, lease.UnixMicro(), owner, now.UnixMicro(), limit)
	list, err := collect(rows, err, scanPreview)
	if err != nil {
		return nil, fmt.Errorf("claim previews: %w", err)
	}
	return list, nil
}

// UpdatePreview stores the progress and the result of a preview, if the owner
// still has its lease.
func (t ModuleTx) UpdatePreview(ctx context.Context, owner string, p fieldmark.ModulePreview) error {
	var result *string
	if p.Result != nil {
		text, err := json.Marshal(p.Result)
		if err != nil {
			return fmt.Errorf("update a preview: %w", err)
		}
		result = new(string(text))
	}
	_, err := t.exec(ctx, `UPDATE preview SET state = $1, done = $2, total = $3, error = $4, result = $5
		WHERE digest = $6 AND lease_owner = $7`,
		string(p.State), p.Done, p.Total, p.Error, result, string(p.Digest), owner)
	if err != nil {
		return fmt.Errorf("update a preview of %s: %w", p.Digest, err)
	}
	return nil
}

// Preview reads the preview of a module; the error is ErrNotFound if none was
// requested.
func (db ModuleReader) Preview(ctx context.Context, digest fieldmark.Digest) (fieldmark.ModulePreview, error) {
	p, err := scanPreview(db.queryRow(ctx, `SELECT `+previewColumns+` FROM preview WHERE digest = $1`, string(digest)))
	if err != nil {
		return p, fmt.Errorf("read the preview of %s: %w", digest, err)
	}
	return p, nil
}

// PublicLogReader reads the public log of scores.
type PublicLogReader struct {
	querier
	timeline string // see dialect
}

// PublicLogTx writes the public log, in a transaction.
type PublicLogTx struct {
	PublicLogReader
	*tx
}

// PublicLog is the state of a public log.
type PublicLog struct {
	Number     int64  // from 1; the log with the highest one is written
	Name       string // of its keys: the host name of the origin
	Epoch      string // id of the event log that it follows, and the timeline of the server
	Size       int64  // leaves
	Checkpoint string // signed, of Size leaves
	Event      int64  // the newest event that it has
	// Sweep is the brand after which all are to be compared with their newest leaf; nil: none.
	Sweep      *fieldmark.Slug
	Key        int64 // number of the newest signing key, from 1
	KeyAt      time.Time
	LeaseOwner string
	LeaseUntil time.Time
}

// PublicLogs reads all logs, the newest first, and the present epoch: the id of the event log, and the timeline
// of the server. A standby that was promoted may lack leaves of which its primary signed a checkpoint.
func (db PublicLogReader) PublicLogs(ctx context.Context) (all []PublicLog, epoch string, err error) {
	rows, err := db.query(ctx, `SELECT l.id || `+db.timeline+`, COALESCE(p.number, 0), COALESCE(p.name, ''),
		COALESCE(p.epoch, ''), COALESCE(p.size, 0), COALESCE(p.checkpoint, ''), COALESCE(p.event, 0), p.sweep,
		COALESCE(p.key_number, 0),
		COALESCE(p.key_at, 0), COALESCE(p.lease_owner, ''), COALESCE(p.lease_until, 0)
		FROM log l LEFT JOIN public_log p ON TRUE WHERE l.name = $1 ORDER BY p.number DESC`, logName)
	all, err = collect(rows, err, func(row scanner) (p PublicLog, err error) {
		var keyAt, until int64
		err = row.Scan(&epoch, &p.Number, &p.Name, &p.Epoch, &p.Size, &p.Checkpoint, &p.Event, &p.Sweep, &p.Key,
			&keyAt, &p.LeaseOwner, &until)
		p.KeyAt, p.LeaseUntil = time.UnixMicro(keyAt), time.UnixMicro(until)
		return p, err
	})
	if err != nil {
		return nil, "", fmt.Errorf("read the public log: %w", err)
	}
	if len(all) == 1 && all[0].Number == 0 { // the row of the event log alone
		all = nil
	}
	return all, epoch, nil
}

// PublicLogTile reads the hashes of a tile, or the entries of a bundle, that a log has so far; empty: none.
func (db PublicLogReader) PublicLogTile(ctx context.Context, log int64, level int, number int64) (body []byte,
	err error) {
	err = queryErr(db.queryRow(ctx, `SELECT body FROM public_log_tile WHERE log = $1 AND level = $2 AND number = $3`,
		log, level, number).Scan(&body))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, fmt.Errorf("read tile %d of level %d of public log %d: %w", number, level, log, err)
	}
	return body, nil
}

// PublicLogBrand is a brand, its facts, and its newest leaf.
type PublicLogBrand struct {
	Slug   fieldmark.Slug
	Facts  fieldmark.Digest
	Secret []byte // nil: the brand has no leaf
	Log    int64
	Leaf   int64
	At     time.Time // of the leaf's record
	Mark   int64     // the first 8 bytes of the entry
}

const publicLogBrand = `SELECT b.slug, b.facts_digest, p.secret, COALESCE(p.log, 0), COALESCE(p.leaf, 0),
	COALESCE(p.at, 0), COALESCE(p.mark, 0) FROM brand b LEFT JOIN public_log_brand p ON p.brand = b.slug
	WHERE b.facts_digest IS NOT NULL AND `

func scanPublicLogBrand(row scanner) (b PublicLogBrand, err error) {
	var at int64
	err = queryErr(row.Scan(&b.Slug, &b.Facts, &b.Secret, &b.Log, &b.Leaf, &at, &b.Mark))
	b.At = time.UnixMicro(at).UTC()
	return b, err
}

// PublicLogBrand reads an audited brand and its newest leaf; the error is ErrNotFound if it does not exist.
func (db PublicLogReader) PublicLogBrand(ctx context.Context, slug fieldmark.Slug) (PublicLogBrand, error) {
	b, err := scanPublicLogBrand(db.queryRow(ctx, publicLogBrand+`b.slug = $1`, string(slug)))
	if err != nil {
		return b, fmt.Errorf("read the newest leaf of brand %s: %w", slug, err)
	}
	return b, nil
}

// PublicLogBrands reads at most limit audited brands after a slug, in the order of slugs.
func (db PublicLogReader) PublicLogBrands(ctx context.Context, after fieldmark.Slug, limit int) ([]PublicLogBrand,
	error) {
	rows, err := db.query(ctx, publicLogBrand+`b.slug > $1 ORDER BY b.slug LIMIT $2`, string(after), limit)
	list, err := collect(rows, err, scanPublicLogBrand)
	if err != nil {
		return nil, fmt.Errorf("read the newest leaves of brands: %w", err)
	}
	return list, nil
}

// PutPublicLog writes the state of a log.
func (t PublicLogTx) PutPublicLog(ctx context.Context, p *PublicLog) error {
	err := t.queueExec(ctx, `INSERT INTO public_log (number, name, epoch, size, checkpoint, event, sweep, key_number,
			key_at, lease_owner, lease_until) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
		ON CONFLICT (number) DO UPDATE SET size = excluded.size, checkpoint = excluded.checkpoint,
			event = excluded.event, sweep = excluded.sweep, key_number = excluded.key_number, key_at = excluded.key_at,
			lease_owner = excluded.lease_owner, lease_until = excluded.lease_until`,
		p.Number, p.Name, p.Epoch, p.Size, p.Checkpoint, p.Event, (*string)(p.Sweep), p.Key, p.KeyAt.UnixMicro(),
		p.LeaseOwner, p.LeaseUntil.UnixMicro())
	if err != nil {
		return fmt.Errorf("write the state of public log %d: %w", p.Number, err)
	}
	return nil
}

// PutPublicLogTile writes a tile or a bundle, whose beginning is what was there before.
func (t PublicLogTx) PutPublicLogTile(ctx context.Context, log int64, level int, number int64, body []byte) error {
	err := t.queueExec(ctx, `INSERT INTO public_log_tile (log, level, number, body) VALUES ($1, $2, $3, $4)
		ON CONFLICT (log, level, number) DO UPDATE SET body = excluded.body`, log, level, number, body)
	if err != nil {
		return fmt.Errorf("write tile %d of level %d of public log %d: %w", number, level, log, err)
	}
	return nil
}

// PutPublicLogBrand writes the newest leaf of a brand.
func (t PublicLogTx) PutPublicLogBrand(ctx context.Context, b *PublicLogBrand) error {
	err := t.queueExec(ctx, `INSERT INTO public_log_brand (brand, secret, log, leaf, at, mark)
		VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (brand) DO UPDATE SET log = excluded.log, leaf = excluded.leaf,
			at = excluded.at, mark = excluded.mark`, string(b.Slug), b.Secret, b.Log, b.Leaf, b.At.UnixMicro(), b.Mark)
	if err != nil {
		return fmt.Errorf("write the newest leaf of brand %s: %w", b.Slug, err)
	}
	return nil
}
