package ics_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fieldmark/fieldmark/origin/ics"
)

// hostile are titles that defective writers or readers fail on.
var hostile = []string{
	"plain",
	`back\slash, comma; semicolon: colon "quoted" ^caret^ \n no break`,
	"two\nlines\r\nthree\rfour\n\n", "\n", " leading and trailing ", "tab\there",
	"END:VEVENT\r\nBEGIN:VEVENT\nUID:forged", "\r\nATTENDEE:mailto:a@b", "ctl\x00\x01\x1f\x7f\u0085\u009b end",
	"sep\u2028para\u2029", "\u202eright to left", "\ufeffmark", "\xff\xfe broken \xc3",
	strings.Repeat("ä", 200), strings.Repeat("🛠️", 100), strings.Repeat("x", 75), strings.Repeat("y", 67),
	strings.Repeat(`\`, 80),
	strings.Repeat("日本語", 60), strings.Repeat("; ,", 70), "a" + strings.Repeat("é", 300),
	"🇩🇪👩\u200d🔧 Ω≈ç√∫ \u200fעברית\u200f",
	"<script>alert(1)</script>", "=cmd|' /C calc'!A0", "%0d%0aX:1",
}

// year returns missions of every kind over one year, in zones with daylight saving time.
func year(t testing.TB) (events []ics.Event) {
	t.Helper()
	n := 0
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu",
		"Africa/Casablanca"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for day := range 366 {
			n++
			e := ics.Event{
				UID: fmt.Sprintf("msn_%d@fieldmark", n), Sequence: n % 7, Status: ics.Tentative,
				Start:   time.Date(2026, 1, 1+day, 2, 30, 0, 0, zone), // ambiguous or skipped hour
				End:     time.Date(2026, 1, 1+day, 3, 30, 0, 0, zone),
				Summary: "[HIGH] " + hostile[n%len(hostile)], Location: hostile[(n+3)%len(hostile)],
				Description: hostile[(n+7)%len(hostile)],
				URL:         "https://fieldmark.example/admin/missions/" + fmt.Sprint(n), Priority: 1 + n%9,
				Categories: []string{hostile[(n+1)%len(hostile)], "a,b;c"}, Geo: &ics.Geo{Lat: -33.865143,
					Lng: 151.2099},
			}
			switch day % 5 {
			case 1: // all day long: 23, 24 or 25 hours
				e.Start, e.End = time.Date(2026, 1, 1+day, 0, 0, 0, 0, zone), time.Date(2026, 1, 2+day, 0, 0, 0, 0,
					zone)
				e.Status = ics.Confirmed
			case 2:
				e.Status = ics.Cancelled
			case 3: // moved to another day
				e.Start, e.End, e.Sequence = e.Start.AddDate(0, 0, 9), e.End.AddDate(0, 0, 9), e.Sequence+1
			case 4: // zero duration, and without optional members
				e.End, e.Description, e.Location, e.URL, e.Categories, e.Geo = e.Start, "", "", "", nil, nil
			}
			e.Changed = e.Start.AddDate(0, 0, -3).Add(123456789)
			events = append(events, e)
		}
	}
	return events
}

func feed(events ...ics.Event) string {
	lines := make([][]byte, len(events))
	for i, e := range events {
		lines[i] = ics.AppendEvent(nil, e)
	}
	return string(ics.Append(nil, ics.Calendar{Product: "-//Fieldmark//Test//EN", Name: "Crew, north; 1",
		Refresh: 15 * time.Minute}, lines...))
}

// understood returns the entry that a correct reader decodes from an event.
func understood(e ics.Event) entry {
	out := entry{
		UID: e.UID, Changed: e.Changed.Unix(), Sequence: e.Sequence, Start: e.Start.Unix(), End: e.End.Unix(),
		Status:  string(e.Status),
		Summary: ics.Clean(e.Summary), Description: ics.Clean(e.Description), Location: ics.Clean(e.Location),
		URL: e.URL,
	}
	if out.End <= out.Start {
		out.End = out.Start + 1
	}
	for _, c := range e.Categories {
		out.Categories = append(out.Categories, ics.Clean(c))
	}
	if e.Geo != nil {
		out.Geo = []float64{e.Geo.Lat, e.Geo.Lng}
	}
	return out
}

// TestReaders decodes the feeds of a year, one per month, and an empty feed with three
// third-party readers. Each must decode exactly the encoded events.
func TestReaders(t *testing.T) {
	all := year(t)
	months := map[time.Month][]ics.Event{}
	for _, e := range all {
		months[e.Start.UTC().Month()] = append(months[e.Start.UTC().Month()], e)
	}
	given := [][]ics.Event{nil}
	for m := time.January; m <= time.December; m++ {
		given = append(given, months[m])
	}
	feeds := make([]string, len(given))
	for i, events := range given {
		feeds[i] = feed(events...)
		checkLines(t, feeds[i])
	}
	for _, r := range readers {
		t.Run(r.name, func(t *testing.T) {
			for i, got := range r.read(t, feeds) {
				want := make([]entry, len(given[i]))
				for j, e := range given[i] {
					want[j] = understood(e)
				}
				for j := range want {
					if r.hear != nil {
						want[j] = r.hear(want[j])
					}
				}
				if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("%s, feed %d of %d events (-meant +read):\n%.3000s", r.name, i, len(want), diff)
				}
			}
		})
	}
}

// checkLines checks the line endings, line lengths and folding of a feed (RFC 5545, 3.1).
func checkLines(t *testing.T, feed string) {
	t.Helper()
	for line := range strings.SplitSeq(strings.TrimSuffix(feed, "\r\n"), "\r\n") {
		if len(line) > 75 || !utf8.ValidString(line) || strings.ContainsAny(line, "\r\n") {
			t.Fatalf("line of %d octets, valid UTF-8 %v: %q", len(line), utf8.ValidString(line), line)
		}
	}
	if !strings.HasSuffix(feed, "END:VCALENDAR\r\n") {
		t.Fatalf("the feed ends with %q", feed[max(0, len(feed)-40):])
	}
}

// TestBytes compares a complete feed with its expected bytes.
func TestBytes(t *testing.T) {
	at := time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC)
	got := feed(ics.Event{UID: "msn_1@fieldmark", Changed: at.Add(-time.Hour), Sequence: 2, Start: at,
		End: at.Add(90 * time.Minute), Status: ics.Confirmed,
		Summary: "[HIGH] Replace the router; bring a ladder", Location: "Kärntner Straße 1, 1010 Wien",
		Geo: &ics.Geo{Lat: 48.2, Lng: 16.37}, Priority: 3,
		URL: "https://fieldmark.example/\r\nX:1", Categories: []string{"network"}})
	want := strings.ReplaceAll(`BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//Fieldmark//Test//EN
CALSCALE:GREGORIAN
METHOD:PUBLISH
NAME:Crew\, north\; 1
X-WR-CALNAME:Crew\, north\; 1
REFRESH-INTERVAL;VALUE=DURATION:PT15M
X-PUBLISHED-TTL:PT15M
BEGIN:VEVENT
UID:msn_1@fieldmark
DTSTAMP:20260329T000000Z
LAST-MODIFIED:20260329T000000Z
SEQUENCE:2
DTSTART:20260329T010000Z
DTEND:20260329T023000Z
STATUS:CONFIRMED
SUMMARY:[HIGH] Replace the router\; bring a ladder
LOCATION:Kärntner Straße 1\, 1010 Wien
GEO:48.200000;16.370000
URL:https://fieldmark.example/X:1
CATEGORIES:network
PRIORITY:3
TRANSP:OPAQUE
CLASS:PRIVATE
END:VEVENT
END:VCALENDAR
`, "\n", "\r\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("feed (-want +got):\n%s", diff)
	}
	if empty := feed(); !strings.Contains(empty, "BEGIN:VTIMEZONE") {
		t.Errorf("an empty feed has no component:\n%s", empty)
	}
}

// FuzzEvent: decoding an encoded event returns the same event.
func FuzzEvent(f *testing.F) {
	for _, text := range hostile {
		f.Add(text, text, int64(1774746000), int64(60), 1.5)
	}
	f.Fuzz(func(t *testing.T, title, place string, start, length int64, lat float64) {
		if start < 0 || start > 253402300799-1e6 || length < -1e6 || length > 1e6 || !(lat >= -90 && lat <= 90) {
			return // years without a four-digit form, and coordinates out of range
		}
		e := ics.Event{UID: "msn_1@fieldmark", Changed: time.Unix(start, 0), Start: time.Unix(start, 0),
			End: time.Unix(start+length, 0), Status: ics.Tentative,
			Summary: title, Location: place, Description: place + title, Categories: []string{title}}
		text := feed(e)
		checkLines(t, text)
		got, err := decode(text)
		if err != nil {
			t.Fatalf("title %q, place %q: %v in\n%s", title, place, err, text)
		}
		if diff := cmp.Diff([]entry{understood(e)}, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("title %q, place %q (-meant +read):\n%s\n%s", title, place, diff, text)
		}
		if !bytes.Equal([]byte(text), []byte(feed(e))) {
			t.Errorf("title %q: two feeds differ", title)
		}
	})
}
