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
func (w *world) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.service.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("run: %v", err)
		}
	})
	w.t.Cleanup(stop)
	return stop
}

// heard lists the events of a kind since the beginning, with a word about each.
func (w *world) heard(kind string, word func(e fieldmark.Event) string) []string {
	w.t.Helper()
	page, err := w.service.Events.After(context.Background(), fieldmark.EventCursor{Number: 0}, 0, 0)
	if err != nil {
		w.t.Fatal(err)
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

// minutes is a policy of a few minutes around the clock: a bubble of an hour
// takes the workers through thousands of looks.
const minutes = `{"responseMinutes":4,"onsiteMinutes":8,"resolutionMinutes":10,"calendar":"24x7",` +
	`"atRiskPercent":[50,75],"pausesSla":["WEATHER"]}`

func (w *world) transit(id, body string) (m fieldmark.Mission) {
	w.t.Helper()
	w.must(200, ask{method: "POST", path: adminPath + "missions/" + id + "/transitions", key: w.admin, body: body}, &m)
	return m
}

func (w *world) clock(id string, name fieldmark.SLAMetric) (c fieldmark.SLAClock, etag string) {
	w.t.Helper()
	var m fieldmark.Mission
	rec := w.must(200, ask{method: "GET", path: fieldmark.PathMissions + "/" + id, key: w.reader}, &m)
	if m.SLA == nil {
		w.t.Fatalf("mission without clocks: %s", rec.Body)
	}
	for _, c = range m.SLA.Metrics {
		if c.Name == name {
			return c, rec.Header().Get("ETag")
		}
	}
	w.t.Fatalf("no clock for %s: %s", name, rec.Body)
	return c, ""
}

func TestClocksOfAMission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.must(200, ask{method: "PUT", path: adminPath + "sla/policies/medium", key: w.admin, body: minutes}, nil)
		var m fieldmark.Mission
		w.must(201, ask{method: "POST", path: fieldmark.PathMissions, key: w.creator, body: goodMission}, &m)
		response, etag := w.clock(m.ID, fieldmark.SLAResponse)
		if due := m.CreatedAt.Std().Add(4 * time.Minute); m.SLA.Policy != "MEDIUM" ||
			response.State != fieldmark.SLARunning || !response.DueAt.Std().Equal(due) || etag != `"1"` {
			t.Errorf("opened: %+v as %s, want it due at %s", response, etag, due)
		}
		stop := w.run()
		time.Sleep(3*time.Minute + 2*time.Second) // virtual
		stop()
		stop = w.run() // as after a restart
		time.Sleep(time.Minute)
		want := []string{"at_risk response", "at_risk response", "at_risk onsite", "breached response"}
		if got := w.heard("sla", metricOf); !cmp.Equal(got, want) {
			t.Errorf("told %v, want %v", got, want)
		}
		response, etag = w.clock(m.ID, fieldmark.SLAResponse)
		if response.State != fieldmark.SLABreached || !response.BreachedAt.Std().Equal(response.DueAt.Std()) ||
			etag == `"1"` {
			t.Errorf("after four minutes: %+v as %s", response, etag)
		}
		w.must(200, ask{method: "GET", path: fieldmark.PathMissions + "/" + m.ID, key: w.reader,
			header: map[string]string{"If-None-Match": `"1"`}}, nil)
		w.must(304, ask{method: "GET", path: fieldmark.PathMissions + "/" + m.ID, key: w.reader,
			header: map[string]string{"If-None-Match": etag}}, nil)

		before, _ := w.clock(m.ID, fieldmark.SLAOnsite)
		w.transit(m.ID, `{"status":"ON_HOLD","reason":{"code":"WEATHER"}}`)
		time.Sleep(5 * time.Minute) // past the due time, had it not been paused
		if c, _ := w.clock(m.ID, fieldmark.SLAOnsite); c.State != fieldmark.SLAPaused || c.PausedAt == nil {
			t.Errorf("on hold: %+v", c)
		}
		w.transit(m.ID, `{"status":"SCHEDULED"}`)
		after, _ := w.clock(m.ID, fieldmark.SLAOnsite)
		if moved := after.DueAt.Std().Sub(before.DueAt.Std()); moved != 5*time.Minute || after.PausedMinutes != 5 ||
			after.State != fieldmark.SLARunning {
			t.Errorf("a hold of five minutes moved the due time by %s: %+v", moved, after)
		}
		for _, to := range []string{"DISPATCHED", "IN_PROGRESS", "COMPLETED"} {
			m = w.transit(m.ID, `{"status":"`+to+`"}`)
		}
		time.Sleep(8 * time.Minute)
		stop()
		want = append(want, "paused onsite", "paused resolution", "resumed onsite", "resumed resolution", "met onsite",
			"met resolution")
		if got := w.heard("sla", metricOf); !cmp.Equal(got, want) {
			t.Errorf("told %v, want %v", got, want)
		}
		if response, _ := w.clock(m.ID, fieldmark.SLAResponse); response.State != fieldmark.SLABreached ||
			response.StoppedAt == nil {
			t.Errorf("met late: %+v", response)
		}
		if err := w.store.Check(t.Context()); err != nil {
			t.Errorf("check: %v", err)
		}
	})
}

