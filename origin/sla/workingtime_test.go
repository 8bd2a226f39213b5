package sla_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/sla"
)

// TestWorkingTimeAdds checks invariants for every calendar and zone: the working times of
// adjacent intervals add up, and After is the inverse of Between.
func TestWorkingTimeAdds(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, name := range []string{"UTC", berlin, "America/New_York", "America/St_Johns", "Asia/Beirut", "Pacific/Apia",
		"Australia/Lord_Howe", "Africa/Cairo", "America/Scoresbysund"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for range 40 {
			w := sla.NewWorkingTime(randomCalendar(r), zone)
			a := time.Date(2009+r.IntN(20), time.Month(1+r.IntN(12)), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60),
				0, time.UTC)
			b := a.Add(time.Duration(r.Int64N(int64(200 * time.Hour))))
			c := b.Add(time.Duration(r.Int64N(int64(400 * time.Hour))))
			ab, bc, ac := w.Between(a, b), w.Between(b, c), w.Between(a, c)
			if ab+bc != ac || ab < 0 || ac > c.Sub(a) {
				t.Fatalf("%s: from %s by %s to %s: %s + %s is not %s", name, a, b, c, ab, bc, ac)
			}
			for _, d := range []time.Duration{1, ab, time.Minute * time.Duration(1+r.IntN(5000))} {
				at, ok := w.After(a, d)
				if !ok {
					t.Fatalf("%s: %s after %s is never", name, d, a)
				}
				if back := w.Between(a, at); back != d || d > 0 && w.Between(a, at.Add(-1)) != d-1 {
					t.Fatalf("%s: %s after %s is %s, which counts %s", name, d, a, at, back)
				}
			}
			if w.Between(b, a) != 0 || w.Between(a, a) != 0 {
				t.Fatalf("%s: time runs backwards between %s and %s", name, b, a)
			}
		}
	}
}

func randomCalendar(r *rand.Rand) *fieldmark.SLACalendar {
	days := []fieldmark.Weekday{"MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"}
	c := &fieldmark.SLACalendar{}
	for range 1 + r.IntN(6) {
		from := r.IntN(1440)
		c.Hours = append(c.Hours, fieldmark.SLAHours{Days: days[r.IntN(6):], From: fieldmark.DayTime(from),
			To: fieldmark.DayTime(from + r.IntN(1441-from))})
	}
	c.Hours = append(c.Hours, fieldmark.SLAHours{Days: days[:1], From: 60, To: 240}) // never empty
	for range r.IntN(5) {
		c.Holidays = append(c.Holidays,
			fieldmark.Holiday{Date: fieldmark.HolidayDate{Month: time.Month(1 + r.IntN(12)), Day: 1 + r.IntN(28)}})
	}
	return c
}

// With business hours around the clock, working time is elapsed time, also on days with
// a change of the UTC offset.
func TestAroundTheClock(t *testing.T) {
	always := sla.DefaultCalendars()[0]
	all := always
	// the holiday disables the shortcut for calendars around the clock
	all.Holidays = []fieldmark.Holiday{{Date: fieldmark.HolidayDate{Year: 1999, Month: 1, Day: 1}}}
	for _, name := range []string{berlin, "America/St_Johns", "Asia/Beirut", "Pacific/Apia", "Australia/Lord_Howe"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		from := time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC)
		to := from.AddDate(3, 0, 17)
		if got := sla.NewWorkingTime(&all, zone).Between(from, to); got != to.Sub(from) {
			t.Errorf("%s: %s of %s are counted", name, got, to.Sub(from))
		}
		if got := sla.NewWorkingTime(&always, zone).Between(from, to); got != to.Sub(from) {
			t.Errorf("%s, the short way: %s of %s are counted", name, got, to.Sub(from))
		}
	}
}

func TestCalendarCheck(t *testing.T) {
	for _, tt := range []struct {
		name, body, want string
	}{
		{"good", `{"timeZone":"Europe/Berlin","hours":[{"days":["MON","TUE"],"from":"08:00","to":"24:00"}]}`, ""},
		{"no hours", `{"timeZone":"UTC","hours":[]}`, "/hours"},
		{"zero-length hours", `{"timeZone":"UTC","hours":[{"days":["MON"],"from":"08:00","to":"08:00"}]}`,
			"/hours/0/to"},
		{"past midnight", `{"timeZone":"UTC","hours":[{"days":["MON"],"from":"22:00","to":"06:00"}]}`, "/hours/0/to"},
		{"too few", `{"timeZone":"UTC","hours":[{"days":["MON"],"from":"08:00","to":"08:59"}]}`, "/hours"},
		{"no such day", `{"timeZone":"UTC","hours":[{"days":["MOO"],"from":"08:00","to":"18:00"}]}`, "/hours/0/days/0"},
		{"no zone", `{"timeZone":"","hours":[{"days":["MON"],"from":"08:00","to":"18:00"}]}`, "/timeZone"},
	} {
		var c fieldmark.SLACalendar
		if err := json.Unmarshal([]byte(tt.body), &c); err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		got := ""
		for _, f := range sla.ValidateCalendar(&c) {
			got += f.Pointer
		}
		if got != tt.want {
			t.Errorf("%s: %s: complaints about %q, want %q", tt.name, tt.body, got, tt.want)
		}
	}
	for _, text := range []string{"2026-02-29", "02-30", "13-01", "00-10", "2026-1-1", "0000-01-01", "", "1-1",
		"2026-12-25T", "-1-01"} {
		var d fieldmark.HolidayDate
		if err := d.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was taken for the day %+v", text, d)
		}
	}
	for _, text := range []string{"24:01", "8:00", "08.00", "08:60", "", "+1:00"} {
		var d fieldmark.DayTime
		if err := d.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was taken for the time %d", text, d)
		}
	}
}

// FuzzCalendar decodes calendars, computes working time, and checks that encoding and
// decoding a calendar returns the same calendar.
func FuzzCalendar(f *testing.F) {
	f.Add(withHolidays("12-25", "2026-02-28"), int64(1_700_000_000), int64(100_000))
	f.Add(`{"timeZone":"UTC","hours":[{"days":["SUN","MON"],"from":"02:30","to":"24:00"},{"days":["SUN"],`+
		`"from":"00:00","to":"02:30"}]}`, int64(0), int64(1))
	zone, err := time.LoadLocation(berlin)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body string, from, seconds int64) {
		var c fieldmark.SLACalendar
		if json.Unmarshal([]byte(body), &c) != nil || len(sla.ValidateCalendar(&c)) > 0 {
			return
		}
		again, err := json.Marshal(c)
		if err != nil {
			t.Fatalf("write %+v: %v", c, err)
		}
		var same fieldmark.SLACalendar
		if err := json.Unmarshal(again, &same); err != nil {
			t.Fatalf("read %s back: %v", again, err)
		}
		a := time.Unix(from%(1<<33), 0)
		d := time.Duration(max(0, seconds)%1_000_000) * time.Second
		at, ok := sla.NewWorkingTime(&c, zone).After(a, d)
		if !ok {
			return // ten years of holidays
		}
		if got := sla.NewWorkingTime(&same, zone).Between(a, at); got != d {
			t.Errorf("%s: %s after %s is %s, which counts %s", again, d, a, at, got)
		}
	})
}
