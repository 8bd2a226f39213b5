package api

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/idempotency"
	"github.com/fieldmark/fieldmark/origin/mission"
)

// missionAPI serves missions and their payments, to integrators and administrators.
type missionAPI struct {
	missions *mission.Service
}

// missionFilters are the query parameters of a list of missions.
var missionFilters = []param{
	{name: "status", description: "Only missions with one of these statuses", many: true, enum: missionStatuses()},
	{name: "priority", description: "Only missions with this priority", enum: fieldmark.PriorityNames()},
	{name: "source", description: "Only missions of this source; case-insensitive"},
	{name: "externalId", description: "Only the mission with this externalId at the source"},
	{name: "assignee", description: "Only missions of the assignee with this id"},
	{name: "label", description: "Only missions with this label, as key:value. The account must list the key in " +
		"filterLabels; at most 2 labels", many: true},
	{name: "createdSince", description: "Only missions that reached the origin at this time or later. One that " +
		"an edge kept while no origin could be reached has an earlier createdAt", time: true},
	{name: "createdUntil", description: "Only missions that reached the origin at this time or earlier; see " +
		"createdSince", time: true},
	{name: "updatedSince", description: "Only missions changed at this time or later, in the order of their changes. " +
		"To follow changes, send a start time once, and then nextCursor of the latest page as cursor, also after the " +
		"last page (hasMore is false); leave the other parameters unchanged", time: true},
	{name: "limit", description: "Missions per page", lowest: 1, highest: fieldmark.MaxMissionLimit,
		preset: fieldmark.DefaultMissionLimit},
	{name: "cursor", description: "nextCursor of the previous page. With updatedSince, every page has one: " +
		"that of the last page returns later changes"},
}

// allMissionFilters are those of the list for administrators.
var allMissionFilters = append([]param{{name: "account",
	description: "Only missions of this account. Without it, only status, createdSince and createdUntil can filter"}},
	append([]param{worldParam}, missionFilters...)...)

func missionStatuses() []string {
	var names []string
	for _, s := range fieldmark.MissionStatuses() {
		names = append(names, string(s))
	}
	return names
}

// create creates a mission, or returns the one that has the same source and externalId.
func (a *missionAPI) create(c *call) error {
	req, err := decodeBody[fieldmark.MissionRequest](c)
	if err != nil {
		return err
	}
	in, err := mission.NewRequest(c.key.Account, req)
	if err != nil {
		return err
	}
	return a.execute(c, mission.Create(in), renderCreated)
}

// renderCreated returns the response to a request that created a mission, or found it.
// 201 means that the request created the mission; a repetition gets 200 and Deduplicated,
// so that a tool that sends each alert twice can count its missions.
func renderCreated(results []mission.Result) (idempotency.Response, error) {
	r, err := renderMission(results)
	r.Fields["Location"] = missionPath(r.Mission)
	if results[0].Created {
		r.Status = http.StatusCreated
	} else {
		r.Fields[fieldmark.HeaderDeduplicated] = "true"
	}
	return r, err
}

// renderMission returns the response to a request that wrote a mission.
// It is pure: a saved response is rendered again from the stored mission.
func renderMission(results []mission.Result) (idempotency.Response, error) {
	m := results[0].Mission
	body, err := encode(m)
	return idempotency.Response{Status: http.StatusOK, Fields: map[string]string{"ETag": missionETag(m)}, Body: body,
		Mission: m.ID}, err
}

// missionBatch is a request for several missions.
type missionBatch struct {
	Missions []fieldmark.MissionRequest `json:"missions" minItems:"1" maxItems:"100"`
}

