package api

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// The limits of a page of deliveries and of a page of events.
const (
	defaultDeliveryLimit = 50
	maxDeliveryLimit     = 500
	defaultPollLimit     = 100
	maxPollLimit         = 500
)

// deliveryParams and pollParams are the query parameters of lists of deliveries and of events.
var (
	deliveryParams = []param{
		{name: "limit", description: "Deliveries per page, newest first", lowest: 1, highest: maxDeliveryLimit,
			preset: defaultDeliveryLimit},
		{name: "cursor", description: "nextCursor of the previous page"},
		{name: "state", description: "Only deliveries in this state; held is part of due", enum: deliveryStates()},
	}
	pollParams = []param{
		{name: "after", description: "The number of the last event you have; 0 starts at the oldest stored event",
			highest: 1 << 53},
		{name: "limit", description: "Events per page", lowest: 1, highest: maxPollLimit, preset: defaultPollLimit},
		{name: "type", description: "Only events of this type, or with .* at the end of this group", many: true},
		{name: "payload", description: "thin reduces data to ids", enum: []string{"FULL", "THIN"}},
	}
)

func deliveryStates() []string {
	var all []string
	for _, s := range fieldmark.DeliveryStates() {
		all = append(all, strings.ToUpper(string(s)))
	}
	return append(all, strings.ToUpper(string(fieldmark.DeliveryHeld)))
}

// endpointRef names a webhook endpoint of an account, or of any account if that is empty.
type endpointRef struct{ account, id string }

func endpointParam(c *call) (endpointRef, error) {
	id, err := idParam(fieldmark.PrefixWebhook)(c)
	return endpointRef{c.account(), id}, err
}

func (s *server) getEndpoint(ctx context.Context, e endpointRef) (fieldmark.Endpoint, error) {
	return s.origin.Webhooks.Endpoint(ctx, e.account, e.id)
}

func (s *server) patchEndpoint(ctx context.Context, e endpointRef, p fieldmark.EndpointPatch) (
	fieldmark.Endpoint, error,
) {
	return s.origin.Webhooks.PatchEndpoint(ctx, e.account, e.id, p)
}

func (s *server) deleteEndpoint(ctx context.Context, e endpointRef) error {
	return s.origin.Webhooks.DeleteEndpoint(ctx, e.account, e.id)
}

func (s *server) rotateSecret(ctx context.Context, e endpointRef, r fieldmark.SecretRequest) (
	fieldmark.NewEndpoint, error,
) {
	return s.origin.Webhooks.RotateSecret(ctx, e.account, e.id, r)
}

func (s *server) testEndpoint(ctx context.Context, e endpointRef, r fieldmark.PingRequest) (
	fieldmark.PingResult, error,
) {
	return s.origin.Webhooks.Ping(ctx, e.account, e.id, r)
}

func (s *server) startReplay(ctx context.Context, e endpointRef, r fieldmark.ReplayRequest) (fieldmark.Replay, error) {
	return s.origin.Webhooks.StartReplay(ctx, e.account, e.id, r)
}

func (s *server) listReplays(ctx context.Context, e endpointRef) ([]fieldmark.Replay, error) {
	return s.origin.Webhooks.Replays(ctx, e.account, e.id)
}

// publicKeys returns an endpoint's public keys to anyone who has its id.
func (s *server) publicKeys(c *call) (keys fieldmark.KeySet, err error) {
	id, err := idParam(fieldmark.PrefixWebhook)(c)
	if err != nil {
		return keys, err
	}
	keys, err = s.origin.Webhooks.PublicKeys(c.r.Context(), id)
	if err == nil {
		c.w.Header().Set("Cache-Control", "public, max-age=300")
	}
	return keys, err
}

