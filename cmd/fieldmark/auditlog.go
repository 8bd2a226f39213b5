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
	Verify auditLogVerifyCmd       `cmd:"" help:"Verify that no entry was changed or removed (else exit status 1)."`
}

type auditLogVerifyCmd struct {
	dataSettings `embed:""`
	Kept         string `placeholder:"NUMBER:SUM" help:"Output of an earlier call, to detect removal from the end."`
}

// Run verifies the chain of checksums.
func (c *auditLogVerifyCmd) Run(ctx context.Context, s *command.Streams) error {
	var kept fieldmark.AuditVerdict
	if c.Kept != "" {
		number, sum, ok := strings.Cut(c.Kept, ":")
		n, err := strconv.ParseInt(number, 10, 64)
		if !ok || err != nil || n < 1 || sum == "" {
			return fmt.Errorf("--kept: want NUMBER:SUM as an earlier call printed it, not %q", c.Kept)
		}
		kept = fieldmark.AuditVerdict{Entries: n, Sum: sum}
	}
	return c.withService(ctx, s, func(ctx context.Context, svc *origin.Service) error {
		v, err := svc.AuditLog.Verify(ctx, kept)
		if err != nil {
			return err
		}
		if v.Broken > 0 {
			return fmt.Errorf("the audit log is broken at entry %d: %s; unchanged before it: %s",
				v.Broken, v.Why, command.Count(int(v.Entries), "entry", "entries"))
		}
		_, err = fmt.Fprintf(s.Out,
			"unchanged: %s; store this elsewhere to detect removed entries later: %d:%s\n",
			command.Count(int(v.Entries), "entry", "entries"), v.Entries, v.Sum)
		return err
	})
}
