package fieldmark

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// MissionStatus is the status of a mission.
type MissionStatus string

// The statuses of a mission. Package origin/mission defines the transitions.
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

// OpenStatuses returns the statuses in which a mission still needs action.
func OpenStatuses() []MissionStatus {
	return []MissionStatus{MissionNew, MissionScheduled, MissionDispatched, MissionEnRoute, MissionInProgress,
		MissionOnHold, MissionUnableToComplete}
}

// ParseMissionStatus parses a status, ignoring case.
func ParseMissionStatus(s string) (MissionStatus, error) {
	st := MissionStatus(strings.ToUpper(s))
	if !slices.Contains(MissionStatuses(), st) {
		return "", Errorf(CodeInvalidParameter, "unknown mission status")
	}
	return st, nil
}

// Priority is the urgency of a mission.
type Priority string

// Priorities from least to most urgent.
const (
	PriorityLow      Priority = "LOW"
	PriorityMedium   Priority = "MEDIUM"
	PriorityHigh     Priority = "HIGH"
	PriorityCritical Priority = "CRITICAL"
)

// priorityNames also maps the names that other tools use.
var priorityNames = map[string]Priority{
	"":    PriorityMedium,
	"LOW": PriorityLow, "MEDIUM": PriorityMedium, "HIGH": PriorityHigh, "CRITICAL": PriorityCritical,
	"NORMAL": PriorityMedium, "URGENT": PriorityCritical,
	"P1": PriorityCritical, "P2": PriorityHigh, "P3": PriorityMedium, "P4": PriorityLow, "P5": PriorityLow,
}

// PriorityNames returns the names that ParsePriority accepts: the priorities, then
// their aliases.
func PriorityNames() []string {
	return []string{"LOW", "MEDIUM", "HIGH", "CRITICAL", "NORMAL", "URGENT", "P1", "P2", "P3", "P4", "P5"}
}

// ParsePriority parses a priority or an alias, ignoring case. An empty string is
// MEDIUM.
func ParsePriority(s string) (Priority, bool) {
	p, ok := priorityNames[strings.ToUpper(s)]
	return p, ok
}

// Above reports whether p is more urgent than q; the empty priority is below all.
func (p Priority) Above(q Priority) bool {
	order := []Priority{PriorityLow, PriorityMedium, PriorityHigh, PriorityCritical}
	return slices.Index(order, p) > slices.Index(order, q)
}

// Reason explains the status of a mission by a code and a text.
type Reason struct {
	Code string `json:"code" maxLength:"64" pattern:"^[A-Za-z0-9_]+$" patternDescription:"letters, digits and underscores; it is kept in upper case"`
	Text string `json:"text,omitempty" maxLength:"500"`
}

// MaxReasonText limits the text of a reason, in code points.
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

// Location is the place of the work.
type Location struct {
	Name        string   `json:"name,omitempty" maxLength:"200"`
	Address     *Address `json:"address,omitempty"`
	Geo         *Geo     `json:"geo,omitempty"`
	TimeZone    string   `json:"timeZone,omitempty" maxLength:"64" doc:"IANA time zone name"`
	AccessNotes string   `json:"accessNotes,omitempty" maxLength:"2000"`
}

// Contact is the contact person on site. It is personal data and never logged.
type Contact struct {
	Name  string `json:"name,omitempty" maxLength:"120"`
	Phone string `json:"phone,omitempty" maxLength:"32"`
	Email string `json:"email,omitempty" maxLength:"254" format:"email"`
}

// MaxWindow limits the duration of a window or span.
const MaxWindow = 366 * 24 * time.Hour

// Window is the period in which the requester is available.
type Window struct {
	Earliest Time `json:"earliest" format:"date-time"`
	Latest   Time `json:"latest" format:"date-time"`
}