// What operators change is in force for what runs, from its start.
func TestRulesOfClocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		var policies fieldmark.List[fieldmark.SLAPolicy]
		var calendars fieldmark.List[fieldmark.SLACalendar]
		w.must(200, ask{method: "GET", path: adminPath + "sla/policies", key: w.admin}, &policies)
		w.must(200, ask{method: "GET", path: adminPath + "sla/calendars", key: w.admin}, &calendars)
		if len(policies.Data) != 4 || policies.Data[0].Priority != fieldmark.PriorityCritical || len(calendars.Data) != 2 {
			t.Errorf("in force: %+v, %+v", policies, calendars)
		}
		w.must(200, ask{method: "PUT", path: adminPath + "sla/policies/MEDIUM", key: w.admin, body: minutes}, nil)
		var m, held, done fieldmark.Mission
		for i, m := range []*fieldmark.Mission{&m, &held, &done} {
			w.must(201, ask{method: "POST", path: fieldmark.PathMissions, key: w.creator, body: strings.Replace(goodMission,
				`"externalId":"`, fmt.Sprintf(`"externalId":"%d-`, i), 1)}, m)
		}
		w.transit(held.ID, `{"status":"ON_HOLD","reason":{"code":"WEATHER"}}`)
		w.transit(done.ID, `{"status":"CANCELED"}`)
		stop := w.run()
		defer stop()
		time.Sleep(10 * time.Second)
		longer := strings.Replace(minutes, `"onsiteMinutes":8`, `"onsiteMinutes":80`, 1)
		w.must(200, ask{method: "PUT", path: adminPath + "sla/policies/MEDIUM", key: w.admin, body: longer}, nil)
		time.Sleep(5 * time.Second)
		for _, m := range []fieldmark.Mission{m, held} {
			if c, _ := w.clock(m.ID, fieldmark.SLAOnsite); c.TargetMinutes != 80 ||
				!c.DueAt.Std().Equal(m.CreatedAt.Std().Add(80*time.Minute)) {
				t.Errorf("under a longer target: %+v", c)
			}
		}
		if c, _ := w.clock(done.ID, fieldmark.SLAOnsite); c.TargetMinutes != 8 || c.State != fieldmark.SLACanceled {
			t.Errorf("of a mission that is over: %+v", c)
		}
		// A calendar of our own: closed on the day the bubble began, 2000-01-01.
		night := `{"timeZone":"UTC","hours":[{"days":["MON","TUE","WED","THU","FRI","SAT","SUN"],"from":"00:00",` +
			`"to":"24:00"}],"holidays":[{"date":"01-01","name":"New year"}]}`
		w.must(200, ask{method: "PUT", path: adminPath + "sla/calendars/around", key: w.admin, body: strings.Replace(night,
			"01-01", "07-07", 1)}, nil)
		w.must(200, ask{method: "PUT", path: adminPath + "sla/policies/MEDIUM", key: w.admin, body: strings.Replace(longer,
			"24x7", "around", 1)}, nil)
		w.must(200, ask{method: "PUT", path: adminPath + "sla/calendars/around", key: w.admin, body: night}, nil)
		time.Sleep(5 * time.Second)
		if c, _ := w.clock(m.ID, fieldmark.SLAOnsite); c.DueAt.String() != "2000-01-02T01:20:00.000Z" {
			t.Errorf("with a holiday today: %+v", c)
		}
		causes := w.heard("sla", func(e fieldmark.Event) string {
			var u fieldmark.SLAUpdatedEvent
			if json.Unmarshal(e.Data, &u) != nil || u.ID != m.ID || u.Metric != fieldmark.SLAOnsite {
				return ""
			}
			return " " + u.Cause
		})
		if got := strings.Join(causes, ","); strings.Count(got, "updated policy") != 1 || strings.Count(got,
			"updated calendar") != 1 {
			t.Errorf("told %s, want one update by each cause", got)
		}
		rec := w.send(ask{method: "DELETE", path: adminPath + "sla/calendars/around", key: w.admin})
		if p := w.problem(rec); rec.Code != 422 || p.Errors[0].Code != "conflict" {
			t.Errorf("delete a calendar in use: %d %+v", rec.Code, p)
		}
		w.must(204, ask{method: "DELETE", path: adminPath + "sla/policies/MEDIUM", key: w.admin}, nil)
		w.must(204, ask{method: "DELETE", path: adminPath + "sla/calendars/around", key: w.admin}, nil)
		time.Sleep(5 * time.Second)
		if c, _ := w.clock(m.ID, fieldmark.SLAOnsite); c.TargetMinutes != 16*60 {
			t.Errorf("under the default again: %+v", c)
		}
	})
}

