package admin

import (
	"net/http"
	"net/url"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/brand"
	"github.com/fieldmark/fieldmark/origin/web"
)

// disputeHandler serves the list of disputes and the form that decides one.
type disputeHandler struct {
	*console
	disputes *brand.Disputes
}

// disputePageSize is the number of disputes on a page of the list.
const disputePageSize = 50

// disputesData is a page of disputes in one state.
type disputesData struct {
	States   []option
	Disputes []fieldmark.Dispute
	Next     string // the address of the next page
}

// list lists disputes, by default the open ones.
func (h *disputeHandler) list(req *request) error {
	query := req.r.URL.Query()
	before, state := query.Get("before"), fieldmark.DisputeState(query.Get("state"))
	if before != "" && !fieldmark.CheckID(fieldmark.PrefixDispute, before) {
		return fieldmark.Errorf(fieldmark.CodeInvalidCursor, "Start again from the first page.")
	}
	if state == "" {
		state = fieldmark.DisputeOpen
	}
	var d disputesData
	for _, s := range []fieldmark.DisputeState{fieldmark.DisputeOpen, fieldmark.DisputeUpheld,
		fieldmark.DisputeRejected} {
		d.States = append(d.States, option{Value: string(s), Label: string(s), Selected: s == state})
	}
	var err error
	if d.Disputes, err = h.disputes.List(req.r.Context(), "", state, before,
		disputePageSize+1); err != nil {
		return err
	}
	if len(d.Disputes) > disputePageSize {
		d.Disputes = d.Disputes[:disputePageSize]
		d.Next = disputesPath + "?" + url.Values{"state": {string(state)},
			"before": {d.Disputes[disputePageSize-1].ID}}.Encode()
	}
	return h.show(req, http.StatusOK, "disputes", web.Page{Title: "Disputes", Data: d})
}

func (h *disputeHandler) get(req *request) error { return h.showDispute(req, http.StatusOK, nil) }

// disputeData is one dispute and the form that decides it.
type disputeData struct {
	fieldmark.Dispute
	PublicPath string // where the sender sees the state
	Answer     string // of the form
}

func (h *disputeHandler) showDispute(req *request, status int, bad []web.FormError) error {
	d, err := h.disputes.Get(req.r.Context(), req.r.PathValue("id"))
	if err != nil {
		return err
	}
	data := disputeData{Dispute: d, Answer: req.r.PostForm.Get("answer"),
		PublicPath: fieldmark.DisputePath(d.Brand, "") + "?dispute=" + d.ID}
	return h.show(req, status, "dispute", web.Page{Title: "Dispute of " + d.Signal, Errors: bad, Data: data})
}

// decide upholds or rejects a dispute.
func (h *disputeHandler) decide(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	id := req.r.PathValue("id")
	_, err := h.disputes.Decide(req.r.Context(), id, fieldmark.DisputeDecision{
		State: fieldmark.DisputeState(req.r.PostForm.Get("do")), Answer: req.r.PostForm.Get("answer")})
	if hasCode(err, fieldmark.CodeValidationFailed, fieldmark.CodeDisputeDecided) {
		return h.showDispute(req, statusOf(err), req.formErrors(err))
	}
	if err != nil {
		return err
	}
	h.audit(req, "dispute.decide", id)
	return req.redirectWithNotice(disputesPath+"/"+id, "decided")
}
