package admin

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/mission"
	"github.com/fieldmark/fieldmark/origin/web"
)

// consoleSource is the source of missions that are created in the console.
const consoleSource = "console"

// newMissionData is the form of a new mission.
type newMissionData struct {
	Accounts   []option
	Priorities []option
	ExternalID string // chosen when the form is opened, so that sending it twice creates one mission
}

func (h *missionHandler) newForm(req *request) error { return h.showNew(req, http.StatusOK, nil) }

func (h *missionHandler) showNew(req *request, status int, bad []web.FormError) error {
	form := req.r.PostForm
	accounts, err := accountFilter(req, h.accounts, cmp.Or(form.Get("account"), req.r.URL.Query().Get("account"),
		access.DefaultAccount))
	if err != nil {
		return err
	}
	d := newMissionData{Accounts: accounts, ExternalID: form.Get("external-id")}
	if d.ExternalID == "" {
		id := fieldmark.NewID(fieldmark.PrefixMission, time.Now())
		d.ExternalID = strings.TrimPrefix(id, fieldmark.PrefixMission+"_")
	}
	d.Priorities = priorityOptions(cmp.Or(form.Get("priority"), string(fieldmark.PriorityMedium)))
	return h.show(req, status, "mission-new", web.Page{Title: "New mission", Errors: bad, Data: d})
}

func priorityOptions(selected string) (list []option) {
	for _, p := range slices.Backward(fieldmark.Priorities()) {
		list = append(list, option{Value: string(p), Label: web.StateWords(p), Selected: string(p) == selected})
	}
	return list
}

// create creates a mission and shows it.
func (h *missionHandler) create(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	form := req.readForm("new-")
	get := func(name string) string { return strings.TrimSpace(form.posted.Get(name)) }
	r := fieldmark.MissionRequest{Source: consoleSource, ExternalID: get("external-id"), Title: get("title"),
		Priority: fieldmark.Priority(get("priority")), Description: form.posted.Get("description")}
	address := fieldmark.Address{Line1: get("line1"), PostalCode: get("postal-code"), City: get("city")}
	if place := (fieldmark.Location{Name: get("place"), AccessNotes: get("access")}); place != (fieldmark.Location{}) ||
		address != (fieldmark.Address{}) {
		if address != (fieldmark.Address{}) {
			place.Address = &address
		}
		r.Location = &place
	}
	r.Contact = form.contact()
	r.Window = form.window()
	if r.Title == "" {
		form.addError("title", "Title: enter one.")
	}
	if len(form.errors) > 0 {
		return h.showNew(req, http.StatusUnprocessableEntity, form.errors)
	}
	m, _, err := h.missions.Create(req.r.Context(), cmp.Or(get("account"), access.DefaultAccount), r)
	if hasCode(err, fieldmark.CodeValidationFailed) {
		return h.showNew(req, http.StatusUnprocessableEntity, req.formErrors(err))
	}
	if hasCode(err, fieldmark.CodeMissionExists) {
		return h.showNew(req, http.StatusConflict,
			web.ErrorOf("This form has created a mission already. Open the form again for another one."))
	}
	if err != nil {
		return err
	}
	h.audit(req, "mission.create", m.ID)
	return req.redirectWithNotice(missionsPath+"/"+m.ID, "opened")
}

// contact returns the contact of a form, or nil.
func (f *form) contact() *fieldmark.Contact {
	c := fieldmark.Contact{Name: f.text("contact-name", "Contact", 120), Phone: f.text("phone", "Phone", 32),
		Email: f.text("email", "Email", 254)}
	if c == (fieldmark.Contact{}) {
		return nil
	}
	return &c
}

// window returns the window of a form, or nil.
func (f *form) window() *fieldmark.Window {
	earliest, latest := f.time("earliest", "Available from"), f.time("latest", "Available until")
	if earliest.IsZero() != latest.IsZero() {
		f.addError("latest", "Available until: enter both times, or neither.")
	}
	if earliest.IsZero() || latest.IsZero() {
		return nil
	}
	return &fieldmark.Window{Earliest: fieldmark.At(earliest), Latest: fieldmark.At(latest)}
}

