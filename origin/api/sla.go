package api

import (
	"net/http"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/sla"
)

// slaPolicyRecord is a policy without the priority, which stands in the path.
type slaPolicyRecord struct {
	ResponseMinutes   int      `json:"responseMinutes" minimum:"1" maximum:"527040"`
	OnsiteMinutes     int      `json:"onsiteMinutes" minimum:"1" maximum:"527040"`
	ResolutionMinutes int      `json:"resolutionMinutes" minimum:"1" maximum:"527040"`
	Calendar          string   `json:"calendar" minLength:"1" maxLength:"64" doc:"Name of the calendar that says which minutes count"`
	AtRiskPercent     []int    `json:"atRiskPercent,omitempty" maxItems:"10" doc:"Shares of the target, 1 to 99, after which sla.at_risk is told; none if unset"`
	PausesSLA         []string `json:"pausesSla,omitempty" maxItems:"50" doc:"Codes of reasons for ON_HOLD that pause onsite and resolution; none if unset"`
}

// slaCalendarRecord is a calendar without the name, which stands in the path.
type slaCalendarRecord struct {
	TimeZone        string               `json:"timeZone" minLength:"1" maxLength:"64" doc:"IANA time zone the hours are read in, where the mission's location names none"`
	FollowsLocation bool                 `json:"followsLocation,omitempty" doc:"Whether a location's own time zone goes before the calendar's"`
	Hours           []fieldmark.SLAHours `json:"hours" minItems:"1" maxItems:"50"`
	Holidays        []fieldmark.Holiday  `json:"holidays,omitempty" maxItems:"1000"`
}

// listSLAPolicies lists the policies in force.
func (s *server) listSLAPolicies(c *call) error {
	policies, err := s.origin.SLAPolicies(c.r.Context())
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, list(policies))
}

// priority reads the priority in the path.
func (c *call) priority() (fieldmark.Priority, error) {
	p, ok := fieldmark.ParsePriority(c.r.PathValue("priority"))
	if !ok {
		return "", fieldmark.Errorf(fieldmark.CodeNotFound, "no such priority")
	}
	return p, nil
}

// putSLAPolicy sets the policy of a priority.
func (s *server) putSLAPolicy(c *call) error {
	priority, err := c.priority()
	if err != nil {
		return err
	}
	var r slaPolicyRecord
	var p fieldmark.SLAPolicy
	err = c.decode(&r, func() []fieldmark.FieldError {
		p = fieldmark.SLAPolicy{Priority: priority, ResponseMinutes: r.ResponseMinutes, OnsiteMinutes: r.OnsiteMinutes,
			ResolutionMinutes: r.ResolutionMinutes, Calendar: r.Calendar, AtRiskPercent: r.AtRiskPercent, PausesSLA: r.PausesSLA}
		return sla.ValidatePolicy(&p)
	})
	if err == nil {
		p, err = s.origin.PutSLAPolicy(c.r.Context(), p)
	}
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, p)
}

// patchSLAPolicy changes members of the policy of a priority.
func (s *server) patchSLAPolicy(c *call) error {
	priority, err := c.priority()
	if err != nil {
		return err
	}
	var patch fieldmark.SLAPolicyPatch
	if err := c.decode(&patch, nil); err != nil {
		return err
	}
	p, err := s.origin.PatchSLAPolicy(c.r.Context(), priority, patch)
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, p)
}

// resetSLAPolicy puts the program's own policy back in force.
func (s *server) resetSLAPolicy(c *call) error {
	priority, err := c.priority()
	if err == nil {
		err = s.origin.ResetSLAPolicy(c.r.Context(), priority)
	}
	if err != nil {
		return err
	}
	return c.sendEmpty(http.StatusNoContent)
}

// listSLACalendars lists the calendars in force.
func (s *server) listSLACalendars(c *call) error {
	calendars, err := s.origin.SLACalendars(c.r.Context())
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, list(calendars))
}

// calendarName reads the name in the path.
func (c *call) calendarName() (string, error) {
	name, err := sla.ParseCalendarName(c.r.PathValue("name"))
	if err != nil {
		return "", fieldmark.Errorf(fieldmark.CodeNotFound, "a calendar's name has 1 to 64 of a-z, 0-9 and hyphens")
	}
	return name, nil
}

// putSLACalendar sets a calendar.
func (s *server) putSLACalendar(c *call) error {
	name, err := c.calendarName()
	if err != nil {
		return err
	}
	var r slaCalendarRecord
	var calendar fieldmark.SLACalendar
	err = c.decode(&r, func() []fieldmark.FieldError {
		calendar = fieldmark.SLACalendar{Name: name, TimeZone: r.TimeZone, FollowsLocation: r.FollowsLocation, Hours: r.Hours, Holidays: r.Holidays}
		if len(r.Hours) == 0 {
			return nil // the schema has said so already
		}
		return sla.ValidateCalendar(&calendar)
	})
	if err == nil {
		calendar, err = s.origin.PutSLACalendar(c.r.Context(), calendar)
	}
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, calendar)
}

// deleteSLACalendar takes a calendar away.
func (s *server) deleteSLACalendar(c *call) error {
	name, err := c.calendarName()
	if err == nil {
		err = s.origin.DeleteSLACalendar(c.r.Context(), name)
	}
	if err != nil {
		return err
	}
	return c.sendEmpty(http.StatusNoContent)
}
