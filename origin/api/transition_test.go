package api_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/mission"
)

// keyWithEveryScope creates a key with all mission scopes.
func (fx *fixture) keyWithEveryScope() string {
	fx.t.Helper()
	return fx.key(access.DefaultAccount, fieldmark.ScopeMissionCreate, fieldmark.ScopeMissionRead,
		fieldmark.ScopeMissionUpdate,
		fieldmark.ScopeMissionCancel, fieldmark.ScopeMissionOperate)
}

// createMission creates a mission of the default account.
func (fx *fixture) createMission(externalID string) fieldmark.Mission {
	fx.t.Helper()
	var m fieldmark.Mission
	fx.mustSend(201, request{method: "POST", path: fieldmark.PathMissions, key: fx.creator,
		body: fmt.Sprintf(`{"externalId":%q,"source":"crm","title":"Mast"}`, externalID)}, &m)
	return m
}

// move is the request for one transition.
func move(key, id string, to fieldmark.MissionStatus) request {
	return request{method: "POST", path: fieldmark.PathMissions + "/" + id + "/transitions", key: key,
		body: fmt.Sprintf(`{"status":%q}`, strings.ToLower(string(to)))}
}

// transitions moves a mission along a path.
func (fx *fixture) transitions(key, id string, path ...fieldmark.MissionStatus) {
	fx.t.Helper()
	for _, to := range path {
		fx.mustSend(200, move(key, id, to), nil)
	}
}

