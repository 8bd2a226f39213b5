package sla

import (
	"slices"
	"time"

	"github.com/fieldmark/fieldmark"
)

const (
	minutesPerDay = 24 * 60
	// maxSearchDays bounds the search for a deadline: ten years. A calendar that
	// is closed for longer has no deadline.
	maxSearchDays = 3653
)

// weekdays is indexed by time.Weekday.
var weekdays = [7]fieldmark.Weekday{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}

// WorkingTime counts the working time of a calendar in one time zone. It is
// immutable and may be used concurrently.
type WorkingTime struct {
	zone     *time.Location
	week     [7][]window
	holidays []fieldmark.HolidayDate // sorted
	always   bool                    // open around the clock without holidays
}

// window is a span of opening hours within a day.
type window struct{ from, to fieldmark.DayTime }

// NewWorkingTime returns the working time of a calendar in a time zone. Where the
// clock of the zone skips or repeats an hour, an opening or closing time is the
// first instant at which the clock shows that time or a later one.
// Laws set opening hours by the clock on the wall, so a day with a change of the clock may have an
// hour more or less.
func NewWorkingTime(c *fieldmark.SLACalendar, zone *time.Location) WorkingTime {
	w := WorkingTime{zone: zone, always: len(c.Holidays) == 0}
	for day := range w.week {
		w.week[day] = windowsOf(c, time.Weekday(day))
		w.always = w.always && slices.Equal(w.week[day], []window{{0, minutesPerDay}})
	}
	for _, h := range c.Holidays {
		w.holidays = append(w.holidays, h.Date)
	}
	slices.SortFunc(w.holidays, compareDates)
	return w
}

// windowsOf returns the opening hours of a weekday, sorted and merged.
// Overlapping hours of a calendar are merged, or their working time would count twice.
func windowsOf(c *fieldmark.SLACalendar, day time.Weekday) []window {
	var all []window
	for _, h := range c.Hours {
		if h.From < h.To && slices.Contains(h.Days, weekdays[day]) {
			all = append(all, window{h.From, h.To})
		}
	}
	slices.SortFunc(all, func(a, b window) int { return int(a.from - b.from) })
	merged := all[:0]
	for _, w := range all {
		if n := len(merged); n > 0 && w.from <= merged[n-1].to {
			merged[n-1].to = max(merged[n-1].to, w.to)
			continue
		}
		merged = append(merged, w)
	}
	return merged
}

// weeklyMinutes returns the working time of a week without holidays.
func weeklyMinutes(c *fieldmark.SLACalendar) int {
	total := 0
	for day := range weekdays {
		for _, w := range windowsOf(c, time.Weekday(day)) {
			total += int(w.to - w.from)
		}
	}
	return total
}

// Between returns the working time from one instant to a later one, or 0 if to is
// not later.
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
		if to.Before(closes) {
			closes = to
		}
		total += closes.Sub(opens)
		return true
	})
	return total
}

// After returns the first instant at which the given working time has passed since
// from. It reports false if there is no such instant within ten years.
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

// each calls yield with every span of working time after from, in order, until
// yield returns false or the search limit is reached.
// It goes by calendar days of the zone and not by 24 hours, because days have 23 to 25.
func (w WorkingTime) each(from time.Time, yield func(opens, closes time.Time) bool) {
	year, month, day := from.In(w.zone).Date()
	for n := range maxSearchDays {
		date := time.Date(year, month, day+n, 0, 0, 0, 0, time.UTC) // the calendar day, not an instant
		windows := w.week[date.Weekday()]
		if len(windows) == 0 || w.isHoliday(date) {
			continue
		}
		for _, h := range windows {
			closes := fieldmark.FirstInstant(date.Add(time.Duration(h.to)*time.Minute), w.zone)
			if !closes.After(from) {
				continue
			}
			opens := fieldmark.FirstInstant(date.Add(time.Duration(h.from)*time.Minute), w.zone)
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
	// A holiday of the year 0 is one of every year.
	for _, year := range [...]int{0, date.Year()} {
		d := fieldmark.HolidayDate{Year: year, Month: date.Month(), Day: date.Day()}
		if _, found := slices.BinarySearchFunc(w.holidays, d, compareDates); found {
			return true
		}
	}
	return false
}

func compareDates(a, b fieldmark.HolidayDate) int {
	for _, n := range [...]int{a.Year - b.Year, int(a.Month - b.Month), a.Day - b.Day} {
		if n != 0 {
			return n
		}
	}
	return 0
}
