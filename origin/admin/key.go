package admin

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
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
	Status fieldmark.KeyState
	Late   bool // a replaced key was used after it was replaced
}

// keysData is the page of keys: the list, the form as it was filled in, and the
// token of a key that was made by this very request.
type keysData struct {
	Keys     []keyLine
	Proved   bool  // the password was given just now, so keys may be made and changed
	Proof    proof // how to become Proved
	Name     string
	Networks string
	Scopes   []choice
	Lives    []choice
	Accounts []choice
	Graces   []choice
	Newest   string // id; a form that was sent before does not know it, so that loading its answer again makes no second key
	Made     *fieldmark.NewKey
}

// lives are how long a new key may live, in days, and graces how long a replaced
// one does, in hours.
var (
	lives = []choice{{Value: "30", Label: "30 days"}, {Value: "90", Label: "90 days"}, {Value: "180", Label: "180 days"},
		{Value: "365", Label: "a year"}, {Value: "-1", Label: "until revoked"}}
	graces = []choice{{Value: "24", Label: "another day"}, {Value: "1", Label: "another hour"}, {Value: "168", Label: "another week"}, {Value: "0", Label: "no longer"}}
)

// firstScopes are what a key that only opens missions needs, and are chosen first.
func firstScopes() []fieldmark.Scope {
	return []fieldmark.Scope{fieldmark.ScopeMissionCreate, fieldmark.ScopeMissionRead}
}

func newKeyForm() fieldmark.KeyRequest {
	return fieldmark.KeyRequest{ExpiresInDays: fieldmark.DefaultKeyDays, Scopes: firstScopes()}
}

func (a *area) keys(v *visit) error {
	return a.showKeys(v, http.StatusOK, newKeyForm(), nil, nil)
}

// createKey makes a key and shows its token in the answer: it is never sent
// anywhere else and cannot be shown again.
func (a *area) createKey(v *visit) error {
	if err := v.parseForm(); err != nil {
		return err
	}
	form := v.r.PostForm
	req := fieldmark.KeyRequest{Name: strings.TrimSpace(form.Get("name")), Account: form.Get("account"), Networks: strings.Fields(strings.ReplaceAll(form.Get("networks"), ",", " "))}
	for _, s := range form["scope"] {
		req.Scopes = append(req.Scopes, fieldmark.Scope(s))
	}
	req.ExpiresInDays = fieldmark.DefaultKeyDays
	if days, err := strconv.Atoi(form.Get("days")); err == nil {
		req.ExpiresInDays = days
	}
	made, err := a.origin.Access.Keys.CreateAfter(v.r.Context(), v.newest(), req)
	if fieldmark.IsCode(err, fieldmark.CodeVersionMismatch) {
		return a.showKeys(v, http.StatusConflict, req, complain("A key was created after this form was opened. Check the list, and submit again if you still want another."), nil)
	}
	if e := fieldmark.AsError(err); err != nil && (e.Code == fieldmark.CodeValidationFailed || e.Code == fieldmark.CodeNotFound) {
		return a.showKeys(v, http.StatusUnprocessableEntity, req, v.complaintsOf(e), nil)
	}
	if err != nil {
		return err
	}
	a.did(v, "key.create", made.ID)
	return a.showKeys(v, http.StatusOK, newKeyForm(), nil, &made)
}

// rotateKey makes a key in place of another and shows its token.
func (a *area) rotateKey(v *visit) error {
	if err := v.parseForm(); err != nil {
		return err
	}
	id := v.r.PathValue("id")
	hours, err := strconv.Atoi(v.r.PostForm.Get("grace"))
	if err != nil {
		return fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Choose how long the old key stays valid.")
	}
	made, err := a.origin.Access.Keys.Rotate(v.r.Context(), id, fieldmark.KeyRotation{GraceHours: &hours})
	if e := fieldmark.AsError(err); err != nil && (e.Code == fieldmark.CodeKeyNotLive || e.Code == fieldmark.CodeValidationFailed) {
		return a.showKeys(v, e.Code.Status(), newKeyForm(), v.complaintsOf(e), nil)
	}
	if err != nil {
		return err
	}
	a.did(v, "key.rotate", id)
	return a.showKeys(v, http.StatusOK, newKeyForm(), nil, &made)
}

// noneYet is the newest id of an empty list.
const noneYet = "none"

// newest returns the newest id of the list that a form was opened with; nil where
// the form does not say.
func (v *visit) newest() *string {
	if !v.r.PostForm.Has("newest") {
		return nil
	}
	id := strings.TrimPrefix(v.r.PostForm.Get("newest"), noneYet)
	return &id
}

func newestKey(keys []fieldmark.Key) string {
	if len(keys) == 0 {
		return noneYet
	}
	return keys[0].ID
}

func (a *area) showKeys(v *visit, status int, form fieldmark.KeyRequest, bad []complaint, made *fieldmark.NewKey) error {
	keys, err := a.origin.Access.Keys.List(v.r.Context())
	if err != nil {
		return err
	}
	now := time.Now()
	d := keysData{Name: form.Name, Networks: strings.Join(form.Networks, "\n"), Newest: newestKey(keys), Made: made, Graces: graces, Proved: v.in.Reauthenticated(now), Proof: a.proofFor(v, keysPath)}
	for _, k := range keys {
		line := keyLine{Key: k, Status: k.State(now)}
		line.Late = k.ReplacedAt != nil && k.LastUsedAt != nil && k.LastUsedAt.Std().After(k.ReplacedAt.Std())
		d.Keys = append(d.Keys, line)
	}
	for _, s := range fieldmark.Scopes() {
		d.Scopes = append(d.Scopes, choice{Value: string(s), Label: scopeLabels[s], Chosen: slices.Contains(form.Scopes, s)})
	}
	for _, l := range lives {
		l.Chosen = l.Value == strconv.Itoa(form.ExpiresInDays)
		d.Lives = append(d.Lives, l)
	}
	if d.Accounts, err = a.accountChoices(v, form.Account); err != nil {
		return err
	}
	return a.show(v, status, "api-keys", page{Title: "API keys", Complaints: bad, Data: d})
}

// scopeLabels say what a scope lets a key do.
var scopeLabels = map[fieldmark.Scope]string{
	fieldmark.ScopeMissionCreate:  "create missions",
	fieldmark.ScopeMissionRead:    "read missions",
	fieldmark.ScopeMissionUpdate:  "edit missions",
	fieldmark.ScopeMissionCancel:  "cancel missions",
	fieldmark.ScopeMissionOperate: "plan and move missions",
	fieldmark.ScopeWebhookManage:  "manage webhooks, read events",
	fieldmark.ScopeAdmin:          "everything under /api/admin",
}

func (a *area) revokeKey(v *visit) error {
	if err := v.parseForm(); err != nil {
		return err
	}
	id := v.r.PathValue("id")
	form := v.fields("r-" + id + "-")
	why := form.text("reason", "The reason", fieldmark.MaxRevokeReason)
	if why == "" && form.bad == nil {
		form.complain("reason", "Enter a reason; it is stored in the audit log.")
	}
	if form.bad != nil {
		return a.showKeys(v, http.StatusUnprocessableEntity, newKeyForm(), form.bad, nil)
	}
	if _, err := a.origin.Access.Keys.Revoke(v.r.Context(), id, why); err != nil {
		return err
	}
	a.did(v, "key.revoke", id)
	return v.done(keysPath, "revoked")
}
