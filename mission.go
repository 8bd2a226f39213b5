package fieldmark

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// MissionStatus is where a mission stands.
type MissionStatus string

// The states of a mission; missionMoves says which may follow which.
const (
	MissionNew              MissionStatus = "NEW"
	MissionScheduled        MissionStatus = "SCHEDULED"
	MissionDispatched       MissionStatus = "DISPATCHED"
	MissionEnRoute          MissionStatus = "EN_ROUTE"
	MissionInProgress       MissionStatus = "IN_PROGRESS"
	MissionOnHold           MissionStatus = "ON_HOLD"
	MissionCompleted        MissionStatus = "COMPLETED"
	MissionUnableToComplete MissionStatus = "UNABLE_TO_COMPLETE"
	MissionClosed           MissionStatus = "CLOSED"
	MissionCanceled         MissionStatus = "CANCELED"
)

// OpenStatuses are those in which somebody still has to do something about a
// mission.
func OpenStatuses() []MissionStatus {
	return []MissionStatus{MissionNew, MissionScheduled, MissionDispatched, MissionEnRoute, MissionInProgress, MissionOnHold, MissionUnableToComplete}
}

// ReopenWithin is how long a completed mission may go back to work.
const ReopenWithin = 7 * 24 * time.Hour

// missionMoves is the whole life of a mission.
var missionMoves = map[MissionStatus][]MissionStatus{
	MissionNew:              {MissionScheduled, MissionDispatched, MissionOnHold, MissionCanceled},
	MissionScheduled:        {MissionNew, MissionDispatched, MissionOnHold, MissionCanceled},
	MissionDispatched:       {MissionScheduled, MissionEnRoute, MissionInProgress, MissionOnHold, MissionCanceled},
	MissionEnRoute:          {MissionDispatched, MissionInProgress, MissionOnHold, MissionCanceled},
	MissionInProgress:       {MissionOnHold, MissionCompleted, MissionUnableToComplete, MissionCanceled},
	MissionOnHold:           {MissionScheduled, MissionCompleted, MissionUnableToComplete, MissionCanceled},
	MissionCompleted:        {MissionInProgress, MissionClosed},
	MissionUnableToComplete: {MissionScheduled, MissionClosed, MissionCanceled},
	MissionClosed:           {},
	MissionCanceled:         {},
}

// ParseMissionStatus accepts a status in any case.
func ParseMissionStatus(s string) (MissionStatus, error) {
	st := MissionStatus(strings.ToUpper(s))
	if _, ok := missionMoves[st]; !ok {
		return "", Errorf(CodeInvalidParameter, "unknown mission status")
	}
	return st, nil
}

// NextStatuses lists where a mission may go from a status; held is the status
// it left when it was put on hold, to which it may return.
func NextStatuses(from, held MissionStatus) []MissionStatus {
	next := slices.Clone(missionMoves[from])
	if from == MissionOnHold && held != "" && !slices.Contains(next, held) {
		next = append(next, held)
	}
	return next
}

// CheckMove says whether a mission may go from one status to another. The error
// is CodeInvalidTransition and lists what is allowed.
func CheckMove(from, to, held MissionStatus) error {
	next := NextStatuses(from, held)
	if slices.Contains(next, to) {
		return nil
	}
	return refuseMove(from, to, next, Errorf(CodeInvalidTransition, "a mission that is %s cannot become %s", from, to))
}

// refuseMove adds to e what was asked for and what would have been allowed.
func refuseMove(from, to MissionStatus, allowed []MissionStatus, e *Error) *Error {
	e.From, e.To, e.Allowed = from, to, make([]string, len(allowed))
	for i, s := range allowed {
		e.Allowed[i] = string(s)
	}
	return e
}

