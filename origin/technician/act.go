package technician

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/idempotency"
	"github.com/fieldmark/fieldmark/origin/mission"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// actKind is something that a technician does. The page offers it if the mission allows To.
type actKind struct {
	Name, Label string
	To          fieldmark.MissionStatus // empty: no transition, or the status before a hold
	Code        string                  // of the reason, if the technician does not choose one
	Reasons     []option                // to choose from
	Confirm     string                  // a sentence, if the act is confirmed
	Danger      bool
}

// option is a reason to choose.
type option struct{ Value, Label string }

// actKinds are the transitions that a technician makes. The first one that a status allows is its
// primary action.
var actKinds = []actKind{
	{Name: "accept", Label: "Accept"},
	{Name: "resume", Label: "Resume"},
	{Name: "enroute", Label: "On my way", To: fieldmark.MissionEnRoute},
	{Name: "start", Label: "Start work", To: fieldmark.MissionInProgress},
	{Name: "complete", Label: "Complete", To: fieldmark.MissionCompleted,
		Confirm: "The work is done. Only your dispatcher can reopen the mission."},
	{Name: "hold", Label: "Put on hold", To: fieldmark.MissionOnHold, Reasons: []option{
		{fieldmark.HoldWaitingCustomer, "Waiting for the customer"},
		{fieldmark.HoldSiteAccess, "No access to the site"},
		{fieldmark.HoldWaitingParts, "Waiting for parts"}, {fieldmark.HoldWeather, "Weather"}, {"OTHER", "Other"}}},
	{Name: "unable", Label: "Unable to complete", To: fieldmark.MissionUnableToComplete, Danger: true,
		Confirm: "Your dispatcher decides what happens next.", Reasons: []option{
			{"NO_ACCESS", "No one there, or no access"}, {"WRONG_PARTS", "Parts or tools are missing"},
			{"UNSAFE", "Not safe"}, {"NOT_REPAIRABLE", "Cannot be repaired on site"}, {"OTHER", "Other"}}},
	{Name: "decline", Label: "Decline", To: fieldmark.MissionScheduled, Reasons: []option{
		{"NOT_AVAILABLE", "Not available"}, {"SKILLS", "Needs other skills"}, {"TOO_FAR", "Too far away"},
		{"OTHER", "Other"}}},
}

// noteAct, photoAct and signatureAct are possible in every status.
const (
	noteAct      = "note"
	photoAct     = "photo"
	signatureAct = "signature"
)

// actsOf returns what a technician can do in a status, the primary action first. What a mission
// allows is for package mission to decide.
// The dispatcher's rules stay in package mission: this list only names and orders what it
// allows.
func actsOf(status, held fieldmark.MissionStatus, next []fieldmark.MissionStatus, accepted bool) (acts []actKind) {
	for _, a := range actKinds {
		possible := slices.Contains(next, a.To)
		switch a.Name {
		case "accept":
			possible = status == fieldmark.MissionDispatched && !accepted
		case "resume":
			possible = status == fieldmark.MissionOnHold && held != ""
		case "decline":
			possible = possible && status == fieldmark.MissionDispatched
		case "complete":
			possible = possible && status != fieldmark.MissionOnHold // work goes on first
		}
		if possible {
			acts = append(acts, a)
		}
	}
	return acts
}

// Limits of a form. The fields come before the file.
const (
	maxFields    = 16       // of a form
	maxFieldSize = 32 << 10 // bytes of a field: fieldmark.MaxNoteText code points, and more
	maxKey       = 64       // bytes of a key, which are 36 for a UUID
	// MaxForm limits a posted form in bytes, for edges: a photo and the fields.
	MaxForm = fieldmark.MaxAttachment + 1<<20
)

// actForm is a posted act.
type actForm struct {
	Act, Key   string
	Version    int // of the mission that the technician saw
	Code, Text string
	OccurredAt *fieldmark.Time
	Confirm    bool

	file     io.Reader // of a photo or a signature, to be read once; nil without
	fileType string
}

