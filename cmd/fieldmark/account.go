package main

import (
	"context"
	"fmt"

	"github.com/fieldmark/fieldmark"
)

type accountCmd struct {
	List accountListCmd `cmd:"" help:"List accounts."`
	Put  accountPutCmd  `cmd:"" help:"Make an account or change what it is called."`
}

type accountListCmd struct {
	targetSettings `embed:""`
}

// Run prints a line per account.
func (c *accountListCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	accounts, err := api.Accounts(ctx)
	if err != nil {
		return err
	}
	for _, a := range accounts {
		fmt.Fprintf(s.out, "%-24s %s\n", a.ID, a.Name)
	}
	return nil
}

type accountPutCmd struct {
	targetSettings `embed:""`
	ID             string `arg:"" help:"The account's id: a-z, 0-9, - and _."`
	Name           string `required:"" help:"As people call it."`
	Note           string `help:"For administrators."`
}

// Run makes or names the account.
func (c *accountPutCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	a, err := api.PutAccount(ctx, c.ID, fieldmark.AccountRequest{Name: c.Name, Note: c.Note})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s is %s\n", a.ID, a.Name)
	return err
}
