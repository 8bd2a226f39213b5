package api_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
)

const (
	alertmanager = fieldmark.PathAlerts + "alertmanager"
	grafana      = fieldmark.PathAlerts + "grafana"
)

// notify sends a notification and returns the report as a line: received,
// created, merged, resolved, ignored.
func (fx *fixture) notify(path, body string) (string, fieldmark.AlertReport) {
	fx.t.Helper()
	var r fieldmark.AlertReport
	fx.mustSend(200, request{method: "POST", path: path, key: fx.creator, body: body}, &r)
	return fmt.Sprintf("%d: %dc %dm %dr %di", r.Received, r.Created, r.Merged, r.Resolved, r.Ignored), r
}

// group is a notification about alerts, each written name/severity or
// name/severity/resolved.
func group(key string, alerts ...string) string {
	var list []string
	for _, a := range alerts {
		part := append(strings.Split(a, "/"), "firing")
		list = append(list,
			fmt.Sprintf(`{"status":%q,"labels":{"alertname":%q,"severity":%q},"annotations":{"summary":"About %[2]s"},`+
				`"startsAt":"2000-01-01T00:00:00Z","fingerprint":"%032[4]x"}`,
				part[2], part[0], part[1], part[0]))
	}
	return fmt.Sprintf(`{"version":"4","groupKey":%q,"status":"firing","alerts":[%s]}`, key, strings.Join(list, ","))
}

func (fx *fixture) wantReport(what, path, body, want string) fieldmark.AlertReport {
	fx.t.Helper()
	got, r := fx.notify(path, body)
	if got != want {
		fx.t.Errorf("%s: %s, want %s", what, got, want)
	}
	return r
}

// countEventsOf counts the events of a type about a mission.
func (fx *fixture) countEventsOf(mission string, kind fieldmark.EventType) (n int) {
	fx.t.Helper()
	page, err := fx.service.Events.After(fx.t.Context(), fieldmark.EventCursor{Number: 0}, 0, 0)
	if err != nil {
		fx.t.Fatal(err)
	}
	for _, e := range page.Events {
		if e.Type == kind && strings.Contains(string(e.Data), mission) {
			n++
		}
	}
	return n
}

func (fx *fixture) mission(id string) (m fieldmark.Mission) {
	fx.t.Helper()
	fx.mustSend(200, request{method: "GET", path: fieldmark.PathMissions + "/" + id, key: fx.reader}, &m)
	return m
}

// TestAlertLifecycle covers every state of an alert.
func TestAlertLifecycle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, nil)
		id := fx.wantReport("fire", alertmanager, group("g", "Down/warning", "Slow/info"),
			"2: 1c 0m 0r 0i").Missions[0].ID
		m := fx.mission(id)
		if m.Source != "alertmanager" || m.Title != "About Down" || m.Priority != fieldmark.PriorityMedium ||
			m.Occurrences.Count != 1 || !strings.HasSuffix(m.ExternalID, "-946684800") {
			t.Errorf("opened %+v, %+v", m, m.Occurrences)
		}
		m = fx.plan(id, "ann", time.Now().Add(time.Hour), time.Hour)
		made := fx.calendar(`{"name":"Ann","scope":"PERSON","assignees":["ann"]}`)
		feed := fx.mustSend(200, request{method: "GET", path: made.Path}, nil).Body.String()

		time.Sleep(4 * time.Hour)
		fx.wantReport("repeat", alertmanager, group("g", "Down/warning"), "1: 0c 1m 0r 0i")
		fx.wantReport("less urgent", alertmanager, group("g", "Down/info"), "1: 0c 1m 0r 0i")
		if now := fx.mission(id); now.Occurrences.Count != 3 || now.Priority != fieldmark.PriorityMedium ||
			now.Version != m.Version || now.Occurrences.LastSeenAt == m.CreatedAt ||
			fx.countEventsOf(id, fieldmark.EventMissionUpdated) != 1 {
			t.Errorf("repeated: %+v with %d updates, want count 3, MEDIUM, the same version and no event",
				now.Occurrences,
				fx.countEventsOf(id, fieldmark.EventMissionUpdated))
		}
		if again := fx.mustSend(200, request{method: "GET", path: made.Path}, nil).Body.String(); again != feed {
			t.Errorf("a repeated alert changed a calendar:\n%s", cmp.Diff(feed, again))
		}
		fx.wantReport("more urgent", alertmanager, group("g", "Down/warning", "Dead/critical"), "2: 0c 1m 0r 0i")
		if now := fx.mission(id); now.Priority != fieldmark.PriorityCritical ||
			fx.countEventsOf(id, fieldmark.EventMissionUpdated) != 2 {
			t.Errorf("raised: %s, want CRITICAL and one update more", now.Priority)
		}

		over := strings.Replace(group("g", "Down/warning/resolved"), `"status":"firing"`, `"status":"resolved"`, 1)
		fx.wantReport("over", alertmanager, over, "1: 0c 0m 1r 0i")
		fx.wantReport("over again", alertmanager, over, "1: 0c 0m 1r 0i")
		if now := fx.mission(id); now.Occurrences.ResolvedAt == nil || now.Status != fieldmark.MissionNew ||
			fx.countEventsOf(id, fieldmark.EventMissionSourceResolved) != 1 {
			t.Errorf("over: %+v, %s, %d events; want one and the mission kept", now.Occurrences, now.Status,
				fx.countEventsOf(id, fieldmark.EventMissionSourceResolved))
		}
		fx.wantReport("back", alertmanager, group("g", "Down/warning"), "1: 0c 1m 0r 0i")
		if now := fx.mission(id); now.Occurrences.ResolvedAt != nil || fx.countEventsOf(id,
			fieldmark.EventMissionUpdated) != 3 {
			t.Errorf("back: %+v, want it to fire again, with an event", now.Occurrences)
		}

		fx.mustSend(200, request{method: "POST", path: "/api/admin/v1/missions/" + id + "/complete", key: fx.admin},
			nil)
		time.Sleep(14 * time.Minute)
		fx.wantReport("within the cooldown", alertmanager, group("g", "Down/warning"), "1: 0c 1m 0r 0i")
		time.Sleep(2 * time.Minute)
		second := fx.wantReport("after the cooldown", alertmanager, group("g", "Down/warning"),
			"1: 1c 0m 0r 0i").Missions[0]
		if second.ID == id || second.ExternalID != m.ExternalID+"-2" {
			t.Errorf("the same outage again: %+v, want another mission with a numbered name", second)
		}
		fx.wantReport("another group", alertmanager, group("h", "Down/warning"), "1: 1c 0m 0r 0i")
		fx.wantReport("another source", alertmanager+"?source=eu-1", group("g", "Down/warning"), "1: 1c 0m 0r 0i")
		if n := fx.missions(); n != 4 {
			t.Errorf("%d missions, want 4", n)
		}
	})
}

