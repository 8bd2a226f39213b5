package admin

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/export"
	"github.com/fieldmark/fieldmark/origin/web"
)

// auditLogHandler serves the audit log. The embedded console appends to the same log.
type auditLogHandler struct{ *console }

// auditPageSize is the number of entries per page of the audit log.
const auditPageSize = 50

// auditFilters are the inputs of the filter, whose ids are their names.
var auditFilters = []string{"from", "to", "actor", "action", "target"}

// auditInputs map pointers of errors of the query to the inputs.
var auditInputs = map[string]web.Input{"?from": {"from", "From"}, "?to": {"to", "To"}}

// auditData is a page of entries with its filter.
type auditData struct {
	Entries  []fieldmark.AuditEntry
	Filter   map[string]string // values of the inputs
	Actions  []string
	Next     string // the address of the next page
	Export   string // the address of the entries as CSV
	Filtered bool
	Verdict  *fieldmark.AuditVerdict
}

// list shows the newest entries.
func (h *auditLogHandler) list(req *request) error { return h.showAudit(req, nil) }

// verify verifies the hash chain of the audit log. Viewers may do it too.
// It changes nothing, and is a form because it reads the whole log.
func (h *auditLogHandler) verify(req *request) error {
	verdict, err := h.auditLog.Verify(req.r.Context(), fieldmark.AuditVerdict{})
	if err != nil {
		return err
	}
	return h.showAudit(req, &verdict)
}

// showAudit shows the page before an entry number, or the first one.
func (h *auditLogHandler) showAudit(req *request, verdict *fieldmark.AuditVerdict) error {
	query := req.r.URL.Query()
	// The zero makes an empty text 0, and rejects a sign.
	before, err := strconv.ParseInt("0"+query.Get("before"), 10, 64)
	if err != nil {
		return fieldmark.Errorf(fieldmark.CodeInvalidCursor, "Start again from the first page.")
	}
	f, err := auditlog.ParseFilter(query.Get)
	if err != nil {
		return h.showEntries(req, auditData{}, err)
	}
	d := auditData{Verdict: verdict}
	if d.Entries, err = h.auditLog.List(req.r.Context(), before, f, auditPageSize+1); err != nil {
		return err
	}
	return h.showEntries(req, d, nil)
}

// showEntries shows a page of entries, or the error of the filter.
func (h *auditLogHandler) showEntries(req *request, d auditData, bad error) error {
	query, filter := req.r.URL.Query(), url.Values{}
	d.Actions, d.Filter = auditlog.Actions(), map[string]string{}
	for _, name := range auditFilters {
		if d.Filter[name] = query.Get(name); d.Filter[name] != "" {
			filter.Set(name, d.Filter[name])
			d.Filtered = true
		}
	}
	d.Export = auditPath + "/export?" + filter.Encode()
	if len(d.Entries) > auditPageSize {
		d.Entries = d.Entries[:auditPageSize]
		filter.Set("before", strconv.FormatInt(d.Entries[auditPageSize-1].Number, 10))
		d.Next = auditPath + "?" + filter.Encode()
	}
	page := web.Page{Title: "Audit log", Data: d}
	if bad == nil {
		return h.show(req, http.StatusOK, "audit-log", page)
	}
	page.Errors = web.FormErrors(bad, auditInputs, "")
	return h.show(req, statusOf(bad), "audit-log", page)
}

// export sends the entries that match the filter as CSV.
// An error of the filter is shown on the page; one after the first row can only end the file early.
func (h *auditLogHandler) export(req *request) error {
	f, err := auditlog.ParseFilter(req.r.URL.Query().Get)
	if err == nil {
		err = h.auditLog.ExportCSV(req.r.Context(), f, export.Send(req.w, "text/csv; charset=utf-8; header=present",
			"audit-log.csv"))
	}
	if hasCode(err, fieldmark.CodeInvalidParameter) {
		return h.showEntries(req, auditData{}, err)
	}
	return err
}
