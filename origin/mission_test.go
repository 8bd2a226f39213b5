package origin_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/mission"
)

func request(id string) fieldmark.MissionRequest {
	return fieldmark.MissionRequest{ExternalID: id, Source: "Monitoring", Title: "Replace the fan", Priority: "p2",
		Metadata: []byte(`{ "a": [1, "<&>"] }`)}
}

func openMission(t testing.TB, w *fixture, id string) fieldmark.Mission {
	t.Helper()
	m, created, err := w.Missions.Create(t.Context(), access.DefaultAccount, request(id))
	if err != nil || !created {
		t.Fatalf("open %s: created %v, %v", id, created, err)
	}
	return m
}

func TestCreateMission(t *testing.T) {
	w := newFixture(t)
	ctx := t.Context()
	m := openMission(t, w, "a")
	if m.Status != fieldmark.MissionNew || m.Version != 1 || m.Priority != fieldmark.PriorityHigh ||
		string(m.Metadata) != `{"a":[1,"<&>"]}` {
		t.Errorf("opened %+v", m)
	}
	again := request("a")
	again.Source = "MONITORING"
	again.Priority = "high"
	found, created, err := w.Missions.Create(ctx, access.DefaultAccount, again)
	if created || err != nil || !cmp.Equal(found, m, cmp.Comparer(sameTime)) {
		t.Errorf("the same again: created %v, %v\n%s", created, err, cmp.Diff(m, found, cmp.Comparer(sameTime)))
	}
	other := request("a")
	other.Title = "Something else"
	_, _, err = w.Missions.Create(ctx, access.DefaultAccount, other)
	if e := wantCode(t, "other content", err, fieldmark.CodeMissionExists); e.MissionID != m.ID {
		t.Errorf("other content names mission %q, want %q", e.MissionID, m.ID)
	}
	read, err := w.Missions.Get(ctx, "", m.ID)
	if err != nil || !cmp.Equal(read, m, cmp.Comparer(sameTime)) {
		t.Errorf("read: %v\n%s", err, cmp.Diff(m, read, cmp.Comparer(sameTime)))
	}
	e := w.events(t)
	last := e[len(e)-1]
	var told fieldmark.Mission
	if err := json.Unmarshal(last.Data, &told); err != nil || last.Type != fieldmark.EventMissionCreated ||
		told.ID != m.ID || w.head(t) != 2 {
		t.Errorf("event %d: %s of %s, %v; want 2: mission.created of %s", last.Number, last.Type, told.ID, err, m.ID)
	}
}

func sameTime(a, b fieldmark.Time) bool { return a.Std().Equal(b.Std()) }

func TestCreateMissionErrors(t *testing.T) {
	w := newFixture(t)
	r := request(" a")
	r.Priority = "soon"
	r.Location = &fieldmark.Location{TimeZone: "Mars/Olympus"}
	_, _, err := w.Missions.Create(t.Context(), access.DefaultAccount, r)
	wantFields(t, "three mistakes", err, "/externalId", "/priority", "/location/timeZone")
	r = request("a")
	r.Location = &fieldmark.Location{TimeZone: "Europe/Berlin"}
	if _, _, err := w.Missions.Create(t.Context(), access.DefaultAccount, r); err != nil {
		t.Errorf("Europe/Berlin: %v", err)
	}
	if _, created, err := w.Missions.Create(t.Context(), "nobody", request("b")); err == nil || created {
		t.Errorf("an unknown account opened a mission: %v, %v", created, err)
	}
}

func TestCreateMissionRace(t *testing.T) {
	w := newFixture(t)
	var created, found, refused atomic.Int64
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			r := request("same")
			if i%10 == 9 {
				r.Title = "Another story"
			}
			_, fresh, err := w.Missions.Create(t.Context(), access.DefaultAccount, r)
			switch {
			case fieldmark.IsCode(err, fieldmark.CodeMissionExists):
				refused.Add(1)
			case err != nil:
				t.Errorf("open: %v", err)
			case fresh:
				created.Add(1)
			default:
				found.Add(1)
			}
		})
	}
	all.Wait()
	// Whichever request came first, one mission was created and the repeats found
	// it.
	if c, f, r := created.Load(), found.Load(), refused.Load(); c != 1 || c+f+r != 200 || (r != 20 && r != 180) {
		t.Errorf("created %d, found %d, refused %d; want 1 created", c, f, r)
	}
	if head := w.head(t); head != 2 {
		t.Errorf("%d events, want 2", head)
	}
}

