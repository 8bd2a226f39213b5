package origin_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// replayed runs a replay until it is done.
func (w *fixture) replayed(t testing.TB, endpoint string, r fieldmark.ReplayRequest) fieldmark.Replay {
	t.Helper()
	begun, err := w.Webhooks.StartReplay(t.Context(), "", endpoint, r)
	if err != nil {
		t.Fatalf("replay %+v: %v", r, err)
	}
	var last fieldmark.Replay
	waittest.Until(t, "the replay is done", func() bool {
		list, err := w.Webhooks.Replays(t.Context(), "", endpoint)
		if err != nil || len(list) == 0 || list[0].ID != begun.ID {
			t.Fatalf("replays %+v, %v", list, err)
		}
		last = list[0]
		return last.State == fieldmark.ReplayDone
	})
	return last
}

func TestReplay(t *testing.T) {
	w := newFixture(t)
	r := receive(t, status(http.StatusNotFound))
	p, err := w.Webhooks.CreateEndpoint(t.Context(), access.DefaultAccount,
		fieldmark.EndpointRequest{URL: r.URL, Events: []string{"mission.created"},
			EndpointSettings: fieldmark.EndpointSettings{Retry: &fieldmark.RetryPolicy{Steps: []int{1}}}})
	if err != nil {
		t.Fatal(err)
	}
	before := fieldmark.At(time.Now())
	stop := w.run(t)
	defer stop()
	for i := range 5 {
		openMission(t, w, fmt.Sprint(i))
	}
	waittest.Until(t, "all are given up", func() bool { return states(w.deliveries(t))[fieldmark.DeliveryFailed] == 5 })
	fine := status(204)
	r.answer.Store(&fine)

	one := w.deliveries(t)[0]
	record, err := w.Webhooks.Delivery(t.Context(), p.ID, one.ID)
	if err != nil || len(record.Log) != 2 || record.Log[1].Number != 2 || record.Log[1].Status != 404 ||
		record.Log[1].Class != "status" || record.Log[1].Address != "127.0.0.1" {
		t.Errorf("record %+v, %v; want two attempts answered 404", record, err)
	}
	if again, err := w.Webhooks.Resend(t.Context(), p.ID, one.ID); err != nil ||
		again.State == fieldmark.DeliveryFailed {
		t.Errorf("resend: %+v, %v", again, err)
	}
	waittest.Until(t, "the one is done", func() bool { return states(w.deliveries(t))[fieldmark.DeliveryDone] == 1 })
	if record, err = w.Webhooks.Delivery(t.Context(), p.ID, one.ID); err != nil || len(record.Log) != 3 ||
		record.EventID != one.EventID {
		t.Errorf("after the resend: %+v, %v; want a third attempt under the same event", record, err)
	}

	if got := w.replayed(t, p.ID, fieldmark.ReplayRequest{FailedSince: &before}); got.Queued != 4 {
		t.Errorf("replay of what failed: %+v, want 4", got)
	}
	waittest.Until(t, "all are done", allDone(w, t))

	// An endpoint created later gets the earlier events, once, and all of them
	// again.
	late := createEndpoint(t, w, r.URL+"/late", "mission.created")
	for want, request := range map[int64]fieldmark.ReplayRequest{
		5: {AfterEvent: new(int64)},
	} {
		if got := w.replayed(t, late.ID, request); got.Queued != want {
			t.Errorf("replay %+v queued %d, want %d", request, got.Queued, want)
		}
	}
	waittest.Until(t, "all are done", allDone(w, t))
	if got := w.replayed(t, late.ID, fieldmark.ReplayRequest{AfterEvent: new(int64),
		MissingOnly: true}); got.Queued != 0 || got.Looked < 5 {
		t.Errorf("replay of what is missing: %+v, want none queued", got)
	}
	requests := r.got.Load()
	if got := w.replayed(t, late.ID, fieldmark.ReplayRequest{AfterEvent: new(int64)}); got.Queued != 5 {
		t.Errorf("replay of everything: %+v, want 5", got)
	}
	waittest.Until(t, "all are sent again", func() bool { return r.got.Load() == requests+5 })
	waittest.Until(t, "all are done", allDone(w, t))
	for name, bad := range map[string]fieldmark.ReplayRequest{"nothing": {},
		"both":              {FailedSince: &before, AfterEvent: new(int64)},
		"missing of failed": {FailedSince: &before, MissingOnly: true}} {
		_, err := w.Webhooks.StartReplay(t.Context(), "", p.ID, bad)
		wantCode(t, name, err, fieldmark.CodeValidationFailed)
	}
	_, err = w.Webhooks.StartReplay(t.Context(), "other", p.ID, fieldmark.ReplayRequest{AfterEvent: new(int64)})
	wantCode(t, "another account's endpoint", err, fieldmark.CodeNotFound)
}

