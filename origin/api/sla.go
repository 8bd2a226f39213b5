package api

import (
	"net/http"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/ics"
	"github.com/fieldmark/fieldmark/origin/mission"
	"github.com/fieldmark/fieldmark/origin/sla"
)

// slaAPI serves SLA policies and business hours.
type slaAPI struct{ sla *mission.SLA }

// routes manage SLA policies and business hours.
func (a *slaAPI) routes() []*route {
	const policies, calendars = fieldmark.PathAdminAPI + "sla/policies", fieldmark.PathAdminAPI + "sla/calendars"
	admins := key(fieldmark.ScopeAdmin)
	// Business hours of a policy cannot be deleted; built-in ones fall back to what the release has.
	deleteCalendar := handleParam(calendarNameParam, noResult(a.sla.DeleteCalendar))
	return []*route{
		{"GET", policies, admins, handleList(a.sla.Policies), operation{
			id: "listSLAPolicies", summary: "List the active SLA policies, one for each priority"}},
		{"PUT", policies + "/{priority}", admins, handleCall[slaPolicyRecord](a.putPolicy), operation{
			id: "putSLAPolicy", summary: "Set the SLA policy of a priority and recalculate running timers"}},
		// Only the members that are sent change.
		{"PATCH", policies + "/{priority}", admins, handleParamBody(priorityParam, a.sla.PatchPolicy),
			operation{
				id: "patchSLAPolicy", summary: "Update the SLA policy of a priority and recalculate running timers"}},
		{"DELETE", policies + "/{priority}", admins, handleParam(priorityParam,
			noResult(a.sla.ResetPolicy)), operation{
			id: "resetSLAPolicy", summary: "Reset the SLA policy of a priority to the built-in one"}},
		{"GET", calendars, admins, handleList(a.sla.Calendars), operation{
			id: "listSLACalendars", summary: "List the active business hours"}},
		{"PUT", calendars + "/{name}", admins, handleCall[slaCalendarRecord](a.putCalendar), operation{
			id: "putSLACalendar", summary: "Set business hours and recalculate running timers"}},
		{"DELETE", calendars + "/{name}", admins, deleteCalendar, operation{
			id: "deleteSLACalendar", summary: "Delete business hours; built-in ones are reset"}},
	}
}

// slaPolicyRecord is a policy in a request, without the priority, which is in the path.
// Targets are in minutes of business hours, at most a leap year of them.
type slaPolicyRecord struct {
	ResponseMinutes   int      `json:"responseMinutes" minimum:"1" maximum:"527040"`
	OnsiteMinutes     int      `json:"onsiteMinutes" minimum:"1" maximum:"527040"`
	ResolutionMinutes int      `json:"resolutionMinutes" minimum:"1" maximum:"527040"`
	Calendar          string   `json:"calendar" minLength:"1" maxLength:"64" doc:"Name of the business hours"`
	AtRiskPercent     []int    `json:"atRiskPercent,omitempty" maxItems:"10" doc:"Percent of the target, for sla.at_risk"`
	PausesSLA         []string `json:"pausesSla,omitempty" maxItems:"50" doc:"ON_HOLD reason codes that pause the SLA"`
}

// slaCalendarRecord is a business hours calendar in a request, without the name, which is in the path.
// A time zone instead of an offset, because daylight saving time moves the hours.
type slaCalendarRecord struct {
	TimeZone        string               `json:"timeZone" minLength:"1" maxLength:"64" doc:"IANA time zone of the hours"`
	FollowsLocation bool                 `json:"followsLocation,omitempty" doc:"Use the location's own time zone"`
	Hours           []fieldmark.SLAHours `json:"hours" minItems:"1" maxItems:"50"`
	Holidays        []fieldmark.Holiday  `json:"holidays,omitempty" maxItems:"1000"`
}

