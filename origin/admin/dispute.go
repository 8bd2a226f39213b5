package admin

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/brand"
	"github.com/fieldmark/fieldmark/origin/web"
)

// disputeHandler serves the list of disputes and the form that decides one.
type disputeHandler struct {
	*console
	disputes *brand.Disputes
}

// disputesData is a page of disputes in one state.
type disputesData struct {
	Now      time.Time
	States   []option
	Disputes []fieldmark.Dispute
	Next     string // the address of the next page
}

// Waits returns for how long a dispute has waited for its end, in its largest unit.
func (d disputesData) Waits(since fieldmark.Time) string { return formatAge(d.Now.Sub(since.Std())) }

// list lists disputes, by default those that wait for a decision.
func (h *disputeHandler) list(req *request) error {
	query := req.r.URL.Query()
	state := fieldmark.DisputeState(query.Get("state"))
	before, err := cursorOf(query, fieldmark.PrefixDispute)
	if err != nil {
		return err
	}
	d := disputesData{Now: time.Now(), States: []option{{Label: "to decide", Selected: state == ""}}}
	for _, s := range fieldmark.DisputeStates() {
		d.States = append(d.States, option{Value: string(s), Label: web.StateWords(s), Selected: s == state})
	}
	if state == "" {
		d.Disputes, err = h.disputes.ListWaiting(req.r.Context(), "", before, listPageSize+1)
	} else {
		d.Disputes, err = h.disputes.List(req.r.Context(), "", state, before, listPageSize+1)
	}
	if err != nil {
		return err
	}
	d.Disputes, d.Next = cutPage(d.Disputes, disputesPath, url.Values{"state": {string(state)}},
		func(x *fieldmark.Dispute) string { return x.ID })
	return h.show(req, http.StatusOK, "disputes", web.Page{Title: "Disputes", Data: d})
}

// get shows a dispute.
func (h *disputeHandler) get(req *request) error { return h.showDispute(req, http.StatusOK, nil) }

// disputeData is one dispute and the form that decides it.
type disputeData struct {
	fieldmark.Dispute
	Rows       []factRow
	PublicPath string // where the sender sees the state
	Answer     string // of the form
}

// Waits returns for how long the dispute has waited for its end, in its largest unit.
func (d *disputeData) Waits() string { return formatAge(time.Since(d.OpenedAt.Std())) }

// Rechecked reports whether no audit comes before the decision.
func (d *disputeData) Rechecked() bool {
	return d.Account == "" || d.State == fieldmark.DisputeInReview
}

// Effect returns what upholding a dispute of an owner does to its facts, "" if it does nothing to them.
func (d *disputeData) Effect() string {
	// Only a dispute of an owner changes facts.
	if d.Account == "" || len(d.Facts) == 0 || d.Signal == fieldmark.GateManipulation {
		return ""
	}
	state := fieldmark.Unknown
	if d.Kind == fieldmark.DisputeNotApplicable {
		state = fieldmark.NotApplicable
	}
	return fmt.Sprintf("the disputed facts become %s for %d days, or until the rules of the auditor change. The score "+
		"is calculated again without them; it gets no points for them.", web.StateWords(state),
		fieldmark.StaleAfter/(24*time.Hour))
}

// factRow is a fact that a dispute is about.
type factRow struct {
	Then *fieldmark.Fact // when an owner opened the dispute; nil in one of the public
	Now  fieldmark.Fact
}

// Differs reports whether the fact changed since the dispute was opened.
func (r factRow) Differs() bool {
	return r.Then != nil && (r.Then.State != r.Now.State || r.Then.Value != r.Now.Value)
}

// showDispute shows each fact as it was when the dispute was opened beside what the latest audit found.
func (h *disputeHandler) showDispute(req *request, status int, bad []web.FormError) error {
	d, err := h.disputes.Get(req.r.Context(), req.r.PathValue("id"))
	if err != nil {
		return err
	}
	data := disputeData{Dispute: d, Answer: req.r.PostForm.Get("answer"),
		PublicPath: fieldmark.DisputePath(d.Brand, "") + "?dispute=" + d.ID}
	then, now, err := h.disputes.Findings(req.r.Context(), &d)
	if err != nil {
		return err
	}
	for i := range now {
		data.Rows = append(data.Rows, factRow{Now: now[i]})
		if then != nil {
			data.Rows[i].Then = &then[i]
		}
	}
	return h.show(req, status, "dispute", web.Page{Title: "Dispute of " + d.Signal, Errors: bad, Data: &data})
}

// decisionVerbs are the verbs of decisions about disputes and requests.
var decisionVerbs = map[string]string{
	string(fieldmark.DisputeUpheld): "Uphold", string(fieldmark.DisputeRejected): "Reject",
	string(fieldmark.RequestApproved): "Approve",
}

// decide upholds or rejects a dispute.
// It asks for confirmation and shows the reason, because a decision is final and is published with it.
func (h *disputeHandler) decide(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	id := req.r.PathValue("id")
	decision := fieldmark.DisputeDecision{State: fieldmark.DisputeState(req.r.PostForm.Get("do")),
		Answer: req.r.PostForm.Get("answer")}
	// The service refuses a decision without a reason.
	if verb := decisionVerbs[string(decision.State)]; verb != "" && strings.TrimSpace(decision.Answer) != "" &&
		!web.Confirmed(req.r) {
		d, err := h.disputes.Get(req.r.Context(), id)
		if err != nil {
			return err
		}
		return h.confirm(req, web.Confirmation{
			Title:  fmt.Sprintf("%s the dispute of %s for %s?", verb, d.Signal, d.Brand),
			Text:   "The decision is published with your reason: “" + decision.Answer + "”",
			Button: verb + " dispute", Back: disputesPath + "/" + id})
	}
	_, err := h.disputes.Decide(req.r.Context(), id, decision)
	if hasCode(err, fieldmark.CodeValidationFailed, fieldmark.CodeDisputeDecided) {
		return h.showDispute(req, statusOf(err), req.formErrors(err))
	}
	if err != nil {
		return err
	}
	h.audit(req, "dispute.decided", id)
	return req.redirectWithNotice(disputesPath+"/"+id, "decided")
}
