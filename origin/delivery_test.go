package origin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/store"
)

// told returns the types of events in the log that begin with a prefix.
func (w *fixture) told(t testing.TB, prefix string) (types []string) {
	t.Helper()
	for _, e := range w.events(t) {
		if strings.HasPrefix(string(e.Type), prefix) {
			types = append(types, string(e.Type))
		}
	}
	return types
}

func (w *fixture) endpoint(t testing.TB, id string) fieldmark.Endpoint {
	t.Helper()
	e, err := w.Webhooks.Endpoint(t.Context(), "", id)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (w *fixture) patch(t testing.TB, id string, p fieldmark.EndpointPatch) fieldmark.Endpoint {
	t.Helper()
	e, err := w.Webhooks.PatchEndpoint(t.Context(), "", id, p)
	if err != nil {
		t.Fatalf("patch %+v: %v", p, err)
	}
	return e
}

func states(list []fieldmark.Delivery) map[fieldmark.DeliveryState]int {
	n := map[fieldmark.DeliveryState]int{}
	for _, d := range list {
		n[d.State]++
	}
	return n
}

func to[T any](v T) *T { return &v }

// Messages must not use up their attempts during an outage: the circuit holds them,
// probes the receiver, and releases them gradually when it recovers.
func TestOutageHoldsMessages(t *testing.T) {
	r := receive(t, status(503))
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		p := createEndpoint(t, w, r.URL, "mission.created")
		stop := w.run(t)
		defer stop()
		for i := range 60 {
			openMission(t, w, fmt.Sprint(i))
		}
		time.Sleep(4 * time.Minute) // virtual
		tried := r.got.Load()
		if e := w.endpoint(t, p.ID); e.Circuit != fieldmark.CircuitOpen || e.FailingSince == nil || e.ProbeAt == nil {
			t.Errorf("after 4 minutes of 503: %+v; want an open circuit", e)
		}
		if tried > 20 { // eight before it opened, and the probes
			t.Errorf("%d requests in 4 minutes to a receiver that is unreachable, want few", tried)
		}
		if got := states(w.deliveries(t)); got[fieldmark.DeliveryHeld] != 60 {
			t.Errorf("deliveries %v, want 60 held", got)
		}
		fine := status(204)
		r.answer.Store(&fine)
		time.Sleep(12 * time.Minute)
		most := 0
		for _, d := range w.deliveries(t) {
			most = max(most, d.Attempts)
			if d.State != fieldmark.DeliveryDone {
				t.Errorf("after the receiver came back: %+v", d)
			}
		}
		if e := w.endpoint(t, p.ID); e.Circuit != fieldmark.CircuitClosed || e.FailingSince != nil ||
			e.LastSuccessAt == nil || most > 6 {
			t.Errorf("at the end: %+v, %d attempts for one message at most; want closed, and no message worn out", e,
				most)
		}
	})
}

