package admin

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/brand"
	"github.com/fieldmark/fieldmark/origin/web"
)

// brandRequestHandler serves the changes of brands that their owners request.
type brandRequestHandler struct {
	*console
	owners *brand.Owners
}

// requestsData is a page of requests in one state.
type requestsData struct {
	Now      time.Time
	States   []option
	Requests []fieldmark.BrandRequest
	Next     string // the address of the next page
}

// Waits returns for how long a request has waited, in its largest unit.
func (d requestsData) Waits(since fieldmark.Time) string { return formatAge(d.Now.Sub(since.Std())) }

// list lists requests, by default the pending ones.
func (h *brandRequestHandler) list(req *request) error {
	query := req.r.URL.Query()
	state := cmp.Or(fieldmark.RequestState(query.Get("state")), fieldmark.RequestPending)
	before, err := cursorOf(query, fieldmark.PrefixChange)
	if err != nil {
		return err
	}
	d := requestsData{Now: time.Now()}
	for _, s := range []fieldmark.RequestState{fieldmark.RequestPending, fieldmark.RequestApproved,
		fieldmark.RequestRejected, fieldmark.RequestReplaced, fieldmark.RequestLapsed} {
		d.States = append(d.States, option{Value: string(s), Label: string(s), Selected: s == state})
	}
	if d.Requests, err = h.owners.Requests(req.r.Context(), state, before, listPageSize+1); err != nil {
		return err
	}
	d.Requests, d.Next = cutPage(d.Requests, requestsPath, url.Values{"state": {string(state)}},
		func(r *fieldmark.BrandRequest) string { return r.ID })
	return h.show(req, http.StatusOK, "requests", web.Page{Title: "Requests of brand owners", Data: d})
}

func (h *brandRequestHandler) get(req *request) error { return h.showRequest(req, http.StatusOK, nil) }

// requestData is one request, what it changes, and the form that decides it.
type requestData struct {
	fieldmark.BrandRequest
	Rows   []changeRow
	Posted string // answer of the form
}

// changeRow is a member that a request changes.
type changeRow struct{ Label, Now, Wanted string }

func (h *brandRequestHandler) showRequest(req *request, status int, bad []web.FormError) error {
	ctx := req.r.Context()
	r, err := h.owners.Request(ctx, req.r.PathValue("id"))
	if err != nil {
		return err
	}
	d := requestData{BrandRequest: r, Posted: req.r.PostForm.Get("answer")}
	if p := r.Change.Profile; p != nil {
		b, err := h.brands.Get(ctx, r.Brand)
		if err != nil {
			return err
		}
		for _, row := range []changeRow{{"Name", b.Name, p.Name}, {"Niche", b.Niche, p.Niche},
			{"Language", b.Language, p.Language}, {"Description", b.Description, p.Description}} {
			if row.Now != row.Wanted {
				d.Rows = append(d.Rows, row)
			}
		}
	}
	return h.show(req, status, "request", web.Page{Title: "Request for " + string(r.Brand), Errors: bad, Data: d})
}

// decide approves or rejects a request.
func (h *brandRequestHandler) decide(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	id := req.r.PathValue("id")
	decision := fieldmark.RequestDecision{State: fieldmark.RequestState(req.r.PostForm.Get("do")),
		Answer: req.r.PostForm.Get("answer")}
	verb := decisionVerbs[string(decision.State)]
	// The service refuses a rejection without a reason.
	if verb != "" && (strings.TrimSpace(decision.Answer) != "" || decision.State == fieldmark.RequestApproved) &&
		!web.Confirmed(req.r) {
		r, err := h.owners.Request(req.r.Context(), id)
		if err != nil {
			return err
		}
		q := web.Question{Title: fmt.Sprintf("%s the request for %s?", verb, r.Brand), Button: verb + " request",
			Text: "The decision cannot be changed. The owner can send another request.", Back: requestsPath + "/" + id}
		if decision.State == fieldmark.RequestApproved {
			q.Text = "The change takes effect at once. The decision cannot be changed."
		}
		return h.ask(req, q)
	}
	_, err := h.owners.DecideRequest(req.r.Context(), id, decision)
	if isClientError(err) && !hasCode(err, fieldmark.CodeNotFound) {
		return h.showRequest(req, statusOf(err), req.formErrors(err))
	}
	if err != nil {
		return err
	}
	h.audit(req, "brand_request.decided", id)
	return req.redirectWithNotice(requestsPath+"/"+id, "decided")
}