// labelLines formats labels for a text area, one KEY=VALUE a line.
func labelLines(labels map[string]string) string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		lines = append(lines, key+"="+labels[key])
	}
	return strings.Join(lines, "\n")
}

// labels reads such a text area.
func (f *form) labels() map[string]string {
	labels := map[string]string{}
	for line := range strings.Lines(f.posted.Get("labels")) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			f.addError("labels", "Labels: write one KEY=VALUE on each line.")
			break
		}
		labels[strings.TrimSpace(key)] = strings.TrimSpace(value)
	}
	return labels
}

// edit changes priority, description, window, contact and labels of a mission.
func (h *missionHandler) edit(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	id, form := req.r.PathValue("id"), req.readForm("edit-")
	labels, window, contact := form.labels(), form.window(), form.contact()
	description := form.posted.Get("description")
	if utf8.RuneCountInString(description) > maxDescription {
		form.addError("description", "Description: at most 10,000 characters.")
	}
	versions, err := form.versions()
	if form.errors != nil {
		return h.showMission(req, http.StatusUnprocessableEntity, form.errors)
	}
	if err != nil {
		return err
	}
	m, err := h.missions.Get(req.r.Context(), "", id)
	if err != nil {
		return err
	}
	// The patch replaces objects whole: null first removes what the form has not.
	changed := map[string]any{}
	for key := range m.Labels {
		if _, kept := labels[key]; !kept {
			changed[key] = nil
		}
	}
	for key, value := range labels {
		changed[key] = value
	}
	patch := map[string]any{"priority": form.posted.Get("priority"), "description": nil, "window": nil, "contact": nil,
		"labels": changed}
	if strings.TrimSpace(description) != "" {
		patch["description"] = description
	}
	if window != nil {
		patch["window"] = window
	}
	if contact != nil {
		patch["contact"] = map[string]any{"name": nullIfEmpty(contact.Name), "phone": nullIfEmpty(contact.Phone),
			"email": nullIfEmpty(contact.Email)}
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	if _, err := h.missions.Apply(req.r.Context(), mission.Patch("", id, body, versions)); err != nil {
		return h.showMissionError(req, err)
	}
	h.audit(req, "mission.edit", id)
	return req.redirectWithNotice(missionsPath+"/"+id, "edited")
}

// nullIfEmpty returns the value of a member of a merge patch.
func nullIfEmpty(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// addNote adds a note of the user to a mission. The external id is chosen when the page is shown, so that
// sending the form twice adds one note.
func (h *missionHandler) addNote(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	id, form := req.r.PathValue("id"), req.readForm("note-")
	text := form.posted.Get("text")
	if n := utf8.RuneCountInString(strings.TrimSpace(text)); n == 0 || n > fieldmark.MaxNoteText {
		form.addError("text", "Note: enter 1 to 4,000 characters.")
		return h.showMission(req, http.StatusUnprocessableEntity, form.errors)
	}
	r := fieldmark.NoteRequest{Text: text, Author: &fieldmark.NoteAuthor{ID: req.user, Name: req.user},
		ExternalID: strings.TrimSpace(form.posted.Get("once"))}
	if form.posted.Get("shared") != "" {
		r.Visibility = fieldmark.NoteShared
	}
	_, err := h.missions.Apply(req.r.Context(), mission.AddNote("", id, r))
	if hasCode(err, fieldmark.CodeTooMany, fieldmark.CodeNoteExists) {
		return h.showMission(req, http.StatusConflict, web.ErrorOf(web.Sentence(fieldmark.AsError(err).Detail)))
	}
	if err != nil {
		return h.showMissionError(req, err)
	}
	h.audit(req, "mission.note", id)
	return req.redirectWithNotice(missionsPath+"/"+id, "noted")
}

// redactNote removes the text of a note.
func (h *missionHandler) redactNote(req *request) error {
	id, note := req.r.PathValue("id"), req.r.PathValue("note")
	if _, err := h.missions.RedactNote(req.r.Context(), id, note); err != nil {
		return err
	}
	h.audit(req, "note.redact", note)
	return req.redirectWithNotice(missionsPath+"/"+id, "redacted")
}