// Events that happen while an endpoint is paused are held for it.
func TestPausedEndpointLosesNothing(t *testing.T) {
	var mu sync.Mutex
	var got []string
	r := receive(t, func(_ http.ResponseWriter, r *http.Request) {
		var e fieldmark.Envelope
		_ = json.NewDecoder(r.Body).Decode(&e)
		mu.Lock()
		defer mu.Unlock()
		got = append(got, string(e.Type))
	})
	for choice, want := range map[fieldmark.HeldChoice][]string{
		"": {"mission.completed", "mission.created", "mission.created", "mission.dispatched",
			"mission.started"},
		fieldmark.HeldNewest: {"mission.completed", "mission.created"},
		fieldmark.HeldSkip:   {},
		fieldmark.HeldDeliver: {"mission.completed", "mission.created", "mission.created", "mission.dispatched",
			"mission.started"},
	} {
		w := newFixture(t)
		got = []string{}
		p := createEndpoint(t, w, r.URL)
		stop := w.run(t)
		if e := w.patch(t, p.ID, fieldmark.EndpointPatch{State: to(fieldmark.EndpointPaused),
			Reason: "we move"}); e.State != fieldmark.EndpointPaused || e.StateReason != "we move" {
			t.Errorf("paused: %+v", e)
		}
		m := openMission(t, w, "a")
		if _, err := w.Missions.Complete(t.Context(), m.ID); err != nil {
			t.Fatal(err)
		}
		openMission(t, w, "b")
		if list := w.deliveries(t); len(list) != 5 || states(list)[fieldmark.DeliveryHeld] != 5 {
			t.Errorf("while paused: %v, want 5 held", states(list))
		}
		// Messages held for a paused receiver must not count as backlog of the
		// origin.
		if v, err := w.Stats(t.Context(), 100); v.Held != 5 || v.Backlog != 0 || v.Oldest != 0 || v.Stopped != 1 ||
			err != nil {
			t.Errorf("stats while paused: %+v, %v; want 5 held, no backlog, one stopped", v, err)
		}
		if e := w.patch(t, p.ID, fieldmark.EndpointPatch{State: to(fieldmark.EndpointEnabled),
			Held: choice}); e.State != fieldmark.EndpointEnabled || e.StateReason != "" {
			t.Errorf("enabled: %+v", e)
		}
		waittest.Until(t, "everything is finished", func() bool {
			n := states(w.deliveries(t))
			return n[fieldmark.DeliveryDone] == len(want) && n[fieldmark.DeliveryFailed] == 5-len(want)
		})
		stop()
		mu.Lock()
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("enabled with %q: got %v, want %v", choice, got, want)
		}
		mu.Unlock()
	}
}

func TestReceiverDisables(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"410":     status(http.StatusGone),
		"control": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("webhook-delivery", "disable") },
	} {
		w := newFixture(t)
		r, other := receive(t, answer), receive(t, status(204))
		p := createEndpoint(t, w, r.URL, "mission.created")
		createEndpoint(t, w, other.URL, "webhook.*")
		stop := w.run(t)
		openMission(t, w, "a")
		waittest.Until(t, "the endpoint is disabled",
			func() bool { return w.endpoint(t, p.ID).State == fieldmark.EndpointDisabled })
		openMission(t, w, "b")
		waittest.Until(t, "another endpoint hears of it", func() bool { return other.got.Load() == 1 })
		stop()
		e := w.endpoint(t, p.ID)
		if r.got.Load() != 1 || !strings.Contains(e.StateReason, "asked for it") || e.StateAt == nil ||
			!slices.Equal(w.told(t, "webhook."), []string{"webhook.disabled"}) {
			t.Errorf("%s: %d requests, endpoint %+v, told %v; want one request, a reason, and webhook.disabled", name,
				r.got.Load(), e, w.told(t, "webhook."))
		}
	}
}

func TestReceiverAborts(t *testing.T) {
	w := newFixture(t)
	r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("webhook-delivery", "abort-message")
		w.WriteHeader(http.StatusUnprocessableEntity)
	})
	p := createEndpoint(t, w, r.URL, "mission.created")
	stop := w.run(t)
	defer stop()
	openMission(t, w, "a")
	waittest.Until(t, "the message is given up",
		func() bool { return states(w.deliveries(t))[fieldmark.DeliveryFailed] == 1 })
	if e := w.endpoint(t, p.ID); e.State != fieldmark.EndpointEnabled || w.deliveries(t)[0].Attempts != 1 {
		t.Errorf("endpoint %+v, %+v; want enabled and one attempt", e, w.deliveries(t))
	}
}

