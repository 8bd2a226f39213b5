package fieldmark

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
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
	e := Errorf(CodeInvalidTransition, "a mission that is %s cannot become %s", from, to)
	e.Allowed = make([]string, len(next))
	for i, s := range next {
		e.Allowed[i] = string(s)
	}
	return e
}

// MoveEvent names the event of a legal move.
func MoveEvent(from, to MissionStatus) EventType {
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
	switch from {
	case MissionCompleted:
		return EventMissionReopened
	case MissionOnHold:
		return EventMissionResumed
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

// ParsePriority accepts a priority or a common alias in any case; an empty text
// is MEDIUM.
func ParsePriority(s string) (Priority, bool) {
	p, ok := priorityNames[strings.ToUpper(s)]
	return p, ok
}

// Reason says in a word and a sentence why a mission stands where it stands.
type Reason struct {
	Code string `json:"code" maxLength:"64" pattern:"^[A-Z0-9_]+$"`
	Text string `json:"text,omitempty" maxLength:"500"`
}

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
	Href string `json:"href" maxLength:"2048" pattern:"^https?://" patternDescription:"an http or https address"`
	Text string `json:"text,omitempty" maxLength:"120"`
}

// Bounds of a mission that tags cannot say.
const (
	MaxLabels        = 64
	MaxLabelKey      = 128      // code points
	MaxLabelValue    = 1024     // code points
	MaxMetadata      = 16 << 10 // bytes; it travels in every webhook
	MaxMetadataDepth = 8
)

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
	Metadata         json.RawMessage   `json:"metadata,omitempty" doc:"A JSON object of at most 16 KiB, sent back as it came"`
}

// Check completes the bounds that the tags cannot say and puts the request into
// its normal form: priority in upper case, metadata compact. It returns every
// complaint; a request without one may be stored.
func (r *MissionRequest) Check() []FieldError {
	var bad []FieldError
	complain := func(pointer, code, detail string) {
		bad = append(bad, FieldError{Pointer: pointer, Code: code, Detail: detail})
	}
	for _, f := range []struct {
		pointer, text string
		long          bool
	}{
		{"/externalId", r.ExternalID, false}, {"/source", r.Source, false}, {"/title", r.Title, false},
		{"/category", r.Category, false}, {"/description", r.Description, true},
	} {
		if hasControl(f.text, f.long) {
			complain(f.pointer, "pattern", "control characters are not allowed")
		}
	}
	if r.ExternalID != strings.TrimSpace(r.ExternalID) {
		complain("/externalId", "pattern", "must not begin or end with space")
	}
	if p, ok := ParsePriority(string(r.Priority)); ok {
		r.Priority = p
	} else {
		complain("/priority", "enum", "must be LOW, MEDIUM, HIGH or CRITICAL")
	}
	if r.Location != nil && r.Location.TimeZone != "" && !validZone(r.Location.TimeZone) {
		complain("/location/timeZone", "format", "must be an IANA time zone name")
	}
	if w := r.Window; w != nil {
		switch span := w.Latest.Std().Sub(w.Earliest.Std()); {
		case span <= 0:
			complain("/window/latest", "range", "must be later than earliest")
		case span > MaxWindow:
			complain("/window/latest", "range", "must be within 366 days of earliest")
		}
	}
	for _, s := range r.Skills {
		if n := utf8.RuneCountInString(s); n == 0 || n > 64 {
			complain("/skills", "range", "each must have 1 to 64 characters")
			break
		}
	}
	bad = append(bad, checkLabels(r.Labels)...)
	return append(bad, r.checkMetadata()...)
}

// hasControl reports a control character; a long text may have line breaks and tabs.
func hasControl(s string, long bool) bool {
	return strings.ContainsFunc(s, func(c rune) bool {
		return unicode.IsControl(c) && !(long && (c == '\n' || c == '\t' || c == '\r'))
	})
}

// validZone guards the shape of a zone name; whether the name is known is asked
// where the zone data is, because this package reads no files.
func validZone(s string) bool {
	return s == "UTC" || (strings.Contains(s, "/") && !strings.Contains(s, "..") && !strings.HasPrefix(s, "/"))
}

// checkLabels holds labels to their bounds, with one complaint of each kind.
func checkLabels(labels map[string]string) []FieldError {
	if len(labels) > MaxLabels {
		return []FieldError{{Pointer: "/labels", Code: "too_long", Detail: "at most 64 labels"}}
	}
	for k, v := range labels {
		if n := utf8.RuneCountInString(k); n == 0 || n > MaxLabelKey || utf8.RuneCountInString(v) > MaxLabelValue {
			return []FieldError{{Pointer: "/labels", Code: "too_long", Detail: "a key has 1 to 128 characters, a value at most 1024"}}
		}
	}
	return nil
}

// checkMetadata compacts metadata and holds it to its bounds.
func (r *MissionRequest) checkMetadata() []FieldError {
	if len(r.Metadata) == 0 {
		return nil
	}
	fail := func(code, detail string) []FieldError {
		return []FieldError{{Pointer: "/metadata", Code: code, Detail: detail}}
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, r.Metadata); err != nil || !bytes.HasPrefix(compact.Bytes(), []byte("{")) {
		return fail("format", "must be a JSON object")
	}
	if compact.Len() > MaxMetadata {
		return fail("too_long", "must not exceed 16384 bytes")
	}
	if jsonDepth(compact.Bytes()) > MaxMetadataDepth {
		return fail("too_long", "must not nest deeper than 8 levels")
	}
	r.Metadata = compact.Bytes()
	return nil
}

// jsonDepth counts how deep valid JSON nests.
func jsonDepth(b []byte) int {
	depth, deepest, inText := 0, 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case !inText && (c == '{' || c == '['):
			depth++
			deepest = max(deepest, depth)
		case !inText && (c == '}' || c == ']'):
			depth--
		}
	}
	return deepest
}

// Fingerprint names what the client said, so that a retry can be told from a
// different mission under the same name. It is taken after Check.
func (r *MissionRequest) Fingerprint() (Digest, error) {
	same := *r
	same.Source = strings.ToLower(r.Source)
	b, err := json.Marshal(same)
	if err != nil {
		return "", err
	}
	return DigestOf(sha256.Sum256(b)), nil
}

// Mission is one piece of field work.
type Mission struct {
	ID string `json:"id"` // msn_…
	MissionRequest
	Status       MissionStatus `json:"status"`
	StatusReason *Reason       `json:"statusReason"`
	CreatedAt    Time          `json:"createdAt"`
	UpdatedAt    Time          `json:"updatedAt"`
	ScheduledAt  *Time         `json:"scheduledAt"`
	DispatchedAt *Time         `json:"dispatchedAt"`
	StartedAt    *Time         `json:"startedAt"`
	CompletedAt  *Time         `json:"completedAt"`
	CanceledAt   *Time         `json:"canceledAt"`
	ClosedAt     *Time         `json:"closedAt"`
	Version      int           `json:"version"` // 1 and up; also the ETag
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

// MissionFilter narrows a list of missions; zero fields do not narrow.
type MissionFilter struct {
	Status     []MissionStatus
	Source     string
	ExternalID string
	Limit      int
	Cursor     string
}
