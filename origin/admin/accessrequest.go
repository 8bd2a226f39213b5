package admin

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/accessrequest"
	"github.com/fieldmark/fieldmark/origin/offer"
	"github.com/fieldmark/fieldmark/origin/web"
)

// accessRequestHandler serves requests for API keys, and the forms that decide them.
// The texts of a request come from strangers; the pages show them as text.
type accessRequestHandler struct {
	*console
	requests *accessrequest.Service
	accounts *access.Accounts
	offers   *offer.Service
	signOn   *access.SignOn // for the form that confirms the user's identity
}

// accessRequestsData is a page of requests in one state.
type accessRequestsData struct {
	Now      time.Time
	States   []option
	Requests []fieldmark.AccessRequest
	Next     string // the address of the next page
}

// Waits returns for how long a request has waited, in its largest unit.
func (d accessRequestsData) Waits(since fieldmark.Time) string {
	return formatAge(d.Now.Sub(since.Std()))
}

// list lists requests, by default the pending ones.
func (h *accessRequestHandler) list(req *request) error {
	query := req.r.URL.Query()
	state := cmp.Or(fieldmark.AccessState(query.Get("state")), fieldmark.AccessPending)
	before, err := cursorOf(query, fieldmark.PrefixAccess)
	if err != nil {
		return err
	}
	d := accessRequestsData{Now: time.Now()}
	for _, s := range fieldmark.AccessStates() {
		d.States = append(d.States, option{Value: string(s), Label: string(s), Selected: s == state})
	}
	if d.Requests, err = h.requests.List(req.r.Context(), state, before, listPageSize+1); err != nil {
		return err
	}
	d.Requests, d.Next = cutPage(d.Requests, accessPath, url.Values{"state": {string(state)}},
		func(r *fieldmark.AccessRequest) string { return r.ID })
	return h.show(req, http.StatusOK, "access-requests", web.Page{Title: "Requests for API keys", Data: d})
}

// get shows a request.
func (h *accessRequestHandler) get(req *request) error { return h.showRequest(req, http.StatusOK, nil) }

// accessRequestData is one request and the forms that decide it.
type accessRequestData struct {
	fieldmark.AccessRequest
	Reauthenticated bool // the request can be approved
	Reauth          reauthData
	Accounts        []option // the first creates the account
	Offers          []option
	Scopes          []option
	Lifetimes       []option
}

// newAccount is the option that creates an account.
// It is no valid id of an account.
const newAccount = "+"

// showRequest also shows the page again after a form was rejected. Viewers, and requests that were
// decided, have no forms.
func (h *accessRequestHandler) showRequest(req *request, status int, bad []web.FormError) error {
	ctx := req.r.Context()
	r, err := h.requests.Get(ctx, req.r.PathValue("id"))
	if err != nil {
		return err
	}
	page := accessPath + "/" + r.ID
	d := accessRequestData{AccessRequest: r, Reauthenticated: req.session.Reauthenticated(time.Now()),
		Reauth: reauthForm(req, h.signOn, page)}
	if r.State == fieldmark.AccessPending && req.canWrite() {
		if err := h.addChoices(req, &d); err != nil {
			return err
		}
	}
	return h.show(req, status, "access-request", web.Page{Title: "Request of " + r.Organization, Errors: bad, Data: &d})
}

// addChoices adds the options of the form that approves a request: those of the rejected form, or else
// what the applicant asked for.
func (h *accessRequestHandler) addChoices(req *request, d *accessRequestData) error {
	ctx, posted := req.r.Context(), req.r.PostForm
	rejected := posted.Has("account")
	accounts, err := h.accounts.List(ctx)
	if err != nil {
		return err
	}
	chosen := cmp.Or(posted.Get("account"), newAccount)
	d.Accounts = []option{{newAccount, "A new account", chosen == newAccount}}
	var ids []string
	for _, a := range accounts {
		ids = append(ids, a.ID)
		// The service refuses a sub-account.
		if a.Parent == "" {
			d.Accounts = append(d.Accounts, option{a.ID, strings.TrimSpace(a.Name + " (" + a.ID + ")"), chosen == a.ID})
		}
	}
	if !rejected {
		posted = url.Values{"new": {proposedAccount(d.Organization, ids)}}
		req.r.PostForm = posted
	}
	offers, err := h.offers.List(ctx)
	if err != nil {
		return err
	}
	wanted := posted.Get("offer")
	if i := slices.IndexFunc(offers, func(o fieldmark.Offer) bool { return o.Kind == d.Offer }); i >= 0 && !rejected {
		wanted = offers[i].ID
	}
	d.Offers = []option{{"", "Unchanged; none for a new account", wanted == ""}}
	for _, o := range offers {
		d.Offers = append(d.Offers, option{o.ID, o.Name + " (" + string(o.Kind) + ")", wanted == o.ID})
	}
	scopes := d.AccessRequest.Scopes
	if rejected {
		scopes = scopesOf(posted)
	}
	for _, s := range fieldmark.AccessScopes() {
		d.Scopes = append(d.Scopes, option{string(s), scopeLabels[s], slices.Contains(scopes, s)})
	}
	days := cmp.Or(posted.Get("days"), strconv.Itoa(fieldmark.DefaultKeyDays))
	for _, l := range keyLifetimes {
		l.Selected = l.Value == days
		d.Lifetimes = append(d.Lifetimes, l)
	}
	return nil
}

