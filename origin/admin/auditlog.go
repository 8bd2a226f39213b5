package admin

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/web"
)

// auditLogHandler serves the audit log. The embedded console appends to the same log.
type auditLogHandler struct{ *console }

// auditPageSize is the number of entries per page of the audit log.
const auditPageSize = 50

type auditData struct {
	Entries       []fieldmark.AuditEntry
	Actor, Target string
	Next          string // the address of the next page
	Verdict       *fieldmark.AuditVerdict
}

func (h *auditLogHandler) list(req *request) error { return h.showAudit(req, nil) }

// verify verifies the hash chain of the audit log. Viewers may do it too.
func (h *auditLogHandler) verify(req *request) error {
	verdict, err := h.auditLog.Verify(req.r.Context(), fieldmark.AuditVerdict{})
	if err != nil {
		return err
	}
	return h.showAudit(req, &verdict)
}

func (h *auditLogHandler) showAudit(req *request, verdict *fieldmark.AuditVerdict) error {
	query := req.r.URL.Query()
	before, err := strconv.ParseInt("0"+query.Get("before"), 10, 64)
	if err != nil {
		return fieldmark.Errorf(fieldmark.CodeInvalidCursor, "Start again from the first page.")
	}
	d := auditData{Actor: strings.TrimSpace(query.Get("actor")), Target: strings.TrimSpace(query.Get("target")),
		Verdict: verdict}
	if d.Entries, err = h.auditLog.List(req.r.Context(), before, d.Actor, d.Target,
		auditPageSize+1); err != nil {
		return err
	}
	if len(d.Entries) > auditPageSize {
		d.Entries = d.Entries[:auditPageSize]
		d.Next = auditPath + "?" + url.Values{"before": {strconv.FormatInt(d.Entries[auditPageSize-1].Number, 10)},
			"actor": {d.Actor}, "target": {d.Target}}.Encode()
	}
	return h.show(req, http.StatusOK, "audit-log", web.Page{Title: "Audit log", Data: d})
}
