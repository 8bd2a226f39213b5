package mission_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/mission"
)

// TestRandomMoves makes random transitions: each listed one is allowed, every other
// is refused with the list, each valid one has a different event type, and terminal
// statuses end the walk.
func TestRandomMoves(t *testing.T) {
	all := []fieldmark.MissionStatus{
		fieldmark.MissionNew, fieldmark.MissionScheduled, fieldmark.MissionDispatched, fieldmark.MissionEnRoute,
		fieldmark.MissionInProgress, fieldmark.MissionOnHold, fieldmark.MissionCompleted,
		fieldmark.MissionUnableToComplete, fieldmark.MissionClosed, fieldmark.MissionCanceled,
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		at, held := fieldmark.MissionNew, fieldmark.MissionStatus("")
		for range 20 {
			to := all[r.IntN(len(all))]
			next := mission.AllowedTransitions(at, held)
			err := mission.ValidateTransition(at, to, held)
			if legal := slices.Contains(next, to); legal != (err == nil) {
				t.Fatalf("CheckMove(%s, %s, held %q) = %v, listed %v", at, to, held, err, next)
			}
			if err != nil {
				if e := fieldmark.AsError(err); e.Code != fieldmark.CodeInvalidTransition ||
					len(e.Allowed) != len(next) {
					t.Fatalf("refusal of %s -> %s = %v, allowed %v, want %v", at, to, err, e.Allowed, next)
				}
				continue
			}
			if ev := mission.TransitionEvent(at, to, held); !slices.Contains(fieldmark.MissionEvents(), ev) {
				t.Fatalf("MoveEvent(%s, %s, %q) = %q, not a mission event", at, to, held, ev)
			}
			if to == fieldmark.MissionOnHold {
				held = at
			}
			at = to
		}
	}
	for _, end := range []fieldmark.MissionStatus{fieldmark.MissionClosed, fieldmark.MissionCanceled} {
		if next := mission.AllowedTransitions(end, ""); len(next) != 0 {
			t.Errorf("%s leads to %v, want nowhere", end, next)
		}
	}
}

func TestPathToCompleted(t *testing.T) {
	for _, from := range []fieldmark.MissionStatus{fieldmark.MissionNew, fieldmark.MissionScheduled,
		fieldmark.MissionDispatched, fieldmark.MissionEnRoute, fieldmark.MissionInProgress, fieldmark.MissionOnHold} {
		at := from
		for _, to := range mission.PathToCompleted(from) {
			if err := mission.ValidateTransition(at, to, ""); err != nil {
				t.Errorf("path from %s: %v", from, err)
			}
			at = to
		}
		if at != fieldmark.MissionCompleted {
			t.Errorf("path from %s ends in %s", from, at)
		}
	}
	if p := mission.PathToCompleted(fieldmark.MissionCanceled); p != nil {
		t.Errorf("path from CANCELED = %v, want none", p)
	}
}

func TestMoveEvents(t *testing.T) {
	f := func(from, to, held fieldmark.MissionStatus, want fieldmark.EventType) {
		t.Helper()
		if got := mission.TransitionEvent(from, to, held); got != want {
			t.Errorf("MoveEvent(%s, %s, %q) = %s, want %s", from, to, held, got, want)
		}
	}
	f(fieldmark.MissionDispatched, fieldmark.MissionInProgress, "", fieldmark.EventMissionStarted)
	for _, held := range []fieldmark.MissionStatus{fieldmark.MissionNew, fieldmark.MissionScheduled,
		fieldmark.MissionDispatched, fieldmark.MissionEnRoute, fieldmark.MissionInProgress} {
		f(fieldmark.MissionOnHold, held, held, fieldmark.EventMissionResumed)
	}
	f(fieldmark.MissionOnHold, fieldmark.MissionScheduled, fieldmark.MissionInProgress, fieldmark.EventMissionScheduled)
	f(fieldmark.MissionOnHold, fieldmark.MissionCompleted, fieldmark.MissionInProgress, fieldmark.EventMissionCompleted)
	f(fieldmark.MissionCompleted, fieldmark.MissionInProgress, "", fieldmark.EventMissionReopened)
	f(fieldmark.MissionScheduled, fieldmark.MissionNew, "", fieldmark.EventMissionUnscheduled)
	f(fieldmark.MissionInProgress, fieldmark.MissionCompleted, "", fieldmark.EventMissionCompleted)
}

func request() fieldmark.MissionRequest {
	return fieldmark.MissionRequest{ExternalID: "INC-1", Source: "ServiceNow", Title: "Replace the router"}
}

