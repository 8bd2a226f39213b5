package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	goical "github.com/emersion/go-ical"
	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin/access"
)

// createPlanned creates a mission with a time and an assignee.
func (fx *fixture) createPlanned(id, assignee string, start time.Time, length time.Duration,
	more string) fieldmark.Mission {
	fx.t.Helper()
	var m fieldmark.Mission
	fx.mustSend(201, request{method: "POST", path: fieldmark.PathMissions, key: fx.creator,
		body: fmt.Sprintf(`{"externalId":%q,"source":"crm","title":"Visit %s"%s}`, id, id, more)}, &m)
	return fx.plan(m.ID, assignee, start, length)
}

func (fx *fixture) plan(id, assignee string, start time.Time, length time.Duration) (m fieldmark.Mission) {
	fx.t.Helper()
	fx.mustSend(200, request{method: "PUT", path: fieldmark.PathMissions + "/" + id + "/plan", key: fx.operatorKey(),
		body: fmt.Sprintf(
			`{"scheduled":{"start":%q,"end":%q},"assignee":{"id":%q,"name":"Name of %[3]s"}}`,
			start.Format(time.RFC3339),
			start.Add(length).Format(time.RFC3339), assignee)}, &m)
	return m
}

func (fx *fixture) transitionTo(id string, to ...fieldmark.MissionStatus) {
	fx.t.Helper()
	for _, status := range to {
		fx.mustSend(200, request{method: "POST", path: fieldmark.PathMissions + "/" + id + "/transitions",
			key:  fx.operatorKey(),
			body: fmt.Sprintf(`{"status":%q}`, status)}, nil)
	}
}

func (fx *fixture) operatorKey() string {
	if fx.operates == "" {
		fx.operates = fx.key(access.DefaultAccount, fieldmark.ScopeMissionOperate)
	}
	return fx.operates
}

func (fx *fixture) calendar(body string) (made fieldmark.NewCalendar) {
	fx.t.Helper()
	fx.mustSend(201, request{method: "POST", path: "/api/admin/v1/calendars", key: fx.admin, body: body}, &made)
	return made
}

// entries reads a feed, each entry as a line.
func entries(t testing.TB, rec *httptest.ResponseRecorder) []string {
	t.Helper()
	calendar, err := goical.NewDecoder(strings.NewReader(rec.Body.String())).Decode()
	if err != nil {
		t.Fatalf("%v in\n%s", err, rec.Body)
	}
	lines := []string{}
	for _, e := range calendar.Events() {
		lines = append(lines, strings.Join([]string{e.Props.Get("SUMMARY").Value, e.Props.Get("DTSTART").Value,
			e.Props.Get("DTEND").Value,
			e.Props.Get("STATUS").Value, e.Props.Get("SEQUENCE").Value}, " "))
	}
	return lines
}

