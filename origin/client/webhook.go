package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/fieldmark/fieldmark"
)

// pingTimeout is longer than the origin waits for a receiver.
const pingTimeout = 25 * time.Second

// CreateEndpoint registers an address for webhooks; its secret is told this once.
func (c *Client) CreateEndpoint(ctx context.Context, r fieldmark.EndpointRequest) (fieldmark.NewEndpoint, error) {
	return post[fieldmark.NewEndpoint](ctx, c, "webhooks", r)
}

// Endpoints lists every webhook endpoint.
func (c *Client) Endpoints(ctx context.Context) ([]fieldmark.Endpoint, error) {
	list, err := get[fieldmark.List[fieldmark.Endpoint]](ctx, c, "webhooks", nil)
	return list.Data, err
}

// DeleteEndpoint removes an endpoint and what was still to be sent to it.
func (c *Client) DeleteEndpoint(ctx context.Context, id string) error {
	_, err := c.do(ctx, c.admin(http.MethodDelete, "webhooks/"+url.PathEscape(id)), nil)
	return err
}

// Endpoint reads a webhook endpoint.
func (c *Client) Endpoint(ctx context.Context, id string) (fieldmark.Endpoint, error) {
	return get[fieldmark.Endpoint](ctx, c, hook(id, ""), nil)
}

// PatchEndpoint changes a webhook endpoint.
func (c *Client) PatchEndpoint(ctx context.Context, id string, p fieldmark.EndpointPatch) (fieldmark.Endpoint, error) {
	var e fieldmark.Endpoint
	r := c.admin(http.MethodPatch, hook(id, ""))
	r.body = p
	_, err := c.do(ctx, r, &e)
	return e, err
}

// RotateSecret gives an endpoint a new secret, which is told this once.
func (c *Client) RotateSecret(ctx context.Context, id string, r fieldmark.SecretRequest) (fieldmark.NewEndpoint, error) {
	return post[fieldmark.NewEndpoint](ctx, c, hook(id, "/rotate-secret"), r)
}

// TestEndpoint sends a test message and returns what became of it.
func (c *Client) TestEndpoint(ctx context.Context, id string, r fieldmark.PingRequest) (fieldmark.PingResult, error) {
	var result fieldmark.PingResult
	asked := c.admin(http.MethodPost, hook(id, "/test"))
	asked.body, asked.within = r, pingTimeout
	_, err := c.do(ctx, asked, &result)
	return result, err
}

// Replay has messages sent again.
func (c *Client) Replay(ctx context.Context, id string, r fieldmark.ReplayRequest) (fieldmark.Replay, error) {
	return post[fieldmark.Replay](ctx, c, hook(id, "/replays"), r)
}

// Replays lists the newest replays of an endpoint.
func (c *Client) Replays(ctx context.Context, id string) ([]fieldmark.Replay, error) {
	list, err := get[fieldmark.List[fieldmark.Replay]](ctx, c, hook(id, "/replays"), nil)
	return list.Data, err
}

// DeliveryFilter narrows a list of deliveries; zero fields do not narrow.
type DeliveryFilter struct {
	Endpoint string
	State    fieldmark.DeliveryState
	Cursor   string
	Limit    int
}

// Deliveries returns a page of deliveries, the newest first.
func (c *Client) Deliveries(ctx context.Context, f DeliveryFilter) (fieldmark.List[fieldmark.Delivery], error) {
	query := url.Values{}
	setText(query, "state", string(f.State))
	setText(query, "cursor", f.Cursor)
	if f.Limit > 0 {
		query.Set("limit", strconv.Itoa(f.Limit))
	}
	path := "deliveries"
	if f.Endpoint != "" {
		path = hook(f.Endpoint, "/deliveries")
	}
	return get[fieldmark.List[fieldmark.Delivery]](ctx, c, path, query)
}

// Delivery reads a delivery and every attempt.
func (c *Client) Delivery(ctx context.Context, endpoint, id string) (fieldmark.DeliveryRecord, error) {
	return get[fieldmark.DeliveryRecord](ctx, c, hook(endpoint, "/deliveries/"+url.PathEscape(id)), nil)
}

// Resend has a message sent again.
func (c *Client) Resend(ctx context.Context, endpoint, id string) (fieldmark.DeliveryRecord, error) {
	return post[fieldmark.DeliveryRecord](ctx, c, hook(endpoint, "/deliveries/"+url.PathEscape(id)+"/resend"), nil)
}

func hook(id, rest string) string { return "webhooks/" + url.PathEscape(id) + rest }
