package client

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/fieldmark/fieldmark"
)

// attachmentTimeout is that of an upload or a download.
const attachmentTimeout = fieldmark.MaxAttachmentTime*time.Second + bulkTimeout

// AttachmentUpload is a file for a mission.
type AttachmentUpload struct {
	ContentType    string // media type
	Name           string // of the file; may be empty
	Content        []byte
	IdempotencyKey string // repeating the upload under it adds nothing; may be empty
}

// AddAttachment adds a file to a mission of the key's account. The origin checks that the content arrived as it
// is.
func (c MissionAPI) AddAttachment(ctx context.Context, mission string, u AttachmentUpload) (a fieldmark.Attachment,
	err error) {
	r := c.public(http.MethodPost, attachmentPath(mission, ""), nil)
	r.raw, r.contentType, r.timeout = u.Content, u.ContentType, attachmentTimeout
	sum := sha256.Sum256(u.Content)
	r.header = map[string]string{"Content-Digest": "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"}
	if u.Name != "" {
		r.header["Content-Disposition"] = mime.FormatMediaType("attachment", map[string]string{"filename": u.Name})
	}
	if u.IdempotencyKey != "" {
		r.header[fieldmark.HeaderIdempotencyKey] = u.IdempotencyKey
	}
	_, err = c.do(ctx, r, &a)
	return a, err
}

// Attachments returns the attachments of a mission of the key's account, the oldest first, also removed ones.
func (c MissionAPI) Attachments(ctx context.Context, mission string) (list fieldmark.List[fieldmark.Attachment],
	err error) {
	_, err = c.do(ctx, c.public(http.MethodGet, attachmentPath(mission, ""), nil), &list)
	return list, err
}

// Attachment returns an attachment of a mission of the key's account, without its content.
func (c MissionAPI) Attachment(ctx context.Context, mission, id string) (a fieldmark.Attachment, err error) {
	_, err = c.do(ctx, c.public(http.MethodGet, attachmentPath(mission, id), nil), &a)
	return a, err
}

// DownloadAttachment writes the content of an attachment to w. After an error, what was written is incomplete.
func (c MissionAPI) DownloadAttachment(ctx context.Context, w io.Writer, mission, id string) error {
	r := c.public(http.MethodGet, attachmentPath(mission, id)+"/content", nil)
	r.timeout = attachmentTimeout
	return c.read(ctx, r, func(resp *http.Response) error {
		_, err := io.Copy(w, resp.Body)
		return err
	})
}

// RemoveAttachment removes the content of an attachment. Repeating it has no further effect.
func (c AdminAPI) RemoveAttachment(ctx context.Context, mission, id string) (a fieldmark.Attachment, err error) {
	_, err = c.do(ctx, call{method: http.MethodDelete, token: c.key,
		path: fieldmark.PathAdminAPI + "missions" + attachmentPath(mission, id)}, &a)
	return a, err
}

// attachmentPath is the path of an attachment, or of all if id is "", after that of the missions.
func attachmentPath(mission, id string) string {
	path := "/" + url.PathEscape(mission) + fieldmark.PathAttachments
	if id != "" {
		path += "/" + url.PathEscape(id)
	}
	return path
}
