package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
)

type calendarCmd struct {
	Create calendarCreateCmd `cmd:"" help:"Make a feed of a person's, a team's or everybody's missions and print its address."`
	List   calendarListCmd   `cmd:"" help:"List feeds and when they were last read."`
	Rotate calendarRotateCmd `cmd:"" help:"Give a feed another address; the old one ends at once."`
	Revoke calendarRevokeCmd `cmd:"" help:"End a feed."`
}

type calendarCreateCmd struct {
	targetSettings `embed:""`
	Name           string   `required:"" help:"As phones show it."`
	Assignee       []string `help:"Id of an assignee; several make the feed of a team, none shows all missions."`
	Details        bool     `help:"Tell contacts and access notes too; whoever has the address can read them."`
	Account        string   `help:"Account whose missions are shown; the default account if unset."`
}

// Run makes the feed and prints its address, once.
func (c *calendarCreateCmd) Run(ctx context.Context, s *streams) error {
	api, base, err := c.connectAt()
	if err != nil {
		return err
	}
	r := fieldmark.CalendarRequest{Account: c.Account, Name: c.Name, Assignees: c.Assignee, Details: c.Details, Scope: fieldmark.CalendarOfAll}
	switch len(c.Assignee) {
	case 0:
	case 1:
		r.Scope = fieldmark.CalendarOfPerson
	default:
		r.Scope = fieldmark.CalendarOfTeam
	}
	made, err := api.CreateCalendar(ctx, r)
	if err != nil {
		return err
	}
	return printAddress(s, base, made)
}

// printAddress prints a secret address alone on standard output, so that it can
// be piped, and what to do with it beside it.
func printAddress(s *streams, base string, made fieldmark.NewCalendar) error {
	address := strings.TrimSuffix(base, "/") + made.Path
	fmt.Fprintf(s.err, "%s %q, shown this once; subscribe to it, do not import it:\n", made.ID, made.Name)
	if _, err := fmt.Fprintln(s.out, address); err != nil {
		return err
	}
	if u, err := url.Parse(address); err == nil {
		plain := u.Scheme == "http"
		u.Scheme = "webcal"
		fmt.Fprintf(s.err, "on a phone: %s\nPhones look every 15 minutes to a day; what is urgent must not wait for them.\n", u)
		if plain {
			// The secret is in the address, and many phones ask by TLS whatever it says.
			fmt.Fprintln(s.err, "Phones elsewhere want https: put TLS in front of the edge and name its address with --url.")
		}
	}
	return nil
}

type calendarListCmd struct {
	targetSettings `embed:""`
}

// Run prints a line per feed.
func (c *calendarListCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	calendars, err := api.Calendars(ctx)
	if err != nil {
		return err
	}
	for _, k := range calendars {
		state, used := "active", "never"
		if k.RevokedAt != nil {
			state = "revoked"
		}
		if k.LastUsedAt != nil {
			used = k.LastUsedAt.Std().Format(time.DateTime)
		}
		fmt.Fprintf(s.out, "%s  %-7s %-6s read %-19s  %s  %s\n", k.ID, state, k.Scope, used, k.Name, strings.Join(k.Assignees, ","))
	}
	return nil
}

type calendarRotateCmd struct {
	targetSettings `embed:""`
	ID             string `arg:"" help:"The feed's id: cal_…"`
}

// Run prints the new address, once.
func (c *calendarRotateCmd) Run(ctx context.Context, s *streams) error {
	api, base, err := c.connectAt()
	if err != nil {
		return err
	}
	moved, err := api.RotateCalendar(ctx, c.ID)
	if err != nil {
		return err
	}
	return printAddress(s, base, moved)
}

type calendarRevokeCmd struct {
	targetSettings `embed:""`
	ID             string `arg:"" help:"The feed's id: cal_…"`
}

// Run ends the feed.
func (c *calendarRevokeCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	k, err := api.RevokeCalendar(ctx, c.ID)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s is revoked since %s\n", k.ID, k.RevokedAt)
	return err
}