// createBatch creates missions as if each had been sent alone: an error in one is reported at its index and
// does not affect the others. All are created in one transaction, so an internal error creates none.
func (a *missionAPI) createBatch(c *call) error {
	body, err := c.readJSON()
	if err != nil {
		return err
	}
	items, err := c.splitBatch(body)
	if err != nil {
		return err
	}
	var valid []mission.Request
	// An internal error is no fault of an item: the whole batch fails, and can be repeated as a whole.
	rejected := make([]*fieldmark.Error, len(items))
	for i, item := range items {
		in, err := c.intake(item)
		if err == nil {
			valid = append(valid, in)
		} else if rejected[i] = itemError(err); rejected[i] == nil {
			return err
		}
	}
	// The report is rendered after the transaction, by a function that must not read the call.
	base, requestID := c.w.base, c.w.requestID
	return a.execute(c, mission.CreateAll(valid), func(results []mission.Result) (idempotency.Response, error) {
		return renderBatch(results, rejected, base, requestID)
	})
}

// renderBatch returns the report on a batch: the results of the valid missions at the indices that were not
// rejected before.
func renderBatch(results []mission.Result, rejected []*fieldmark.Error, base, requestID string) (idempotency.Response,
	error) {
	report := fieldmark.BatchReport{Results: make([]fieldmark.BatchResult, len(rejected))}
	// The results are those of the valid missions alone, in their order: one is taken for each index without a problem.
	for i, problem := range rejected {
		result := fieldmark.BatchResult{Index: i, Status: http.StatusOK}
		if problem == nil {
			r := results[0]
			results = results[1:]
			if result.Mission = &r.Mission; r.Created {
				result.Status = http.StatusCreated
			}
			// The transaction can reject one too, such as a duplicate that another request created meanwhile.
			problem = r.Err
		}
		if problem != nil {
			p := problem.Problem(base, requestID)
			result = fieldmark.BatchResult{Index: i, Status: p.Status, Problem: &p}
		}
		report.Results[i] = result
	}
	body, err := encode(report)
	return idempotency.Response{Status: http.StatusOK, Body: body}, err
}

// splitBatch validates a batch without its missions and returns them as they were sent.
func (c *call) splitBatch(body []byte) ([]jsontext.Value, error) {
	tree, err := parseJSON(body)
	if err != nil {
		return nil, err
	}
	// Copies: all requests of the route share its schema.
	// The list as a whole: its length, and unknown members beside it.
	whole := *c.route.handler.in.schema
	list := *whole.members["missions"]
	list.items = &schema{} // intake validates each mission
	whole.members = map[string]*schema{"missions": &list}
	var errs validationErrors
	whole.check(tree, "", &errs)
	if err := errs.err(fieldmark.CodeValidationFailed); err != nil {
		return nil, err
	}
	var batch struct {
		Missions []jsontext.Value `json:"missions"`
	}
	// The bytes of each mission: intake decodes it under the limits of a mission that is sent alone.
	if err := jsonv2.Unmarshal(body, &batch); err != nil {
		return nil, &fieldmark.Error{Code: fieldmark.CodeMalformedJSON, Err: err}
	}
	return batch.Missions, nil
}

// intake decodes one mission of a batch.
func (c *call) intake(item jsontext.Value) (mission.Request, error) {
	// A mission in a batch has the bound of a mission alone; the body of the batch has a larger one.
	if len(item) > fieldmark.MaxBody {
		e := fieldmark.Errorf(fieldmark.CodeBodyTooLarge, "a mission must have at most %d bytes", fieldmark.MaxBody)
		e.Limit = fieldmark.MaxBody
		return mission.Request{}, e
	}
	var req fieldmark.MissionRequest
	one := c.route.handler.in.schema.members["missions"].items
	if err := one.decode(item, &req, func() []fieldmark.FieldError { return check(&req) }); err != nil {
		return mission.Request{}, err
	}
	return mission.NewRequest(c.key.Account, req)
}

// itemError returns the client's error in one mission, or nil for an internal error.
// Only the caller's own errors belong in the report: details of others could reveal internals of the server.
func itemError(err error) *fieldmark.Error {
	if e, ok := errors.AsType[*fieldmark.Error](err); ok && e.Code.Status() < http.StatusInternalServerError {
		return e
	}
	return nil
}

// checkMission treats metadata of null like every other member of null: as absent.
func checkMission(req *fieldmark.MissionRequest) []fieldmark.FieldError {
	if string(req.Metadata) == "null" {
		req.Metadata = nil
	}
	return mission.Validate(req)
}

