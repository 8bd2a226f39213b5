package fieldmark

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// SLAMetric names a target of a mission.
type SLAMetric string

// The metrics, and the period each one measures.
const (
	SLAResponse   SLAMetric = "response"   // created to DISPATCHED
	SLAOnsite     SLAMetric = "onsite"     // the later of created and window.earliest to IN_PROGRESS
	SLAResolution SLAMetric = "resolution" // the same start to COMPLETED
)

// SLAState is the state of an SLA clock.
type SLAState string

// A clock is running or paused until its target is met or it is canceled. A
// breached clock stays BREACHED, even when it stops later.
const (
	SLARunning  SLAState = "RUNNING"
	SLAPaused   SLAState = "PAUSED"
	SLAMet      SLAState = "MET"
	SLABreached SLAState = "BREACHED"
	SLACanceled SLAState = "CANCELED"
)

// SLA is the state of the service level agreement of a mission.
type SLA struct {
	Policy string `json:"policy"` // the priority whose policy applies
	// number of changes of the clocks that did not change the version of the mission
	Revision int        `json:"revision"`
	Metrics  []SLAClock `json:"metrics"`
}

// SLAClock is the state of one metric. Minutes are working minutes.
type SLAClock struct {
	Name          SLAMetric `json:"name"`
	State         SLAState  `json:"state"`
	Cycle         int       `json:"cycle"` // 1, incremented each time the mission is reopened
	TargetMinutes int       `json:"targetMinutes"`
	StartedAt     Time      `json:"startedAt"`
	DueAt         *Time     `json:"dueAt"`    // ignores a pause in progress; null if not within ten years
	PausedAt      *Time     `json:"pausedAt"` // start of the pause in progress
	StoppedAt     *Time     `json:"stoppedAt"`
	PausedMinutes int       `json:"pausedMinutes"` // of completed pauses
	BreachedAt    *Time     `json:"breachedAt"`
}

// SLAPolicy holds the targets for missions of one priority.
type SLAPolicy struct {
	Priority          Priority `json:"priority"`
	ResponseMinutes   int      `json:"responseMinutes" minimum:"1" maximum:"527040"`
	OnsiteMinutes     int      `json:"onsiteMinutes" minimum:"1" maximum:"527040"`
	ResolutionMinutes int      `json:"resolutionMinutes" minimum:"1" maximum:"527040"`
	Calendar          string   `json:"calendar" minLength:"1" maxLength:"64" doc:"Name of the business hours"`
	AtRiskPercent     []int    `json:"atRiskPercent" maxItems:"10" doc:"Percentages of the target, 1 to 99, at which sla.at_risk is sent"`
	PausesSLA         []string `json:"pausesSla" maxItems:"50" doc:"Reason codes of ON_HOLD that pause onsite and resolution"`
}

// SLAPolicyPatch changes the members it contains. A list replaces the previous
// list; an empty list removes all entries.
type SLAPolicyPatch struct {
	ResponseMinutes   *int     `json:"responseMinutes,omitempty" minimum:"1" maximum:"527040"`
	OnsiteMinutes     *int     `json:"onsiteMinutes,omitempty" minimum:"1" maximum:"527040"`
	ResolutionMinutes *int     `json:"resolutionMinutes,omitempty" minimum:"1" maximum:"527040"`
	Calendar          *string  `json:"calendar,omitempty" minLength:"1" maxLength:"64" doc:"Name of the business hours"`
	AtRiskPercent     []int    `json:"atRiskPercent,omitzero" maxItems:"10" doc:"Percentages of the target, 1 to 99, at which sla.at_risk is sent"`
	PausesSLA         []string `json:"pausesSla,omitzero" maxItems:"50" doc:"Reason codes of ON_HOLD that pause onsite and resolution"`
}

// Well-known reasons for ON_HOLD. Other codes are accepted; a code pauses a clock
// only if the policy lists it.
const (
	HoldWaitingCustomer = "WAITING_CUSTOMER"
	HoldSiteAccess      = "SITE_ACCESS"
	HoldWeather         = "WEATHER"
	HoldWaitingParts    = "WAITING_PARTS"
	HoldNoTechnician    = "NO_TECHNICIAN"
)

// Causes of a changed target.
const (
	SLACausePriority = "priority"
	SLACauseWindow   = "window"
	SLACausePolicy   = "policy"
	SLACauseCalendar = "calendar" // its hours, holidays or time zone
)

// SLASubject identifies the mission and the clock in every sla event.
type SLASubject struct {
	ID         string        `json:"id"`
	ExternalID string        `json:"externalId"`
	Source     string        `json:"source"`
	Priority   Priority      `json:"priority"`
	Status     MissionStatus `json:"status"`
	Metric     SLAMetric     `json:"metric"`
	Policy     string        `json:"policy"`
	Cycle      int           `json:"cycle"`
}

// SLAAtRiskEvent is the data of sla.at_risk: a running clock passed a threshold.
type SLAAtRiskEvent struct {
	SLASubject
	ThresholdPercent int   `json:"thresholdPercent"`
	TargetMinutes    int   `json:"targetMinutes"`
	ElapsedMinutes   int   `json:"elapsedMinutes"`
	RemainingMinutes int   `json:"remainingMinutes"`
	DueAt            *Time `json:"dueAt"`
}

// SLABreachedEvent is the data of sla.breached: the due time passed.
type SLABreachedEvent struct {
	SLASubject
	TargetMinutes int   `json:"targetMinutes"`
	DueAt         *Time `json:"dueAt"`
	BreachedAt    *Time `json:"breachedAt"`
}

