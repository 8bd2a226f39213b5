package main

import (
	"context"
	"fmt"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/operate"
	"github.com/fieldmark/fieldmark/origin"
)

// keyCmd manages API keys.
type keyCmd struct {
	Create      keyCreateCmd        `cmd:"" help:"Create an API key in the database; the way to create the first key."`
	KeyCommands operate.KeyCommands `embed:""`
}

type keyCreateCmd struct {
	dataSettings  `embed:""`
	Name          string   `required:"" help:"Name of the key."`
	Scope         []string `required:"" placeholder:"SCOPE" help:"Scope of the key: mission:create, mission:read, mission:update, mission:cancel, mission:operate, webhook:manage, brand:manage, account:manage, key:test, or admin:* for everything under /api/admin/ (it includes none of the others). May be repeated."`
	ExpiresInDays int      `default:"365" help:"Days until the key expires; -1 for never."`
	Reads         int      `placeholder:"N" help:"Reads per minute; 600 if unset."`
	Writes        int      `placeholder:"N" help:"Writes per minute; 300 if unset."`
	Account       string   `default:"default" help:"Account of the key."`
	Agent         string   `enum:"off,dry,write" default:"dry" help:"What agents may do with the key."`
	AgentWrites   int      `placeholder:"N" help:"Writes of agents in a day; 100 if unset."`
	Test          bool     `help:"Create a test key, whose data is apart from live data; for 90 days at most."`
	Network       []string `help:"Addresses and networks (CIDR) that may use the key; any if unset."`
}

// Run creates the key and prints its token, which is shown only once.
func (c *keyCreateCmd) Run(ctx context.Context, s *command.Streams) error {
	r := fieldmark.KeyRequest{Name: c.Name, ExpiresInDays: c.ExpiresInDays,
		RateLimit: &fieldmark.RateLimit{Reads: c.Reads, Writes: c.Writes}, Account: c.Account, Networks: c.Network,
		Agent: fieldmark.AgentAccess(c.Agent), AgentWritesPerDay: c.AgentWrites, Test: c.Test}
	if c.Test {
		r.ExpiresInDays = min(r.ExpiresInDays, fieldmark.TestKeyDays)
	}
	for _, name := range c.Scope {
		scope, err := fieldmark.ParseScope(name)
		if err != nil {
			return err
		}
		r.Scopes = append(r.Scopes, scope)
	}
	return c.withService(ctx, s, func(ctx context.Context, svc *origin.Service) error {
		key, err := svc.Access.Keys.Create(ctx, "", r)
		if err != nil {
			return err
		}
		fmt.Fprintf(s.Err, "%s. The token is shown only once:\n", key.ID)
		_, err = fmt.Fprintln(s.Out, key.Token)
		return err
	})
}
