package fieldmark

import (
	"fmt"
	"slices"
	"time"
)

// SLAMetric is something a mission is to reach in time.
type SLAMetric string

// The metrics: from when to when each counts.
const (
	SLAResponse   SLAMetric = "response"   // created to DISPATCHED
	SLAOnsite     SLAMetric = "onsite"     // the later of created and window.earliest to IN_PROGRESS
	SLAResolution SLAMetric = "resolution" // the same start to COMPLETED
)

// SLAState is where a clock stands.
type SLAState string

// A clock runs or is paused until it is met or canceled. One that was breached
// stays BREACHED, also when it stops late.
const (
	SLARunning  SLAState = "RUNNING"
	SLAPaused   SLAState = "PAUSED"
	SLAMet      SLAState = "MET"
	SLABreached SLAState = "BREACHED"
	SLACanceled SLAState = "CANCELED"
)

// SLA is how a mission stands to what was promised of it.
type SLA struct {
	Policy   string     `json:"policy"`   // the priority whose policy is in force
	Revision int        `json:"revision"` // counts changes of the clocks that were none of the mission and have no version
	Metrics  []SLAClock `json:"metrics"`
}

// SLAClock counts the working time of one metric. Minutes are working minutes.
type SLAClock struct {
	Name          SLAMetric `json:"name"`
	State         SLAState  `json:"state"`
	Cycle         int       `json:"cycle"` // 1, and one more each time the mission is reopened
	TargetMinutes int       `json:"targetMinutes"`
	StartedAt     Time      `json:"startedAt"`
	DueAt         *Time     `json:"dueAt"`    // as if a pause that lasts had not begun; null if there is no such time within ten years
	PausedAt      *Time     `json:"pausedAt"` // since when it is paused
	StoppedAt     *Time     `json:"stoppedAt"`
	PausedMinutes int       `json:"pausedMinutes"` // of pauses that are over
	BreachedAt    *Time     `json:"breachedAt"`
}

// SLATimer is a clock and what it takes to go on counting: the record keeps it,
// the wire shows the clock alone.
type SLATimer struct {
	SLAClock
	Pauses []SLAPause `json:"pauses,omitempty"`
	Warned int        `json:"warned,omitempty"` // the highest threshold told of, in percent
	Turn   int        `json:"turn,omitempty"`   // counts pauses, resumptions and changes of the target
}

// SLAPause is a time that did not count, because the mission was on hold.
type SLAPause struct {
	From Time `json:"from"`
	To   Time `json:"to"`
}

// MaxSLAPauses bounds the pauses of one clock; one that had as many runs through
// further holds. It keeps a row of the record small, and no crew comes back
// after a thousand interruptions.
const MaxSLAPauses = 1000

// SLAPolicy is what is promised of missions of one priority.
type SLAPolicy struct {
	Priority          Priority `json:"priority"`
	ResponseMinutes   int      `json:"responseMinutes" minimum:"1" maximum:"527040"`
	OnsiteMinutes     int      `json:"onsiteMinutes" minimum:"1" maximum:"527040"`
	ResolutionMinutes int      `json:"resolutionMinutes" minimum:"1" maximum:"527040"`
	Calendar          string   `json:"calendar" minLength:"1" maxLength:"64" doc:"Name of the calendar that says which minutes count"`
	AtRiskPercent     []int    `json:"atRiskPercent" maxItems:"10" doc:"Shares of the target, 1 to 99, after which sla.at_risk is told"`
	PausesSLA         []string `json:"pausesSla" maxItems:"50" doc:"Codes of reasons for ON_HOLD that pause onsite and resolution"`
}

