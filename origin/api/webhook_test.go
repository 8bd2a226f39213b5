package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/developer"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/event"
)

const hooksPath = fieldmark.PathWebhooks

// TestWebhookEndpoints covers the lifecycle of an endpoint from an integrator's view. Keys
// of other accounts have no access.
func TestWebhookEndpoints(t *testing.T) {
	fx := newFixture(t, nil)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
	}))
	defer receiver.Close()
	manager := fx.key(access.DefaultAccount, fieldmark.ScopeWebhookManage)
	other := fx.key("other", fieldmark.ScopeWebhookManage)
	if rec := fx.send(request{method: "GET", path: hooksPath, key: fx.reader}); rec.Code != http.StatusForbidden {
		t.Errorf("list with a key that reads missions: %d, want 403", rec.Code)
	}
	rec := fx.send(request{method: "POST", path: hooksPath, key: manager, body: `{"url":"https://10.0.0.1/",
		"events":["sla.*"],"signing":"v1","secret":"whsec_c2hvcnQ=",
		"headers":{"webhook-id":"x"},"auth":{"kind":"basic"},"retry":{"steps":[0]},"ordering":"size"}`})
	var pointers []string
	for _, f := range fx.problem(rec).Errors {
		pointers = append(pointers, f.Pointer)
	}
	if got := strings.Join(pointers, " "); rec.Code != 422 || got != "/ordering" {
		t.Errorf("a wrong word: %d, complaints about %s", rec.Code, got)
	}
	rec = fx.send(request{method: "POST", path: hooksPath, key: manager, body: `{"url":"https://10.0.0.1/",
		"events":["sla.*"],"signing":"v1","secret":"whsec_c2hvcnQ=",
		"headers":{"webhook-id":"x"},"auth":{"kind":"basic"},"retry":{"steps":[0]}}`})
	pointers = nil
	for _, f := range fx.problem(rec).Errors {
		pointers = append(pointers, f.Pointer)
	}
	if got := strings.Join(pointers, " "); rec.Code != 422 ||
		got != "/url /auth/username /headers/webhook-id /retry/steps/0 /secret" {
		t.Errorf("five faults: %d, complaints about %s", rec.Code, got)
	}

	var e fieldmark.NewEndpoint
	rec = fx.mustSend(201, request{method: "POST", path: hooksPath, key: manager, body: fmt.Sprintf(`{"url":%q,
		"events":["mission.*","sla.breached"],"payload":"thin","ordering":"mission",
		"rateLimit":5,"headers":{"X-Tenant":"seven"},"auth":{"kind":"basic","username":"u","password":"hush"},
		"retry":{"schedule":"quick"},"signing":"v1a","paused":true}`, receiver.URL)}, &e)
	if e.State != fieldmark.EndpointPaused || e.Headers["X-Tenant"] != fieldmark.HiddenValue ||
		e.Auth.Username != "u" ||
		strings.Contains(rec.Body.String(), "hush") ||
		!strings.HasPrefix(e.Secret, "whsk_") || !strings.HasPrefix(e.PublicKey, "whpk_") || e.MaxInFlight != 8 {
		t.Errorf("created %s", rec.Body)
	}
	one := hooksPath + "/" + e.ID
	for _, a := range []request{
		{method: "GET", path: one}, {method: "PATCH", path: one, body: `{}`}, {method: "DELETE",
			path: one}, {method: "POST", path: one + "/test"},
		{method: "POST", path: one + "/rotate-secret", body: `{}`}, {method: "GET", path: one +
			"/deliveries"}, {method: "POST", path: one + "/replays", body: `{"afterEvent":0}`},
	} {
		a.key = other
		if rec := fx.send(a); rec.Code != http.StatusNotFound {
			t.Errorf("%s %s with another account's key: %d, want 404", a.method, a.path, rec.Code)
		}
	}
	var patched fieldmark.Endpoint
	fx.mustSend(200, request{method: "PATCH", path: one, key: manager,
		body: `{"description":"new","auth":{"kind":"none"},"state":"enabled","maxInFlight":2}`}, &patched)
	if patched.Description != "new" || patched.Auth != nil || patched.State != fieldmark.EndpointEnabled ||
		patched.Ordering != fieldmark.OrderingMission ||
		patched.MaxInFlight != 2 || len(patched.Events) != 2 || patched.Headers["X-Tenant"] == "" {
		t.Errorf("patched %+v", patched)
	}
	var ping fieldmark.PingResult
	fx.mustSend(200, request{method: "POST", path: one + "/test", key: manager}, &ping)
	if !ping.OK || ping.Attempt.Status != http.StatusAccepted {
		t.Errorf("test: %+v", ping)
	}
	var record fieldmark.DeliveryRecord
	fx.mustSend(200, request{method: "GET", path: one + "/deliveries/" + ping.DeliveryID, key: manager}, &record)
	fx.mustSend(202, request{method: "POST", path: one + "/deliveries/" + ping.DeliveryID + "/resend", key: manager},
		&record)
	var deliveries fieldmark.List[fieldmark.Delivery]
	fx.mustSend(200, request{method: "GET", path: one + "/deliveries?state=due", key: manager}, &deliveries)
	if len(deliveries.Data) != 1 || deliveries.Data[0].ID != ping.DeliveryID {
		t.Errorf("due after the resend: %+v", deliveries)
	}
	var rotated fieldmark.NewEndpoint
	fx.mustSend(200, request{method: "POST", path: one + "/rotate-secret", key: manager,
		body: `{"signing":"v1","overlapHours":1}`}, &rotated)
	if !strings.HasPrefix(rotated.Secret, "whsec_") || len(rotated.OldSecretsUntil) != 1 {
		t.Errorf("rotated %+v", rotated)
	}
	// as it was, and a day
	fx.mustSend(200, request{method: "POST", path: one + "/rotate-secret", key: manager}, &rotated)
	if !strings.HasPrefix(rotated.Secret, "whsec_") || len(rotated.OldSecretsUntil) != 2 {
		t.Errorf("rotated without a body %+v", rotated)
	}
	var keys fieldmark.KeySet
	fx.mustSend(200, request{method: "GET", path: one + "/keys"}, &keys) // public: no key required
	if len(keys.Keys) != 1 || keys.Keys[0].Algorithm != "EdDSA" {
		t.Errorf("keys %+v, want the one from before the rotation", keys)
	}
	var replay fieldmark.Replay
	fx.mustSend(202, request{method: "POST", path: one + "/replays", key: manager,
		body: `{"failedSince":"2026-11-21T00:00:00Z"}`}, &replay)
	var replays fieldmark.List[fieldmark.Replay]
	fx.mustSend(200, request{method: "GET", path: one + "/replays", key: manager}, &replays)
	if len(replays.Data) != 1 || replays.Data[0].ID != replay.ID {
		t.Errorf("replays %+v, want %+v", replays, replay)
	}
	fx.mustSend(204, request{method: "DELETE", path: one, key: manager}, nil)
	fx.mustSend(404, request{method: "GET", path: one, key: manager}, nil)
}

