package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/fieldmark/fieldmark"
)

// purgeCmd has every edge derive something again.
type purgeCmd struct {
	targetSettings `embed:""`
	Tag            []string `placeholder:"TAG" xor:"what" help:"What carries this tag: brand:SLUG, module, board, or one an origin gave in Surrogate-Key or Cache-Tag. May be repeated."`
	Address        string   `placeholder:"URL" xor:"what" help:"What this address, or path, is made from."`
	Everything     bool     `xor:"what" help:"All there is."`
	Hard           bool     `help:"Do not serve the old answers even while the origin is away."`
}

// Run asks for the purge and tells which event carries it.
func (c *purgeCmd) Run(ctx context.Context, s *streams) error {
	if len(c.Tag) == 0 && c.Address == "" && !c.Everything {
		return errors.New("say what to purge: --tag, --address or --everything")
	}
	api, err := c.connect()
	if err != nil {
		return err
	}
	r := fieldmark.PurgeRequest{URL: c.Address, Everything: c.Everything, Hard: c.Hard}
	for _, tag := range c.Tag {
		r.Tags = append(r.Tags, fieldmark.Tag(tag))
	}
	p, err := api.Purge(ctx, r)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "purged by event %d; every edge that is up has it within a second, any other when it is back\n", p.Event)
	return err
}
