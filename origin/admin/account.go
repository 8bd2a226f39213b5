package admin

import (
	"net/http"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
)

// accountLine is an account with what it owns.
type accountLine struct {
	fieldmark.Account
	Keys, Endpoints int // that are in use
}

type accountsData struct {
	Accounts []accountLine
	ID       string // of the form, as it was filled in
	Form     fieldmark.AccountRequest
}

func (a *area) accounts(v *visit) error {
	return a.showAccounts(v, http.StatusOK, "", fieldmark.AccountRequest{}, nil)
}

func (a *area) showAccounts(v *visit, status int, id string, form fieldmark.AccountRequest, bad []complaint) error {
	ctx := v.r.Context()
	accounts, err := a.origin.Access.Accounts.List(ctx)
	if err != nil {
		return err
	}
	keys, err := a.origin.Access.Keys.List(ctx)
	if err != nil {
		return err
	}
	endpoints, err := a.origin.Webhooks.Endpoints(ctx, "")
	if err != nil {
		return err
	}
	owned := map[string]*accountLine{}
	lines := make([]accountLine, len(accounts))
	for i, one := range accounts {
		lines[i].Account = one
		owned[one.ID] = &lines[i]
	}
	for _, k := range keys {
		if line := owned[k.Account]; line != nil && (k.State(time.Now()) == fieldmark.KeyLive || k.State(time.Now()) == fieldmark.KeyReplaced) {
			line.Keys++
		}
	}
	for _, e := range endpoints {
		if line := owned[e.Account]; line != nil {
			line.Endpoints++
		}
	}
	return a.show(v, status, "accounts", page{Title: "Accounts", Complaints: bad, Data: accountsData{Accounts: lines, ID: id, Form: form}})
}

// putAccount makes an account, or changes what one is called.
func (a *area) putAccount(v *visit) error {
	if err := v.parseForm(); err != nil {
		return err
	}
	form := v.r.PostForm
	id := strings.TrimSpace(form.Get("id"))
	r := fieldmark.AccountRequest{Name: strings.TrimSpace(form.Get("name")), Note: strings.TrimSpace(form.Get("note"))}
	_, _, err := a.origin.Access.Accounts.Put(v.r.Context(), id, r)
	if fieldmark.IsCode(err, fieldmark.CodeValidationFailed) {
		return a.showAccounts(v, http.StatusUnprocessableEntity, id, r, v.complaintsOf(fieldmark.AsError(err)))
	}
	if err != nil {
		return err
	}
	a.did(v, "account.put", id)
	return v.done(accountsPath, "account")
}

// accountChoices are the accounts something can be given to.
func (a *area) accountChoices(v *visit, chosen string) ([]choice, error) {
	if chosen == "" {
		chosen = access.DefaultAccount
	}
	accounts, err := a.origin.Access.Accounts.List(v.r.Context())
	if err != nil {
		return nil, err
	}
	list := make([]choice, len(accounts))
	for i, one := range accounts {
		list[i] = choice{Value: one.ID, Label: one.ID, Chosen: one.ID == chosen}
		if one.Name != "" {
			list[i].Label = one.Name + " (" + one.ID + ")"
		}
	}
	return list, nil
}
