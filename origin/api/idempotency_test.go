package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/idempotency"
	"github.com/fieldmark/fieldmark/origin/store"
)

// keyed is a request under an Idempotency-Key.
func (a request) keyed(key string) request {
	header := maps.Clone(a.header)
	if header == nil {
		header = map[string]string{}
	}
	header[fieldmark.HeaderIdempotencyKey] = key
	a.header = header
	return a
}

// countEvents counts the events of a type in the log.
func (fx *fixture) countEvents(kind fieldmark.EventType) int {
	fx.t.Helper()
	n := 0
	for after := int64(0); ; {
		page, err := fx.service.Events.After(fx.t.Context(), fieldmark.EventCursor{Number: after}, 0, event.MaxPage)
		if err != nil {
			fx.t.Fatalf("read the log: %v", err)
		}
		if len(page.Events) == 0 {
			return n
		}
		for _, e := range page.Events {
			after = e.Number
			if e.Type == kind {
				n++
			}
		}
	}
}

// Two hundred concurrent requests without an Idempotency-Key create one mission, because
// source and external id are unique.
func TestConcurrentCreate(t *testing.T) {
	fx := newFixture(t, nil)
	count := map[int]int{}
	ids := map[string]bool{}
	for rec := range fx.sendConcurrently(200, request{method: "POST", path: fieldmark.PathMissions, key: fx.creator,
		body: goodMission}) {
		count[rec.Code]++
		var m fieldmark.Mission
		if err := json.Unmarshal(rec.Body.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		ids[m.ID] = true
		if dedup := rec.Header().Get(fieldmark.HeaderDeduplicated); (rec.Code == 200) != (dedup == "true") {
			t.Errorf("%d with %s %q", rec.Code, fieldmark.HeaderDeduplicated, dedup)
		}
	}
	if diff := cmp.Diff(map[int]int{201: 1, 200: 199}, count); diff != "" || len(ids) != 1 ||
		fx.countEvents(fieldmark.EventMissionCreated) != 1 {
		t.Errorf("%d missions, %d events, statuses (-want +got):\n%s", len(ids),
			fx.countEvents(fieldmark.EventMissionCreated), diff)
	}
}

// Of two hundred concurrent requests with one key, one takes effect. The others get its
// response.
func TestConcurrentCreateWithKey(t *testing.T) {
	fx := newFixture(t, nil)
	a := request{method: "POST", path: fieldmark.PathMissions, key: fx.creator, body: goodMission}.keyed("race")
	first, replays := 0, 0
	bodies := map[string]bool{}
	for rec := range fx.sendConcurrently(200, a) {
		for rec.Code == 409 { // only on a machine that needs a second for the first request
			if p := fx.problem(rec); p.Code != fieldmark.CodeIdempotencyInFlight {
				t.Fatalf("409 %s", p.Code)
			}
			rec = fx.send(a)
		}
		if rec.Code != 201 {
			t.Fatalf("status %d: %s", rec.Code, rec.Body)
		}
		if rec.Header().Get(fieldmark.HeaderReplayed) == "true" {
			replays++
		} else {
			first++
		}
		bodies[rec.Header().Get("Location")+rec.Body.String()] = true
	}
	if first != 1 || replays != 199 || len(bodies) != 1 || fx.missions() != 1 ||
		fx.countEvents(fieldmark.EventMissionCreated) != 1 {
		t.Errorf("%d answers, %d replays, %d bodies, %d missions; want 1, 199, 1, 1", first, replays, len(bodies),
			fx.missions())
	}
}

// sendConcurrently sends a request n times at once.
func (fx *fixture) sendConcurrently(n int, a request) <-chan *httptest.ResponseRecorder {
	answers := make(chan *httptest.ResponseRecorder, n)
	var all sync.WaitGroup
	for range n {
		all.Go(func() { answers <- fx.send(a) })
	}
	all.Wait()
	close(answers)
	return answers
}

func TestIdempotency(t *testing.T) {
	fx := newFixture(t, nil)
	post := func(body string) request {
		return request{method: "POST", path: fieldmark.PathMissions, key: fx.creator, body: body}
	}
	mission := func(id, title string) string {
		return fmt.Sprintf(`{"externalId":%q,"source":"crm","title":%q}`, id, title)
	}
	var m fieldmark.Mission
	first := fx.mustSend(201, post(mission("1", "a")).keyed("k1"), &m)
	steps := []struct {
		name     string
		ask      request
		status   int
		code     fieldmark.Code
		replayed bool
	}{
		{"same key, same request", post(mission("1", "a")).keyed("k1"), 201, "", true},
		{"same key, quoted", post(mission("1", "a")).keyed(`"k1"`), 201, "", true},
		{"same key, other body", post(mission("2", "a")).keyed("k1"), 422, fieldmark.CodeIdempotencyReused, false},
		{"same key, same content in other bytes", post(" " + mission("1", "a")).keyed("k1"), 422,
			fieldmark.CodeIdempotencyReused, false},
		{"same key, other address", request{method: "POST", path: fieldmark.PathMissions + "/batch", key: fx.creator,
			body: mission("1", "a")}.keyed("k1"), 422, fieldmark.CodeIdempotencyReused, false},
		{"key of another account", request{method: "POST", path: fieldmark.PathMissions, key: fx.otherKey,
			body: mission("9",
				"z")}.keyed("k1"), 201, "", false},
		{"key of the account's other integration key", request{method: "POST", path: fieldmark.PathMissions,
			key: fx.key(access.DefaultAccount, fieldmark.ScopeMissionCreate), body: mission("1",
				"a")}.keyed("k1"), 201, "", true},
		{"new key, known mission", post(mission("1", "a")).keyed("k2"), 200, "", false},
		{"the same again", post(mission("1", "a")).keyed("k2"), 200, "", true},
		{"a conflict", post(mission("1", "b")).keyed("k3"), 409, fieldmark.CodeMissionExists, false},
		{"is kept", post(mission("1", "b")).keyed("k3"), 409, fieldmark.CodeMissionExists, true},
		{"what is invalid", post(`{"externalId":"3"}`).keyed("k4"), 422, fieldmark.CodeValidationFailed, false},
		{"is kept as well", post(`{"externalId":"3"}`).keyed("k4"), 422, fieldmark.CodeValidationFailed, true},
		{"and its key is used", post(mission("3", "a")).keyed("k4"), 422, fieldmark.CodeIdempotencyReused, false},
		{"what is no JSON", post(`{"externalId":`).keyed("k5"), 400, fieldmark.CodeMalformedJSON, false},
		{"is not kept", post(mission("4", "a")).keyed("k5"), 201, "", false},
		{"no credentials", request{method: "POST", path: fieldmark.PathMissions, body: mission("5", "a")}.keyed("k6"),
			401,
			fieldmark.CodeMissingCredentials, false},
		{"no scope", request{method: "POST", path: fieldmark.PathMissions, key: fx.reader, body: mission("5",
			"a")}.keyed("k6"),
			403, fieldmark.CodeInsufficientScope, false},
		{"too large", post(strings.Repeat(" ", fieldmark.MaxBody) + mission("5", "a")).keyed("k6"), 413,
			fieldmark.CodeBodyTooLarge, false},
		{"are not kept", post(mission("5", "a")).keyed("k6"), 201, "", false},
		{"a repeat without the key", post(mission("5", "a")), 200, "", false},
	}
	for _, tt := range steps {
		t.Run(tt.name, func(t *testing.T) {
			rec := fx.send(tt.ask)
			var p fieldmark.Problem
			if rec.Code >= 400 {
				if err := json.Unmarshal(rec.Body.Bytes(), &p); err != nil ||
					rec.Header().Get("Content-Type") != fieldmark.ProblemType {
					t.Fatalf("%d %s: %s", rec.Code, rec.Header().Get("Content-Type"), rec.Body)
				}
			}
			replayed := rec.Header().Get(fieldmark.HeaderReplayed) == "true"
			if rec.Code != tt.status || p.Code != tt.code || replayed != tt.replayed {
				t.Errorf("%s: %d %q replayed %v, want %d %q %v: %s", tt.ask.body, rec.Code, p.Code, replayed, tt.status,
					tt.code,
					tt.replayed, rec.Body)
			}
			if tt.status == 409 &&
				(p.MissionID != m.ID || rec.Header().Get("Location") != fieldmark.PathMissions+"/"+m.ID ||
					len(p.Errors) != 1 || p.Errors[0].Pointer != "/title") {
				t.Errorf("409 names %q at %q and differences %v, want %s and /title", p.MissionID,
					rec.Header().Get("Location"),
					p.Errors, m.ID)
			}
			if replayed && rec.Code == 201 {
				for _, field := range []string{"Location", "ETag", "Content-Type"} {
					if got, want := rec.Header().Get(field), first.Header().Get(field); got != want {
						t.Errorf("replayed %s = %q, want %q", field, got, want)
					}
				}
				if rec.Body.String() != first.Body.String() {
					t.Errorf("replayed %s, want %s", rec.Body, first.Body)
				}
			}
		})
	}
	if err := fx.store.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// A retry succeeds after other requests have changed the mission. A conflict is detected
// by comparison with the original request.
func TestRetryAfterChange(t *testing.T) {
	fx := newFixture(t, nil)
	operator := fx.key(access.DefaultAccount, fieldmark.ScopeMissionUpdate)
	open := request{method: "POST", path: fieldmark.PathMissions, key: fx.creator,
		body: `{"externalId":"1","source":"crm","title":"t","description":"old"}`}
	var m fieldmark.Mission
	fx.mustSend(201, open, &m)
	fx.mustSend(200, request{method: "PATCH", path: fieldmark.PathMissions + "/" + m.ID, key: operator,
		body: `{"description":"new"}`}, nil)
	var again fieldmark.Mission
	if fx.mustSend(200, open, &again); again.Description != "new" || again.Version != 2 {
		t.Errorf("the retry answered %+v, want the mission as it is now", again)
	}
	open.body = strings.Replace(open.body, "old", "new", 1)
	p := fx.problem(fx.mustSend(409, open, nil))
	if len(p.Errors) != 1 || p.Errors[0] != (fieldmark.FieldError{Pointer: "/description", Code: "conflict",
		Detail: p.Errors[0].Detail}) {
		t.Errorf("differences %+v, want one of /description", p.Errors)
	}
}

func TestIdempotencyKeys(t *testing.T) {
	fx := newFixture(t, nil)
	n := 0
	for _, tt := range []struct {
		key  string
		good bool
	}{
		{"a", true}, {strings.Repeat("~", 255), true}, {`a"b`, true}, {`"with space"`, true}, {`"a\"b\\c"`,
			true}, {`"` +
			strings.Repeat("x", 255) + `"`, true},
		{"", false}, {strings.Repeat("x", 256), false}, {"a b", false}, {"a\tb", false}, {"ä", false},
		{"a\x7f", false},
		{`"`, false}, {`""`, false}, {`"a`, false}, {`"a"b`, false}, {`"a";p=1`, false}, {`"\n"`, false}, {`"\`,
			false}, {`"ä"`, false}, {`"` + strings.Repeat("x", 256) + `"`, false},
	} {
		n++
		rec := fx.send(request{method: "POST", path: fieldmark.PathMissions, key: fx.creator,
			body: fmt.Sprintf(`{"externalId":"%d","source":"crm","title":"t"}`, n)}.keyed(tt.key))
		if tt.good && rec.Code != 201 || !tt.good && (rec.Code != 400 ||
			fx.problem(rec).Code != fieldmark.CodeInvalidIdempotency) {
			t.Errorf("key %q: %d %s, want accepted %v", tt.key, rec.Code, rec.Body, tt.good)
		}
	}
}

// A retry while the first request is in progress waits briefly and then gets 409. A later
// retry gets the response of the first request.
func TestInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, nil)
		held, free := make(chan struct{}), make(chan struct{})
		go func() {
			_ = fx.store.Write(t.Context(), func(context.Context, *store.Tx) error {
				close(held)
				<-free
				return nil
			})
		}()
		<-held
		a := request{method: "POST", path: fieldmark.PathMissions, key: fx.creator, body: goodMission}.keyed("held")
		first := make(chan *httptest.ResponseRecorder)
		go func() { first <- fx.send(a) }()
		time.Sleep(100 * time.Millisecond) // virtual: the first is in progress
		began := time.Now()
		rec := fx.send(a)
		if p := fx.problem(rec); rec.Code != 409 || p.Code != fieldmark.CodeIdempotencyInFlight ||
			rec.Header().Get("Retry-After") != "1" || time.Since(began) > 2*time.Second {
			t.Errorf("in flight: %d %s, Retry-After %q after %s; want 409 %s, 1, a second", rec.Code, p.Code,
				rec.Header().Get("Retry-After"), time.Since(began), fieldmark.CodeIdempotencyInFlight)
		}
		other := a.keyed("another")
		waiting := make(chan *httptest.ResponseRecorder)
		go func() { waiting <- fx.send(a) }()
		go func() { waiting <- fx.send(other) }()
		time.Sleep(100 * time.Millisecond)
		close(free)
		one := <-first
		if one.Code != 201 {
			t.Fatalf("the first: %d %s", one.Code, one.Body)
		}
		seen := map[string]bool{}
		for range 2 {
			rec := <-waiting
			seen[fmt.Sprintf("%d replayed=%s deduplicated=%s", rec.Code, rec.Header().Get(fieldmark.HeaderReplayed),
				rec.Header().Get(fieldmark.HeaderDeduplicated))] = true
		}
		if diff := cmp.Diff(map[string]bool{"201 replayed=true deduplicated=": true,
			"200 replayed= deduplicated=true": true}, seen); diff != "" {
			t.Errorf("those that waited (-want +got):\n%s", diff)
		}
	})
}

// A response is stored for 24 hours.
func TestIdempotencyExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, nil)
		lasting, err := fx.service.Access.Keys.Create(t.Context(), access.DefaultAccount,
			fieldmark.KeyRequest{Name: "lasting", Scopes: []fieldmark.Scope{fieldmark.ScopeMissionCreate},
				ExpiresInDays: 9})
		if err != nil {
			t.Fatal(err)
		}
		a := request{method: "POST", path: fieldmark.PathMissions, key: lasting.Token, body: goodMission}.keyed("day")
		fx.mustSend(201, a, nil)
		time.Sleep(idempotency.Retention - time.Minute)
		if rec := fx.mustSend(201, a, nil); rec.Header().Get(fieldmark.HeaderReplayed) != "true" {
			t.Errorf("just before the day is over: not replayed")
		}
		time.Sleep(2 * time.Minute)
		if rec := fx.mustSend(200, a, nil); rec.Header().Get(fieldmark.HeaderDeduplicated) != "true" ||
			rec.Header().Get(fieldmark.HeaderReplayed) != "" {
			t.Errorf("a day later: %v, want the mission found by its name", rec.Header())
		}
		if rec := fx.mustSend(200, a, nil); rec.Header().Get(fieldmark.HeaderReplayed) != "true" {
			t.Errorf("the answer of the second day is not kept: %v", rec.Header())
		}
	})
}

func FuzzIdempotencyKey(f *testing.F) {
	for _, seed := range []string{"a", `"a"`, `"a\"b"`, `"\`, "ä", `"a" `, ""} {
		f.Add(seed)
	}
	fx := newFixture(f, nil)
	f.Fuzz(func(t *testing.T, key string) {
		fx.t = t
		a := request{method: "POST", path: fieldmark.PathMissions, key: fx.creator, body: `{`}.keyed(key)
		rec := fx.send(a)
		if p := fx.problem(rec); p.Code != fieldmark.CodeInvalidIdempotency && p.Code != fieldmark.CodeMalformedJSON {
			t.Errorf("key %q: %d %s", key, rec.Code, p.Code)
		}
	})
}