// CheckReopen says whether a mission that was completed may go back to work
// now; the other moves are no matter of time.
func CheckReopen(completed *Time, now time.Time) error {
	if completed == nil || now.Sub(completed.Std()) <= ReopenWithin {
		return nil
	}
	return refuseMove(MissionCompleted, MissionInProgress, []MissionStatus{MissionClosed},
		Errorf(CodeInvalidTransition, "a mission can be reopened for 7 days after it was completed"))
}

// MoveEvent names the event of a legal move; held is as for CheckMove. Going
// back to what a hold interrupted is one event, whatever that was.
func MoveEvent(from, to, held MissionStatus) EventType {
	if from == MissionOnHold && to == held {
		return EventMissionResumed
	}
	switch to {
	case MissionNew:
		return EventMissionUnscheduled
	case MissionScheduled:
		return EventMissionScheduled
	case MissionDispatched:
		return EventMissionDispatched
	case MissionEnRoute:
		return EventMissionEnRoute
	case MissionOnHold:
		return EventMissionOnHold
	case MissionCompleted:
		return EventMissionCompleted
	case MissionUnableToComplete:
		return EventMissionUnableToComplete
	case MissionClosed:
		return EventMissionClosed
	case MissionCanceled:
		return EventMissionCanceled
	}
	if from == MissionCompleted {
		return EventMissionReopened
	}
	return EventMissionStarted
}

// PathToCompleted lists the moves an operator's "complete" takes from a status,
// ending in COMPLETED; it is nil where there is no way.
func PathToCompleted(from MissionStatus) []MissionStatus {
	switch from {
	case MissionNew, MissionScheduled:
		return []MissionStatus{MissionDispatched, MissionInProgress, MissionCompleted}
	case MissionDispatched, MissionEnRoute:
		return []MissionStatus{MissionInProgress, MissionCompleted}
	case MissionInProgress, MissionOnHold:
		return []MissionStatus{MissionCompleted}
	}
	return nil
}

// Priority says how urgent a mission is.
type Priority string

// The priorities, from least to most urgent.
const (
	PriorityLow      Priority = "LOW"
	PriorityMedium   Priority = "MEDIUM"
	PriorityHigh     Priority = "HIGH"
	PriorityCritical Priority = "CRITICAL"
)

// priorityNames also takes the words other tools use.
var priorityNames = map[string]Priority{
	"":    PriorityMedium,
	"LOW": PriorityLow, "MEDIUM": PriorityMedium, "HIGH": PriorityHigh, "CRITICAL": PriorityCritical,
	"NORMAL": PriorityMedium, "URGENT": PriorityCritical,
	"P1": PriorityCritical, "P2": PriorityHigh, "P3": PriorityMedium, "P4": PriorityLow, "P5": PriorityLow,
}

// PriorityNames lists the priorities and then their aliases, as ParsePriority
// accepts them in any case.
func PriorityNames() []string {
	return []string{"LOW", "MEDIUM", "HIGH", "CRITICAL", "NORMAL", "URGENT", "P1", "P2", "P3", "P4", "P5"}
}

// ParsePriority accepts a priority or a common alias in any case; an empty text
// is MEDIUM.
func ParsePriority(s string) (Priority, bool) {
	p, ok := priorityNames[strings.ToUpper(s)]
	return p, ok
}

// Above reports whether p is more urgent than q; the empty priority is below all.
func (p Priority) Above(q Priority) bool {
	order := []Priority{PriorityLow, PriorityMedium, PriorityHigh, PriorityCritical}
	return slices.Index(order, p) > slices.Index(order, q)
}

// Reason says in a word and a sentence why a mission stands where it stands.
type Reason struct {
	Code string `json:"code" maxLength:"64" pattern:"^[A-Za-z0-9_]+$" patternDescription:"letters, digits and underscores; it is kept in upper case"`
	Text string `json:"text,omitempty" maxLength:"500"`
}

// MaxReasonText bounds the text of a reason, in code points.
const MaxReasonText = 500