// TestAlertOptions covers the query parameters of a receiver's URL.
func TestAlertOptions(t *testing.T) {
	fx := newFixture(t, nil)
	fx.wantReport("resolved without a mission", alertmanager, group("x", "A/high/resolved"), "1: 0c 0m 0r 1i")
	fx.wantReport("dead man", alertmanager, group("x", "Watchdog/none", "B/none"), "2: 0c 0m 0r 2i")
	fx.wantReport("dead man that is wanted", alertmanager+"?watchdog=open", group("dead", "Watchdog/none"),
		"1: 1c 0m 0r 0i")
	r := fx.wantReport("per alert", alertmanager+"?mode=alert&source=each&onResolved=cancel&cooldown=0s&priority=low",
		group("x", "A/high", "B/odd", "C/high/resolved"), "3: 2c 0m 0r 1i")
	a, b := r.Missions[0].ID, r.Missions[1].ID
	if p := fx.mission(b).Priority; p != fieldmark.PriorityLow {
		t.Errorf("without a severity: %s, want LOW", p)
	}
	fx.wantReport("one is over", alertmanager+"?mode=alert&source=each&onResolved=cancel", group("x", "A/high/resolved",
		"B/odd"), "2: 0c 1m 1r 0i")
	if m := fx.mission(a); m.Status != fieldmark.MissionCanceled || m.StatusReason.Code != "SOURCE_RESOLVED" {
		t.Errorf("over before anybody planned it: %s, want CANCELED", m.Status)
	}
	fx.plan(b, "ann", time.Now().Add(time.Hour), time.Hour)
	fx.transitionTo(b, fieldmark.MissionScheduled)
	fx.wantReport("over after it was planned", alertmanager+"?mode=alert&source=each&onResolved=cancel",
		group("x", "B/odd/resolved"), "1: 0c 0m 1r 0i")
	if m := fx.mission(b); m.Status != fieldmark.MissionScheduled {
		t.Errorf("over after it was planned: %s, want it kept", m.Status)
	}
	fx.wantReport("no cooldown", alertmanager+"?mode=alert&source=each&cooldown=0s", group("x", "A/high"),
		"1: 1c 0m 0r 0i")

	for query, pointer := range map[string]string{"mode=groups": "?mode", "source=%20x": "?source",
		"cooldown=25h": "?cooldown", "cooldown=soon": "?cooldown", "onResolved=x": "?onResolved", "prio=LOW": "?prio"} {
		rec := fx.send(request{method: "POST", path: alertmanager + "?" + query, key: fx.creator,
			body: group("q", "A/high")})
		if p := fx.problem(rec); rec.Code != 400 || p.Errors[0].Pointer != pointer {
			t.Errorf("%s: %d %+v, want 400 about %s", query, rec.Code, p.Errors, pointer)
		}
	}
	for _, tt := range []struct {
		ask  request
		code fieldmark.Code
	}{
		{request{method: "POST", path: alertmanager, key: fx.reader, body: `{}`}, fieldmark.CodeInsufficientScope},
		{request{method: "POST", path: alertmanager, body: `{}`}, fieldmark.CodeMissingCredentials},
		{request{method: "POST", path: alertmanager, key: fx.creator, body: `{`}, fieldmark.CodeMalformedJSON},
		{request{method: "POST", path: grafana, key: fx.creator, body: recordedAlert(t, "grafana-8.json")},
			fieldmark.CodeValidationFailed},
		{request{method: "PUT", path: alertmanager, key: fx.creator, body: `{}`}, fieldmark.CodeMethodNotAllowed},
		{request{method: "POST", path: alertmanager, key: fx.creator,
			body: strings.Repeat(" ", fieldmark.MaxAlertBody) +
				"{}"},
			fieldmark.CodeBodyTooLarge},
		{request{method: "POST", path: alertmanager, key: fx.creator, body: "x",
			header: map[string]string{"Content-Encoding": "gzip"}}, fieldmark.CodeUnsupportedMediaType},
	} {
		rec := fx.send(tt.ask)
		if p := fx.problem(rec); p.Code != tt.code {
			t.Errorf("%s %s %.20q: %s, want %s", tt.ask.method, tt.ask.path, tt.ask.body, p.Code, tt.code)
		}
	}
}

