package mcp

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
)

// Limits of mission_find.
// A mission takes up to several kilobytes, and a result has at most MaxResult: more would be
// shortened to titles.
const (
	maxMissions     = 20
	defaultMissions = 10
)

const mergePatch = "application/merge-patch+json"

// findMissions serves the tool mission_find.
func (s *Server) findMissions(ctx *fasthttp.RequestCtx, arguments []byte) (*Document, error) {
	var a struct {
		ID           string `json:"id"`
		Source       string `json:"source"`
		ExternalID   string `json:"externalId"`
		Status       string `json:"status"`
		Priority     string `json:"priority"`
		Assignee     string `json:"assignee"`
		Label        string `json:"label"`
		UpdatedSince string `json:"updatedSince"`
		Limit        *int   `json:"limit"`
		Cursor       string `json:"cursor"`
		Contact      bool   `json:"contact"`
	}
	if err := decode(arguments, &a); err != nil {
		return nil, err
	}
	var page struct {
		Missions   []fieldmark.Mission `json:"data"`
		NextCursor string              `json:"nextCursor"`
	}
	// An id is looked up by itself: a missing mission is an error and not an empty list.
	if a.ID != "" {
		path, err := missionPath(a.ID, "")
		if err != nil {
			return nil, err
		}
		answer, err := s.host.Call(ctx, &Call{Method: "GET", Path: path, Agent: true})
		if err != nil {
			return nil, err
		}
		page.Missions = make([]fieldmark.Mission, 1)
		if err := json.Unmarshal(answer.Body, &page.Missions[0]); err != nil {
			return nil, err
		}
		return newMissionList(page.Missions, "", a.Contact)
	}
	limit := defaultMissions
	if a.Limit != nil {
		limit = *a.Limit
	}
	// Checked here, because the API accepts more per page than a model should read.
	if limit < 1 || limit > maxMissions {
		return nil, outOfRange("limit", "must be 1 to 20")
	}
	query := url.Values{}
	for name, value := range map[string]string{"source": a.Source, "externalId": a.ExternalID, "status": a.Status,
		"priority": a.Priority, "assignee": a.Assignee, "label": a.Label, "updatedSince": a.UpdatedSince,
		"cursor": a.Cursor} {
		if value != "" {
			query.Set(name, value)
		}
	}
	// A cursor belongs to a page: a shortened page would skip what was cut. Halving the limit
	// keeps list and cursor together.
	for ; ; limit /= 2 {
		query.Set("limit", strconv.Itoa(limit))
		answer, err := s.host.Call(ctx, &Call{Method: "GET", Path: fieldmark.PathMissions + "?" + query.Encode(),
			Agent: true})
		if err != nil {
			return nil, err
		}
		page.Missions, page.NextCursor = nil, ""
		if err := json.Unmarshal(answer.Body, &page); err != nil {
			return nil, err
		}
		d, err := newMissionList(page.Missions, page.NextCursor, a.Contact)
		// One mission always fits: its texts are cut.
		if err != errTooLarge || limit == 1 {
			return d, err
		}
		// Asked again for half of them, so that the cursor leads to the next one.
	}
}

// openMission serves the tool mission_open.
func (s *Server) openMission(ctx *fasthttp.RequestCtx, arguments []byte) (*Document, error) {
	a, err := parseWrite(arguments, "source", "externalId", "title")
	if err != nil {
		return nil, err
	}
	// The names of the arguments are those of the API, so the origin validates them and its
	// errors name them.
	return s.write(ctx, a, &Call{Method: "POST", Path: fieldmark.PathMissions, ContentType: "application/json",
		Body: encode(a.rest)})
}

// editMission serves the tool mission_edit.
func (s *Server) editMission(ctx *fasthttp.RequestCtx, arguments []byte) (*Document, error) {
	a, err := parseWrite(arguments, "id", "version", "change")
	if err != nil {
		return nil, err
	}
	// The change is a JSON merge patch (RFC 7396), in which null removes a member.
	return s.writeExisting(ctx, a, &Call{Method: "PATCH", ContentType: mergePatch, Body: encode(a.rest["change"])}, "")
}

// moveMission serves the tool mission_move.
func (s *Server) moveMission(ctx *fasthttp.RequestCtx, arguments []byte) (*Document, error) {
	a, err := parseWrite(arguments, "id", "version", "status")
	if err != nil {
		return nil, err
	}
	return s.writeExisting(ctx, a, &Call{Method: "POST"}, "/transitions")
}

// cancelMission serves the tool mission_cancel.
func (s *Server) cancelMission(ctx *fasthttp.RequestCtx, arguments []byte) (*Document, error) {
	a, err := parseWrite(arguments, "id", "version")
	if err != nil {
		return nil, err
	}
	return s.writeExisting(ctx, a, &Call{Method: "POST"}, "/cancel")
}

