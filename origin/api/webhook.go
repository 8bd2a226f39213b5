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
	"github.com/fieldmark/fieldmark/origin/portal"
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
		{name: "limit", description: "Deliveries per page; newest first", lowest: 1, highest: maxDeliveryLimit,
			preset: defaultDeliveryLimit},
		{name: "cursor", description: "nextCursor of the previous page"},
		{name: "state", description: "Only deliveries in this state; held is part of due", enum: deliveryStates()},
	}
	endpointParams = []param{{name: "customer", description: "Only endpoints of this customer"}}
	pollParams     = []param{
		{name: "after", description: "The number of the last event you have; 0 starts at the oldest stored event",
			highest: 1 << 53},
		{name: "limit", description: "Events per page", lowest: 1, highest: maxPollLimit, preset: defaultPollLimit},
		{name: "type", description: "Only events of this type, or with .* at the end of this group", many: true},
		{name: "endpoint", description: "Only events that this endpoint selects by its types and its filter"},
		{name: "payload", description: "thin reduces data to ids", enum: []string{"FULL", "THIN"}},
	}
)

// deliveryStates are the states of the filter, in upper case as all enums of the API.
func deliveryStates() []string {
	var all []string
	for _, s := range fieldmark.DeliveryStates() {
		all = append(all, strings.ToUpper(string(s)))
	}
	return append(all, strings.ToUpper(string(fieldmark.DeliveryHeld)))
}

// webhookAPI serves webhook endpoints, their deliveries, and the events of an account.
// Endpoints of an account are listed whole: their number is limited.
type webhookAPI struct {
	webhooks   *webhook.Service
	eventTypes lazyDocument
	portal     *portal.Links
}

// endpointRef names a webhook endpoint of an account, or of any account if that is empty.
// Administrators act on endpoints of any account by the same handlers.
type endpointRef struct{ account, id string }

// endpointParam reads the endpoint in the path, within the account of the caller.
func endpointParam(c *call) (endpointRef, error) {
	id, err := idParam(fieldmark.PrefixWebhook)(c)
	return endpointRef{c.account(), id}, err
}

// get returns an endpoint without its secret.
func (a *webhookAPI) get(ctx context.Context, e endpointRef) (fieldmark.Endpoint, error) {
	return a.webhooks.Endpoint(ctx, e.account, e.id)
}

// patch changes the members that the request has.
func (a *webhookAPI) patch(ctx context.Context, e endpointRef, p fieldmark.EndpointPatch) (
	fieldmark.Endpoint, error,
) {
	return a.webhooks.PatchEndpoint(ctx, e.account, e.id, p)
}

// delete removes an endpoint; its pending messages are discarded.
func (a *webhookAPI) delete(ctx context.Context, e endpointRef) error {
	return a.webhooks.DeleteEndpoint(ctx, e.account, e.id)
}

// rotateSecret returns the new secret, once. The old one also signs for a while.
func (a *webhookAPI) rotateSecret(ctx context.Context, e endpointRef, r fieldmark.SecretRequest) (
	fieldmark.NewEndpoint, error,
) {
	return a.webhooks.RotateSecret(ctx, e.account, e.id, r)
}

// test sends a message now and waits for its result.
func (a *webhookAPI) test(ctx context.Context, e endpointRef, r fieldmark.PingRequest) (
	fieldmark.PingResult, error,
) {
	return a.webhooks.Ping(ctx, e.account, e.id, r)
}

// startReplay sends stored events again, in the background.
func (a *webhookAPI) startReplay(ctx context.Context, e endpointRef, r fieldmark.ReplayRequest) (
	fieldmark.Replay, error,
) {
	return a.webhooks.StartReplay(ctx, e.account, e.id, r)
}

// listReplays lists the replays of an endpoint.
func (a *webhookAPI) listReplays(ctx context.Context, e endpointRef) ([]fieldmark.Replay, error) {
	return a.webhooks.Replays(ctx, e.account, e.id)
}

// publicKeys returns an endpoint's public keys to anyone who has its id.
// The keys verify signatures and are public by nature; the cache time is below that of a
// rotation.
func (a *webhookAPI) publicKeys(c *call) (keys fieldmark.KeySet, err error) {
	id, err := idParam(fieldmark.PrefixWebhook)(c)
	if err != nil {
		return keys, err
	}
	keys, err = a.webhooks.PublicKeys(c.r.Context(), id)
	if err == nil {
		c.w.Header().Set("Cache-Control", "public, max-age=300")
	}
	return keys, err
}