func TestMissionCheck(t *testing.T) {
	early := fieldmark.At(time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC))
	tests := []struct {
		name  string
		spoil func(*fieldmark.MissionRequest)
		want  string // pointer and code; empty: accepted
	}{
		{"plain", func(*fieldmark.MissionRequest) {}, ""},
		{"control character in the title", func(r *fieldmark.MissionRequest) { r.Title = "a\x07b" }, "/title pattern"},
		{"line break in the title", func(r *fieldmark.MissionRequest) { r.Title = "a\nb" }, "/title pattern"},
		{"line break in the description", func(r *fieldmark.MissionRequest) { r.Description = "a\nb\tc" }, ""},
		{"space around externalId", func(r *fieldmark.MissionRequest) { r.ExternalID = " x" }, "/externalId pattern"},
		{"unknown priority", func(r *fieldmark.MissionRequest) { r.Priority = "SOON" }, "/priority enum"},
		{"alias of a priority", func(r *fieldmark.MissionRequest) { r.Priority = "p2" }, ""},
		{"time zone", func(r *fieldmark.MissionRequest) { r.Location = &fieldmark.Location{TimeZone: "../etc"} },
			"/location/timeZone format"},
		{"window backwards",
			func(r *fieldmark.MissionRequest) { r.Window = &fieldmark.Window{Earliest: early, Latest: early} },
			"/window/latest range"},
		{"window too long", func(r *fieldmark.MissionRequest) {
			r.Window = &fieldmark.Window{Earliest: early, Latest: fieldmark.At(early.Std().Add(367 * 24 * time.Hour))}
		}, "/window/latest range"},
		{"line separator in the title", func(r *fieldmark.MissionRequest) { r.Title = "a\u2028b" }, "/title pattern"},
		{"lone carriage return", func(r *fieldmark.MissionRequest) { r.Description = "a\rb" }, "/description pattern"},
		{"line breaks of Windows", func(r *fieldmark.MissionRequest) { r.Description = "a\r\nb" }, ""},
		{"unprintable externalId", func(r *fieldmark.MissionRequest) { r.ExternalID = "a\u200bb" },
			"/externalId pattern"},
		{"window before the clock", func(r *fieldmark.MissionRequest) {
			r.Window = &fieldmark.Window{Latest: fieldmark.At(time.Date(1, 1, 1, 1, 0, 0, 0, time.UTC))}
		}, "/window/earliest range, /window/latest range"},
		{"window after all years", func(r *fieldmark.MissionRequest) {
			end := time.Date(9999, 12, 31, 23, 0, 0, 0, time.UTC)
			r.Window = &fieldmark.Window{Earliest: fieldmark.At(end.Add(-time.Hour)),
				Latest: fieldmark.At(end.Add(24 * time.Hour))}
		}, "/window/earliest range, /window/latest range"},
		{"no such country", func(r *fieldmark.MissionRequest) {
			r.Location = &fieldmark.Location{Address: &fieldmark.Address{Country: "ZZ"}}
		}, "/location/address/country enum"},
		{"control characters anywhere", func(r *fieldmark.MissionRequest) {
			r.Category = "\x00"
			r.Location = &fieldmark.Location{Name: "\n", AccessNotes: "ok\n\tthen \x1b",
				Address: &fieldmark.Address{Line1: "\t", Line2: "\x7f", PostalCode: "\x01", City: "\u0085",
					Region: "\n"}}
			r.Contact = &fieldmark.Contact{Name: "\n", Phone: "\x00"}
			r.Assets = []fieldmark.Asset{{ID: "\n", Name: "\n", Serial: "\n"}}
			r.Links = []fieldmark.Link{{Href: "https://a.example", Text: "\n"}}
			r.Labels = map[string]string{"k\n": "v", "l": "\x00"}
		}, "/category pattern, /location/name pattern, /location/accessNotes pattern, /location/address/line1 " +
			"pattern, /location/address/line2 pattern, " +
			"/location/address/postalCode pattern, /location/address/city pattern, /location/address/region " +
			"pattern, /contact/name pattern, /contact/phone pattern, " +
			"/assets/0/id pattern, /assets/0/name pattern, /assets/0/serial pattern, /links/0/text pattern, " +
			"/labels/k\n pattern, /labels/l pattern"},
		{"skills", func(r *fieldmark.MissionRequest) {
			r.Skills = []string{"", strings.Repeat("ä", 64), strings.Repeat("x", 65), "a\nb"}
		},
			"/skills/0 too_short, /skills/2 too_long, /skills/3 pattern"},
		{"links", func(r *fieldmark.MissionRequest) {
			r.Links = []fieldmark.Link{{Href: "https://a.example/x?y#z"}, {Href: "http://a.example"},
				{Href: "https://"}, {Href: "https://u:p@a.example"}, {Href: "https://[::1"}}
		}, "/links/1/href format, /links/2/href format, /links/3/href format, /links/4/href format"},
		{"labels at their bounds", func(r *fieldmark.MissionRequest) {
			r.Labels = map[string]string{strings.Repeat("ä", 128): strings.Repeat("ß", 1024), "a": "two\nlines",
				"b": ""}
		}, ""},
		{"too many labels", func(r *fieldmark.MissionRequest) {
			r.Labels = map[string]string{}
			for i := range 65 {
				r.Labels[strings.Repeat("k", i+1)] = ""
			}
		}, "/labels too_long"},
		{"label keys", func(r *fieldmark.MissionRequest) {
			r.Labels = map[string]string{"": "",
				strings.Repeat("k", 129): ""}
		},
			"/labels/ too_short, /labels/" + strings.Repeat("k", 128) + "… too_long"},
		{"awkward label", func(r *fieldmark.MissionRequest) {
			r.Labels = map[string]string{"a/b~c": strings.Repeat("x",
				1025)}
		}, "/labels/a~1b~0c too_long"},
		{"label value", func(r *fieldmark.MissionRequest) {
			r.Labels = map[string]string{"a": strings.Repeat("x", 1025)}
		}, "/labels/a too_long"},
		{"metadata that is no object", func(r *fieldmark.MissionRequest) { r.Metadata = json.RawMessage(`[1]`) },
			"/metadata format"},
		{"metadata too deep", func(r *fieldmark.MissionRequest) {
			r.Metadata = json.RawMessage(strings.Repeat(`{"a":`, 9) + "1" + strings.Repeat("}", 9))
		}, "/metadata too_long"},
		{"braces inside text are no depth",
			func(r *fieldmark.MissionRequest) { r.Metadata = json.RawMessage(`{"a":"{{{{{{{{{{\"{"}`) }, ""},
		{"metadata too large", func(r *fieldmark.MissionRequest) {
			r.Metadata = json.RawMessage(`{"a":"` + strings.Repeat("x", 16<<10) + `"}`)
		}, "/metadata too_long"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := request()
			tt.spoil(&r)
			var got []string
			for _, e := range mission.ValidateRequest(&r) {
				got = append(got, e.Pointer+" "+e.Code)
			}
			if strings.Join(got, ", ") != tt.want {
				t.Errorf("complaints = %v, want %q", got, tt.want)
			}
		})
	}
}

