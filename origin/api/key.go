package api

import (
	"context"
	"strconv"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/auditlog"
)

func (s *server) revokeKey(ctx context.Context, id string, r fieldmark.KeyRevocation) (fieldmark.Key, error) {
	return s.origin.Access.Keys.Revoke(ctx, id, r.Reason)
}

func (s *server) putAccount(ctx context.Context, id string, r fieldmark.AccountRequest) (fieldmark.Account, error) {
	a, _, err := s.origin.Access.Accounts.Put(ctx, id, r)
	return a, err
}

// auditParams are the query parameters of the audit log.
var auditParams = []param{
	{name: "limit", description: "Entries per page, newest first", lowest: 1, highest: auditlog.MaxPage, preset: 50},
	{name: "cursor", description: "nextCursor of the previous page"},
	{name: "actor", description: "Only actions of this user, key or command"},
	{name: "target", description: "Only actions on this object"},
}

// listAudit lists the audit log. The cursor is the number of the last entry of the previous page.
func (s *server) listAudit(c *call) (fieldmark.List[fieldmark.AuditEntry], error) {
	var before int64
	if text := c.params.text("cursor"); text != "" {
		var err error
		if before, err = strconv.ParseInt(text, 10, 64); err != nil || before < 1 {
			return list[fieldmark.AuditEntry](nil), errInvalidCursor()
		}
	}
	limit := c.params.number("limit")
	entries, err := s.origin.AuditLog.List(c.r.Context(), before, c.params.text("actor"), c.params.text("target"),
		limit+1)
	page := list(entries)
	if len(entries) > limit {
		page.Data, page.HasMore = entries[:limit], true
		page.NextCursor = strconv.FormatInt(entries[limit-1].Number, 10)
	}
	return page, err
}

func (s *server) verifyAudit(ctx context.Context) (fieldmark.AuditVerdict, error) {
	return s.origin.AuditLog.Verify(ctx, fieldmark.AuditVerdict{})
}
