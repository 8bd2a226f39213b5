package api

import (
	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/mission"
	"github.com/fieldmark/fieldmark/origin/sla"
)

// slaAPI serves SLA policies and business hours.
type slaAPI struct{ sla *mission.SLA }

// slaPolicyRecord is a policy in a request, without the priority, which is in the path.
type slaPolicyRecord struct {
	ResponseMinutes   int      `json:"responseMinutes" minimum:"1" maximum:"527040"`
	OnsiteMinutes     int      `json:"onsiteMinutes" minimum:"1" maximum:"527040"`
	ResolutionMinutes int      `json:"resolutionMinutes" minimum:"1" maximum:"527040"`
	Calendar          string   `json:"calendar" minLength:"1" maxLength:"64" doc:"Name of the business hours"`
	AtRiskPercent     []int    `json:"atRiskPercent,omitempty" maxItems:"10" doc:"Percent of the target, for sla.at_risk"`
	PausesSLA         []string `json:"pausesSla,omitempty" maxItems:"50" doc:"ON_HOLD reason codes that pause the SLA"`
}

// slaCalendarRecord is a business hours calendar in a request, without the name, which is in the path.
type slaCalendarRecord struct {
	TimeZone        string               `json:"timeZone" minLength:"1" maxLength:"64" doc:"IANA time zone of the hours"`
	FollowsLocation bool                 `json:"followsLocation,omitempty" doc:"Use the location's own time zone"`
	Hours           []fieldmark.SLAHours `json:"hours" minItems:"1" maxItems:"50"`
	Holidays        []fieldmark.Holiday  `json:"holidays,omitempty" maxItems:"1000"`
}

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
