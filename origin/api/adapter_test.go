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
func (w *world) notify(path, body string) (string, fieldmark.AlertReport) {
	w.t.Helper()
	var r fieldmark.AlertReport
	w.must(200, ask{method: "POST", path: path, key: w.creator, body: body}, &r)
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

func (w *world) expect(what, path, body, want string) fieldmark.AlertReport {
	w.t.Helper()
	got, r := w.notify(path, body)
	if got != want {
		w.t.Errorf("%s: %s, want %s", what, got, want)
	}
	return r
}

// toldOf counts the events of a type about a mission.
func (w *world) toldOf(mission string, kind fieldmark.EventType) (n int) {
	w.t.Helper()
	page, err := w.service.Events.After(w.t.Context(), fieldmark.EventCursor{Number: 0}, 0, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range page.Events {
		if e.Type == kind && strings.Contains(string(e.Data), mission) {
			n++
		}
	}
	return n
}

func (w *world) mission(id string) (m fieldmark.Mission) {
	w.t.Helper()
	w.must(200, ask{method: "GET", path: fieldmark.PathMissions + "/" + id, key: w.reader}, &m)
	return m
}

// TestAlertLife takes an alert through everything that can happen to it.
func TestAlertLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		id := w.expect("fire", alertmanager, group("g", "Down/warning", "Slow/info"), "2: 1c 0m 0r 0i").Missions[0].ID
		m := w.mission(id)
		if m.Source != "alertmanager" || m.Title != "About Down" || m.Priority != fieldmark.PriorityMedium ||
			m.Occurrences.Count != 1 || !strings.HasSuffix(m.ExternalID, "-946684800") {
			t.Errorf("opened %+v, %+v", m, m.Occurrences)
		}
		m = w.plan(id, "ann", time.Now().Add(time.Hour), time.Hour)
		made := w.calendar(`{"name":"Ann","scope":"PERSON","assignees":["ann"]}`)
		feed := w.must(200, ask{method: "GET", path: made.Path}, nil).Body.String()

		time.Sleep(4 * time.Hour)
		w.expect("repeat", alertmanager, group("g", "Down/warning"), "1: 0c 1m 0r 0i")
		w.expect("less urgent", alertmanager, group("g", "Down/info"), "1: 0c 1m 0r 0i")
		if now := w.mission(id); now.Occurrences.Count != 3 || now.Priority != fieldmark.PriorityMedium ||
			now.Version != m.Version || now.Occurrences.LastSeenAt == m.CreatedAt ||
			w.toldOf(id, fieldmark.EventMissionUpdated) != 1 {
			t.Errorf("repeated: %+v with %d updates, want count 3, MEDIUM, the same version and no event", now.Occurrences,
				w.toldOf(id, fieldmark.EventMissionUpdated))
		}
		if again := w.must(200, ask{method: "GET", path: made.Path}, nil).Body.String(); again != feed {
			t.Errorf("a repeated alert changed a calendar:\n%s", cmp.Diff(feed, again))
		}
		w.expect("more urgent", alertmanager, group("g", "Down/warning", "Dead/critical"), "2: 0c 1m 0r 0i")
		if now := w.mission(id); now.Priority != fieldmark.PriorityCritical ||
			w.toldOf(id, fieldmark.EventMissionUpdated) != 2 {
			t.Errorf("raised: %s, want CRITICAL and one update more", now.Priority)
		}

		over := strings.Replace(group("g", "Down/warning/resolved"), `"status":"firing"`, `"status":"resolved"`, 1)
		w.expect("over", alertmanager, over, "1: 0c 0m 1r 0i")
		w.expect("over again", alertmanager, over, "1: 0c 0m 1r 0i")
		if now := w.mission(id); now.Occurrences.ResolvedAt == nil || now.Status != fieldmark.MissionNew ||
			w.toldOf(id, fieldmark.EventMissionSourceResolved) != 1 {
			t.Errorf("over: %+v, %s, told %d times; want it noted once and the mission kept", now.Occurrences, now.Status,
				w.toldOf(id, fieldmark.EventMissionSourceResolved))
		}
		w.expect("back", alertmanager, group("g", "Down/warning"), "1: 0c 1m 0r 0i")
		if now := w.mission(id); now.Occurrences.ResolvedAt != nil || w.toldOf(id, fieldmark.EventMissionUpdated) != 3 {
			t.Errorf("back: %+v, want it to fire and somebody told", now.Occurrences)
		}

		w.must(200, ask{method: "POST", path: "/api/admin/v1/missions/" + id + "/complete", key: w.admin}, nil)
		time.Sleep(14 * time.Minute)
		w.expect("within the cooldown", alertmanager, group("g", "Down/warning"), "1: 0c 1m 0r 0i")
		time.Sleep(2 * time.Minute)
		second := w.expect("after the cooldown", alertmanager, group("g", "Down/warning"), "1: 1c 0m 0r 0i").Missions[0]
		if second.ID == id || second.ExternalID != m.ExternalID+"-2" {
			t.Errorf("the same outage again: %+v, want another mission with a numbered name", second)
		}
		w.expect("another group", alertmanager, group("h", "Down/warning"), "1: 1c 0m 0r 0i")
		w.expect("another source", alertmanager+"?source=eu-1", group("g", "Down/warning"), "1: 1c 0m 0r 0i")
		if n := w.missions(); n != 4 {
			t.Errorf("%d missions, want 4", n)
		}
	})
}