func TestRulesOfClocksAreHeldToTheirBounds(t *testing.T) {
	w := newWorld(t, nil)
	const policy, calendar = "sla/policies/LOW", "sla/calendars/x"
	for _, tt := range []struct {
		path, body, want string
	}{
		{policy, strings.Replace(minutes, "24x7", "nowhere", 1), "/calendar enum"},
		{policy, strings.Replace(minutes, "[50,75]", "[0]", 1), "/atRiskPercent/0 range"},
		{policy, strings.Replace(minutes, "WEATHER", "weather", 1), "/pausesSla/0 pattern"},
		{policy, strings.Replace(minutes, `"responseMinutes":4`, `"responseMinutes":0`, 1), "/responseMinutes range"},
		{policy, strings.Replace(minutes, "{", `{"priority":"LOW",`, 1), "/priority unknown_field"},
		{calendar, `{"timeZone":"Mars/Olympus","hours":[{"days":["MON"],"from":"08:00","to":"18:00"}]}`, "/timeZone enum"},
		{calendar, `{"timeZone":"UTC","hours":[{"days":["MON"],"from":"08:00","to":"08:00"}]}`, "/hours/0/to range"},
		{calendar, `{"timeZone":"UTC","hours":[{"days":["MON"],"from":"8","to":"18:00"}]}`, "/hours/0/from pattern"},
		{calendar, `{"timeZone":"UTC","hours":[{"days":["MOON"],"from":"08:00","to":"18:00"}]}`, "/hours/0/days/0 enum"},
		{calendar,
			`{"timeZone":"UTC","hours":[{"days":["MON"],"from":"08:00","to":"18:00"}],"holidays":[{"date":"02-30"}]}`,
			"/holidays/0/date format"},
		{calendar, `{"timeZone":"UTC","hours":[{"days":["MON"],"from":"08:00","to":"18:00"}],"holidays":[{}]}`,
			"/holidays/0/date required"},
	} {
		rec := w.send(ask{method: "PUT", path: adminPath + tt.path, key: w.admin, body: tt.body})
		p := w.problem(rec)
		if rec.Code != 422 || len(p.Errors) != 1 || p.Errors[0].Pointer+" "+p.Errors[0].Code != tt.want {
			t.Errorf("%s %s: %d %+v, want 422 for %s", tt.path, tt.body, rec.Code, p.Errors, tt.want)
		}
	}
	for path, method := range map[string]string{"sla/policies/SOON": "PUT", "sla/calendars/Not%20a%20name": "PUT",
		"sla/calendars/nowhere": "DELETE"} {
		rec := w.send(ask{method: method, path: adminPath + path, key: w.admin,
			body: map[bool]string{true: minutes}[method == "PUT"]})
		if p := w.problem(rec); rec.Code != 404 || p.Code != fieldmark.CodeNotFound {
			t.Errorf("%s %s: %d %s, want 404", method, path, rec.Code, p.Code)
		}
	}
}

// An alert that becomes more urgent shortens what its mission has left.
func TestClocksOfAnAlert(t *testing.T) {
	w := newWorld(t, nil)
	id := w.expect("fire", alertmanager, group("g", "Down/warning"), "1: 1c 0m 0r 0i").Missions[0].ID
	w.expect("more urgent", alertmanager, group("g", "Down/critical"), "1: 0c 1m 0r 0i")
	if c, _ := w.clock(id, fieldmark.SLAResponse); c.TargetMinutes != 15 {
		t.Errorf("under CRITICAL: %+v", c)
	}
	want := []string{"updated response", "updated onsite", "updated resolution"}
	if got := w.heard("sla", metricOf); !cmp.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
}
