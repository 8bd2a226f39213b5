package admin

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/offer"
	"github.com/fieldmark/fieldmark/origin/web"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// accountHandler serves the accounts page.
type accountHandler struct {
	*console
	accounts *access.Accounts
	keys     *access.Keys     // counts the keys of each account
	webhooks *webhook.Service // counts its endpoints
	offers   *offer.Service
}

// accountRow is an account on the accounts page.
type accountRow struct {
	fieldmark.Account
	Keys, Endpoints int // active ones
	Use             fieldmark.AccountUse
	Subs            []fieldmark.SubAccount
	Offers          []option
	Version         string // of the values in the form
}

// accountsData is the page of accounts, and the offers that a new account can have.
type accountsData struct {
	Accounts []accountRow
	Offers   []option // for a new account
}

func (h *accountHandler) list(req *request) error { return h.showAccounts(req, http.StatusOK, nil) }

// showAccounts shows the page, after an error with what was entered. It reads keys and endpoints once
// for all accounts, but use and sub-accounts only of accounts with an offer.
func (h *accountHandler) showAccounts(req *request, status int, bad []web.FormError) error {
	ctx := req.r.Context()
	accounts, err := h.accounts.List(ctx)
	if err != nil {
		return err
	}
	keys, err := h.keys.List(ctx)
	if err != nil {
		return err
	}
	endpoints, err := h.webhooks.Endpoints(ctx, "")
	if err != nil {
		return err
	}
	owned := map[string]*accountRow{}
	lines := make([]accountRow, len(accounts))
	for i, one := range accounts {
		lines[i].Account, lines[i].Version = one, access.AccountVersion(&one)
		owned[one.ID] = &lines[i]
	}
	// Counted in memory: a query for each account would grow with the page.
	for _, k := range keys {
		state := k.State(time.Now())
		// A replaced key works until its grace period ends, so it counts.
		if line := owned[k.Account]; line != nil && (state == fieldmark.KeyLive || state == fieldmark.KeyReplaced) {
			line.Keys++
		}
	}
	for _, e := range endpoints {
		if line := owned[e.Account]; line != nil {
			line.Endpoints++
		}
	}
	// All offers, also those that no account has: they are the choices of each row.
	offers, err := h.offers.List(ctx)
	if err != nil {
		return err
	}
	for i := range lines {
		line := &lines[i]
		line.Offers = offerChoices(offers, line.Offer)
		// Limits by day and sub-accounts are those of an offer.
		if line.Offer == "" {
			continue
		}
		if line.Use, err = h.offers.Use(ctx, line.ID); err != nil {
			return err
		}
		if line.Subs, err = h.offers.Groups.List(ctx, line.ID); err != nil {
			return err
		}
	}
	return h.show(req, status, "accounts", web.Page{Title: "Accounts", Errors: bad,
		Data: accountsData{lines, offerChoices(offers, req.r.PostForm.Get("offer"))}})
}

// offerChoices are the options of a select for offers.
func offerChoices(offers []fieldmark.Offer, chosen string) []option {
	// No offer is a choice: its account has the limits of the installation.
	list := []option{{Value: "", Label: "None", Selected: chosen == ""}}
	for _, o := range offers {
		list = append(list, option{Value: o.ID, Label: o.Name, Selected: o.ID == chosen})
	}
	return list
}

// offerRow is an offer on the offers page.
type offerRow struct {
	fieldmark.Offer
	Kinds  []option
	Scopes []option
}

// offersData is the page of offers: those that exist, and the values of the form for a new one.
type offersData struct {
	Offers []offerRow
	New    offerRow
}

// newOfferRow returns an offer with the choices of its form.
// The scope of administrators reaches all accounts, so it is not offered.
func newOfferRow(o fieldmark.Offer) offerRow {
	row := offerRow{Offer: o}
	for _, k := range fieldmark.OfferKinds() {
		row.Kinds = append(row.Kinds, option{Value: string(k), Label: string(k), Selected: k == o.Kind})
	}
	for _, s := range fieldmark.Scopes() {
		if s != fieldmark.ScopeAdmin {
			row.Scopes = append(row.Scopes, option{Value: string(s), Label: scopeLabels[s],
				Selected: slices.Contains(o.Scopes, s)})
		}
	}
	return row
}

func (h *accountHandler) listOffers(req *request) error { return h.showOffers(req, http.StatusOK, nil) }

// showOffers shows the page; New has the defaults of a new offer.
func (h *accountHandler) showOffers(req *request, status int, bad []web.FormError) error {
	offers, err := h.offers.List(req.r.Context())
	if err != nil {
		return err
	}
	d := offersData{New: newOfferRow(fieldmark.Offer{Kind: fieldmark.OfferStandard})}
	for _, o := range offers {
		d.Offers = append(d.Offers, newOfferRow(o))
	}
	return h.show(req, status, "offers", web.Page{Title: "Offers", Errors: bad, Data: d})
}

