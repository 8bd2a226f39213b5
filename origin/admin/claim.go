package admin

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/fieldmark/fieldmark"
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

func (h *claimHandler) get(req *request) error { return h.showClaim(req, http.StatusOK, nil) }

// claimData is one claim and the form that revokes it.
type claimData struct {
	fieldmark.Claim
	Others []fieldmark.Claim // of the same brand
	Posted string            // reason of the form
}

// maxOtherClaims limits the other claims of a brand on the page of a claim.
const maxOtherClaims = 20

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

// revoke ends a claim.
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
		return h.ask(req, web.Question{Title: "Revoke the claim of " + cmp.Or(string(c.Brand), c.URL) + "?",
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
