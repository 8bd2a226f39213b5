package admin

import (
	"net/http"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
)

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

func (h *handler) accounts(req *request) error {
	return h.showAccounts(req, http.StatusOK, "", fieldmark.AccountRequest{}, nil)
}

func (h *handler) showAccounts(
	req *request, status int, id string, form fieldmark.AccountRequest, bad []formError,
) error {
	ctx := req.r.Context()
	accounts, err := h.origin.Access.Accounts.List(ctx)
	if err != nil {
		return err
	}
	keys, err := h.origin.Access.Keys.List(ctx)
	if err != nil {
		return err
	}
	endpoints, err := h.origin.Webhooks.Endpoints(ctx, "")
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
	return h.show(req, status, "accounts", page{Title: "Accounts", Errors: bad,
		Data: accountsData{Accounts: lines, ID: id, Form: form}})
}

// putAccount creates an account, or changes its name and note.
func (h *handler) putAccount(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	form := req.r.PostForm
	id := strings.TrimSpace(form.Get("id"))
	r := fieldmark.AccountRequest{Name: strings.TrimSpace(form.Get("name")), Note: strings.TrimSpace(form.Get("note"))}
	_, _, err := h.origin.Access.Accounts.Put(req.r.Context(), id, r)
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
func (h *handler) accountChoices(req *request, chosen string) ([]option, error) {
	if chosen == "" {
		chosen = access.DefaultAccount
	}
	accounts, err := h.origin.Access.Accounts.List(req.r.Context())
	if err != nil {
		return nil, err
	}
	list := make([]option, len(accounts))
	for i, one := range accounts {
		list[i] = option{Value: one.ID, Label: one.ID, Selected: one.ID == chosen}
		if one.Name != "" {
			list[i].Label = one.Name + " (" + one.ID + ")"
		}
	}
	return list, nil
}
