package operate

import (
	"context"

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
				if err := printf(s, "%-24s %s\n", a.ID, a.Name); err != nil {
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
}

// Run creates or changes the account.
func (c *accountPutCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) (fieldmark.Account, error) {
		return api.PutAccount(ctx, c.ID, fieldmark.AccountRequest{Name: c.Name, Note: c.Note,
			FilterLabels: c.FilterLabel, TimeZone: c.TimeZone, DeviceTime: c.DeviceTime})
	}, func(a fieldmark.Account) error { return printf(s, "%s is %s\n", a.ID, a.Name) })
}