// scopesOf returns the scopes of the form; the service refuses unknown ones.
func scopesOf(posted url.Values) (list []fieldmark.Scope) {
	for _, s := range posted["scope"] {
		list = append(list, fieldmark.Scope(s))
	}
	return list
}

// proposedAccount makes the id of a new account from the name of an organization. It differs from those taken: a
// proposal that names the account of someone else would give the applicant their missions.
func proposedAccount(name string, taken []string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case (unicode.IsSpace(r) || unicode.IsPunct(r)) && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	const longest = 40 // characters: room for a number and for sub-accounts
	id := strings.Trim(b.String()[:min(b.Len(), longest)], "-")
	if id == "" {
		id = "account"
	}
	for n, base := 2, id; slices.Contains(taken, id); n++ {
		id = base + "-" + strconv.Itoa(n)
	}
	return id
}

// approve approves a request.
// The route needs a recent password or code, like that of new keys: an approval leads to one. The
// question comes after the errors of the form, so that it is about a form that can be accepted.
func (h *accessRequestHandler) approve(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	id, form := req.r.PathValue("id"), req.readForm("")
	a := fieldmark.AccessApproval{Account: strings.TrimSpace(form.posted.Get("account")),
		Offer:    form.posted.Get("offer"),
		Scopes:   scopesOf(form.posted),
		Networks: strings.Fields(strings.ReplaceAll(form.posted.Get("networks"), ",", " "))}
	if a.NewAccount = a.Account == newAccount; a.NewAccount {
		a.Account = strings.TrimSpace(form.posted.Get("new"))
	}
	a.RateLimit = &fieldmark.RateLimit{Reads: form.count("reads", "Reads a minute", fieldmark.MaxRate),
		Writes: form.count("writes", "Writes a minute", fieldmark.MaxRate)}
	a.ExpiresInDays = form.days()
	if form.errors != nil {
		return h.showRequest(req, http.StatusUnprocessableEntity, form.errors)
	}
	if !web.Confirmed(req.r) {
		r, err := h.requests.Get(req.r.Context(), id)
		if err != nil {
			return err
		}
		text := "The applicant can have a key of the account " + a.Account + " shown once. The e-mail address is not " +
			"verified. The decision cannot be changed; a key can be revoked."
		if a.NewAccount {
			text = "The account " + a.Account + " is created. " + text
		}
		return h.confirm(req, web.Confirmation{Title: "Approve the request of " + r.Organization + "?", Text: text,
			Button: "Approve request", Back: accessPath + "/" + id, Safe: true})
	}
	_, err := h.requests.Approve(req.r.Context(), id, a)
	if e := fieldmark.AsError(err); a.NewAccount && err != nil {
		for i := range e.Fields {
			// The error is about the input for the new id, not about the select of accounts.
			e.Fields[i].Pointer = strings.Replace(e.Fields[i].Pointer, "/account", "/newAccount", 1)
		}
	}
	return h.finish(req, "access_request.approved", err)
}

// decline declines a request.
func (h *accessRequestHandler) decline(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	id, reason := req.r.PathValue("id"), req.readForm("d-").posted.Get("reason")
	if strings.TrimSpace(reason) != "" && !web.Confirmed(req.r) { // the service refuses an empty reason
		r, err := h.requests.Get(req.r.Context(), id)
		if err != nil {
			return err
		}
		return h.confirm(req, web.Confirmation{Title: "Decline the request of " + r.Organization + "?",
			Back:   accessPath + "/" + id,
			Text:   "The decision cannot be changed. The applicant sees the reason: “" + reason + "”",
			Button: "Decline request"})
	}
	_, err := h.requests.Decline(req.r.Context(), id, fieldmark.AccessRefusal{Reason: reason})
	return h.finish(req, "access_request.declined", err)
}

// finish shows the request after a decision, with its errors.
func (h *accessRequestHandler) finish(req *request, action string, err error) error {
	id := req.r.PathValue("id")
	if isClientError(err) && !hasCode(err, fieldmark.CodeNotFound) {
		return h.showRequest(req, statusOf(err), req.formErrors(err))
	}
	if err != nil {
		return err
	}
	h.audit(req, action, id)
	return req.redirectWithNotice(accessPath+"/"+id, "decided")
}

// count returns a number of at most limit, and 0 for an empty input.
// 0 means the default of the installation.
func (f *form) count(name, label string, limit int) int {
	s := strings.TrimSpace(f.posted.Get(name))
	if s == "" {
		return 0
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > limit {
		f.addError(name, label+": a number from 1 to "+strconv.Itoa(limit)+", or empty for the default.")
		return 0
	}
	return n
}

// days returns the lifetime of a key in days.
// The service bounds it; a text that is no number is the default.
func (f *form) days() int {
	n, err := strconv.Atoi(f.posted.Get("days"))
	if err != nil {
		return fieldmark.DefaultKeyDays
	}
	return n
}
