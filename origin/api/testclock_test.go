package api_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/api"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// received is a message as a receiver gets it.
type received struct {
	path     string
	envelope fieldmark.Envelope
	test     string    // of the header
	sent     time.Time // of the header
	real     time.Time // when it arrived
}

// testWorld is an origin with a test key, and a receiver in place of http://receiver.example.
type testWorld struct {
	*fixture
	test string // a key

	mu  sync.Mutex
	got []received
}

// newTestWorld starts an origin. The receiver refuses what is sent to /refused.
func newTestWorld(t testing.TB, at store.Config) *testWorld {
	t.Helper()
	w := &testWorld{}
	address := httptestServer(t, func(rw http.ResponseWriter, r *http.Request) {
		m := received{path: r.URL.Path, test: r.Header.Get("fieldmark-test"), real: time.Now()}
		body, _ := io.ReadAll(r.Body)
		seconds, err := strconv.ParseInt(r.Header.Get("webhook-timestamp"), 10, 64)
		if err != nil || json.Unmarshal(body, &m.envelope) != nil {
			t.Errorf("a message that cannot be read: %v %s", r.Header, body)
		}
		m.sent = time.Unix(seconds, 0)
		w.mu.Lock()
		w.got = append(w.got, m)
		w.mu.Unlock()
		if r.URL.Path == "/refused" {
			rw.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	w.fixture = openFixture(t, at, func(*api.Config) {}, func(c *origin.Config) {
		c.HTTP = safehttp.New(safehttp.Config{Targets: true,
			ConnectTo: map[string]string{"receiver.example:80": strings.TrimPrefix(address, "http://")}})
		t.Cleanup(c.HTTP.CloseIdle)
	})
	w.test = w.testKeyOf("default").Token
	return w
}

func (w *testWorld) endpoint(path, events string) (e fieldmark.NewEndpoint) {
	w.t.Helper()
	// Endpoints and keys expire in real time: no advance ends one that lives for an hour.
	body := fmt.Sprintf(`{"url":"http://receiver.example%s","events":%s,"ttlSeconds":3600}`, path, events)
	w.mustSend(201, request{"POST", hooksPath, w.test, body, nil}, &e)
	return e
}

// paid opens a mission with a payment.
func (w *testWorld) paid(id, terms string, m *fieldmark.Mission) *httptest.ResponseRecorder {
	w.t.Helper()
	return w.mustSend(201, request{"POST", fieldmark.PathMissions, w.test, fmt.Sprintf(`{"source":"s","externalId":%q,
		"title":"Paid","payment":{"amount":{"value":1,"currency":"EUR"},"direction":"charge","terms":%q}}`, id, terms),
		nil}, m)
}

func (w *testWorld) clock() (c fieldmark.TestClock) {
	w.t.Helper()
	w.mustSend(200, request{"GET", fieldmark.PathTestClock, w.test, "", nil}, &c)
	return c
}

// start begins to advance the clock.
func (w *testWorld) start(by time.Duration) {
	w.t.Helper()
	body := fmt.Sprintf(`{"now":%q}`, fieldmark.At(w.clock().Now.Std().Add(by)))
	w.accepted(request{"PUT", fieldmark.PathTestClock, w.test, body, nil})
}

// accepted sends an advance. The response is 200 if the workers have ended by then.
func (w *testWorld) accepted(r request) {
	w.t.Helper()
	if rec := w.send(r); rec.Code != http.StatusAccepted && rec.Code != http.StatusOK {
		w.t.Fatalf("advance %s: %d %s", r.body, rec.Code, rec.Body)
	}
}

// ready waits until the clock does not advance.
func (w *testWorld) ready() fieldmark.TestClock {
	w.t.Helper()
	for {
		moved := w.store.Watch(store.TopicTestClocks)
		if c := w.clock(); c.State == fieldmark.TestClockReady {
			return c
		}
		select {
		case <-moved:
		case <-w.t.Context().Done():
			w.t.Fatal("the clock advances for ever")
		}
	}
}

// events lists the types and times of the events of the test world.
func (w *testWorld) events() (list []fieldmark.Envelope) {
	w.t.Helper()
	for page := (fieldmark.PolledEvents{HasMore: true}); page.HasMore; {
		path := fmt.Sprintf("%s?limit=500&after=%d", fieldmark.PathPublicEvents, page.Next)
		w.mustSend(200, request{"GET", path, w.test, "", nil}, &page)
		for _, e := range page.Data {
			list = append(list, e.Envelope)
		}
	}
	return list
}

// TestTestClock plays 40 days of a test world: an SLA breach, a payment that falls due and three days of attempts for
// an endpoint that refuses everything. All have the times that they would have had.
func TestTestClock(t *testing.T) {
	w := newTestWorld(t, storetest.New(t))
	w.run()
	w.endpoint("/taken", `["sla.breached","payment.overdue"]`)
	refused := w.endpoint("/refused", `["mission.created"]`)
	var late, paid fieldmark.Mission
	w.mustSend(201, request{"POST", fieldmark.PathMissions, w.test,
		`{"source":"s","externalId":"1","title":"Late","priority":"CRITICAL"}`, nil}, &late)
	rec := w.paid("2", "NET 30", &paid)
	if world := rec.Header().Get(fieldmark.HeaderWorld); !strings.HasPrefix(world, "test; now=20") {
		t.Errorf("%s: %q", fieldmark.HeaderWorld, world)
	}
	for _, to := range []string{"DISPATCHED", "IN_PROGRESS", "COMPLETED", "CLOSED"} {
		w.mustSend(200, request{"POST", fieldmark.PathMissions + "/" + paid.ID + "/transitions", w.test,
			`{"status":"` + to + `"}`, nil}, &paid)
	}
	began := time.Now()
	w.start(40 * 24 * time.Hour)
	clock := w.ready()
	took := time.Since(began)
	t.Logf("40 days in %s: %+v", took, clock.Fired)
	if days := clock.OffsetSeconds / 86400; days < 39 || days > 40 || clock.More || clock.Fired.Payments != 1 ||
		clock.Fired.SLA == 0 || clock.Fired.Retries < 9 {
		t.Errorf("the clock: %+v", clock)
	}

	within := func(what string, at fieldmark.Time, want time.Time) {
		t.Helper()
		// The time of the world passes while things fire.
		if after := at.Std().Sub(want); after < -time.Millisecond || after > took {
			t.Errorf("%s is at %s, want %s", what, at, want)
		}
	}
	times := map[fieldmark.EventType]fieldmark.Time{}
	var last fieldmark.Time
	for _, e := range w.events() {
		if e.Timestamp.Std().Before(last.Std()) {
			t.Errorf("%s at %s is after an event at %s", e.Type, e.Timestamp, last)
		}
		if last = e.Timestamp; times[e.Type].Std().IsZero() {
			times[e.Type] = e.Timestamp
		}
	}
	within("the payment", times[fieldmark.EventPaymentOverdue], paid.Payment.DueAt.Std())
	w.mustSend(200, request{"GET", fieldmark.PathMissions + "/" + late.ID, w.test, "", nil}, &late)
	first := slices.MinFunc(late.SLA.Metrics,
		func(a, b fieldmark.SLAClock) int { return a.DueAt.Std().Compare(b.DueAt.Std()) })
	within("the breach", times[fieldmark.EventSLABreached], first.DueAt.Std())
	within("the breach of the mission", *first.BreachedAt, first.DueAt.Std())
	w.checkMessages(times)
	w.checkAttempts(refused.ID)
	w.checkDatabase()

	var live fieldmark.Mission
	w.mustSend(201, request{"POST", fieldmark.PathMissions, w.creator, goodMission, nil}, &live)
	if live.UpdatedAt.Std().After(time.Now().Add(time.Minute)) {
		t.Errorf("a live mission has the time of the world: %s", live.UpdatedAt)
	}
}

// TestMissionsOfAnAdvancedWorld: what has the time of a world is compared with its clock, not with the real time.
func TestMissionsOfAnAdvancedWorld(t *testing.T) {
	w := newTestWorld(t, storetest.New(t))
	w.run()
	w.start(40 * 24 * time.Hour)
	w.ready()
	var m fieldmark.Mission
	w.paid("1", "NET 30", &m)
	for _, to := range []string{"DISPATCHED", "IN_PROGRESS", "COMPLETED", "CLOSED"} {
		w.mustSend(200, request{"POST", fieldmark.PathMissions + "/" + m.ID + "/transitions", w.test,
			`{"status":"` + to + `"}`, nil}, &m)
	}
	rec := w.mustSend(200, request{"GET", fieldmark.PathMissions + "/export?fields=externalId", w.test, "", nil}, nil)
	if want := `{"externalId":"1"}` + "\n"; rec.Body.String() != want {
		t.Errorf("the export is %q, want %q", rec.Body, want)
	}
	payment := "payments/" + m.Payment.ID + "/transitions"
	refused := w.send(request{"POST", adminPath + payment, w.admin, fmt.Sprintf(`{"status":"PAID","paidAt":%q}`,
		fieldmark.At(w.clock().Now.Std().Add(24*time.Hour))), nil})
	if p := w.problem(refused); refused.Code != 422 || len(p.Errors) != 1 || p.Errors[0].Pointer != "/paidAt" {
		t.Errorf("paid on the next day of the world: %d %+v, want 422 for /paidAt", refused.Code, p.Errors)
	}
	now := w.clock().Now
	paid := w.payment(200, "POST", payment, fmt.Sprintf(`{"status":"PAID","paidAt":%q}`, now))
	if paid.PaidAt == nil || *paid.PaidAt != now {
		t.Errorf("paid at %v, want %v", paid.PaidAt, now)
	}
	w.checkDatabase()
}

// checkMessages checks that receivers see the real time in the signed header, and the time of the world in the body.
func (w *testWorld) checkMessages(times map[fieldmark.EventType]fieldmark.Time) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := map[fieldmark.EventType]bool{}
	for _, m := range w.got {
		if off := m.real.Sub(m.sent); off < 0 || off > time.Minute {
			w.t.Errorf("%s: webhook-timestamp is %s from the real time", m.envelope.Type, off)
		}
		if !m.envelope.Test || m.test != "1" {
			w.t.Errorf("%s is not marked as a test: %v, %q", m.envelope.Type, m.envelope.Test, m.test)
		}
		if m.path == "/taken" && !seen[m.envelope.Type] {
			seen[m.envelope.Type] = true
			if m.envelope.Timestamp != times[m.envelope.Type] {
				w.t.Errorf("%s says %s, want %s", m.envelope.Type, m.envelope.Timestamp, times[m.envelope.Type])
			}
		}
	}
	if len(seen) != 2 {
		w.t.Errorf("the receiver got %v, want a breach and an overdue payment", seen)
	}
}

// checkAttempts checks that a message was tried ten times, with the waits of the schedule.
func (w *testWorld) checkAttempts(endpoint string) {
	w.t.Helper()
	var list fieldmark.List[fieldmark.Delivery]
	w.mustSend(200, request{"GET", hooksPath + "/" + endpoint + "/deliveries", w.test, "", nil}, &list)
	if len(list.Data) != 2 {
		w.t.Fatalf("%d deliveries, want 2", len(list.Data))
	}
	steps := webhook.ScheduleOf(nil)
	for _, d := range list.Data {
		var full fieldmark.DeliveryRecord
		w.mustSend(200, request{"GET", hooksPath + "/" + endpoint + "/deliveries/" + d.ID, w.test, "", nil}, &full)
		if len(full.Log) != len(steps) || full.State != fieldmark.DeliveryFailed {
			w.t.Errorf("%s after %d attempts, want %d", full.State, len(full.Log), len(steps))
			continue
		}
		for i, a := range full.Log[1:] {
			wait := a.At.Std().Sub(full.Log[i].At.Std())
			if least := steps[i+1] * 8 / 10; wait < least-time.Millisecond {
				w.t.Errorf("attempt %d is %s after the one before, want at least %s", a.Number, wait, least)
			}
		}
	}
}

// TestTestClockLimits sends what a clock refuses, and waits for an advance.
func TestTestClockLimits(t *testing.T) {
	w := newTestWorld(t, storetest.New(t))
	put := func(key string, by time.Duration, wait string) request {
		return request{"PUT", fieldmark.PathTestClock, key, fmt.Sprintf(`{"now":%q,"wait":%q}`,
			fieldmark.At(w.clock().Now.Std().Add(by)), wait), nil}
	}
	refuse := func(r request, status int, code fieldmark.Code) {
		t.Helper()
		rec := w.send(r)
		if p := w.problem(rec); rec.Code != status || p.Code != code {
			t.Errorf("%s: %d %s, want %d %s", r.body, rec.Code, p.Code, status, code)
		}
	}
	const day = 24 * time.Hour
	refuse(put(w.creator, day, ""), 403, fieldmark.CodeInsufficientScope)
	refuse(put(w.test, -time.Hour, ""), 409, fieldmark.CodeClockBackward)
	refuse(put(w.test, 93*day, ""), 422, fieldmark.CodeValidationFailed)
	refuse(put(w.test, day, "21s"), 422, fieldmark.CodeValidationFailed)
	refuse(put(w.test, day, "soon"), 422, fieldmark.CodeValidationFailed)
	refuse(put(w.key("other", fieldmark.ScopeKeyTest), day, ""), 404, fieldmark.CodeNotFound)

	// No process advances or resets yet.
	other := w.testKeyOf("other").Token
	w.mustSend(202, request{"POST", fieldmark.PathTestReset, other, "", nil}, nil)
	refuse(put(other, day, ""), 409, fieldmark.CodeWorldResetting)
	w.mustSend(202, put(w.test, day, "10ms"), nil)
	refuse(put(w.test, 2*day, ""), 409, fieldmark.CodeClockAdvancing)
	refuse(request{"POST", fieldmark.PathTestReset, w.test, "", nil}, 409, fieldmark.CodeClockAdvancing)
	w.run()
	w.ready()
	manager := w.key("default", fieldmark.ScopeKeyTest)
	var clock fieldmark.TestClock
	for range 4 {
		w.accepted(put(manager, 92*day-time.Minute, ""))
		clock = w.ready()
	}
	if days := clock.OffsetSeconds / 86400; days != 368 || clock.To != nil || clock.StoppedAt != nil {
		t.Errorf("after 369 days: %+v", clock)
	}
	refuse(put(w.test, 33*day, ""), 422, fieldmark.CodeValidationFailed)
	w.checkDatabase()
}

// TestTestClockGoesOn stops an origin that advances a clock in the middle, without its last writes: another one goes
// on, and nothing fires twice.
func TestTestClockGoesOn(t *testing.T) {
	at := storetest.New(t)
	w := newTestWorld(t, at)
	const missions = 40
	for i := range missions {
		w.mustSend(201, request{"POST", fieldmark.PathMissions, w.test, fmt.Sprintf(
			`{"source":"s","externalId":"%d","title":"Late","priority":"CRITICAL"}`, i), nil}, nil)
	}
	breaches := func() (n int) {
		for _, e := range w.events() {
			if e.Type == fieldmark.EventSLABreached {
				n++
			}
		}
		return n
	}
	w.start(30 * 24 * time.Hour)
	stop := w.run()
	for seen := 0; seen == 0; seen = breaches() { // in the middle: the first of many
		if w.clock().State == fieldmark.TestClockReady {
			break
		}
	}
	stop()
	w.exec(`UPDATE test_clock SET lease_owner = 'a process that was killed', lease_until = 1`)
	w.run()
	w.ready()
	if n := breaches(); n != 3*missions { // response, arrival and resolution
		t.Errorf("%d breaches, want %d", n, 3*missions)
	}
	w.checkDatabase()
}

// TestTestClockFirings ends an advance that has fired as often as one may, although more messages are due at the same
// time: it stops where it is, the rest is sent, and the next advance reaches its goal.
func TestTestClockFirings(t *testing.T) {
	w := newTestWorld(t, storetest.New(t))
	w.endpoint("/taken", `["mission.created","sla.breached"]`)
	const missions, left = 30, 10
	for i := range missions {
		w.mustSend(201, request{"POST", fieldmark.PathMissions, w.test, fmt.Sprintf(
			`{"source":"s","externalId":"%d","title":"Late","priority":"CRITICAL"}`, i), nil}, nil)
	}
	w.start(30 * 24 * time.Hour)
	w.exec(fmt.Sprintf(`UPDATE test_clock SET sla = %d`, fieldmark.TestClockFirings-left))
	w.run()
	c := w.ready()
	if c.Fired.Webhooks != left || !c.More || c.StoppedAt == nil || c.OffsetSeconds != 0 {
		t.Errorf("after the limit: %+v, want %d more firings and no advance", c, left)
	}
	w.start(30 * 24 * time.Hour)
	if c = w.ready(); c.More || c.StoppedAt != nil || c.OffsetSeconds < 29*86400 || c.Fired.SLA == 0 {
		t.Errorf("the advance after it: %+v", c)
	}
	w.mu.Lock()
	got := map[fieldmark.EventType]int{}
	for _, m := range w.got {
		got[m.envelope.Type]++
	}
	w.mu.Unlock()
	if got[fieldmark.EventMissionCreated] != missions || got[fieldmark.EventSLABreached] != 3*missions {
		t.Errorf("the receiver got %v, want each of %d and %d once", got, missions, 3*missions)
	}
	w.checkDatabase()
}

// TestTestClockStuck damages a mission so that its timers cannot fire: the advance ends before its goal, and the world
// can be reset.
func TestTestClockStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, nil)
		w := &testWorld{fixture: fx, test: fx.testKeyOf("default").Token}
		w.mustSend(201, request{"POST", fieldmark.PathMissions, w.test,
			`{"source":"s","externalId":"1","title":"Late","priority":"CRITICAL"}`, nil}, nil)
		w.exec(`UPDATE mission SET request = 'damaged'`)
		w.start(24 * time.Hour)
		stop := w.run()
		time.Sleep(5 * time.Minute) // virtual
		if c := w.clock(); c.State != fieldmark.TestClockReady || !c.More || c.OffsetSeconds > 24*3600-60 {
			t.Errorf("the clock of a world with a damaged mission: %+v", c)
		}
		w.mustSend(202, request{"POST", fieldmark.PathTestReset, w.test, "", nil}, nil)
		stop()
	})
}