// An endpoint that fails causes two warnings and is then disabled, each with an
// event, whether or not messages are sent to it meanwhile.
func TestFailingEndpointIsDisabled(t *testing.T) {
	r := receive(t, status(500))
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		p := createEndpoint(t, w, r.URL, "mission.created")
		openMission(t, w, "a")
		stop := w.run(t)
		defer stop()
		const day = 24 * time.Hour
		for _, step := range []struct {
			failing time.Duration
			warned  int // so far
			want    []string
		}{
			{day - time.Hour, 0, nil},
			{day, 0, []string{"webhook.failing"}},
			{2 * day, 1, []string{"webhook.failing"}},
			{3 * day, 1, []string{"webhook.failing", "webhook.failing"}},
			{5 * day, 2, []string{"webhook.failing", "webhook.failing", "webhook.disabled"}},
		} {
			since := time.Now().Add(-step.failing)
			err := w.Store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				return tx.PutEndpointHealth(ctx, p.ID,
					fmt.Sprintf(`{"failingSince":%q,"lastFailure":%q,"failed":12,"warned":%d}`,
						fieldmark.At(since), fieldmark.At(time.Now()), step.warned), since, time.Time{})
			})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(61 * time.Second) // virtual
			if told := w.told(t, "webhook."); !slices.Equal(told, step.want) {
				t.Errorf("failing for %v: told %v, want %v", step.failing, told, step.want)
			}
		}
		openMission(t, w, "later")
		e := w.endpoint(t, p.ID)
		if n := states(w.deliveries(t)); n[fieldmark.DeliveryHeld] != 2 || e.State != fieldmark.EndpointDisabled ||
			!strings.Contains(e.StateReason, "5 days") {
			t.Errorf("deliveries %v, endpoint %+v; want two held and disabled", n, e)
		}
		fine := status(204)
		r.answer.Store(&fine)
		w.patch(t, p.ID, fieldmark.EndpointPatch{State: to(fieldmark.EndpointEnabled)})
		time.Sleep(time.Minute) // the first message would have been tried again after half an hour
		if n := states(w.deliveries(t)); n[fieldmark.DeliveryDone] != 2 {
			t.Errorf("a minute after it was enabled: %v; want both done", n)
		}
	})
}

func TestOrderingByMission(t *testing.T) {
	w := newFixture(t)
	var mu sync.Mutex
	order, known := map[string][]string{}, map[string]bool{}
	r := receive(t, func(rw http.ResponseWriter, r *http.Request) {
		var e fieldmark.Envelope
		var m fieldmark.Mission
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &e)
		_ = json.Unmarshal(e.Data, &m)
		mu.Lock()
		defer mu.Unlock()
		// A message that fails keeps its position.
		if id := r.Header.Get("webhook-id"); !known[id] {
			if known[id] = true; len(known)%5 == 0 {
				rw.WriteHeader(http.StatusNotFound)
				return
			}
		}
		order[m.ID] = append(order[m.ID], string(e.Type))
	})
	_, err := w.Webhooks.CreateEndpoint(t.Context(), access.DefaultAccount,
		fieldmark.EndpointRequest{URL: r.URL, EndpointSettings: fieldmark.EndpointSettings{
			Ordering: fieldmark.OrderingMission, Retry: &fieldmark.RetryPolicy{Steps: []int{1, 1, 1, 1, 1}}}})
	if err != nil {
		t.Fatal(err)
	}
	stop := w.run(t)
	defer stop()
	for i := range 8 {
		m := openMission(t, w, fmt.Sprint(i))
		if _, err := w.Missions.Complete(t.Context(), m.ID); err != nil {
			t.Fatal(err)
		}
	}
	waittest.Until(t, "all deliveries are done", allDone(w, t))
	mu.Lock()
	defer mu.Unlock()
	for id, got := range order {
		if want := []string{"mission.created", "mission.dispatched", "mission.started",
			"mission.completed"}; !slices.Equal(got, want) {
			t.Errorf("mission %s arrived as %v, want %v", id, got, want)
		}
	}
	if len(order) != 8 {
		t.Errorf("%d missions arrived, want 8", len(order))
	}
}

func TestRateLimit(t *testing.T) {
	r := receive(t, status(204))
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		_, err := w.Webhooks.CreateEndpoint(t.Context(), access.DefaultAccount,
			fieldmark.EndpointRequest{URL: r.URL, Events: []string{"mission.created"},
				EndpointSettings: fieldmark.EndpointSettings{RateLimit: 2}})
		if err != nil {
			t.Fatal(err)
		}
		stop := w.run(t)
		defer stop()
		for i := range 10 {
			openMission(t, w, fmt.Sprint(i))
		}
		time.Sleep(2*time.Second + 100*time.Millisecond) // virtual
		if n := r.got.Load(); n < 5 || n > 7 {
			t.Errorf("%d messages in 2 s at 2 a second, want a second's worth at once and then two a second: 6", n)
		}
		time.Sleep(10 * time.Second)
		if n := r.got.Load(); n != 10 {
			t.Errorf("%d messages in the end, want 10", n)
		}
	})
}

