package api

import (
	"context"
	"strconv"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/auditlog"
)

// accessAPI serves API keys, accounts and the audit log.
type accessAPI struct {
	keys     *access.Keys
	accounts *access.Accounts
	auditLog *auditlog.Log
}

func (a *accessAPI) revokeKey(ctx context.Context, id string, r fieldmark.KeyRevocation) (fieldmark.Key, error) {
	return a.keys.Revoke(ctx, id, r.Reason)
}

func (a *accessAPI) putAccount(ctx context.Context, id string, r fieldmark.AccountRequest) (fieldmark.Account, error) {
	account, _, err := a.accounts.Put(ctx, id, r)
	return account, err
}

// auditParams are the query parameters of the audit log.
var auditParams = []param{
	{name: "limit", description: "Entries per page, newest first", lowest: 1, highest: auditlog.MaxPage, preset: 50},
	{name: "cursor", description: "nextCursor of the previous page"},
	{name: "actor", description: "Only actions of this user, key or command"},
	{name: "target", description: "Only actions on this object"},
}

// listAudit lists the audit log. The cursor is the number of the last entry of the previous page.
func (a *accessAPI) listAudit(c *call) (fieldmark.List[fieldmark.AuditEntry], error) {
	var before int64
	if text := c.params.text("cursor"); text != "" {
		var err error
		if before, err = strconv.ParseInt(text, 10, 64); err != nil || before < 1 {
			return list[fieldmark.AuditEntry](nil), errInvalidCursor()
		}
	}
	limit := c.params.number("limit")
	entries, err := a.auditLog.List(c.r.Context(), before, c.params.text("actor"), c.params.text("target"),
		limit+1)
	page := list(entries)
	if len(entries) > limit {
		page.Data, page.HasMore = entries[:limit], true
		page.NextCursor = strconv.FormatInt(entries[limit-1].Number, 10)
	}
	return page, err
}

func (a *accessAPI) verifyAudit(ctx context.Context) (fieldmark.AuditVerdict, error) {
	return a.auditLog.Verify(ctx, fieldmark.AuditVerdict{})
}
