package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
)

type auditLogCmd struct {
	List   auditLogListCmd   `cmd:"" help:"Print what administrators did, the newest first."`
	Verify auditLogVerifyCmd `cmd:"" help:"Check, directly in the database, that no entry was changed or taken out; exit status 1 when one was."`
}

type auditLogListCmd struct {
	targetSettings `embed:""`
	Limit          int `default:"50" help:"Entries at most."`
}

// Run prints a line per entry.
func (c *auditLogListCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	entries, err := api.AuditLog(ctx, c.Limit)
	if err != nil {
		return err
	}
	for _, e := range entries {
		fmt.Fprintf(s.out, "%6d  %s  %-8s %-32s %-22s %s\n", e.Number, e.At.Std().Format(time.DateTime), e.Kind, e.Actor, e.Act, e.Target)
	}
	return nil
}

type auditLogVerifyCmd struct {
	dataSettings `embed:""`
	Kept         string `placeholder:"NUMBER:SUM" help:"What an earlier call printed: it shows also whether entries were cut off the end."`
}

// Run says how far the log holds.
func (c *auditLogVerifyCmd) Run(ctx context.Context, s *streams) error {
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
		_, err = fmt.Fprintf(s.out, "all %d entries hold; keep this elsewhere, to see later whether some were cut off: %d:%s\n", v.Entries, v.Entries, v.Sum)
		return err
	})
}
