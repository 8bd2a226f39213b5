package api

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin/attachment"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/idempotency"
)

// attachmentAPI serves the files of missions.
type attachmentAPI struct{ attachments *attachment.Service }

const (
	// uploadTimeout limits an upload, from its header to its response: the time in which the body
	// arrives, and remoteTimeout to store it.
	uploadTimeout = fieldmark.MaxAttachmentTime*time.Second*timeout.Scale + remoteTimeout
	// downloadTimeout limits a download: a client reads as slowly as it may send.
	downloadTimeout = uploadTimeout
)

// binaryType is the media type of contents whose type their row names.
const binaryType = "application/octet-stream"

// routes are the operations on the files of missions. The request body of an upload is the file.
func (a *attachmentAPI) routes() []*route {
	const all = fieldmark.PathMissions + "/{id}" + fieldmark.PathAttachments
	read, update := key(fieldmark.ScopeMissionRead), key(fieldmark.ScopeMissionUpdate)
	return []*route{
		{"POST", all, update, handleRaw[none, fieldmark.Attachment](a.add), operation{
			id: "addAttachment", summary: "Add a file to a mission; the body is the file",
			status: []int{201}, consumes: attachment.Types(), bodyLimit: fieldmark.MaxAttachment, idempotent: true,
			streamed: true, timeout: uploadTimeout}},
		{"GET", all, read, handleCall[none](a.list), operation{
			id: "listAttachments", summary: "List the attachments of a mission, oldest first, also removed ones"}},
		{"GET", all + "/{attachment}", read, handleCall[none](a.get), operation{
			id: "getAttachment", summary: "Get an attachment without its content"}},
		{"GET", all + "/{attachment}/content", read, handleRaw[none, none](a.content), operation{
			id: "getAttachmentContent", summary: "Download the content of an attachment", status: []int{200},
			produces: []string{binaryType}, timeout: downloadTimeout}},
		{"DELETE", fieldmark.PathAdminAPI + "missions/{id}" + fieldmark.PathAttachments + "/{attachment}",
			key(fieldmark.ScopeAdmin), handleCall[none](a.remove), operation{
				id: "removeAttachment", summary: "Remove the content of an attachment; its row stays"}},
	}
}

// add streams the body to the attachment. Nothing is kept unless the whole request is valid.
// The handler reads the idempotency key itself: the digest of the request needs the content, which is
// known only once it has been read.
func (a *attachmentAPI) add(c *call) error {
	m, err := missionParam(c)
	if err != nil {
		return err
	}
	k, err := idempotencyKey(c.r.Header)
	if err != nil {
		return err
	}
	// The bytes are stored as they arrive: an encoded body would become the file.
	if enc := c.r.Header.Get("Content-Encoding"); enc != "" {
		return fieldmark.Errorf(fieldmark.CodeUnsupportedMediaType, "send the file without Content-Encoding")
	}
	// Refused before the body is read. Without a length, the reader of the service stops at the limit.
	if c.r.ContentLength > fieldmark.MaxAttachment {
		return attachment.TooLarge()
	}
	u := attachment.Upload{Account: m.account, Mission: m.id, ContentType: c.r.Header.Get("Content-Type"),
		Author: fieldmark.NoteAuthor{ID: c.key.ID, Name: c.key.Name}, Body: uploadBody{c.r.Body}}
	// Checked after the transfer; without the field the service calculates it only.
	if u.Digest, err = attachment.ParseDigest(c.r.Header.Values("Content-Digest")); err != nil {
		return err
	}
	if u.Name, err = attachment.ParseName(c.r.Header.Get("Content-Disposition")); err != nil {
		return err
	}
	// Connections without deadlines, such as those of tests, have no limit.
	ctl := http.NewResponseController(c.w)
	_ = ctl.SetReadDeadline(time.Now().Add(uploadTimeout))
	defer func() { _ = ctl.SetReadDeadline(time.Time{}) }()
	ctx := auditlog.WithActor(c.r.Context(), auditlog.Actor{Kind: fieldmark.ActorKey, Name: c.key.ID})
	response, err := a.attachments.Execute(ctx, idempotency.Key{Account: c.key.Account, Name: k}, u, renderAttachment)
	if err != nil {
		return err
	}
	return c.sendSaved(response)
}

// uploadBody is a request body whose errors are those of the client.
// Otherwise a broken upload would be an internal error in the log and in the metrics.
type uploadBody struct{ io.Reader }

// Read implements io.Reader.
func (b uploadBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	switch {
	case err == nil || errors.Is(err, io.EOF):
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = &fieldmark.Error{Code: fieldmark.CodeRequestTimeout, Detail: "the file did not arrive in time", Err: err}
	default:
		err = &fieldmark.Error{Code: fieldmark.CodeMalformedRequest, Detail: "the file ended early", Err: err}
	}
	return n, err
}

// renderAttachment returns the response to an upload; a pure function, as attachment.Render demands.
func renderAttachment(a fieldmark.Attachment) (idempotency.Response, error) {
	body, err := encode(a)
	return idempotency.Response{Status: http.StatusCreated, Body: body, Mission: a.MissionID, Fields: map[string]string{
		"Location": missionPath(a.MissionID) + fieldmark.PathAttachments + "/" + a.ID}}, err
}

// list lists the attachments of a mission without pages: fieldmark.MaxAttachments bounds them.
func (a *attachmentAPI) list(c *call) (page fieldmark.List[fieldmark.Attachment], err error) {
	m, err := missionParam(c)
	if err != nil {
		return page, err
	}
	all, err := a.attachments.List(c.r.Context(), m.account, m.id)
	return list(all), err
}

// get reads an attachment. The account and the mission are part of the query, so an id of another
// account is not found.
func (a *attachmentAPI) get(c *call) (fieldmark.Attachment, error) {
	m, err := missionParam(c)
	if err != nil {
		return fieldmark.Attachment{}, err
	}
	return a.attachments.Get(c.r.Context(), m.account, m.id, c.r.PathValue("attachment"))
}

// content sends a file. After the first bytes an error can only abort the connection.
func (a *attachmentAPI) content(c *call) error {
	m, err := missionParam(c)
	if err != nil {
		return err
	}
	content, err := a.attachments.Open(c.r.Context(), m.account, m.id, c.r.PathValue("attachment"))
	if err != nil {
		return err
	}
	defer content.Close()
	defer c.limitWrites(downloadTimeout)()
	// It makes browsers save the file: shown inline, a file of a stranger could run scripts in this
	// site.
	content.SetHeader(c.w.Header())
	c.w.WriteHeader(http.StatusOK)
	if c.r.Method == http.MethodHead {
		return nil
	}
	_, err = io.Copy(c.w, content)
	return err
}

// remove deletes the content permanently, for files that should not have been added. The row stays and
// names who removed it.
func (a *attachmentAPI) remove(c *call) (fieldmark.Attachment, error) {
	id, err := idParam(fieldmark.PrefixMission)(c)
	if err != nil {
		return fieldmark.Attachment{}, err
	}
	return a.attachments.Remove(c.r.Context(), id, c.r.PathValue("attachment"))
}
