package api_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
)

// TestRepeatedAlert: a repeated alert increments its count and does not change the
// version of the mission. The fixture checks the database at the end.
func TestRepeatedAlert(t *testing.T) {
	fx := newFixture(t, nil)
	body := recordedAlert(t, "alertmanager-0.25.json")
	id := fx.wantReport("first", alertmanager, body, "2: 1c 0m 0r 0i").Missions[0].ID
	path := fieldmark.PathMissions + "/" + id
	get := request{method: "GET", path: path, key: fx.reader}
	tag := fx.mustSend(200, get, nil).Header().Get("ETag")
	fx.wantReport("repeat", alertmanager, body, "2: 0c 1m 0r 0i")
	var m fieldmark.Mission
	get.header = map[string]string{"If-None-Match": tag}
	if rec := fx.mustSend(200, get, &m); m.Version != 1 || m.Occurrences.Count != 2 || rec.Header().Get("ETag") == tag {
		t.Errorf("repeated: version %d, count %d, ETag %s; want version 1, count 2 and another ETag than %s", m.Version,
			m.Occurrences.Count, rec.Header().Get("ETag"), tag)
	}
	fx.mustSend(200, request{method: "PATCH", path: path, key: fx.keyWithEveryScope(), body: `{"description":"seen"}`,
		header: map[string]string{"If-Match": tag}}, nil)
}

// returned is an alert that fires again after its mission has ended.
var returned = group("g", "Down/warning")

const (
	fires   = "fires"
	over    = "over"
	reopens = "reopens"
)

// TestRecurringAlert: an alert that fires after its mission has ended always gets a
// second mission, unless it is resolved first. Each step happens at its minute. opened is
// the minute in which the second mission exists, 0 if never. The workers run only when
// a task is due, as after a restart.
func TestRecurringAlert(t *testing.T) {
	type step struct {
		minute int
		does   string
	}
	complete, cancel := string(fieldmark.MissionCompleted), string(fieldmark.MissionCanceled)
	for _, tt := range []struct {
		name   string
		query  string
		steps  []step
		opened int
	}{
		{"canceled by the adapter", "?onResolved=cancel", []step{{1, over}, {2, fires}}, 2},
		{"canceled by the adapter, repeated", "?onResolved=cancel", []step{{1, over}, {2, fires}, {3, fires}}, 2},
		{"completed, still fires", "", []step{{1, complete}, {2, over}, {5, fires}}, 16},
		{"completed, repeated meanwhile", "", []step{{1, complete}, {5, fires}, {15, fires}}, 16},
		{"canceled by people", "?onResolved=cancel", []step{{1, cancel}, {5, fires}}, 16},
		{"another cooldown", "?cooldown=1h", []step{{1, complete}, {5, fires}}, 61},
		{"after the cooldown", "", []step{{1, complete}, {20, fires}}, 20},
		{"no cooldown", "?cooldown=0s", []step{{1, complete}, {5, fires}}, 5},
		{"resolved in time", "", []step{{1, complete}, {5, fires}, {6, over}}, 0},
		{"resolved, fires again", "", []step{{1, complete}, {5, fires}, {6, over}, {7, fires}}, 16},
		{"reopened", "", []step{{1, complete}, {5, fires}, {6, reopens}}, 0},
		{"reopened, completed again", "", []step{{1, complete}, {5, fires}, {6, reopens}, {10, complete}}, 25},
		{"never fires again", "", []step{{1, complete}}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fx := newFixture(t, nil)
				begin := time.Now()
				at := func(minute int) { time.Sleep(time.Until(begin.Add(time.Duration(minute) * time.Minute))) }
				_, report := fx.notify(alertmanager+tt.query, returned)
				first := report.Missions[0].ID
				for _, s := range tt.steps {
					at(s.minute)
					switch s.does {
					case fires:
						fx.notify(alertmanager+tt.query, returned)
					case over:
						fx.notify(alertmanager+tt.query, group("g", "Down/warning/resolved"))
					case reopens:
						fx.transitionTo(first, fieldmark.MissionInProgress)
					case complete:
						fx.mustSend(200, request{method: "POST", path: "/api/admin/v1/missions/" + first + "/complete",
							key: fx.admin},
							nil)
					case cancel:
						fx.transitionTo(first, fieldmark.MissionCanceled)
					}
				}
				if last := tt.steps[len(tt.steps)-1].minute; tt.opened > last {
					time.Sleep(time.Until(begin.Add(time.Duration(tt.opened)*time.Minute - 3*time.Second)))
					fx.run()
					time.Sleep(2 * time.Second)
					if n := fx.missions(); n != 1 {
						t.Errorf("a second before minute %d: %d missions, want 1", tt.opened, n)
					}
				} else {
					at(24 * 60) // after the longest cooldown
					fx.run()
				}
				time.Sleep(3 * time.Second)
				fx.checkReturned(first, begin, tt.opened)
			})
		})
	}
}

// checkReturned checks the missions of a returning alert at the end.
func (fx *fixture) checkReturned(first string, begin time.Time, opened int) {
	fx.t.Helper()
	page, err := fx.service.Missions.List(fx.t.Context(), "", fieldmark.MissionFilter{})
	if err != nil {
		fx.t.Fatal(err)
	}
	if opened == 0 {
		if len(page.Data) != 1 {
			fx.t.Errorf("%d missions, want 1", len(page.Data))
		}
		return
	}
	if len(page.Data) != 2 || page.Data[1].ID != first {
		fx.t.Fatalf("%d missions, want 2: %+v", len(page.Data), page.Data)
	}
	second := page.Data[0]
	after := second.CreatedAt.Std().Sub(begin)
	if want := time.Duration(opened) * time.Minute; after < want || after > want+2*time.Second {
		fx.t.Errorf("opened after %v, want %v", after, want)
	}
	if second.ExternalID != page.Data[1].ExternalID+"-2" || second.Title != "About Down" ||
		second.Status != fieldmark.MissionNew {
		fx.t.Errorf("opened %+v", second)
	}
	if n := fx.countEventsOf(second.ID, fieldmark.EventMissionCreated); n != 1 {
		fx.t.Errorf("%d created events, want 1", n)
	}
}