// A resent message does not wait for its retry schedule.
func TestResendHastensARetry(t *testing.T) {
	w := newFixture(t)
	r := receive(t, status(http.StatusNotFound))
	p, err := w.Webhooks.CreateEndpoint(t.Context(), access.DefaultAccount,
		fieldmark.EndpointRequest{URL: r.URL, Events: []string{"mission.created"},
			EndpointSettings: fieldmark.EndpointSettings{Retry: &fieldmark.RetryPolicy{Steps: []int{3600, 3600}}}})
	if err != nil {
		t.Fatal(err)
	}
	stop := w.run(t)
	defer stop()
	openMission(t, w, "a")
	tried := func(n int) func() bool {
		return func() bool { d := w.deliveries(t)[0]; return d.Attempts == n && d.State == fieldmark.DeliveryDue }
	}
	waittest.Until(t, "it was tried", tried(1))
	if _, err := w.Webhooks.Resend(t.Context(), p.ID, w.deliveries(t)[0].ID); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "it was tried again", tried(2))
}

// A replay is stored in the database: the next process continues it.
func TestReplaySurvivesARestart(t *testing.T) {
	w := newFixture(t)
	r := receive(t, status(204))
	for i := range 450 { // more than two batches
		openMission(t, w, fmt.Sprint(i))
	}
	p := createEndpoint(t, w, r.URL, "mission.created")
	if _, err := w.Webhooks.StartReplay(t.Context(), "", p.ID,
		fieldmark.ReplayRequest{AfterEvent: new(int64)}); err != nil {
		t.Fatal(err)
	}
	stop := w.run(t)
	waittest.Until(t, "some are sent", func() bool { return r.got.Load() > 0 })
	stop()
	stop = w.run(t)
	defer stop()
	waittest.Until(t, "all are sent", func() bool {
		list, err := w.Webhooks.Replays(t.Context(), "", p.ID)
		return err == nil && list[0].State == fieldmark.ReplayDone && list[0].Queued == 450 && r.got.Load() >= 450
	})
	waittest.Until(t, "all are done", allDone(w, t))
}

