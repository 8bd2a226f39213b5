package fieldmark

import (
	"slices"
	"unicode/utf8"
)

// CalendarScope says whose missions a calendar shows.
type CalendarScope string

// The scopes of a calendar.
const (
	CalendarOfPerson CalendarScope = "PERSON"
	CalendarOfTeam   CalendarScope = "TEAM"
	CalendarOfAll    CalendarScope = "ALL"
)

// Bounds of a calendar's settings.
const (
	MaxCalendarMembers = 100 // of a team; each is a value in one question to the database
	maxAssigneeID      = 128 // code points, as in Assignee
)

// CalendarRequest says what a feed of the plan shows.
type CalendarRequest struct {
	Account   string        `json:"account,omitempty" maxLength:"64" doc:"Whose missions; the default account's if left out"`
	Name      string        `json:"name" minLength:"1" maxLength:"100" doc:"As phones show it"`
	Scope     CalendarScope `json:"scope" maxLength:"16" doc:"PERSON, TEAM or ALL"`
	Assignees []string      `json:"assignees,omitempty" maxItems:"100" doc:"Ids of assignees: one with PERSON, one or more with TEAM, none with ALL"`
	Details   bool          `json:"details,omitempty" doc:"Tell contacts and access notes too; whoever has the address can read them"`
}

// Check returns every complaint that the tags cannot say, and brings the
// assignees into order.
func (r *CalendarRequest) Check() []FieldError {
	var c check
	if r.Name == "" {
		c.add("/name", "too_short", "must not be empty")
	}
	c.line("/name", r.Name)
	least, most := 1, 1
	switch r.Scope {
	case CalendarOfPerson:
	case CalendarOfTeam:
		most = MaxCalendarMembers
	case CalendarOfAll:
		least, most = 0, 0
	default:
		c.add("/scope", "enum", "must be PERSON, TEAM or ALL")
		return c.bad
	}
	slices.Sort(r.Assignees)
	r.Assignees = slices.Compact(r.Assignees)
	if n := len(r.Assignees); n < least || n > most {
		c.add("/assignees", "range", "must be one with PERSON, 1 to 100 with TEAM, none with ALL")
	}
	for _, id := range r.Assignees {
		if n := utf8.RuneCountInString(id); n == 0 || n > maxAssigneeID {
			c.add("/assignees", "range", "each must have 1 to 128 characters")
		}
		c.line("/assignees", id)
	}
	return c.bad
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