func TestFingerprint(t *testing.T) {
	print := func(change func(*fieldmark.MissionRequest)) fieldmark.Digest {
		t.Helper()
		r := request()
		change(&r)
		if bad := mission.ValidateRequest(&r); bad != nil {
			t.Fatal(bad)
		}
		d, err := mission.Fingerprint(&r)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	same := print(func(*fieldmark.MissionRequest) {})
	if got := print(func(r *fieldmark.MissionRequest) { r.Source, r.Priority = "SERVICENOW", "normal" }); got != same {
		t.Error("case of the source or an alias of the priority changes the fingerprint")
	}
	if got := print(func(r *fieldmark.MissionRequest) { r.Title = "Replace the modem" }); got == same {
		t.Error("another title has the same fingerprint")
	}
	meta := func(text string) fieldmark.Digest {
		return print(func(r *fieldmark.MissionRequest) { r.Metadata = json.RawMessage(text) })
	}
	if meta(`{"a":1,"b":{"c":"\u00e9","d":12345678901234567890}}`) != meta(
		`{ "b":{"d":12345678901234567890,"c":"é"}, "a":1}`) {
		t.Error("the order of metadata changes the fingerprint")
	}
	if meta(`{"d":12345678901234567890}`) == meta(`{"d":12345678901234567891}`) {
		t.Error("long numbers that differ in their last digit have the same fingerprint")
	}
}

func TestDifferences(t *testing.T) {
	a := request()
	a.Location = &fieldmark.Location{Name: "Site 4", Geo: &fieldmark.Geo{Lat: 1, Lng: 2}}
	a.Labels = map[string]string{"same": "1", "other": "1", "gone": "1"}
	a.Skills = []string{"lift", "crane"}
	a.Metadata = json.RawMessage(`{"x":{"y":1,"z":2}}`)
	b := a
	b.Source = strings.ToUpper(a.Source)
	if got, err := mission.Differences(&a, &b); len(got) > 0 || err != nil {
		t.Errorf("the case of the source is a difference: %v, %v", got, err)
	}
	b.Title = "secret"
	b.Location = &fieldmark.Location{Name: "Site 4", Geo: &fieldmark.Geo{Lat: 1, Lng: 3}}
	b.Labels = map[string]string{"same": "1", "other": "secret", "a/b": "secret"}
	b.Skills = []string{"crane", "lift"}
	b.Metadata = json.RawMessage(`{"x":{"z":2,"y":3}}`)
	b.Description = "secret"
	got, err := mission.Differences(&a, &b)
	if err != nil {
		t.Fatal(err)
	}
	var pointers []string
	for _, f := range got {
		if f.Code != "conflict" || strings.Contains(f.Detail, "secret") {
			t.Errorf("difference %+v, want a conflict without the value", f)
		}
		pointers = append(pointers, f.Pointer)
	}
	want := "/description /labels/a~1b /labels/gone /labels/other /location/geo/lng /metadata/x/y /skills /title"
	if strings.Join(pointers, " ") != want {
		t.Errorf("differences at %v, want %s", pointers, want)
	}
}
