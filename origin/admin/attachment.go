package admin

import (
	"cmp"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/attachment"
	"github.com/fieldmark/fieldmark/origin/idempotency"
	"github.com/fieldmark/fieldmark/origin/web"
)

// attachmentHandler serves the files on the page of a mission.
type attachmentHandler struct {
	*missionHandler
	attachments *attachment.Service
}

// attachmentTimeout limits an upload and a download: a person may have a slow connection.
const attachmentTimeout = fieldmark.MaxAttachmentTime*time.Second + formTimeout

// maxOnce limits the key of an upload in bytes: it is an id.
const maxOnce = 64

// attachmentRow is an attachment with texts for the page.
type attachmentRow struct {
	fieldmark.Attachment
	Label string // the name of the file, or its type
	Kind  string // JPEG, PDF
	Size  string
}

// attachmentsData are the files of a mission.
type attachmentsData struct {
	Rows   []attachmentRow
	Kept   int    // not removed
	Full   bool   // no file can be added
	Accept string // of the input of the file
	Once   string // key of the next upload
}

// newAttachmentsData returns the files of a mission for its page. Removed files are shown without content, because the
// history names them; they do not count towards the limit. The key of the next upload is an id in the form, so that
// a form that is sent twice adds one file.
func newAttachmentsData(all []fieldmark.Attachment) attachmentsData {
	d := attachmentsData{Accept: strings.Join(append(attachment.Types(), attachment.Extensions()...), ","),
		Once: fieldmark.NewID(fieldmark.PrefixAttachment, time.Now())}
	for _, a := range all {
		// The part of the media type after the slash: a person knows JPEG and PDF, not image/jpeg.
		kind := strings.ToUpper(strings.TrimPrefix(a.ContentType[strings.IndexByte(a.ContentType, '/')+1:], "x-"))
		if kind == "PLAIN" {
			kind = "Text"
		}
		row := attachmentRow{Attachment: a, Label: cmp.Or(a.Name, kind+" file"), Kind: kind, Size: formatSize(a.Size)}
		if a.RemovedAt == nil {
			d.Kept++
		}
		d.Rows = append(d.Rows, row)
	}
	d.Full = d.Kept >= fieldmark.MaxAttachments
	return d
}

// formatSize formats a number of bytes for people.
func formatSize(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1_000_000:
		return fmt.Sprintf("%d kB", (n+500)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// add adds the file of a form to a mission. The file is streamed; sending the form twice adds one.
func (h *attachmentHandler) add(req *request) error {
	id, form := req.r.PathValue("id"), req.readForm("file-")
	req.r.Body = http.MaxBytesReader(req.w, req.r.Body, fieldmark.MaxAttachment+maxForm)
	// Connections without deadlines, such as those of tests, have no limit.
	ctl := http.NewResponseController(req.w)
	_ = ctl.SetReadDeadline(time.Now().Add(attachmentTimeout))
	defer func() { _ = ctl.SetReadDeadline(time.Time{}) }()
	// A browser that is still sending would not show the answer.
	defer func() { _, _ = io.Copy(io.Discard, req.r.Body) }()
	// The file is not parsed as a whole form, which would buffer 10 MiB on the disk of each origin.
	part, once, err := nextFile(req.r)
	if err != nil {
		form.addError(uploadName, "File: choose a file.")
		return h.showMission(req, http.StatusUnprocessableEntity, form.errors)
	}
	name, err := attachment.ParseName(part.Header.Get("Content-Disposition"))
	if err != nil {
		return err
	}
	_, err = h.attachments.Execute(req.r.Context(), idempotency.Key{Name: once}, attachment.Upload{Mission: id,
		Author: fieldmark.NoteAuthor{ID: req.user, Name: req.user}, Name: name, Body: part,
		ContentType: attachment.TypeOf(name, part.Header.Get("Content-Type"))},
		func(a fieldmark.Attachment) (idempotency.Response, error) {
			return idempotency.Response{Status: http.StatusCreated, Mission: a.MissionID}, nil
		})
	// The page of a mission that does not exist cannot be shown with an error.
	if isClientError(err) && !hasCode(err, fieldmark.CodeNotFound) {
		text := web.Sentence(fieldmark.AsError(err).Detail)
		if hasCode(err, fieldmark.CodeUnsupportedMediaType) {
			text = "This type of file is not accepted. Choose a JPEG, PNG, WebP, HEIC, PDF, text or CSV file."
		}
		form.addError(uploadName, "File: "+text)
		return h.showMission(req, statusOf(err), form.errors)
	}
	if err != nil {
		return err
	}
	h.audit(req, "attachment.added", id)
	return req.redirectWithNotice(missionsPath+"/"+id+"#attachments", "attached")
}

// nextFile returns the file of a posted form, and the key of the form, which precedes it.
func nextFile(r *http.Request) (file *multipart.Part, once string, err error) {
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, "", err
	}
	for {
		part, err := parts.NextRawPart()
		if err != nil {
			return nil, "", err
		}
		switch part.FormName() {
		case "once":
			key, err := io.ReadAll(io.LimitReader(part, maxOnce))
			if err != nil {
				return nil, "", err
			}
			// A key in another form could be one of another operation of the API.
			if once = string(key); !fieldmark.CheckID(fieldmark.PrefixAttachment, once) {
				once = ""
			}
		case uploadName:
			if part.FileName() == "" { // none was chosen
				return nil, "", io.EOF
			}
			return part, once, nil
		}
	}
}

// content sends a file, which the browser saves.
func (h *attachmentHandler) content(req *request) error {
	content, err := h.attachments.Open(req.r.Context(), "", req.r.PathValue("id"), req.r.PathValue("attachment"))
	if err != nil {
		return err
	}
	defer content.Close()
	content.SetHeader(req.w.Header())
	if _, err := io.Copy(req.w, content); err != nil {
		h.log.Error("send attachment", "attachment", content.ID, "error", err)
		panic(http.ErrAbortHandler) // so that the browser does not keep a part as the whole
	}
	return nil
}

// remove removes the content of an attachment.
func (h *attachmentHandler) remove(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	mission, id := req.r.PathValue("id"), req.r.PathValue("attachment")
	if !web.Confirmed(req.r) {
		a, err := h.attachments.Get(req.r.Context(), "", mission, id)
		if err != nil {
			return err
		}
		return h.confirm(req, web.Confirmation{Title: "Remove " + cmp.Or(a.Name, "this file") + "?",
			Text: "This deletes the file permanently. The page still shows that it was removed, when, and by whom. " +
				"Backups keep it until they are deleted.", Button: "Remove file",
			Back: missionsPath + "/" + mission})
	}
	if _, err := h.attachments.Remove(req.r.Context(), mission, id); err != nil {
		return err
	}
	h.audit(req, "attachment.removed", id)
	return req.redirectWithNotice(missionsPath+"/"+mission+"#attachments", "detached")
}
