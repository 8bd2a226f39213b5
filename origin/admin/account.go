package admin

import (
	"net/http"
	"strings"
	"time"

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

type accountsData struct {
	Accounts []accountRow
	ID       string // of the rejected form
	Form     fieldmark.AccountRequest
}

func (h *accountHandler) list(req *request) error {
	return h.showAccounts(req, http.StatusOK, "", fieldmark.AccountRequest{}, nil)
}

func (h *accountHandler) showAccounts(
	req *request, status int, id string, form fieldmark.AccountRequest, bad []web.FormError,
) error {
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
	return h.show(req, status, "accounts", web.Page{Title: "Accounts", Errors: bad,
		Data: accountsData{Accounts: lines, ID: id, Form: form}})
}

// put creates an account, or changes its name and note.
func (h *accountHandler) put(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	form := req.r.PostForm
	id := strings.TrimSpace(form.Get("id"))
	r := fieldmark.AccountRequest{Name: strings.TrimSpace(form.Get("name")), Note: strings.TrimSpace(form.Get("note"))}
	_, _, err := h.accounts.Put(req.r.Context(), id, r)
	if fieldmark.IsCode(err, fieldmark.CodeValidationFailed) {
		return h.showAccounts(req, http.StatusUnprocessableEntity, id, r, req.formErrors(err))
	}
	if err != nil {
		return err
	}
	h.audit(req, "account.put", id)
	return req.redirectWithNotice(accountsPath, "account")
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