// list lists the missions of the caller's account. Administrators choose an account, or list all.
func (a *missionAPI) list(c *call) (page fieldmark.List[fieldmark.Mission], err error) {
	f, err := c.missionFilter()
	if err != nil {
		return page, err
	}
	// Integrators have an account; an administrator without one may name any, or a world.
	account := c.account()
	if account == "" {
		account = c.params.text("account")
		worlds, err := c.worlds(account)
		if err != nil {
			return page, err
		}
		if worlds {
			f.World = fieldmark.WorldTest
		}
	}
	if page, err = a.missions.List(c.r.Context(), account, f); err != nil {
		return page, err
	}
	// An empty list is [] in JSON, never null.
	if page.Data == nil {
		page.Data = []fieldmark.Mission{}
	}
	// With updatedSince the last page has a cursor too, to continue later. A link to it would make a
	// client that follows links send requests without end.
	if page.HasMore {
		c.linkNext(page.NextCursor)
	}
	return page, nil
}

// missionFilter reads the query parameters of a list of missions.
func (c *call) missionFilter() (f fieldmark.MissionFilter, err error) {
	f = fieldmark.MissionFilter{
		Source: c.params.text("source"), ExternalID: c.params.text("externalId"),
		CreatedSince: c.params.times["createdSince"], CreatedUntil: c.params.times["createdUntil"],
		UpdatedSince: c.params.times["updatedSince"],
		Assignee:     c.params.text("assignee"), Labels: c.params.values["label"],
		Limit: c.params.number("limit"), Cursor: c.params.text("cursor"),
	}
	if text := c.params.text("priority"); text != "" {
		// parseQuery has compared it with the enum.
		f.Priority, _ = fieldmark.ParsePriority(text)
	}
	for _, text := range c.params.values["status"] {
		status, err := fieldmark.ParseMissionStatus(text)
		if err != nil {
			return f, err
		}
		f.Status = append(f.Status, status)
	}
	return f, nil
}

// get reads a mission. One of another account is not found, like one that does not exist, so that
// ids cannot be probed.
func (a *missionAPI) get(c *call) error {
	id, err := idParam(fieldmark.PrefixMission)(c)
	if err != nil {
		return err
	}
	m, err := a.missions.Get(c.r.Context(), c.key.Account, id)
	if err != nil {
		return err
	}
	h := c.w.Header()
	// A client that polls revalidates with the ETag. No shared cache may store what a key can read.
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Vary", "Authorization")
	if c.notModified(missionETag(m)) {
		return nil
	}
	return c.send(http.StatusOK, m)
}

// missionRef names a mission and the versions at which it may be written.
type missionRef struct {
	account, id string // no account: any
	ifMatch     mission.Versions
}

// missionParam reads the mission of the path and the condition of If-Match.
func missionParam(c *call) (missionRef, error) {
	id, err := idParam(fieldmark.PrefixMission)(c)
	return missionRef{c.account(), id, c.ifMatch()}, err
}

// handleMission returns a handler that changes a mission by the operation that op returns.
// The version in If-Match is compared in the transaction of the change, never before it: two writers
// with the same ETag would both pass a comparison outside.
func handleMission[B any](a *missionAPI, op func(missionRef, B) (mission.Operation, error)) handler {
	return handleRaw[B, fieldmark.Mission](func(c *call) error {
		m, err := missionParam(c)
		if err != nil {
			return err
		}
		body, err := decodeBody[B](c)
		if err != nil {
			return err
		}
		change, err := op(m, body)
		if err != nil {
			return err
		}
		return a.execute(c, change, renderMission)
	})
}

// transition is the request for another status.
type transition struct {
	Status    string              `json:"status" minLength:"1" maxLength:"32"`
	Reason    *fieldmark.Reason   `json:"reason,omitempty"`
	Scheduled *fieldmark.Span     `json:"scheduled,omitempty" doc:"When the visit is planned; unchanged if missing"`
	Assignee  *fieldmark.Assignee `json:"assignee,omitempty" doc:"Who is assigned; unchanged if missing"`

	OccurredAt *fieldmark.Time `json:"occurredAt,omitempty" format:"date-time" doc:"When it happened, if sent later"`
}

