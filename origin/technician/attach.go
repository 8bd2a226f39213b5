package technician

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/attachment"
	"github.com/fieldmark/fieldmark/origin/idempotency"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// maxSignature limits a signature in bytes: black lines on white have less.
const maxSignature = 64 << 10

// attach adds a photo or a signature to a mission, once for each key. Saved responses are pruned
// after a day, but a phone may repeat an upload for three: its name then shows that it was received.
func (h *handler) attach(req *request, id string, f *actForm, k idempotency.Key) (r idempotency.Response, err error) {
	ctx := req.r.Context()
	if f.file == nil {
		return r, validation.Error("/file", "required", "choose one")
	}
	// The name carries the key of the upload, and the list of files of a mission is bounded, so
	// searching it is cheap.
	name := f.Act + "-" + f.Key
	all, err := h.Attachments.List(ctx, req.link.Account, id)
	if err != nil {
		return r, err
	}
	for _, a := range all {
		// Received before: the content of the repetition is not read.
		if strings.HasPrefix(a.Name, name) {
			v, err := h.Missions.Visits.Get(ctx, req.link.Account, id)
			if err != nil {
				return r, err
			}
			r, err = renderAttached(v.Mission)
			r.Replayed = true
			return r, err
		}
	}
	v, err := h.visit(req, id, f)
	if err != nil {
		return r, err
	}
	// A signature is read into memory, because its limit is far below that of a photo and must
	// hold before anything is stored.
	if f.Act == signatureAct {
		content, err := io.ReadAll(io.LimitReader(f.file, maxSignature+1))
		if err == nil && len(content) > maxSignature {
			err = validation.Error("/file", "too_long", "must have at most 64 KiB")
		}
		if err != nil {
			return r, err
		}
		f.file = bytes.NewReader(content)
	}
	return h.Attachments.Execute(ctx, k, attachment.Upload{Account: req.link.Account, Mission: id, Name: name,
		Author:      fieldmark.NoteAuthor{ID: req.link.Assignee.ID, Name: req.link.Assignee.Name},
		ContentType: f.fileType, Body: f.file}, func(fieldmark.Attachment) (idempotency.Response, error) {
		return renderAttached(v.Mission)
	})
}

// renderAttached returns the response to an upload, which does not change the mission.
// The version is the one that the technician saw: the next act on the page is not a conflict.
func renderAttached(m fieldmark.Mission) (idempotency.Response, error) {
	body, err := json.Marshal(actResult{Status: m.Status, Version: m.Version})
	if err != nil {
		return idempotency.Response{}, fmt.Errorf("write the response to an upload: %w", err)
	}
	return idempotency.Response{Status: http.StatusOK, Body: body, Mission: m.ID}, nil
}
