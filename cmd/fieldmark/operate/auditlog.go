package operate

import (
	"context"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/client"
)

// AuditLogListCmd lists the audit log.
type AuditLogListCmd struct {
	adminFlags `embed:""`
	Limit      int `default:"50" help:"Maximum number of entries."`
}

// Run prints a line for each entry.
func (c *AuditLogListCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) ([]fieldmark.AuditEntry, error) { return api.AuditLog(ctx, c.Limit) },
		func(entries []fieldmark.AuditEntry) error {
			for _, e := range entries {
				if err := printf(s, "%6d  %s  %-8s %-32s %-22s %s\n", e.Number, e.At.Std().Format(time.DateTime),
					e.Kind, e.Actor, e.Act, e.Target); err != nil {
					return err
				}
			}
			return nil
		})
}
