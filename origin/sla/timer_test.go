package sla_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/mission"
	"github.com/fieldmark/fieldmark/origin/sla"
)

// story is the history of one mission under the default policies. Each line is a local
// time in the zone and the change at that time.
type story struct {
	zone     string // IANA; empty: UTC
	calendar string // JSON of a calendar in place of business
	policy   func(*fieldmark.SLAPolicy)
	priority fieldmark.Priority // empty: MEDIUM, which counts business hours
	lines    []string
	watch    fieldmark.SLAMetric
	want     string // state, due time in the zone, working minutes paused
	told     string // events of the watched metric
}

const berlin = "Europe/Berlin"

// bugClasses are known defects of other products, by name, and other cases that are
// easily computed wrong.
var bugClasses = map[string]story{
	"business hours ignored at the breach check": {
		lines: []string{"2026-11-20 17:00 open", "2026-11-23 10:59 look", "2026-11-23 11:00 look",
			"2026-11-23 11:00:01 look"},
		watch: fieldmark.SLAResponse, want: "BREACHED 2026-11-23 11:00 0", told: "at_risk breached"},
	"hold counted in off-hours": {
		lines: []string{"2026-11-20 15:00 open", "2026-11-20 17:00 ON_HOLD WEATHER", "2026-11-23 09:00 SCHEDULED"},
		// of 64 hours two count
		watch: fieldmark.SLAResolution, want: "RUNNING 2026-11-25 11:00 120", told: "paused resumed"},
	"hold wholly in off-hours moves nothing": {
		lines: []string{"2026-11-20 15:00 open", "2026-11-20 19:00 ON_HOLD WEATHER", "2026-11-22 09:00 SCHEDULED"},
		watch: fieldmark.SLAResolution, want: "RUNNING 2026-11-25 09:00 0", told: "paused resumed"},
	"hold then resolved keeps the hold": { // nine hours of target are left when work stops, the hold takes ten
		policy: func(p *fieldmark.SLAPolicy) { p.ResolutionMinutes = 10 * 60 },
		lines: []string{"2026-11-20 08:00 open", "2026-11-20 09:00 ON_HOLD SITE_ACCESS", "2026-11-23 10:00 COMPLETED",
			"2026-11-25 10:00 look"},
		watch: fieldmark.SLAResolution, want: "MET 2026-11-24 09:00 660", told: "paused met"},
	"deadline without a time zone": { // the location's, not the server's
		zone: "America/New_York", lines: []string{"2026-11-20 16:00 open"},
		watch: fieldmark.SLAResponse, want: "RUNNING 2026-11-23 10:00 0"},
	"new target after a priority change forgets the pause": {
		lines: []string{"2026-11-20 09:00 open", "2026-11-20 10:00 ON_HOLD WEATHER", "2026-11-20 12:00 SCHEDULED",
			"2026-11-20 13:00 LOW"},
		watch: fieldmark.SLAResolution, want: "RUNNING 2026-12-02 11:00 120", told: "paused resumed updated"},
	"priority change during a pause": {
		lines: []string{"2026-11-20 09:00 open", "2026-11-20 10:00 ON_HOLD WEATHER", "2026-11-20 11:00 LOW",
			"2026-11-20 12:00 SCHEDULED"},
		watch: fieldmark.SLAResolution, want: "RUNNING 2026-12-02 11:00 120", told: "paused updated resumed"},
	"priority change to one that counts around the clock, during a pause": {
		lines: []string{"2026-11-20 09:00 open", "2026-11-20 17:00 ON_HOLD WEATHER", "2026-11-20 19:00 HIGH",
			"2026-11-20 20:00 SCHEDULED"},
		watch: fieldmark.SLAResolution, want: "RUNNING 2026-11-21 12:00 180", told: "paused updated resumed"},
	"priority raised when it is too late for it": { // breached by the change, not before
		lines: []string{"2026-11-20 09:00 open", "2026-11-20 10:00 CRITICAL"},
		watch: fieldmark.SLAResponse, want: "BREACHED 2026-11-20 09:15 0 at 2026-11-20 10:00",
		told: "updated breached"},
	"priority lowered when it is too late": { // the breach precedes the first read
		priority: fieldmark.PriorityCritical, lines: []string{"2026-11-20 09:00 open", "2026-11-20 09:16 LOW"},
		watch: fieldmark.SLAResponse, want: "BREACHED 2026-11-20 09:15 0", told: "breached"},
	"timer runs on after resolution": {
		lines: []string{"2026-11-20 08:00 open", "2026-11-20 09:00 DISPATCHED", "2026-11-20 10:00 IN_PROGRESS",
			"2026-11-20 11:00 COMPLETED",
			"2026-12-20 11:00 look", "2026-12-21 11:00 CLOSED"},
		watch: fieldmark.SLAResolution, want: "MET 2026-11-24 12:00 0", told: "met"},
	"met late stays breached": {
		priority: fieldmark.PriorityCritical,
		lines:    []string{"2026-11-20 08:00 open", "2026-11-20 09:00 DISPATCHED", "2026-11-20 10:00 DISPATCHED"},
		watch:    fieldmark.SLAResponse, want: "BREACHED 2026-11-20 08:15 0 stopped", told: "breached"},
	"stopped at the due time is in time": {
		priority: fieldmark.PriorityCritical, lines: []string{"2026-11-20 08:00 open", "2026-11-20 08:15 DISPATCHED"},
		watch: fieldmark.SLAResponse, want: "MET 2026-11-20 08:15 0", told: "at_risk met"},
	"stopped a moment after the due time is late": {
		priority: fieldmark.PriorityCritical, lines: []string{"2026-11-20 08:00 open",
			"2026-11-20 08:15:01 DISPATCHED"},
		watch: fieldmark.SLAResponse, want: "BREACHED 2026-11-20 08:15 0 stopped", told: "breached"},

	"spring forward around the clock": { // 02:00 to 03:00 does not exist
		zone: berlin, priority: fieldmark.PriorityHigh, lines: []string{"2026-03-28 20:00 open"},
		watch: fieldmark.SLAOnsite, want: "RUNNING 2026-03-29 05:00 0"},
	"fall back around the clock": { // 02:00 to 03:00 occurs twice
		zone: berlin, priority: fieldmark.PriorityHigh, lines: []string{"2026-10-24 20:00 open"},
		watch: fieldmark.SLAOnsite, want: "RUNNING 2026-10-25 03:00 0"},
	"spring forward over a weekend of business hours": { // eight o'clock stays eight o'clock
		zone: berlin, lines: []string{"2026-03-27 17:00 open"}, watch: fieldmark.SLAResponse,
		want: "RUNNING 2026-03-30 11:00 0"},
	"fall back over a weekend of business hours": {
		zone: berlin, lines: []string{"2026-10-23 17:00 open"}, watch: fieldmark.SLAResponse,
		want: "RUNNING 2026-10-26 11:00 0"},
	"spring forward inside the hours": { // a night shift of seven hours that night
		zone: berlin, calendar: `{"timeZone":"UTC","followsLocation":true,"hours":[{"days":["SUN"],"from":"00:00",` +
			`"to":"08:00"}],"holidays":[]}`,
		// 7 + 8 + 1
		lines: []string{"2026-03-29 00:00 open"}, watch: fieldmark.SLAOnsite, want: "RUNNING 2026-04-12 01:00 0"},
	"fall back inside the hours": { // a night shift of nine
		zone: berlin, calendar: `{"timeZone":"UTC","followsLocation":true,"hours":[{"days":["SUN"],"from":"00:00",` +
			`"to":"08:00"}],"holidays":[]}`,
		// 9 + 7
		lines: []string{"2026-10-25 00:00 open"}, watch: fieldmark.SLAOnsite, want: "RUNNING 2026-11-01 07:00 0"},
	"opening time that the clock skips": { // opens when the clock jumps to 03:00
		zone: berlin, calendar: `{"timeZone":"UTC","followsLocation":true,"hours":[{"days":["SUN"],"from":"02:30",` +
			`"to":"08:00"}],"holidays":[]}`,
		lines: []string{"2026-03-29 00:00 open"}, watch: fieldmark.SLAResponse, want: "RUNNING 2026-03-29 07:00 0"},
	"opening time that the clock shows twice": { // opens the first time
		zone: berlin, calendar: `{"timeZone":"UTC","followsLocation":true,"hours":[{"days":["SUN"],"from":"02:30",` +
			`"to":"08:00"}],"holidays":[]}`,
		lines: []string{"2026-10-25 00:00 open"}, watch: fieldmark.SLAResponse, want: "RUNNING 2026-10-25 05:30 0"},
	"a day without midnight": { // Beirut's clock jumps from 00:00 to 01:00
		zone: "Asia/Beirut",
		calendar: `{"timeZone":"UTC","followsLocation":true,"hours":[{"days":["SUN"],"from":"00:00","to":"06:00"}],` +
			`"holidays":[]}`,
		lines: []string{"2026-03-28 12:00 open"}, watch: fieldmark.SLAResponse, want: "RUNNING 2026-03-29 05:00 0"},
	"hold over the change of the clock": { // 22:00 to 06:00 are seven hours
		zone: berlin, priority: fieldmark.PriorityHigh,
		lines: []string{"2026-03-28 20:00 open", "2026-03-28 22:00 ON_HOLD WEATHER", "2026-03-29 06:00 SCHEDULED"},
		watch: fieldmark.SLAOnsite, want: "RUNNING 2026-03-29 12:00 420", told: "paused resumed"},

	"holiday at the boundary": { // the last working minute before, the first after
		calendar: withHolidays("2026-12-25"), lines: []string{"2026-12-24 17:59 open"},
		watch: fieldmark.SLAResponse, want: "RUNNING 2026-12-28 11:59 0"},
	"opened on a holiday": {
		calendar: withHolidays("12-25"), lines: []string{"2025-12-25 10:00 open"},
		watch: fieldmark.SLAResponse, want: "RUNNING 2025-12-26 12:00 0"},
	"holiday of every year over new year": {
		calendar: withHolidays("01-01", "12-31"), lines: []string{"2026-12-30 16:00 open"},
		watch: fieldmark.SLAResponse, want: "RUNNING 2027-01-04 10:00 0"},
	"hold over a holiday": {
		calendar: withHolidays("2026-12-25"),
		lines:    []string{"2026-12-24 09:00 open", "2026-12-24 10:00 ON_HOLD WEATHER", "2026-12-28 10:00 SCHEDULED"},
		watch:    fieldmark.SLAOnsite, want: "RUNNING 2026-12-29 15:00 600", told: "paused resumed"},
	"leap day is a working day": {
		calendar: withHolidays(), lines: []string{"2028-02-28 16:00 open"}, watch: fieldmark.SLAResponse,
		want: "RUNNING 2028-02-29 10:00 0"},
	"holiday on leap days": {
		calendar: withHolidays("02-29"), lines: []string{"2028-02-28 16:00 open"}, watch: fieldmark.SLAResponse,
		want: "RUNNING 2028-03-01 10:00 0"},
	"holiday on leap days in a common year": {
		calendar: withHolidays("02-29"), lines: []string{"2027-02-26 16:00 open"}, watch: fieldmark.SLAResponse,
		want: "RUNNING 2027-03-01 10:00 0"},

	"deadline at closing time": { // and not at the next opening
		lines: []string{"2026-11-20 14:00 open"}, watch: fieldmark.SLAResponse, want: "RUNNING 2026-11-20 18:00 0"},
	"opened at closing time": {
		lines: []string{"2026-11-20 18:00 open"}, watch: fieldmark.SLAResponse, want: "RUNNING 2026-11-23 12:00 0"},
	"opened at opening time": {
		lines: []string{"2026-11-20 08:00 open"}, watch: fieldmark.SLAResponse, want: "RUNNING 2026-11-20 12:00 0"},
	"hold from the due time on": { // no time remained to pause
		policy: func(p *fieldmark.SLAPolicy) { p.ResolutionMinutes = 10 * 60 },
		lines:  []string{"2026-11-20 08:00 open", "2026-11-20 18:00 ON_HOLD WEATHER", "2026-11-21 09:00 SCHEDULED"},
		watch:  fieldmark.SLAResolution, want: "BREACHED 2026-11-20 18:00 0 at 2026-11-21 09:00",
		told: "at_risk paused resumed breached"},
	"target that shrank during the pause": {
		lines: []string{"2026-11-20 09:00 open", "2026-11-20 17:00 ON_HOLD WEATHER", "2026-11-20 18:00 CRITICAL",
			"2026-11-20 19:00 COMPLETED"},
		watch: fieldmark.SLAOnsite, want: "BREACHED 2026-11-20 15:00 120 at 2026-11-20 19:00 stopped",
		told: "paused updated breached"},
	"zero-length hold": {
		lines: []string{"2026-11-20 08:00 open", "2026-11-20 09:00 ON_HOLD WEATHER", "2026-11-20 09:00 SCHEDULED"},
		watch: fieldmark.SLAResolution, want: "RUNNING 2026-11-24 12:00 0", told: "paused resumed"},
	"hold before the window opens counts once": { // what does not count cannot be taken off
		lines: []string{"2026-11-20 08:00 open window 2026-11-23 08:00", "2026-11-20 09:00 ON_HOLD WEATHER",
			"2026-11-23 09:00 SCHEDULED"},
		watch: fieldmark.SLAOnsite, want: "RUNNING 2026-11-24 15:00 60", told: "paused resumed"},
	"window in the past does not move the start": {
		lines: []string{"2026-11-20 08:00 open window 2026-11-19 08:00"}, watch: fieldmark.SLAOnsite,
		want: "RUNNING 2026-11-23 14:00 0"},
	"window in the future does not move response": {
		lines: []string{"2026-11-20 08:00 open window 2026-11-23 08:00"}, watch: fieldmark.SLAResponse,
		want: "RUNNING 2026-11-20 12:00 0"},
	"window moved later": {
		lines: []string{"2026-11-20 08:00 open", "2026-11-20 09:00 window 2026-11-23 08:00"},
		watch: fieldmark.SLAOnsite, want: "RUNNING 2026-11-24 14:00 0", told: "updated"},

	"response does not pause": {
		lines: []string{"2026-11-20 08:00 open", "2026-11-20 09:00 ON_HOLD WEATHER", "2026-11-20 10:00 SCHEDULED"},
		watch: fieldmark.SLAResponse, want: "RUNNING 2026-11-20 12:00 0"},
	"a reason that pauses nothing": {
		lines: []string{"2026-11-20 08:00 open", "2026-11-20 09:00 ON_HOLD WAITING_PARTS",
			"2026-11-20 10:00 SCHEDULED"},
		watch: fieldmark.SLAOnsite, want: "RUNNING 2026-11-23 14:00 0"},
	"paused clocks do not run out": {
		lines: []string{"2026-11-20 08:00 open", "2026-11-20 09:00 ON_HOLD WEATHER", "2027-11-20 10:00 look"},
		watch: fieldmark.SLAOnsite, want: "PAUSED 2026-11-23 14:00 0", told: "paused"},
	"canceled while paused": {
		lines: []string{"2026-11-20 08:00 open", "2026-11-20 09:00 ON_HOLD WEATHER", "2026-11-20 10:00 CANCELED",
			"2027-11-20 10:00 look"},
		watch: fieldmark.SLAOnsite, want: "CANCELED 2026-11-23 15:00 60", told: "paused"},
	"closed without having been completed": {
		lines: []string{"2026-11-20 08:00 open", "2026-11-20 09:00 DISPATCHED", "2026-11-20 10:00 IN_PROGRESS",
			"2026-11-20 11:00 UNABLE_TO_COMPLETE",
			"2026-11-20 12:00 CLOSED", "2027-11-20 10:00 look"},
		watch: fieldmark.SLAResolution, want: "CANCELED 2026-11-24 12:00 0"},
	"another visit keeps resolution running": {
		lines: []string{"2026-11-20 08:00 open", "2026-11-20 09:00 DISPATCHED", "2026-11-20 10:00 IN_PROGRESS",
			"2026-11-20 11:00 UNABLE_TO_COMPLETE",
			"2026-11-23 12:00 SCHEDULED", "2026-11-24 12:01 look"},
		watch: fieldmark.SLAResolution, want: "BREACHED 2026-11-24 12:00 0", told: "breached"},
	"reopening restarts resolution": {
		lines: []string{"2026-11-20 08:00 open", "2026-11-20 09:00 DISPATCHED", "2026-11-20 10:00 IN_PROGRESS",
			"2026-11-20 11:00 COMPLETED",
			"2026-11-23 12:00 IN_PROGRESS"},
		watch: fieldmark.SLAResolution, want: "RUNNING 2026-11-25 16:00 0 cycle 2", told: "met"},
	"reopening leaves onsite alone": {
		lines: []string{"2026-11-20 08:00 open", "2026-11-20 09:00 DISPATCHED", "2026-11-20 10:00 IN_PROGRESS",
			"2026-11-20 11:00 COMPLETED",
			"2026-11-23 12:00 IN_PROGRESS"},
		watch: fieldmark.SLAOnsite, want: "MET 2026-11-23 14:00 0", told: "met"},
	"every threshold once": {
		policy: func(p *fieldmark.SLAPolicy) { p.AtRiskPercent = []int{50, 75, 90} },
		lines: []string{"2026-11-20 08:00 open", "2026-11-20 10:00 look", "2026-11-20 10:00 look",
			"2026-11-20 11:40 look", "2026-11-20 11:50 look"},
		watch: fieldmark.SLAResponse, want: "RUNNING 2026-11-20 12:00 0", told: "at_risk at_risk at_risk"},
	"no warning after the breach": {
		lines: []string{"2026-11-20 08:00 open", "2026-11-20 12:01 look"},
		watch: fieldmark.SLAResponse, want: "BREACHED 2026-11-20 12:00 0", told: "breached"},
	"hours that can never come to the target": {
		calendar: `{"timeZone":"UTC","followsLocation":true,"hours":[{"days":["MON"],"from":"08:00","to":"08:00"}],` +
			`"holidays":[]}`,
		lines: []string{"2026-11-20 08:00 open", "2036-11-20 12:01 look"},
		watch: fieldmark.SLAResponse, want: "RUNNING never 0"},
}