// Asset is a piece of equipment to work on.
type Asset struct {
	ID     string `json:"id" minLength:"1" maxLength:"128"`
	Name   string `json:"name,omitempty" maxLength:"200"`
	Serial string `json:"serial,omitempty" maxLength:"128"`
}

// Link is a URL to show with a mission. It is never fetched.
type Link struct {
	Href string `json:"href" maxLength:"2048" pattern:"^https://" patternDescription:"an https address"`
	Text string `json:"text,omitempty" maxLength:"120"`
}

// MissionRequest contains the members of a new mission. Lengths are in Unicode code
// points.
type MissionRequest struct {
	ExternalID       string            `json:"externalId" minLength:"1" maxLength:"255" doc:"The id of the client; with source it identifies the mission permanently"`
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

// Span is the scheduled time on site.
type Span struct {
	Start Time `json:"start" format:"date-time"`
	End   Time `json:"end" format:"date-time"`
}

// Assignee is the assigned technician, identified by an id of the dispatching system.
type Assignee struct {
	ID   string `json:"id" minLength:"1" maxLength:"128"`
	Name string `json:"name,omitempty" maxLength:"200"`
}

// Occurrences counts the alerts that were merged into a mission.
type Occurrences struct {
	Count       int   `json:"count" minimum:"1"`
	FirstSeenAt Time  `json:"firstSeenAt" format:"date-time"`
	LastSeenAt  Time  `json:"lastSeenAt" format:"date-time"`
	ResolvedAt  *Time `json:"resolvedAt"` // when its source resolved it; null while it fires
}

// Mission is one piece of field work.
type Mission struct {
	ID string `json:"id"` // msn_…
	MissionRequest
	Scheduled    *Span         `json:"scheduled"`   // set by planning
	Assignee     *Assignee     `json:"assignee"`    // set by planning
	Occurrences  *Occurrences  `json:"occurrences"` // null unless created by an alert
	Status       MissionStatus `json:"status"`
	StatusReason *Reason       `json:"statusReason"`
	SLA          *SLA          `json:"sla"`     // null if the mission is older than the SLA feature
	Payment      *Payment      `json:"payment"` // null without payment
	CreatedAt    Time          `json:"createdAt"`
	UpdatedAt    Time          `json:"updatedAt"`
	ScheduledAt  *Time         `json:"scheduledAt"`
	DispatchedAt *Time         `json:"dispatchedAt"`
	StartedAt    *Time         `json:"startedAt"`
	CompletedAt  *Time         `json:"completedAt"`
	CanceledAt   *Time         `json:"canceledAt"`
	ClosedAt     *Time         `json:"closedAt"`
	Version      int           `json:"version"` // from 1; the ETag contains it and Revision

	// OccurredAt is when the mission entered its status by the clock of the device that reported it
	// later; absent if it was reported at once. Offline is true with it.
	OccurredAt *Time `json:"occurredAt,omitempty"`
	Offline    bool  `json:"offline,omitempty"`
}

// Revision counts the changes that do not increment the version: those of SLA timers
// and payment, and repeats of the alert.
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

// Mark sets the time at which the mission entered its current status.
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

// Limits of a page of missions.
const (
	DefaultMissionLimit = 50
	MaxMissionLimit     = 200
)

// MissionFilter filters a list of missions; zero fields match everything. With
// UpdatedSince the list is ordered by change, oldest first, otherwise newest mission
// first. Times are inclusive.
type MissionFilter struct {
	Status       []MissionStatus
	Priority     Priority
	Source       string
	ExternalID   string
	CreatedSince Time // when a mission reached the origin, which may be later than its CreatedAt
	CreatedUntil Time
	UpdatedSince Time
	Assignee     string   // id
	Labels       []string // key:value, all of them; the account must list the keys as filterable
	Limit        int
	Cursor       string
	World        string // WorldTest: missions of test worlds, for administrators; empty: live ones
}

// WorldTest selects the objects of test worlds in lists for administrators, which leave them out
// otherwise.
const WorldTest = "test"

// Query returns the query string of the filter, for GET on a list of missions. Zero fields are left out,
// because servers reject empty parameters.
func (f *MissionFilter) Query() url.Values {
	query := url.Values{}
	for _, s := range f.Status {
		query.Add("status", string(s))
	}
	for _, label := range f.Labels {
		query.Add("label", label)
	}
	for name, value := range map[string]string{"priority": string(f.Priority), "source": f.Source,
		"externalId": f.ExternalID, "assignee": f.Assignee, "createdSince": f.CreatedSince.String(),
		"createdUntil": f.CreatedUntil.String(), "updatedSince": f.UpdatedSince.String(), "cursor": f.Cursor,
		"world": f.World} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if f.Limit > 0 {
		query.Set("limit", strconv.Itoa(f.Limit))
	}
	return query
}

// MaxLabelFilters limits the labels of a filter.
const MaxLabelFilters = 2

// MissionStatuses returns every status in the usual order.
func MissionStatuses() []MissionStatus {
	return []MissionStatus{MissionNew, MissionScheduled, MissionDispatched, MissionEnRoute, MissionInProgress,
		MissionOnHold,
		MissionCompleted, MissionUnableToComplete, MissionClosed, MissionCanceled}
}

// Priorities returns every priority, least urgent first.
func Priorities() []Priority {
	return []Priority{PriorityLow, PriorityMedium, PriorityHigh, PriorityCritical}
}

// MissionPatch contains the members that a client may change with a merge patch
// (RFC 7396): a member replaces the previous value, null removes it, and objects are
// merged recursively.
type MissionPatch struct {
	Priority    *Priority          `json:"priority,omitempty" maxLength:"16" doc:"null resets it to MEDIUM"`
	Description *string            `json:"description,omitempty" maxLength:"10000"`
	Window      *WindowPatch       `json:"window,omitempty"`
	Contact     *Contact           `json:"contact,omitempty"`
	Labels      map[string]*string `json:"labels,omitempty"`
	Metadata    json.RawMessage    `json:"metadata,omitempty" doc:"A JSON object; the merged result must not exceed 16 KiB"`
}

// WindowPatch changes the members of a window.
type WindowPatch struct {
	Earliest *Time `json:"earliest,omitempty" format:"date-time"`
	Latest   *Time `json:"latest,omitempty" format:"date-time"`
}

// MissionPlan sets schedule and assignee; a missing or null member removes them.
type MissionPlan struct {
	Scheduled *Span     `json:"scheduled,omitempty"`
	Assignee  *Assignee `json:"assignee,omitempty"`
}

// MaxBatch limits the missions of one batch.
const MaxBatch = 100

// BatchResult is the result of one mission of a batch, with the status of a single
// request: 201 if it was created, 200 if it existed.
type BatchResult struct {
	Index   int      `json:"index"`
	Status  int      `json:"status"`
	Mission *Mission `json:"mission,omitempty"`
	Problem *Problem `json:"problem,omitempty"`
}

// BatchReport contains a result for each mission of a batch, in request order.
type BatchReport struct {
	Results []BatchResult `json:"results"`
}

// Limits of the labels of a mission.
const (
	MaxLabels     = 64
	MaxLabelKey   = 128  // code points
	MaxLabelValue = 1024 // code points
)

// NoteVisibility is the audience that the author of a note has in mind. Everyone with access to
// the mission reads every note; integrations decide by it what they show to customers.
type NoteVisibility string

// The audiences of a note.
const (
	NoteInternal NoteVisibility = "internal" // colleagues
	NoteShared   NoteVisibility = "shared"   // the customer too
)

// Limits of the notes of a mission.
const (
	MaxNotes    = 500  // of a mission: a conversation of people, not a log
	MaxNoteText = 4000 // code points
)

// NoteRequest adds a note to a mission.
type NoteRequest struct {
	Text       string         `json:"text" minLength:"1" maxLength:"4000" doc:"Plain text"`
	Visibility NoteVisibility `json:"visibility,omitempty" maxLength:"16" doc:"internal (default) or shared"`
	Author     *NoteAuthor    `json:"author,omitempty" doc:"Who wrote it; the API key if omitted"`
	ExternalID string         `json:"externalId,omitempty" maxLength:"255" doc:"Id of the note at the client"`

	OccurredAt *Time `json:"occurredAt,omitempty" format:"date-time" doc:"When it was written, if it is sent later"`
}

// NoteAuthor is who wrote a note, identified by an id of the sending system.
type NoteAuthor struct {
	ID   string `json:"id" minLength:"1" maxLength:"128"`
	Name string `json:"name,omitempty" maxLength:"200"`
}

// Note is a note about a mission. Notes are never changed; an administrator may redact one.
type Note struct {
	ID         string         `json:"id"`   // nte_…
	Text       string         `json:"text"` // empty if it was redacted
	Visibility NoteVisibility `json:"visibility"`
	Author     NoteAuthor     `json:"author"`
	ExternalID string         `json:"externalId,omitempty"`
	CreatedAt  Time           `json:"createdAt"`
	OccurredAt *Time          `json:"occurredAt,omitempty"` // when it was written, by the clock of the device
	RedactedAt *Time          `json:"redactedAt"`
}

// MissionNoted is the data of mission.noted: a note was added, or redacted if redactedAt of the
// note is set.
type MissionNoted struct {
	ID         string `json:"id"` // of the mission
	ExternalID string `json:"externalId"`
	Source     string `json:"source"`
	Note       Note   `json:"note"`
	Offline    bool   `json:"offline,omitempty"` // it was sent later than it was written, see occurredAt of the note
}

// The bounds of occurredAt, which a device reports: phones keep time by their network, so a clock
// that is further ahead is wrong, and what a person did three days ago they enter by hand.
const (
	MaxOccurredAhead = 5 * time.Minute
	MaxOccurredAge   = 72 * time.Hour
)

// IsHidden reports whether a character is invisible and changes how text is displayed
// or compared: zero-width spaces, and controls that embed, override or isolate a text
// direction (Unicode Standard Annex 9). Joiners and direction marks are allowed,
// because scripts and emoji need them.
func IsHidden(r rune) bool {
	return r == '\u200b' || r == '\u2060' || r == '\ufeff' || r == '\u180e' || r >= '\u202a' && r <= '\u202e' ||
		r >= '\u2066' && r <= '\u2069'
}

// IsBlank reports whether s has no visible character.
func IsBlank(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) })
}

