package api_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
)

// TestTextLimits: a text that cannot be decoded, displayed or forwarded is rejected with
// the pointer of its member.
func TestTextLimits(t *testing.T) {
	fx := newFixture(t, nil)
	for i, tt := range []struct{ name, members, want string }{
		{"a plain title", `"title":"Mast"`, ""},
		{"joiners, marks and flags", `"title":"👩\u200d🔧 مرحبا\u200f 🏴"`, ""},
		{"a blank title", `"title":"   "`, "/title too_short"},
		{"only invisible characters", `"title":"\u200c\u200f"`, "/title too_short"},
		{"a text direction override", `"title":"abc\u202edef"`, "/title pattern"},
		{"an isolate", `"title":"abc\u2066def"`, "/title pattern"},
		{"a zero-width space", `"title":"ab\u200bc"`, "/title pattern"},
		{"a byte order mark inside", `"title":"ab\ufeffc"`, "/title pattern"},
		{"a hidden character in a category", `"title":"t","category":"a\u200bb"`, "/category pattern"},
		{"a number too large for a float", `"title":"t","metadata":{"a":[1e400]}`, "/metadata range"},
		{"a large number", `"title":"t","metadata":{"a":1e308}`, ""},
		{"terms in days", `"title":"t","payment":{"terms":"NET 14"}`, ""},
		{"terms at once", `"title":"t","payment":{"terms":"on receipt"}`, ""},
		{"negative terms", `"title":"t","payment":{"terms":"NET -1"}`, "/payment/terms pattern"},
		{"terms beyond a year", `"title":"t","payment":{"terms":"NET 99999"}`, "/payment/terms pattern"},
		{"misspelt terms", `"title":"t","payment":{"terms":"NTE 14"}`, "/payment/terms pattern"},
	} {
		rec := fx.send(request{method: "POST", path: fieldmark.PathMissions, key: fx.creator,
			body: fmt.Sprintf(`{"source":"crm","externalId":"%d",%s}`, i, tt.members)})
		if tt.want == "" {
			if rec.Code != 201 {
				t.Errorf("%s: %d %s, want 201", tt.name, rec.Code, rec.Body)
			}
			continue
		}
		if p := fx.problem(rec); rec.Code != 422 || len(p.Errors) != 1 ||
			p.Errors[0].Pointer+" "+p.Errors[0].Code != tt.want {
			t.Errorf("%s: %d %+v, want 422 with %s", tt.name, rec.Code, p.Errors, tt.want)
		}
	}
	// Adapters repair such texts.
	r := fx.wantReport("hidden characters in an alert", alertmanager, strings.ReplaceAll(group("g", "Down/high"),
		"About Down", `\u202eAbo\u200but Down`), "1: 1c 0m 0r 0i")
	if m := fx.mission(r.Missions[0].ID); m.Title != "About Down" {
		t.Errorf("title %q of an alert with hidden characters, want %q", m.Title, "About Down")
	}
}

// TestClosedMissions: no request changes a mission in a final state. A request that
// repeats the current state gets the same response as before.
func TestClosedMissions(t *testing.T) {
	fx := newFixture(t, nil)
	key := fx.keyWithEveryScope()
	canceled, closed := fx.createMission("canceled"), fx.createMission("closed")
	fx.transitionTo(canceled.ID, fieldmark.MissionCanceled)
	fx.transitionTo(closed.ID, fieldmark.MissionDispatched, fieldmark.MissionInProgress, fieldmark.MissionCompleted,
		fieldmark.MissionClosed)
	for _, tt := range []struct {
		method, path, body string
		want               int
	}{
		{"PATCH", "", `{"priority":"CRITICAL"}`, 409},
		{"PATCH", "", `{"labels":{"a":"b"}}`, 409},
		{"PATCH", "", `{"priority":"MEDIUM"}`, 200},
		{"PUT", "/plan", `{"assignee":{"id":"ann"}}`, 409},
		{"PUT", "/plan", `{}`, 200},
		{"POST", "/transitions", `{"status":"SCHEDULED"}`, 409},
	} {
		for _, m := range []fieldmark.Mission{canceled, closed} {
			rec := fx.send(request{method: tt.method, path: fieldmark.PathMissions + "/" + m.ID + tt.path, key: key,
				body: tt.body})
			if rec.Code != tt.want {
				t.Errorf("%s %s on %s: %d %s, want %d", tt.method, tt.body, m.ExternalID, rec.Code, rec.Body, tt.want)
			}
			if tt.want == 409 {
				if p := fx.problem(rec); p.Code != fieldmark.CodeInvalidTransition || p.From == "" {
					t.Errorf("%s %s on %s: %+v, want %s and the status", tt.method, tt.body, m.ExternalID, p,
						fieldmark.CodeInvalidTransition)
				}
			}
		}
	}
}