func TestCalendar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // begins at 2000-01-01T00:00:00Z
		fx := newFixture(t, nil)
		at := time.Date(2000, 1, 3, 8, 0, 0, 0, time.UTC)
		place := `,"priority":"HIGH","category":"network","location":{"name":"Depot","address":{"line1":"Hof 1",` +
			`"postalCode":"1010","city":"Wien"},"geo":{"lat":48.2,"lng":16.4},"accessNotes":"Code 4711"},` +
			`"contact":{"name":"Eva","phone":"+43 1"}`
		one := fx.createPlanned("1", "ann", at, time.Hour, place)
		two := fx.createPlanned("2", "bob", at.Add(time.Hour), 24*time.Hour, "")
		fx.createPlanned("3", "zoe", at.Add(2*time.Hour), time.Hour, "")
		fx.createPlanned("4", "ann", at.AddDate(2, 0, 0), time.Hour, "") // after the feed's end
		fx.mustSend(201, request{method: "POST", path: fieldmark.PathMissions, key: fx.creator,
			body: `{"externalId":"9","source":"crm","title":"Not planned"}`}, nil)

		ann := fx.calendar(`{"name":"Ann","scope":"PERSON","assignees":["ann"]}`)
		team := fx.calendar(`{"name":"North","scope":"TEAM","assignees":["bob","ann"],"details":true}`)
		all := fx.calendar(`{"name":"All","scope":"ALL"}`)
		other := fx.calendar(`{"name":"Others","scope":"ALL","account":"other"}`)

		rec := fx.mustSend(200, request{method: "GET", path: ann.Path + "?refresh=1"}, nil)
		want := []string{"[HIGH] Visit 1 20000103T080000Z 20000103T090000Z TENTATIVE 1"}
		if diff := cmp.Diff(want, entries(t, rec)); diff != "" {
			t.Errorf("Ann's calendar (-want +got):\n%s", diff)
		}
		for _, line := range []string{"UID:" + one.ID + "@fieldmark", "LOCATION:Depot\\, Hof 1\\, 1010 Wien",
			"GEO:48.200000;16.400000", "PRIORITY:3", "CATEGORIES:network", "CLASS:PRIVATE", "X-WR-CALNAME:Ann"} {
			if !strings.Contains(rec.Body.String(), "\r\n"+line+"\r\n") {
				t.Errorf("no line %q in\n%s", line, rec.Body)
			}
		}
		if text := rec.Body.String(); strings.Contains(text, "Eva") || strings.Contains(text, "4711") {
			t.Errorf("contact or access notes in a calendar without details:\n%s", text)
		}
		if got := entries(t, fx.mustSend(200, request{method: "GET", path: all.Path}, nil)); len(got) != 3 {
			t.Errorf("all: %q, want 3", got)
		}
		if rec := fx.mustSend(200, request{method: "GET", path: other.Path}, nil); len(entries(t, rec)) != 0 ||
			!strings.Contains(rec.Body.String(), "VTIMEZONE") {
			t.Errorf("another account's calendar:\n%s", rec.Body)
		}
		rec = fx.mustSend(200, request{method: "GET", path: team.Path}, nil)
		if got := entries(t, rec); len(got) != 2 ||
			!strings.Contains(strings.ReplaceAll(rec.Body.String(), "\r\n ", ""),
				`Contact: Eva\, +43 1\nAccess: Code 4711`) {
			t.Errorf("the team's calendar with details: %q\n%s", got, rec.Body)
		}

		// Rescheduled, completed and canceled missions.
		fx.plan(one.ID, "ann", at.Add(30*time.Minute), time.Hour)
		fx.transitionTo(one.ID, fieldmark.MissionScheduled, fieldmark.MissionDispatched)
		fx.transitionTo(two.ID, fieldmark.MissionCanceled)
		want = []string{"[HIGH] Visit 1 20000103T083000Z 20000103T093000Z CONFIRMED 4",
			"[MEDIUM] Visit 2 20000103T090000Z 20000104T090000Z CANCELLED 2"}
		if diff := cmp.Diff(want,
			entries(t, fx.mustSend(200, request{method: "GET", path: team.Path}, nil))); diff != "" {
			t.Errorf("after moves (-want +got):\n%s", diff)
		}
		time.Sleep(7*24*time.Hour + time.Minute)
		if got := entries(t, fx.mustSend(200, request{method: "GET", path: team.Path}, nil)); len(got) != 2 {
			t.Errorf("7 days after: %q, want what was called off still there", got)
		}
		time.Sleep(24 * time.Hour)
		if got := entries(t, fx.mustSend(200, request{method: "GET", path: team.Path}, nil)); len(got) != 1 {
			t.Errorf("8 days after: %q, want what was called off gone", got)
		}
		time.Sleep(25 * 24 * time.Hour)
		if got := entries(t, fx.mustSend(200, request{method: "GET", path: ann.Path}, nil)); len(got) != 0 {
			t.Errorf("more than 30 days after: %q, want nothing", got)
		}
	})
}

