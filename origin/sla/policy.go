package sla

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
)

// Limits of policies and calendars.
const (
	maxCalendarName   = 64                  // bytes
	maxTargetMinutes  = 366 * minutesPerDay // a year
	minWeeklyMinutes  = 60                  // less is a typing error, not a calendar
	maxReasonCode     = 64                  // bytes
	calendarNameChars = "abcdefghijklmnopqrstuvwxyz0123456789-"
)

// DefaultPolicies returns the policies of a new installation, one per priority.
// The targets are common in contracts for field service, and meant to be changed. A hold for
// which the customer or the weather is responsible pauses, one for missing parts does not.
func DefaultPolicies() []fieldmark.SLAPolicy {
	const hour = 60
	policy := func(p fieldmark.Priority, response, onsite, resolution int, calendar string) fieldmark.SLAPolicy {
		return fieldmark.SLAPolicy{
			Priority: p, ResponseMinutes: response, OnsiteMinutes: onsite, ResolutionMinutes: resolution,
			Calendar: calendar, AtRiskPercent: []int{75},
			PausesSLA: []string{fieldmark.HoldSiteAccess, fieldmark.HoldWaitingCustomer, fieldmark.HoldWeather},
		}
	}
	return []fieldmark.SLAPolicy{
		policy(fieldmark.PriorityCritical, 15, 4*hour, 8*hour, fieldmark.CalendarAlways),
		policy(fieldmark.PriorityHigh, 1*hour, 8*hour, 24*hour, fieldmark.CalendarAlways),
		policy(fieldmark.PriorityMedium, 4*hour, 16*hour, 24*hour, fieldmark.CalendarBusiness),
		policy(fieldmark.PriorityLow, 8*hour, 40*hour, 80*hour, fieldmark.CalendarBusiness),
	}
}

// DefaultCalendars returns the calendars of a new installation: around the clock,
// and Monday to Friday from 08:00 to 18:00 in the time zone of the location.
func DefaultCalendars() []fieldmark.SLACalendar {
	return []fieldmark.SLACalendar{
		{
			Name: fieldmark.CalendarAlways, TimeZone: "UTC", Holidays: []fieldmark.Holiday{},
			Hours: []fieldmark.SLAHours{{
				Days: []fieldmark.Weekday{"MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"}, From: 0, To: minutesPerDay,
			}},
		},
		{
			Name: fieldmark.CalendarBusiness, TimeZone: "UTC", FollowsLocation: true, Holidays: []fieldmark.Holiday{},
			Hours: []fieldmark.SLAHours{{
				Days: []fieldmark.Weekday{"MON", "TUE", "WED", "THU", "FRI"}, From: 8 * 60, To: 18 * 60,
			}},
		},
	}
}

// Target returns the working time a policy allows for a metric, in minutes.
func Target(p *fieldmark.SLAPolicy, m fieldmark.SLAMetric) int {
	switch m {
	case fieldmark.SLAResponse:
		return p.ResponseMinutes
	case fieldmark.SLAOnsite:
		return p.OnsiteMinutes
	}
	return p.ResolutionMinutes
}

// LongestTarget returns the longest working time a policy allows for any metric.
func LongestTarget(p *fieldmark.SLAPolicy) time.Duration {
	return time.Duration(max(p.ResponseMinutes, p.OnsiteMinutes, p.ResolutionMinutes)) * time.Minute
}

