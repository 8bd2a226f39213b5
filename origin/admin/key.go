package admin

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
)

// choice is one box or line of a form.
type choice struct {
	Value  string
	Label  string
	Chosen bool
}

// keyLine is a key with what can still be done with it.
type keyLine struct {
	fieldmark.Key
	State string // live, expired or revoked
}

// keysData is the page of keys: the list, the form as it was filled in, and the
// token of a key that was made by this very request.
type keysData struct {
	Keys   []keyLine
	Name   string
	Scopes []choice
	Lives  []choice
	Token  string
	Made   string // the name of the key the token belongs to
}

// lives are how long a new key may live, in days.
var lives = []choice{{Value: "30", Label: "30 days"}, {Value: "90", Label: "90 days"}, {Value: "365", Label: "a year"}, {Value: "-1", Label: "until revoked"}}

func (a *area) keys(v *visit) error {
	form := fieldmark.KeyRequest{ExpiresInDays: fieldmark.DefaultKeyDays}
	return a.showKeys(v, http.StatusOK, form, nil, nil)
}

// createKey makes a key and shows its token in the answer: it is never sent
// anywhere else and cannot be shown again.
func (a *area) createKey(v *visit) error {
	if err := v.parseForm(); err != nil {
		return err
	}
	form := v.r.PostForm
	req := fieldmark.KeyRequest{Name: form.Get("name")}
	for _, s := range form["scope"] {
		req.Scopes = append(req.Scopes, fieldmark.Scope(s))
	}
	req.ExpiresInDays = fieldmark.DefaultKeyDays
	if days, err := strconv.Atoi(form.Get("days")); err == nil {
		req.ExpiresInDays = days
	}
	made, err := a.origin.CreateKey(v.r.Context(), origin.DefaultAccount, req)
	if fieldmark.IsCode(err, fieldmark.CodeValidationFailed) {
		return a.showKeys(v, http.StatusUnprocessableEntity, req, fieldmark.AsError(err).Fields, nil)
	}
	if err != nil {
		return err
	}
	a.did(v, "create key", made.ID)
	return a.showKeys(v, http.StatusOK, fieldmark.KeyRequest{ExpiresInDays: fieldmark.DefaultKeyDays}, nil, &made)
}

// fieldLabels are the parts of the form as people know them.
var fieldLabels = map[string]string{"/name": "Name", "/scopes": "May", "/expiresInDays": "Lives for"}

func (a *area) showKeys(v *visit, status int, form fieldmark.KeyRequest, bad []fieldmark.FieldError, made *fieldmark.NewKey) error {
	keys, err := a.origin.Keys(v.r.Context())
	if err != nil {
		return err
	}
	d := keysData{Name: form.Name}
	now := time.Now()
	for _, k := range keys {
		d.Keys = append(d.Keys, keyLine{Key: k, State: keyState(k, now)})
	}
	for _, s := range fieldmark.Scopes() {
		d.Scopes = append(d.Scopes, choice{Value: string(s), Label: string(s), Chosen: slices.Contains(form.Scopes, s)})
	}
	for _, l := range lives {
		l.Chosen = l.Value == strconv.Itoa(form.ExpiresInDays)
		d.Lives = append(d.Lives, l)
	}
	if made != nil {
		d.Token, d.Made = made.Token, made.Name
	}
	p := page{Title: "API keys", Data: d}
	if bad != nil {
		p.Complaints = complaintsOf(&fieldmark.Error{Fields: bad})
	}
	return a.show(v, status, "api-keys", p)
}

func keyState(k fieldmark.Key, now time.Time) string {
	switch {
	case k.RevokedAt != nil:
		return "revoked"
	case k.ExpiresAt != nil && !now.Before(k.ExpiresAt.Std()):
		return "expired"
	}
	return "live"
}

func (a *area) revokeKey(v *visit) error {
	id := v.r.PathValue("id")
	if _, err := a.origin.RevokeKey(v.r.Context(), id, ""); err != nil {
		return err
	}
	a.did(v, "revoke key", id)
	return v.done(keysPath, "revoked")
}