// TestRandomTransitions sends random valid and invalid transitions. Each valid one adds one
// version and one event. Each invalid one is rejected with the list of valid transitions
// and changes nothing.
func TestRandomTransitions(t *testing.T) {
	fx := newFixture(t, nil)
	key := fx.keyWithEveryScope()
	all := fieldmark.MissionStatuses()
	r := rand.New(rand.NewPCG(7, 7))
	for walk := range 12 {
		m := fx.createMission(fmt.Sprint("walk", walk))
		held := fieldmark.MissionStatus("")
		want := []fieldmark.EventType{fieldmark.EventMissionCreated}
		for range 15 {
			to := all[r.IntN(len(all))]
			if next := mission.AllowedTransitions(m.Status, held); r.IntN(2) == 0 && len(next) > 0 {
				to = next[r.IntN(len(next))]
			}
			rec := fx.send(move(key, m.ID, to))
			if err := mission.ValidateTransition(m.Status, to, held); err != nil {
				p := fx.problem(rec)
				if e := fieldmark.AsError(err); rec.Code != 409 || p.Code != fieldmark.CodeInvalidTransition ||
					p.From != m.Status || p.To != to || !cmp.Equal(p.Allowed, e.Allowed, cmp.Transformer("",
					func(s []string) string { return fmt.Sprint(s) })) {
					t.Fatalf("%s to %s (held %q): %d %+v, want 409 with %v", m.Status, to, held, rec.Code, p, e.Allowed)
				}
				continue
			}
			var now fieldmark.Mission
			if err := json.Unmarshal(rec.Body.Bytes(), &now); err != nil || rec.Code != 200 || now.Status != to ||
				now.Version != m.Version+1 || rec.Header().Get("ETag") != fmt.Sprintf(`"%d"`, now.Version) {
				t.Fatalf("%s to %s (held %q): %d %s", m.Status, to, held, rec.Code, rec.Body)
			}
			want = append(want, mission.TransitionEvent(m.Status, to, held))
			held = ""
			if to == fieldmark.MissionOnHold {
				held = m.Status
			}
			m = now
		}
		var got []fieldmark.EventType
		for _, e := range fx.eventsOf(m.ID) {
			got = append(got, e.Type)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("walk %d (-want +got):\n%s", walk, diff)
		}
	}
	if err := fx.store.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// eventsOf lists the events of a mission, without those of its SLA timers.
func (fx *fixture) eventsOf(id string) (of []fieldmark.Event) {
	fx.t.Helper()
	for after := int64(0); ; {
		page, err := fx.service.Events.After(fx.t.Context(), fieldmark.EventCursor{Number: after}, 0, event.MaxPage)
		if err != nil {
			fx.t.Fatalf("read the log: %v", err)
		}
		if len(page.Events) == 0 {
			return of
		}
		for _, e := range page.Events {
			after = e.Number
			var m struct{ ID string }
			if json.Unmarshal(e.Data, &m) == nil && m.ID == id && strings.HasPrefix(string(e.Type), "mission.") {
				of = append(of, e)
			}
		}
	}
}

func TestTransitions(t *testing.T) {
	fx := newFixture(t, nil)
	key := fx.keyWithEveryScope()
	m := fx.createMission("1")
	path := fieldmark.PathMissions + "/" + m.ID + "/transitions"
	plan := `"scheduled":{"start":"2026-12-01T08:00:00+01:00","end":"2026-12-01T09:00:00Z"},` +
		`"assignee":{"id":"tech-7","name":"Ada"}`
	var now fieldmark.Mission
	fx.mustSend(200, request{method: "POST", path: path, key: key, body: `{"status":"scheduled",` + plan + `}`}, &now)
	if now.Scheduled == nil || now.Scheduled.Start.String() != "2026-12-01T07:00:00.000Z" || now.Assignee == nil ||
		*now.Assignee != (fieldmark.Assignee{ID: "tech-7", Name: "Ada"}) || now.ScheduledAt == nil {
		t.Errorf("scheduled: %+v", now)
	}
	fx.mustSend(200, request{method: "GET", path: fieldmark.PathMissions + "/" + m.ID, key: key}, &now)
	if now.Scheduled == nil || now.Assignee == nil {
		t.Errorf("read back: %+v, want the plan", now)
	}
	fx.mustSend(200, request{method: "POST", path: path, key: key,
		body: `{"status":"ON_HOLD","reason":{"code":"WEATHER","text":"Storm"}}`}, &now)
	if now.StatusReason == nil || *now.StatusReason != (fieldmark.Reason{Code: "WEATHER", Text: "Storm"}) ||
		now.Scheduled == nil {
		t.Errorf("on hold: %+v", now)
	}
	fx.transitions(key, m.ID, "SCHEDULED", "NEW")
	fx.mustSend(200, request{method: "GET", path: fieldmark.PathMissions + "/" + m.ID, key: key}, &now)
	if now.Scheduled != nil {
		t.Errorf("unscheduled: %+v, want no times", now.Scheduled)
	}
	for _, tt := range []struct {
		name, body string
		key        string
		status     int
		code       fieldmark.Code
		fields     string
	}{
		{"no status", `{}`, key, 422, fieldmark.CodeValidationFailed, "/status required"},
		{"unknown status", `{"status":"LOST"}`, key, 422, fieldmark.CodeValidationFailed, "/status enum"},
		{"everything",
			`{"status":"LOST","reason":{"code":"no good"},"scheduled":{"start":"2026-01-02T00:00:00Z",` +
				`"end":"2026-01-01T00:00:00Z"},"assignee":{},"x":1}`, key, 422,
			fieldmark.CodeValidationFailed, "/assignee/id required, /reason/code pattern, /scheduled/end range, " +
				"/status " +
				"enum, /x unknown_field"},
		{"another account's", `{"status":"SCHEDULED"}`, fx.key("other", fieldmark.ScopeMissionOperate), 404,
			fieldmark.CodeNotFound, ""},
		{"without the scope", `{"status":"SCHEDULED"}`, fx.reader, 403, fieldmark.CodeInsufficientScope, ""},
	} {
		rec := fx.send(request{method: "POST", path: path, key: tt.key, body: tt.body})
		p := fx.problem(rec)
		var fields []string
		for _, f := range p.Errors {
			fields = append(fields, f.Pointer+" "+f.Code)
		}
		if rec.Code != tt.status || p.Code != tt.code || strings.Join(fields, ", ") != tt.fields {
			t.Errorf("%s: %d %s %v, want %d %s %s", tt.name, rec.Code, p.Code, fields, tt.status, tt.code, tt.fields)
		}
	}
}

func TestCancel(t *testing.T) {
	fx := newFixture(t, nil)
	key := fx.keyWithEveryScope()
	cancel := func(id, body string) request {
		return request{method: "POST", path: fieldmark.PathMissions + "/" + id + "/cancel", key: key, body: body}
	}
	const why = `{"reason":{"code":"CUSTOMER","text":"not needed"}}`
	for i, tt := range []struct {
		path   []fieldmark.MissionStatus
		body   string
		status int
		reason *fieldmark.Reason
	}{
		{nil, why, 200, &fieldmark.Reason{Code: "CUSTOMER", Text: "not needed"}},
		{nil, "", 200, nil},
		{nil, "{}", 200, nil},
		{[]fieldmark.MissionStatus{"DISPATCHED", "EN_ROUTE"}, why, 200, &fieldmark.Reason{Code: "LATE_CANCEL",
			Text: "CUSTOMER: not needed"}},
		{[]fieldmark.MissionStatus{"DISPATCHED", "EN_ROUTE", "ON_HOLD"}, "", 200,
			&fieldmark.Reason{Code: "LATE_CANCEL"}},
		{[]fieldmark.MissionStatus{"DISPATCHED", "IN_PROGRESS", "UNABLE_TO_COMPLETE"}, `{"reason":{"code":"CUSTOMER"}}`,
			200, &fieldmark.Reason{Code: "LATE_CANCEL", Text: "CUSTOMER"}},
		{[]fieldmark.MissionStatus{"DISPATCHED", "IN_PROGRESS", "COMPLETED"}, why, 409, nil},
		{[]fieldmark.MissionStatus{"DISPATCHED", "IN_PROGRESS", "COMPLETED", "CLOSED"}, why, 409, nil},
	} {
		m := fx.createMission(fmt.Sprint(i))
		fx.transitions(key, m.ID, tt.path...)
		rec := fx.send(cancel(m.ID, tt.body))
		if rec.Code != tt.status {
			t.Errorf("cancel after %v: %d %s, want %d", tt.path, rec.Code, rec.Body, tt.status)
			continue
		}
		if tt.status != 200 {
			if p := fx.problem(rec); p.Code != fieldmark.CodeInvalidTransition || p.To != fieldmark.MissionCanceled {
				t.Errorf("cancel after %v: %+v", tt.path, p)
			}
			continue
		}
		var once, again fieldmark.Mission
		if err := json.Unmarshal(rec.Body.Bytes(), &once); err != nil || once.Status != fieldmark.MissionCanceled ||
			once.CanceledAt == nil || !cmp.Equal(once.StatusReason, tt.reason) {
			t.Errorf("canceled after %v: %s, want %+v", tt.path, rec.Body, tt.reason)
		}
		fx.mustSend(200, cancel(m.ID, `{"reason":{"code":"AGAIN"}}`), &again)
		if again.Version != once.Version || !cmp.Equal(again.StatusReason, once.StatusReason) {
			t.Errorf("canceled twice after %v: %+v, want no change", tt.path, again)
		}
		if n := len(fx.eventsOf(m.ID)); n != once.Version {
			t.Errorf("%d events for version %d", n, once.Version)
		}
	}
	m := fx.createMission("scope")
	for _, k := range []string{fx.creator, fx.reader} {
		a := cancel(m.ID, "")
		a.key = k
		if rec := fx.send(a); rec.Code != 403 {
			t.Errorf("cancel without the scope: %d, want 403", rec.Code)
		}
	}
	form := cancel(m.ID, "x=1")
	form.header = map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
	if rec := fx.send(form); rec.Code != 415 {
		t.Errorf("cancel with a form: %d, want 415", rec.Code)
	}
}

func TestEdit(t *testing.T) {
	fx := newFixture(t, nil)
	key := fx.keyWithEveryScope()
	var m fieldmark.Mission
	fx.mustSend(201, request{method: "POST", path: fieldmark.PathMissions, key: fx.creator, body: `{"externalId":"1",
		"source":"crm","title":"t","description":"d","priority":"HIGH",
		"window":{"earliest":"2026-01-01T08:00:00Z","latest":"2026-01-01T10:00:00Z"},"contact":{"name":"Ada",` +
		`"phone":"1"},
		"labels":{"a":"1","b":"2"},"metadata":{"z":1,"deep":{"x":1,"y":12345678901234567890}}}`}, &m)
	patch := func(body string) request {
		return request{method: "PATCH", path: fieldmark.PathMissions + "/" + m.ID, key: key, body: body,
			header: map[string]string{"Content-Type": "application/merge-patch+json"}}
	}
	version := 1
	for _, tt := range []struct {
		name, patch string
		want        string // members of the mission, as JSON
		same        bool   // no new version
	}{
		{"a member", `{"description":"e"}`, `"description":"e"`, false},
		{"the same", `{"description":"e","priority":"p2"}`, `"priority":"HIGH"`, true},
		{"nothing", `{}`, `"title":"t"`, true},
		{"a label", `{"labels":{"b":null,"c":"3"}}`, `"labels":{"a":"1","c":"3"}`, false},
		{"part of an object", `{"contact":{"phone":"2","email":"ada@example.com"}}`,
			`"contact":{"name":"Ada","phone":"2","email":"ada@example.com"}`, false},
		{"one end of a window", `{"window":{"latest":"2026-01-01T11:00:00Z"}}`,
			`"window":{"earliest":"2026-01-01T08:00:00.000Z","latest":"2026-01-01T11:00:00.000Z"}`, false},
		{"metadata", `{"metadata":{"z":null,"deep":{"x":[1,null]}}}`,
			`"metadata":{"deep":{"x":[1,null],"y":12345678901234567890}}`, false},
		{"null", `{"description":null,"priority":null,"window":null,"contact":null,"labels":null,"metadata":null}`,
			`"priority":"MEDIUM","status":"NEW"`, false},
		{"a new object", `{"window":{"earliest":"2026-01-01T08:00:00Z","latest":"2026-01-01T11:00:00Z"}}`,
			`"window":{"earliest":"2026-01-01T08:00:00.000Z"`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var now fieldmark.Mission
			rec := fx.mustSend(200, patch(tt.patch), &now)
			if !tt.same {
				version++
			}
			flat := strings.ReplaceAll(rec.Body.String(), `,"scheduled":null,"assignee":null,"occurrences":null`, "")
			if now.Version != version || !strings.Contains(flat, tt.want) {
				t.Errorf("%s: version %d, want %d with %s in\n%s", tt.patch, now.Version, version, tt.want, flat)
			}
		})
	}
	events := fx.eventsOf(m.ID)
	if len(events) != version || slices.ContainsFunc(events[1:],
		func(e fieldmark.Event) bool { return e.Type != fieldmark.EventMissionUpdated }) {
		t.Errorf("%d events for %d versions: %v", len(events), version, events)
	}
	for _, tt := range []struct {
		name, patch, fields string
		status              int
	}{
		{"what may not change", `{"title":"x","externalId":"2","status":"CLOSED","version":7}`,
			"/externalId unknown_field, /status unknown_field, /title unknown_field, /version unknown_field", 422},
		{"wrong type", `{"contact":"Ada","labels":{"a":1},"description":7}`,
			"/contact format, /description format, /labels/a format", 422},
		{"wrong values", `{"priority":"soon","contact":{"email":"no"},"labels":{"":"x"},"description":"\u0000"}`,
			"/contact/email format, /description pattern, /labels/ too_short, /priority enum", 422},
		{"metadata that is not an object", `{"metadata":7}`, "/metadata format", 422},
		{"half a window", `{"window":{"earliest":null}}`, "/window required", 422},
		{"window backwards", `{"window":{"latest":"2025-01-01T00:00:00Z"}}`, "/window/latest range", 422},
		{"not an object", `[]`, " format", 422},
		{"metadata that grows too large", `{"metadata":{"x":"` + strings.Repeat("x", 16<<10) + `"}}`,
			"/metadata too_long",
			422},
		{"no JSON", `{`, "", 400},
		{"twice", `{"labels":{"a":"1","a":"2"}}`, "/labels/a duplicate", 400},
	} {
		rec := fx.send(patch(tt.patch))
		p := fx.problem(rec)
		var fields []string
		for _, f := range p.Errors {
			fields = append(fields, f.Pointer+" "+f.Code)
		}
		if rec.Code != tt.status || strings.Join(fields, ", ") != tt.fields {
			t.Errorf("%s: %d %v, want %d %s: %.300s", tt.name, rec.Code, fields, tt.status, tt.fields, rec.Body)
		}
	}
	plain := patch(`{"description":"json"}`)
	plain.header = map[string]string{"Content-Type": "application/json"}
	fx.mustSend(200, plain, nil)
	plain.header = map[string]string{"Content-Type": "application/json-patch+json"}
	if rec := fx.send(plain); rec.Code != 415 {
		t.Errorf("a JSON Patch: %d, want 415", rec.Code)
	}
}