// writeArguments are the arguments of a tool that changes a mission.
type writeArguments struct {
	rest    map[string]any // all but id, version and confirm; the origin validates them
	id      string
	version json.Number
	confirm string
}

// parseWrite decodes arguments, of which some are required. They become a map, so that the
// repeated call of a client that orders its members otherwise has the same body.
func parseWrite(arguments []byte, names ...string) (*writeArguments, error) {
	if arguments == nil {
		return nil, required(names[0])
	}
	a := &writeArguments{}
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.UseNumber()
	// decode reports the same error with the place of the mistake.
	if err := d.Decode(&a.rest); err != nil {
		return nil, decode(arguments, &a.rest)
	}
	// Required arguments are checked before a dry run is sent: the answer is the same and costs
	// no request.
	for _, name := range names {
		if a.rest[name] == nil {
			return nil, required(name)
		}
	}
	// The members that are not of the body are taken out; the rest is sent as it is.
	for name, into := range map[string]*string{"id": &a.id, "confirm": &a.confirm} {
		value, given := a.rest[name]
		delete(a.rest, name)
		var ok bool
		if *into, ok = value.(string); given && !ok {
			return nil, wrongArgument(fieldmark.FieldError{Pointer: "/" + name, Code: "format",
				Detail: "must be a string"})
		}
	}
	if slices.Contains(names, "version") {
		a.version, _ = a.rest["version"].(json.Number)
		delete(a.rest, "version")
		// The version is that of the mission which the model has seen: a mission that changed
		// since is not overwritten.
		if n, err := strconv.Atoi(string(a.version)); err != nil || n < 1 {
			return nil, outOfRange("version", "must be the version of the mission, from 1")
		}
	}
	return a, nil
}

// writeExisting calls the API for a mission that exists, at the version that the client has read.
func (s *Server) writeExisting(ctx *fasthttp.RequestCtx, a *writeArguments, call *Call, suffix string) (*Document,
	error) {
	var err error
	if call.Path, err = missionPath(a.id, suffix); err != nil {
		return nil, err
	}
	if call.ContentType == "" {
		call.ContentType, call.Body = "application/json", encode(a.rest)
	}
	// If-Match in strong form, as the API compares it.
	call.IfMatch = `"` + string(a.version) + `"`
	return s.write(ctx, a, call)
}

// write runs a write: without a token as a dry run, with the token of one in earnest.
// The token proves that the same call was tried before: an agent cannot act by a single call,
// and a person can look at the dry run first.
func (s *Server) write(ctx *fasthttp.RequestCtx, a *writeArguments, call *Call) (*Document, error) {
	call.Agent, call.Confirm = true, a.confirm
	if a.confirm == "" {
		call.Path += "?dryRun=true"
	}
	answer, err := s.host.Call(ctx, call)
	if err != nil {
		return nil, err
	}
	var m fieldmark.Mission
	if err := json.Unmarshal(answer.Body, &m); err != nil {
		return nil, err
	}
	// Acts is which of the two happened, so a model does not report a dry run as done.
	v := &writeView{Acts: a.confirm != ""}
	mission := newMissionView(&m, false)
	if v.Acts {
		v.Mission = mission
		return newDocument(v, mission.shorten)
	}
	v.Would, v.Confirm = mission, answer.Confirm
	// No token means that the key may only try, see fieldmark.AgentDry.
	if v.Note = "Nothing was changed. The same call with confirm acts, within ten minutes."; v.Confirm == "" {
		v.Note = "Nothing was changed, and this key may only try: its member agent is dry."
	}
	return newDocument(v, mission.shorten)
}

// missionPath returns the address of a mission, or of a part of it.
// The id becomes part of a path: anything but the characters of ids is refused, so it cannot
// lead to another endpoint.
func missionPath(id, suffix string) (string, error) {
	if !isPlain(id) {
		return "", wrongArgument(fieldmark.FieldError{Pointer: "/id", Code: "pattern",
			Detail: "must be the id of a mission, msn_…"})
	}
	return fieldmark.PathMissions + "/" + id + suffix, nil
}

// writeView is the result of the tools that change missions.
type writeView struct {
	Would   *missionView `json:"would,omitempty"`
	Mission *missionView `json:"mission,omitempty"`
	Confirm string       `json:"confirm,omitempty"`
	Acts    bool         `json:"acts"`
	Note    string       `json:"note,omitempty"`
}

// missionList is the result of the tool mission_find.
type missionList struct {
	Items      []*missionView `json:"items"`
	NextCursor string         `json:"nextCursor,omitempty"`
	Truncated  bool           `json:"truncated,omitempty"`
}