func TestEventTypes(t *testing.T) {
	fx := newFixture(t, nil)
	var types fieldmark.List[fieldmark.EventTypeInfo]
	fx.mustSend(200, request{method: "GET", path: hooksPath + "/event-types"}, &types)
	if len(types.Data) != len(event.Kinds()) {
		t.Errorf("%d types, want every row of the table", len(types.Data))
	}
	for _, info := range types.Data {
		var schema struct {
			Ref  string                     `json:"$ref"`
			Defs map[string]json.RawMessage `json:"$defs"`
		}
		if err := json.Unmarshal(info.Schema, &schema); err != nil || schema.Defs[strings.TrimPrefix(schema.Ref,
			"#/$defs/")] == nil || info.Description == "" {
			t.Errorf("%s: schema %s, %v", info.Type, info.Schema, err)
		}
		if info.Example.Type != info.Type || len(info.Example.Data) < 3 {
			t.Errorf("%s: example %+v", info.Type, info.Example)
		}
	}
}

// TestEventsAreDescribedAlike: the table of event types, the OpenAPI document, the AsyncAPI document, the list
// of event types and the pages for developers have the same types, with the same summaries, schemas and examples.
func TestEventsAreDescribedAlike(t *testing.T) {
	fx := newFixture(t, nil)
	openAPI := fx.mustSend(200, request{method: "GET", path: fieldmark.PathOpenAPI}, nil).Body.Bytes()
	type body struct {
		Schema struct {
			Properties struct{ Data json.RawMessage }
		}
		Example json.RawMessage
	}
	var webhooks struct {
		Webhooks map[string]struct {
			Post struct {
				Summary     string
				Parameters  []struct{ Name string }
				RequestBody struct{ Content map[string]body }
				Responses   map[string]struct{}
			}
		}
	}
	unmarshal(t, openAPI, &webhooks)
	var messages struct {
		Channels map[string]struct {
			Address  *string
			Messages map[string]struct{}
		}
		Operations map[string]struct{ Messages []struct{} }
		Components struct {
			Messages map[string]struct {
				Summary string
				Payload struct {
					Properties struct{ Data json.RawMessage }
				}
				Examples []struct{ Payload json.RawMessage }
			}
		}
	}
	rec := fx.mustSend(200, request{method: "GET", path: fieldmark.PathAsyncAPI}, &messages)
	fx.mustSend(304, request{method: "GET", path: fieldmark.PathAsyncAPI,
		header: map[string]string{"If-None-Match": rec.Header().Get("ETag")}}, nil)
	var types fieldmark.List[fieldmark.EventTypeInfo]
	fx.mustSend(200, request{method: "GET", path: hooksPath + "/event-types"}, &types)
	pages, err := developer.Parse(openAPI)
	if err != nil {
		t.Fatal(err)
	}
	kinds := event.Kinds()
	deliveries, log := messages.Channels["deliveries"], messages.Channels["events"]
	for what, n := range map[string]int{"OpenAPI": len(webhooks.Webhooks),
		"messages": len(messages.Components.Messages), "event types": len(types.Data),
		"pages": len(pages.Events), "deliveries": len(deliveries.Messages),
		"events": len(log.Messages), "deliver": len(messages.Operations["deliver"].Messages),
		"poll": len(messages.Operations["poll"].Messages)} {
		if n != len(kinds) {
			t.Errorf("%s has %d types, want %d", what, n, len(kinds))
		}
	}
	if deliveries.Address != nil || log.Address == nil || *log.Address != fieldmark.PathPublicEvents {
		t.Errorf("addresses of the channels: %v, %v", deliveries.Address, log.Address)
	}
	for i, k := range kinds {
		name := string(k.Type)
		hook, message := webhooks.Webhooks[name].Post, messages.Components.Messages[name]
		plain, cloud := hook.RequestBody.Content["application/json"],
			hook.RequestBody.Content["application/cloudevents+json"]
		data := string(plain.Schema.Properties.Data)
		if !strings.Contains(data, "$ref") || data != string(cloud.Schema.Properties.Data) ||
			compact(t, message.Payload.Properties.Data) != compact(t, []byte(data)) {
			t.Errorf("%s: data is %s, of a CloudEvent %s, in AsyncAPI %s", name, data, cloud.Schema.Properties.Data,
				message.Payload.Properties.Data)
		}
		onPage := slices.ContainsFunc(pages.Events, func(e *developer.Event) bool { return e.Type == name })
		if types.Data[i].Type != k.Type || types.Data[i].Description != k.Summary || hook.Summary != k.Summary ||
			message.Summary != k.Summary || !onPage {
			t.Errorf("%s: described as %q, %q, %q; on a page: %v", name, types.Data[i].Description, hook.Summary,
				message.Summary, onPage)
		}
		example, err := json.Marshal(types.Data[i].Example)
		if err != nil || len(message.Examples) != 1 || compact(t, plain.Example) != string(example) ||
			compact(t, message.Examples[0].Payload) != string(example) {
			t.Errorf("%s: the examples differ from %s: %v", name, example, err)
		}
		for _, status := range []string{"2XX", "410", "429", "503", "default"} {
			if _, ok := hook.Responses[status]; !ok || len(hook.Parameters) != 3 {
				t.Errorf("%s: parameters %v, responses %v", name, hook.Parameters, hook.Responses)
			}
		}
	}
}

// compact returns JSON without spaces.
func compact(t *testing.T, raw []byte) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		t.Fatalf("%v in %.100s", err, raw)
	}
	return out.String()
}

func TestPolling(t *testing.T) {
	fx := newFixture(t, nil)
	manager := fx.key(access.DefaultAccount, fieldmark.ScopeWebhookManage)
	fx.mustSend(201, request{method: "POST", path: fieldmark.PathMissions, key: fx.creator,
		body: `{"source":"a","externalId":"1","title":"Work"}`}, nil)
	var page fieldmark.PolledEvents
	fx.mustSend(200, request{method: "GET", path: fieldmark.PathPublicEvents + "?after=0&type=mission.*&payload=thin",
		key: manager}, &page)
	if len(page.Data) != 1 || page.Data[0].Type != fieldmark.EventMissionCreated ||
		strings.Contains(string(page.Data[0].Envelope.Data), "Work") || page.Next < page.Data[0].Number {
		t.Errorf("polled %+v", page)
	}
	if rec := fx.send(request{method: "GET", path: fieldmark.PathPublicEvents + "?type=brand.changed",
		key: manager}); rec.Code != 400 {
		t.Errorf("an unknown event type: %d %s, want 400", rec.Code, rec.Body)
	}
}