func withHolidays(dates ...string) string {
	list := make([]fieldmark.Holiday, len(dates))
	for i, d := range dates {
		if err := list[i].Date.UnmarshalText([]byte(d)); err != nil {
			panic(err)
		}
	}
	c := business()
	c.Holidays = list
	b, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func business() fieldmark.SLACalendar { return sla.DefaultCalendars()[1] }

func TestSLABugClasses(t *testing.T) {
	for name, s := range bugClasses {
		t.Run(name, func(t *testing.T) {
			got, told := s.play(t)
			if got != s.want || told != s.told {
				t.Errorf("%s of %s:\n got %s, told %q\nwant %s, told %q", s.watch, strings.Join(s.lines, "; "), got,
					told, s.want, s.told)
			}
		})
	}
}

// terms returns the policy of a mission with a priority.
func (s story) terms(t *testing.T, zone *time.Location, p fieldmark.Priority) sla.Terms {
	t.Helper()
	var policy fieldmark.SLAPolicy
	for _, policy = range sla.DefaultPolicies() {
		if policy.Priority == p {
			break
		}
	}
	if s.policy != nil {
		s.policy(&policy)
	}
	calendar := sla.DefaultCalendars()[0]
	if policy.Calendar == fieldmark.CalendarBusiness {
		calendar = business()
		if s.calendar != "" {
			if err := json.Unmarshal([]byte(s.calendar), &calendar); err != nil {
				t.Fatal(err)
			}
		}
	}
	return sla.Terms{Policy: policy, Hours: sla.NewWorkingTime(&calendar, zone)}
}

func (s story) play(t *testing.T) (got, events string) {
	t.Helper()
	zone, err := time.LoadLocation(s.zone)
	if err != nil {
		t.Fatal(err)
	}
	m := fieldmark.Mission{ID: "msn_1", MissionRequest: fieldmark.MissionRequest{Priority: fieldmark.PriorityMedium},
		Status: fieldmark.MissionNew}
	if s.priority != "" {
		m.Priority = s.priority
	}
	var timers []sla.Timer
	var told []sla.Change
	for _, line := range s.lines {
		words := strings.Fields(line)
		now, act := clockTime(t, zone, words[0], words[1]), words[2:]
		before := m
		for len(act) > 0 {
			switch word := act[0]; word {
			case "look":
			case "open":
				m.CreatedAt = fieldmark.At(now)
			case "window":
				at := fieldmark.At(clockTime(t, zone, act[1], act[2]))
				m.Window = &fieldmark.Window{Earliest: at, Latest: fieldmark.At(at.Std().Add(time.Hour))}
				act = act[2:]
			case "LOW", "MEDIUM", "HIGH", "CRITICAL":
				m.Priority = fieldmark.Priority(word)
			case "ON_HOLD":
				m.Status, m.StatusReason = fieldmark.MissionOnHold, &fieldmark.Reason{Code: act[1]}
				act = act[1:]
			default:
				m.Status, m.StatusReason = fieldmark.MissionStatus(word), nil
			}
			act = act[1:]
		}
		if timers == nil {
			timers = sla.Start(&m, s.terms(t, zone, m.Priority))
			continue
		}
		var more []sla.Change
		timers, more = sla.Advance(timers, &before, &m, s.terms(t, zone, before.Priority), s.terms(t, zone, m.Priority),
			now)
		told = append(told, more...)
	}
	c := timers[slices.IndexFunc(timers, func(c sla.Timer) bool { return c.Name == s.watch })]
	var kinds []string
	for _, e := range told {
		if e.Metric == s.watch {
			kinds = append(kinds, strings.TrimPrefix(string(e.Type), "sla."))
		}
	}
	return describe(c, zone), strings.Join(kinds, " ")
}

func clockTime(t testing.TB, zone *time.Location, date, hour string) time.Time {
	t.Helper()
	if len(hour) == len("08:00") {
		hour += ":00"
	}
	at, err := time.ParseInLocation(time.DateTime, date+" "+hour, zone)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func describe(c sla.Timer, zone *time.Location) string {
	const minute = "2006-01-02 15:04"
	due := "never"
	if c.DueAt != nil {
		due = c.DueAt.Std().In(zone).Format(minute)
	}
	text := fmt.Sprintf("%s %s %d", c.State, due, c.PausedMinutes)
	if c.BreachedAt != nil && !c.BreachedAt.Std().Equal(c.DueAt.Std()) {
		text += " at " + c.BreachedAt.Std().In(zone).Format(minute)
	}
	if c.State == fieldmark.SLABreached && c.StoppedAt != nil {
		text += " stopped"
	}
	if c.Cycle > 1 {
		text += fmt.Sprint(" cycle ", c.Cycle)
	}
	return text
}

// TestSLARulesChange changes the policy and the calendar of a running timer.
func TestSLARulesChange(t *testing.T) {
	at := clockTime(t, time.UTC, "2026-11-20", "08:00")
	m := fieldmark.Mission{ID: "msn_1", MissionRequest: fieldmark.MissionRequest{Priority: fieldmark.PriorityMedium},
		Status: fieldmark.MissionNew, CreatedAt: fieldmark.At(at)}
	was := story{}.terms(t, time.UTC, m.Priority)
	longer := story{policy: func(p *fieldmark.SLAPolicy) { p.ResponseMinutes = 300 }}.terms(t, time.UTC, m.Priority)
	shorter := story{policy: func(p *fieldmark.SLAPolicy) { p.ResponseMinutes = 60 }}.terms(t, time.UTC, m.Priority)
	closed := story{calendar: withHolidays("2026-11-20")}.terms(t, time.UTC, m.Priority)
	for _, tt := range []struct {
		name        string
		is          sla.Terms
		after       time.Duration
		cause, want string
	}{
		{"longer target", longer, time.Hour, fieldmark.SLACausePolicy, "RUNNING 2026-11-20 13:00 0"},
		{"longer target, noticed past the old due time", longer, 4*time.Hour + time.Minute, fieldmark.SLACausePolicy,
			"RUNNING 2026-11-20 13:00 0"},
		{"shorter target that is over", shorter, 2 * time.Hour, fieldmark.SLACausePolicy,
			"BREACHED 2026-11-20 09:00 0 at 2026-11-20 10:00"},
		{"a holiday that was forgotten", closed, time.Hour, fieldmark.SLACauseCalendar, "RUNNING 2026-11-23 12:00 0"},
		{"nothing", was, time.Hour, "", "RUNNING 2026-11-20 12:00 0"},
	} {
		timers, told := sla.Advance(sla.Start(&m, was), &m, &m, tt.is, tt.is, at.Add(tt.after))
		cause := ""
		for _, e := range told {
			if u, ok := e.Data.(fieldmark.SLAUpdatedEvent); ok && u.Metric == fieldmark.SLAResponse {
				cause = u.Cause
			}
		}
		if got := describe(timers[0], time.UTC); got != tt.want || cause != tt.cause {
			t.Errorf("%s: %s because of %q, want %s because of %q", tt.name, got, cause, tt.want, tt.cause)
		}
	}
}

// TestRandomSLAChanges applies random changes to missions, reads their timers at random times, and
// checks the invariants of every timer.
func TestRandomSLAChanges(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	zones := []string{"UTC", berlin, "America/St_Johns", "Asia/Beirut", "Pacific/Apia", "Australia/Lord_Howe"}
	for range 150 {
		zone, err := time.LoadLocation(zones[r.IntN(len(zones))])
		if err != nil {
			t.Fatal(err)
		}
		walkSLA(t, r, story{calendar: withHolidays("12-25", "2026-03-30")}, zone)
	}
}

func walkSLA(t *testing.T, r *rand.Rand, s story, zone *time.Location) {
	t.Helper()
	now := time.Date(2026, time.Month(1+r.IntN(12)), 1+r.IntN(28), r.IntN(24), r.IntN(60), 0, 0, time.UTC)
	priorities := fieldmark.Priorities()
	m := fieldmark.Mission{ID: "msn_1", MissionRequest: fieldmark.MissionRequest{Priority: priorities[r.IntN(4)]},
		Status: fieldmark.MissionNew, CreatedAt: fieldmark.At(now)}
	if r.IntN(3) == 0 {
		m.Window = &fieldmark.Window{Earliest: fieldmark.At(now.Add(time.Duration(r.Int64N(int64(
			72*time.Hour))) - 24*time.Hour))}
	}
	timers := sla.Start(&m, s.terms(t, zone, m.Priority))
	var held fieldmark.MissionStatus
	seen := map[string]bool{}
	reasons := []string{fieldmark.HoldWeather, fieldmark.HoldWaitingParts, fieldmark.HoldSiteAccess}
	for range 25 {
		now = now.Add(time.Duration(r.Int64N(int64(20 * time.Hour))))
		before := m
		switch next := mission.AllowedTransitions(m.Status, held); {
		case r.IntN(5) == 0:
			m.Priority = priorities[r.IntN(4)]
		case r.IntN(3) > 0 && len(next) > 0:
			m.Status, held = next[r.IntN(len(next))], m.Status
			m.StatusReason = &fieldmark.Reason{Code: reasons[r.IntN(3)]}
		}
		was, is := s.terms(t, zone, before.Priority), s.terms(t, zone, m.Priority)
		old, told := timers, []sla.Change(nil)
		timers, told = sla.Advance(old, &before, &m, was, is, now)
		for _, e := range told {
			key := fmt.Sprint(e.Type, e.Metric, e.Cycle, e.Turn)
			if seen[key] {
				t.Fatalf("%s was told twice", key)
			}
			seen[key] = true
		}
		checkTimers(t, old, timers, &m, is, now)
		if next := sla.NextDue(timers, is); next != nil && !next.Std().After(now) {
			t.Fatalf("at %s the next thing is due at %s, which is over", now, next)
		}
		again, more := sla.Advance(timers, &m, &m, is, is, now)
		if len(more) > 0 || !cmp.Equal(again, timers,
			cmp.Comparer(func(a, b fieldmark.Time) bool { return a.Std().Equal(b.Std()) })) {
			t.Fatalf("the same moment again told %v", more)
		}
	}
}

func checkTimers(t *testing.T, old, timers []sla.Timer, m *fieldmark.Mission, terms sla.Terms, now time.Time) {
	t.Helper()
	over := m.Status == fieldmark.MissionClosed || m.Status == fieldmark.MissionCanceled
	for i, c := range timers {
		was := old[i]
		switch {
		case over && c.StoppedAt == nil:
			t.Fatalf("%s runs on in %s: %+v", c.Name, m.Status, c)
		case c.State == fieldmark.SLAPaused && (c.Name == fieldmark.SLAResponse ||
			m.Status != fieldmark.MissionOnHold || c.PausedAt == nil):
			t.Fatalf("%s is paused in %s: %+v", c.Name, m.Status, c)
		case c.State != fieldmark.SLAPaused && c.PausedAt != nil:
			t.Fatalf("%s is %s and paused since %s", c.Name, c.State, c.PausedAt)
		case c.Cycle == was.Cycle && was.State == fieldmark.SLABreached && c.State != fieldmark.SLABreached:
			t.Fatalf("%s was breached and is %s", c.Name, c.State)
		case c.State == fieldmark.SLAMet && c.StoppedAt.Std().After(c.DueAt.Std()):
			t.Fatalf("%s was met at %s, due at %s", c.Name, c.StoppedAt, c.DueAt)
		case (c.State == fieldmark.SLABreached) != (c.BreachedAt != nil):
			t.Fatalf("%s is %s, breached at %v", c.Name, c.State, c.BreachedAt)
		}
		if c.State == fieldmark.SLARunning {
			unpaused, _ := terms.Hours.After(c.StartedAt.Std(), time.Duration(c.TargetMinutes)*time.Minute)
			if c.DueAt.Std().Before(unpaused) {
				t.Fatalf("%s is due at %s; without its pauses it would be at %s", c.Name, c.DueAt, unpaused)
			}
			if now.After(c.DueAt.Std()) {
				t.Fatalf("%s runs at %s, due at %s", c.Name, now, c.DueAt)
			}
		}
	}
}
