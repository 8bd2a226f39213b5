package operate

import (
	"context"
	"fmt"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/client"
)

// AccessCmd lists and decides requests for API keys.
type AccessCmd struct {
	List    accessListCmd    `cmd:"" help:"List requests for API keys, newest first."`
	Show    accessShowCmd    `cmd:"" help:"Print a request as JSON."`
	Approve accessApproveCmd `cmd:"" help:"Approve a request; the applicant has the key shown once."`
	Decline accessDeclineCmd `cmd:"" help:"Decline a request."`
}

type accessListCmd struct {
	adminFlags `embed:""`
	State      accessState `default:"pending" help:"pending, approved, declined, issued or expired."`
}

// accessState is a flag with a state of requests.
type accessState fieldmark.AccessState

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *accessState) UnmarshalText(text []byte) error {
	return parseState(text, fieldmark.AccessStates(), (*fieldmark.AccessState)(s))
}

// Run prints a line for each request. Texts of strangers are quoted, as they may contain characters
// that turn text.
func (c *accessListCmd) Run(ctx context.Context, s *command.Streams) error {
	return eachOfPages(c, s, "", func(api *client.Client, _ fieldmark.Slug,
		cursor string) (fieldmark.List[fieldmark.AccessRequest], error) {
		return api.AccessRequests(ctx, fieldmark.AccessState(c.State), cursor)
	}, func(r *fieldmark.AccessRequest) string {
		return fmt.Sprintf("%s  %-8s  %s  %-10s  %q  %q", r.ID, r.State, r.RequestedAt, r.Offer, r.Organization,
			r.Email)
	})
}

// accessFlags name one request.
type accessFlags struct {
	adminFlags `embed:""`
	ID         string `arg:"" help:"Id of the request: arq_…"`
}

type accessShowCmd struct {
	accessFlags `embed:""`
}

// Run prints the request.
func (c *accessShowCmd) Run(ctx context.Context, s *command.Streams) error {
	return runJSON(c, s, func(api *client.Client) (fieldmark.AccessRequest,
		error) {
		return api.AccessRequest(ctx, c.ID)
	})
}

type accessApproveCmd struct {
	accessFlags `embed:""`
	Account     string   `required:"" help:"Id of the account that owns the key."`
	NewAccount  bool     `help:"Create the account."`
	Offer       string   `help:"Id of an offer for the account; unchanged if unset."`
	Scope       []string `help:"Scopes of the key; those that were requested if unset."`
	Network     []string `help:"Addresses and networks that may use the key; any if unset."`
	Reads       int      `help:"Reads a minute; the default if unset."`
	Writes      int      `help:"Writes a minute; the default if unset."`
	ExpiresDays int      `default:"365" help:"Days until the key expires; -1: never."`
}

// Run approves the request.
func (c *accessApproveCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) (r fieldmark.AccessRequest, err error) {
		a := fieldmark.AccessApproval{Account: c.Account, NewAccount: c.NewAccount, Offer: c.Offer, Networks: c.Network,
			ExpiresInDays: c.ExpiresDays, RateLimit: &fieldmark.RateLimit{Reads: c.Reads, Writes: c.Writes}}
		for _, name := range c.Scope {
			a.Scopes = append(a.Scopes, fieldmark.Scope(name))
		}
		if a.Scopes == nil {
			if r, err = api.AccessRequest(ctx, c.ID); err != nil {
				return r, err
			}
			a.Scopes = r.Scopes
		}
		return api.ApproveAccess(ctx, c.ID, a)
	}, func(r fieldmark.AccessRequest) error {
		var scopes []string
		for _, sc := range r.Grant.Scopes {
			scopes = append(scopes, string(sc))
		}
		return printf(s, "%s is approved: account %s, %s, until %s\n", r.ID, r.Grant.Account, strings.Join(scopes, ","),
			r.ExpiresAt)
	})
}

type accessDeclineCmd struct {
	accessFlags `embed:""`
	Reason      string `required:"" help:"Reason, which the applicant sees."`
}

// Run declines the request.
func (c *accessDeclineCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) (fieldmark.AccessRequest, error) {
		return api.DeclineAccess(ctx, c.ID, fieldmark.AccessRefusal{Reason: c.Reason})
	}, func(r fieldmark.AccessRequest) error { return printf(s, "%s is %s\n", r.ID, r.State) })
}
