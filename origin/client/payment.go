package client

import (
	"context"
	"net/url"
	"strconv"

	"github.com/fieldmark/fieldmark"
)

// PaymentAPI contains the calls for payments of missions.
type PaymentAPI struct{ *caller }

// Payments returns a page of payments of all accounts, newest first. Status "" means any, limit 0 the origin's
// default.
func (c PaymentAPI) Payments(
	ctx context.Context, status fieldmark.PaymentStatus, cursor string, limit int,
) (fieldmark.List[fieldmark.MissionPayment], error) {
	query := url.Values{}
	setParam(query, "status", string(status))
	setParam(query, "cursor", cursor)
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	return get[fieldmark.List[fieldmark.MissionPayment]](ctx, c.caller, "payments", query)
}

// Payment returns a payment and its refunds.
func (c PaymentAPI) Payment(ctx context.Context, id string) (fieldmark.MissionPayment, error) {
	return get[fieldmark.MissionPayment](ctx, c.caller, "payments/"+url.PathEscape(id), nil)
}

// MarkPayment sets the status of a payment to processing, paid, failed or canceled.
func (c PaymentAPI) MarkPayment(
	ctx context.Context, id string, move fieldmark.PaymentMove,
) (fieldmark.MissionPayment, error) {
	return post[fieldmark.MissionPayment](ctx, c.caller, "payments/"+url.PathEscape(id)+"/transitions", move)
}

// RefundPayment records a refund.
func (c PaymentAPI) RefundPayment(
	ctx context.Context, id string, r fieldmark.RefundRequest,
) (fieldmark.MissionPayment, error) {
	return post[fieldmark.MissionPayment](ctx, c.caller, "payments/"+url.PathEscape(id)+"/refunds", r)
}

// SetPayment sets the amount of a mission, until its payment is due.
func (c PaymentAPI) SetPayment(
	ctx context.Context, mission string, r fieldmark.PaymentRequest,
) (fieldmark.MissionPayment, error) {
	return put[fieldmark.MissionPayment](ctx, c.caller, "missions/"+url.PathEscape(mission)+"/payment", r)
}
