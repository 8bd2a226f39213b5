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
	"github.com/fieldmark/fieldmark/origin/claim"
	"github.com/fieldmark/fieldmark/origin/web"
)

// claimHandler serves the list of claims, and the form that revokes one.
type claimHandler struct {
	*console
	claims *claim.Service
}

// claimsData is a page of claims.
type claimsData struct {
	States []option
	Brand  string
	Claims []fieldmark.Claim
	Next   string // the address of the next page
}

// list lists claims, the newest first.
func (h *claimHandler) list(req *request) error {
	query := req.r.URL.Query()
	state := fieldmark.ClaimState(query.Get("state"))
	before, err := cursorOf(query, fieldmark.PrefixClaim)
	if err != nil {
		return err
	}
	d := claimsData{Brand: strings.TrimSpace(query.Get("brand")),
		States: []option{{Label: "any", Selected: state == ""}}}
	for _, s := range fieldmark.ClaimStates() {
		d.States = append(d.States, option{Value: string(s), Label: string(s), Selected: s == state})
	}
	d.Claims, err = h.claims.List(req.r.Context(), state, fieldmark.Slug(d.Brand), before, listPageSize+1)
	if err != nil {
		return err
	}
	d.Claims, d.Next = cutPage(d.Claims, claimsPath, url.Values{"state": {string(state)}, "brand": {d.Brand}},
		func(c *fieldmark.Claim) string { return c.ID })
	return h.show(req, http.StatusOK, "claims", web.Page{Title: "Claims", Data: d})
}

// get shows a claim.
func (h *claimHandler) get(req *request) error { return h.showClaim(req, http.StatusOK, nil) }

// claimData is one claim and the form that revokes it.
type claimData struct {
	fieldmark.Claim
	Others []fieldmark.Claim // of the same brand
	Posted string            // reason of the form
}

// maxOtherClaims limits the other claims of a brand on the page of a claim.
const maxOtherClaims = 20

// showClaim shows a claim with the others of its brand, so that an administrator sees whether two
// parties claim it.
func (h *claimHandler) showClaim(req *request, status int, bad []web.FormError) error {
	ctx := req.r.Context()
	c, err := h.claims.Get(ctx, req.r.PathValue("id"), claim.Caller{Admin: true})
	if err != nil {
		return err
	}
	d := claimData{Claim: c, Posted: req.r.PostForm.Get("reason")}
	title := "Claim of " + c.URL
	if c.Brand != "" {
		title = "Claim of " + string(c.Brand)
		// One more, because the claim itself may be among them.
		others, err := h.claims.List(ctx, "", c.Brand, "", maxOtherClaims+1)
		if err != nil {
			return err
		}
		for i := range others {
			if others[i].ID != c.ID {
				d.Others = append(d.Others, others[i])
			}
		}
	}
	return h.show(req, status, "claim", web.Page{Title: title, Errors: bad, Data: d})
}

// revoke ends a claim. It asks for confirmation first, because the keys and sessions of the account end with it.
func (h *claimHandler) revoke(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	id, reason := req.r.PathValue("id"), req.r.PostForm.Get("reason")
	if strings.TrimSpace(reason) != "" && !web.Confirmed(req.r) { // the service refuses an empty reason
		c, err := h.claims.Get(req.r.Context(), id, claim.Caller{Admin: true})
		if err != nil {
			return err
		}
		return h.confirm(req, web.Confirmation{Title: "Revoke the claim of " + cmp.Or(string(c.Brand), c.URL) + "?",
			Text:   "The keys and sessions of its account end now. The owner sees the reason: “" + reason + "”",
			Button: "Revoke claim", Back: claimsPath + "/" + id})
	}
	_, err := h.claims.Revoke(req.r.Context(), id, fieldmark.ClaimRevocation{Reason: reason})
	if hasCode(err, fieldmark.CodeValidationFailed, fieldmark.CodeClaimState) {
		return h.showClaim(req, statusOf(err), req.formErrors(err))
	}
	if err != nil {
		return err
	}
	h.audit(req, "claim.revoked", id)
	return req.redirectWithNotice(claimsPath+"/"+id, "ended")
}

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

// get shows a request.
func (h *brandRequestHandler) get(req *request) error { return h.showRequest(req, http.StatusOK, nil) }

// requestData is one request, what it changes, and the form that decides it.
type requestData struct {
	fieldmark.BrandRequest
	Rows   []changeRow
	Posted string // answer of the form
}

// changeRow is a member that a request changes.
type changeRow struct{ Label, Now, Wanted string }

// showRequest compares a change of the profile with the brand as it is now, not as it was when the
// request was sent.
func (h *brandRequestHandler) showRequest(req *request, status int, bad []web.FormError) error {
	ctx := req.r.Context()
	r, err := h.owners.Request(ctx, req.r.PathValue("id"))
	if err != nil {
		return err
	}
	d := requestData{BrandRequest: r, Posted: req.r.PostForm.Get("answer")}
	if r.Change.Profile != nil {
		b, err := h.brands.Get(ctx, r.Brand)
		if err != nil {
			return err
		}
		p := r.Change.ApplyProfile(b.Profile())
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
// The first decision is final.
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
		q := web.Confirmation{Title: fmt.Sprintf("%s the request for %s?", verb, r.Brand), Button: verb + " request",
			Text: "The decision cannot be changed. The owner can send another request.", Back: requestsPath + "/" + id}
		if decision.State == fieldmark.RequestApproved {
			q.Text, q.Safe = "The change takes effect at once. The decision cannot be changed.", true
		}
		return h.confirm(req, q)
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