// TestAlertOptions is what the address of a receiver can say.
func TestAlertOptions(t *testing.T) {
	w := newWorld(t, nil)
	w.expect("end of what nobody knows", alertmanager, group("x", "A/high/resolved"), "1: 0c 0m 0r 1i")
	w.expect("dead man", alertmanager, group("x", "Watchdog/none", "B/none"), "2: 0c 0m 0r 2i")
	w.expect("dead man that is wanted", alertmanager+"?watchdog=open", group("dead", "Watchdog/none"), "1: 1c 0m 0r 0i")
	r := w.expect("per alert", alertmanager+"?mode=alert&source=each&onResolved=cancel&cooldown=0s&priority=low",
		group("x", "A/high", "B/odd", "C/high/resolved"), "3: 2c 0m 0r 1i")
	a, b := r.Missions[0].ID, r.Missions[1].ID
	if p := w.mission(b).Priority; p != fieldmark.PriorityLow {
		t.Errorf("without a severity: %s, want LOW", p)
	}
	w.expect("one is over", alertmanager+"?mode=alert&source=each&onResolved=cancel", group("x", "A/high/resolved",
		"B/odd"), "2: 0c 1m 1r 0i")
	if m := w.mission(a); m.Status != fieldmark.MissionCanceled || m.StatusReason.Code != "SOURCE_RESOLVED" {
		t.Errorf("over before anybody planned it: %s, want CANCELED", m.Status)
	}
	w.plan(b, "ann", time.Now().Add(time.Hour), time.Hour)
	w.move(b, fieldmark.MissionScheduled)
	w.expect("over after it was planned", alertmanager+"?mode=alert&source=each&onResolved=cancel",
		group("x", "B/odd/resolved"), "1: 0c 0m 1r 0i")
	if m := w.mission(b); m.Status != fieldmark.MissionScheduled {
		t.Errorf("over after it was planned: %s, want it kept", m.Status)
	}
	w.expect("no cooldown", alertmanager+"?mode=alert&source=each&cooldown=0s", group("x", "A/high"), "1: 1c 0m 0r 0i")

	for query, pointer := range map[string]string{"mode=groups": "?mode", "source=%20x": "?source",
		"cooldown=25h": "?cooldown", "cooldown=soon": "?cooldown", "onResolved=x": "?onResolved", "prio=LOW": "?prio"} {
		rec := w.send(ask{method: "POST", path: alertmanager + "?" + query, key: w.creator, body: group("q", "A/high")})
		if p := w.problem(rec); rec.Code != 400 || p.Errors[0].Pointer != pointer {
			t.Errorf("%s: %d %+v, want 400 about %s", query, rec.Code, p.Errors, pointer)
		}
	}
	for _, tt := range []struct {
		ask  ask
		code fieldmark.Code
	}{
		{ask{method: "POST", path: alertmanager, key: w.reader, body: `{}`}, fieldmark.CodeInsufficientScope},
		{ask{method: "POST", path: alertmanager, body: `{}`}, fieldmark.CodeMissingCredentials},
		{ask{method: "POST", path: alertmanager, key: w.creator, body: `{`}, fieldmark.CodeMalformedJSON},
		{ask{method: "POST", path: grafana, key: w.creator, body: recordedAlert(t, "grafana-8.json")},
			fieldmark.CodeValidationFailed},
		{ask{method: "PUT", path: alertmanager, key: w.creator, body: `{}`}, fieldmark.CodeMethodNotAllowed},
		{ask{method: "POST", path: alertmanager, key: w.creator, body: strings.Repeat(" ", fieldmark.MaxAlertBody) + "{}"},
			fieldmark.CodeBodyTooLarge},
		{ask{method: "POST", path: alertmanager, key: w.creator, body: "x",
			header: map[string]string{"Content-Encoding": "gzip"}}, fieldmark.CodeUnsupportedMediaType},
	} {
		rec := w.send(tt.ask)
		if p := w.problem(rec); p.Code != tt.code {
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

// TestGrafana: each version's payload, and many senders of one at once.
func TestGrafana(t *testing.T) {
	w := newWorld(t, nil)
	fires, over := recordedAlert(t, "grafana-9.json"), recordedAlert(t, "grafana-12.json")
	var all sync.WaitGroup
	var mu sync.Mutex
	sum := fieldmark.AlertReport{}
	for i := range 50 {
		all.Go(func() {
			method := []string{"POST", "PUT"}[i%2]
			rec := w.send(ask{method: method, path: grafana, key: w.creator, body: fires,
				header: map[string]string{"Content-Type": "text/plain"}})
			var r fieldmark.AlertReport
			mu.Lock()
			defer mu.Unlock()
			switch {
			case rec.Code == 503 && rec.Header().Get("Retry-After") != "":
				sum.Ignored++ // asked to come back
			case rec.Code != 200 || json.Unmarshal(rec.Body.Bytes(), &r) != nil:
				t.Errorf("%d %s, want a report", rec.Code, rec.Body)
			}
			sum.Created, sum.Merged = sum.Created+r.Created, sum.Merged+r.Merged
		})
	}
	all.Wait()
	if sum.Created != 1 || sum.Merged != 49-sum.Ignored || w.missions() != 1 {
		t.Errorf("50 at once: %d created, %d merged, %d sent away, %d missions; want 1 mission", sum.Created, sum.Merged,
			sum.Ignored, w.missions())
	}
	again := strings.Replace(over, `"resolved", "orgId"`, `"firing", "orgId"`, 1)
	id := w.expect("over", grafana, over, "1: 0c 0m 1r 0i").Missions[0].ID
	w.expect("fires in the new form", grafana, strings.Replace(again, `"status": "resolved"`, `"status": "firing"`, 1),
		"1: 0c 1m 0r 0i")
	m := w.mission(id)
	if m.Source != "grafana" || m.Title != "Freezer 3 at -9 °C" || m.Location.Name != "Store 12" ||
		m.Priority != fieldmark.PriorityHigh || m.Occurrences.ResolvedAt != nil || m.Occurrences.Count != sum.Merged+2 {
		t.Errorf("the mission %+v, %+v", m.MissionRequest, m.Occurrences)
	}
}

// FuzzAlerts: whatever is sent is answered, and never by our own fault.
func FuzzAlerts(f *testing.F) {
	for _, name := range []string{"alertmanager-0.25.json", "alertmanager-0.34.json", "grafana-9.json",
		"grafana-12.json", "grafana-8.json"} {
		f.Add(recordedAlert(f, name))
	}
	f.Add(group("g", "A/high", "B/critical/resolved"))
	w := newWorld(f, nil)
	f.Fuzz(func(t *testing.T, body string) {
		w.t = t
		rec := w.send(ask{method: "POST", path: alertmanager + "?mode=alert", key: w.creator, body: body,
			header: map[string]string{"Content-Type": "application/json"}})
		switch rec.Code {
		case 200:
		case 400, 413, 422:
			w.problem(rec)
		default:
			t.Errorf("input %q: status %d: %s", body, rec.Code, rec.Body)
		}
	})
}
