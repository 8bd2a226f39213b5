package admin

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// entriesOnPage is how many acts a page of the audit log tells of.
const entriesOnPage = 50

type auditData struct {
	Entries       []fieldmark.AuditEntry
	Actor, Target string
	Next          string // the address of the next page
	Verdict       *fieldmark.AuditVerdict
}

func (a *area) auditLog(v *visit) error { return a.showAudit(v, nil) }

// verifyLog checks every sum of the log; to look is allowed to whoever may read it.
func (a *area) verifyLog(v *visit) error {
	verdict, err := a.origin.AuditLog.Verify(v.r.Context(), fieldmark.AuditVerdict{})
	if err != nil {
		return err
	}
	return a.showAudit(v, &verdict)
}

func (a *area) showAudit(v *visit, verdict *fieldmark.AuditVerdict) error {
	asked := v.r.URL.Query()
	before, err := strconv.ParseInt("0"+asked.Get("before"), 10, 64)
	if err != nil {
		return fieldmark.Errorf(fieldmark.CodeInvalidCursor, "Begin again with the first page.")
	}
	d := auditData{Actor: strings.TrimSpace(asked.Get("actor")), Target: strings.TrimSpace(asked.Get("target")), Verdict: verdict}
	if d.Entries, err = a.origin.AuditLog.List(v.r.Context(), before, d.Actor, d.Target, entriesOnPage+1); err != nil {
		return err
	}
	if len(d.Entries) > entriesOnPage {
		d.Entries = d.Entries[:entriesOnPage]
		d.Next = auditPath + "?" + url.Values{"before": {strconv.FormatInt(d.Entries[entriesOnPage-1].Number, 10)}, "actor": {d.Actor}, "target": {d.Target}}.Encode()
	}
	return a.show(v, http.StatusOK, "audit-log", page{Title: "Audit log", Data: d})
}