// TestIfMatch: every write with If-Match changes only the version that it names.
func TestIfMatch(t *testing.T) {
	fx := newFixture(t, nil)
	key := fx.keyWithEveryScope()
	m := fx.createMission("1")
	path := fieldmark.PathMissions + "/" + m.ID
	version := 1
	for i, a := range []request{
		{method: "PATCH", path: path, body: `{"description":"%d"}`},
		{method: "PUT", path: path + "/plan", body: `{"scheduled":null,"assignee":{"id":"%d"}}`},
		{method: "POST", path: path + "/transitions", body: `{"status":"SCHEDULED"}`},
		{method: "POST", path: path + "/cancel"},
	} {
		a.key, a.body = key, strings.ReplaceAll(a.body, "%d", fmt.Sprint(i))
		for _, stale := range []string{`"99"`, fmt.Sprintf(`W/"%d"`, version), fmt.Sprint(version), `"x"`, "",
			`"98", "99"`,
			fmt.Sprintf(`"+%d"`, version),
			fmt.Sprintf(`"%d.5"`, version), fmt.Sprintf(`"%d.0"`, version), fmt.Sprintf(`"0%d"`, version)} {
			a.header = map[string]string{"If-Match": stale}
			rec := fx.send(a)
			if p := fx.problem(rec); rec.Code != 412 || p.Code != fieldmark.CodeVersionMismatch {
				t.Errorf("%s %s at version %d with If-Match %q: %d %s, want 412", a.method, a.path, version, stale,
					rec.Code,
					p.Code)
			}
		}
		a.header = map[string]string{"If-Match": fmt.Sprintf(`"98", "%d"`, version)}
		if i%2 == 1 {
			a.header["If-Match"] = "*"
		}
		var now fieldmark.Mission
		rec := fx.mustSend(200, a, &now)
		version++
		if now.Version != version || rec.Header().Get("ETag") != fmt.Sprintf(`"%d"`, version) {
			t.Errorf("%s %s: version %d, ETag %s, want %d", a.method, a.path, now.Version, rec.Header().Get("ETag"),
				version)
		}
	}
}

