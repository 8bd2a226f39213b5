package technician

import (
	"encoding/json"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/mission"
	"github.com/fieldmark/fieldmark/origin/web"
)

// missionData is the page of a mission.
type missionData struct {
	pageData
	mission.Visit
	Path, When string
	PlaceLines []string
	Map, Site  template.URL
	Tel        template.URL
	Open       bool
	Accepted   bool
	Clocks     []clock
	Moved      string // MovedAt, for the script

	Acts     actsData
	States   []actsData // what can be done after acts that are not sent yet
	Notes    []noteData
	Files    []fileData
	Conflict *conflict
	Posted   *actForm // of a refused form
}

// actsData are the forms for what can be done in a status.
type actsData struct {
	web.Page // has the errors of a refused form
	Status   fieldmark.MissionStatus
	Path     string // of the forms
	Version  int
	Acts     []actKind // the primary action first
	Posted   *actForm  // of a refused form, whose values are shown again
}

// noteData is a note as the page shows it.
type noteData struct {
	fieldmark.Note
	When, Written string
}

// fileData is a photo or a signature that the technician sent.
type fileData struct{ Label, When string }

// maxNotesShown limits the notes of the page, the newest ones.
// A technician needs the latest; the dispatcher's page has them all.
const maxNotesShown = 20

// mission shows a mission of the technician. One that is assigned to another technician is not found.
// 404 and not 403: an id in an old message must not show whether the mission exists.
func (h *handler) mission(req *request) error {
	v, err := h.Missions.Visits.Get(req.r.Context(), req.link.Account, req.r.PathValue("id"))
	if err == nil && (v.Assignee == nil || v.Assignee.ID != req.link.Assignee.ID) {
		err = fieldmark.Errorf(fieldmark.CodeNotFound, "")
	}
	if fieldmark.IsCode(err, fieldmark.CodeNotFound) {
		return h.showMission404(req)
	}
	if err != nil {
		return err
	}
	d, err := h.missionData(req, &v)
	if err != nil {
		return err
	}
	return h.pages.Show(req.w, http.StatusOK, "mission", web.Page{Title: v.Title, Data: d})
}

// showMission404 shows that a mission is not the technician's. The link still works.
func (h *handler) showMission404(req *request) error {
	d := missionData{pageData: h.pageOf(req)}
	return h.pages.Show(req.w, http.StatusNotFound, "mission", web.Page{Title: "Not one of your missions", Data: d})
}

// Times are in the zone of the account: the phone of a technician may be set to another one.
func (h *handler) missionData(req *request, v *mission.Visit) (d missionData, err error) {
	d = missionData{pageData: h.pageOf(req), Visit: *v, Path: req.missionPath(v.ID),
		When: req.span(v.Scheduled), PlaceLines: place(v.Location), Open: isOpen(v.Status),
		Clocks: clocksOf(v, req), Moved: v.MovedAt.String()}
	d.Map, d.Site = mapLinks(v.Location)
	if v.Contact != nil {
		d.Tel = telLink(v.Contact.Phone)
	}
	notes, err := h.Missions.Notes(req.r.Context(), req.link.Account, v.ID, "", "", fieldmark.MaxNotes)
	if err != nil {
		return d, err
	}
	// Backwards, because the newest notes are shown. An acceptance counts however old its note
	// is, as long as no change has raised the version.
	for _, n := range slices.Backward(notes.Data) {
		d.Accepted = d.Accepted || n.ExternalID == notePrefix+acceptedKey(v.Version)
		if len(d.Notes) < maxNotesShown && n.RedactedAt == nil {
			d.Notes = append(d.Notes, shownNote(n, req))
		}
	}
	all, err := h.Attachments.List(req.r.Context(), req.link.Account, v.ID)
	if err != nil {
		return d, err
	}
	for _, a := range all {
		label := "Signature"
		if strings.HasPrefix(a.Name, photoAct) {
			label = "Photo"
		}
		// Files of others, such as a plan that a dispatcher attached, are not listed here: the
		// page shows what this technician has sent.
		if a.Author.ID == req.link.Assignee.ID && a.RemovedAt == nil {
			d.Files = append(d.Files, fileData{label, a.CreatedAt.Std().In(req.zone).Format(noteFormat)})
		}
	}
	d.Acts = actsData{Status: v.Status, Path: d.Path + "/acts", Version: v.Version,
		Acts: actsOf(v.Status, v.HeldFrom, v.Next, d.Accepted)}
	// Offline the script shows the forms of the status that its unsent acts would lead to.
	// These are computed here, because the rules are in Go only.
	for _, s := range []fieldmark.MissionStatus{fieldmark.MissionDispatched, fieldmark.MissionEnRoute,
		fieldmark.MissionInProgress, fieldmark.MissionOnHold, fieldmark.MissionCompleted,
		fieldmark.MissionUnableToComplete, fieldmark.MissionScheduled} {
		held := fieldmark.MissionStatus("")
		if s == fieldmark.MissionOnHold {
			held = fieldmark.MissionInProgress // whichever: resuming is possible
		}
		d.States = append(d.States, actsData{Status: s, Path: d.Path + "/acts",
			Acts: actsOf(s, held, mission.AllowedTransitions(s, held), true)})
	}
	return d, nil
}

// noteFormat is the layout of the times of notes and files.
const noteFormat = "Mon 2 Jan, 15:04"

func shownNote(n fieldmark.Note, req *request) noteData {
	shown := noteData{Note: n, When: n.CreatedAt.Std().In(req.zone).Format(noteFormat)}
	if n.OccurredAt != nil {
		shown.Written = n.OccurredAt.Std().In(req.zone).Format(noteFormat)
	}
	return shown
}