// putPolicy validates the policy as a whole, in the call that also checks the schema: one response names all errors.
func (a *slaAPI) putPolicy(c *call) (p fieldmark.SLAPolicy, err error) {
	priority, err := priorityParam(c)
	if err != nil {
		return p, err
	}
	var r slaPolicyRecord
	err = c.decodeChecked(&r, func() []fieldmark.FieldError {
		p = fieldmark.SLAPolicy{Priority: priority, ResponseMinutes: r.ResponseMinutes, OnsiteMinutes: r.OnsiteMinutes,
			ResolutionMinutes: r.ResolutionMinutes, Calendar: r.Calendar, AtRiskPercent: r.AtRiskPercent,
			PausesSLA: r.PausesSLA}
		return sla.ValidatePolicy(&p)
	})
	if err != nil {
		return p, err
	}
	return a.sla.PutPolicy(c.r.Context(), p)
}

// putCalendar does the same for business hours.
func (a *slaAPI) putCalendar(c *call) (calendar fieldmark.SLACalendar, err error) {
	name, err := calendarNameParam(c)
	if err != nil {
		return calendar, err
	}
	var r slaCalendarRecord
	err = c.decodeChecked(&r, func() []fieldmark.FieldError {
		calendar = fieldmark.SLACalendar{Name: name, TimeZone: r.TimeZone, FollowsLocation: r.FollowsLocation,
			Hours: r.Hours, Holidays: r.Holidays}
		if len(r.Hours) == 0 {
			return nil // the schema has rejected it already
		}
		return sla.ValidateCalendar(&calendar)
	})
	if err != nil {
		return calendar, err
	}
	return a.sla.PutCalendar(c.r.Context(), calendar)
}

// calendarAPI serves calendar feeds, and their settings to administrators.
type calendarAPI struct{ calendars *mission.Calendars }

// routes manage calendar feeds and serve them. A calendar application may add query parameters
// to the address of a feed.
func (a *calendarAPI) routes() []*route {
	const calendars = fieldmark.PathAdminAPI + "calendars"
	admins, feedID := key(fieldmark.ScopeAdmin), idParam(fieldmark.PrefixCalendar)
	return []*route{
		{"GET", calendars, admins, handleList(a.calendars.List), operation{
			id: "listCalendars", summary: "List calendar feeds"}},
		{"POST", calendars, admins, handleBody(a.calendars.Create), operation{
			id: "createCalendar", summary: "Create a calendar feed; its address is shown only once",
			status: []int{201}}},
		{"POST", calendars + "/{id}/rotate", admins, handleParam(feedID, a.calendars.Rotate), operation{
			id: "rotateCalendar", summary: "Replace the address of a calendar feed; the new one is shown only once"}},
		{"POST", calendars + "/{id}/revoke", admins, handleParam(feedID, a.calendars.Revoke), operation{
			id: "revokeCalendar", summary: "Revoke a calendar feed"}},
		// No key: calendar applications send none, so the address itself is the secret.
		{"GET", fieldmark.PathCalendar + "{file}", anyone, handleRaw[none, none](a.send), operation{
			hidden: true, anyQuery: true}},
	}
}

// calendarFile suggests a file name to browsers.
const calendarFile = `inline; filename="missions.ics"`

// send sends a calendar feed. Its address is the only credential.
func (a *calendarAPI) send(c *call) error {
	// The suffix makes applications that go by the name recognize the type.
	token, ok := strings.CutSuffix(c.r.PathValue("file"), ".ics")
	if !ok {
		return fieldmark.Errorf(fieldmark.CodeNotFound, "no calendar feed at this address")
	}
	feed, err := a.calendars.Feed(c.r.Context(), token)
	if err != nil {
		return err
	}
	// The access log names the feed by its id, because its path is a secret.
	c.w.calendar = feed.Calendar
	h := c.w.Header()
	// Shared caches must not store a feed, clients revalidate it, and proxies must not compress it: some
	// calendar applications cannot read a compressed subscription.
	h.Set("Cache-Control", "private, no-cache, no-transform")
	h.Set("Content-Disposition", calendarFile)
	if feed.Modified != nil {
		h.Set("Last-Modified", feed.Modified.Std().UTC().Format(http.TimeFormat))
	}
	// A search engine that finds a shared address must not list it, and a link in it must not send it on.
	h.Set("X-Robots-Tag", "noindex")
	h.Set("Referrer-Policy", "no-referrer")
	if c.notModified(feed.ETag) {
		return nil
	}
	return c.sendBytes(http.StatusOK, ics.Type, feed.Bytes)
}