// SLAPolicyPatch changes what it names of a policy. A list is replaced whole; an
// empty one means none.
type SLAPolicyPatch struct {
	ResponseMinutes   *int     `json:"responseMinutes,omitempty" minimum:"1" maximum:"527040"`
	OnsiteMinutes     *int     `json:"onsiteMinutes,omitempty" minimum:"1" maximum:"527040"`
	ResolutionMinutes *int     `json:"resolutionMinutes,omitempty" minimum:"1" maximum:"527040"`
	Calendar          *string  `json:"calendar,omitempty" minLength:"1" maxLength:"64" doc:"Name of the calendar that says which minutes count"`
	AtRiskPercent     []int    `json:"atRiskPercent,omitzero" maxItems:"10" doc:"Shares of the target, 1 to 99, after which sla.at_risk is emitted"`
	PausesSLA         []string `json:"pausesSla,omitzero" maxItems:"50" doc:"Codes of reasons for ON_HOLD that pause onsite and resolution"`
}

// Apply returns the policy as the patch wants it.
func (p SLAPolicyPatch) Apply(to SLAPolicy) SLAPolicy {
	for _, m := range []struct{ to, from *int }{{&to.ResponseMinutes, p.ResponseMinutes}, {&to.OnsiteMinutes, p.OnsiteMinutes}, {&to.ResolutionMinutes, p.ResolutionMinutes}} {
		if m.from != nil {
			*m.to = *m.from
		}
	}
	if p.Calendar != nil {
		to.Calendar = *p.Calendar
	}
	if p.AtRiskPercent != nil {
		to.AtRiskPercent = p.AtRiskPercent
	}
	if p.PausesSLA != nil {
		to.PausesSLA = p.PausesSLA
	}
	return to
}

// Target returns the working time a metric has.
func (p *SLAPolicy) Target(m SLAMetric) time.Duration {
	return time.Duration(p.minutes(m)) * time.Minute
}

func (p *SLAPolicy) minutes(m SLAMetric) int {
	switch m {
	case SLAResponse:
		return p.ResponseMinutes
	case SLAOnsite:
		return p.OnsiteMinutes
	}
	return p.ResolutionMinutes
}

// Check returns every complaint about a policy and puts it into its normal form:
// thresholds and reasons sorted, without repeats.
func (p *SLAPolicy) Check() []FieldError {
	var bad []FieldError
	complain := func(pointer, code, detail string) {
		bad = append(bad, FieldError{Pointer: pointer, Code: code, Detail: detail})
	}
	for _, f := range []struct {
		pointer string
		minutes int
	}{{"/responseMinutes", p.ResponseMinutes}, {"/onsiteMinutes", p.OnsiteMinutes}, {"/resolutionMinutes", p.ResolutionMinutes}} {
		if f.minutes < 1 || f.minutes > MaxTargetMinutes {
			complain(f.pointer, "range", fmt.Sprintf("must be from 1 to %d minutes", MaxTargetMinutes))
		}
	}
	if _, err := ParseCalendarName(p.Calendar); err != nil {
		complain("/calendar", "pattern", "must be the name of a calendar")
	}
	for i, percent := range p.AtRiskPercent {
		if percent < 1 || percent > 99 {
			complain(fmt.Sprintf("/atRiskPercent/%d", i), "range", "must be from 1 to 99")
		}
	}
	for i, code := range p.PausesSLA {
		if !validReasonCode(code) {
			complain(fmt.Sprintf("/pausesSla/%d", i), "pattern", "must be 1 to 64 upper-case letters, digits and underscores")
		}
	}
	p.AtRiskPercent = normal(p.AtRiskPercent)
	p.PausesSLA = normal(p.PausesSLA)
	return bad
}