func TestRotateSecret(t *testing.T) {
	w := newFixture(t)
	p := createEndpoint(t, w, "http://127.0.0.1:9/")
	hours := func(n int) fieldmark.SecretRequest { return fieldmark.SecretRequest{OverlapHours: &n} }
	n, err := w.Webhooks.RotateSecret(t.Context(), "", p.ID, hours(48))
	if err != nil || n.Secret == p.Secret || len(n.OldSecretsUntil) != 1 || n.Signing != fieldmark.SigningV1 {
		t.Fatalf("rotate: %+v, %v", n, err)
	}
	n, err = w.Webhooks.RotateSecret(t.Context(), "", p.ID, fieldmark.SecretRequest{Signing: fieldmark.SigningV1a})
	if err != nil || len(n.OldSecretsUntil) != 2 || n.Signing != fieldmark.SigningV1a ||
		!strings.HasPrefix(n.PublicKey, "whpk_") || !strings.HasPrefix(n.Secret, "whsk_") {
		t.Fatalf("rotate to v1a: %+v, %v", n, err)
	}
	if keys, err := w.Webhooks.PublicKeys(t.Context(), p.ID); err != nil || len(keys.Keys) != 1 ||
		keys.Keys[0].Curve != "Ed25519" {
		t.Errorf("public keys %+v, %v; want one", keys, err)
	}
	for range 2 {
		if _, err := w.Webhooks.RotateSecret(t.Context(), "", p.ID, hours(1)); err != nil {
			t.Fatal(err)
		}
	}
	_, err = w.Webhooks.RotateSecret(t.Context(), "", p.ID, hours(1))
	wantCode(t, "a sixth live secret", err, fieldmark.CodeValidationFailed)
	if n, err = w.Webhooks.RotateSecret(t.Context(), "", p.ID, hours(0)); err != nil || len(n.OldSecretsUntil) != 0 {
		t.Errorf("rotate at once: %+v, %v; want no secret from before", n, err)
	}
	if rows, err := w.Store.Endpoints(t.Context(), "", false, time.Now(), 10); err != nil ||
		strings.Contains(fmt.Sprintf("%+v", rows), strings.TrimPrefix(n.Secret, "whsk_")) {
		t.Errorf("the record shows a secret: %+v, %v", rows, err)
	}
}

// A dead and a slow endpoint do not delay the other endpoints.
func TestDeadEndpointDelaysNoOther(t *testing.T) {
	w := newFixture(t)
	release := make(chan struct{})
	defer close(release)
	var open, most atomic.Int64
	slow := receive(t, func(_ http.ResponseWriter, r *http.Request) {
		n := open.Add(1)
		defer open.Add(-1)
		for was := most.Load(); n > was && !most.CompareAndSwap(was, n); was = most.Load() {
		}
		_, _ = io.Copy(io.Discard, r.Body) // or the server does not detect the cancellation
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	fast := receive(t, status(204))
	const healthy = 40
	for i := range healthy {
		createEndpoint(t, w, fmt.Sprintf("%s/%d", fast.URL, i), "mission.created")
	}
	createEndpoint(t, w, slow.URL, "mission.created")
	createEndpoint(t, w, "http://127.0.0.1:9/", "mission.created")
	stop := w.run(t)
	defer stop()
	for i := range 25 {
		openMission(t, w, fmt.Sprint(i))
	}
	waittest.Until(t, "the healthy ones have everything", func() bool { return fast.got.Load() >= healthy*25 })
	if n := most.Load(); n == 0 || n > 8 {
		t.Errorf("%d messages on the wire to the slow one at once, want 1 to 8", n)
	}
}
