package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/operate"
	"github.com/fieldmark/fieldmark/origin"
)

type auditLogCmd struct {
	List   operate.AuditLogListCmd `cmd:"" help:"Print what administrators did, newest first."`
	Verify auditLogVerifyCmd       `cmd:"" help:"Verify in the database that no entry was changed or removed; exit status 1 if one was."`
}

type auditLogVerifyCmd struct {
	dataSettings `embed:""`
	Kept         string `placeholder:"NUMBER:SUM" help:"What an earlier call printed: it shows also whether entries were cut off the end."`
}

// Run says how far the log holds.
func (c *auditLogVerifyCmd) Run(ctx context.Context, s *command.Streams) error {
	var kept fieldmark.AuditVerdict
	if c.Kept != "" {
		number, sum, ok := strings.Cut(c.Kept, ":")
		n, err := strconv.ParseInt(number, 10, 64)
		if !ok || err != nil || n < 1 || sum == "" {
			return fmt.Errorf("--kept is a number, a colon and a sum, as an earlier call printed them; not %q", c.Kept)
		}
		kept = fieldmark.AuditVerdict{Entries: n, Sum: sum}
	}
	return c.withService(ctx, s, func(svc *origin.Service) error {
		v, err := svc.AuditLog.Verify(ctx, kept)
		if err != nil {
			return err
		}
		if v.Broken > 0 {
			return fmt.Errorf("the audit log is broken at entry %d: %s; %d before it hold", v.Broken, v.Why, v.Entries)
		}
		_, err = fmt.Fprintf(s.Out, "all %d entries hold; keep this elsewhere, to see later whether some were cut off: %d:%s\n", v.Entries, v.Entries, v.Sum)
		return err
	})
}