// Address is a postal address.
type Address struct {
	Line1      string `json:"line1,omitempty" maxLength:"200"`
	Line2      string `json:"line2,omitempty" maxLength:"200"`
	PostalCode string `json:"postalCode,omitempty" maxLength:"20"`
	City       string `json:"city,omitempty" maxLength:"100"`
	Region     string `json:"region,omitempty" maxLength:"100"`
	Country    string `json:"country,omitempty" pattern:"^[A-Z]{2}$" patternDescription:"ISO 3166-1 alpha-2 code"`
}

// Geo is a point on the earth, in degrees (WGS 84).
type Geo struct {
	Lat float64 `json:"lat" minimum:"-90" maximum:"90"`
	Lng float64 `json:"lng" minimum:"-180" maximum:"180"`
}

// Location is where the work is.
type Location struct {
	Name        string   `json:"name,omitempty" maxLength:"200"`
	Address     *Address `json:"address,omitempty"`
	Geo         *Geo     `json:"geo,omitempty"`
	TimeZone    string   `json:"timeZone,omitempty" maxLength:"64" doc:"IANA time zone name"`
	AccessNotes string   `json:"accessNotes,omitempty" maxLength:"2000"`
}

// Contact is who to ask on site. It is personal data: it never enters a log.
type Contact struct {
	Name  string `json:"name,omitempty" maxLength:"120"`
	Phone string `json:"phone,omitempty" maxLength:"32"`
	Email string `json:"email,omitempty" maxLength:"254" format:"email"`
}

// MaxWindow bounds the span between a window's ends.
const MaxWindow = 366 * 24 * time.Hour

// Window is when the requester can be visited.
type Window struct {
	Earliest Time `json:"earliest" format:"date-time"`
	Latest   Time `json:"latest" format:"date-time"`
}

// Asset is a thing the work is about.
type Asset struct {
	ID     string `json:"id" minLength:"1" maxLength:"128"`
	Name   string `json:"name,omitempty" maxLength:"200"`
	Serial string `json:"serial,omitempty" maxLength:"128"`
}

// Link is an address to show beside a mission. It is never fetched.
type Link struct {
	Href string `json:"href" maxLength:"2048" pattern:"^https://" patternDescription:"an https address"`
	Text string `json:"text,omitempty" maxLength:"120"`
}

// MissionRequest is what a client may say of a new mission. Lengths are in
// Unicode code points.
type MissionRequest struct {
	ExternalID       string            `json:"externalId" minLength:"1" maxLength:"255" doc:"The client's own id; with source it names the mission for ever"`
	Source           string            `json:"source" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9][A-Za-z0-9 ._:/-]*$" doc:"The sending system; compared without regard to case"`
	Title            string            `json:"title" minLength:"1" maxLength:"200"`
	Priority         Priority          `json:"priority,omitempty" maxLength:"16" doc:"LOW, MEDIUM (default), HIGH or CRITICAL; NORMAL, URGENT and P1 to P5 are understood"`
	Description      string            `json:"description,omitempty" maxLength:"10000" doc:"Plain text"`
	Category         string            `json:"category,omitempty" maxLength:"64"`
	Location         *Location         `json:"location,omitempty"`
	Contact          *Contact          `json:"contact,omitempty"`
	Window           *Window           `json:"window,omitempty"`
	EstimatedMinutes int               `json:"estimatedMinutes,omitempty" minimum:"5" maximum:"14400"`
	Skills           []string          `json:"skills,omitempty" maxItems:"20"`
	Assets           []Asset           `json:"assets,omitempty" maxItems:"50"`
	Links            []Link            `json:"links,omitempty" maxItems:"10"`
	Labels           map[string]string `json:"labels,omitempty"`
	Payment          *PaymentRequest   `json:"payment,omitempty"`
	Metadata         json.RawMessage   `json:"metadata,omitempty" doc:"A JSON object of at most 16 KiB, sent back as it came"`
}

