package rfc9111

import (
	"strconv"
	"strings"
	"time"
)

// twoDigitYears is how many years in the future a two-digit year may be before it
// means the previous century (RFC 9110, 5.6.7).
const twoDigitYears = 50

// ParseDate parses an HTTP-date in any of its three forms (RFC 9110, 5.6.7):
//
//	Sun, 06 Nov 1994 08:49:37 GMT
//	Sunday, 06-Nov-94 08:49:37 GMT
//	Sun Nov  6 08:49:37 1994
//
// Case is ignored, because senders differ. The zone must be GMT: any other is
// ambiguous. now gives the century of the second form. The day of the week is not
// compared with the date.
func ParseDate(s string, now time.Time) (time.Time, bool) {
	s = trimOWS(s)
	day, rest, ok := strings.Cut(s, ",")
	switch {
	case !ok:
		return parseAsctime(s)
	case len(day) == 3 && isWeekday(day, 3) && len(rest) == len(" 06 Nov 1994 08:49:37 GMT"):
		if rest[0] != ' ' || rest[3] != ' ' || rest[7] != ' ' {
			return time.Time{}, false
		}
		return makeTime(rest[8:12], rest[4:7], rest[1:3], rest[12:])
	case isWeekday(day, 0) && len(rest) == len(" 06-Nov-94 08:49:37 GMT"):
		if rest[0] != ' ' || rest[3] != '-' || rest[7] != '-' {
			return time.Time{}, false
		}
		year, ok := parseDigits(rest[8:10])
		if !ok {
			return time.Time{}, false
		}
		year += now.Year() / 100 * 100
		if year > now.Year()+twoDigitYears {
			year -= 100
		}
		return makeTime(strconv.Itoa(year), rest[4:7], rest[1:3], rest[10:])
	}
	return time.Time{}, false
}

// parseAsctime parses the form that C's asctime produces.
func parseAsctime(s string) (time.Time, bool) {
	if len(s) != len("Sun Nov  6 08:49:37 1994") || !isWeekday(s[:3], 3) || s[3] != ' ' || s[7] != ' ' ||
		s[10] != ' ' || s[19] != ' ' {
		return time.Time{}, false
	}
	day := s[8:10]
	if day[0] == ' ' {
		day = "0" + day[1:]
	}
	return makeTime(s[20:], s[4:7], day, s[10:19]+" GMT")
}

// makeTime returns the time of these parts; clock is " 08:49:37 GMT".
func makeTime(year, month, day, clock string) (time.Time, bool) {
	if len(clock) != len(" 08:49:37 GMT") || clock[0] != ' ' || clock[3] != ':' || clock[6] != ':' ||
		!strings.EqualFold(clock[9:], " GMT") {
		return time.Time{}, false
	}
	var n [5]int
	for i, part := range []string{year, day, clock[1:3], clock[4:6], clock[7:9]} {
		var ok bool
		if n[i], ok = parseDigits(part); !ok {
			return time.Time{}, false
		}
	}
	m := monthOf(month)
	if m == 0 || n[1] < 1 || n[2] > 23 || n[3] > 59 || n[4] > 60 {
		return time.Time{}, false
	}
	t := time.Date(n[0], m, n[1], n[2], n[3], n[4], 0, time.UTC)
	if t.Month() != m && n[4] != 60 { // for example 31 June
		return time.Time{}, false
	}
	return t, true
}

func parseDigits(s string) (int, bool) {
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, true
}

func monthOf(s string) time.Month {
	for m := time.January; m <= time.December; m++ {
		if strings.EqualFold(m.String()[:3], s) {
			return m
		}
	}
	return 0
}

// isWeekday reports whether s is the name of a weekday, cut to a number of letters;
// 0 means the whole name.
func isWeekday(s string, letters int) bool {
	for d := time.Sunday; d <= time.Saturday; d++ {
		name := d.String()
		if letters > 0 {
			name = name[:letters]
		}
		if strings.EqualFold(name, s) {
			return true
		}
	}
	return false
}
