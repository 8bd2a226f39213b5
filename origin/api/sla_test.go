package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
)

// run runs the workers behind the API until the returned function is called.
func (fx *fixture) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- fx.service.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			fx.t.Errorf("run: %v", err)
		}
	})
	fx.t.Cleanup(stop)
	return stop
}

// eventTexts lists all events of a kind, each described by word.
func (fx *fixture) eventTexts(kind string, word func(e fieldmark.Event) string) []string {
	fx.t.Helper()
	page, err := fx.service.Events.After(context.Background(), fieldmark.EventCursor{Number: 0}, 0, 0)
	if err != nil {
		fx.t.Fatal(err)
	}
	list := []string{}
	for _, e := range page.Events {
		if strings.HasPrefix(string(e.Type), kind+".") {
			list = append(list, strings.TrimPrefix(string(e.Type), kind+".")+word(e))
		}
	}
	return list
}

func metricOf(e fieldmark.Event) string {
	var s fieldmark.SLASubject
	if json.Unmarshal(e.Data, &s) != nil || s.ID == "" || s.ExternalID == "" || s.Source == "" || s.Status == "" ||
		s.Priority == "" {
		return " INCOMPLETE " + string(e.Data)
	}
	return " " + string(s.Metric)
}

// minutes is a policy with targets of a few minutes around the clock. Short targets keep
// the virtual time low: in one virtual hour the workers poll thousands of times.
const minutes = `{"responseMinutes":4,"onsiteMinutes":8,"resolutionMinutes":10,"calendar":"24x7",` +
	`"atRiskPercent":[50,75],"pausesSla":["WEATHER"]}`

func (fx *fixture) transition(id, body string) (m fieldmark.Mission) {
	fx.t.Helper()
	fx.mustSend(200, request{method: "POST", path: adminPath + "missions/" + id + "/transitions", key: fx.admin,
		body: body}, &m)
	return m
}

func (fx *fixture) slaTimer(id string, name fieldmark.SLAMetric) (c fieldmark.SLAClock, etag string) {
	fx.t.Helper()
	var m fieldmark.Mission
	rec := fx.mustSend(200, request{method: "GET", path: fieldmark.PathMissions + "/" + id, key: fx.reader}, &m)
	if m.SLA == nil {
		fx.t.Fatalf("mission without clocks: %s", rec.Body)
	}
	for _, c = range m.SLA.Metrics {
		if c.Name == name {
			return c, rec.Header().Get("ETag")
		}
	}
	fx.t.Fatalf("no clock for %s: %s", name, rec.Body)
	return c, ""
}

func TestSLATimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, nil)
		fx.mustSend(200, request{method: "PUT", path: adminPath + "sla/policies/medium", key: fx.admin, body: minutes},
			nil)
		var m fieldmark.Mission
		fx.mustSend(201, request{method: "POST", path: fieldmark.PathMissions, key: fx.creator, body: goodMission}, &m)
		response, etag := fx.slaTimer(m.ID, fieldmark.SLAResponse)
		if due := m.CreatedAt.Std().Add(4 * time.Minute); m.SLA.Policy != "MEDIUM" ||
			response.State != fieldmark.SLARunning || !response.DueAt.Std().Equal(due) || etag != `"1"` {
			t.Errorf("opened: %+v as %s, want it due at %s", response, etag, due)
		}
		stop := fx.run()
		time.Sleep(3*time.Minute + 2*time.Second) // virtual
		stop()
		stop = fx.run() // as after a restart
		time.Sleep(time.Minute)
		want := []string{"at_risk response", "at_risk response", "at_risk onsite", "breached response"}
		if got := fx.eventTexts("sla", metricOf); !cmp.Equal(got, want) {
			t.Errorf("events %v, want %v", got, want)
		}
		response, etag = fx.slaTimer(m.ID, fieldmark.SLAResponse)
		if response.State != fieldmark.SLABreached || !response.BreachedAt.Std().Equal(response.DueAt.Std()) ||
			etag == `"1"` {
			t.Errorf("after four minutes: %+v as %s", response, etag)
		}
		fx.mustSend(200, request{method: "GET", path: fieldmark.PathMissions + "/" + m.ID, key: fx.reader,
			header: map[string]string{"If-None-Match": `"1"`}}, nil)
		fx.mustSend(304, request{method: "GET", path: fieldmark.PathMissions + "/" + m.ID, key: fx.reader,
			header: map[string]string{"If-None-Match": etag}}, nil)

		before, _ := fx.slaTimer(m.ID, fieldmark.SLAOnsite)
		fx.transition(m.ID, `{"status":"ON_HOLD","reason":{"code":"WEATHER"}}`)
		time.Sleep(5 * time.Minute) // after the due time of a timer without a pause
		if c, _ := fx.slaTimer(m.ID, fieldmark.SLAOnsite); c.State != fieldmark.SLAPaused || c.PausedAt == nil {
			t.Errorf("on hold: %+v", c)
		}
		fx.transition(m.ID, `{"status":"SCHEDULED"}`)
		after, _ := fx.slaTimer(m.ID, fieldmark.SLAOnsite)
		if moved := after.DueAt.Std().Sub(before.DueAt.Std()); moved != 5*time.Minute || after.PausedMinutes != 5 ||
			after.State != fieldmark.SLARunning {
			t.Errorf("a hold of five minutes moved the due time by %s: %+v", moved, after)
		}
		for _, to := range []string{"DISPATCHED", "IN_PROGRESS", "COMPLETED"} {
			m = fx.transition(m.ID, `{"status":"`+to+`"}`)
		}
		time.Sleep(8 * time.Minute)
		stop()
		want = append(want, "paused onsite", "paused resolution", "resumed onsite", "resumed resolution", "met onsite",
			"met resolution")
		if got := fx.eventTexts("sla", metricOf); !cmp.Equal(got, want) {
			t.Errorf("events %v, want %v", got, want)
		}
		if response, _ := fx.slaTimer(m.ID, fieldmark.SLAResponse); response.State != fieldmark.SLABreached ||
			response.StoppedAt == nil {
			t.Errorf("met late: %+v", response)
		}
		if err := fx.store.Check(t.Context()); err != nil {
			t.Errorf("check: %v", err)
		}
	})
}