// check reports what the schema cannot express. The reason and the assignee are checked by the schema alone.
func (t *transition) check() (bad []fieldmark.FieldError) {
	if _, err := fieldmark.ParseMissionStatus(t.Status); err != nil {
		bad = append(bad, fieldmark.FieldError{Pointer: "/status", Code: "enum", Detail: "must be a mission status"})
	}
	if t.Scheduled != nil {
		bad = append(bad, mission.ValidateSpan(*t.Scheduled, "/scheduled")...)
	}
	return bad
}

// moveMission returns a transition, which the transaction allows or not, by the stored status.
// Which transitions are possible depends on a status that another request may be changing, so only
// the transaction can decide.
func moveMission(m missionRef, t transition) (mission.Operation, error) {
	to, err := fieldmark.ParseMissionStatus(t.Status)
	if err != nil {
		return mission.Operation{}, err
	}
	return mission.Move(m.account, m.id, mission.Transition{
		To: to, Reason: t.Reason, Scheduled: t.Scheduled, Assignee: t.Assignee, If: m.ifMatch,
		OccurredAt: t.OccurredAt,
	}), nil
}

// cancellation may give a reason.
type cancellation struct {
	Reason *fieldmark.Reason `json:"reason,omitempty"`
}

// Canceling a canceled mission is no error: a tool that repeats the request gets the mission.
func cancelMission(m missionRef, r cancellation) (mission.Operation, error) {
	return mission.Cancel(m.account, m.id, r.Reason, m.ifMatch), nil
}

// planMission returns an operation that sets the time and the assignee; the status stays as it is.
func planMission(m missionRef, p fieldmark.MissionPlan) (mission.Operation, error) {
	return mission.Plan(m.account, m.id, p, m.ifMatch), nil
}

// mergePatchType is the media type of a merge patch (RFC 7396, section 4).
const mergePatchType = "application/merge-patch+json"

// edit applies a merge patch. The patch is applied as it was sent, because a member of null and a
// missing member differ.
func (a *missionAPI) edit(c *call) error {
	m, err := missionParam(c)
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
	// Only validated: in decoded, null and a missing member are the same.
	var decoded fieldmark.MissionPatch
	if err := c.route.handler.in.schema.decode(patch, &decoded,
		func() []fieldmark.FieldError { return mission.ValidatePatch(&decoded) }); err != nil {
		return err
	}
	return a.execute(c, mission.Patch(m.account, m.id, patch, m.ifMatch), renderMission)
}

// ifMatch returns the versions in If-Match at which a write may proceed (RFC 9110, section 13.1.1); nil means
// any version. The comparison is strong, so a weak tag matches none.
func (c *call) ifMatch() mission.Versions {
	lines := c.r.Header.Values("If-Match")
	list := strings.Join(lines, ",")
	// Several fields are one list (RFC 9110, section 5.3).
	if lines == nil || strings.TrimSpace(list) == "*" {
		return nil
	}
	// Not nil: a field that matches no version must refuse the write, and nil would allow any.
	some := mission.Versions{}
	for one := range strings.SplitSeq(list, ",") {
		one = strings.TrimSpace(one)
		version, revision, _ := strings.Cut(strings.Trim(one, `"`), ".")
		// The tag of the parsed numbers must be the one that was sent: this refuses weak tags, leading
		// zeros and every other spelling that the server never sends.
		var m fieldmark.Mission
		m.Version, _ = strconv.Atoi(version)
		n, _ := strconv.Atoi(revision)
		if m.SLA = (&fieldmark.SLA{Revision: n}); missionETag(m) == one {
			some = append(some, mission.Version{Number: m.Version, Revision: n})
		}
	}
	return some
}

// noteParams are the query parameters of a list of notes.
var noteParams = []param{
	{name: "visibility", description: "Only notes with this visibility", enum: []string{string(fieldmark.NoteInternal),
		string(fieldmark.NoteShared)}},
	{name: "limit", description: "Notes per page", lowest: 1, highest: mission.MaxNoteLimit,
		preset: mission.DefaultNoteLimit},
	{name: "cursor", description: "nextCursor of the previous page"},
}