// newMissionList returns the list as a document. All missions are shortened by the same step,
// so they stay comparable.
func newMissionList(missions []fieldmark.Mission, next string, contact bool) (*Document, error) {
	v := &missionList{Items: []*missionView{}, NextCursor: next}
	for i := range missions {
		v.Items = append(v.Items, newMissionView(&missions[i], contact))
	}
	return newDocument(v, func(step int) (more bool) {
		v.Truncated = true
		for _, item := range v.Items {
			more = item.shorten(step) || more
		}
		return more
	})
}

// missionView is a mission for an agent. What its client wrote is untrusted: a mission may be
// opened by an alert or by a form that anyone can fill in.
type missionView struct {
	ID         string                  `json:"id"`
	Source     foreign                 `json:"untrustedSource"`
	ExternalID foreign                 `json:"untrustedExternalId"`
	Status     fieldmark.MissionStatus `json:"status"`
	Priority   fieldmark.Priority      `json:"priority"`
	Version    int                     `json:"version"`
	Title      foreign                 `json:"untrustedTitle"`
	Text       foreign                 `json:"untrustedDescription,omitempty"`
	Category   foreign                 `json:"untrustedCategory,omitempty"`
	Reason     foreign                 `json:"untrustedReason,omitempty"`
	ReasonCode string                  `json:"reasonCode,omitempty"`
	Assignee   foreign                 `json:"untrustedAssignee,omitempty"`
	Place      foreign                 `json:"untrustedPlace,omitempty"`
	Geo        *fieldmark.Geo          `json:"geo,omitempty"`
	Labels     []foreign               `json:"untrustedLabels,omitempty"`
	Skills     []foreign               `json:"untrustedSkills,omitempty"`
	Contact    *contactView            `json:"contact,omitempty"`
	Window     *fieldmark.Window       `json:"window,omitempty"`
	Scheduled  *fieldmark.Span         `json:"scheduled,omitempty"`
	Minutes    int                     `json:"estimatedMinutes,omitempty"`
	CreatedAt  fieldmark.Time          `json:"createdAt"`
	UpdatedAt  fieldmark.Time          `json:"updatedAt"`
}

type contactView struct {
	Name   foreign `json:"untrustedName,omitempty"`
	Phone  foreign `json:"untrustedPhone,omitempty"`
	Email  foreign `json:"untrustedEmail,omitempty"`
	Access foreign `json:"untrustedAccessNotes,omitempty"`
}

// newMissionView returns a mission with every text of people marked as untrusted. The contact
// is left out unless the call asks for it: it is personal data that a model rarely needs.
func newMissionView(m *fieldmark.Mission, contact bool) *missionView {
	v := &missionView{ID: m.ID, Source: quote(m.Source), ExternalID: quote(m.ExternalID), Status: m.Status,
		Priority: m.Priority, Version: m.Version, Title: quote(m.Title), Text: quote(m.Description),
		Category: quote(m.Category), Window: m.Window, Scheduled: m.Scheduled, Minutes: m.EstimatedMinutes,
		CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt}
	if m.StatusReason != nil {
		v.ReasonCode, v.Reason = m.StatusReason.Code, quote(m.StatusReason.Text)
	}
	if m.Assignee != nil {
		v.Assignee = quote(m.Assignee.ID + " " + m.Assignee.Name)
	}
	for name, value := range m.Labels {
		v.Labels = append(v.Labels, quote(name+"="+value))
	}
	// Sorted, because the order of a map differs between calls, and equal results are easier to
	// compare.
	slices.Sort(v.Labels)
	for _, skill := range m.Skills {
		v.Skills = append(v.Skills, quote(skill))
	}
	access := ""
	if l := m.Location; l != nil {
		place := l.Name
		if a := l.Address; a != nil {
			place += " " + a.Line1 + " " + a.Line2 + " " + a.PostalCode + " " + a.City + " " + a.Country
		}
		v.Place, v.Geo, access = quote(place), l.Geo, l.AccessNotes
	}
	if contact && (m.Contact != nil || access != "") {
		v.Contact = &contactView{Access: quote(access)}
		if m.Contact != nil {
			v.Contact.Name, v.Contact.Phone = quote(m.Contact.Name), quote(m.Contact.Phone)
			v.Contact.Email = quote(m.Contact.Email)
		}
	}
	return v
}

// shorten removes the least informative members of a mission, and then cuts its texts.
func (v *missionView) shorten(step int) bool {
	switch step {
	case 1:
		v.Labels, v.Skills = nil, nil
	case 2:
		v.Text, v.Place, v.Reason, v.Category = "", "", "", ""
	case 3:
		texts := []*foreign{&v.Source, &v.ExternalID, &v.Title, &v.Assignee}
		if c := v.Contact; c != nil {
			texts = append(texts, &c.Name, &c.Phone, &c.Email, &c.Access)
		}
		for _, text := range texts {
			text.cutTo(shortText)
		}
	default:
		return false
	}
	return true
}
