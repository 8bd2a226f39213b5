package operate

import (
	"context"
	"errors"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/client"
)

// PurgeCmd purges the caches of all edges.
type PurgeCmd struct {
	adminFlags `embed:""`
	Tag        []string `placeholder:"TAG" xor:"what" help:"Purge entries with this tag: brand:SLUG, module, board, or a tag from Surrogate-Key or Cache-Tag. May be repeated."`
	Address    string   `placeholder:"URL" xor:"what" help:"Purge what this URL or path is made from."`
	Everything bool     `xor:"what" help:"Purge everything."`
	Hard       bool     `help:"Do not serve the purged answers even while the origin is unavailable."`
}

// Run requests the purge and prints the number of its event.
func (c *PurgeCmd) Run(ctx context.Context, s *command.Streams) error {
	if len(c.Tag) == 0 && c.Address == "" && !c.Everything {
		return errors.New("choose what to purge: --tag, --address or --everything")
	}
	r := fieldmark.PurgeRequest{URL: c.Address, Everything: c.Everything, Hard: c.Hard}
	for _, tag := range c.Tag {
		r.Tags = append(r.Tags, fieldmark.Tag(tag))
	}
	return run(c, func(api *client.Client) (fieldmark.Purged, error) { return api.Purge(ctx, r) },
		func(p fieldmark.Purged) error {
			return printf(s, "purge is event %d; connected edges apply it within a second, others when "+
				"they reconnect\n", p.Event)
		})
}
