package api_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
)

// TestOccurredAt reports transitions and notes later than they happened: the time of the device is
// kept beside the time of receipt, SLA timers take it only if the account wants that, and a time
// that does not fit is refused.
func TestOccurredAt(t *testing.T) {
	fx := newFixture(t, nil)
	key := fx.keyWithEveryScope()
	at := func(m fieldmark.Mission, after time.Duration) *fieldmark.Time {
		at := fieldmark.At(m.CreatedAt.Std().Add(after))
		return &at
	}
	post := func(m fieldmark.Mission, part, member, value string, at *fieldmark.Time) request {
		return request{method: "POST", path: fieldmark.PathMissions + "/" + m.ID + part, key: key,
			body: fmt.Sprintf(`{%q:%q,"occurredAt":%q}`, member, value, at)}
	}
	stopped := func(m fieldmark.Mission) *fieldmark.Time {
		for _, c := range m.SLA.Metrics {
			if c.Name == fieldmark.SLAResponse {
				return c.StoppedAt
			}
		}
		return nil
	}
	for _, deviceTime := range []bool{false, true} {
		var account fieldmark.Account
		fx.mustSend(200, request{method: "PUT", path: adminPath + "accounts/default", key: fx.admin,
			body: fmt.Sprintf(`{"name":"Default","deviceTime":%t,"timeZone":"Europe/Berlin"}`, deviceTime)}, &account)
		if account.DeviceTime != deviceTime || account.TimeZone != "Europe/Berlin" {
			t.Errorf("account %+v", account)
		}
		m := fx.createMission(fmt.Sprint("device time ", deviceTime))
		dispatched := at(m, time.Millisecond)
		var moved fieldmark.Mission
		fx.mustSend(200, post(m, "/transitions", "status", "DISPATCHED", dispatched), &moved)
		want := moved.UpdatedAt
		if deviceTime {
			want = *dispatched
		}
		if got := stopped(moved); got == nil || !got.Std().Equal(want.Std()) {
			t.Errorf("deviceTime %t: the response timer stopped at %v, want %s", deviceTime, got, want)
		}
		if moved.OccurredAt == nil || *moved.OccurredAt != *dispatched || !moved.Offline ||
			!moved.DispatchedAt.Std().Equal(moved.UpdatedAt.Std()) {
			t.Errorf("mission %+v, want occurredAt %s and the receipt in dispatchedAt", moved, dispatched)
		}
		var read fieldmark.Mission
		fx.mustSend(200, request{method: "GET", path: fieldmark.PathMissions + "/" + m.ID, key: key}, &read)
		if read.OccurredAt == nil || *read.OccurredAt != *dispatched || !read.Offline {
			t.Errorf("read again: occurredAt %v, offline %t", read.OccurredAt, read.Offline)
		}
	}

	m := fx.createMission("refusals")
	fx.mustSend(200, post(m, "/transitions", "status", "DISPATCHED", at(m, 3*time.Millisecond)), nil)
	for _, c := range []struct {
		at   time.Time
		code string
	}{
		{time.Now().Add(6 * time.Minute), "ahead"},
		{time.Now().Add(-73 * time.Hour), "too_old"},
		{m.CreatedAt.Std().Add(2 * time.Millisecond), "before_transition"},
	} {
		when := fieldmark.At(c.at)
		for _, r := range []request{post(m, "/transitions", "status", "EN_ROUTE", &when),
			post(m, "/notes", "text", "Late.", &when)} {
			rec := fx.send(r)
			p := fx.problem(rec)
			if rec.Code != 422 || p.Code != fieldmark.CodeInvalidOccurredAt || len(p.Errors) != 1 ||
				p.Errors[0].Code != c.code || p.Errors[0].Pointer != "/occurredAt" {
				t.Errorf("%s at %s: %d %+v, want 422 with %s", r.path, when, rec.Code, p, c.code)
			}
		}
	}
	// A minute ahead is within the tolerance, and a report without a time counts as now.
	ahead := fieldmark.At(time.Now().Add(time.Minute))
	var n fieldmark.Note
	fx.mustSend(201, post(m, "/notes", "text", "Soon.", &ahead), &n)
	if n.OccurredAt == nil || *n.OccurredAt != ahead || n.CreatedAt.Std().After(ahead.Std()) {
		t.Errorf("note %+v, want occurredAt %s after its receipt", n, ahead)
	}
	var moved fieldmark.Mission
	fx.mustSend(200, move(key, m.ID, fieldmark.MissionEnRoute), &moved)
	if moved.OccurredAt != nil || moved.Offline {
		t.Errorf("moved without a time: occurredAt %v, offline %t", moved.OccurredAt, moved.Offline)
	}
	events, err := fx.store.EventsAbout(t.Context(), m.ID, "", 10)
	if err != nil {
		t.Fatal(err)
	}
	offline := map[fieldmark.EventType]bool{}
	for _, e := range events {
		var data struct{ Offline bool }
		if err := json.Unmarshal(e.Data, &data); err != nil {
			t.Fatal(err)
		}
		offline[e.Type] = data.Offline
	}
	if !offline[fieldmark.EventMissionDispatched] || !offline[fieldmark.EventMissionNoted] ||
		offline[fieldmark.EventMissionEnRoute] || offline[fieldmark.EventMissionCreated] {
		t.Errorf("offline events: %v, want those of the dispatch and of the note", offline)
	}
}