// readForm reads an act. Of a form with a file it reads the fields only.
// The file is left on the connection and streamed to the store later: a photo is never in
// memory as a whole.
func (req *request) readForm() (f actForm, err error) {
	fields := map[string]string{}
	kind, _, _ := mime.ParseMediaType(req.r.Header.Get("Content-Type"))
	if kind == "multipart/form-data" {
		// The bound of a multipart body is that of a photo; edges refuse larger ones before
		// they reach the origin.
		req.r.Body = http.MaxBytesReader(req.w, req.r.Body, MaxForm)
		err = f.readParts(req.r, fields)
	} else {
		req.r.Body = http.MaxBytesReader(req.w, req.r.Body, maxFields*maxFieldSize)
		if err = req.r.ParseForm(); err == nil {
			for name := range req.r.PostForm {
				fields[name] = req.r.PostForm.Get(name)
			}
		}
	}
	if err != nil {
		return f, &fieldmark.Error{Code: fieldmark.CodeMalformedRequest, Detail: "the form could not be read",
			Err: err}
	}
	f.Act, f.Key, f.Code, f.Text = fields["act"], fields["key"], fields["code"], strings.TrimSpace(fields["text"])
	f.Confirm = fields["confirm"] != ""
	var bad validation.Errors
	if f.Version, err = strconv.Atoi(fields["version"]); err != nil {
		bad.Add("/version", "format", "must be a number")
		// The key becomes part of names in the database, so only the characters of a UUID are
		// accepted.
	}
	if len(f.Key) < 8 || len(f.Key) > maxKey || !keyPattern.MatchString(f.Key) {
		bad.Add("/key", "pattern", "must be a UUID")
	}
	if text := fields["occurredAt"]; text != "" {
		// The time is that of the phone. Package mission decides whether it is plausible.
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			bad.Add("/occurredAt", "format", "must be a time as in RFC 3339")
		}
		occurred := fieldmark.At(at)
		f.OccurredAt = &occurred
	}
	return f, bad.Err()
}

var keyPattern = regexp.MustCompile(`^[0-9A-Za-z-]+$`)

// readParts reads the fields of a multipart form up to its file.
// The fields must come before the file, as browsers send them in the order of the form: what
// follows the file is not read.
func (f *actForm) readParts(r *http.Request, fields map[string]string) error {
	parts, err := r.MultipartReader()
	if err != nil {
		return err
	}
	for range maxFields {
		p, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if p.FileName() != "" || p.FormName() == "file" {
			f.file, f.fileType = p, p.Header.Get("Content-Type")
			return nil
		}
		// One byte more than allowed, to distinguish a field of the maximum from a longer one.
		text, err := io.ReadAll(io.LimitReader(p, maxFieldSize+1))
		if err != nil {
			return err
		}
		if len(text) > maxFieldSize {
			return fmt.Errorf("the field %q is too long", p.FormName())
		}
		// A broken client may send other encodings; the text is kept as far as it can be read.
		fields[p.FormName()] = strings.ToValidUTF8(string(text), "\uFFFD")
	}
	return errors.New("too many fields")
}

// digest identifies what an act does, without the version and the time that a person may correct.
// A repeated upload of an act after a conflict has a new version and is still the same act.
func (f *actForm) digest(missionID string) fieldmark.Digest {
	return fieldmark.DigestOf(sha256.Sum256([]byte(strings.Join([]string{missionID, f.Act, f.Code, f.Text}, "\x00"))))
}

// actResult is what the script reads after an act.
type actResult struct {
	Status  fieldmark.MissionStatus `json:"status"`
	Version int                     `json:"version"`
	MovedAt *fieldmark.Time         `json:"movedAt,omitempty"` // of a transition
}

// act does something on site, once for each key. The script gets JSON, and a browser without it is
// sent back to the page of the mission.
func (h *handler) act(req *request) error {
	f, err := req.readForm()
	if err != nil {
		return err
	}
	id := req.r.PathValue("id")
	// A photo may take minutes over a bad network; a plain form must not hold a connection that
	// long.
	limit := actTimeout
	if f.file != nil {
		limit = fieldmark.MaxAttachmentTime * time.Second
	}
	ctx, cancel := context.WithTimeout(h.asTechnician(req, req.r.Context()), limit)
	defer cancel()
	req.r = req.r.WithContext(ctx)
	// Validation, conflicts and missing missions are shown on the page; other errors reach the
	// caller's error page.
	saved, err := h.perform(req, id, &f)
	if err != nil {
		return h.refuseAct(req, id, &f, err)
	}
	if !req.wantsJSON() {
		http.Redirect(req.w, req.r, req.missionPath(id), http.StatusSeeOther)
		return nil
	}
	if saved.Replayed {
		req.w.Header().Set(fieldmark.HeaderReplayed, "true")
	}
	req.w.Header().Set("Content-Type", "application/json")
	_, _ = req.w.Write(saved.Body)
	return nil
}

