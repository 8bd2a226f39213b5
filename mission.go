package fieldmark

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
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

// ParseMissionStatus accepts a status in any case.
func ParseMissionStatus(s string) (MissionStatus, error) {
	st := MissionStatus(strings.ToUpper(s))
	if !slices.Contains(MissionStatuses(), st) {
		return "", Errorf(CodeInvalidParameter, "unknown mission status")
	}
	return st, nil
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
	ExternalID       string            `json:"externalId" minLength:"1" maxLength:"255" doc:"The client's id; unique within the source"`
	Source           string            `json:"source" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9][A-Za-z0-9 ._:/-]*$" doc:"The sending system; case-insensitive"`
	Title            string            `json:"title" minLength:"1" maxLength:"200"`
	Priority         Priority          `json:"priority,omitempty" maxLength:"16" doc:"LOW, MEDIUM (default), HIGH or CRITICAL; NORMAL, URGENT and P1 to P5 are accepted"`
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
	Metadata         json.RawMessage   `json:"metadata,omitempty" doc:"A JSON object of at most 16 KiB, returned unchanged"`
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

// MissionPatch is what a client may change of a mission, as a merge patch
// (RFC 7396): a member that is there replaces, null takes away, and what is not
// named stays. Objects are merged member by member.
type MissionPatch struct {
	Priority    *Priority          `json:"priority,omitempty" maxLength:"16" doc:"null resets it to MEDIUM"`
	Description *string            `json:"description,omitempty" maxLength:"10000"`
	Window      *WindowPatch       `json:"window,omitempty"`
	Contact     *Contact           `json:"contact,omitempty"`
	Labels      map[string]*string `json:"labels,omitempty"`
	Metadata    json.RawMessage    `json:"metadata,omitempty" doc:"A JSON object; the merged result must not exceed 16 KiB"`
}

// WindowPatch is what may change of a window.
type WindowPatch struct {
	Earliest *Time `json:"earliest,omitempty" format:"date-time"`
	Latest   *Time `json:"latest,omitempty" format:"date-time"`
}

// MissionPlan is who goes and when; what is left out or null is nobody and no time.
type MissionPlan struct {
	Scheduled *Span     `json:"scheduled,omitempty"`
	Assignee  *Assignee `json:"assignee,omitempty"`
}

// MaxBatch bounds how many missions one batch may open.
const MaxBatch = 100

// BatchResult is what became of one mission of a batch: as if it had been sent
// alone, 201 for one that was opened and 200 for one that was there.
type BatchResult struct {
	Index   int      `json:"index"`
	Status  int      `json:"status"`
	Mission *Mission `json:"mission,omitempty"`
	Problem *Problem `json:"problem,omitempty"`
}

// BatchReport has a result for each mission of a batch, in their order.
type BatchReport struct {
	Results []BatchResult `json:"results"`
}

// Limits of the labels of a mission.
const (
	MaxLabels     = 64
	MaxLabelKey   = 128  // code points
	MaxLabelValue = 1024 // code points
)

// IsHidden reports whether a character shows nothing and changes how its
// neighbors are read or compared: zero-width spaces, and controls that embed,
// override or isolate a text direction (Unicode Standard Annex 9). Joiners and
// direction marks are not among them, because scripts and emoji need them.
func IsHidden(r rune) bool {
	return r == '\u200b' || r == '\u2060' || r == '\ufeff' || r == '\u180e' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// IsBlank reports whether a text has no visible character.
func IsBlank(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) })
}

// ValidTimeZone reports whether s has the form of an IANA time zone name. It does not
// check that the zone exists: this package does not read the zone database.
func ValidTimeZone(s string) bool {
	return s == "UTC" || (strings.Contains(s, "/") && !strings.Contains(s, "..") && !strings.HasPrefix(s, "/"))
}