// listDeliveries lists the deliveries to one endpoint, or to all where the path names none.
// One query serves both: administrators see deliveries to all endpoints.
func (a *webhookAPI) listDeliveries(c *call) (page fieldmark.List[fieldmark.Delivery], err error) {
	var endpoint string
	if c.r.PathValue("id") != "" {
		if endpoint, err = a.visibleEndpoint(c); err != nil {
			return page, err
		}
	}
	return a.webhooks.Deliveries(c.r.Context(), webhook.DeliveryPage{
		Endpoint: endpoint, Worlds: c.params.text("world") != "",
		State:  fieldmark.DeliveryState(strings.ToLower(c.params.text("state"))),
		Cursor: c.params.text("cursor"), Limit: c.params.number("limit"),
	})
}

// list lists the endpoints of the caller's account, or of any account for administrators.
// The filter by customer is applied here, because the list is short.
func (a *webhookAPI) list(c *call) (fieldmark.List[fieldmark.Endpoint], error) {
	endpoints, err := a.webhooks.Stats.Endpoints(c.r.Context(), c.account(), c.params.text("world") != "")
	if customer := c.params.text("customer"); customer != "" {
		endpoints = slices.DeleteFunc(endpoints, func(e fieldmark.Endpoint) bool { return e.Customer != customer })
	}
	return list(endpoints), err
}

// portalLink creates a link to the webhook pages of the caller's account or of one of its customers.
func (a *webhookAPI) portalLink(c *call) (l fieldmark.PortalLink, err error) {
	r, err := decodeBody[fieldmark.PortalLinkRequest](c)
	if err != nil {
		return l, err
	}
	l, err = a.portal.Create(c.r.Context(), &c.key.Key, r)
	l.URL = c.w.base + l.URL
	return l, err
}

// visibleEndpoint returns the id in the path if the caller may see that endpoint.
// It keeps the deliveries of other accounts out of reach: the service identifies them by id
// only.
func (a *webhookAPI) visibleEndpoint(c *call) (string, error) {
	e, err := endpointParam(c)
	if err == nil {
		_, err = a.get(c.r.Context(), e)
	}
	return e.id, err
}

// deliveryRef names a delivery to an endpoint.
type deliveryRef struct{ endpoint, id string }

// deliveryParam reads the endpoint and the delivery in the path.
func (a *webhookAPI) deliveryParam(c *call) (d deliveryRef, err error) {
	if d.endpoint, err = a.visibleEndpoint(c); err != nil {
		return d, err
	}
	if d.id = c.r.PathValue("delivery"); !fieldmark.CheckID(fieldmark.PrefixDelivery, d.id) {
		return d, fieldmark.Errorf(fieldmark.CodeNotFound, "no such delivery")
	}
	return d, nil
}

// getDelivery returns a delivery with its attempts.
func (a *webhookAPI) getDelivery(ctx context.Context, d deliveryRef) (fieldmark.DeliveryRecord, error) {
	return a.webhooks.Delivery(ctx, d.endpoint, d.id)
}

// resendDelivery queues a message again, under the same id.
func (a *webhookAPI) resendDelivery(ctx context.Context, d deliveryRef) (fieldmark.DeliveryRecord, error) {
	return a.webhooks.Resend(ctx, d.endpoint, d.id)
}

// pollEvents lists an account's events for receivers that webhooks cannot reach.
// They get the same events as endpoints, so a client can change between the two.
func (a *webhookAPI) pollEvents(c *call) (page fieldmark.PolledEvents, err error) {
	patterns := c.params.values["type"]
	invalid := func(p string) bool { return !event.ValidPattern(p) }
	if slices.ContainsFunc(patterns, invalid) {
		return page, paramError("type", "enum", "must be an event type, or a group and .*")
	}
	return a.webhooks.PollEvents(c.r.Context(), c.key.Account, webhook.Poll{
		After: int64(c.params.number("after")), Types: patterns, Endpoint: c.params.text("endpoint"),
		Thin: strings.EqualFold(c.params.text("payload"), "thin"), Limit: c.params.number("limit"),
	})
}

// listEventTypes describes every event type.
// It is the same for every caller and changes with the version only.
func (a *webhookAPI) listEventTypes(c *call) error {
	c.w.Header().Set("Cache-Control", "public, max-age=300")
	return c.sendDocument(a.eventTypes)
}