// ValidTimeZone reports whether s has the form of an IANA time zone name. It does not
// check that the zone exists: this package does not read the zone database.
func ValidTimeZone(s string) bool {
	return s == "UTC" || (strings.Contains(s, "/") && !strings.Contains(s, "..") && !strings.HasPrefix(s, "/"))
}

// AlertOutcome is the outcome of an alert or group.
type AlertOutcome string

// The outcomes that involve a mission.
const (
	AlertCreated  AlertOutcome = "CREATED"  // a mission was created
	AlertMerged   AlertOutcome = "MERGED"   // it was merged into an existing mission
	AlertResolved AlertOutcome = "RESOLVED" // it is resolved
)

// AlertReport is the response to a notification of an alerting tool.
type AlertReport struct {
	Received int            `json:"received"` // alerts in the notification
	Created  int            `json:"created"`  // missions created
	Merged   int            `json:"merged"`   // alerts merged into existing missions
	Resolved int            `json:"resolved"` // resolved alerts
	Ignored  int            `json:"ignored"`  // alerts that always fire, and resolutions of unknown alerts
	Missions []AlertMission `json:"missions"`
}

// AlertMission is a mission affected by a notification.
type AlertMission struct {
	ID         string       `json:"id"`
	ExternalID string       `json:"externalId"`
	Outcome    AlertOutcome `json:"outcome"`
}

