package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/mission"
)

func TestBatch(t *testing.T) {
	fx := newFixture(t, nil)
	single := fx.createMission("old")
	batch := func(items ...string) request {
		return request{method: "POST", path: fieldmark.PathMissions + "/batch", key: fx.creator, body: `{"missions":[` +
			strings.Join(items, ",") + `]}`}
	}
	item := func(id, more string) string {
		return fmt.Sprintf(`{"externalId":%q,"source":"CRM","title":"Mast"%s}`, id, more)
	}
	a := batch(
		item("1", `,"metadata":{"z":1,"a":2}`),         // 0: opened
		item("old", ""),                                // 1: there already
		item("old", `,"description":"x"`),              // 2: there, and different
		`{"externalId":"2","titel":"hunter2-hunter2"}`, // 3: wrong in several ways
		item("1", `,"metadata":{"a":2,"z":1}`),         // 4: twice in the batch
		item("1", `,"priority":"LOW"`),                 // 5: and different
		`7`,                                            // 6: no object
		`null`,                                         // 7
		item("3", `,"location":{"timeZone":"Mars/Olympus"}`),          // 8: known too late for the schema
		item("4", `,"description":"`+strings.Repeat("x", 64<<10)+`"`), // 9: too large for one
		item("5", ""), // 10: opened, after all that
	)
	var report fieldmark.BatchReport
	rec := fx.mustSend(200, a.keyed("batch"), &report)
	want := []string{"201", "200", "409 mission_exists /description", "422 validation_failed /source /titel /title",
		"200", "409 mission_exists /metadata /priority",
		"422 validation_failed ", "422 validation_failed ", "422 validation_failed /location/timeZone",
		"413 body_too_large", "201"}
	if len(report.Results) != len(want) {
		t.Fatalf("%d results, want %d: %s", len(report.Results), len(want), rec.Body)
	}
	for i, r := range report.Results {
		got := fmt.Sprint(r.Status)
		if r.Problem != nil {
			got += " " + string(r.Problem.Code)
			for _, f := range r.Problem.Errors {
				got += " " + f.Pointer
			}
			if r.Problem.Status != r.Status || r.Problem.RequestID == "" {
				t.Errorf("item %d: problem %+v in status %d", i, r.Problem, r.Status)
			}
		}
		if got != want[i] || r.Index != i || (r.Mission != nil) == (r.Problem != nil) {
			t.Errorf("item %d: %q, want %q with a mission or a problem: %+v", i, got, want[i], r)
		}
	}
	if r := report.Results; r[1].Mission.ID != single.ID || r[4].Mission.ID != r[0].Mission.ID ||
		r[2].Problem.MissionID != single.ID || string(r[0].Mission.Metadata) != `{"z":1,"a":2}` {
		t.Errorf("the batch names other missions than were opened, or metadata did not stay as it came: %s", rec.Body)
	}
	if strings.Contains(rec.Body.String(), secret) {
		t.Errorf("the answer repeats a rejected value: %s", rec.Body)
	}
	if n := fx.missions(); n != 3 || fx.countEvents(fieldmark.EventMissionCreated) != 3 {
		t.Errorf("%d missions and %d events, want 3", n, fx.countEvents(fieldmark.EventMissionCreated))
	}
	again := fx.mustSend(200, a.keyed("batch"), nil)
	if again.Header().Get(fieldmark.HeaderReplayed) != "true" || again.Body.String() != rec.Body.String() {
		t.Errorf("the batch again under its key: %v", again.Header())
	}
	fx.mustSend(200, a, &report)
	if report.Results[0].Status != 200 || report.Results[10].Status != 200 || fx.missions() != 3 {
		t.Errorf("the batch again: %d and %d, %d missions; want 200, 200, 3", report.Results[0].Status,
			report.Results[10].Status, fx.missions())
	}
	var hundred []string
	for i := range fieldmark.MaxBatch {
		hundred = append(hundred, item(fmt.Sprint("h", i), ""))
	}
	fx.mustSend(200, batch(hundred...), &report)
	if len(report.Results) != 100 || fx.missions() != 103 {
		t.Errorf("a hundred: %d results, %d missions, want 100, 103", len(report.Results), fx.missions())
	}
	for _, tt := range []struct {
		name, fields string
		ask          request
		status       int
	}{
		{"none", "/missions too_short", batch(), 422},
		{"too many", "/missions too_long", batch(append(hundred, "{}")...), 422},
		{"no list", "/missions required, /mission unknown_field", request{method: "POST", path: a.path, key: fx.creator,
			body: `{"mission":[]}`}, 422},
		{"not a list", "/missions format", request{method: "POST", path: a.path, key: fx.creator,
			body: `{"missions":{}}`},
			422},
		{"a bare list", " format", request{method: "POST", path: a.path, key: fx.creator, body: `[]`}, 422},
		{"a member twice", "/missions/0/title duplicate", request{method: "POST", path: a.path, key: fx.creator,
			body: `{"missions":[{"title":"a","title":"b"}]}`}, 400},
		{"too large", "", batch(strings.Repeat(" ", fieldmark.MaxBatchBody)), 413},
	} {
		rec := fx.send(tt.ask)
		p := fx.problem(rec)
		found := 0
		for _, f := range p.Errors {
			if strings.Contains(tt.fields, f.Pointer+" "+f.Code) {
				found++
			}
		}
		if rec.Code != tt.status || found != len(p.Errors) || (tt.fields == "") != (found == 0) {
			t.Errorf("%s: %d %v, want %d %s", tt.name, rec.Code, p.Errors, tt.status, tt.fields)
		}
	}
}

