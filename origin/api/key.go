package api

import (
	"net/http"
	"strconv"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/auditlog"
)

// listKeys lists every key, without its secret.
func (s *server) listKeys(c *call) error {
	keys, err := s.origin.Keys(c.r.Context())
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, list(keys))
}

// createKey makes a key for the default account.
func (s *server) createKey(c *call) error {
	var req fieldmark.KeyRequest
	err := c.decode(&req, func() (bad []fieldmark.FieldError) {
		for i, scope := range req.Scopes {
			if _, err := fieldmark.ParseScope(string(scope)); err != nil {
				bad = append(bad, fieldmark.FieldError{Pointer: "/scopes/" + strconv.Itoa(i), Code: "enum", Detail: "must be a known scope"})
			}
		}
		return bad
	})
	if err != nil {
		return err
	}
	k, err := s.origin.CreateKey(c.r.Context(), "", req)
	if err != nil {
		return err
	}
	return c.send(http.StatusCreated, k)
}

// rotateKey makes a key in place of another.
func (s *server) rotateKey(c *call) error {
	id, err := c.id(fieldmark.PrefixKey)
	if err != nil {
		return err
	}
	var req fieldmark.KeyRotation
	if err := c.decodeMaybe(&req); err != nil {
		return err
	}
	k, err := s.origin.RotateKey(c.r.Context(), id, req)
	if err != nil {
		return err
	}
	return c.send(http.StatusCreated, k)
}

// revokeKey ends a key.
func (s *server) revokeKey(c *call) error {
	id, err := c.id(fieldmark.PrefixKey)
	if err != nil {
		return err
	}
	var req fieldmark.KeyRevocation
	if err := c.decodeMaybe(&req); err != nil {
		return err
	}
	k, err := s.origin.RevokeKey(c.r.Context(), id, req.Reason)
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, k)
}

// listAccounts lists every account.
func (s *server) listAccounts(c *call) error {
	accounts, err := s.origin.Accounts(c.r.Context())
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, list(accounts))
}

// putAccount makes an account or changes what it is called.
func (s *server) putAccount(c *call) error {
	var req fieldmark.AccountRequest
	if err := c.decode(&req, func() []fieldmark.FieldError { return req.Check() }); err != nil {
		return err
	}
	a, _, err := s.origin.PutAccount(c.r.Context(), c.r.PathValue("account"), req)
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, a)
}

// auditPage is the parameters of the audit log.
var auditPage = []param{
	{name: "limit", does: "Entries, newest first", lowest: 1, highest: auditlog.MaxPage, preset: 50},
	{name: "cursor", does: "nextCursor of the page before"},
	{name: "actor", does: "Only acts of this user, key or command"},
	{name: "target", does: "Only what was done to this"},
}

// listAudit lists the audit log.
func (s *server) listAudit(c *call) error {
	var before int64
	if text := c.asked.text("cursor"); text != "" {
		var err error
		if before, err = strconv.ParseInt(text, 10, 64); err != nil || before < 1 {
			return fieldmark.Errorf(fieldmark.CodeInvalidCursor, "begin again with the first page")
		}
	}
	limit := c.asked.number("limit")
	entries, err := s.origin.AuditLog.List(c.r.Context(), before, c.asked.text("actor"), c.asked.text("target"), limit+1)
	if err != nil {
		return err
	}
	page := list(entries)
	if len(entries) > limit {
		page.Data, page.HasMore = entries[:limit], true
		page.NextCursor = strconv.FormatInt(entries[limit-1].Number, 10)
	}
	return c.send(http.StatusOK, page)
}

// verifyAudit checks every sum of the audit log.
func (s *server) verifyAudit(c *call) error {
	verdict, err := s.origin.AuditLog.Verify(c.r.Context(), fieldmark.AuditVerdict{})
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, verdict)
}
