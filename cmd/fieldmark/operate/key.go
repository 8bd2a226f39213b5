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

// KeyCommands manage API keys.
type KeyCommands struct {
	List   keyListCmd   `cmd:"" help:"List API keys."`
	Rotate keyRotateCmd `cmd:"" help:"Rotate an API key; the old one keeps working for a grace period."`
	Revoke keyRevokeCmd `cmd:"" help:"Revoke an API key."`
}

type keyListCmd struct {
	adminFlags `embed:""`
}

// Run prints a line for each key.
func (c *keyListCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) ([]fieldmark.Key, error) { return api.Keys(ctx) },
		func(keys []fieldmark.Key) error {
			for i := range keys {
				if err := printKey(s, &keys[i]); err != nil {
					return err
				}
			}
			return nil
		})
}

func printKey(s *command.Streams, k *fieldmark.Key) error {
	scopes := make([]string, len(k.Scopes))
	for i, scope := range k.Scopes {
		scopes[i] = string(scope)
	}
	until := "never"
	if k.ExpiresAt != nil {
		until = k.ExpiresAt.Std().Format(time.DateOnly)
	}
	state := string(k.State(time.Now()))
	if state == string(fieldmark.KeyLive) {
		state = "active"
	}
	return printf(s, "%s  %s  %-8s expires %-10s  %-40s %s\n", k.ID, k.Prefix, state, until, strings.Join(scopes, ","),
		k.Name)
}

type keyRotateCmd struct {
	adminFlags `embed:""`
	ID         string `arg:"" help:"Key id: key_…"`
	Grace      int    `default:"24" help:"Hours for which the old key keeps working; 0 revokes it at once."`
}

// Run prints the new key's token, which is shown only once.
func (c *keyRotateCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) (fieldmark.NewKey, error) {
		return api.RotateKey(ctx, c.ID, fieldmark.KeyRotation{GraceHours: &c.Grace})
	}, func(k fieldmark.NewKey) error {
		fmt.Fprintf(s.Err, "%s. The token is shown only once. The old key works for %d h:\n", k.ID, c.Grace)
		return printf(s, "%s\n", k.Token)
	})
}

type keyRevokeCmd struct {
	adminFlags `embed:""`
	ID         string `arg:"" help:"Key id: key_…"`
	Reason     string `help:"Reason, for the audit log."`
}

// Run revokes the key.
func (c *keyRevokeCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) (fieldmark.Key, error) { return api.RevokeKey(ctx, c.ID, c.Reason) },
		func(k fieldmark.Key) error { return printf(s, "%s was revoked at %s\n", k.ID, k.RevokedAt) })
}

// SigningKeyCmd manages the keys that sign the requests of the auditor.
type SigningKeyCmd struct {
	Show   signingKeyShowCmd   `cmd:"" help:"Show the keys and the address of the key directory."`
	Rotate signingKeyRotateCmd `cmd:"" help:"Publish a new key; it comes into use after 48 hours."`
	Retire signingKeyRetireCmd `cmd:"" help:"Delete a key that others may know; the next one comes into use at once."`
}

type signingKeyShowCmd struct {
	adminFlags `embed:""`
}

// Run prints the directory and a line for each key.
func (c *signingKeyShowCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) (fieldmark.SigningKeys, error) { return api.SigningKeys(ctx) },
		func(keys fieldmark.SigningKeys) error { return printSigningKeys(s, &keys) })
}

func printSigningKeys(s *command.Streams, keys *fieldmark.SigningKeys) error {
	if err := printf(s, "directory %s\nform      %s\n", keys.Directory, keys.Form); err != nil {
		return err
	}
	for _, k := range keys.Data {
		until := "-"
		if k.UseUntil != nil {
			until = k.UseUntil.Std().Format(time.RFC3339)
		}
		if err := printf(s, "%s  %-8s  used from %s until %-20s  published until %s\n", k.ID, k.State,
			k.UseFrom.Std().Format(time.RFC3339), until, k.ExpiresAt.Std().Format(time.RFC3339)); err != nil {
			return err
		}
	}
	return nil
}

type signingKeyRotateCmd struct {
	adminFlags `embed:""`
}

// Run publishes a key, unless the next one is published already, and prints all.
func (c *signingKeyRotateCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) (fieldmark.SigningKeys, error) { return api.RotateSigningKey(ctx) },
		func(keys fieldmark.SigningKeys) error { return printSigningKeys(s, &keys) })
}

type signingKeyRetireCmd struct {
	adminFlags `embed:""`
	ID         string `arg:"" help:"Key id, as signing-key show prints it; after -- if it starts with a hyphen."`
}

// Run deletes the key and prints those that are left.
func (c *signingKeyRetireCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) (fieldmark.SigningKeys, error) { return api.RetireSigningKey(ctx, c.ID) },
		func(keys fieldmark.SigningKeys) error { return printSigningKeys(s, &keys) })
}
