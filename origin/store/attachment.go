package store

import (
	"context"
	"fmt"

	"github.com/fieldmark/fieldmark"
)

// Attachment is an attachment and the sealed key of its content.
type Attachment struct {
	fieldmark.Attachment
	SealedKey string // empty: removed
}

// AttachmentReader reads attachments of missions.
type AttachmentReader struct{ querier }

// AttachmentTx writes attachments of missions, in a transaction.
type AttachmentTx struct {
	AttachmentReader
	*tx
}

const attachmentColumns = `id, mission, content_type, name, size, digest, author_id, author_name, sealed_key,
	created_at, removed_at, removed_by`

func scanAttachment(row scanner) (a Attachment, err error) {
	err = row.Scan(&a.ID, &a.MissionID, &a.ContentType, &a.Name, &a.Size, &a.Digest, &a.Author.ID, &a.Author.Name,
		&a.SealedKey, timeCol{&a.CreatedAt}, nullTime{&a.RemovedAt}, &a.RemovedBy)
	return a, queryErr(err)
}

// AddAttachment adds an attachment to a mission.
func (t AttachmentTx) AddAttachment(ctx context.Context, a Attachment) error {
	_, err := t.exec(ctx, `INSERT INTO attachment (id, mission, content_type, name, size, digest, author_id,
		author_name, sealed_key, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, a.ID, a.MissionID,
		a.ContentType, a.Name, a.Size, string(a.Digest), a.Author.ID, a.Author.Name, a.SealedKey, a.CreatedAt.Micros())
	if err != nil {
		return fmt.Errorf("add attachment %s of mission %s: %w", a.ID, a.MissionID, err)
	}
	return nil
}

// RemoveAttachment records who removed the content of an attachment and when, and forgets its
// name and its key.
func (t AttachmentTx) RemoveAttachment(ctx context.Context, a fieldmark.Attachment) error {
	_, err := t.exec(ctx, `UPDATE attachment SET name = '', sealed_key = '', removed_at = $1, removed_by = $2
		WHERE id = $3`, nullMicros(a.RemovedAt), a.RemovedBy, a.ID)
	if err != nil {
		return fmt.Errorf("remove attachment %s: %w", a.ID, err)
	}
	return nil
}

// Attachment reads an attachment of a mission; the error is ErrNotFound if it does not exist.
func (db AttachmentReader) Attachment(ctx context.Context, mission, id string) (Attachment, error) {
	a, err := scanAttachment(db.queryRow(ctx, `SELECT `+attachmentColumns+` FROM attachment
		WHERE mission = $1 AND id = $2`, mission, id))
	if err != nil {
		return a, fmt.Errorf("read attachment %s of mission %s: %w", id, mission, err)
	}
	return a, nil
}

// Attachments lists the attachments of a mission, the oldest first, at most limit.
func (db AttachmentReader) Attachments(ctx context.Context, mission string, limit int) ([]Attachment, error) {
	rows, err := db.query(ctx, `SELECT `+attachmentColumns+` FROM attachment WHERE mission = $1 ORDER BY id LIMIT $2`,
		mission, limit)
	list, err := collect(rows, err, scanAttachment)
	if err != nil {
		return nil, fmt.Errorf("list the attachments of mission %s: %w", mission, err)
	}
	return list, nil
}

// AttachmentUse is what the attachments of a mission use of its limits.
type AttachmentUse struct {
	Files int   // not removed
	Bytes int64 // of them
	All   int   // also removed
}

// AttachmentUse counts the attachments of a mission.
func (db AttachmentReader) AttachmentUse(ctx context.Context, mission string) (u AttachmentUse, err error) {
	err = db.queryRow(ctx, `SELECT COUNT(CASE WHEN removed_at IS NULL THEN 1 END),
		CAST(COALESCE(SUM(CASE WHEN removed_at IS NULL THEN size END), 0) AS BIGINT), COUNT(*)
		FROM attachment WHERE mission = $1`, mission).Scan(&u.Files, &u.Bytes, &u.All)
	if err != nil {
		return u, fmt.Errorf("count the attachments of mission %s: %w", mission, queryErr(err))
	}
	return u, nil
}

// AttachmentsAfter lists the attachments with ids from after, exclusive, that are not removed,
// in the order of their ids.
func (db AttachmentReader) AttachmentsAfter(ctx context.Context, after string, limit int) ([]Attachment, error) {
	rows, err := db.query(ctx, `SELECT `+attachmentColumns+` FROM attachment WHERE id > $1 AND removed_at IS NULL
		ORDER BY id LIMIT $2`, after, limit)
	list, err := collect(rows, err, scanAttachment)
	if err != nil {
		return nil, fmt.Errorf("list attachments: %w", err)
	}
	return list, nil
}

// CountAttachments counts the attachments of all missions that are not removed.
func (db AttachmentReader) CountAttachments(ctx context.Context) (n int, err error) {
	err = db.queryRow(ctx, `SELECT COUNT(*) FROM attachment WHERE removed_at IS NULL`).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count attachments: %w", queryErr(err))
	}
	return n, nil
}
