package main

import (
	"context"
	"fmt"
	"os/user"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/store"
)

type keyCmd struct {
	Create keyCreateCmd `cmd:"" help:"Create an API key, directly in the database; how the first key is made."`
	List   keyListCmd   `cmd:"" help:"List API keys."`
	Rotate keyRotateCmd `cmd:"" help:"Make an API key in place of another, which works for a while yet."`
	Revoke keyRevokeCmd `cmd:"" help:"Revoke an API key."`
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
func (c *keyCreateCmd) Run(ctx context.Context, s *streams) error {
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
		key, err := svc.CreateKey(ctx, "", r)
		if err != nil {
			return err
		}
		fmt.Fprintf(s.err, "%s, shown this once:\n", key.ID)
		_, err = fmt.Fprintln(s.out, key.Token)
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
		until := "never"
		if k.ExpiresAt != nil {
			until = k.ExpiresAt.Std().Format(time.DateOnly)
		}
		state := string(k.State(time.Now()))
		if state == string(fieldmark.KeyLive) {
			state = "active"
		}
		fmt.Fprintf(s.out, "%s  %s  %-8s until %-10s  %-40s %s\n", k.ID, k.Prefix, state, until, strings.Join(scopes, ","), k.Name)
	}
	return nil
}

type keyRotateCmd struct {
	targetSettings `embed:""`
	ID             string `arg:"" help:"The key's id: key_…"`
	Grace          int    `default:"24" help:"Hours the old key works; 0 ends it at once."`
}

// Run prints the new key's token, once.
func (c *keyRotateCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	k, err := api.RotateKey(ctx, c.ID, fieldmark.KeyRotation{GraceHours: &c.Grace})
	if err != nil {
		return err
	}
	fmt.Fprintf(s.err, "%s, shown this once; the old key works for %d h:\n", k.ID, c.Grace)
	_, err = fmt.Fprintln(s.out, k.Token)
	return err
}

type keyRevokeCmd struct {
	targetSettings `embed:""`
	ID             string `arg:"" help:"The key's id: key_…"`
	Reason         string `help:"Why, for the audit log."`
}

// Run revokes the key.
func (c *keyRevokeCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	k, err := api.RevokeKey(ctx, c.ID, c.Reason)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s is revoked since %s\n", k.ID, k.RevokedAt)
	return err
}