// A changed policy applies to running timers from their start.
func TestSLAPolicies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, nil)
		var policies fieldmark.List[fieldmark.SLAPolicy]
		var calendars fieldmark.List[fieldmark.SLACalendar]
		fx.mustSend(200, request{method: "GET", path: adminPath + "sla/policies", key: fx.admin}, &policies)
		fx.mustSend(200, request{method: "GET", path: adminPath + "sla/calendars", key: fx.admin}, &calendars)
		if len(policies.Data) != 4 || policies.Data[0].Priority != fieldmark.PriorityCritical ||
			len(calendars.Data) != 2 {
			t.Errorf("active: %+v, %+v", policies, calendars)
		}
		fx.mustSend(200, request{method: "PUT", path: adminPath + "sla/policies/MEDIUM", key: fx.admin, body: minutes},
			nil)
		var m, held, done fieldmark.Mission
		for i, m := range []*fieldmark.Mission{&m, &held, &done} {
			fx.mustSend(201, request{method: "POST", path: fieldmark.PathMissions, key: fx.creator,
				body: strings.Replace(goodMission,
					`"externalId":"`, fmt.Sprintf(`"externalId":"%d-`, i), 1)}, m)
		}
		fx.transition(held.ID, `{"status":"ON_HOLD","reason":{"code":"WEATHER"}}`)
		fx.transition(done.ID, `{"status":"CANCELED"}`)
		stop := fx.run()
		defer stop()
		time.Sleep(10 * time.Second)
		longer := strings.Replace(minutes, `"onsiteMinutes":8`, `"onsiteMinutes":80`, 1)
		fx.mustSend(200, request{method: "PUT", path: adminPath + "sla/policies/MEDIUM", key: fx.admin, body: longer},
			nil)
		time.Sleep(5 * time.Second)
		for _, m := range []fieldmark.Mission{m, held} {
			if c, _ := fx.slaTimer(m.ID, fieldmark.SLAOnsite); c.TargetMinutes != 80 ||
				!c.DueAt.Std().Equal(m.CreatedAt.Std().Add(80*time.Minute)) {
				t.Errorf("under a longer target: %+v", c)
			}
		}
		if c, _ := fx.slaTimer(done.ID, fieldmark.SLAOnsite); c.TargetMinutes != 8 || c.State != fieldmark.SLACanceled {
			t.Errorf("of a mission that is over: %+v", c)
		}
		// A custom calendar: closed on the first day of the bubble, 2000-01-01.
		night := `{"timeZone":"UTC","hours":[{"days":["MON","TUE","WED","THU","FRI","SAT","SUN"],"from":"00:00",` +
			`"to":"24:00"}],"holidays":[{"date":"01-01","name":"New year"}]}`
		fx.mustSend(200, request{method: "PUT", path: adminPath + "sla/calendars/around", key: fx.admin,
			body: strings.Replace(night,
				"01-01", "07-07", 1)}, nil)
		fx.mustSend(200, request{method: "PUT", path: adminPath + "sla/policies/MEDIUM", key: fx.admin,
			body: strings.Replace(longer,
				"24x7", "around", 1)}, nil)
		fx.mustSend(200, request{method: "PUT", path: adminPath + "sla/calendars/around", key: fx.admin, body: night},
			nil)
		time.Sleep(5 * time.Second)
		if c, _ := fx.slaTimer(m.ID, fieldmark.SLAOnsite); c.DueAt.String() != "2000-01-02T01:20:00.000Z" {
			t.Errorf("with a holiday today: %+v", c)
		}
		causes := fx.eventTexts("sla", func(e fieldmark.Event) string {
			var u fieldmark.SLAUpdatedEvent
			if json.Unmarshal(e.Data, &u) != nil || u.ID != m.ID || u.Metric != fieldmark.SLAOnsite {
				return ""
			}
			return " " + u.Cause
		})
		if got := strings.Join(causes, ","); strings.Count(got, "updated policy") != 1 || strings.Count(got,
			"updated calendar") != 1 {
			t.Errorf("updates %s, want one for each cause", got)
		}
		rec := fx.send(request{method: "DELETE", path: adminPath + "sla/calendars/around", key: fx.admin})
		if p := fx.problem(rec); rec.Code != 422 || p.Errors[0].Code != "conflict" {
			t.Errorf("delete a calendar in use: %d %+v", rec.Code, p)
		}
		fx.mustSend(204, request{method: "DELETE", path: adminPath + "sla/policies/MEDIUM", key: fx.admin}, nil)
		fx.mustSend(204, request{method: "DELETE", path: adminPath + "sla/calendars/around", key: fx.admin}, nil)
		time.Sleep(5 * time.Second)
		if c, _ := fx.slaTimer(m.ID, fieldmark.SLAOnsite); c.TargetMinutes != 16*60 {
			t.Errorf("under the default again: %+v", c)
		}
	})
}