func FuzzBatch(f *testing.F) {
	for _, seed := range []string{`{"missions":[` + goodMission + `]}`, `{"missions":[null,7,{}]}`, `{"missions":[` +
		goodMission + `,` + goodMission + `]}`, `{`, `[]`} {
		f.Add(seed)
	}
	fx := newFixture(f, nil)
	f.Fuzz(func(t *testing.T, body string) {
		fx.t = t
		rec := fx.send(request{method: "POST", path: fieldmark.PathMissions + "/batch", key: fx.creator, body: body,
			header: map[string]string{"Content-Type": "application/json"}})
		if rec.Code != 200 {
			if fx.problem(rec); rec.Code >= 500 {
				t.Errorf("input %q: %d %s", body, rec.Code, rec.Body)
			}
			return
		}
		var report fieldmark.BatchReport
		if err := json.Unmarshal(rec.Body.Bytes(), &report); err != nil || len(report.Results) == 0 {
			t.Fatalf("input %q: %v in %s", body, err, rec.Body)
		}
		for i, r := range report.Results {
			if r.Index != i || (r.Mission == nil) == (r.Problem == nil) || r.Status >= 500 {
				t.Errorf("input %q: result %d is %+v", body, i, r)
			}
		}
	})
}

func FuzzEdit(f *testing.F) {
	for _, seed := range []string{`{"description":null}`, `{"labels":{"a":null}}`,
		`{"window":{"latest":"2026-01-01T00:00:00Z"}}`, `{"metadata":{"a":{"b":null}}}`, `{"contact":{}}`,
		`{"priority":"p1"}`} {
		f.Add(seed)
	}
	fx := newFixture(f, nil)
	key := fx.keyWithEveryScope()
	id := fx.createMission("fuzz").ID
	f.Fuzz(func(t *testing.T, body string) {
		fx.t = t
		rec := fx.send(request{method: "PATCH", path: fieldmark.PathMissions + "/" + id, key: key, body: body,
			header: map[string]string{"Content-Type": "application/merge-patch+json"}})
		if rec.Code != 200 {
			if fx.problem(rec); rec.Code != 400 && rec.Code != 413 && rec.Code != 422 {
				t.Errorf("input %q: %d %s", body, rec.Code, rec.Body)
			}
			return
		}
		var m fieldmark.Mission
		if err := json.Unmarshal(rec.Body.Bytes(), &m); err != nil {
			t.Fatalf("input %q: %v in %s", body, err, rec.Body)
		}
		if bad := mission.ValidateRequest(&m.MissionRequest); len(bad) > 0 || m.ExternalID != "fuzz" {
			t.Errorf("input %q was taken, but what it made of the mission is wrong: %v", body, bad)
		}
	})
}
