package api_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
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

// TestAlertShare: an account has at most a quarter of the notifications in progress, also while the database is slow.
// The others are answered at once with 503, and those of other accounts are received.
func TestAlertShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const total, share, senders = 32, 8, 40
		fx := newFixture(t, nil)
		keys := []string{fx.creator, fx.otherKey}
		for _, account := range []string{"third", "fourth", "fifth"} {
			if err := fx.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				return tx.PutAccount(ctx, account, fieldmark.At(time.Now()))
			}); err != nil {
				t.Fatal(err)
			}
			keys = append(keys, fx.key(account, fieldmark.ScopeMissionCreate))
		}
		free := make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() {
			if err := fx.store.Write(context.Background(), func(context.Context, *store.Tx) error {
				<-free
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		var received, refused atomic.Int64
		waiting := 0
		for i, key := range keys {
			refused.Store(0)
			for range senders {
				all.Go(func() {
					rec := fx.send(request{method: "POST", path: alertmanager, key: key,
						body: group("g", "A/high/resolved")})
					switch {
					case rec.Code == 200:
						received.Add(1)
					case rec.Code == 503 && rec.Header().Get("Retry-After") != "" &&
						fx.problem(rec).Code == fieldmark.CodeOverloaded:
						refused.Add(1)
					default:
						t.Errorf("status %d: %s", rec.Code, rec.Body)
					}
				})
			}
			synctest.Wait()
			want := min(share, total-waiting)
			waiting += want
			if got := senders - int(refused.Load()); got != want {
				t.Errorf("account %d: %d notifications are in progress, want %d", i, got, want)
			}
		}
		close(free)
		all.Wait()
		if received.Load() != total {
			t.Errorf("%d were received, want %d", received.Load(), total)
		}
		for range share + 1 { // what is released can be used again
			fx.wantReport("afterwards", alertmanager, group("g", "A/high/resolved"), "1: 0c 0m 0r 1i")
		}
	})
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
