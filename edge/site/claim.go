package site

import "github.com/fieldmark/fieldmark"

// ClaimPage is the data of the page on which the owner of a site claims its brand.
type ClaimPage struct {
	BaseURL string // scheme and host of the site, without a slash at the end
	Form    map[string]string
	Errors  map[string]string // what is wrong with a field, by its name; "" is the whole
	Tried   []fieldmark.ClaimAttempt
	Claim   *fieldmark.Claim // nil: the form is shown
	Secret  string           // of the claim, in the form that checks it
	Opened  bool             // the claim was opened by this request
	Access  *fieldmark.ClaimAccess
}

// claimView is what templates/claim.html shows.
type claimView struct {
	*Form

	Head head
	Page *ClaimPage
}

func newClaimView(c chrome, p *ClaimPage) *claimView {
	return &claimView{Form: NewForm(p.Form, p.Errors), Page: p,
		Head: head{chrome: c, Base: p.BaseURL, Kind: "website", Title: "Claim your brand",
			Description: "Prove that a website is yours, and manage its brand here."}}
}

// Result is what the last check found by a method, nil before the first.
func (v *claimView) Result(m fieldmark.ClaimMethod) *fieldmark.ClaimAttempt {
	for i := range v.Page.Tried {
		if v.Page.Tried[i].Method == m {
			return &v.Page.Tried[i]
		}
	}
	return nil
}