// putOffer creates an offer, or changes the version of one that the form was made for.
// The limits apply to all accounts with the offer at once, so it refuses a form that was overtaken.
func (h *accountHandler) putOffer(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	form := req.readForm("")
	id := strings.TrimSpace(form.posted.Get("id"))
	version := 0 // of an offer that does not exist
	if form.posted.Has("version") {
		req.readForm(id + "-") // errors belong to the inputs of that offer
		version, _ = strconv.Atoi(form.posted.Get("version"))
	}
	r := fieldmark.OfferRequest{Name: strings.TrimSpace(form.posted.Get("name")),
		Kind: fieldmark.OfferKind(form.posted.Get("kind")), Note: strings.TrimSpace(form.posted.Get("note"))}
	for _, s := range form.posted["scope"] {
		r.Scopes = append(r.Scopes, fieldmark.Scope(s))
	}
	for name, to := range map[string]*int{"reads": &r.Limits.ReadsPerMinute, "writes": &r.Limits.WritesPerMinute,
		"endpoints": &r.Limits.Endpoints, "missions": &r.Limits.MissionsPerDay, "history": &r.Limits.HistoryDays,
		"key-days": &r.MaxKeyDays} {
		// An empty input is 0: the offer sets no limit.
		text := strings.TrimSpace(form.posted.Get(name))
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			n = -1 // rejected with the limits of the field
		}
		*to = n
	}
	_, err := h.offers.Put(req.r.Context(), id, r, []int{version})
	switch {
	case fieldmark.IsCode(err, fieldmark.CodeVersionMismatch):
		return h.showOffers(req, http.StatusConflict, staleForm("The offer"))
	case hasCode(err, fieldmark.CodeValidationFailed, fieldmark.CodeTooMany):
		return h.showOffers(req, http.StatusUnprocessableEntity, req.formErrors(err))
	case err != nil:
		return err
	}
	h.audit(req, "offer.updated", id)
	return req.redirectWithNotice(offersPath, "offer")
}

// removeOffer removes an offer that no account has.
func (h *accountHandler) removeOffer(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	id := req.r.PathValue("id")
	o, err := h.offers.Get(req.r.Context(), id)
	if err != nil {
		return err
	}
	if !web.Confirmed(req.r) {
		return h.confirm(req, web.Confirmation{Title: fmt.Sprintf("Remove the offer “%s”?", o.Name),
			Text: "No account has it.", Button: "Remove offer", Back: offersPath})
	}
	if err := h.offers.Delete(req.r.Context(), id, nil); err != nil {
		return err
	}
	h.audit(req, "offer.deleted", id)
	return req.redirectWithNotice(offersPath, "offer-gone")
}

// put creates an account, or changes the name and the note of one.
// Without the input of the offer, the offer of the account stays.
func (h *accountHandler) put(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	form := req.readForm("")
	id := strings.TrimSpace(form.posted.Get("id"))
	r := fieldmark.AccountRequest{Name: strings.TrimSpace(form.posted.Get("name")),
		Note: strings.TrimSpace(form.posted.Get("note")), FilterLabels: labelKeys(form.posted)}
	if form.posted.Has("offer") {
		chosen := form.posted.Get("offer")
		r.Offer = &chosen
	}
	version, changes := form.posted.Get("version"), form.posted.Has("version")
	if changes {
		req.readForm(id + "-") // errors belong to the inputs of that account
	}
	_, _, err := h.accounts.PutAfter(req.r.Context(), &version, id, r)
	if fieldmark.IsCode(err, fieldmark.CodeVersionMismatch) {
		if changes {
			return h.showAccounts(req, http.StatusConflict, changedForm("The account"))
		}
		form.addError("id", "ID: another account has it. Change that account in the list, or choose another ID.")
		return h.showAccounts(req, http.StatusConflict, form.errors)
	}
	if fieldmark.IsCode(err, fieldmark.CodeValidationFailed) {
		return h.showAccounts(req, http.StatusUnprocessableEntity, req.formErrors(err))
	}
	if err != nil {
		return err
	}
	h.audit(req, "account.updated", id)
	return req.redirectWithNotice(accountsPath+"#account-"+url.PathEscape(id), "account")
}

// labelKeys returns the keys of the form, which are separated by spaces or commas; nil if it has none for them.
// Nil leaves the keys of the account unchanged; an empty list removes them.
func labelKeys(posted url.Values) []string {
	if !posted.Has("labels") {
		return nil
	}
	return strings.FieldsFunc(posted.Get("labels"), func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

// accountChoices are the options of a select for accounts.
// An id of a test account is as unknown here as one that does not exist: its objects are not live data.
func accountChoices(req *request, accounts *access.Accounts, chosen string) ([]option, error) {
	if fieldmark.IsTestAccount(chosen) {
		return nil, fieldmark.Errorf(fieldmark.CodeNotFound, "There is no such account.")
	}
	if chosen == "" {
		chosen = access.DefaultAccount
	}
	all, err := accounts.List(req.r.Context())
	if err != nil {
		return nil, err
	}
	list := make([]option, len(all))
	for i, one := range all {
		list[i] = option{Value: one.ID, Label: one.ID, Selected: one.ID == chosen}
		if one.Name != "" {
			list[i].Label = one.Name + " (" + one.ID + ")"
		}
	}
	return list, nil
}
