package api

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/fieldmark/fieldmark"
)

// missionFilters are the parameters of both lists of missions.
var missionFilters = []param{
	{name: "status", does: "Only these statuses; may be repeated", many: true, enum: []string{
		string(fieldmark.MissionNew), string(fieldmark.MissionScheduled), string(fieldmark.MissionDispatched),
		string(fieldmark.MissionEnRoute), string(fieldmark.MissionInProgress), string(fieldmark.MissionOnHold),
		string(fieldmark.MissionCompleted), string(fieldmark.MissionUnableToComplete),
		string(fieldmark.MissionClosed), string(fieldmark.MissionCanceled),
	}},
	{name: "source", does: "Only this source, compared without regard to case"},
	{name: "externalId", does: "Only this externalId; with source there is one at most"},
	{name: "limit", does: "Missions on a page", lowest: 1, highest: fieldmark.MaxMissionLimit, preset: fieldmark.DefaultMissionLimit},
	{name: "cursor", does: "nextCursor of the page before"},
}

// openMission opens a mission, or finds the one that is already there.
func (s *server) openMission(c *call) error {
	var req fieldmark.MissionRequest
	if err := c.decode(&req, func() []fieldmark.FieldError { return checkMission(&req) }); err != nil {
		return err
	}
	m, created, err := s.origin.OpenMission(c.r.Context(), c.key.Account, req)
	if err != nil {
		return err
	}
	status := http.StatusCreated
	h := c.w.Header()
	if !created {
		status = http.StatusOK
		h.Set(fieldmark.HeaderDeduplicated, "true")
	}
	h.Set("Location", missionPath(m.ID))
	h.Set("ETag", missionETag(m))
	return c.send(status, m)
}

// checkMission takes a metadata of null for none, as with every other member.
func checkMission(req *fieldmark.MissionRequest) []fieldmark.FieldError {
	if string(req.Metadata) == "null" {
		req.Metadata = nil
	}
	return req.Check()
}

// listMissions lists what the caller's account has.
func (s *server) listMissions(c *call) error {
	return s.sendMissions(c, c.key.Account)
}

// listAllMissions lists what all accounts have.
func (s *server) listAllMissions(c *call) error {
	return s.sendMissions(c, "")
}

func (s *server) sendMissions(c *call, account string) error {
	f := fieldmark.MissionFilter{
		Source: c.asked.text("source"), ExternalID: c.asked.text("externalId"),
		Limit: c.asked.number("limit"), Cursor: c.asked.text("cursor"),
	}
	for _, text := range c.asked.values["status"] {
		status, err := fieldmark.ParseMissionStatus(text)
		if err != nil {
			return err
		}
		f.Status = append(f.Status, status)
	}
	page, err := s.origin.Missions(c.r.Context(), account, f)
	if err != nil {
		return err
	}
	if page.Data == nil {
		page.Data = []fieldmark.Mission{}
	}
	c.linkNext(page.NextCursor)
	return c.send(http.StatusOK, page)
}

// linkNext leads to the next page in a header field (RFC 8288), for clients that
// follow links without reading bodies.
func (c *call) linkNext(cursor string) {
	if cursor == "" {
		return
	}
	next := url.Values{}
	for name, values := range c.asked.values {
		next[name] = values
	}
	next.Set("cursor", cursor)
	c.w.Header().Set("Link", fmt.Sprintf(`<%s?%s>; rel="next"`, c.r.URL.EscapedPath(), next.Encode()))
}

// getMission reads one mission of the caller's account. One of another account is
// not found, like one that does not exist: ids are not to be probed.
func (s *server) getMission(c *call) error {
	id, err := c.id(fieldmark.PrefixMission)
	if err != nil {
		return err
	}
	m, err := s.origin.Mission(c.r.Context(), c.key.Account, id)
	if err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Vary", "Authorization")
	if c.unchanged(missionETag(m)) {
		return nil
	}
	return c.send(http.StatusOK, m)
}

// transition asks for one move of a mission.
type transition struct {
	Status string            `json:"status" minLength:"1" maxLength:"32"`
	Reason *fieldmark.Reason `json:"reason,omitempty"`
}

// moveMission makes one move.
func (s *server) moveMission(c *call) error {
	id, err := c.id(fieldmark.PrefixMission)
	if err != nil {
		return err
	}
	var req transition
	var to fieldmark.MissionStatus
	err = c.decode(&req, func() []fieldmark.FieldError {
		var err error
		if to, err = fieldmark.ParseMissionStatus(req.Status); err != nil {
			return []fieldmark.FieldError{{Pointer: "/status", Code: "enum", Detail: "must be a mission status"}}
		}
		return nil
	})
	if err != nil {
		return err
	}
	m, err := s.origin.MoveMission(c.r.Context(), id, to, req.Reason)
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, m)
}

// completeMission makes every move there is to COMPLETED.
func (s *server) completeMission(c *call) error {
	id, err := c.id(fieldmark.PrefixMission)
	if err != nil {
		return err
	}
	m, err := s.origin.CompleteMission(c.r.Context(), id)
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, m)
}

// id reads the id in the path; one that is not well-formed cannot be found.
func (c *call) id(prefix string) (string, error) {
	id := c.r.PathValue("id")
	if !fieldmark.CheckID(prefix, id) {
		return "", fieldmark.Errorf(fieldmark.CodeNotFound, "no such id")
	}
	return id, nil
}

func missionPath(id string) string { return fieldmark.PathMissions + "/" + id }

func missionETag(m fieldmark.Mission) string { return strconv.Quote(strconv.Itoa(m.Version)) }
