package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
)

// missionFilters are the parameters of a list of missions.
var missionFilters = []param{
	{name: "status", does: "Only these statuses; may be repeated", many: true, enum: []string{
		string(fieldmark.MissionNew), string(fieldmark.MissionScheduled), string(fieldmark.MissionDispatched),
		string(fieldmark.MissionEnRoute), string(fieldmark.MissionInProgress), string(fieldmark.MissionOnHold),
		string(fieldmark.MissionCompleted), string(fieldmark.MissionUnableToComplete),
		string(fieldmark.MissionClosed), string(fieldmark.MissionCanceled),
	}},
	{name: "priority", does: "Only this priority", enum: fieldmark.PriorityNames()},
	{name: "source", does: "Only this source, compared without regard to case"},
	{name: "externalId", does: "Only this externalId of the source, which is one mission at most"},
	{name: "createdSince", does: "Only those created at this time or later", time: true},
	{name: "createdUntil", does: "Only those created at this time or earlier", time: true},
	{name: "updatedSince", does: "Only those changed at this time or later, in the order they changed. To follow changes, give a start time once and then pass nextCursor of the newest page as cursor, also after the last page (hasMore is false); leave the other parameters as they were", time: true},
	{name: "limit", does: "Missions on a page", lowest: 1, highest: fieldmark.MaxMissionLimit, preset: fieldmark.DefaultMissionLimit},
	{name: "cursor", does: "nextCursor of the page before. With updatedSince, every page has one: the last page's finds what changes later"},
}

// allMissionFilters are those of the list that may be of all accounts.
var allMissionFilters = append([]param{{name: "account", does: "Only this account; without it only status and the times of creation narrow"}}, missionFilters...)

// openMission opens a mission, or finds the one that is already there.
func (s *server) openMission(c *call) error {
	var req fieldmark.MissionRequest
	if err := c.decode(&req, func() []fieldmark.FieldError { return checkMission(&req) }); err != nil {
		return err
	}
	in, err := origin.NewIntake(c.key.Account, req)
	if err != nil {
		return err
	}
	return s.do(c, func(ctx context.Context, a *origin.Act) (reply, error) {
		m, created, err := a.OpenMission(ctx, in)
		r := missionReply(m)
		r.fields["Location"] = missionPath(m.ID)
		if created {
			r.status = http.StatusCreated
		} else {
			r.fields[fieldmark.HeaderDeduplicated] = "true"
		}
		return r, err
	}, in)
}

// missionReply tells of a mission that was written.
func missionReply(m fieldmark.Mission) reply {
	return reply{status: http.StatusOK, fields: map[string]string{"ETag": missionETag(m)}, value: m, mission: m.ID}
}

// checkMission takes a metadata of null for none, as with every other member.
func checkMission(req *fieldmark.MissionRequest) []fieldmark.FieldError {
	if string(req.Metadata) == "null" {
		req.Metadata = nil
	}
	return origin.CheckMission(req)
}

// listMissions lists what the caller's account has.
func (s *server) listMissions(c *call) error {
	return s.sendMissions(c, c.key.Account)
}

// listAllMissions lists what an account has, or all have.
func (s *server) listAllMissions(c *call) error {
	return s.sendMissions(c, c.asked.text("account"))
}