// ApplyPatch returns the policy with the members that the patch contains.
// Lists are replaced, not merged (RFC 7396).
func ApplyPatch(to fieldmark.SLAPolicy, p fieldmark.SLAPolicyPatch) fieldmark.SLAPolicy {
	set(&to.ResponseMinutes, p.ResponseMinutes)
	set(&to.OnsiteMinutes, p.OnsiteMinutes)
	set(&to.ResolutionMinutes, p.ResolutionMinutes)
	set(&to.Calendar, p.Calendar)
	if p.AtRiskPercent != nil {
		to.AtRiskPercent = p.AtRiskPercent
	}
	if p.PausesSLA != nil {
		to.PausesSLA = p.PausesSLA
	}
	return to
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// problems collects every field error of a request.
type problems []fieldmark.FieldError

func (p *problems) add(pointer, code, format string, args ...any) {
	*p = append(*p, fieldmark.FieldError{Pointer: pointer, Code: code, Detail: fmt.Sprintf(format, args...)})
}

// ValidatePolicy returns every error of a policy and normalizes it: thresholds and
// reasons are sorted, duplicates removed.
func ValidatePolicy(p *fieldmark.SLAPolicy) []fieldmark.FieldError {
	var bad problems
	for _, f := range []struct {
		pointer string
		minutes int
	}{
		{"/responseMinutes", p.ResponseMinutes},
		{"/onsiteMinutes", p.OnsiteMinutes},
		{"/resolutionMinutes", p.ResolutionMinutes},
	} {
		if f.minutes < 1 || f.minutes > maxTargetMinutes {
			bad.add(f.pointer, "range", "must be from 1 to %d minutes", maxTargetMinutes)
		}
	}
	if _, err := ParseCalendarName(p.Calendar); err != nil {
		bad.add("/calendar", "pattern", "must be the name of a calendar")
	}
	for i, percent := range p.AtRiskPercent {
		if percent < 1 || percent > 99 {
			bad.add(fmt.Sprintf("/atRiskPercent/%d", i), "range", "must be from 1 to 99")
		}
	}
	for i, code := range p.PausesSLA {
		if !validReasonCode(code) {
			bad.add(fmt.Sprintf("/pausesSla/%d", i), "pattern",
				"must be 1 to 64 upper-case letters, digits and underscores")
		}
	}
	p.AtRiskPercent = sortedSet(p.AtRiskPercent)
	p.PausesSLA = sortedSet(p.PausesSLA)
	return bad
}

func validReasonCode(code string) bool {
	for _, c := range []byte(code) {
		if (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return code != "" && len(code) <= maxReasonCode
}

// sortedSet returns the list sorted and without duplicates; never nil, so that it
// is written as [] in JSON.
func sortedSet[T int | string](list []T) []T {
	return append([]T{}, slices.Compact(slices.Sorted(slices.Values(list)))...)
}

// ValidateCalendar returns every error of a calendar and normalizes it: holidays
// are sorted, duplicates removed. It checks the form of the time zone only;
// whether the zone exists depends on the zone database.
// A calendar that is closed nearly always is refused: every deadline would be years away.
func ValidateCalendar(c *fieldmark.SLACalendar) []fieldmark.FieldError {
	var bad problems
	if !fieldmark.ValidTimeZone(c.TimeZone) {
		bad.add("/timeZone", "format", "must be an IANA time zone name")
	}
	if c.Hours == nil {
		c.Hours = []fieldmark.SLAHours{}
	}
	for i, h := range c.Hours {
		for j, d := range h.Days {
			if !slices.Contains(weekdays[:], d) {
				bad.add(fmt.Sprintf("/hours/%d/days/%d", i, j), "enum",
					"must be one of MON, TUE, WED, THU, FRI, SAT, SUN")
			}
		}
		if h.From >= h.To {
			bad.add(fmt.Sprintf("/hours/%d/to", i), "range",
				"must be later than from; write hours that pass midnight as two entries")
		}
	}
	if len(bad) == 0 && weeklyMinutes(c) < minWeeklyMinutes {
		bad.add("/hours", "range", "must add up to at least %d minutes a week", minWeeklyMinutes)
	}
	for i, h := range c.Holidays {
		if h.Date.Month == 0 {
			bad.add(fmt.Sprintf("/holidays/%d/date", i), "required", "is required")
		}
	}
	slices.SortStableFunc(c.Holidays, func(a, b fieldmark.Holiday) int { return compareDates(a.Date, b.Date) })
	c.Holidays = slices.CompactFunc(c.Holidays, func(a, b fieldmark.Holiday) bool { return a.Date == b.Date })
	if c.Holidays == nil {
		c.Holidays = []fieldmark.Holiday{}
	}
	return bad
}

// ParseCalendarName accepts 1 to 64 characters of a-z, 0-9 and hyphen.
// The name is part of URLs and of CSV files.
func ParseCalendarName(s string) (string, error) {
	if s == "" || len(s) > maxCalendarName || strings.Trim(s, calendarNameChars) != "" {
		return "", fieldmark.Errorf(fieldmark.CodeInvalidParameter,
			"a calendar name has 1 to 64 characters of a-z, 0-9 and hyphen")
	}
	return s, nil
}
