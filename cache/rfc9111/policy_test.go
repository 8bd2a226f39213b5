package rfc9111_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/cache/rfc9111"
)

// came is the time at which the responses of these tests are received. Their Date is
// the same second unless set otherwise.
var came = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// head reads "Name: value" fields separated by line breaks or by " | ".
func head(text string) http.Header {
	h := http.Header{}
	for line := range strings.SplitSeq(strings.ReplaceAll(text, " | ", "\n"), "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			h.Add(strings.TrimSpace(name), strings.TrimSpace(value))
		}
	}
	if h.Get("Date") == "" && !strings.Contains(text, "Date:") {
		h.Set("Date", came.Format(http.TimeFormat))
	}
	return h
}

// date returns the HTTP-date n seconds after came.
func date(seconds int) string {
	return came.Add(time.Duration(seconds) * time.Second).Format(http.TimeFormat)
}

func TestLifetime(t *testing.T) {
	const none = -1 // not explicit
	for _, tt := range []struct {
		name, head string
		status     int
		want       int // seconds
	}{
		{"nothing said", "", 200, none},
		{"max-age", "Cache-Control: max-age=60", 200, 60},
		{"any case", "Cache-Control: MAX-aGe=60", 200, 60},
		{"quoted argument", `Cache-Control: max-age="60"`, 200, 60},
		{"s-maxage beats max-age", "Cache-Control: max-age=1, s-maxage=60", 200, 60},
		{"max-age beats Expires", "Cache-Control: max-age=60 | Expires: " + date(10), 200, 60},
		{"max-age=0 beats Expires", "Cache-Control: max-age=0 | Expires: " + date(10), 200, 0},
		{"two lines are one list", "Cache-Control: public | Cache-Control: max-age=60", 200, 60},
		{"empty members", "Cache-Control: ,, max-age=60 ,", 200, 60},
		{"unknown directives", "Cache-Control: foo=\"a, max-age=1\", bar, max-age=60", 200, 60},
		{"name within another", "Cache-Control: x-max-age=60", 200, none},
		{"leading zeros", "Cache-Control: max-age=00060", 200, 60},
		{"saturates", "Cache-Control: max-age=99999999999999999999", 200, 1 << 31},
		{"negative is stale", "Cache-Control: max-age=-60", 200, 0},
		{"a fraction is stale", "Cache-Control: max-age=60.5", 200, 0},
		{"letters are stale", "Cache-Control: max-age=60x", 200, 0},
		{"no argument is stale", "Cache-Control: max-age", 200, 0},
		{"single quotes are stale", "Cache-Control: max-age='60'", 200, 0},
		{"twice the same", "Cache-Control: max-age=60, max-age=60", 200, 60},
		{"twice, different, is stale", "Cache-Control: max-age=60, max-age=90", 200, 0},
		{"bad s-maxage is stale", "Cache-Control: s-maxage=x, max-age=60", 200, 0},
		{"Expires", "Expires: " + date(60), 200, 60},
		{"Expires counts from Date", "Expires: " + date(60) + " | Date: " + date(-40), 200, 100},
		{"Expires with a Date ahead", "Expires: " + date(60) + " | Date: " + date(40), 200, 20},
		{"Expires in the past", "Expires: " + date(-60), 200, 0},
		{"Expires: 0", "Expires: 0", 200, 0},
		{"Expires twice is stale", "Expires: " + date(60) + " | Expires: " + date(60), 200, 0},
		{"Expires of another zone", "Expires: Sat, 21 Nov 2026 13:00:00 CET", 200, 0},
		{"heuristic", "Last-Modified: " + date(-1000), 200, 100},
		{"heuristic, capped", "Last-Modified: " + date(-10000000), 200, 86400},
		{"heuristic for 404", "Last-Modified: " + date(-1000), 404, 100},
		{"no heuristic for 500", "Last-Modified: " + date(-1000), 500, none},
		{"no heuristic for an unknown status", "Last-Modified: " + date(-1000), 599, none},
		{"public lets guess", "Cache-Control: public | Last-Modified: " + date(-1000), 599, 100},
		{"Last-Modified ahead", "Last-Modified: " + date(10), 200, none},
		{"no guess beside no-cache", "Cache-Control: no-cache | Last-Modified: " + date(-1000), 200, none},
		{"CDN-Cache-Control decides", "CDN-Cache-Control: max-age=60 | Cache-Control: max-age=1", 200, 60},
		{"over no-store", "CDN-Cache-Control: max-age=60 | Cache-Control: no-store", 200, 60},
		{"over Expires", "CDN-Cache-Control: must-revalidate | Expires: " + date(60), 200, none},
		{"ignored when unreadable", "CDN-Cache-Control: &&&& | Cache-Control: max-age=9", 200, 9},
		{"ignored with a quoted number", `CDN-Cache-Control: max-age="60" | Cache-Control: max-age=9`, 200, 9},
		{"ignored with a fraction", "CDN-Cache-Control: max-age=60.5 | Cache-Control: max-age=9", 200, 9},
		{"ignored with a negative age", "CDN-Cache-Control: max-age=-60 | Cache-Control: max-age=9", 200, 9},
		{"ignored in upper case", "CDN-Cache-Control: Max-Age=60 | Cache-Control: max-age=9", 200, 9},
		{"ignored when empty", "CDN-Cache-Control:  | Cache-Control: max-age=9", 200, 9},
		{"the last of two members counts", "CDN-Cache-Control: max-age=1, max-age=60", 200, 60},
		{"parameters are no matter", "CDN-Cache-Control: max-age=60;x=1 | Cache-Control: max-age=9", 200, 60},
	} {
		p := rfc9111.ReadPolicy(tt.status, head(tt.head), came)
		got := int(p.Lifetime / time.Second)
		if !p.Explicit && got == 0 {
			got = none
		}
		if got != tt.want {
			t.Errorf("%s: %q with %d: lives %d s, want %d", tt.name, tt.head, tt.status, got, tt.want)
		}
	}
}