func TestPollEvents(t *testing.T) {
	w := newFixture(t)
	var ids []string
	for i := range 5 {
		ids = append(ids, openMission(t, w, fmt.Sprint(i)).ID)
	}
	putBrand(t, w, acme) // belongs to no account
	poll := func(after int64, limit int, patterns ...string) fieldmark.PolledEvents {
		t.Helper()
		page, err := w.Webhooks.PollEvents(t.Context(), access.DefaultAccount,
			webhook.Poll{After: after, Types: patterns, Thin: true, Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		return page
	}
	var got []string
	for after, more := int64(0), true; more; {
		page := poll(after, 2)
		for _, e := range page.Data {
			var thin struct{ ID string }
			if err := json.Unmarshal(e.Envelope.Data, &thin); err != nil ||
				strings.Contains(string(e.Envelope.Data), "title") {
				t.Errorf("thin data %s, %v", e.Envelope.Data, err)
			}
			got = append(got, thin.ID)
		}
		after, more = page.Next, page.HasMore
	}
	if strings.Join(got, " ") != strings.Join(ids, " ") {
		t.Errorf("polled %v, want %v", got, ids)
	}
	if page := poll(0, 0, "payment.*"); len(page.Data) != 0 || page.Next != w.head(t) {
		t.Errorf("polled events of another account: %+v; want no event and the head", page)
	}
	if page, err := w.Webhooks.PollEvents(t.Context(), "other", webhook.Poll{}); err != nil || len(page.Data) != 0 {
		t.Errorf("another account polled %+v, %v", page, err)
	}
}

func TestPing(t *testing.T) {
	w := newFixture(t)
	r := receive(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	p := createEndpoint(t, w, r.URL, "mission.completed")
	w.patch(t, p.ID, fieldmark.EndpointPatch{State: to(fieldmark.EndpointPaused)}) // gets tests too
	for _, kind := range []fieldmark.EventType{"", "mission.completed", "payment.paid"} {
		got, err := w.Webhooks.Ping(t.Context(), "", p.ID, fieldmark.PingRequest{Type: kind})
		if err != nil || !got.OK || got.Attempt.Status != 200 || got.Attempt.Body != "hello" ||
			!strings.Contains(got.Verdict, "accepted") {
			t.Errorf("ping %q: %+v, %v", kind, got, err)
		}
		record, err := w.Webhooks.Delivery(t.Context(), p.ID, got.DeliveryID)
		if err != nil || record.State != fieldmark.DeliveryDone || record.EventType != "ping" || len(record.Log) != 1 {
			t.Errorf("ping %q in the log: %+v, %v", kind, record, err)
		}
	}
	away := status(503)
	r.answer.Store(&away)
	got, err := w.Webhooks.Ping(t.Context(), "", p.ID, fieldmark.PingRequest{})
	if err != nil || got.OK || got.Attempt.Status != 503 || w.deliveries(t)[0].State != fieldmark.DeliveryFailed {
		t.Errorf("ping of a receiver that fails: %+v, %v, %+v", got, err, w.deliveries(t)[0])
	}
	if e := w.endpoint(t, p.ID); e.FailingSince != nil {
		t.Errorf("a test counts against the endpoint: %+v", e)
	}
	if page, err := w.Webhooks.PollEvents(t.Context(), access.DefaultAccount, webhook.Poll{}); err != nil ||
		len(page.Data) != 0 {
		t.Errorf("tests are told to others: %+v, %v", page, err)
	}
	_, err = w.Webhooks.Ping(t.Context(), "", p.ID, fieldmark.PingRequest{Type: "brand.changed"})
	wantFields(t, "a type nobody is told", err, "/type")
}

// Rows older than the retention are deleted from the tail of the log, except those
// that are still needed.
func TestRetention(t *testing.T) {
	r := receive(t, status(204))
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		short, err := origin.New(origin.Config{Store: w.Store, Secret: appSecret, KeepDeliveries: 5 * time.Minute,
			KeepEvents: 20 * time.Minute,
			HTTP:       loopback()})
		if err != nil {
			t.Fatal(err)
		}
		w.Service = short
		createEndpoint(t, w, r.URL, "mission.created")
		stop := w.run(t)
		for i := range 3 {
			openMission(t, w, fmt.Sprint(i))
		}
		time.Sleep(time.Minute) // virtual
		stop()
		if n := w.count(t, `SELECT COUNT(*) FROM attempt a JOIN delivery d ON d.id = a.delivery
			WHERE a.event = d.event`); n != 3 {
			t.Errorf("%d attempts name the event of their delivery, want 3", n)
		}
		time.Sleep(49 * time.Minute)
		openMission(t, w, "young")
		stop = w.run(t)
		time.Sleep(time.Minute)
		stop()
		time.Sleep(10 * time.Minute)
		stop = w.run(t) // which prunes at once, and then every hour
		defer stop()
		time.Sleep(time.Second)
		if list := w.deliveries(t); len(list) != 0 {
			t.Errorf("%d deliveries after an hour, want none", len(list))
		}
		page, err := w.Events.After(t.Context(), fieldmark.EventCursor{Number: 0}, 0, 0)
		if err != nil || len(page.Events) == 0 || page.Oldest < 5 || page.Events[0].Number != page.Oldest {
			t.Fatalf("log after an hour: %+v, %v; want its tail cut", page, err)
		}
		for _, e := range page.Events[:len(page.Events)-1] { // the newest always stays
			if age := time.Since(e.Time.Std()); age > 22*time.Minute {
				t.Errorf("event %d is kept at the age of %v, want twenty minutes", e.Number, age)
			}
		}
		_, err = w.Webhooks.PollEvents(t.Context(), access.DefaultAccount, webhook.Poll{After: 1})
		wantCode(t, "poll what is forgotten", err, fieldmark.CodeCursorExpired)
		if polled, err := w.Webhooks.PollEvents(t.Context(), access.DefaultAccount, webhook.Poll{}); err != nil ||
			polled.Next != page.Head {
			t.Errorf("poll from the start: %+v, %v; want what is kept", polled, err)
		}
		if list, err := w.Store.Activations(t.Context()); err != nil || len(list) != 1 || list[0].At.IsZero() {
			t.Errorf("activations after an hour: %+v, %v; want that of the first event, which is deleted", list, err)
		}
		openMission(t, w, "after") // the log continues where it was
	})
}

// count returns the number that a query selects.
func (w *fixture) count(t testing.TB, query string) (n int) {
	t.Helper()
	driver, name := "sqlite", (&url.URL{Scheme: "file", Path: w.At.Path}).String()
	if w.At.URL != "" {
		driver, name = "pgx", w.At.URL
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow(query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestRequeuedDeliveryIsKept: retention counts from when a delivery was queued
// again, so a resend of an old message is not deleted before it is sent.
func TestRequeuedDeliveryIsKept(t *testing.T) {
	r := receive(t, status(204))
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		short, err := origin.New(origin.Config{Store: w.Store, Secret: appSecret, KeepDeliveries: 5 * time.Minute,
			HTTP: loopback()})
		if err != nil {
			t.Fatal(err)
		}
		w.Service = short
		endpoint := createEndpoint(t, w, r.URL, "mission.created")
		stop := w.run(t)
		openMission(t, w, "old")
		time.Sleep(time.Minute) // virtual: it is sent
		stop()
		time.Sleep(10 * time.Minute)
		paused := fieldmark.EndpointPaused
		if _, err := w.Webhooks.PatchEndpoint(t.Context(), "", endpoint.ID,
			fieldmark.EndpointPatch{State: &paused}); err != nil {
			t.Fatal(err)
		}
		old := w.deliveries(t)
		if len(old) != 1 {
			t.Fatalf("%d deliveries, want 1", len(old))
		}
		if _, err := w.Webhooks.Resend(t.Context(), endpoint.ID, old[0].ID); err != nil {
			t.Fatal(err)
		}
		stop = w.run(t) // which deletes what is old at once, and then every hour
		time.Sleep(time.Second)
		stop()
		if list := w.deliveries(t); len(list) != 1 {
			t.Errorf("%d deliveries after retention ran, want the one that was queued again", len(list))
		}
		time.Sleep(10 * time.Minute)
		stop = w.run(t)
		time.Sleep(time.Second)
		stop()
		if list := w.deliveries(t); len(list) != 0 {
			t.Errorf("%d deliveries after another ten minutes, want none", len(list))
		}
	})
}
