package origin_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/mission"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// labelled creates a mission with labels.
func labelled(t *testing.T, w *fixture, id string, labels map[string]string) fieldmark.Mission {
	t.Helper()
	r := request(id)
	r.Labels = labels
	m, _, err := w.Missions.Create(t.Context(), access.DefaultAccount, r)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (w *fixture) apply(t *testing.T, op mission.Operation) {
	t.Helper()
	if _, err := w.Missions.Apply(t.Context(), op); err != nil {
		t.Fatal(err)
	}
}

// acmeOnly is the filter of customer acme.
var acmeOnly = &fieldmark.EndpointFilter{Labels: map[string]string{"customer": "acme"}}

// TestEndpointFilter: deliveries, replays, polling and tests of an endpoint with a filter are of the
// missions that have its labels at the time of the event.
func TestEndpointFilter(t *testing.T) {
	w := newFixture(t)
	var mu sync.Mutex
	var got []string
	r := receive(t, func(rw http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		var e struct {
			Type string
			Data struct {
				ExternalID string `json:"externalId"`
				Labels     map[string]string
			}
		}
		if err := json.Unmarshal(body, &e); err != nil {
			t.Errorf("message %s: %v", body, err)
		}
		mu.Lock()
		defer mu.Unlock()
		got = append(got, e.Type+" "+e.Data.ExternalID+e.Data.Labels["test"])
	})
	filter := &fieldmark.EndpointFilter{Labels: map[string]string{"customer": "acme", "region": "eu"}}
	p, err := w.Webhooks.CreateEndpoint(t.Context(), access.DefaultAccount, fieldmark.EndpointRequest{URL: r.URL,
		Events: []string{"*"}, EndpointSettings: fieldmark.EndpointSettings{Filter: filter,
			Ordering: fieldmark.OrderingMission}})
	if err != nil {
		t.Fatal(err)
	}
	all := createEndpoint(t, w, r.URL+"/all", "webhook.*") // a filter has no events of endpoints

	a := labelled(t, w, "a", map[string]string{"customer": "acme", "region": "eu", "floor": "3"})
	b := labelled(t, w, "b", map[string]string{"customer": "acme", "region": "us"})
	labelled(t, w, "c", nil)
	for _, id := range []string{a.ID, b.ID} {
		w.apply(t, mission.AddNote("", id, fieldmark.NoteRequest{Text: "Ring twice.", Visibility: fieldmark.NoteShared,
			Author: &fieldmark.NoteAuthor{ID: "ann"}}))
	}
	w.apply(t, mission.Patch("", a.ID, []byte(`{"labels":{"region":"us"}}`), nil))
	w.apply(t, mission.Patch("", b.ID, []byte(`{"labels":{"region":"eu"}}`), nil))
	w.apply(t, mission.Cancel("", a.ID, nil, nil))
	w.apply(t, mission.Cancel("", b.ID, nil, nil))
	want := []string{"mission.created a", "mission.noted a", "mission.updated b", "mission.canceled b"}

	delivered := func() (types []string) {
		for _, d := range slices.Backward(w.deliveries(t)) {
			if d.EndpointID == p.ID && !strings.HasPrefix(string(d.EventType), "sla.") {
				types = append(types, string(d.EventType))
			}
		}
		return types
	}
	types := strings.Join(delivered(), " ")
	if types != "mission.created mission.noted mission.updated mission.canceled" {
		t.Errorf("deliveries of %s", types)
	}

	page, err := w.Webhooks.PollEvents(t.Context(), access.DefaultAccount, webhook.Poll{Endpoint: p.ID,
		Types: []string{"mission.*"}})
	var polled []string
	for _, e := range page.Data {
		var m fieldmark.Mission
		if err := json.Unmarshal(e.Data, &m); err != nil {
			t.Fatal(err)
		}
		polled = append(polled, string(e.Type)+" "+m.ExternalID)
	}
	if err != nil || !slices.Equal(polled, want) {
		t.Errorf("polled %v, %v; want %v", polled, err, want)
	}
	_, err = w.Webhooks.PollEvents(t.Context(), "other", webhook.Poll{Endpoint: p.ID})
	wantCode(t, "poll for an endpoint of another account", err, fieldmark.CodeNotFound)

	stop := w.run(t)
	defer stop()
	waittest.Until(t, "all are done",
		func() bool { return states(w.deliveries(t))[fieldmark.DeliveryDone] >= len(want) })
	mu.Lock()
	sent := slices.DeleteFunc(slices.Clone(got), func(s string) bool { return strings.HasPrefix(s, "sla.") })
	mu.Unlock()
	slices.Sort(sent)
	if sorted := slices.Sorted(slices.Values(want)); !slices.Equal(sent, sorted) {
		t.Errorf("sent %v, want %v", sent, sorted)
	}

	// A replay has the events that match the filter now, at the labels of then.
	after := int64(0)
	w.patch(t, p.ID, fieldmark.EndpointPatch{Events: []string{"mission.created"}, Filter: acmeOnly})
	replay := w.replayed(t, p.ID, fieldmark.ReplayRequest{AfterEvent: &after})
	if replay.Queued != 2 {
		t.Errorf("a replay queued %d messages, want those of a and b", replay.Queued)
	}
	ping, err := w.Webhooks.Ping(t.Context(), "", p.ID, fieldmark.PingRequest{Type: fieldmark.EventMissionCompleted})
	if err != nil || !ping.OK {
		t.Errorf("test message: %+v, %v", ping, err)
	}
	record, err := w.Webhooks.RequestOf(t.Context(), p.ID, ping.DeliveryID, time.Now())
	if err != nil || !strings.Contains(record.Body, `"labels":{"customer":"acme"}`) {
		t.Errorf("the test message is %s, %v; want the labels of the filter", record.Body, err)
	}
	_, err = w.Webhooks.Ping(t.Context(), "", p.ID, fieldmark.PingRequest{Type: fieldmark.EventScoreChanged})
	wantFields(t, "test with an event of no mission", err, "/type")

	// Without its filter it receives every mission, and another time the events of endpoints.
	w.patch(t, p.ID, fieldmark.EndpointPatch{Filter: &fieldmark.EndpointFilter{}})
	if e := w.endpoint(t, p.ID); e.Filter != nil {
		t.Errorf("the endpoint still has filter %v", e.Filter)
	}
	if n := len(w.events(t)); n == 0 || w.endpoint(t, all.ID).Filter != nil {
		t.Error("an endpoint without a filter has one")
	}
}

// TestFilterSkipsPastDeliveries: failed messages that no longer match the filter are not sent again.
func TestFilterSkipsPastDeliveries(t *testing.T) {
	w := newFixture(t)
	r := receive(t, status(http.StatusNotFound))
	p, err := w.Webhooks.CreateEndpoint(t.Context(), access.DefaultAccount, fieldmark.EndpointRequest{URL: r.URL,
		EndpointSettings: fieldmark.EndpointSettings{Retry: &fieldmark.RetryPolicy{Steps: []int{1}}}})
	if err != nil {
		t.Fatal(err)
	}
	before := fieldmark.At(time.Now().Add(-time.Second))
	stop := w.run(t)
	defer stop()
	labelled(t, w, "a", acmeOnly.Labels)
	labelled(t, w, "b", map[string]string{"customer": "bolt"})
	waittest.Until(t, "both have failed", func() bool { return states(w.deliveries(t))[fieldmark.DeliveryFailed] == 2 })
	w.patch(t, p.ID, fieldmark.EndpointPatch{Filter: acmeOnly})
	if replay := w.replayed(t, p.ID, fieldmark.ReplayRequest{FailedSince: &before}); replay.Queued != 1 {
		t.Errorf("a replay of failed messages queued %d, want that of a", replay.Queued)
	}
}

// TestFilteredEvents: events of SLA timers and payments have the labels of their mission.
func TestFilteredEvents(t *testing.T) {
	w := newFixture(t)
	p, err := w.Webhooks.CreateEndpoint(t.Context(), access.DefaultAccount, fieldmark.EndpointRequest{
		URL: receive(t, status(204)).URL, Events: []string{"payment.*"},
		EndpointSettings: fieldmark.EndpointSettings{Filter: acmeOnly}})
	if err != nil {
		t.Fatal(err)
	}
	for _, customer := range []string{"acme", "bolt"} {
		r := request(customer)
		r.Labels = map[string]string{"customer": customer}
		r.Payment = &fieldmark.PaymentRequest{Amount: &fieldmark.Money{Value: 100, Currency: "EUR"}}
		m, _, err := w.Missions.Create(t.Context(), access.DefaultAccount, r)
		if err != nil {
			t.Fatal(err)
		}
		w.apply(t, mission.Cancel("", m.ID, nil, nil))
	}
	list := w.deliveries(t)
	if len(list) != 1 || list[0].EventType != fieldmark.EventPaymentCanceled || list[0].EndpointID != p.ID {
		t.Errorf("deliveries %+v, want payment.canceled of acme", list)
	}
	var labels []string
	events, err := w.Store.AccountEvents(t.Context(), access.DefaultAccount, 0, 100)
	for _, e := range events {
		labels = append(labels, fmt.Sprint(e.Type, e.Labels))
	}
	text := strings.Join(labels, " ")
	if err != nil || !strings.Contains(text, "payment.canceled"+fmt.Sprint(acmeOnly.Labels)) {
		t.Errorf("events %s, %v", text, err)
	}
}

// TestEndpointFilterErrors: what a filter and a customer may be, and how many endpoints a customer has.
func TestEndpointFilterErrors(t *testing.T) {
	w := newFixture(t)
	url := receive(t, status(204)).URL
	five := map[string]string{"a": "", "b": "", "c": "", "d": "", "e": ""}
	create := func(s fieldmark.EndpointSettings, events ...string) (fieldmark.NewEndpoint, error) {
		return w.Webhooks.CreateEndpoint(t.Context(), access.DefaultAccount,
			fieldmark.EndpointRequest{URL: url, Events: events, EndpointSettings: s})
	}
	for name, c := range map[string]struct {
		settings fieldmark.EndpointSettings
		events   []string
		want     []string
	}{
		"customer without filter": {fieldmark.EndpointSettings{Customer: "acme"}, nil, []string{"/filter"}},
		"long customer": {fieldmark.EndpointSettings{Customer: strings.Repeat("x", 65), Filter: acmeOnly}, nil,
			[]string{"/customer"}},
		"no labels": {fieldmark.EndpointSettings{Filter: &fieldmark.EndpointFilter{}}, nil, []string{"/filter/labels"}},
		"too many labels": {fieldmark.EndpointSettings{Filter: &fieldmark.EndpointFilter{Labels: five}}, nil,
			[]string{"/filter/labels"}},
		"empty key": {fieldmark.EndpointSettings{Filter: &fieldmark.EndpointFilter{Labels: map[string]string{"": "x"}}},
			nil, []string{"/filter/labels/"}},
		"events of keys": {fieldmark.EndpointSettings{Filter: acmeOnly}, []string{"mission.*", "api_key.expiring"},
			[]string{"/events/1"}},
	} {
		_, err := create(c.settings, c.events...)
		wantFields(t, name, err, c.want...)
	}
	settings := fieldmark.EndpointSettings{Customer: "acme", Filter: acmeOnly}
	var last fieldmark.NewEndpoint
	for range fieldmark.MaxCustomerEndpoints {
		var err error
		if last, err = create(settings); err != nil {
			t.Fatal(err)
		}
	}
	_, err := create(settings)
	wantCode(t, "one endpoint more", err, fieldmark.CodeTooMany)
	settings.Customer = "bolt"
	if _, err := create(settings); err != nil {
		t.Errorf("an endpoint of another customer: %v", err)
	}
	_, err = w.Webhooks.PatchEndpoint(t.Context(), "", last.ID, fieldmark.EndpointPatch{
		Filter: &fieldmark.EndpointFilter{}})
	wantFields(t, "customer without its filter", err, "/filter")
	for i := range webhook.MaxEndpoints { // those of customers do not count
		if _, err := create(fieldmark.EndpointSettings{}); err != nil {
			t.Fatalf("endpoint %d of the account: %v", i, err)
		}
	}
	_, err = create(fieldmark.EndpointSettings{})
	wantFields(t, "one of the account more", err, "")
}