// TestTestClockMonth plays a month in which two missions are opened, worked on and paid each day.
func TestTestClockMonth(t *testing.T) {
	w := newTestWorld(t, storetest.New(t))
	w.run()
	w.endpoint("/taken", `["*"]`)
	began := time.Now()
	for day := range 30 {
		for i := range 2 {
			var m fieldmark.Mission
			w.paid(fmt.Sprint(day, i), "NET 7", &m)
			for _, to := range []string{"DISPATCHED", "IN_PROGRESS", "COMPLETED", "CLOSED"} {
				w.mustSend(200, request{"POST", fieldmark.PathMissions + "/" + m.ID + "/transitions", w.test,
					`{"status":"` + to + `"}`, nil}, nil)
			}
		}
		w.start(24 * time.Hour)
		w.ready()
	}
	overdue := 0
	var last fieldmark.Envelope
	for _, e := range w.events() {
		if e.Type == fieldmark.EventPaymentOverdue {
			overdue++
		}
		if e.Timestamp.Std().Before(last.Timestamp.Std()) {
			t.Errorf("%s at %s is after %s at %s", e.Type, e.Timestamp, last.Type, last.Timestamp)
		}
		last = e
	}
	t.Logf("a month of 60 missions with %d overdue payments in %s", overdue, time.Since(began))
	if overdue < 40 {
		t.Errorf("%d payments are overdue, want those of 23 days", overdue)
	}
	w.checkDatabase()
}