func TestStorable(t *testing.T) {
	const ok = ""
	for _, tt := range []struct {
		method, ask, head string
		status            int
		strict, rfc       rfc9111.Reason
	}{
		{"GET", "", "Cache-Control: max-age=60", 200, ok, ok},
		{"HEAD", "", "Cache-Control: max-age=60", 200, rfc9111.ReasonMethod, rfc9111.ReasonMethod},
		{"POST", "", "Cache-Control: max-age=60", 200, rfc9111.ReasonMethod, rfc9111.ReasonMethod},
		{"GET", "", "Cache-Control: max-age=60", 206, rfc9111.ReasonPartial, rfc9111.ReasonPartial},
		{"GET", "", "Cache-Control: max-age=60", 304, rfc9111.ReasonPartial, rfc9111.ReasonPartial},
		{"GET", "", "Cache-Control: max-age=60", 103, rfc9111.ReasonStatus, rfc9111.ReasonStatus},
		{"GET", "", "Cache-Control: max-age=60", 599, ok, ok},
		{"GET", "", "Cache-Control: max-age=60, must-understand", 599, rfc9111.ReasonStatus, rfc9111.ReasonStatus},
		{"GET", "", "Cache-Control: max-age=60, must-understand, no-store", 200, ok, ok},
		{"GET", "", "Cache-Control: max-age=60, no-store", 200, rfc9111.ReasonNoStore, rfc9111.ReasonNoStore},
		{"GET", "", "Cache-Control: max-age=60, No-Store", 200, rfc9111.ReasonNoStore, rfc9111.ReasonNoStore},
		{"GET", "", "Cache-Control: max-age=60, private", 200, rfc9111.ReasonPrivate, rfc9111.ReasonPrivate},
		{"GET", "", `Cache-Control: max-age=60, private="x-a, x-b"`, 200, ok, ok},
		{"GET", "", `Cache-Control: max-age=60, private="x-a", private`, 200, rfc9111.ReasonPrivate,
			rfc9111.ReasonPrivate},
		{"GET", "Cache-Control: no-store", "Cache-Control: max-age=60", 200, rfc9111.ReasonRequest,
			rfc9111.ReasonRequest},
		{"GET", "Authorization: x", "Cache-Control: max-age=60", 200, rfc9111.ReasonAuthorization,
			rfc9111.ReasonAuthorization},
		{"GET", "Authorization: x", "Cache-Control: max-age=60, public", 200, ok, ok},
		{"GET", "Authorization: x", "Cache-Control: s-maxage=60", 200, ok, ok},
		{"GET", "Authorization: x", "Cache-Control: max-age=60, must-revalidate", 200, ok, ok},
		{"GET", "Authorization: x", "Cache-Control: max-age=60, proxy-revalidate", 200, rfc9111.ReasonAuthorization,
			rfc9111.ReasonAuthorization},
		{"GET", "", "Cache-Control: max-age=60 | Vary: a, *, b", 200, rfc9111.ReasonVary, rfc9111.ReasonVary},
		{"GET", "", "Cache-Control: max-age=60 | Vary: a | Vary: *", 200, rfc9111.ReasonVary, rfc9111.ReasonVary},
		{"GET", "", "Cache-Control: max-age=60 | Set-Cookie: a=b", 200, rfc9111.ReasonCookie, ok},
		{"GET", "", "Cache-Control: max-age=60, public | Set-Cookie: a=b", 200, ok, ok},
		{"GET", "", "Cache-Control: s-maxage=60 | Set-Cookie: a=b", 200, ok, ok},
		{"GET", "", "Last-Modified: " + date(-1000) + " | Set-Cookie: a=b", 200, rfc9111.ReasonCookie,
			rfc9111.ReasonCookie},
		{"GET", "", "", 200, rfc9111.ReasonNoLifetime, rfc9111.ReasonNoLifetime},
		{"GET", "", "Cache-Control: max-age=0", 200, rfc9111.ReasonNoLifetime, rfc9111.ReasonNoLifetime},
		{"GET", "", `Etag: "a"`, 200, ok, ok},
		{"GET", "", `Cache-Control: no-cache | Etag: "a"`, 200, ok, ok},
		{"GET", "", `Etag: "a"`, 500, rfc9111.ReasonStatus, rfc9111.ReasonStatus},
		{"GET", "", "Cache-Control: max-age=60", 503, ok, ok},
		{"GET", "", "CDN-Cache-Control: max-age=60 | Cache-Control: private, no-store", 200, ok, ok},
		{"GET", "", "CDN-Cache-Control: no-store | Cache-Control: max-age=60", 200, rfc9111.ReasonNoStore,
			rfc9111.ReasonNoStore},
	} {
		for profile, want := range map[rfc9111.Profile]rfc9111.Reason{rfc9111.Strict: tt.strict, rfc9111.RFC: tt.rfc} {
			q := rfc9111.Request{Method: tt.method, Header: head(tt.ask)}
			q.Directives = profile.ParseRequestDirectives(q.Header)
			h := head(tt.head)
			policy := rfc9111.ReadPolicy(tt.status, h, came)
			if got := profile.Storable(&q, tt.status, h, &policy); got != want {
				t.Errorf("%s %s [%s] answered %d [%s]: %q, want %q", profile, tt.method, tt.ask, tt.status, tt.head,
					got, want)
			}
		}
	}
}