// describeEvents encodes the list of event types: each with the JSON Schema of its data, which is generated
// from the Go type of the example, and an example message.
// The schemas are those of the events themselves, so a receiver can validate messages with
// them.
func describeEvents() (document, error) {
	var types []fieldmark.EventTypeInfo
	for _, k := range event.Kinds() {
		reg := huma.NewMapRegistry("#/$defs/", huma.DefaultSchemaNamer)
		reg.RegisterTypeAlias(reflect.TypeFor[fieldmark.Time](), reflect.TypeFor[time.Time]())
		reg.RegisterTypeAlias(reflect.TypeFor[fieldmark.Milli](), reflect.TypeFor[float64]())
		root := reg.Schema(reflect.TypeOf(k.Example), true, "")
		// Receivers must ignore members that a later version adds.
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

// describeWebhooks adds the messages that endpoints receive to the OpenAPI document, each with
// the schemas of its two bodies and an example. The list of event types is the only source.
// Generators of clients read webhooks from here (OpenAPI 3.1, 4.8.1).
func describeWebhooks(api *huma.OpenAPI, reg huma.Registry) error {
	api.Webhooks = map[string]*huma.PathItem{}
	headers, responses := webhookHeaders(), webhookResponses()
	var all []*huma.Schema
	for _, k := range event.Kinds() {
		envelope, err := k.ExampleEnvelope()
		if err != nil {
			return err
		}
		data := reg.Schema(reflect.TypeOf(k.Example), true, "")
		if s := reg.SchemaFromRef(data.Ref); s != nil && s.Examples == nil {
			s.Examples = []any{k.Example} // the best example of the object wherever it occurs
		}
		// Several types share data, such as the mission.
		if !slices.ContainsFunc(all, func(s *huma.Schema) bool { return s.Ref == data.Ref }) {
			all = append(all, data)
		}
		api.Webhooks[string(k.Type)] = &huma.PathItem{Post: &huma.Operation{
			OperationID: string(k.Type), Summary: k.Summary, Tags: []string{"webhooks"}, Parameters: headers,
			Security: []map[string][]string{{}}, // a receiver verifies the signature
			RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
				jsonType:                {Schema: envelopeSchema(k.Type, data), Example: envelope},
				webhook.CloudEventsType: {Schema: cloudEventSchema(k.Type, data)},
			}},
			Responses: responses,
		}}
	}
	// Clients that poll get the same data, or only its id with payload=thin.
	all = append(all, &huma.Schema{Type: huma.TypeObject, Required: []string{"id"},
		Properties: map[string]*huma.Schema{"id": {Type: huma.TypeString}}})
	reg.Map()[polledSchema].Properties["data"] = &huma.Schema{AnyOf: all}
	return nil
}

// polledSchema is the name of the schema of an event that clients poll.
const polledSchema = "PolledEvent"

// webhookHeaders are the header fields of every message.
// They are those of Standard Webhooks 1.0.
func webhookHeaders() (all []*huma.Param) {
	for _, h := range [][2]string{
		{webhook.HeaderID, "The id of the event, the same in every delivery of it: use it to drop repetitions."},
		{webhook.HeaderTimestamp, "When the message was sent, in seconds since 1970."},
		{webhook.HeaderSignature, "Signatures of id, timestamp and body, with spaces between them."},
	} {
		all = append(all, &huma.Param{Name: h[0], In: "header", Description: h[1], Required: true,
			Schema: &huma.Schema{Type: huma.TypeString}})
	}
	return all
}

// webhookResponses are the responses of a receiver.
// They state for authors of receivers what each status causes.
func webhookResponses() map[string]*huma.Response {
	const later = "The receiver is busy: the message is sent again, not before the time in Retry-After."
	return map[string]*huma.Response{
		"2XX":     {Description: "The message was received. Any body is ignored."},
		"410":     {Description: "The receiver is gone: the endpoint is disabled."},
		"429":     {Description: later},
		"503":     {Description: later},
		"default": {Description: "The message was not received. It is sent again on the retry schedule."},
	}
}

// envelopeSchema is the schema of a message as Standard Webhooks 1.0 recommends it.
func envelopeSchema(t fieldmark.EventType, data *huma.Schema) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, Required: []string{"id", "type", "timestamp", "data"},
		Properties: map[string]*huma.Schema{
			"id":        {Type: huma.TypeString},
			"type":      {Type: huma.TypeString, Const: string(t)},
			"timestamp": {Type: huma.TypeString, Format: "date-time", Description: "When it happened"},
			"data":      data,
		}}
}

// cloudEventSchema is the schema of a message as a CloudEvent 1.0 in structured mode.
// The type is chosen for each endpoint.
func cloudEventSchema(t fieldmark.EventType, data *huma.Schema) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject,
		Required: []string{"specversion", "id", "source", "type", "time", "datacontenttype", "data"},
		Properties: map[string]*huma.Schema{
			"specversion":     {Type: huma.TypeString, Const: "1.0"},
			"id":              {Type: huma.TypeString},
			"source":          {Type: huma.TypeString, Format: "uri", Description: "The account"},
			"type":            {Type: huma.TypeString, Const: string(t)},
			"subject":         {Type: huma.TypeString, Description: "The id of the object of the event"},
			"time":            {Type: huma.TypeString, Format: "date-time", Description: "When it happened"},
			"datacontenttype": {Type: huma.TypeString, Const: jsonType},
			"data":            data,
		}}
}
