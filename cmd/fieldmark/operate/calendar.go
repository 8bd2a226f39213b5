package operate

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/client"
)

// CalendarCmd manages calendar feeds (iCalendar).
type CalendarCmd struct {
	Create calendarCreateCmd `cmd:"" help:"Create a calendar feed of missions and print its address."`
	List   calendarListCmd   `cmd:"" help:"List feeds and when they were last read."`
	Rotate calendarRotateCmd `cmd:"" help:"Give a feed a new address; the old address stops working at once."`
	Revoke calendarRevokeCmd `cmd:"" help:"Revoke a feed."`
}

type calendarCreateCmd struct {
	adminFlags `embed:""`
	Name       string   `required:"" help:"Name of the calendar, as calendar apps show it."`
	Assignee   []string `help:"Id of an assignee. Several make a team feed; without any, the feed has all missions."`
	Details    bool     `help:"Include contacts and access notes. Anyone with the address can read them."`
	Account    string   `help:"Account whose missions are in the feed; the default account if unset."`
}

// Run creates the feed and prints its address, which is shown only once.
func (c *calendarCreateCmd) Run(ctx context.Context, s *command.Streams) error {
	api, base, err := c.connectURL()
	if err != nil {
		return err
	}
	r := fieldmark.CalendarRequest{Account: c.Account, Name: c.Name, Assignees: c.Assignee, Details: c.Details,
		Scope: fieldmark.CalendarOfAll}
	switch len(c.Assignee) {
	case 0:
	case 1:
		r.Scope = fieldmark.CalendarOfPerson
	default:
		r.Scope = fieldmark.CalendarOfTeam
	}
	feed, err := api.CreateCalendar(ctx, r)
	if err != nil {
		return err
	}
	return printAddress(s, base, feed)
}

// printAddress prints the secret address of a feed to Out, so that it can be piped, and
// instructions to Err.
func printAddress(s *command.Streams, base string, feed fieldmark.NewCalendar) error {
	address := strings.TrimSuffix(base, "/") + feed.Path
	fmt.Fprintf(s.Err, "%s %q. The address is shown only once. Subscribe to it; do not import it:\n", feed.ID,
		feed.Name)
	if err := printf(s, "%s\n", address); err != nil {
		return err
	}
	if u, err := url.Parse(address); err == nil {
		insecure := u.Scheme == "http"
		u.Scheme = "webcal"
		fmt.Fprintf(s.Err, "On a phone: %s\nPhones refresh a calendar every 15 minutes to once a day. Do not use it "+
			"for urgent changes.\n", u)
		if insecure {
			// Many phones use TLS whatever the scheme says, and the address is a secret.
			fmt.Fprintln(s.Err, "Phones on other networks need https: put TLS in front of the edge and pass its "+
				"address with --url.")
		}
	}
	return nil
}

type calendarListCmd struct {
	adminFlags `embed:""`
}

// Run prints a line for each feed.
func (c *calendarListCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) ([]fieldmark.Calendar, error) { return api.Calendars(ctx) },
		func(feeds []fieldmark.Calendar) error {
			for _, f := range feeds {
				state, used := "active", "never"
				if f.RevokedAt != nil {
					state = "revoked"
				}
				if f.LastUsedAt != nil {
					used = f.LastUsedAt.Std().Format(time.DateTime)
				}
				if err := printf(s, "%s  %-7s %-6s read %-19s  %s  %s\n", f.ID, state, f.Scope, used, f.Name,
					strings.Join(f.Assignees, ",")); err != nil {
					return err
				}
			}
			return nil
		})
}

type calendarRotateCmd struct {
	adminFlags `embed:""`
	ID         string `arg:"" help:"Feed id: cal_…"`
}

// Run prints the new address, which is shown only once.
func (c *calendarRotateCmd) Run(ctx context.Context, s *command.Streams) error {
	api, base, err := c.connectURL()
	if err != nil {
		return err
	}
	feed, err := api.RotateCalendar(ctx, c.ID)
	if err != nil {
		return err
	}
	return printAddress(s, base, feed)
}

type calendarRevokeCmd struct {
	adminFlags `embed:""`
	ID         string `arg:"" help:"Feed id: cal_…"`
}

// Run revokes the feed.
func (c *calendarRevokeCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) (fieldmark.Calendar, error) { return api.RevokeCalendar(ctx, c.ID) },
		func(f fieldmark.Calendar) error { return printf(s, "%s was revoked at %s\n", f.ID, f.RevokedAt) })
}