// addNote adds a note to a mission, or returns the one that has the same externalId.
func (a *missionAPI) addNote(c *call) error {
	m, err := missionParam(c)
	if err != nil {
		return err
	}
	r, err := decodeBody[fieldmark.NoteRequest](c)
	if err != nil {
		return err
	}
	// A note always has an author: readers of a conversation must know who wrote, also for notes of tools.
	if r.Author == nil {
		r.Author = &fieldmark.NoteAuthor{ID: c.key.ID, Name: c.key.Name}
	}
	return a.execute(c, mission.AddNote(m.account, m.id, r), renderNote)
}

// renderNote returns the response to a request that added a note, or found it.
func renderNote(results []mission.Result) (idempotency.Response, error) {
	r := results[0]
	body, err := encode(r.Note)
	answer := idempotency.Response{Status: http.StatusCreated, Body: body, Mission: r.Mission.ID}
	if !r.Created {
		answer.Status, answer.Fields = http.StatusOK, map[string]string{fieldmark.HeaderDeduplicated: "true"}
	}
	return answer, err
}

// listNotes lists the notes of a mission, oldest first. Internal notes are listed too: the key is of the account that
// wrote them.
func (a *missionAPI) listNotes(c *call) (page fieldmark.List[fieldmark.Note], err error) {
	m, err := missionParam(c)
	if err != nil {
		return page, err
	}
	page, err = a.missions.Notes(c.r.Context(), m.account, m.id,
		fieldmark.NoteVisibility(strings.ToLower(c.params.text("visibility"))), c.params.text("cursor"),
		c.params.number("limit"))
	if err == nil {
		c.linkNext(page.NextCursor)
	}
	return page, err
}

// redactNote deletes the text of a note, also from stored events, and keeps that there was one. Messages that were
// delivered cannot be recalled.
func (a *missionAPI) redactNote(c *call) (fieldmark.Note, error) {
	id, err := idParam(fieldmark.PrefixMission)(c)
	if err != nil {
		return fieldmark.Note{}, err
	}
	return a.missions.RedactNote(c.r.Context(), id, c.r.PathValue("note"))
}

func missionPath(id string) string { return fieldmark.PathMissions + "/" + id }

// missionETag is the version of a mission and, if it has one, its revision after a point.
// SLA timers, payments and repeated alerts increase the revision only. So a cached mission is refreshed
// after them, but a write with the earlier tag is no conflict (see mission.Versions).
func missionETag(m fieldmark.Mission) string {
	revision := m.Revision()
	if revision == 0 {
		return strconv.Quote(strconv.Itoa(m.Version))
	}
	return fmt.Sprintf(`"%d.%d"`, m.Version, revision)
}

// paymentParams are the query parameters of the list of payments.
var paymentParams = []param{
	{name: "status", description: "Only payments with this status", enum: paymentStatuses()},
	{name: "limit", description: "Payments per page", lowest: 1, highest: mission.MaxPaymentLimit,
		preset: mission.DefaultPaymentLimit},
	{name: "cursor", description: "nextCursor of the previous page"},
	worldParam,
}

func paymentStatuses() []string {
	var names []string
	for _, s := range fieldmark.PaymentStatuses() {
		names = append(names, string(s))
	}
	return names
}

// listPayments lists the payments of all accounts.
func (a *missionAPI) listPayments(c *call) (page fieldmark.List[fieldmark.MissionPayment], err error) {
	var status fieldmark.PaymentStatus
	if text := c.params.text("status"); text != "" {
		if status, err = fieldmark.ParsePaymentStatus(text); err != nil {
			return page, err
		}
	}
	worlds, err := c.worlds("")
	if err != nil {
		return page, err
	}
	page, err = a.missions.Payments(c.r.Context(), status, worlds, c.params.text("cursor"), c.params.number("limit"))
	if err == nil {
		c.linkNext(page.NextCursor)
	}
	return page, err
}