// TestCalendarHTTP covers the headers and status codes for clients and caches.
func TestCalendarHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := storetest.New(t)
		fx := openFixture(t, cfg, nil)
		fx.createPlanned("1", "ann", time.Now().Add(time.Hour), time.Hour, "")
		made := fx.calendar(`{"name":"Ann","scope":"PERSON","assignees":["ann"]}`)
		get := request{method: "GET", path: made.Path, header: map[string]string{"Accept-Encoding": "gzip, br, zstd"}}
		first := fx.mustSend(200, get, nil)
		etag := first.Header().Get("ETag")
		for field, want := range map[string]string{
			"Content-Type": "text/calendar; charset=utf-8", "Cache-Control": "private, no-cache, no-transform",
			"X-Robots-Tag":        "noindex",
			"Content-Disposition": `inline; filename="missions.ics"`, "Content-Encoding": "",
			"Last-Modified": "Sat, 01 Jan 2000 00:00:00 GMT", "WWW-Authenticate": "",
		} {
			if got := first.Header().Get(field); got != want {
				t.Errorf("%s = %q, want %q", field, got, want)
			}
		}
		if len(etag) != 66 || etag[0] != '"' {
			t.Errorf("ETag = %s, want a strong one", etag)
		}

		// A minute later, rendered by another process: the same bytes.
		time.Sleep(time.Minute)
		again := openFixture(t, cfg, nil)
		if rec := again.mustSend(200, get, nil); rec.Body.String() != first.Body.String() ||
			rec.Header().Get("ETag") != etag ||
			rec.Header().Get("Last-Modified") != first.Header().Get("Last-Modified") {
			t.Errorf("a minute later (-first +again):\n%s", cmp.Diff(first.Body.String(), rec.Body.String()))
		}
		get.header["If-None-Match"] = etag
		if rec := fx.mustSend(304, get, nil); rec.Body.Len() != 0 || rec.Header().Get("ETag") != etag ||
			rec.Header().Get("Content-Encoding") != "" {
			t.Errorf("304 with %d bytes and %v", rec.Body.Len(), rec.Header())
		}
		delete(get.header, "If-None-Match")
		get.header["If-Modified-Since"] = first.Header().Get("Last-Modified")
		fx.mustSend(200, get, nil) // the newest time alone does not show a removed mission
		head := get
		head.method = "HEAD"
		if rec := fx.mustSend(200, head, nil); rec.Body.Len() != 0 ||
			rec.Header().Get("Content-Length") != fmt.Sprint(first.Body.Len()) {
			t.Errorf("HEAD: %d bytes, %v", rec.Body.Len(), rec.Header())
		}

		var moved fieldmark.NewCalendar
		fx.mustSend(200, request{method: "POST", path: "/api/admin/v1/calendars/" + made.ID + "/rotate", key: fx.admin},
			&moved)
		if moved.Path == made.Path || moved.RotatedAt == nil {
			t.Errorf("rotated to %+v", moved)
		}
		fx.mustSend(200, request{method: "GET", path: moved.Path}, nil)
		fx.mustSend(200, request{method: "POST", path: "/api/admin/v1/calendars/" + made.ID + "/revoke", key: fx.admin},
			nil)
		fx.mustSend(200, request{method: "POST", path: "/api/admin/v1/calendars/" + made.ID + "/revoke", key: fx.admin},
			nil)
		var listed fieldmark.List[fieldmark.Calendar]
		fx.mustSend(200, request{method: "GET", path: "/api/admin/v1/calendars", key: fx.admin}, &listed)
		if len(listed.Data) != 1 || listed.Data[0].RevokedAt == nil {
			t.Errorf("listed: %+v, want one, revoked", listed.Data)
		}
		for _, path := range []string{made.Path, moved.Path, moved.Path[:len(moved.Path)-4], "/calendar/x.ics",
			"/calendar/" + strings.Repeat("A", 43) + ".ics", "/calendar/"} {
			for _, fx := range []*fixture{fx, again} {
				rec := fx.send(request{method: "GET", path: path})
				if p := fx.problem(rec); rec.Code != 404 || p.Code != fieldmark.CodeNotFound ||
					rec.Header().Get("WWW-Authenticate") != "" {
					t.Errorf("%s: %d %s, want a plain 404", path, rec.Code, p.Code)
				}
			}
		}
		for _, id := range []string{made.ID, "cal_00000000000000000000000000", "x"} {
			if rec := fx.send(request{method: "POST", path: "/api/admin/v1/calendars/" + id + "/rotate",
				key: fx.admin}); rec.Code != 404 {
				t.Errorf("rotate %s: %d, want 404", id, rec.Code)
			}
		}

		// The secret is neither logged nor stored.
		for _, path := range []string{made.Path, moved.Path} {
			fx.send(request{method: "GET", path: "/" + path})
			fx.send(request{method: "POST", path: path})
			secret := strings.TrimSuffix(strings.TrimPrefix(path, "/calendar/"), ".ics")
			if len(secret) != 43 {
				t.Errorf("a token of %d characters, want 43", len(secret))
			}
			if log := fx.log.String() + again.log.String(); strings.Contains(log, secret) || strings.Contains(log,
				secret[:20]) || !strings.Contains(log, "path=/calendar/…") ||
				!strings.Contains(log, "calendar="+made.ID) {
				t.Errorf("the log holds the secret %s, or not what it should:\n%s", secret, log)
			}
			if strings.Contains(string(storetest.Dump(t, cfg)), secret) {
				t.Errorf("the record holds the secret %s", secret)
			}
		}
	})
}