func validReasonCode(code string) bool {
	for _, c := range []byte(code) {
		if (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return code != "" && len(code) <= 64
}

// normal sorts a list and drops repeats; a missing list is an empty one.
func normal[T int | string](list []T) []T {
	sorted := slices.Compact(slices.Sorted(slices.Values(list)))
	if sorted == nil {
		return []T{}
	}
	return sorted
}

// Reasons for ON_HOLD that are known; others are as good, and pause nothing
// unless a policy names them.
const (
	HoldWaitingCustomer = "WAITING_CUSTOMER"
	HoldSiteAccess      = "SITE_ACCESS"
	HoldWeather         = "WEATHER"
	HoldWaitingParts    = "WAITING_PARTS"
	HoldNoTechnician    = "NO_TECHNICIAN"
)

// DefaultPolicies are those that are in force until an operator puts others in
// their place.
func DefaultPolicies() []SLAPolicy {
	const hour = 60
	make := func(p Priority, response, onsite, resolution int, calendar string) SLAPolicy {
		return SLAPolicy{Priority: p, ResponseMinutes: response, OnsiteMinutes: onsite, ResolutionMinutes: resolution,
			Calendar: calendar, AtRiskPercent: []int{75}, PausesSLA: []string{HoldSiteAccess, HoldWaitingCustomer, HoldWeather}}
	}
	return []SLAPolicy{
		make(PriorityCritical, 15, 4*hour, 8*hour, CalendarAlways),
		make(PriorityHigh, 1*hour, 8*hour, 24*hour, CalendarAlways),
		make(PriorityMedium, 4*hour, 16*hour, 24*hour, CalendarBusiness),
		make(PriorityLow, 8*hour, 40*hour, 80*hour, CalendarBusiness),
	}
}

// SLATerms is what a mission's clocks go by.
type SLATerms struct {
	Policy SLAPolicy
	Clock  WorkingTime
}

// What changed the target of a running clock.
const (
	SLACausePriority = "priority"
	SLACauseWindow   = "window"
	SLACausePolicy   = "policy"
	SLACauseCalendar = "calendar" // its hours, holidays or time zone
)

// SLASubject is what every event of a clock says of its mission.
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

// SLAAtRisk is the data of sla.at_risk: a threshold passed and the clock runs.
type SLAAtRisk struct {
	SLASubject
	ThresholdPercent int   `json:"thresholdPercent"`
	TargetMinutes    int   `json:"targetMinutes"`
	ElapsedMinutes   int   `json:"elapsedMinutes"`
	RemainingMinutes int   `json:"remainingMinutes"`
	DueAt            *Time `json:"dueAt"`
}

// SLABreach is the data of sla.breached: the clock ran past its due time.
type SLABreach struct {
	SLASubject
	TargetMinutes int   `json:"targetMinutes"`
	DueAt         *Time `json:"dueAt"`
	BreachedAt    *Time `json:"breachedAt"`
}

// SLAMeet is the data of sla.met: the clock was stopped in time.
type SLAMeet struct {
	SLASubject
	DueAt          *Time `json:"dueAt"`
	StoppedAt      *Time `json:"stoppedAt"`
	ElapsedMinutes int   `json:"elapsedMinutes"`
}

// SLAHold is the data of sla.paused.
type SLAHold struct {
	SLASubject
	Reason   string `json:"reason"`
	PausedAt *Time  `json:"pausedAt"`
}

// SLAResumption is the data of sla.resumed: the clock goes on, with a new due time.
type SLAResumption struct {
	SLASubject
	ResumedAt     Time  `json:"resumedAt"`
	PausedMinutes int   `json:"pausedMinutes"` // of all pauses of the clock
	DueAt         *Time `json:"dueAt"`
}

// SLAUpdate is the data of sla.updated: the target moved.
type SLAUpdate struct {
	SLASubject
	PreviousDueAt *Time  `json:"previousDueAt"`
	DueAt         *Time  `json:"dueAt"`
	TargetMinutes int    `json:"targetMinutes"`
	Cause         string `json:"cause"` // priority, window, policy or calendar
}

// SLAChange is something that happened to a clock and is to be told once: there
// is one of a kind and turn in a cycle.
type SLAChange struct {
	Type   EventType
	Metric SLAMetric
	Cycle  int
	Turn   int // percent of sla.at_risk, 0 of what happens once, else the clock's turn
	Data   any
}