// conflict is the state of a mission that is not the one a technician saw: both are shown.
type conflict struct {
	Status   fieldmark.MissionStatus `json:"status,omitempty"`
	Held     fieldmark.MissionStatus `json:"held,omitempty"` // before a hold
	Words    string                  `json:"words"`          // the status in words
	Version  int                     `json:"version,omitempty"`
	MovedAt  *fieldmark.Time         `json:"movedAt,omitempty"`
	Changes  []string                `json:"changes"`  // what others did since
	Possible bool                    `json:"possible"` // the act can still be done
	Yours    string                  `json:"yours"`    // the act in words
}

// refuseAct shows why an act was refused: at its field, or as the two states of the mission. The form
// keeps what was entered.
// Only refusals that the technician can act on are shown in the page; failures of the service
// reach the error page.
func (h *handler) refuseAct(req *request, id string, f *actForm, refusal error) error {
	e := fieldmark.AsError(refusal)
	status := e.Code.Status()
	if status != http.StatusConflict && status != http.StatusPreconditionFailed &&
		status != http.StatusUnprocessableEntity && e.Code != fieldmark.CodeNotFound {
		return refusal
	}
	v, err := h.Missions.Visits.Get(req.r.Context(), req.link.Account, id)
	mine := err == nil && v.Assignee != nil && v.Assignee.ID == req.link.Assignee.ID
	// A mission that was deleted counts as reassigned.
	if err != nil && !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
		return err
	}
	if !mine {
		e = fieldmark.AsError(errReassigned(id)) // a mission that is gone is not told apart
	}
	var now *conflict
	if e.Code != fieldmark.CodeValidationFailed && e.Code != fieldmark.CodeInvalidOccurredAt {
		if now, err = h.conflictOf(req, &v, f, mine); err != nil {
			return err
		}
	}
	// The script keeps the act in its outbox and shows both states; without it the page does.
	if req.wantsJSON() {
		h.showProblem(req, e, now)
		return nil
	}
	d := missionData{pageData: h.pageOf(req)}
	if mine {
		if d, err = h.missionData(req, &v); err != nil {
			return err
		}
	}
	// What was entered is kept in the form, also the text of a note of many lines.
	d.Conflict, d.Posted, d.Acts.Posted = now, f, f
	for _, field := range e.Fields {
		name := strings.TrimPrefix(field.Pointer, "/")
		d.Acts.Errors = append(d.Acts.Errors, web.FormError{Field: f.Act + "-" + name,
			Text: web.Sentence(fieldLabel(name) + ": " + field.Detail)})
	}
	p := web.Page{Title: v.Title, Data: d, Errors: d.Acts.Errors}
	if !mine {
		p.Title = "No longer your mission"
	}
	return h.pages.Show(req.w, e.Code.Status(), "mission", p)
}

func fieldLabel(name string) string {
	switch name {
	case "code":
		return "Reason"
	case "text":
		return "Details"
	case "confirm":
		return "Confirmation"
	case "occurredAt":
		return "Time"
	}
	return name
}

// conflictOf returns the state of a mission after another person changed it, and what they changed.
// mine is false if the mission is no longer the technician's; then only that is said.
func (h *handler) conflictOf(req *request, v *mission.Visit, f *actForm, mine bool) (*conflict, error) {
	c := &conflict{Words: "Assigned to another technician, or canceled", Changes: []string{}, Yours: f.words()}
	if !mine {
		return c, nil
	}
	story, err := h.Missions.History(req.r.Context(), v.ID)
	if err != nil {
		return nil, err
	}
	c.Status, c.Held, c.Words = v.Status, v.HeldFrom, web.StateWords(v.Status)
	c.Version, c.MovedAt = v.Version, &v.MovedAt
	for _, change := range story.ChangesSince(f.Version) {
		c.Changes = append(c.Changes, change.Time.Std().In(req.zone).Format("15:04")+" "+changeWords(&change, req))
	}
	// actsOf gets false for accepted: an acceptance that was refused may be repeated.
	c.Possible = f.Act == noteAct || f.Act == photoAct || f.Act == signatureAct ||
		slices.ContainsFunc(actsOf(v.Status, v.HeldFrom, v.Next, false),
			func(a actKind) bool { return a.Name == f.Act })
	return c, nil
}

// Keys are shown as integrations: their ids mean nothing to a technician. changeWords returns who
// changed what: "ada: status on hold, visit".
func changeWords(c *mission.Change, req *request) string {
	who := c.Actor
	switch kind, name, _ := strings.Cut(c.Actor, " "); {
	case who == "":
		who = "Fieldmark"
	case kind == string(fieldmark.ActorTechnician) && name == req.link.Assignee.ID:
		who = "You, on another device"
	case kind == string(fieldmark.ActorKey):
		who = "An integration"
	case kind == string(fieldmark.ActorPerson):
		who = name
	}
	var members []string
	for _, m := range c.Members {
		words := m.Name
		var status fieldmark.MissionStatus
		switch {
		case m.Name == "scheduled":
			words = "visit"
		case m.Name == "status" && json.Unmarshal(m.Now, &status) == nil:
			words += " " + web.StateWords(status)
		}
		members = append(members, words)
	}
	if members == nil {
		members = []string{"changed"}
	}
	return who + ": " + strings.Join(members, ", ")
}

// words returns an act by the name that technicians see.
func (f *actForm) words() string {
	words := map[string]string{noteAct: "Note", photoAct: "Photo", signatureAct: "Signature"}[f.Act]
	for _, a := range actKinds {
		if a.Name == f.Act {
			words = a.Label
		}
	}
	if f.Text != "" {
		words += ": " + f.Text
	}
	return words
}
