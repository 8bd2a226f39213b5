package main

import (
	"context"
	"fmt"
	"os/user"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/operate"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/store"
)

// keyCmd manages API keys.
type keyCmd struct {
	Create      keyCreateCmd        `cmd:"" help:"Create an API key in the database; the way to create the first key."`
	KeyCommands operate.KeyCommands `embed:""`
}

type keyCreateCmd struct {
	dataSettings  `embed:""`
	Name          string   `required:"" help:"What the key is for."`
	Scope         []string `required:"" placeholder:"SCOPE" help:"What it may do: mission:create, mission:read, mission:update, mission:cancel, mission:operate, webhook:manage, or admin:* for everything under /api/admin/, which has none of the others in it. May be repeated."`
	ExpiresInDays int      `default:"365" help:"Life in days; -1 never ends."`
	Reads         int      `placeholder:"N" help:"Reads a minute, if not the 600 every key may."`
	Writes        int      `placeholder:"N" help:"Writes a minute, if not the 300 every key may."`
	Account       string   `default:"default" help:"Whose key it is."`
	Network       []string `help:"Addresses and networks (CIDR) it may be used from; anywhere if unset."`
}

// Run creates the key and prints its token, once.
func (c *keyCreateCmd) Run(ctx context.Context, s *command.Streams) error {
	r := fieldmark.KeyRequest{Name: c.Name, ExpiresInDays: c.ExpiresInDays, RateLimit: &fieldmark.RateLimit{Reads: c.Reads, Writes: c.Writes}, Account: c.Account, Networks: c.Network}
	for _, name := range c.Scope {
		scope, err := fieldmark.ParseScope(name)
		if err != nil {
			return err
		}
		r.Scopes = append(r.Scopes, scope)
	}
	ctx = byCommand(ctx)
	return c.withService(ctx, s, func(svc *origin.Service) error {
		key, err := svc.Access.Keys.CreateKey(ctx, "", r)
		if err != nil {
			return err
		}
		fmt.Fprintf(s.Err, "%s, shown this once:\n", key.ID)
		_, err = fmt.Fprintln(s.Out, key.Token)
		return err
	})
}

// byCommand returns a context under which whoever runs the command acts.
func byCommand(ctx context.Context) context.Context {
	name := "unknown"
	if who, err := user.Current(); err == nil {
		name = who.Username
	}
	return auditlog.WithActor(ctx, auditlog.Actor{Kind: fieldmark.ActorCommand, Name: name})
}

// withService opens the record for one act, beside a running origin or without
// one.
func (d *dataSettings) withService(ctx context.Context, s *command.Streams, act func(*origin.Service) error) (err error) {
	secret, err := d.appSecret()
	if err != nil {
		return err
	}
	at, err := d.record()
	if err != nil {
		return err
	}
	st, err := store.Open(ctx, at)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := st.Close(); err == nil {
			err = cerr
		}
	}()
	svc, err := origin.New(origin.Config{Store: st, Secret: secret, Log: s.Log})
	if err != nil {
		return err
	}
	if err := svc.Prepare(ctx); err != nil {
		return err
	}
	return act(svc)
}