// Add counts an outcome.
func (r *AlertReport) Add(m Mission, outcome AlertOutcome) {
	switch outcome {
	case AlertCreated:
		r.Created++
	case AlertMerged:
		r.Merged++
	case AlertResolved:
		r.Resolved++
	}
	r.Missions = append(r.Missions, AlertMission{ID: m.ID, ExternalID: m.ExternalID, Outcome: outcome})
}

// CalendarScope selects the missions of a calendar feed.
type CalendarScope string

// The scopes of a calendar feed.
const (
	CalendarOfPerson CalendarScope = "PERSON"
	CalendarOfTeam   CalendarScope = "TEAM"
	CalendarOfAll    CalendarScope = "ALL"
)

// CalendarRequest creates a calendar feed of scheduled missions.
type CalendarRequest struct {
	Account   string        `json:"account,omitempty" maxLength:"64" doc:"Account of the missions; the default account if omitted"`
	Name      string        `json:"name" minLength:"1" maxLength:"100" doc:"Display name"`
	Scope     CalendarScope `json:"scope" maxLength:"16" doc:"PERSON, TEAM or ALL"`
	Assignees []string      `json:"assignees,omitempty" maxItems:"100" doc:"Ids of assignees: one with PERSON, one or more with TEAM, none with ALL"`
	Details   bool          `json:"details,omitempty" doc:"Include contacts and access notes; anyone with the URL can read them"`
}

