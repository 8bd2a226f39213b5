package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/fieldmark/fieldmark"
)

// WebhookAPI contains the calls for endpoints, deliveries and replays.
type WebhookAPI struct{ *caller }

// pingTimeout is longer than the time for which the origin waits for a receiver.
const pingTimeout = 25 * time.Second

// CreateEndpoint creates a webhook endpoint. Only this response has its secret.
func (c WebhookAPI) CreateEndpoint(ctx context.Context, r fieldmark.EndpointRequest) (fieldmark.NewEndpoint, error) {
	return post[fieldmark.NewEndpoint](ctx, c.caller, "webhooks", r)
}

// Endpoints lists every webhook endpoint.
func (c WebhookAPI) Endpoints(ctx context.Context) ([]fieldmark.Endpoint, error) {
	list, err := get[fieldmark.List[fieldmark.Endpoint]](ctx, c.caller, "webhooks", nil)
	return list.Data, err
}

// DeleteEndpoint deletes an endpoint and its pending messages.
func (c WebhookAPI) DeleteEndpoint(ctx context.Context, id string) error {
	_, err := c.do(ctx, c.admin(http.MethodDelete, "webhooks/"+url.PathEscape(id)), nil)
	return err
}

// Endpoint returns a webhook endpoint.
func (c WebhookAPI) Endpoint(ctx context.Context, id string) (fieldmark.Endpoint, error) {
	return get[fieldmark.Endpoint](ctx, c.caller, endpointPath(id, ""), nil)
}

// PatchEndpoint updates a webhook endpoint.
func (c WebhookAPI) PatchEndpoint(ctx context.Context, id string, p fieldmark.EndpointPatch) (fieldmark.Endpoint,
	error) {
	return patch[fieldmark.Endpoint](ctx, c.caller, endpointPath(id, ""), p)
}

// RotateSecret replaces the secret of an endpoint. Only this response has the new one.
func (c WebhookAPI) RotateSecret(
	ctx context.Context, id string, r fieldmark.SecretRequest,
) (fieldmark.NewEndpoint, error) {
	return post[fieldmark.NewEndpoint](ctx, c.caller, endpointPath(id, "/rotate-secret"), r)
}

// TestEndpoint sends a test message and returns its result.
func (c WebhookAPI) TestEndpoint(ctx context.Context, id string, r fieldmark.PingRequest) (fieldmark.PingResult,
	error) {
	var result fieldmark.PingResult
	call := c.admin(http.MethodPost, endpointPath(id, "/test"))
	call.body, call.timeout = r, pingTimeout
	_, err := c.do(ctx, call, &result)
	return result, err
}

// Replay resends messages.
func (c WebhookAPI) Replay(ctx context.Context, id string, r fieldmark.ReplayRequest) (fieldmark.Replay, error) {
	return post[fieldmark.Replay](ctx, c.caller, endpointPath(id, "/replays"), r)
}

// Replays lists the latest replays of an endpoint.
func (c WebhookAPI) Replays(ctx context.Context, id string) ([]fieldmark.Replay, error) {
	list, err := get[fieldmark.List[fieldmark.Replay]](ctx, c.caller, endpointPath(id, "/replays"), nil)
	return list.Data, err
}

// DeliveryFilter selects deliveries; zero fields match all.
type DeliveryFilter struct {
	Endpoint string
	State    fieldmark.DeliveryState
	Cursor   string
	Limit    int
}

// Deliveries returns a page of deliveries, newest first.
func (c WebhookAPI) Deliveries(ctx context.Context, f DeliveryFilter) (fieldmark.List[fieldmark.Delivery], error) {
	query := url.Values{}
	setParam(query, "state", string(f.State))
	setParam(query, "cursor", f.Cursor)
	if f.Limit > 0 {
		query.Set("limit", strconv.Itoa(f.Limit))
	}
	path := "deliveries"
	if f.Endpoint != "" {
		path = endpointPath(f.Endpoint, "/deliveries")
	}
	return get[fieldmark.List[fieldmark.Delivery]](ctx, c.caller, path, query)
}

// Delivery returns a delivery and all its attempts.
func (c WebhookAPI) Delivery(ctx context.Context, endpoint, id string) (fieldmark.DeliveryRecord, error) {
	return get[fieldmark.DeliveryRecord](ctx, c.caller, endpointPath(endpoint, "/deliveries/"+url.PathEscape(id)), nil)
}

// Resend resends a message.
func (c WebhookAPI) Resend(ctx context.Context, endpoint, id string) (fieldmark.DeliveryRecord, error) {
	return post[fieldmark.DeliveryRecord](ctx, c.caller, endpointPath(endpoint,
		"/deliveries/"+url.PathEscape(id)+"/resend"),
		nil)
}

func endpointPath(id, rest string) string { return "webhooks/" + url.PathEscape(id) + rest }