// TestReasons: reason codes are case-insensitive, and a late cancellation stores the code.
func TestReasons(t *testing.T) {
	fx := newFixture(t, nil)
	for i, tt := range []struct {
		late       bool
		body, want string
	}{
		{false, `{"reason":{"code":"customer"}}`, "CUSTOMER "},
		{false, `{"reason":{"code":"Customer","text":"not needed"}}`, "CUSTOMER not needed"},
		{true, `{}`, "LATE_CANCEL "},
		{true, `{"reason":{"code":"customer"}}`, "LATE_CANCEL CUSTOMER"},
		{true, `{"reason":{"code":"CUSTOMER","text":"not needed"}}`, "LATE_CANCEL CUSTOMER: not needed"},
		{true, `{"reason":{"code":"LATE_CANCEL","text":"not needed"}}`, "LATE_CANCEL not needed"},
	} {
		m := fx.createMission(fmt.Sprint(i))
		if tt.late {
			fx.transitionTo(m.ID, fieldmark.MissionDispatched, fieldmark.MissionEnRoute)
		}
		fx.mustSend(200, request{method: "POST", path: fieldmark.PathMissions + "/" + m.ID + "/cancel",
			key:  fx.keyWithEveryScope(),
			body: tt.body}, &m)
		got := ""
		if m.StatusReason != nil {
			got = m.StatusReason.Code + " " + m.StatusReason.Text
		}
		if got != tt.want {
			t.Errorf("late %v, %s: reason %q, want %q", tt.late, tt.body, got, tt.want)
		}
	}
}

// TestPaymentAmountsAndDates: a refund requires an amount, and a payment date in the
// future is rejected.
func TestPaymentAmountsAndDates(t *testing.T) {
	fx := newFixture(t, nil)
	var m fieldmark.Mission
	fx.mustSend(201, request{method: "POST", path: fieldmark.PathMissions, key: fx.creator,
		body: `{"source":"crm","externalId":"1","title":"t","payment":{"amount":{"value":100,"currency":"EUR"},` +
			`"terms":"NET 0"}}`}, &m)
	fx.transitionTo(m.ID, fieldmark.MissionDispatched, fieldmark.MissionInProgress, fieldmark.MissionCompleted,
		fieldmark.MissionClosed)
	m = fx.mission(m.ID)
	if due := m.Payment.DueAt; due == nil || *due != *m.ClosedAt {
		t.Errorf("NET 0: due at %v, want %v", due, m.ClosedAt)
	}
	path := "/api/admin/v1/payments/" + m.Payment.ID
	for _, tt := range []struct{ call, body, want string }{
		{"/transitions", `{"status":"PAID","paidAt":"2099-01-01T00:00:00Z"}`, "/paidAt range"},
		{"/transitions", `{"status":"PAID"}`, ""},
		{"/refunds", `{}`, "/amount required"},
		{"/refunds", `{"amount":0}`, "/amount range"},
		{"/refunds", `{"amount":101}`, "/amount range"},
		{"/refunds", `{"amount":40,"reference":"r"}`, ""},
		{"/refunds", `{"amount":60,"reference":"r"}`, "/reference conflict"},
		{"/refunds", `{"amount":60}`, ""},
	} {
		rec := fx.send(request{method: "POST", path: path + tt.call, key: fx.admin, body: tt.body})
		if tt.want == "" {
			if rec.Code != 200 {
				t.Errorf("%s %s: %d %s, want 200", tt.call, tt.body, rec.Code, rec.Body)
			}
			continue
		}
		if p := fx.problem(rec); rec.Code != 422 || len(p.Errors) != 1 ||
			p.Errors[0].Pointer+" "+p.Errors[0].Code != tt.want {
			t.Errorf("%s %s: %d %+v, want 422 with %s", tt.call, tt.body, rec.Code, p.Errors, tt.want)
		}
	}
}

// TestTwoAuthorizationHeaders: a request with two is rejected, because a proxy may have
// checked the other one.
func TestTwoAuthorizationHeaders(t *testing.T) {
	fx := newFixture(t, nil)
	r := httptest.NewRequest("GET", fieldmark.PathMissions, nil)
	r.Header["Authorization"] = []string{"Bearer " + fx.reader, "Bearer " + fx.otherKey}
	rec := httptest.NewRecorder()
	fx.handler.ServeHTTP(rec, r)
	if p := fx.problem(rec); rec.Code != 401 || p.Code != fieldmark.CodeInvalidAPIKey || !strings.Contains(p.Detail,
		"one Authorization header") {
		t.Errorf("%d %+v, want 401 that names the field", rec.Code, p)
	}
}

// TestByteOrderMark: the error message names the byte order mark before the JSON.
func TestByteOrderMark(t *testing.T) {
	fx := newFixture(t, nil)
	rec := fx.send(request{method: "POST", path: fieldmark.PathMissions, key: fx.creator, body: "\ufeff{}"})
	if p := fx.problem(rec); rec.Code != 400 || p.Code != fieldmark.CodeMalformedJSON || !strings.Contains(p.Detail,
		"byte order mark") {
		t.Errorf("%d %+v, want 400 about the byte order mark", rec.Code, p)
	}
}
