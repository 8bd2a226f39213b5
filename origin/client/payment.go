package client

import (
	"context"
	"net/url"
	"strconv"

	"github.com/fieldmark/fieldmark"
)

// Payments returns a page of payments of all accounts, newest first. Status "" means any, limit 0 the origin's
// default.
func (c *Client) Payments(
	ctx context.Context, status fieldmark.PaymentStatus, cursor string, limit int,
) (fieldmark.List[fieldmark.MissionPayment], error) {
	query := url.Values{}
	setParam(query, "status", string(status))
	setParam(query, "cursor", cursor)
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	return get[fieldmark.List[fieldmark.MissionPayment]](ctx, c, "payments", query)
}

// Payment returns a payment and its refunds.
func (c *Client) Payment(ctx context.Context, id string) (fieldmark.MissionPayment, error) {
	return get[fieldmark.MissionPayment](ctx, c, "payments/"+url.PathEscape(id), nil)
}

// MarkPayment sets the status of a payment to processing, paid, failed or canceled.
func (c *Client) MarkPayment(
	ctx context.Context, id string, move fieldmark.PaymentMove,
) (fieldmark.MissionPayment, error) {
	return post[fieldmark.MissionPayment](ctx, c, "payments/"+url.PathEscape(id)+"/transitions", move)
}

// RefundPayment records a refund.
func (c *Client) RefundPayment(
	ctx context.Context, id string, r fieldmark.RefundRequest,
) (fieldmark.MissionPayment, error) {
	return post[fieldmark.MissionPayment](ctx, c, "payments/"+url.PathEscape(id)+"/refunds", r)
}

// SetPayment sets the amount of a mission, until its payment is due.
func (c *Client) SetPayment(
	ctx context.Context, mission string, r fieldmark.PaymentRequest,
) (fieldmark.MissionPayment, error) {
	return put[fieldmark.MissionPayment](ctx, c, "missions/"+url.PathEscape(mission)+"/payment", r)
}
