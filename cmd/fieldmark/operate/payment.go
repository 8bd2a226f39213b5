package operate

import (
	"context"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/client"
)

// PaymentCmd manages payments of missions.
type PaymentCmd struct {
	List       paymentListCmd       `cmd:"" help:"List payments, newest first."`
	Show       paymentShowCmd       `cmd:"" help:"Print a payment and its refunds as JSON."`
	Set        paymentSetCmd        `cmd:"" help:"Set the amount of a mission's payment; possible until it is due."`
	Processing paymentProcessingCmd `cmd:"" help:"Mark a payment as being processed."`
	Paid       paymentPaidCmd       `cmd:"" help:"Mark a payment as paid."`
	Failed     paymentFailedCmd     `cmd:"" help:"Mark a payment as failed."`
	Cancel     paymentCancelCmd     `cmd:"" help:"Cancel a payment."`
	Refund     paymentRefundCmd     `cmd:"" help:"Record a refund of a payment."`
}

type paymentListCmd struct {
	adminFlags `embed:""`
	Status     string `help:"Filter by status."`
	Limit      int    `default:"20" help:"Maximum number of payments, at most 200."`
}

// Run prints a line for each payment.
func (c *paymentListCmd) Run(ctx context.Context, s *command.Streams) error {
	var status fieldmark.PaymentStatus
	if c.Status != "" {
		var err error
		if status, err = fieldmark.ParsePaymentStatus(c.Status); err != nil {
			return err
		}
	}
	return run(c, func(api *client.Client) (fieldmark.List[fieldmark.MissionPayment], error) {
		return api.Payments(ctx, status, "", c.Limit)
	}, func(page fieldmark.List[fieldmark.MissionPayment]) error {
		for _, p := range page.Data {
			if err := printPayment(s)(p); err != nil {
				return err
			}
		}
		return nil
	})
}

// printPayment returns a function that prints one line for a payment.
func printPayment(s *command.Streams) func(fieldmark.MissionPayment) error {
	return func(p fieldmark.MissionPayment) error {
		amount, due := "no amount", "not due"
		if p.Amount != nil {
			amount = p.Amount.String()
		}
		if p.DueAt != nil {
			due = "due " + p.DueAt.Std().Format(time.DateOnly)
		}
		return printf(s, "%s  %-18s %-6s %14s  %-14s %s/%s  %s\n", p.ID, p.Status, p.Direction, amount, due, p.Source,
			p.ExternalID, p.MissionID)
	}
}

// paymentFlags name one payment.
type paymentFlags struct {
	adminFlags `embed:""`
	ID         string `arg:"" help:"Payment id: pay_…"`
}

// mark changes the payment's status and prints the payment.
func (c *paymentFlags) mark(ctx context.Context, s *command.Streams, move fieldmark.PaymentMove) error {
	return run(c, func(api *client.Client) (fieldmark.MissionPayment,
		error) {
		return api.MarkPayment(ctx, c.ID, move)
	}, printPayment(s))
}

type paymentShowCmd struct {
	paymentFlags `embed:""`
}

// Run prints the payment.
func (c *paymentShowCmd) Run(ctx context.Context, s *command.Streams) error {
	return runJSON(c, s, func(api *client.Client) (fieldmark.MissionPayment, error) { return api.Payment(ctx, c.ID) })
}

type paymentSetCmd struct {
	adminFlags `embed:""`
	Mission    string `arg:"" help:"Mission id: msn_…"`
	Amount     string `arg:"" help:"Amount and currency, such as '12.50 EUR'."`
	Direction  string `default:"CHARGE" enum:"CHARGE,PAYOUT" help:"CHARGE: requester pays; PAYOUT: assignee is paid."`
	Terms      string `help:"When it is due after the work is accepted, such as 'NET 14'."`
}

// Run sets the amount and prints the payment.
func (c *paymentSetCmd) Run(ctx context.Context, s *command.Streams) error {
	amount, err := fieldmark.ParseMoney(c.Amount)
	if err != nil {
		return err
	}
	r := fieldmark.PaymentRequest{Amount: &amount, Direction: fieldmark.Direction(c.Direction), Terms: c.Terms}
	return run(c, func(api *client.Client) (fieldmark.MissionPayment,
		error) {
		return api.SetPayment(ctx, c.Mission, r)
	}, printPayment(s))
}

type paymentProcessingCmd struct {
	paymentFlags `embed:""`
}

// Run marks the payment.
func (c *paymentProcessingCmd) Run(ctx context.Context, s *command.Streams) error {
	return c.mark(ctx, s, fieldmark.PaymentMove{Status: string(fieldmark.PaymentProcessing)})
}

type paymentPaidCmd struct {
	paymentFlags `embed:""`
	At           string `help:"When it was paid (RFC 3339); now if unset."`
}

// Run marks the payment.
func (c *paymentPaidCmd) Run(ctx context.Context, s *command.Streams) error {
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
	paymentFlags `embed:""`
	Code         string `required:"" help:"Failure code."`
	Message      string `help:"Failure message."`
	WillRetry    bool   `help:"The payment will be retried."`
}

// Run marks the payment.
func (c *paymentFailedCmd) Run(ctx context.Context, s *command.Streams) error {
	return c.mark(ctx, s, fieldmark.PaymentMove{Status: string(fieldmark.PaymentFailed),
		Failure: &fieldmark.PaymentFailure{Code: c.Code, Message: c.Message, WillRetry: c.WillRetry}})
}

type paymentCancelCmd struct {
	paymentFlags `embed:""`
}

// Run cancels the payment.
func (c *paymentCancelCmd) Run(ctx context.Context, s *command.Streams) error {
	return c.mark(ctx, s, fieldmark.PaymentMove{Status: string(fieldmark.PaymentCanceled)})
}

type paymentRefundCmd struct {
	paymentFlags `embed:""`
	Amount       string `help:"Amount and currency, such as '12.50 EUR'; all that can be refunded if unset."`
	Reference    string `help:"Your own id of the refund; repeating it has no effect."`
	Reason       string `help:"Reason."`
}

// Run records the refund and prints the payment.
func (c *paymentRefundCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) (p fieldmark.MissionPayment, err error) {
		if p, err = api.Payment(ctx, c.ID); err != nil {
			return p, err
		}
		r := fieldmark.RefundRequest{Amount: p.Refundable(), Reference: c.Reference, Reason: c.Reason}
		if c.Amount != "" {
			amount, err := fieldmark.ParseMoney(c.Amount)
			if err != nil {
				return p, err
			}
			if p.Amount == nil || p.Amount.Currency != amount.Currency {
				return p, fmt.Errorf("the payment is not in %s", amount.Currency)
			}
			r.Amount = amount.Value
		}
		return api.RefundPayment(ctx, c.ID, r)
	}, printPayment(s))
}
