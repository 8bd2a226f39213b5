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
	Limit      int    `default:"50" help:"Maximum number of entries."`
	From       string `placeholder:"DATE" help:"Only from this day (UTC) or time (RFC 3339) on."`
	To         string `placeholder:"DATE" help:"Only up to this day, or before this time."`
	Actor      string `help:"Only actions of this user, key or command."`
	Action     string `help:"Only this action, such as api_key.created, or all of a noun, such as api_key.*."`
	Target     string `help:"Only actions on this object."`
	Format     string `enum:"text,csv" default:"text" help:"text, or csv: all entries instead of the newest."`
}

// Run prints a line for each entry.
func (c *AuditLogListCmd) Run(ctx context.Context, s *command.Streams) error {
	f := client.AuditFilter{From: c.From, To: c.To, Actor: c.Actor, Action: c.Action, Target: c.Target}
	if c.Format == "csv" {
		return do(c, func(api *client.Client) error { return api.ExportAuditLog(ctx, s.Out, f) })
	}
	return run(c, func(api *client.Client) ([]fieldmark.AuditEntry, error) { return api.AuditLog(ctx, f, c.Limit) },
		func(entries []fieldmark.AuditEntry) error {
			for _, e := range entries {
				if err := printf(s, "%6d  %s  %-8s %-32s %-28s %s\n", e.Number, e.At.Std().Format(time.DateTime),
					e.Kind, e.Actor, e.Act, e.Target); err != nil {
					return err
				}
			}
			return nil
		})
}