func recordedAlert(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "alert", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestGrafana covers the payload of each version, and concurrent senders of one alert.
func TestGrafana(t *testing.T) {
	fx := newFixture(t, nil)
	fires, over := recordedAlert(t, "grafana-9.json"), recordedAlert(t, "grafana-12.json")
	var all sync.WaitGroup
	var mu sync.Mutex
	sum := fieldmark.AlertReport{}
	for i := range 50 {
		all.Go(func() {
			method := []string{"POST", "PUT"}[i%2]
			rec := fx.send(request{method: method, path: grafana, key: fx.creator, body: fires,
				header: map[string]string{"Content-Type": "text/plain"}})
			var r fieldmark.AlertReport
			mu.Lock()
			defer mu.Unlock()
			switch {
			case rec.Code == 503 && rec.Header().Get("Retry-After") != "":
				sum.Ignored++ // must be sent again
			case rec.Code != 200 || json.Unmarshal(rec.Body.Bytes(), &r) != nil:
				t.Errorf("%d %s, want a report", rec.Code, rec.Body)
			}
			sum.Created, sum.Merged = sum.Created+r.Created, sum.Merged+r.Merged
		})
	}
	all.Wait()
	if sum.Created != 1 || sum.Merged != 49-sum.Ignored || fx.missions() != 1 {
		t.Errorf("50 at once: %d created, %d merged, %d sent away, %d missions; want 1 mission", sum.Created,
			sum.Merged,
			sum.Ignored, fx.missions())
	}
	again := strings.Replace(over, `"resolved", "orgId"`, `"firing", "orgId"`, 1)
	id := fx.wantReport("over", grafana, over, "1: 0c 0m 1r 0i").Missions[0].ID
	fx.wantReport("fires in the new form", grafana, strings.Replace(again, `"status": "resolved"`, `"status": "firing"`,
		1),
		"1: 0c 1m 0r 0i")
	m := fx.mission(id)
	if m.Source != "grafana" || m.Title != "Freezer 3 at -9 °C" || m.Location.Name != "Store 12" ||
		m.Priority != fieldmark.PriorityHigh || m.Occurrences.ResolvedAt != nil || m.Occurrences.Count != sum.Merged+2 {
		t.Errorf("the mission %+v, %+v", m.MissionRequest, m.Occurrences)
	}
}

// FuzzAlerts: every request gets a response, and no input causes a 5xx status.
func FuzzAlerts(f *testing.F) {
	for _, name := range []string{"alertmanager-0.25.json", "alertmanager-0.34.json", "grafana-9.json",
		"grafana-12.json", "grafana-8.json"} {
		f.Add(recordedAlert(f, name))
	}
	f.Add(group("g", "A/high", "B/critical/resolved"))
	fx := newFixture(f, nil)
	f.Fuzz(func(t *testing.T, body string) {
		fx.t = t
		rec := fx.send(request{method: "POST", path: alertmanager + "?mode=alert", key: fx.creator, body: body,
			header: map[string]string{"Content-Type": "application/json"}})
		switch rec.Code {
		case 200:
		case 400, 413, 422:
			fx.problem(rec)
		default:
			t.Errorf("input %q: status %d: %s", body, rec.Code, rec.Body)
		}
	})
}
