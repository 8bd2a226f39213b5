package main

import (
	"context"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
)

type paymentCmd struct {
	List       paymentListCmd       `cmd:"" help:"List the newest payments."`
	Show       paymentShowCmd       `cmd:"" help:"Print a payment and its refunds as JSON."`
	Set        paymentSetCmd        `cmd:"" help:"Say what a mission costs, until it is due."`
	Processing paymentProcessingCmd `cmd:"" help:"Mark a payment as being processed."`
	Paid       paymentPaidCmd       `cmd:"" help:"Mark a payment as paid."`
	Failed     paymentFailedCmd     `cmd:"" help:"Mark a payment as failed."`
	Cancel     paymentCancelCmd     `cmd:"" help:"Call a payment off."`
	Refund     paymentRefundCmd     `cmd:"" help:"Note that money of a payment went back."`
}

type paymentListCmd struct {
	targetSettings `embed:""`
	Status         string `help:"Only this status."`
	Limit          int    `default:"20" help:"How many, at most 200."`
}

// Run prints a line per payment.
func (c *paymentListCmd) Run(ctx context.Context, s *streams) error {
	var status fieldmark.PaymentStatus
	if c.Status != "" {
		var err error
		if status, err = fieldmark.ParsePaymentStatus(c.Status); err != nil {
			return err
		}
	}
	api, err := c.connect()
	if err != nil {
		return err
	}
	page, err := api.Payments(ctx, status, "", c.Limit)
	if err != nil {
		return err
	}
	for _, p := range page.Data {
		printPayment(s, p)
	}
	return nil
}

func printPayment(s *streams, p fieldmark.MissionPayment) {
	amount, due := "no amount", "not due"
	if p.Amount != nil {
		amount = p.Amount.String()
	}
	if p.DueAt != nil {
		due = "due " + p.DueAt.Std().Format(time.DateOnly)
	}
	fmt.Fprintf(s.out, "%s  %-18s %-6s %14s  %-14s %s/%s  %s\n", p.ID, p.Status, p.Direction, amount, due, p.Source, p.ExternalID, p.MissionID)
}

// onePayment are the settings of what is done with one payment.
type onePayment struct {
	targetSettings `embed:""`
	ID             string `arg:"" help:"The payment's id: pay_…"`
}

// mark marks the payment and prints it.
func (c *onePayment) mark(ctx context.Context, s *streams, move fieldmark.PaymentMove) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	p, err := api.MarkPayment(ctx, c.ID, move)
	if err != nil {
		return err
	}
	printPayment(s, p)
	return nil
}

type paymentShowCmd struct {
	onePayment `embed:""`
}

// Run prints the payment.
func (c *paymentShowCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	p, err := api.Payment(ctx, c.ID)
	if err != nil {
		return err
	}
	return printJSON(s, p)
}

type paymentSetCmd struct {
	targetSettings `embed:""`
	Mission        string `arg:"" help:"The mission's id: msn_…"`
	Amount         string `arg:"" help:"As in '12.50 EUR'."`
	Direction      string `default:"CHARGE" enum:"CHARGE,PAYOUT" help:"CHARGE: the requester pays; PAYOUT: whoever does the work is paid."`
	Terms          string `help:"When it is due after the work is accepted, as in 'NET 14'."`
}

// Run sets the amount and prints the payment.
func (c *paymentSetCmd) Run(ctx context.Context, s *streams) error {
	amount, err := fieldmark.ParseMoney(c.Amount)
	if err != nil {
		return err
	}
	api, err := c.connect()
	if err != nil {
		return err
	}
	p, err := api.SetPayment(ctx, c.Mission, fieldmark.PaymentRequest{Amount: &amount, Direction: fieldmark.Direction(c.Direction), Terms: c.Terms})
	if err != nil {
		return err
	}
	printPayment(s, p)
	return nil
}

type paymentProcessingCmd struct {
	onePayment `embed:""`
}

// Run marks the payment.
func (c *paymentProcessingCmd) Run(ctx context.Context, s *streams) error {
	return c.mark(ctx, s, fieldmark.PaymentMove{Status: string(fieldmark.PaymentProcessing)})
}

type paymentPaidCmd struct {
	onePayment `embed:""`
	At         string `help:"When it was paid (RFC 3339); now if unset."`
}

// Run marks the payment.
func (c *paymentPaidCmd) Run(ctx context.Context, s *streams) error {
	move := fieldmark.PaymentMove{Status: string(fieldmark.PaymentPaid)}
	if c.At != "" {
		move.PaidAt = new(fieldmark.Time)
		if err := move.PaidAt.UnmarshalText([]byte(c.At)); err != nil {
			return err
		}
	}
	return c.mark(ctx, s, move)
}

type paymentFailedCmd struct {
	onePayment `embed:""`
	Code       string `required:"" help:"Why, in a word."`
	Message    string `help:"Why, in a sentence."`
	WillRetry  bool   `help:"It will be tried again."`
}

// Run marks the payment.
func (c *paymentFailedCmd) Run(ctx context.Context, s *streams) error {
	return c.mark(ctx, s, fieldmark.PaymentMove{Status: string(fieldmark.PaymentFailed),
		Failure: &fieldmark.PaymentFailure{Code: c.Code, Message: c.Message, WillRetry: c.WillRetry}})
}

type paymentCancelCmd struct {
	onePayment `embed:""`
}

// Run calls the payment off.
func (c *paymentCancelCmd) Run(ctx context.Context, s *streams) error {
	return c.mark(ctx, s, fieldmark.PaymentMove{Status: string(fieldmark.PaymentCanceled)})
}

type paymentRefundCmd struct {
	onePayment `embed:""`
	Amount     string `help:"As in '12.50 EUR'; all that is left if unset."`
	Reference  string `help:"Your own id of the refund: the same again changes nothing."`
	Reason     string `help:"Why."`
}

// Run notes the refund and prints the payment.
func (c *paymentRefundCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	r := fieldmark.RefundRequest{Reference: c.Reference, Reason: c.Reason}
	p, err := api.Payment(ctx, c.ID)
	if err != nil {
		return err
	}
	r.Amount = p.Refundable()
	if c.Amount != "" {
		amount, err := fieldmark.ParseMoney(c.Amount)
		if err != nil {
			return err
		}
		if p.Amount == nil || p.Amount.Currency != amount.Currency {
			return fmt.Errorf("the payment is not in %s", amount.Currency)
		}
		r.Amount = amount.Value
	}
	p, err = api.RefundPayment(ctx, c.ID, r)
	if err != nil {
		return err
	}
	printPayment(s, p)
	return nil
}
