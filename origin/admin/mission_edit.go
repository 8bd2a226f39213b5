package admin

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/mission"
	"github.com/fieldmark/fieldmark/origin/web"
)

// consoleSource is the source of missions that are created in the console.
// Source and external id make a mission unique, so the source keeps ids of the console apart from those of clients.
const consoleSource = "console"

// externalID returns the external id of a mission that people know; "" for one that this console generated.
func externalID(m fieldmark.Mission) string {
	if m.Source == consoleSource {
		return ""
	}
	return m.ExternalID
}

// newMissionData is the form of a new mission.
type newMissionData struct {
	Accounts   []option
	Priorities []option
	ExternalID string // chosen when the form is opened, so that sending it twice creates one mission
}

// newForm shows the empty form; the account in the query is selected.
func (h *missionHandler) newForm(req *request) error { return h.showNew(req, http.StatusOK, nil) }

// showNew shows the form again after an error, with the same external id: of several submissions only
// one creates a mission.
func (h *missionHandler) showNew(req *request, status int, bad []web.FormError) error {
	form := req.r.PostForm
	// What was entered comes first, then the account of the page from which the form was opened.
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

// priorityOptions are the choices of a select for priorities, the most urgent first.
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
	// The limits of the members are checked by Create, which names them all at once.
	r := fieldmark.MissionRequest{Source: consoleSource, ExternalID: get("external-id"), Title: get("title"),
		Priority: fieldmark.Priority(get("priority")), Description: form.posted.Get("description")}
	address := fieldmark.Address{Line1: get("line1"), PostalCode: get("postal-code"), City: get("city")}
	// Empty inputs are an absent location: an empty one would fail validation.
	if place := (fieldmark.Location{Name: get("place"), AccessNotes: get("access")}); place != (fieldmark.Location{}) ||
		address != (fieldmark.Address{}) {
		if address != (fieldmark.Address{}) {
			place.Address = &address
		}
		r.Location = &place
	}
	if r.Title == "" {
		form.addError("title", "Enter a title.")
	}
	r.Contact = form.contact()
	r.Window = form.window()
	if len(form.errors) > 0 {
		return h.showNew(req, http.StatusUnprocessableEntity, form.errors)
	}
	// The form offers live accounts only; an id in a forged form must not reach a test world.
	if fieldmark.IsTestAccount(get("account")) {
		return fieldmark.Errorf(fieldmark.CodeNotFound, "There is no such account.")
	}
	m, _, err := h.missions.Create(req.r.Context(), cmp.Or(get("account"), access.DefaultAccount), r)
	if hasCode(err, fieldmark.CodeValidationFailed) {
		return h.showNew(req, http.StatusUnprocessableEntity, req.formErrors(err))
	}
	// The external id is that of the form, so this is the second submission of it with other content.
	if hasCode(err, fieldmark.CodeMissionExists) {
		return h.showNew(req, http.StatusConflict,
			web.ErrorOf("This form has created a mission already. Open the form again for another one."))
	}
	if err != nil {
		return err
	}
	h.audit(req, "mission.created", m.ID)
	return req.redirectWithNotice(missionsPath+"/"+m.ID, "opened")
}

// contact returns the contact of a form, or nil.
// The limits are those of the API: 254 is that of an address in SMTP (RFC 5321, section 4.5.3.1.3).
func (f *form) contact() *fieldmark.Contact {
	c := fieldmark.Contact{Name: f.text("contact-name", "Contact", 120), Phone: f.text("phone", "Phone", 32),
		Email: f.text("email", "Email", 254)}
	if c == (fieldmark.Contact{}) {
		return nil
	}
	return &c
}

// window returns the window of a form, or nil.
// Both times are in UTC, and one without the other is an error.
func (f *form) window() *fieldmark.Window {
	earliest, latest := f.time("earliest", "Available from"), f.time("latest", "Available until")
	// A window without an end would match any time.
	if earliest.IsZero() != latest.IsZero() {
		f.addError("latest", "Available until: enter both times, or neither.")
	}
	if earliest.IsZero() || latest.IsZero() {
		return nil
	}
	return &fieldmark.Window{Earliest: fieldmark.At(earliest), Latest: fieldmark.At(latest)}
}