// SLAMetEvent is the data of sla.met: the target was reached in time.
type SLAMetEvent struct {
	SLASubject
	DueAt          *Time `json:"dueAt"`
	StoppedAt      *Time `json:"stoppedAt"`
	ElapsedMinutes int   `json:"elapsedMinutes"`
}

// SLAPausedEvent is the data of sla.paused.
type SLAPausedEvent struct {
	SLASubject
	Reason   string `json:"reason"`
	PausedAt *Time  `json:"pausedAt"`
}

// SLAResumedEvent is the data of sla.resumed: the clock runs again with a new due time.
type SLAResumedEvent struct {
	SLASubject
	ResumedAt     Time  `json:"resumedAt"`
	PausedMinutes int   `json:"pausedMinutes"` // of all completed pauses
	DueAt         *Time `json:"dueAt"`
}

// SLAUpdatedEvent is the data of sla.updated: the target or the due time changed.
type SLAUpdatedEvent struct {
	SLASubject
	PreviousDueAt *Time  `json:"previousDueAt"`
	DueAt         *Time  `json:"dueAt"`
	TargetMinutes int    `json:"targetMinutes"`
	Cause         string `json:"cause"` // priority, window, policy or calendar
}

// Calendars of a new installation.
const (
	CalendarAlways   = "24x7"
	CalendarBusiness = "business"
)

// SLACalendar defines working time: hours by day of the week, except on holidays,
// in the local time of one zone.
type SLACalendar struct {
	Name            string     `json:"name"`
	TimeZone        string     `json:"timeZone" minLength:"1" maxLength:"64" doc:"IANA time zone of the hours"`
	FollowsLocation bool       `json:"followsLocation" doc:"Use the location's own time zone if it has one"`
	Hours           []SLAHours `json:"hours" minItems:"1" maxItems:"50"`
	Holidays        []Holiday  `json:"holidays" maxItems:"1000"`
}

// SLAHours is a span of working time on some days of the week. Hours that pass
// midnight are written as two entries.
type SLAHours struct {
	Days []Weekday `json:"days" minItems:"1" maxItems:"7" enum:"MON,TUE,WED,THU,FRI,SAT,SUN"`
	From DayTime   `json:"from" pattern:"^([01][0-9]|2[0-4]):[0-5][0-9]$" patternDescription:"a time of day, as in 08:00"`
	To   DayTime   `json:"to" pattern:"^([01][0-9]|2[0-4]):[0-5][0-9]$" patternDescription:"a time of day, up to 24:00"`
}

// Weekday is a day of the week: MON to SUN.
type Weekday string

// DayTime is a time of day in minutes after midnight. Its text form is 08:00;
// 24:00 is the end of the day.
type DayTime int

// MarshalText implements encoding.TextMarshaler.
func (d DayTime) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%02d:%02d", d/60, d%60), nil
}

// UnmarshalText accepts two digits, a colon and two digits, up to 24:00.
func (d *DayTime) UnmarshalText(b []byte) error {
	h, m, ok := twoAndTwo(string(b), ":")
	if !ok || m > 59 || h*60+m > 24*60 {
		return fmt.Errorf("not a time of day: it is written 08:00, up to 24:00")
	}
	*d = DayTime(h*60 + m)
	return nil
}

// twoAndTwo parses two numbers of two digits each.
func twoAndTwo(s, between string) (a, b int, ok bool) {
	if len(s) != 4+len(between) || s[2:2+len(between)] != between ||
		strings.Trim(s[:2]+s[2+len(between):], "0123456789") != "" {
		return 0, 0, false
	}
	two := func(s string) int { return int(s[0]-'0')*10 + int(s[1]-'0') }
	return two(s), two(s[2+len(between):]), true
}

// Holiday is a day without working time.
type Holiday struct {
	Date HolidayDate `json:"date" minLength:"5" maxLength:"10" doc:"A day, as in 2026-12-25, or one of every year, as in 12-25"`
	Name string      `json:"name,omitempty" maxLength:"100"`
}

var errHolidayDate = errors.New("not a date: write 2026-12-25, or 12-25 for every year")

// HolidayDate is a day of one year, or of every year if Year is 0. February 29 of
// every year is a holiday in leap years only.
type HolidayDate struct {
	Year  int
	Month time.Month
	Day   int
}

// MarshalText implements encoding.TextMarshaler.
func (d HolidayDate) MarshalText() ([]byte, error) {
	if d.Year == 0 {
		return fmt.Appendf(nil, "%02d-%02d", d.Month, d.Day), nil
	}
	return fmt.Appendf(nil, "%04d-%02d-%02d", d.Year, d.Month, d.Day), nil
}

// UnmarshalText accepts an existing day in the form 2026-12-25 or 12-25.
func (d *HolidayDate) UnmarshalText(b []byte) error {
	year, rest := 0, string(b)
	if len(rest) == len("2026-12-25") && rest[4] == '-' {
		hundreds, ones, ok := twoAndTwo(rest[:4], "")
		if year = hundreds*100 + ones; !ok || year == 0 {
			return errHolidayDate
		}
		rest = rest[5:]
	}
	month, day, ok := twoAndTwo(rest, "-")
	leap := year
	if leap == 0 {
		leap = 2000 // a leap year accepts February 29
	}
	at := time.Date(leap, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if !ok || at.Month() != time.Month(month) || at.Day() != day || month == 0 {
		return errHolidayDate
	}
	*d = HolidayDate{Year: year, Month: time.Month(month), Day: day}
	return nil
}
