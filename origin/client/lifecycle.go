package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/fieldmark/fieldmark"
)

// SLAPolicies lists the policies in force, the most urgent priority first.
func (c *Client) SLAPolicies(ctx context.Context) ([]fieldmark.SLAPolicy, error) {
	list, err := get[fieldmark.List[fieldmark.SLAPolicy]](ctx, c, "sla/policies", nil)
	return list.Data, err
}

// PatchSLAPolicy changes what patch names of the policy of a priority.
func (c *Client) PatchSLAPolicy(ctx context.Context, priority fieldmark.Priority, patch fieldmark.SLAPolicyPatch) (fieldmark.SLAPolicy, error) {
	var p fieldmark.SLAPolicy
	r := c.admin(http.MethodPatch, "sla/policies/"+url.PathEscape(string(priority)))
	r.body = patch
	_, err := c.do(ctx, r, &p)
	return p, err
}

// ResetSLAPolicy puts the program's own policy of a priority back in force.
func (c *Client) ResetSLAPolicy(ctx context.Context, p fieldmark.Priority) error {
	_, err := c.do(ctx, c.admin(http.MethodDelete, "sla/policies/"+url.PathEscape(string(p))), nil)
	return err
}

// SLACalendars lists the business calendars in force by name.
func (c *Client) SLACalendars(ctx context.Context) ([]fieldmark.SLACalendar, error) {
	list, err := get[fieldmark.List[fieldmark.SLACalendar]](ctx, c, "sla/calendars", nil)
	return list.Data, err
}

// PutSLACalendar sets a business calendar.
func (c *Client) PutSLACalendar(ctx context.Context, cal fieldmark.SLACalendar) (fieldmark.SLACalendar, error) {
	body := struct {
		TimeZone        string               `json:"timeZone"`
		FollowsLocation bool                 `json:"followsLocation"`
		Hours           []fieldmark.SLAHours `json:"hours"`
		Holidays        []fieldmark.Holiday  `json:"holidays,omitempty"`
	}{cal.TimeZone, cal.FollowsLocation, cal.Hours, cal.Holidays}
	return put[fieldmark.SLACalendar](ctx, c, "sla/calendars/"+url.PathEscape(cal.Name), body)
}

// DeleteSLACalendar takes a business calendar away; one of the program's own is
// as it was.
func (c *Client) DeleteSLACalendar(ctx context.Context, name string) error {
	_, err := c.do(ctx, c.admin(http.MethodDelete, "sla/calendars/"+url.PathEscape(name)), nil)
	return err
}

// Payments returns a page of payments of all accounts, newest first; status ""
// means any, limit 0 the origin's own.
func (c *Client) Payments(ctx context.Context, status fieldmark.PaymentStatus, cursor string, limit int) (fieldmark.List[fieldmark.MissionPayment], error) {
	query := url.Values{}
	setText(query, "status", string(status))
	setText(query, "cursor", cursor)
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	return get[fieldmark.List[fieldmark.MissionPayment]](ctx, c, "payments", query)
}

// Payment reads a payment and its refunds.
func (c *Client) Payment(ctx context.Context, id string) (fieldmark.MissionPayment, error) {
	return get[fieldmark.MissionPayment](ctx, c, "payments/"+url.PathEscape(id), nil)
}

// MarkPayment marks a payment as being processed, paid, failed or called off.
func (c *Client) MarkPayment(ctx context.Context, id string, move fieldmark.PaymentMove) (fieldmark.MissionPayment, error) {
	return post[fieldmark.MissionPayment](ctx, c, "payments/"+url.PathEscape(id)+"/transitions", move)
}

// RefundPayment notes that money of a payment went back.
func (c *Client) RefundPayment(ctx context.Context, id string, r fieldmark.RefundRequest) (fieldmark.MissionPayment, error) {
	return post[fieldmark.MissionPayment](ctx, c, "payments/"+url.PathEscape(id)+"/refunds", r)
}

// SetPayment says what a mission costs, until it is due.
func (c *Client) SetPayment(ctx context.Context, mission string, r fieldmark.PaymentRequest) (fieldmark.MissionPayment, error) {
	return put[fieldmark.MissionPayment](ctx, c, "missions/"+url.PathEscape(mission)+"/payment", r)
}

func put[T any](ctx context.Context, c *Client, path string, body any) (T, error) {
	var out T
	r := c.admin(http.MethodPut, path)
	r.body = body
	_, err := c.do(ctx, r, &out)
	return out, err
}