func TestAge(t *testing.T) {
	for _, tt := range []struct {
		head        string
		delay, wait int
		want        int
	}{
		{"", 0, 0, 0},
		{"", 0, 5, 5},
		{"", 3, 5, 8}, // the delay counts
		{"Age: 10", 3, 5, 18},
		{"Date: " + date(-30), 0, 5, 35},
		{"Date: " + date(-30) + " | Age: 40", 0, 0, 40},
		{"Date: " + date(30), 0, 5, 5}, // a clock that is ahead
		{"Date: nonsense", 0, 5, 5},
		{"Age: 7, 100", 0, 0, 7},
		{"Age: 7 | Age: 100", 0, 0, 7},
		{"Age: 7.5", 0, 0, 0},
		{"Age: -7", 0, 0, 0},
		{"Age: abc", 0, 0, 0},
		{"Age: 7;foo=bar", 0, 0, 0},
		{`Age: "7"`, 0, 0, 0},
		{"Age: 99999999999", 0, 0, 1 << 31},
	} {
		r := rfc9111.NewResponse(200, head(tt.head), came.Add(time.Duration(-tt.delay)*time.Second), came)
		if got := int(r.Age(came.Add(time.Duration(tt.wait)*time.Second)) / time.Second); got != tt.want {
			t.Errorf("%q after %d s of asking and %d s of waiting: age %d, want %d", tt.head, tt.delay, tt.wait, got,
				tt.want)
		}
		if got := r.Header.Get("Age"); got != "" {
			t.Errorf("%q: Age %q is stored", tt.head, got)
		}
	}
}