// Span is when somebody is to be on site.
type Span struct {
	Start Time `json:"start" format:"date-time"`
	End   Time `json:"end" format:"date-time"`
}

// Assignee is who is to go, by an id of the dispatching system's own.
type Assignee struct {
	ID   string `json:"id" minLength:"1" maxLength:"128"`
	Name string `json:"name,omitempty" maxLength:"200"`
}

// Occurrences counts how often alerts told of what a mission is about.
type Occurrences struct {
	Count       int   `json:"count" minimum:"1"`
	FirstSeenAt Time  `json:"firstSeenAt" format:"date-time"`
	LastSeenAt  Time  `json:"lastSeenAt" format:"date-time"`
	ResolvedAt  *Time `json:"resolvedAt"` // when its source called it over; null while it fires
}

// Mission is one piece of field work.
type Mission struct {
	ID string `json:"id"` // msn_…
	MissionRequest
	Scheduled    *Span         `json:"scheduled"`   // set by planning
	Assignee     *Assignee     `json:"assignee"`    // set by planning
	Occurrences  *Occurrences  `json:"occurrences"` // null unless an alert opened it
	Status       MissionStatus `json:"status"`
	StatusReason *Reason       `json:"statusReason"`
	SLA          *SLA          `json:"sla"`     // null if it was opened before there were any
	Payment      *Payment      `json:"payment"` // null if none was spoken of
	CreatedAt    Time          `json:"createdAt"`
	UpdatedAt    Time          `json:"updatedAt"`
	ScheduledAt  *Time         `json:"scheduledAt"`
	DispatchedAt *Time         `json:"dispatchedAt"`
	StartedAt    *Time         `json:"startedAt"`
	CompletedAt  *Time         `json:"completedAt"`
	CanceledAt   *Time         `json:"canceledAt"`
	ClosedAt     *Time         `json:"closedAt"`
	Version      int           `json:"version"` // 1 and up; with Revision the ETag
}

// Revision counts the changes of a mission that raise no version of it: those of
// its SLA timers and its payment, and repeats of its alert.
func (m *Mission) Revision() (n int) {
	if m.SLA != nil {
		n += m.SLA.Revision
	}
	if m.Payment != nil {
		n += m.Payment.Version - 1
	}
	if m.Occurrences != nil {
		n += m.Occurrences.Count - 1
	}
	return n
}

// Mark notes when the mission entered its present status.
func (m *Mission) Mark(at Time) {
	m.UpdatedAt = at
	switch m.Status {
	case MissionScheduled:
		m.ScheduledAt = &at
	case MissionDispatched:
		m.DispatchedAt = &at
	case MissionInProgress:
		m.StartedAt = &at
	case MissionCompleted:
		m.CompletedAt = &at
	case MissionCanceled:
		m.CanceledAt = &at
	case MissionClosed:
		m.ClosedAt = &at
	}
}

// The bounds of a page of missions.
const (
	DefaultMissionLimit = 50
	MaxMissionLimit     = 200
)

// MissionFilter narrows a list of missions; zero fields do not narrow. With
// UpdatedSince the list is in the order of changes, the oldest first, and
// otherwise the newest mission is first. The times are inclusive.
type MissionFilter struct {
	Status       []MissionStatus
	Priority     Priority
	Source       string
	ExternalID   string
	CreatedSince Time
	CreatedUntil Time
	UpdatedSince Time
	Limit        int
	Cursor       string
}

// MissionStatuses lists every status, in the order of a mission's life.
func MissionStatuses() []MissionStatus {
	return []MissionStatus{MissionNew, MissionScheduled, MissionDispatched, MissionEnRoute, MissionInProgress, MissionOnHold,
		MissionCompleted, MissionUnableToComplete, MissionClosed, MissionCanceled}
}

// Priorities lists every priority, the least urgent first.
func Priorities() []Priority {
	return []Priority{PriorityLow, PriorityMedium, PriorityHigh, PriorityCritical}
}