// listDeliveries lists the deliveries to one endpoint, or to all where the path names none.
func (s *server) listDeliveries(c *call) (page fieldmark.List[fieldmark.Delivery], err error) {
	var endpoint string
	if c.r.PathValue("id") != "" {
		if endpoint, err = s.visibleEndpoint(c); err != nil {
			return page, err
		}
	}
	return s.origin.Webhooks.Deliveries(c.r.Context(), webhook.DeliveryPage{
		Endpoint: endpoint, State: fieldmark.DeliveryState(strings.ToLower(c.params.text("state"))),
		Cursor: c.params.text("cursor"), Limit: c.params.number("limit"),
	})
}

// visibleEndpoint returns the id in the path if the caller may see that endpoint.
func (s *server) visibleEndpoint(c *call) (string, error) {
	e, err := endpointParam(c)
	if err == nil {
		_, err = s.getEndpoint(c.r.Context(), e)
	}
	return e.id, err
}

// deliveryRef names a delivery to an endpoint.
type deliveryRef struct{ endpoint, id string }

func (s *server) deliveryParam(c *call) (d deliveryRef, err error) {
	if d.endpoint, err = s.visibleEndpoint(c); err != nil {
		return d, err
	}
	if d.id = c.r.PathValue("delivery"); !fieldmark.CheckID(fieldmark.PrefixDelivery, d.id) {
		return d, fieldmark.Errorf(fieldmark.CodeNotFound, "no such delivery")
	}
	return d, nil
}

func (s *server) getDelivery(ctx context.Context, d deliveryRef) (fieldmark.DeliveryRecord, error) {
	return s.origin.Webhooks.Delivery(ctx, d.endpoint, d.id)
}

func (s *server) resendDelivery(ctx context.Context, d deliveryRef) (fieldmark.DeliveryRecord, error) {
	return s.origin.Webhooks.Resend(ctx, d.endpoint, d.id)
}

// pollEvents lists an account's events for receivers that webhooks cannot reach.
func (s *server) pollEvents(c *call) (page fieldmark.PolledEvents, err error) {
	patterns := c.params.values["type"]
	invalid := func(p string) bool { return !event.ValidPattern(p) }
	if slices.ContainsFunc(patterns, invalid) {
		return page, paramError("type", "enum", "must be an event type, or a group and .*")
	}
	thin := strings.EqualFold(c.params.text("payload"), "thin")
	after, limit := int64(c.params.number("after")), c.params.number("limit")
	return s.origin.Webhooks.PollEvents(c.r.Context(), c.key.Account, after, patterns, thin, limit)
}

// listEventTypes describes every event type.
func (s *server) listEventTypes(c *call) error {
	c.w.Header().Set("Cache-Control", "public, max-age=300")
	return c.sendDocument(s.eventTypes)
}

// describeEvents encodes the list of event types: each with the JSON Schema of its data, which is generated
// from the Go type of the example, and an example message.
func describeEvents() (document, error) {
	var types []fieldmark.EventTypeInfo
	for _, k := range event.Kinds() {
		reg := huma.NewMapRegistry("#/$defs/", huma.DefaultSchemaNamer)
		reg.RegisterTypeAlias(reflect.TypeFor[fieldmark.Time](), reflect.TypeFor[time.Time]())
		root := reg.Schema(reflect.TypeOf(k.Example), true, "")
		allowAdditional(reg, nil)
		for name, s := range reg.Map() {
			explainPatterns(s)
			allowNull(s, reg.TypeFromRef("#/$defs/"+name))
		}
		text, err := json.Marshal(struct {
			Dialect string                  `json:"$schema"`
			Ref     string                  `json:"$ref"`
			Defs    map[string]*huma.Schema `json:"$defs"`
		}{"https://json-schema.org/draft/2020-12/schema", root.Ref, reg.Map()})
		if err != nil {
			return document{}, fmt.Errorf("schema of %s: %w", k.Type, err)
		}
		example, err := k.ExampleEnvelope()
		if err != nil {
			return document{}, err
		}
		types = append(types, fieldmark.EventTypeInfo{Type: k.Type, Description: k.Summary, Schema: text,
			Example: example})
	}
	b, err := encode(list(types))
	if err != nil {
		return document{}, err
	}
	return document{bytes: b, etag: etagOf(b)}, nil
}