func TestMissionOfAnotherAccount(t *testing.T) {
	w := newFixture(t)
	m := openMission(t, w, "a")
	for _, tt := range []struct{ account, id string }{{"other", m.ID}, {"", "msn_0"}, {"", strings.Repeat("x", 30)},
		{"", "msn_" + strings.Repeat("0", 26)}} {
		_, err := w.Missions.Get(t.Context(), tt.account, tt.id)
		wantCode(t, fmt.Sprintf("%q asks for %q", tt.account, tt.id), err, fieldmark.CodeNotFound)
	}
	_, err := w.Missions.Transition(t.Context(), "nonsense", fieldmark.MissionClosed, nil)
	wantCode(t, "move nonsense", err, fieldmark.CodeNotFound)
}

func TestMissions(t *testing.T) {
	synctest.Test(t, testMissions)
}

func testMissions(t *testing.T) {
	w := newFixture(t)
	ctx := t.Context()
	var want []string
	for i := range 7 {
		m := openMission(t, w, fmt.Sprint(i))
		want = append([]string{m.ID}, want...)
		time.Sleep(time.Millisecond) // virtual; ids of one instant have no order
	}
	var got []string
	f := fieldmark.MissionFilter{Limit: 3}
	pages := 0
	for {
		list, err := w.Missions.List(ctx, access.DefaultAccount, f)
		if err != nil {
			t.Fatal(err)
		}
		pages++
		for _, m := range list.Data {
			got = append(got, m.ID)
		}
		if list.HasMore != (list.NextCursor != "") {
			t.Errorf("page %d: hasMore %v with cursor %q", pages, list.HasMore, list.NextCursor)
		}
		if !list.HasMore {
			break
		}
		f.Cursor = list.NextCursor
	}
	if !cmp.Equal(got, want) || pages != 3 {
		t.Errorf("in %d pages: %s", pages, cmp.Diff(want, got))
	}
	if _, err := w.Missions.Complete(ctx, want[0]); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		account string
		filter  fieldmark.MissionFilter
		want    int
	}{
		{"completed", "", fieldmark.MissionFilter{Status: []fieldmark.MissionStatus{"COMPLETED", "COMPLETED"}}, 1},
		{"two states", "", fieldmark.MissionFilter{Status: []fieldmark.MissionStatus{"COMPLETED", "NEW"}}, 7},
		{"natural key", access.DefaultAccount, fieldmark.MissionFilter{Source: "mOnItOrInG", ExternalID: "3"}, 1},
		{"another id", access.DefaultAccount, fieldmark.MissionFilter{Source: "monitoring", ExternalID: "x"}, 0},
		{"other account", "other", fieldmark.MissionFilter{}, 0},
	} {
		list, err := w.Missions.List(ctx, tt.account, tt.filter)
		if err != nil || len(list.Data) != tt.want || list.Data == nil {
			t.Errorf("%s: %d missions, %v; want %d", tt.name, len(list.Data), err, tt.want)
		}
	}
	for _, cursor := range []string{"x", "bXNuX3g", want[0], "%"} {
		_, err := w.Missions.List(ctx, "", fieldmark.MissionFilter{Cursor: cursor})
		wantCode(t, "cursor "+cursor, err, fieldmark.CodeInvalidCursor)
	}
}

func FuzzMissionCursor(f *testing.F) {
	w := newFixture(f)
	openMission(f, w, "a")
	f.Add("bXNuX3g")
	f.Fuzz(func(t *testing.T, cursor string) {
		if _, err := w.Missions.List(t.Context(), "", fieldmark.MissionFilter{Cursor: cursor}); err != nil &&
			!fieldmark.IsCode(err, fieldmark.CodeInvalidCursor) {
			t.Errorf("cursor %q: %v, want success or %s", cursor, err, fieldmark.CodeInvalidCursor)
		}
	})
}