func (s *server) sendMissions(c *call, account string) error {
	f := fieldmark.MissionFilter{
		Source: c.asked.text("source"), ExternalID: c.asked.text("externalId"),
		CreatedSince: c.asked.times["createdSince"], CreatedUntil: c.asked.times["createdUntil"], UpdatedSince: c.asked.times["updatedSince"],
		Limit: c.asked.number("limit"), Cursor: c.asked.text("cursor"),
	}
	if text := c.asked.text("priority"); text != "" {
		f.Priority, _ = fieldmark.ParsePriority(text)
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
	if page.HasMore {
		c.linkNext(page.NextCursor)
	}
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
	c.w.Header().Add("Link", fmt.Sprintf(`<%s?%s>; rel="next"`, c.r.URL.EscapedPath(), next.Encode()))
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
	Status    string              `json:"status" minLength:"1" maxLength:"32"`
	Reason    *fieldmark.Reason   `json:"reason,omitempty"`
	Scheduled *fieldmark.Span     `json:"scheduled,omitempty" doc:"When somebody is to be there; left as it is when it is not given"`
	Assignee  *fieldmark.Assignee `json:"assignee,omitempty" doc:"Who is to go; left as it is when it is not given"`
}

// moveMission makes one move of a mission of the caller's account.
func (s *server) moveMission(c *call) error { return s.moveMissionOf(c, c.key.Account) }

// moveAnyMission makes one move of whoever's mission.
func (s *server) moveAnyMission(c *call) error { return s.moveMissionOf(c, "") }

func (s *server) moveMissionOf(c *call, account string) error {
	id, err := c.id(fieldmark.PrefixMission)
	if err != nil {
		return err
	}
	var req transition
	move := origin.Move{If: c.versions()}
	err = c.decode(&req, func() (bad []fieldmark.FieldError) {
		var err error
		if move.To, err = fieldmark.ParseMissionStatus(req.Status); err != nil {
			bad = append(bad, fieldmark.FieldError{Pointer: "/status", Code: "enum", Detail: "must be a mission status"})
		}
		if req.Scheduled != nil {
			bad = append(bad, req.Scheduled.Check("/scheduled")...)
		}
		return bad
	})
	if err != nil {
		return err
	}
	move.Reason, move.Scheduled, move.Assignee = req.Reason, req.Scheduled, req.Assignee
	return s.do(c, func(ctx context.Context, a *origin.Act) (reply, error) {
		m, err := a.MoveMission(ctx, account, id, move)
		return missionReply(m), err
	})
}

// cancellation may say why a mission is called off.
type cancellation struct {
	Reason *fieldmark.Reason `json:"reason,omitempty"`
}

// cancelMission calls a mission of the caller's account off.
func (s *server) cancelMission(c *call) error {
	id, err := c.id(fieldmark.PrefixMission)
	if err != nil {
		return err
	}
	var req cancellation
	if err := c.decodeMaybe(&req); err != nil {
		return err
	}
	return s.do(c, func(ctx context.Context, a *origin.Act) (reply, error) {
		m, err := a.CancelMission(ctx, c.key.Account, id, req.Reason, c.versions())
		return missionReply(m), err
	})
}

// mergePatchType is the media type of a merge patch (RFC 7396, section 4).
const mergePatchType = "application/merge-patch+json"

// editMission changes what a mission of the caller's account says.
func (s *server) editMission(c *call) error {
	id, err := c.id(fieldmark.PrefixMission)
	if err != nil {
		return err
	}
	if _, err := c.mediaType(jsonType, mergePatchType); err != nil {
		return err
	}
	patch, err := c.readBody()
	if err != nil {
		return err
	}
	var shaped fieldmark.MissionPatch
	if err := c.decodeBytes(patch, &shaped, shaped.Check); err != nil {
		return err
	}
	return s.do(c, func(ctx context.Context, a *origin.Act) (reply, error) {
		m, err := a.EditMission(ctx, c.key.Account, id, patch, c.versions())
		return missionReply(m), err
	})
}

// planMission says who goes to a mission of the caller's account, and when.
func (s *server) planMission(c *call) error {
	id, err := c.id(fieldmark.PrefixMission)
	if err != nil {
		return err
	}
	var plan fieldmark.MissionPlan
	err = c.decode(&plan, func() []fieldmark.FieldError {
		if plan.Scheduled == nil {
			return nil
		}
		return plan.Scheduled.Check("/scheduled")
	})
	if err != nil {
		return err
	}
	return s.do(c, func(ctx context.Context, a *origin.Act) (reply, error) {
		m, err := a.PlanMission(ctx, c.key.Account, id, plan, c.versions())
		return missionReply(m), err
	})
}

// versions are those that If-Match lets a write go on at (RFC 9110, section
// 13.1.1); nil means any. The comparison is strong, so a weak tag matches none.
func (c *call) versions() origin.Versions {
	lines := c.r.Header.Values("If-Match")
	list := strings.Join(lines, ",")
	if lines == nil || strings.TrimSpace(list) == "*" {
		return nil
	}
	some := origin.Versions{}
	for one := range strings.SplitSeq(list, ",") {
		one = strings.TrimSpace(one)
		version, revision, _ := strings.Cut(strings.Trim(one, `"`), ".")
		var m fieldmark.Mission
		m.Version, _ = strconv.Atoi(version)
		n, _ := strconv.Atoi(revision)
		if m.SLA = (&fieldmark.SLA{Revision: n}); missionETag(m) == one {
			some = append(some, origin.Version{Number: m.Version, Revision: n})
		}
	}
	return some
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

// missionETag is the version of a mission and, after a point, its revision, if it
// has one.
func missionETag(m fieldmark.Mission) string {
	revision := m.Revision()
	if revision == 0 {
		return strconv.Quote(strconv.Itoa(m.Version))
	}
	return fmt.Sprintf(`"%d.%d"`, m.Version, revision)
}