// labelLines formats labels for a text area, one KEY=VALUE a line.
// The lines are sorted: the order of a map would show a change where nothing changed.
func labelLines(labels map[string]string) string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		lines = append(lines, key+"="+labels[key])
	}
	return strings.Join(lines, "\n")
}

// labels reads such a text area.
// Keys and values are validated with the mission; here only their form.
func (f *form) labels() map[string]string {
	labels := map[string]string{}
	for line := range strings.Lines(f.posted.Get("labels")) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		// A value may contain further equal signs; a key may not.
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
// The patch applies to the version that the form shows, so a change of another user is not overwritten.
func (h *missionHandler) edit(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	id, form := req.r.PathValue("id"), req.readForm("edit-")
	labels, window, contact := form.labels(), form.window(), form.contact()
	description := form.posted.Get("description")
	// Checked here, so that the error is beside the input.
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
	// Its labels are needed to remove those that the form has not. The version of the form guards against a change
	// since.
	m, err := h.missions.Get(req.r.Context(), "", id)
	if err != nil {
		return err
	}
	// The patch replaces objects whole: null first removes what the form has not.
	changed := map[string]any{}
	// In a merge patch a key that is missing stays; null removes it (RFC 7396, section 2).
	for key := range m.Labels {
		if _, kept := labels[key]; !kept {
			changed[key] = nil
		}
	}
	for key, value := range labels {
		changed[key] = value
	}
	// Every member of the form is in the patch, so emptying an input removes its value.
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
	h.audit(req, "mission.updated", id)
	return req.redirectWithNotice(missionsPath+"/"+id, "edited")
}

// nullIfEmpty returns the value of a member of a merge patch.
// An empty input removes the member, because an empty text would fail validation.
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
	// Checked here, so that the error is beside the input and the text is kept.
	if n := utf8.RuneCountInString(strings.TrimSpace(text)); n == 0 || n > fieldmark.MaxNoteText {
		form.addError("text", "Note: enter 1 to 4,000 characters.")
		return h.showMission(req, http.StatusUnprocessableEntity, form.errors)
	}
	// The author is the user, whatever the form has: a note must not appear as one of another person.
	r := fieldmark.NoteRequest{Text: text, Author: &fieldmark.NoteAuthor{ID: req.user, Name: req.user},
		ExternalID: strings.TrimSpace(form.posted.Get("once"))}
	// Private unless the box is checked: the customer sees a shared note, too.
	if form.posted.Get("shared") != "" {
		r.Visibility = fieldmark.NoteShared
	}
	_, err := h.missions.Apply(req.r.Context(), mission.AddNote("", id, r))
	// The text stays in the form: it would be lost on a page that shows only the error.
	if hasCode(err, fieldmark.CodeTooMany, fieldmark.CodeNoteExists) {
		return h.showMission(req, http.StatusConflict, web.ErrorOf(web.Sentence(fieldmark.AsError(err).Detail)))
	}
	if err != nil {
		return h.showMissionError(req, err)
	}
	h.audit(req, "mission.noted", id)
	return req.redirectWithNotice(missionsPath+"/"+id, "noted")
}

// redactNote removes the text of a note.
// The confirmation shows the text, so that the user does not remove another one: it cannot be restored.
func (h *missionHandler) redactNote(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	id, note := req.r.PathValue("id"), req.r.PathValue("note")
	if !web.Confirmed(req.r) {
		notes, err := h.missions.Notes(req.r.Context(), "", id, "", "", fieldmark.MaxNotes)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(notes.Data, func(n fieldmark.Note) bool { return n.ID == note })
		if i < 0 {
			return fieldmark.Errorf(fieldmark.CodeNotFound, "This note does not exist.")
		}
		n := notes.Data[i]
		return h.confirm(req, web.Confirmation{Title: "Redact the note of " + cmp.Or(n.Author.Name, n.Author.ID) + "?",
			Text: "This removes the text permanently: “" + n.Text + "”", Button: "Redact note",
			Back: missionsPath + "/" + id})
	}
	if _, err := h.missions.RedactNote(req.r.Context(), id, note); err != nil {
		return err
	}
	h.audit(req, "note.redacted", note)
	return req.redirectWithNotice(missionsPath+"/"+id, "redacted")
}

