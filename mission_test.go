package fieldmark_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
)

// TestMovesWalk takes random walks: every listed move is allowed, every other
// is refused with the list, each legal move has its own kind of event, and the
// terminal states end the walk.
func TestMovesWalk(t *testing.T) {
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
			next := fieldmark.NextStatuses(at, held)
			err := fieldmark.CheckMove(at, to, held)
			if legal := slices.Contains(next, to); legal != (err == nil) {
				t.Fatalf("CheckMove(%s, %s, held %q) = %v, listed %v", at, to, held, err, next)
			}
			if err != nil {
				if e := fieldmark.AsError(err); e.Code != fieldmark.CodeInvalidTransition || len(e.Allowed) != len(next) {
					t.Fatalf("refusal of %s -> %s = %v, allowed %v, want %v", at, to, err, e.Allowed, next)
				}
				continue
			}
			if ev := fieldmark.MoveEvent(at, to); !slices.Contains(fieldmark.MissionEvents(), ev) {
				t.Fatalf("MoveEvent(%s, %s) = %q, not a mission event", at, to, ev)
			}
			if to == fieldmark.MissionOnHold {
				held = at
			}
			at = to
		}
	}
	for _, end := range []fieldmark.MissionStatus{fieldmark.MissionClosed, fieldmark.MissionCanceled} {
		if next := fieldmark.NextStatuses(end, ""); len(next) != 0 {
			t.Errorf("%s leads to %v, want nowhere", end, next)
		}
	}
}

func TestPathToCompleted(t *testing.T) {
	for _, from := range []fieldmark.MissionStatus{fieldmark.MissionNew, fieldmark.MissionScheduled, fieldmark.MissionDispatched, fieldmark.MissionEnRoute, fieldmark.MissionInProgress, fieldmark.MissionOnHold} {
		at := from
		for _, to := range fieldmark.PathToCompleted(from) {
			if err := fieldmark.CheckMove(at, to, ""); err != nil {
				t.Errorf("path from %s: %v", from, err)
			}
			at = to
		}
		if at != fieldmark.MissionCompleted {
			t.Errorf("path from %s ends in %s", from, at)
		}
	}
	if p := fieldmark.PathToCompleted(fieldmark.MissionCanceled); p != nil {
		t.Errorf("path from CANCELED = %v, want none", p)
	}
}

func TestMoveEvents(t *testing.T) {
	f := func(from, to fieldmark.MissionStatus, want fieldmark.EventType) {
		t.Helper()
		if got := fieldmark.MoveEvent(from, to); got != want {
			t.Errorf("MoveEvent(%s, %s) = %s, want %s", from, to, got, want)
		}
	}
	f(fieldmark.MissionDispatched, fieldmark.MissionInProgress, fieldmark.EventMissionStarted)
	f(fieldmark.MissionOnHold, fieldmark.MissionInProgress, fieldmark.EventMissionResumed)
	f(fieldmark.MissionCompleted, fieldmark.MissionInProgress, fieldmark.EventMissionReopened)
	f(fieldmark.MissionScheduled, fieldmark.MissionNew, fieldmark.EventMissionUnscheduled)
	f(fieldmark.MissionInProgress, fieldmark.MissionCompleted, fieldmark.EventMissionCompleted)
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
		{"time zone", func(r *fieldmark.MissionRequest) { r.Location = &fieldmark.Location{TimeZone: "../etc"} }, "/location/timeZone format"},
		{"window backwards", func(r *fieldmark.MissionRequest) { r.Window = &fieldmark.Window{Earliest: early, Latest: early} }, "/window/latest range"},
		{"window too long", func(r *fieldmark.MissionRequest) {
			r.Window = &fieldmark.Window{Earliest: early, Latest: fieldmark.At(early.Std().Add(367 * 24 * time.Hour))}
		}, "/window/latest range"},
		{"empty skill", func(r *fieldmark.MissionRequest) { r.Skills = []string{""} }, "/skills range"},
		{"label value", func(r *fieldmark.MissionRequest) {
			r.Labels = map[string]string{"a": strings.Repeat("x", 1025)}
		}, "/labels too_long"},
		{"metadata that is no object", func(r *fieldmark.MissionRequest) { r.Metadata = json.RawMessage(`[1]`) }, "/metadata format"},
		{"metadata too deep", func(r *fieldmark.MissionRequest) {
			r.Metadata = json.RawMessage(strings.Repeat(`{"a":`, 9) + "1" + strings.Repeat("}", 9))
		}, "/metadata too_long"},
		{"braces inside text are no depth", func(r *fieldmark.MissionRequest) { r.Metadata = json.RawMessage(`{"a":"{{{{{{{{{{\"{"}`) }, ""},
		{"metadata too large", func(r *fieldmark.MissionRequest) {
			r.Metadata = json.RawMessage(`{"a":"` + strings.Repeat("x", 16<<10) + `"}`)
		}, "/metadata too_long"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := request()
			tt.spoil(&r)
			var got []string
			for _, e := range r.Check() {
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
		if bad := r.Check(); bad != nil {
			t.Fatal(bad)
		}
		d, err := r.Fingerprint()
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
}

func TestMatchEvent(t *testing.T) {
	f := func(pattern string, want bool) {
		t.Helper()
		if got := fieldmark.MatchEvent(pattern, fieldmark.EventMissionCompleted); got != want {
			t.Errorf("MatchEvent(%q, mission.completed) = %v, want %v", pattern, got, want)
		}
	}
	f("mission.completed", true)
	f("mission.*", true)
	f("*", true)
	f("mission.comp*", false)
	f("miss.*", false)
	f("sla.*", false)
	f("", false)
}