func TestParseDate(t *testing.T) {
	want := time.Date(1994, 11, 6, 8, 49, 37, 0, time.UTC)
	for in, ok := range map[string]bool{
		"Sun, 06 Nov 1994 08:49:37 GMT":    true,
		"Sunday, 06-Nov-94 08:49:37 GMT":   true,
		"Sun Nov  6 08:49:37 1994":         true,
		"Sun Nov 06 08:49:37 1994":         true,
		"sun, 06 NOV 1994 08:49:37 gmt":    true,
		" Sun, 06 Nov 1994 08:49:37 GMT\t": true,
		"Mon, 06 Nov 1994 08:49:37 GMT":    true, // the day is not compared
		"Sun, 06 Nov 1994 08:49:37 UTC":    false,
		"Sun, 06 Nov 1994 08:49:37 +0000":  false,
		"Sun, 06 Nov 1994 08:49:37":        false,
		"Sun, 6 Nov 1994 08:49:37 GMT":     false,
		"Sun, 06 Nov 94 08:49:37 GMT":      false,
		"Sun, 06-Nov-1994 08:49:37 GMT":    false,
		"Sun, 06 Nov 1994 8:49:37 GMT":     false,
		"Sun, 06 Nov 1994 08:49 GMT":       false,
		"Sun, 06 Nov 1994 08.49.37 GMT":    false,
		"Sun 06 Nov 1994 08:49:37 GMT":     false,
		"Sun,  06 Nov 1994 08:49:37 GMT":   false,
		"06 Nov 1994 08:49:37 GMT":         false,
		"Sun, 31 Feb 1994 08:49:37 GMT":    false,
		"Sun, 06 Nov 1994 24:49:37 GMT":    false,
		"Sun, 06 Nov 1994 08:60:37 GMT":    false,
		"Sun, 06 Foo 1994 08:49:37 GMT":    false,
		"0":                                false,
		"-1":                               false,
		"784111777":                        false,
		"":                                 false,
	} {
		got, valid := rfc9111.ParseDate(in, came)
		if valid != ok || ok && !got.Equal(want) {
			t.Errorf("%q: %v %v, want %v %v", in, got, valid, want, ok)
		}
	}
	if got, _ := rfc9111.ParseDate("Sunday, 06-Nov-70 08:49:37 GMT", came); got.Year() != 2070 {
		t.Errorf("the year 70 of 2026 is %d, want 2070", got.Year())
	}
	if got, _ := rfc9111.ParseDate("Sunday, 06-Nov-77 08:49:37 GMT", came); got.Year() != 1977 {
		t.Errorf("the year 77 of 2026 is %d, want 1977", got.Year())
	}
}
