package operate

import (
	"cmp"
	"context"
	"strconv"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/client"
)

// AccountCmd manages accounts.
type AccountCmd struct {
	List accountListCmd `cmd:"" help:"List accounts."`
	Put  accountPutCmd  `cmd:"" help:"Create an account, or change its name and note."`
}

type accountListCmd struct {
	adminFlags `embed:""`
}

// Run prints a line for each account.
func (c *accountListCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) ([]fieldmark.Account, error) { return api.Accounts(ctx) },
		func(accounts []fieldmark.Account) error {
			for _, a := range accounts {
				if err := printf(s, "%-24s %-16s %s\n", a.ID, cmp.Or(a.Offer, "-"), a.Name); err != nil {
					return err
				}
			}
			return nil
		})
}

type accountPutCmd struct {
	adminFlags `embed:""`
	ID         string `arg:"" help:"Account id: a-z, 0-9, - and _."`
	Name       string `required:"" help:"Display name."`
	Note       string `help:"Note for administrators."`

	FilterLabel []string `placeholder:"KEY" help:"Label key to filter missions by, at most 5; unchanged if unset."`
	TimeZone    *string  `placeholder:"NAME" help:"Time zone of pages of technicians, such as Europe/Berlin."`
	DeviceTime  *bool    `help:"SLA timers take the times that devices report."`
	Offer       *string  `placeholder:"ID" help:"Offer whose limits it has; empty for none, unchanged if unset."`
}

// Run creates or changes the account.
func (c *accountPutCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) (fieldmark.Account, error) {
		return api.PutAccount(ctx, c.ID, fieldmark.AccountRequest{Name: c.Name, Note: c.Note,
			FilterLabels: c.FilterLabel, TimeZone: c.TimeZone, DeviceTime: c.DeviceTime, Offer: c.Offer})
	}, func(a fieldmark.Account) error { return printf(s, "%s is %s\n", a.ID, a.Name) })
}

// OfferCmd manages offers.
type OfferCmd struct {
	List   offerListCmd   `cmd:"" help:"List offers and their limits; - is the default of the service."`
	Set    offerSetCmd    `cmd:"" help:"Create or replace an offer; its limits apply to its accounts at once."`
	Remove offerRemoveCmd `cmd:"" help:"Remove an offer that no account has."`
}

type offerListCmd struct {
	adminFlags `embed:""`
}

// Run prints a line for each offer.
func (c *offerListCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) ([]fieldmark.Offer, error) { return api.Offers(ctx) },
		func(offers []fieldmark.Offer) error {
			for _, o := range offers {
				if err := printOffer(s, o); err != nil {
					return err
				}
			}
			return nil
		})
}

func printOffer(s *command.Streams, o fieldmark.Offer) error {
	limit := func(n int) string {
		if n == 0 {
			return "-"
		}
		return strconv.Itoa(n)
	}
	l := o.Limits
	return printf(s, "%-16s %-10s reads %s, writes %s, endpoints %s, missions %s, history %s, accounts %d: %s\n", o.ID,
		o.Kind, limit(l.ReadsPerMinute), limit(l.WritesPerMinute), limit(l.Endpoints), limit(l.MissionsPerDay),
		limit(l.HistoryDays), o.Accounts, o.Name)
}

type offerSetCmd struct {
	adminFlags  `embed:""`
	ID          string   `arg:"" help:"Offer id: a-z, 0-9, - and _."`
	Name        string   `required:"" help:"Display name."`
	Kind        string   `default:"standard" enum:"standard,group,enterprise" help:"${enum}; a group has sub-accounts."`
	Reads       int      `placeholder:"N" help:"Reads per minute of an account; no limit of the account if unset."`
	Writes      int      `placeholder:"N" help:"Writes per minute of an account; no limit of the account if unset."`
	Endpoints   int      `placeholder:"N" help:"Webhook endpoints; the limit of the service if unset."`
	Missions    int      `placeholder:"N" help:"Missions a day in UTC; no limit if unset."`
	HistoryDays int      `placeholder:"DAYS" help:"Days that deliveries are kept and events can be read; all if unset."`
	MaxKeyDays  int      `placeholder:"DAYS" help:"Longest lifetime of keys; any if unset."`
	Scope       []string `placeholder:"SCOPE" help:"Scope that keys may have; any but admin:* if unset."`
	Note        string   `help:"Note for administrators."`
}

// Run creates or replaces the offer.
func (c *offerSetCmd) Run(ctx context.Context, s *command.Streams) error {
	r := fieldmark.OfferRequest{Name: c.Name, Kind: fieldmark.OfferKind(c.Kind), MaxKeyDays: c.MaxKeyDays, Note: c.Note,
		Limits: fieldmark.OfferLimits{ReadsPerMinute: c.Reads, WritesPerMinute: c.Writes, Endpoints: c.Endpoints,
			MissionsPerDay: c.Missions, HistoryDays: c.HistoryDays}}
	for _, name := range c.Scope {
		scope, err := fieldmark.ParseScope(name)
		if err != nil {
			return err
		}
		r.Scopes = append(r.Scopes, scope)
	}
	return run(c, func(api *client.Client) (fieldmark.Offer, error) { return api.PutOffer(ctx, c.ID, r) },
		func(o fieldmark.Offer) error { return printOffer(s, o) })
}

type offerRemoveCmd struct {
	adminFlags `embed:""`
	ID         string `arg:"" help:"Offer id."`
}

// Run removes the offer.
func (c *offerRemoveCmd) Run(ctx context.Context, _ *command.Streams) error {
	return do(c, func(api *client.Client) error { return api.DeleteOffer(ctx, c.ID) })
}
