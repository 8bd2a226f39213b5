package admin

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/web"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// accountHandler serves the accounts page.
type accountHandler struct {
	*console
	accounts *access.Accounts
	keys     *access.Keys     // counts the keys of each account
	webhooks *webhook.Service // counts its endpoints
}

// accountRow is an account on the accounts page.
type accountRow struct {
	fieldmark.Account
	Keys, Endpoints int // active ones
}

type accountsData struct{ Accounts []accountRow }

func (h *accountHandler) list(req *request) error { return h.showAccounts(req, http.StatusOK, nil) }

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
		lines[i].Account = one
		owned[one.ID] = &lines[i]
	}
	for _, k := range keys {
		state := k.State(time.Now())
		if line := owned[k.Account]; line != nil && (state == fieldmark.KeyLive || state == fieldmark.KeyReplaced) {
			line.Keys++
		}
	}
	for _, e := range endpoints {
		if line := owned[e.Account]; line != nil {
			line.Endpoints++
		}
	}
	return h.show(req, status, "accounts", web.Page{Title: "Accounts", Errors: bad, Data: accountsData{lines}})
}

// put creates an account, or changes the name and the note of one.
func (h *accountHandler) put(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	form := req.readForm("")
	id := strings.TrimSpace(form.posted.Get("id"))
	r := fieldmark.AccountRequest{Name: strings.TrimSpace(form.posted.Get("name")),
		Note: strings.TrimSpace(form.posted.Get("note")), FilterLabels: labelKeys(form.posted)}
	if form.posted.Has("change") {
		req.readForm(id + "-") // errors belong to the inputs of that account
	} else if taken, err := h.taken(req, id, r); err != nil {
		return err
	} else if taken {
		form.addError("id", "ID: another account has it. Change that account in the list, or choose another ID.")
		return h.showAccounts(req, http.StatusConflict, form.errors)
	}
	_, _, err := h.accounts.Put(req.r.Context(), id, r)
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
func labelKeys(posted url.Values) []string {
	if !posted.Has("labels") {
		return nil
	}
	return strings.FieldsFunc(posted.Get("labels"), func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

// taken reports whether an account with other values has an id, so that the form for a new account does not
// overwrite it. The same values are a form that was submitted twice.
func (h *accountHandler) taken(req *request, id string, r fieldmark.AccountRequest) (bool, error) {
	all, err := h.accounts.List(req.r.Context())
	return slices.ContainsFunc(all, func(a fieldmark.Account) bool {
		return a.ID == id && (a.Name != r.Name || a.Note != r.Note)
	}), err
}

// accountChoices are the options of a select for accounts.
func accountChoices(req *request, accounts *access.Accounts, chosen string) ([]option, error) {
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