// overtakingRow is a change that overtook the form of the user.
type overtakingRow struct {
	Who     actor
	At      fieldmark.Time
	Members []overtakenMember
}

// overtakenMember is what a change set, beside what the form has.
type overtakenMember struct {
	Label, Now, Yours string // Yours is empty if the form does not have the member, or the same value
}

// memberWords names the members of a mission that a change can concern.
var memberWords = map[string]string{"status": "status", "scheduled": "time of the visit", "assignee": "assignee",
	"priority": "priority", "description": "description", "window": "availability", "contact": "contact",
	"labels": "labels", "metadata": "metadata", "payment": "payment", "occurrences": "alerts"}

// overtaking returns the changes of a mission since the version of the rejected form.
func (h *missionHandler) overtaking(req *request, story mission.History, zone *time.Location) (rows []overtakingRow,
	err error) {
	// A forged version only changes what this page lists; the write has compared it already.
	version, err := strconv.Atoi(req.r.PostForm.Get("version"))
	if err != nil {
		return nil, nil // the form has none: it is about the payment
	}
	who, err := h.actors(req)
	if err != nil {
		return nil, err
	}
	// All changes since, not only the last: each may explain another difference.
	for _, c := range story.ChangesSince(version) {
		row := overtakingRow{Who: who(c.Actor), At: c.Time}
		for _, m := range c.Members {
			one := overtakenMember{Label: memberWords[m.Name], Now: memberText(m, zone)}
			if yours := req.entered(m.Name); yours != one.Now {
				one.Yours = yours
			}
			row.Members = append(row.Members, one)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// maxMemberText limits the text of a value that overtook a form, in characters: the page has all of it.
const maxMemberText = 200

// memberText writes the new value of a member in words; "" if it has none that a form could set.
// It and entered must write equal values alike: the page marks those that differ.
func memberText(m mission.MemberChange, zone *time.Location) string {
	var v struct {
		fieldmark.Span
		fieldmark.Window
		fieldmark.Assignee
		Labels map[string]string
		Text   string
	}
	var into any = &v.Text
	switch m.Name {
	case "scheduled":
		into = &v.Span
	case "window":
		into = &v.Window
	case "assignee":
		into = &v.Assignee
	case "labels":
		into = &v.Labels
	case "contact":
		var c fieldmark.Contact
		_ = json.Unmarshal(m.Now, &c) // it is the JSON of a mission; null is the zero contact
		return contactText(c)
	case "status", "priority", "description":
	default:
		return ""
	}
	// The same word as entered writes for an empty input.
	if m.Now == nil || json.Unmarshal(m.Now, into) != nil {
		return "none"
	}
	switch m.Name {
	case "scheduled":
		return spanText(inputTimeIn(v.Span.Start, zone), inputTimeIn(v.Span.End, zone))
	case "window":
		return spanText(inputTimeIn(v.Earliest, zone), inputTimeIn(v.Latest, zone))
	case "assignee":
		return cmp.Or(v.Name, v.ID)
	case "labels":
		return strings.ReplaceAll(labelLines(v.Labels), "\n", ", ")
	case "description":
		return firstRunes(v.Text, maxMemberText)
	}
	return web.StateWords(v.Text)
}

// entered returns what the posted form has for a member of a mission, as memberText writes it.
// A member that the form does not have is "".
func (req *request) entered(member string) string {
	form := req.r.PostForm
	switch req.formPrefix + member {
	case "plan-scheduled":
		return spanText(form.Get("start"), form.Get("end"))
	case "plan-assignee":
		return cmp.Or(strings.TrimSpace(form.Get("assignee-name")), strings.TrimSpace(form.Get("assignee")), "none")
	case "edit-priority":
		return web.StateWords(form.Get("priority"))
	case "edit-description":
		return firstRunes(cmp.Or(strings.TrimSpace(form.Get("description")), "none"), maxMemberText)
	case "edit-window":
		return spanText(form.Get("earliest"), form.Get("latest"))
	case "edit-contact":
		return contactText(fieldmark.Contact{Name: form.Get("contact-name"), Phone: form.Get("phone"),
			Email: form.Get("email")})
	case "edit-labels":
		return strings.Join(strings.Fields(form.Get("labels")), ", ")
	}
	return ""
}

// spanText writes two values of inputs of type datetime-local.
// The values have the form 2006-01-02T15:04 (HTML, section 2.3.5.5); T is replaced by a space.
func spanText(start, end string) string {
	if start == "" && end == "" {
		return "none"
	}
	return strings.Replace(start, "T", " ", 1) + " to " + strings.Replace(end, "T", " ", 1)
}

// contactText writes the members of a contact that are set; "none" for an empty one.
func contactText(c fieldmark.Contact) string {
	return cmp.Or(strings.Join(slices.DeleteFunc([]string{c.Name, c.Phone, c.Email},
		func(s string) bool { return s == "" }), ", "), "none")
}

// firstRunes returns at most the first n characters of a text.
// It cuts between characters: a byte limit could split one.
func firstRunes(text string, n int) string {
	if list := []rune(text); len(list) > n {
		return string(list[:n]) + "…"
	}
	return text
}

// plan returns the plan of the form. The times are in the time zone of the form; one that was not changed stays
// the same instant, also where the clocks show it twice.
func (f *form) plan(schedule bool) (plan fieldmark.MissionPlan, err error) {
	zone, err := parseZone(f.posted.Get("zone"))
	if err != nil {
		return plan, err
	}
	start, end := f.timeIn("start", "Start", zone), f.timeIn("end", "End", zone)
	switch {
	case f.errors != nil:
	// Without a time the mission would be scheduled and in no calendar.
	case start.IsZero() && end.IsZero() && schedule:
		f.addError("start", "Start: a scheduled mission needs a time.")
	case start.IsZero() != end.IsZero():
		f.addError("end", "End: enter both a start and an end, or neither.")
	case !start.IsZero():
		plan.Scheduled = &fieldmark.Span{Start: fieldmark.At(start), End: fieldmark.At(end)}
		// The errors of the API have pointers; a form has one input for the end.
		for _, e := range mission.ValidateSpan(*plan.Scheduled, "/scheduled") {
			f.addError("end", web.Sentence("End: "+e.Detail))
		}
	}
	who := f.text("assignee", "Assignee ID", maxAssignee)
	name := f.text("assignee-name", "Assignee name", maxAssigneeName)
	switch {
	case who != "":
		plan.Assignee = &fieldmark.Assignee{ID: who, Name: name}
	case name != "":
		f.addError("assignee", "Assignee ID: enter the ID of the assignee.")
	}
	return plan, nil
}

// timeIn is time for an input in a time zone. The input NAME-was has the instant that it showed.
func (f *form) timeIn(name, label string, zone *time.Location) time.Time {
	if was, err := time.Parse(time.RFC3339, f.posted.Get(name+"-was")); err == nil &&
		was.In(zone).Format(localMinute) == f.posted.Get(name) {
		return was
	}
	t := f.time(name, label)
	if t.IsZero() {
		return t
	}
	// time.Date moves a time that the clock skips; then local differs from what was entered.
	local := time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), 0, 0, zone)
	if local.Format(localMinute) != t.Format(localMinute) {
		f.addError(name, label+": this time does not exist in "+zone.String()+", because the clocks change.")
	}
	return local
}

// paymentVersion returns the version of a payment that the form was made for; 0 without a payment.
// A payment is changed only at this version, so two users cannot record the same refund.
func (f *form) paymentVersion() (int, error) {
	version, err := strconv.Atoi(f.posted.Get("payment-version"))
	if err != nil {
		return 0, fieldmark.Errorf(fieldmark.CodeInvalidParameter,
			"The form is incomplete. Reload the mission and try again.")
	}
	return version, nil
}
