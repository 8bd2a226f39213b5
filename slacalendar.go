package fieldmark

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// The calendars there are before an operator makes any.
const (
	CalendarAlways   = "24x7"
	CalendarBusiness = "business"
)

// Bounds of a calendar.
const (
	MaxCalendarName   = 64   // bytes
	MaxCalendarHours  = 50   // seven days of seven windows
	MaxHolidays       = 1000 // a decade of a country with regional ones
	maxCalendarDays   = 3653 // how far ahead a deadline is looked for: ten years
	minutesOfDay      = 24 * 60
	MaxTargetMinutes  = 366 * minutesOfDay
	MinWorkingMinutes = 60 // of a week: any less is a typing error
)

// SLACalendar says when time counts: opening hours by day of the week, without
// the holidays. Hours are read on the clock of one place. Where that clock skips
// an hour or shows one twice, an opening or closing time is the first instant at
// which the clock shows that time or a later one.
type SLACalendar struct {
	Name            string     `json:"name"`
	TimeZone        string     `json:"timeZone" minLength:"1" maxLength:"64" doc:"IANA time zone the hours are read in, where the mission's location names none"`
	FollowsLocation bool       `json:"followsLocation" doc:"Whether a location's own time zone goes before the calendar's"`
	Hours           []SLAHours `json:"hours" minItems:"1" maxItems:"50"`
	Holidays        []Holiday  `json:"holidays" maxItems:"1000"`
}

// SLAHours is one stretch of working time on some days of the week. What goes
// past midnight is written as two.
type SLAHours struct {
	Days []Weekday `json:"days" minItems:"1" maxItems:"7" enum:"MON,TUE,WED,THU,FRI,SAT,SUN"`
	From DayTime   `json:"from" pattern:"^([01][0-9]|2[0-4]):[0-5][0-9]$" patternDescription:"a time of day, as in 08:00"`
	To   DayTime   `json:"to" pattern:"^([01][0-9]|2[0-4]):[0-5][0-9]$" patternDescription:"a time of day, up to 24:00"`
}

// Weekday is a day of the week: MON to SUN.
type Weekday string

// weekdays are in the order of time.Weekday.
var weekdays = [7]Weekday{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}

// DayTime is a time of day in minutes after midnight, written as 08:00; 24:00 is
// the end of the day.
type DayTime int

// MarshalText implements encoding.TextMarshaler.
func (d DayTime) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%02d:%02d", d/60, d%60), nil
}

// UnmarshalText accepts two digits, a colon and two digits, up to 24:00.
func (d *DayTime) UnmarshalText(b []byte) error {
	h, m, ok := twoAndTwo(string(b), ":")
	if !ok || m > 59 || h*60+m > minutesOfDay {
		return fmt.Errorf("not a time of day: it is written 08:00, up to 24:00")
	}
	*d = DayTime(h*60 + m)
	return nil
}

// twoAndTwo reads two numbers of two digits each.
func twoAndTwo(s, between string) (a, b int, ok bool) {
	if len(s) != 4+len(between) || s[2:2+len(between)] != between || strings.Trim(s[:2]+s[2+len(between):], "0123456789") != "" {
		return 0, 0, false
	}
	two := func(s string) int { return int(s[0]-'0')*10 + int(s[1]-'0') }
	return two(s), two(s[2+len(between):]), true
}

// Holiday is a day on which no time counts.
type Holiday struct {
	Date HolidayDate `json:"date" minLength:"5" maxLength:"10" doc:"A day, as in 2026-12-25, or one of every year, as in 12-25"`
	Name string      `json:"name,omitempty" maxLength:"100"`
}

// HolidayDate is a day of one year, or of every year where Year is 0. The 29th
// of February of every year is a holiday in leap years only.
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

