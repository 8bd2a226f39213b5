package api

import (
	"net/http"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
)

// paymentPage are the parameters of the list of payments.
var paymentPage = []param{
	{name: "status", does: "Only this status", enum: paymentStatuses()},
	{name: "limit", does: "Payments on a page", lowest: 1, highest: origin.MaxPaymentLimit, preset: origin.DefaultPaymentLimit},
	{name: "cursor", does: "nextCursor of the page before"},
}

func paymentStatuses() []string {
	var names []string
	for _, s := range fieldmark.PaymentStatuses() {
		names = append(names, string(s))
	}
	return names
}

// listPayments lists the payments of all accounts.
func (s *server) listPayments(c *call) error {
	var status fieldmark.PaymentStatus
	if text := c.asked.text("status"); text != "" {
		var err error
		if status, err = fieldmark.ParsePaymentStatus(text); err != nil {
			return err
		}
	}
	page, err := s.origin.Payments(c.r.Context(), status, c.asked.text("cursor"), c.asked.number("limit"))
	if err != nil {
		return err
	}
	c.linkNext(page.NextCursor)
	return c.send(http.StatusOK, page)
}

// getPayment reads a payment with its refunds.
func (s *server) getPayment(c *call) error {
	return c.sendPayment(s.origin.Payment(c.r.Context(), c.r.PathValue("id")))
}

func (c *call) sendPayment(p fieldmark.MissionPayment, err error) error {
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, p)
}

// markPayment marks a payment as being processed, paid, failed or called off.
func (s *server) markPayment(c *call) error {
	var move fieldmark.PaymentMove
	if err := c.decode(&move, nil); err != nil {
		return err
	}
	return c.sendPayment(s.origin.MarkPayment(c.r.Context(), c.r.PathValue("id"), move))
}

// refundPayment notes a refund.
func (s *server) refundPayment(c *call) error {
	var r fieldmark.RefundRequest
	if err := c.decode(&r, nil); err != nil {
		return err
	}
	return c.sendPayment(s.origin.RefundPayment(c.r.Context(), c.r.PathValue("id"), r))
}

// setPayment says what a mission costs.
func (s *server) setPayment(c *call) error {
	id, err := c.id(fieldmark.PrefixMission)
	if err != nil {
		return err
	}
	var r fieldmark.PaymentRequest
	if err := c.decode(&r, func() []fieldmark.FieldError { return r.Check("") }); err != nil {
		return err
	}
	return c.sendPayment(s.origin.SetPayment(c.r.Context(), id, r))
}
