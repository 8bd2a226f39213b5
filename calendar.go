package fieldmark

// CalendarScope says whose missions a calendar shows.
type CalendarScope string

// The scopes of a calendar.
const (
	CalendarOfPerson CalendarScope = "PERSON"
	CalendarOfTeam   CalendarScope = "TEAM"
	CalendarOfAll    CalendarScope = "ALL"
)

// CalendarRequest says what a feed of the plan shows.
type CalendarRequest struct {
	Account   string        `json:"account,omitempty" maxLength:"64" doc:"Account whose missions are shown; the default is the default account"`
	Name      string        `json:"name" minLength:"1" maxLength:"100" doc:"Name in calendar applications"`
	Scope     CalendarScope `json:"scope" maxLength:"16" doc:"PERSON, TEAM or ALL"`
	Assignees []string      `json:"assignees,omitempty" maxItems:"100" doc:"Assignee ids: one for PERSON, one or more for TEAM, none for ALL"`
	Details   bool          `json:"details,omitempty" doc:"Include contacts and access notes; anyone with the address can read them"`
}

// Calendar is a feed of the plan as it may be shown: everything but its address.
type Calendar struct {
	ID string `json:"id"` // cal_…
	CalendarRequest
	CreatedAt  Time  `json:"createdAt"`
	RotatedAt  *Time `json:"rotatedAt"` // when it last got another address
	RevokedAt  *Time `json:"revokedAt"`
	LastUsedAt *Time `json:"lastUsedAt"` // exact to a minute
}

// NewCalendar is a calendar with an address just made: the only time it is told.
type NewCalendar struct {
	Calendar
	Path string `json:"path"` // PathCalendar, a secret token and .ics, on whatever host the edge has
}