func TestPlan(t *testing.T) {
	fx := newFixture(t, nil)
	key := fx.keyWithEveryScope()
	m := fx.createMission("1")
	put := request{method: "PUT", path: fieldmark.PathMissions + "/" + m.ID + "/plan", key: key,
		body: `{"scheduled":{"start":"2026-12-01T08:00:00Z","end":"2026-12-01T09:00:00Z"},"assignee":{"id":"7"}}`}
	var now fieldmark.Mission
	fx.mustSend(200, put, &now)
	if now.Version != 2 || now.Scheduled == nil || now.Assignee == nil || now.Status != fieldmark.MissionNew {
		t.Errorf("planned: %+v", now)
	}
	if fx.mustSend(200, put, &now); now.Version != 2 {
		t.Errorf("the same plan again: version %d, want 2", now.Version)
	}
	put.body = `{"scheduled":null,"assignee":null}`
	now = fieldmark.Mission{}
	if fx.mustSend(200, put, &now); now.Version != 3 || now.Scheduled != nil || now.Assignee != nil {
		t.Errorf("no plan: %+v", now)
	}
	put.body = `{"scheduled":{"start":"2026-12-01T08:00:00Z","end":"2026-12-01T08:00:00Z"},"assignee":null}`
	if p := fx.problem(fx.mustSend(422, put, nil)); len(p.Errors) != 1 || p.Errors[0].Pointer != "/scheduled/end" {
		t.Errorf("a plan of no length: %+v", p)
	}
}
