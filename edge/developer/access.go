package developer

import (
	"html/template"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/site"
)

// AccessPage is the data of the page on which anyone requests an API key, and of the page of a request.
// The page of a request has its secret in its address: it is never indexed, and its links lead
// nowhere else.
type AccessPage struct {
	Form   fieldmark.AccessRequestForm
	Errors map[string]string // what is wrong with a field, by its name; "" is the whole
	Status *fieldmark.AccessStatus
	Secret string // of the request, in the address of its page; empty: the form is shown
	Key    *fieldmark.NewKey
}

// accessView is what templates/access.html shows.
type accessView struct {
	*site.Form
	*AccessPage
}

func newAccessView(p *AccessPage) accessView {
	f := &p.Form
	return accessView{site.NewForm(map[string]string{"organization": f.Organization, "name": f.Name, "email": f.Email,
		"purpose": f.Purpose}, p.Errors), p}
}

// scopeTexts describe the scopes that can be requested. Every scope of fieldmark.AccessScopes
// has a text.
var scopeTexts = map[fieldmark.Scope]string{
	fieldmark.ScopeMissionCreate:  "Create missions, singly or in batches",
	fieldmark.ScopeMissionRead:    "Read and list missions",
	fieldmark.ScopeMissionUpdate:  "Edit missions and add notes",
	fieldmark.ScopeMissionCancel:  "Cancel missions",
	fieldmark.ScopeMissionOperate: "Plan missions and change their status",
	fieldmark.ScopeWebhookManage:  "Manage webhook endpoints and read events",
	fieldmark.ScopeKeyTest:        "Create test keys, whose data is apart from live data",
	fieldmark.ScopeAccountManage:  "Manage sub-accounts and their keys; only with a group offer",
}

// offerTexts describe the kinds of offers.
var offerTexts = map[fieldmark.OfferKind]string{
	fieldmark.OfferStandard:   "Standard: one organization",
	fieldmark.OfferGroup:      "Group: several organizations that share limits",
	fieldmark.OfferEnterprise: "Enterprise: limits that you agree with the operator",
}

// accessChoice is a checkbox or an option of the form.
type accessChoice struct {
	Value, Text string
	Chosen      bool
}

// Scopes are the checkboxes. Those of a program that creates missions are checked at first.
// After an error the form keeps what was checked, also nothing.
func (v accessView) Scopes() (list []accessChoice) {
	chosen := v.AccessPage.Form.Scopes
	if v.Errors == nil {
		chosen = []fieldmark.Scope{fieldmark.ScopeMissionCreate, fieldmark.ScopeMissionRead}
	}
	for _, s := range fieldmark.AccessScopes() {
		list = append(list, accessChoice{string(s), scopeTexts[s], slices.Contains(chosen, s)})
	}
	return list
}

// Offers are the options.
func (v accessView) Offers() (list []accessChoice) {
	for _, k := range fieldmark.OfferKinds() {
		list = append(list, accessChoice{string(k), offerTexts[k], v.AccessPage.Form.Offer == k})
	}
	return list
}

// Limits are the numbers that the page names.
// The texts of the page name the numbers that the service enforces, so they cannot differ.
func (v accessView) Limits() map[string]int {
	return map[string]int{"Shown": fieldmark.AccessDays, "Kept": fieldmark.AccessKeptDays,
		"PerDay": fieldmark.AccessPerDay, "Name": fieldmark.MaxAccessName, "Email": fieldmark.MaxDisputeEmail,
		"Purpose": fieldmark.MaxAccessPurpose, "Least": fieldmark.MinAccessPurpose}
}

// AppendAccess appends the form, or the page of a request. Neither has the secret in its head, which
// search engines and previews read.
func (p *Pages) AppendAccess(dst []byte, page AccessPage) ([]byte, error) {
	a := site.Article{Path: fieldmark.PathAccessPage, Title: "Request an API key", Forms: true,
		Description: "Request a key for the Fieldmark API: say who you are and what the key is for. An operator of " +
			"this service decides."}
	if page.Secret != "" {
		a.Title, a.NoIndex = "Your request for an API key", true
	}
	return p.append(dst, "access.html", newAccessView(&page), a)
}

// accessFuncs are the functions of templates/access.html.
var accessFuncs = template.FuncMap{
	"day":     func(t fieldmark.Time) string { return t.Std().UTC().Format("2 January 2006") },
	"machine": func(t fieldmark.Time) string { return t.Std().UTC().Format(time.RFC3339) },
	// visible removes characters that hide or turn text, which strangers and administrators enter.
	// They would let a request or an answer show something else than it says.
	"visible": func(s string) string {
		return strings.Map(func(r rune) rune {
			if fieldmark.IsHidden(r) || unicode.IsControl(r) && r != '\n' && r != '\t' {
				return -1
			}
			return r
		}, s)
	},
}