// perform runs an act unless it was run under its key before.
// The key is bound to the outbox of the link: two technicians with equal keys do not meet, and
// a rotated link keeps the keys of acts that wait on the phone.
func (h *handler) perform(req *request, id string, f *actForm) (r idempotency.Response, err error) {
	ctx := req.r.Context()
	k := idempotency.Key{Account: req.link.Account, Name: "technician " + h.Links.outbox(&req.link) + " " + f.Key,
		Request: f.digest(id)}
	// Files have their own path: their content is stored before the transaction that records
	// it.
	if f.Act == photoAct || f.Act == signatureAct {
		return h.attach(req, id, f, k)
	}
	saved, done, err := h.Responses.Begin(ctx, k)
	if err != nil {
		return r, err
	}
	// done ends the turn of this request: another one with the key waits until then.
	defer done()
	if saved.Replayed {
		return saved, nil
	}
	v, err := h.visit(req, id, f)
	if err != nil {
		return r, err
	}
	op, err := f.operation(req, &v)
	if err != nil {
		return r, err
	}
	return h.Missions.Execute(ctx, k, op, func(results []mission.Result) (idempotency.Response, error) {
		m := results[0].Mission
		result := actResult{Status: m.Status, Version: m.Version}
		// A note moves nothing; the script then keeps the time it shows.
		if results[0].Note.ID == "" {
			result.MovedAt = cmp.Or(m.OccurredAt, &m.UpdatedAt)
		}
		body, err := json.Marshal(result)
		return idempotency.Response{Status: http.StatusOK, Body: body, Mission: m.ID}, err
	})
}

// visit returns the mission of an act. It must still be assigned to the technician; notes and files
// must be about the version that the technician saw, as transitions are.
func (h *handler) visit(req *request, id string, f *actForm) (v mission.Visit, err error) {
	v, err = h.Missions.Visits.Get(req.r.Context(), req.link.Account, id)
	switch {
	case err != nil:
		return v, err
	case v.Assignee == nil || v.Assignee.ID != req.link.Assignee.ID:
		return v, errReassigned(id)
	case v.Version != f.Version:
		e := fieldmark.Errorf(fieldmark.CodeVersionMismatch, "the mission is at version %d now", v.Version)
		e.MissionID = id
		return v, e
	}
	return v, nil
}

// errReassigned is the refusal of an act on a mission that has another assignee now, who is not
// named.
// It does not reveal whether the mission exists: a technician must not find out who got it.
func errReassigned(id string) error {
	e := fieldmark.Errorf(fieldmark.CodeInvalidTransition, "This mission is no longer assigned to you.")
	e.MissionID = id
	return e
}

// operation returns the change of the mission.
func (f *actForm) operation(req *request, v *mission.Visit) (mission.Operation, error) {
	note := func(key, text string) mission.Operation {
		return mission.AddNote(req.link.Account, v.ID, fieldmark.NoteRequest{Text: text, OccurredAt: f.OccurredAt,
			Visibility: fieldmark.NoteInternal, ExternalID: notePrefix + key,
			Author: &fieldmark.NoteAuthor{ID: req.link.Assignee.ID, Name: req.link.Assignee.Name}})
	}
	if f.Act == noteAct {
		return note(f.Key, f.Text), nil
	}
	// A kind that the status does not allow is refused by package mission with the list of what
	// is possible.
	for _, a := range actKinds {
		if a.Name != f.Act {
			continue
		}
		if err := f.check(&a); err != nil {
			return mission.Operation{}, err
		}
		switch a.Name {
		case "accept":
			// The note of an acceptance has a fixed key for each dispatch, so two devices
			// accept it once.
			return note(acceptedKey(v.Version), acceptedText), nil
		case "resume":
			a.To = v.HeldFrom
		}
		// The version of the page is the condition: another change in between is a conflict,
		// which the page explains.
		move := mission.Transition{To: a.To, OccurredAt: f.OccurredAt,
			If: mission.Versions{{Number: f.Version}}}
		if f.Code != "" {
			move.Reason = &fieldmark.Reason{Code: f.Code, Text: f.Text}
		}
		return mission.Move(req.link.Account, v.ID, move), nil
	}
	return mission.Operation{}, validation.Error("/act", "enum", "is unknown")
}

// acceptedText is the note of a technician who accepts a mission. The status machine has no status
// for it: a dispatched mission is the technician's until they decline it.
const acceptedText = "Accepted."

// notePrefix begins the external ids of notes of technicians.
const notePrefix = "technician-"

// acceptedKey is in the external id of that note, so that each dispatch is accepted once.
func acceptedKey(version int) string { return "accepted-" + strconv.Itoa(version) }

// check returns the errors of the fields of a transition.
// A reason without choices drops what was sent: stale pages may send fields of another act.
func (f *actForm) check(a *actKind) error {
	var bad validation.Errors
	if a.Reasons == nil {
		f.Code, f.Text = "", ""
	} else if !slices.ContainsFunc(a.Reasons, func(o option) bool { return o.Value == f.Code }) {
		bad.Add("/code", "required", "choose one")
	}
	if f.Code == "OTHER" && f.Text == "" {
		bad.Add("/text", "required", "say what it is")
	}
	if len([]rune(f.Text)) > fieldmark.MaxReasonText {
		bad.Add("/text", "too_long", "must have at most 500 characters")
	}
	if a.Confirm != "" && !f.Confirm {
		bad.Add("/confirm", "required", "confirm this")
	}
	return bad.Err()
}
