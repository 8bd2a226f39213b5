package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
)

const previewColumns = `digest, against, state, done, total, error, result, requested_at`

func scanPreview(row scanner) (p fieldmark.ModulePreview, err error) {
	var result *string
	var at int64
	if err := none(row.Scan(&p.Digest, &p.Against, &p.State, &p.Done, &p.Total, &p.Error, &result, &at)); err != nil {
		return p, err
	}
	p.RequestedAt = fieldmark.AtMicros(at)
	if result != nil {
		err = json.Unmarshal([]byte(*result), &p.Result)
	}
	return p, err
}

// RequestPreview puts a preview in line, in place of an earlier one of the module.
// One that is being worked on is begun again.
func (t *Tx) RequestPreview(ctx context.Context, p fieldmark.ModulePreview) error {
	_, err := t.exec(ctx, `INSERT INTO preview (`+previewColumns+`) VALUES ($1, $2, $3, 0, 0, '', NULL, $4)
		ON CONFLICT (digest) DO UPDATE SET against = excluded.against, state = excluded.state, done = 0, total = 0, error = '', result = NULL,
		requested_at = excluded.requested_at, lease_until = NULL, lease_owner = NULL, claims = 0`,
		string(p.Digest), string(p.Against), string(fieldmark.PreviewWaiting), p.RequestedAt.Micros())
	if err != nil {
		return fmt.Errorf("request a preview of %s: %w", p.Digest, err)
	}
	t.touched[TopicPreviews] = true
	return nil
}

// ClaimPreviews claims up to limit previews for owner until the lease ends. One that
// was claimed most times without a result fails instead, for a reason.
func (t *Tx) ClaimPreviews(ctx context.Context, owner string, now, lease time.Time, limit, most int, reason string) ([]fieldmark.ModulePreview, error) {
	_, err := t.exec(ctx, `UPDATE preview SET state = 'failed', error = $1, lease_until = NULL, lease_owner = NULL
		WHERE state IN ('waiting', 'running') AND claims >= $2 AND (lease_until IS NULL OR lease_until <= $3)`, reason, most, now.UnixMicro())
	if err != nil {
		return nil, fmt.Errorf("fail previews: %w", err)
	}
	rows, err := t.query(ctx, `UPDATE preview SET lease_until = $1, lease_owner = $2, state = 'running', claims = claims + 1
		WHERE digest IN (SELECT p.digest FROM preview p WHERE p.state IN ('waiting', 'running') AND (p.lease_until IS NULL OR p.lease_until <= $3)
			ORDER BY p.requested_at, p.digest LIMIT $4)
		AND (lease_until IS NULL OR lease_until <= $3)
		RETURNING `+previewColumns, lease.UnixMicro(), owner, now.UnixMicro(), limit)
	list, err := collect(rows, err, scanPreview)
	if err != nil {
		return nil, fmt.Errorf("claim previews: %w", err)
	}
	return list, nil
}

// NotePreview writes how far a preview is, unless its owner has lost it.
func (t *Tx) NotePreview(ctx context.Context, owner string, p fieldmark.ModulePreview) error {
	var result *string
	if p.Result != nil {
		text, err := json.Marshal(p.Result)
		if err != nil {
			return fmt.Errorf("note a preview: %w", err)
		}
		result = new(string(text))
	}
	_, err := t.exec(ctx, `UPDATE preview SET state = $1, done = $2, total = $3, error = $4, result = $5 WHERE digest = $6 AND lease_owner = $7`,
		string(p.State), p.Done, p.Total, p.Error, result, string(p.Digest), owner)
	if err != nil {
		return fmt.Errorf("note a preview of %s: %w", p.Digest, err)
	}
	return nil
}

// Preview reads a module's preview; the error is ErrNone where none was asked for.
func (s *Store) Preview(ctx context.Context, digest fieldmark.Digest) (fieldmark.ModulePreview, error) {
	p, err := scanPreview(s.queryRow(ctx, `SELECT `+previewColumns+` FROM preview WHERE digest = $1`, string(digest)))
	if err != nil {
		return p, fmt.Errorf("read the preview of %s: %w", digest, err)
	}
	return p, nil
}

// CountPublic counts the brands a preview scores.
func (s *Store) CountPublic(ctx context.Context) (n int, err error) {
	if err := s.queryRow(ctx, `SELECT COUNT(*) FROM brand WHERE public = 1`).Scan(&n); err != nil {
		return 0, fmt.Errorf("count brands: %w", err)
	}
	return n, nil
}
