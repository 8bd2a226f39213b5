package operate

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/client"
)

// TechnicianCmd manages the secret links to pages of technicians.
type TechnicianCmd struct {
	Create technicianCreateCmd `cmd:"" help:"Create the link of an assignee and print its address."`
	List   technicianListCmd   `cmd:"" help:"List links, when they end and when they were last used."`
	Rotate technicianRotateCmd `cmd:"" help:"Give a link a new address and end; the old one stops working."`
	Revoke technicianRevokeCmd `cmd:"" help:"Revoke a link."`
}

type technicianCreateCmd struct {
	adminFlags `embed:""`
	Assignee   string `required:"" help:"Id of the assignee, as in the missions."`
	Name       string `help:"Name of the assignee."`
	Account    string `help:"Account of the missions; the default account if unset."`
	Days       int    `default:"30" help:"Days until the link ends, at most 30."`
	PIN        string `name:"pin" env:"FIELDMARK_PIN" help:"PIN of 6 digits that the page asks for; none if unset."`
}

// Run creates the link and prints its address, which is shown only once.
func (c *technicianCreateCmd) Run(ctx context.Context, s *command.Streams) error {
	api, base, err := c.connectURL()
	if err != nil {
		return err
	}
	l, err := api.CreateTechnicianLink(ctx, fieldmark.TechnicianLinkRequest{Account: c.Account,
		Until: untilOf(c.Days), PIN: c.PIN, Assignee: fieldmark.Assignee{ID: c.Assignee, Name: c.Name}})
	if err != nil {
		return err
	}
	return printLink(s, base, l)
}

// untilOf returns the end of a link that works for some days. The origin checks it.
func untilOf(days int) *fieldmark.Time {
	until := fieldmark.At(time.Now().AddDate(0, 0, days))
	return &until
}

// printLink prints the secret address of a link to Out, so that it can be piped.
func printLink(s *command.Streams, base string, l fieldmark.NewTechnicianLink) error {
	fmt.Fprintf(s.Err, "%s of %s works until %s. The address is shown only once:\n", l.ID, l.Assignee.ID, l.Until)
	return printf(s, "%s\n", strings.TrimSuffix(base, "/")+l.Path)
}

type technicianListCmd struct {
	adminFlags `embed:""`
}

// Run prints a line for each link.
func (c *technicianListCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) ([]fieldmark.TechnicianLink, error) { return api.TechnicianLinks(ctx) },
		func(links []fieldmark.TechnicianLink) error {
			for _, l := range links {
				state, used := "until "+l.Until.Std().Format(time.DateTime), "never"
				if l.RevokedAt != nil {
					state = "revoked"
				}
				if l.LastUsedAt != nil {
					used = l.LastUsedAt.Std().Format(time.DateTime)
				}
				if err := printf(s, "%s  %-25s used %-19s  %s  %s\n", l.ID, state, used, l.Account,
					l.Assignee.ID); err != nil {
					return err
				}
			}
			return nil
		})
}

type technicianRotateCmd struct {
	adminFlags `embed:""`
	ID         string `arg:"" help:"Link id: lnk_…"`
	Days       int    `default:"30" help:"Days until the link ends, at most 30."`
}

// Run prints the new address, which is shown only once.
func (c *technicianRotateCmd) Run(ctx context.Context, s *command.Streams) error {
	api, base, err := c.connectURL()
	if err != nil {
		return err
	}
	l, err := api.RotateTechnicianLink(ctx, c.ID, fieldmark.TechnicianLinkRotation{Until: untilOf(c.Days)})
	if err != nil {
		return err
	}
	return printLink(s, base, l)
}

type technicianRevokeCmd struct {
	adminFlags `embed:""`
	ID         string `arg:"" help:"Link id: lnk_…"`
}

// Run revokes the link.
func (c *technicianRevokeCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) (fieldmark.TechnicianLink, error) {
		return api.RevokeTechnicianLink(ctx, c.ID)
	}, func(l fieldmark.TechnicianLink) error { return printf(s, "%s was revoked at %s\n", l.ID, l.RevokedAt) })
}
