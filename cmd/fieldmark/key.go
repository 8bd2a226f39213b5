package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/store"
)

type keyCmd struct {
	Create keyCreateCmd `cmd:"" help:"Create an API key, directly in the database; how the first key is made."`
	List   keyListCmd   `cmd:"" help:"List API keys."`
	Revoke keyRevokeCmd `cmd:"" help:"Revoke an API key."`
}

type keyCreateCmd struct {
	dataSettings  `embed:""`
	Name          string   `required:"" help:"What the key is for."`
	Scope         []string `required:"" help:"Scopes: mission:create, mission:read, and admin:* for everything under /api/admin/ (which does not include the others)."`
	ExpiresInDays int      `default:"365" help:"Life in days; -1 never ends."`
	Reads         int      `help:"Reads a minute, if not what every key may."`
	Writes        int      `help:"Writes a minute, if not what every key may."`
}

// Run creates the key and prints its token, once.
func (c *keyCreateCmd) Run(ctx context.Context, s *streams) error {
	r := fieldmark.KeyRequest{Name: c.Name, ExpiresInDays: c.ExpiresInDays, RateLimit: &fieldmark.RateLimit{Reads: c.Reads, Writes: c.Writes}}
	for _, name := range c.Scope {
		scope, err := fieldmark.ParseScope(name)
		if err != nil {
			return err
		}
		r.Scopes = append(r.Scopes, scope)
	}
	return c.withService(ctx, s, func(svc *origin.Service) error {
		key, err := svc.CreateKey(ctx, origin.DefaultAccount, r)
		if err != nil {
			return err
		}
		fmt.Fprintf(s.err, "%s, shown this once:\n", key.ID)
		_, err = fmt.Fprintln(s.out, key.Token)
		return err
	})
}

// withService opens the record for one act, beside a running origin or without
// one.
func (d *dataSettings) withService(ctx context.Context, s *streams, act func(*origin.Service) error) (err error) {
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
	svc, err := origin.New(origin.Config{Store: st, Secret: secret, Log: s.log})
	if err != nil {
		return err
	}
	if err := svc.Prepare(ctx); err != nil {
		return err
	}
	return act(svc)
}

type keyListCmd struct {
	targetSettings `embed:""`
}

// Run prints a line per key.
func (c *keyListCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	keys, err := api.Keys(ctx)
	if err != nil {
		return err
	}
	for _, k := range keys {
		scopes := make([]string, len(k.Scopes))
		for i, sc := range k.Scopes {
			scopes[i] = string(sc)
		}
		state, until := "active", "never"
		if k.ExpiresAt != nil {
			until = k.ExpiresAt.Std().Format(time.DateOnly)
			if k.ExpiresAt.Std().Before(time.Now()) {
				state = "expired"
			}
		}
		if k.RevokedAt != nil {
			state = "revoked"
		}
		fmt.Fprintf(s.out, "%s  %s  %-8s until %-10s  %-40s %s\n", k.ID, k.Prefix, state, until, strings.Join(scopes, ","), k.Name)
	}
	return nil
}

type keyRevokeCmd struct {
	targetSettings `embed:""`
	ID             string `arg:"" help:"The key's id: key_…"`
}

// Run revokes the key.
func (c *keyRevokeCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	k, err := api.RevokeKey(ctx, c.ID)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s is revoked since %s\n", k.ID, k.RevokedAt)
	return err
}