func TestSLALimits(t *testing.T) {
	fx := newFixture(t, nil)
	const policy, calendar = "sla/policies/LOW", "sla/calendars/x"
	for _, tt := range []struct {
		path, body, want string
	}{
		{policy, strings.Replace(minutes, "24x7", "nowhere", 1), "/calendar enum"},
		{policy, strings.Replace(minutes, "[50,75]", "[0]", 1), "/atRiskPercent/0 range"},
		{policy, strings.Replace(minutes, "WEATHER", "weather", 1), "/pausesSla/0 pattern"},
		{policy, strings.Replace(minutes, `"responseMinutes":4`, `"responseMinutes":0`, 1), "/responseMinutes range"},
		{policy, strings.Replace(minutes, "{", `{"priority":"LOW",`, 1), "/priority unknown_field"},
		{calendar, `{"timeZone":"Mars/Olympus","hours":[{"days":["MON"],"from":"08:00","to":"18:00"}]}`,
			"/timeZone enum"},
		{calendar, `{"timeZone":"UTC","hours":[{"days":["MON"],"from":"08:00","to":"08:00"}]}`, "/hours/0/to range"},
		{calendar, `{"timeZone":"UTC","hours":[{"days":["MON"],"from":"8","to":"18:00"}]}`, "/hours/0/from pattern"},
		{calendar, `{"timeZone":"UTC","hours":[{"days":["MOON"],"from":"08:00","to":"18:00"}]}`,
			"/hours/0/days/0 enum"},
		{calendar,
			`{"timeZone":"UTC","hours":[{"days":["MON"],"from":"08:00","to":"18:00"}],"holidays":[{"date":"02-30"}]}`,
			"/holidays/0/date format"},
		{calendar, `{"timeZone":"UTC","hours":[{"days":["MON"],"from":"08:00","to":"18:00"}],"holidays":[{}]}`,
			"/holidays/0/date required"},
	} {
		rec := fx.send(request{method: "PUT", path: adminPath + tt.path, key: fx.admin, body: tt.body})
		p := fx.problem(rec)
		if rec.Code != 422 || len(p.Errors) != 1 || p.Errors[0].Pointer+" "+p.Errors[0].Code != tt.want {
			t.Errorf("%s %s: %d %+v, want 422 for %s", tt.path, tt.body, rec.Code, p.Errors, tt.want)
		}
	}
	for path, method := range map[string]string{"sla/policies/SOON": "PUT", "sla/calendars/Not%20a%20name": "PUT",
		"sla/calendars/nowhere": "DELETE"} {
		rec := fx.send(request{method: method, path: adminPath + path, key: fx.admin,
			body: map[bool]string{true: minutes}[method == "PUT"]})
		if p := fx.problem(rec); rec.Code != 404 || p.Code != fieldmark.CodeNotFound {
			t.Errorf("%s %s: %d %s, want 404", method, path, rec.Code, p.Code)
		}
	}
}

// When an alert becomes more urgent, the remaining time of its mission gets shorter.
func TestSLATimersOfAlert(t *testing.T) {
	fx := newFixture(t, nil)
	id := fx.wantReport("fire", alertmanager, group("g", "Down/warning"), "1: 1c 0m 0r 0i").Missions[0].ID
	fx.wantReport("more urgent", alertmanager, group("g", "Down/critical"), "1: 0c 1m 0r 0i")
	if c, _ := fx.slaTimer(id, fieldmark.SLAResponse); c.TargetMinutes != 15 {
		t.Errorf("under CRITICAL: %+v", c)
	}
	want := []string{"updated response", "updated onsite", "updated resolution"}
	if got := fx.eventTexts("sla", metricOf); !cmp.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}