func TestCompleteMission(t *testing.T) {
	w := newFixture(t)
	ctx := t.Context()
	m := openMission(t, w, "a")
	before := w.head(t)
	done, err := w.Missions.Complete(ctx, m.ID)
	if err != nil || done.Status != fieldmark.MissionCompleted || done.Version != 4 || done.CompletedAt == nil ||
		done.StartedAt == nil {
		t.Fatalf("completed %+v, %v", done, err)
	}
	if got := w.types(t, before); got != "mission.dispatched mission.started mission.completed" {
		t.Errorf("events %q", got)
	}
	before = w.head(t)
	again, err := w.Missions.Complete(ctx, m.ID)
	if err != nil || again.Version != 4 || w.head(t) != before {
		t.Errorf("completed again: version %d, %v, %d events; want no change", again.Version, err, w.head(t))
	}
	if _, err := w.Missions.Transition(ctx, m.ID, fieldmark.MissionClosed, nil); err != nil {
		t.Fatal(err)
	}
	_, err = w.Missions.Complete(ctx, m.ID)
	wantCode(t, "complete a closed mission", err, fieldmark.CodeInvalidTransition)
}

func TestTransition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		ctx := t.Context()
		m := openMission(t, w, "a")
		step := func(to fieldmark.MissionStatus, reason *fieldmark.Reason) fieldmark.Mission {
			t.Helper()
			time.Sleep(time.Minute)
			got, err := w.Missions.Transition(ctx, m.ID, to, reason)
			if err != nil || got.Status != to {
				t.Fatalf("move to %s: %s, %v", to, got.Status, err)
			}
			return got
		}
		_, err := w.Missions.Transition(ctx, m.ID, fieldmark.MissionCompleted, nil)
		if e := wantCode(t, "NEW to COMPLETED", err, fieldmark.CodeInvalidTransition); len(e.Allowed) != 4 {
			t.Errorf("allowed from NEW: %v", e.Allowed)
		}
		step(fieldmark.MissionDispatched, nil)
		step(fieldmark.MissionEnRoute, nil)
		if got := step(fieldmark.MissionOnHold, &fieldmark.Reason{Code: "NO_ACCESS"}); got.StatusReason == nil ||
			got.StatusReason.Code != "NO_ACCESS" {
			t.Errorf("on hold because of %+v", got.StatusReason)
		}
		if got := step(fieldmark.MissionEnRoute, nil); got.StatusReason != nil { // back to what it left
			t.Errorf("the reason stayed: %+v", got.StatusReason)
		}
		step(fieldmark.MissionInProgress, nil)
		step(fieldmark.MissionCompleted, nil)
		step(fieldmark.MissionInProgress, nil)
		step(fieldmark.MissionCompleted, nil)
		time.Sleep(mission.ReopenWithin)
		time.Sleep(time.Minute)
		_, err = w.Missions.Transition(ctx, m.ID, fieldmark.MissionInProgress, nil)
		wantCode(t, "reopen after a week", err, fieldmark.CodeInvalidTransition)
		want := "mission.dispatched mission.en_route mission.on_hold mission.resumed mission.started " +
			"mission.completed mission.reopened mission.completed"
		if got := w.types(t, 2); got != want {
			t.Errorf("events %q, want %q", got, want)
		}
	})
}

func TestLateCancel(t *testing.T) {
	w := newFixture(t)
	for _, tt := range []struct {
		path []fieldmark.MissionStatus
		want fieldmark.Reason
	}{
		{nil, fieldmark.Reason{Code: "CUSTOMER", Text: "not needed"}},
		{[]fieldmark.MissionStatus{"DISPATCHED", "EN_ROUTE"},
			fieldmark.Reason{Code: "LATE_CANCEL", Text: "CUSTOMER: not needed"}},
		{[]fieldmark.MissionStatus{"DISPATCHED", "IN_PROGRESS", "ON_HOLD"},
			fieldmark.Reason{Code: "LATE_CANCEL", Text: "CUSTOMER: not needed"}},
		{[]fieldmark.MissionStatus{"DISPATCHED", "ON_HOLD"}, fieldmark.Reason{Code: "CUSTOMER", Text: "not needed"}},
	} {
		m := openMission(t, w, fmt.Sprint(tt.path))
		for _, to := range tt.path {
			if _, err := w.Missions.Transition(t.Context(), m.ID, to, nil); err != nil {
				t.Fatal(err)
			}
		}
		got, err := w.Missions.Transition(t.Context(), m.ID, fieldmark.MissionCanceled,
			&fieldmark.Reason{Code: "CUSTOMER", Text: "not needed"})
		if err != nil || *got.StatusReason != tt.want {
			t.Errorf("cancel after %v: %+v, %v; want %+v", tt.path, got.StatusReason, err, tt.want)
		}
	}
}