// TestCalendarSequence: SEQUENCE grows with start, end and status, and with
// nothing else.
func TestCalendarSequence(t *testing.T) {
	fx := newFixture(t, nil)
	at := time.Now().Add(24 * time.Hour).Truncate(time.Hour)
	m := fx.createPlanned("1", "ann", at, time.Hour, "")
	all := fx.calendar(`{"name":"All","scope":"ALL"}`)
	edit := func(body string) func() {
		return func() {
			fx.mustSend(200, request{method: "PATCH", path: fieldmark.PathMissions + "/" + m.ID,
				key:  fx.keyWithEveryScope(),
				body: body}, nil)
		}
	}
	for _, tt := range []struct {
		name string
		does func()
		want string
	}{
		{"planned", func() {}, "1"},
		{"labels", edit(`{"labels":{"a":"b"}}`), "1"},
		{"priority", edit(`{"priority":"HIGH"}`), "1"},
		{"assignee", func() { fx.plan(m.ID, "bob", at, time.Hour) }, "1"},
		{"end", func() { fx.plan(m.ID, "bob", at, 2*time.Hour) }, "2"},
		{"start", func() { fx.plan(m.ID, "bob", at.Add(time.Hour), time.Hour) }, "3"},
		{"status", func() { fx.transitionTo(m.ID, fieldmark.MissionScheduled) }, "4"},
	} {
		tt.does()
		line := entries(t, fx.mustSend(200, request{method: "GET", path: all.Path}, nil))[0]
		if got := line[strings.LastIndex(line, " ")+1:]; got != tt.want {
			t.Errorf("%s: SEQUENCE %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestCalendarDate: a client that sends only If-Modified-Since gets every change,
// including the removal of a mission from its feed, from every origin.
func TestCalendarDate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := storetest.New(t)
		fx := openFixture(t, cfg, nil)
		at := time.Now().Add(24 * time.Hour)
		fx.createPlanned("1", "ann", at, time.Hour, "")
		two := fx.createPlanned("2", "ann", at, time.Hour, "")
		ann := request{method: "GET", path: fx.calendar(`{"name":"Ann","scope":"PERSON","assignees":["ann"]}`).Path}
		read := func(fx *fixture) (time.Time, int) {
			t.Helper()
			rec := fx.mustSend(200, ann, nil)
			date, err := time.Parse(http.TimeFormat, rec.Header().Get("Last-Modified"))
			if err != nil {
				t.Fatal(err)
			}
			return date, len(entries(t, rec))
		}
		last, _ := read(fx)
		for i, assignee := range []string{"bob", "ann", "bob", "ann"} {
			fx.plan(two.ID, assignee, at, time.Hour) // twice in the same second
			if i == 2 {
				time.Sleep(time.Hour)
			}
			for round, from := range []*fixture{openFixture(t, cfg, nil), fx, fx} {
				date, n := read(from)
				if want := 1 + i%2; n != want {
					t.Errorf("change %d, read %d: %d missions, want %d", i, round, n, want)
				}
				if round == 0 && !date.After(last) || round > 0 && !date.Equal(last) {
					t.Errorf("change %d, read %d: Last-Modified %v after %v; want it to grow with the change and "+
						"with nothing else",
						i, round, date, last)
				}
				last = date
			}
		}
	})
}

func TestInvalidCalendars(t *testing.T) {
	fx := newFixture(t, nil)
	for body, pointer := range map[string]string{
		`{"name":"","scope":"ALL"}`: "/name", `{"name":"a\u0007","scope":"ALL"}`: "/name", `{"name":"a",` +
			`"scope":"SOME"}`: "/scope",
		`{"name":"a","scope":"PERSON"}`:                       "/assignees",
		`{"name":"a","scope":"PERSON","assignees":["a","b"]}`: "/assignees",
		`{"name":"a","scope":"ALL","assignees":["a"]}`:        "/assignees",
		`{"name":"a","scope":"TEAM","assignees":[""]}`:        "/assignees", `{"scope":"ALL","name":"a","x":1}`: "/x",
	} {
		rec := fx.send(request{method: "POST", path: "/api/admin/v1/calendars", key: fx.admin, body: body})
		p := fx.problem(rec)
		if rec.Code != 422 || len(p.Errors) == 0 || p.Errors[0].Pointer != pointer {
			t.Errorf("%s: %d %+v, want 422 about %s", body, rec.Code, p.Errors, pointer)
		}
	}
	if rec := fx.send(request{method: "POST", path: "/api/admin/v1/calendars", key: fx.admin,
		body: `{"name":"a","scope":"ALL","account":"nobody"}`}); rec.Code != 404 {
		t.Errorf("unknown account: %d, want 404", rec.Code)
	}
	if rec := fx.send(request{method: "GET", path: "/api/admin/v1/calendars", key: fx.reader}); rec.Code != 403 {
		t.Errorf("without the scope: %d, want 403", rec.Code)
	}
}

// TestCalendarRenders: a feed with a thousand clients is rendered once per change, and
// not at all for changes to other feeds.
func TestCalendarRenders(t *testing.T) { synctest.Test(t, testCalendarRenders) } // within one day

func testCalendarRenders(t *testing.T) {
	fx := newFixture(t, nil)
	m := fx.createPlanned("1", "ann", time.Now().Add(time.Hour), time.Hour, "")
	made := fx.calendar(`{"name":"Ann","scope":"PERSON","assignees":["ann"]}`)
	etags := make([]string, 1000)
	poll := func(phones, want int) {
		t.Helper()
		var all sync.WaitGroup
		for part := range 10 { // concurrent readers
			all.Go(func() {
				for phone := part; phone < phones; phone += 10 {
					rec := fx.send(request{method: "GET", path: made.Path,
						header: map[string]string{"If-None-Match": etags[phone]}})
					if etags[phone] = rec.Header().Get("ETag"); rec.Code != want {
						t.Errorf("phone %d: %d, want %d", phone, rec.Code, want)
					}
				}
			})
		}
		all.Wait()
	}
	for round, phones := range []int{len(etags), 50, 50} {
		fx.plan(m.ID, "ann", time.Now().Add(time.Duration(round+2)*time.Hour), time.Hour)
		poll(phones, 200)
		// does not change Ann's calendar
		fx.createPlanned(fmt.Sprint("other-", round), "bob", time.Now().Add(time.Hour), time.Hour, "")
		poll(50, 304)
	}
	if n := strings.Count(fx.log.String(), "calendar feed encoded"); n != 3 {
		t.Errorf("the feed was written %d times for 3 changes, want 3", n)
	}
}

// TestCalendarLastUsed: the time of the last read of a feed is stored.
func TestCalendarLastUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, nil)
		made := fx.calendar(`{"name":"All","scope":"ALL"}`)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- fx.service.Run(ctx) }()
		fx.mustSend(200, request{method: "GET", path: made.Path}, nil)
		time.Sleep(2 * time.Minute)
		var listed fieldmark.List[fieldmark.Calendar]
		fx.mustSend(200, request{method: "GET", path: "/api/admin/v1/calendars", key: fx.admin}, &listed)
		if used := listed.Data[0].LastUsedAt; used == nil || time.Since(used.Std()) > 3*time.Minute {
			t.Errorf("listed %+v, want the time of its use", listed.Data[0])
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