// Calendar is a calendar feed without its secret URL.
type Calendar struct {
	ID string `json:"id"` // cal_…
	CalendarRequest
	CreatedAt  Time  `json:"createdAt"`
	RotatedAt  *Time `json:"rotatedAt"` // when its URL was last replaced
	RevokedAt  *Time `json:"revokedAt"`
	LastUsedAt *Time `json:"lastUsedAt"` // precise to a minute
}

// NewCalendar is a calendar feed with a new URL, which is returned only once.
type NewCalendar struct {
	Calendar
	Path string `json:"path"` // PathCalendar, a secret token and .ics; relative to the base URL
}

// MaxTechnicianLink is how long a technician's link works at most. A phone that is lost or passed on
// keeps the address.
const MaxTechnicianLink = 30 * 24 * time.Hour

// TechnicianLinkRequest creates the secret link to the page of a technician.
type TechnicianLinkRequest struct {
	Account string `json:"account,omitempty" maxLength:"64" doc:"Account of the missions; default if omitted"`

	Assignee Assignee `json:"assignee" doc:"The technician, as in the missions"`

	Until *Time `json:"until,omitempty" format:"date-time" doc:"At most 30 days from now, the default"`

	// PIN is asked for once in 12 hours on a device.
	PIN string `json:"pin,omitempty" pattern:"^[0-9]{6}$" patternDescription:"6 digits" doc:"No PIN if omitted"`
}

// TechnicianLinkRotation gives a technician's link a new address.
type TechnicianLinkRotation struct {
	Until *Time `json:"until,omitempty" format:"date-time" doc:"At most 30 days from now, the default"`
}

// TechnicianLink is the link to the page of a technician, without its secret address.
type TechnicianLink struct {
	ID         string   `json:"id"` // lnk_…
	Account    string   `json:"account"`
	Assignee   Assignee `json:"assignee"`
	Until      Time     `json:"until"`
	PIN        bool     `json:"pin"` // the page asks for a PIN
	CreatedAt  Time     `json:"createdAt"`
	RotatedAt  *Time    `json:"rotatedAt"` // when its address was last replaced
	RevokedAt  *Time    `json:"revokedAt"`
	LastUsedAt *Time    `json:"lastUsedAt"` // precise to a minute
}

// NewTechnicianLink is a link with a new address, which is returned only once.
type NewTechnicianLink struct {
	TechnicianLink
	Path string `json:"path"` // PathTechnician, a secret token and a slash; relative to the base URL
}