// UnmarshalText accepts 2026-12-25 and 12-25, if there is such a day.
func (d *HolidayDate) UnmarshalText(b []byte) error {
	year, rest := 0, string(b)
	if len(rest) == len("2026-12-25") && rest[4] == '-' {
		hundreds, ones, ok := twoAndTwo(rest[:4], "")
		if year = hundreds*100 + ones; !ok || year == 0 {
			return errNoDate()
		}
		rest = rest[5:]
	}
	month, day, ok := twoAndTwo(rest, "-")
	leap := year
	if leap == 0 {
		leap = 2000 // has every day a year can have
	}
	at := time.Date(leap, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if !ok || at.Month() != time.Month(month) || at.Day() != day || month == 0 {
		return errNoDate()
	}
	*d = HolidayDate{Year: year, Month: time.Month(month), Day: day}
	return nil
}

func errNoDate() error {
	return fmt.Errorf("not a day there is: it is written 2026-12-25, or 12-25 for every year")
}

// Check returns every complaint about a calendar and puts it into its normal
// form: hours and holidays sorted, without repeats. Whether the zone is known is
// asked where the zone data is.
func (c *SLACalendar) Check() []FieldError {
	var bad []FieldError
	complain := func(pointer, code, detail string) {
		bad = append(bad, FieldError{Pointer: pointer, Code: code, Detail: detail})
	}
	if !validZone(c.TimeZone) {
		complain("/timeZone", "format", "must be an IANA time zone name")
	}
	if c.Hours == nil {
		c.Hours = []SLAHours{}
	}
	for i, h := range c.Hours {
		at := fmt.Sprintf("/hours/%d", i)
		for j, d := range h.Days {
			if !slices.Contains(weekdays[:], d) {
				complain(fmt.Sprintf("%s/days/%d", at, j), "enum", "must be one of MON, TUE, WED, THU, FRI, SAT, SUN")
			}
		}
		if h.From >= h.To {
			complain(at+"/to", "range", "must be later than from; what goes past midnight is written as two")
		}
	}
	if len(bad) == 0 && c.weeklyMinutes() < MinWorkingMinutes {
		complain("/hours", "range", fmt.Sprintf("must come to at least %d minutes a week", MinWorkingMinutes))
	}
	for i, h := range c.Holidays {
		if h.Date.Month == 0 {
			complain(fmt.Sprintf("/holidays/%d/date", i), "required", "is required")
		}
	}
	slices.SortStableFunc(c.Holidays, func(a, b Holiday) int { return a.Date.compare(b.Date) })
	c.Holidays = slices.CompactFunc(c.Holidays, func(a, b Holiday) bool { return a.Date == b.Date })
	if c.Holidays == nil {
		c.Holidays = []Holiday{}
	}
	return bad
}

func (d HolidayDate) compare(o HolidayDate) int {
	for _, n := range [...]int{d.Year - o.Year, int(d.Month - o.Month), d.Day - o.Day} {
		if n != 0 {
			return n
		}
	}
	return 0
}

// weeklyMinutes counts the working time of a week without holidays.
func (c *SLACalendar) weeklyMinutes() int {
	total := 0
	for day := range weekdays {
		for _, w := range c.windows(time.Weekday(day)) {
			total += int(w[1] - w[0])
		}
	}
	return total
}

// windows lists the opening hours of a day of the week in order, none
// overlapping, none empty.
func (c *SLACalendar) windows(day time.Weekday) [][2]DayTime {
	var all [][2]DayTime
	for _, h := range c.Hours {
		if h.From < h.To && slices.Contains(h.Days, weekdays[day]) {
			all = append(all, [2]DayTime{h.From, h.To})
		}
	}
	slices.SortFunc(all, func(a, b [2]DayTime) int { return int(a[0] - b[0]) })
	merged := all[:0]
	for _, w := range all {
		if n := len(merged); n > 0 && w[0] <= merged[n-1][1] {
			merged[n-1][1] = max(merged[n-1][1], w[1])
			continue
		}
		merged = append(merged, w)
	}
	return merged
}

// WorkingTime is a calendar on the clock of one place, made ready to count.
type WorkingTime struct {
	zone     *time.Location
	week     [7][][2]DayTime
	holidays []HolidayDate // sorted
	always   bool
}

// In returns the calendar as it counts in a zone.
func (c *SLACalendar) In(zone *time.Location) WorkingTime {
	w := WorkingTime{zone: zone, always: len(c.Holidays) == 0}
	for day := range w.week {
		w.week[day] = c.windows(time.Weekday(day))
		whole := len(w.week[day]) == 1 && w.week[day][0] == [2]DayTime{0, minutesOfDay}
		w.always = w.always && whole
	}
	for _, h := range c.Holidays {
		w.holidays = append(w.holidays, h.Date)
	}
	slices.SortFunc(w.holidays, HolidayDate.compare)
	return w
}

// Between returns how much time counts from one instant to a later one; it is 0
// if to is not later.
func (w WorkingTime) Between(from, to time.Time) time.Duration {
	if !to.After(from) {
		return 0
	}
	if w.always {
		return to.Sub(from)
	}
	var total time.Duration
	w.each(from, func(opens, closes time.Time) bool {
		if !opens.Before(to) {
			return false
		}
		total += earlier(closes, to).Sub(opens)
		return true
	})
	return total
}

// After returns the first instant by which so much working time has passed since
// from. It reports false if there is none within ten years.
func (w WorkingTime) After(from time.Time, working time.Duration) (time.Time, bool) {
	if working <= 0 {
		return from, true
	}
	if w.always {
		return from.Add(working), true
	}
	var at time.Time
	w.each(from, func(opens, closes time.Time) bool {
		if open := closes.Sub(opens); open < working {
			working -= open
			return true
		}
		at = opens.Add(working)
		return false
	})
	return at, !at.IsZero()
}

// each calls yield with every stretch of working time after from, in order, for
// ten years or until yield says that it has seen enough.
func (w WorkingTime) each(from time.Time, yield func(opens, closes time.Time) bool) {
	year, month, day := from.In(w.zone).Date()
	for n := range maxCalendarDays {
		date := time.Date(year, month, day+n, 0, 0, 0, 0, time.UTC) // stands for the day, not for an instant
		windows := w.week[date.Weekday()]
		if len(windows) == 0 || w.isHoliday(date) {
			continue
		}
		for _, h := range windows {
			closes := onClock(date.Add(time.Duration(h[1])*time.Minute), w.zone)
			if !closes.After(from) {
				continue
			}
			opens := onClock(date.Add(time.Duration(h[0])*time.Minute), w.zone)
			if opens.Before(from) {
				opens = from
			}
			if opens.Before(closes) && !yield(opens, closes) {
				return
			}
		}
	}
}

func (w WorkingTime) isHoliday(date time.Time) bool {
	for _, year := range [...]int{0, date.Year()} {
		d := HolidayDate{Year: year, Month: date.Month(), Day: date.Day()}
		if _, found := slices.BinarySearchFunc(w.holidays, d, HolidayDate.compare); found {
			return true
		}
	}
	return false
}

// maxOffset is more than any clock was ever away from UTC.
const maxOffset = 16 * time.Hour

// onClock returns the first instant at which the clock of a zone shows a time or
// a later one. The time is written as if it were UTC. time.Date promises neither
// of the two instants where a clock shows a time twice, nor a side where it skips
// one; with them, hours that meet could overlap or leave a gap.
func onClock(shown time.Time, zone *time.Location) time.Time {
	at := shown.Add(-maxOffset).In(zone)
	for {
		_, offset := at.Zone()
		_, until := at.ZoneBounds()
		found := shown.Add(-time.Duration(offset) * time.Second).In(zone)
		if found.Before(at) {
			return at // skipped: the clock jumped over it just now
		}
		if until.IsZero() || found.Before(until) {
			return found
		}
		at = until.In(zone)
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// DefaultCalendars are those that are in force until an operator puts others in
// their place.
func DefaultCalendars() []SLACalendar {
	day := []SLAHours{{Days: []Weekday{"MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"}, From: 0, To: minutesOfDay}}
	week := []SLAHours{{Days: []Weekday{"MON", "TUE", "WED", "THU", "FRI"}, From: 8 * 60, To: 18 * 60}}
	return []SLACalendar{
		{Name: CalendarAlways, TimeZone: "UTC", Hours: day, Holidays: []Holiday{}},
		{Name: CalendarBusiness, TimeZone: "UTC", FollowsLocation: true, Hours: week, Holidays: []Holiday{}},
	}
}

// ParseCalendarName accepts 1 to 64 of a-z, 0-9 and hyphens.
func ParseCalendarName(s string) (string, error) {
	if s == "" || len(s) > MaxCalendarName || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return "", Errorf(CodeInvalidParameter, "a calendar's name has 1 to 64 of a-z, 0-9 and hyphens")
	}
	return s, nil
}
