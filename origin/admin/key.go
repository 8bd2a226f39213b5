package admin

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/web"
)

// keyHandler serves the page of API keys.
type keyHandler struct {
	*console
	keys     *access.Keys
	accounts *access.Accounts // owners to choose from
	signOn   *access.SignOn   // for the form that confirms the user's identity
}

// option is a checkbox or an option of a select.
// Templates render every list of choices from it.
type option struct {
	Value    string
	Label    string
	Selected bool
}

// keyRow is a key on the keys page.
// A use after the rotation means that a client still has the old key.
type keyRow struct {
	fieldmark.Key
	Status            fieldmark.KeyState
	UsedAfterRotation bool // a replaced key was used after it was replaced
}

// keysData is the keys page: the list, the values of the form, and a key that this request has created.
type keysData struct {
	Keys            []keyRow
	Reauthenticated bool       // keys can be created and changed
	Reauth          reauthData // the form that does it
	Name            string
	Networks        string
	Scopes          []option
	Lifetimes       []option
	Agents          []option
	AgentWrites     string
	Accounts        []option
	Test            bool
	Graces          []option
	// id of the newest key; submitting the same form twice fails, because the second one does not have it
	Newest  string
	Created *fieldmark.NewKey
}

// keyLifetimes are the lifetimes of a new key in days, keyGraces those of a replaced key in hours, and keyAgents
// what agents may do with a key.
// The first of each is the default.
var (
	keyLifetimes = []option{{Value: "30", Label: "30 days"}, {Value: "90", Label: "90 days"},
		{Value: "180", Label: "180 days"},
		{Value: "365", Label: "1 year"}, {Value: "-1", Label: "never"}}
	keyGraces = []option{{Value: "24", Label: "1 day"}, {Value: "1", Label: "1 hour"}, {Value: "168", Label: "7 days"},
		{Value: "0", Label: "Not at all"}}
	keyAgents = []option{{Value: "dry", Label: "read and try writes"}, {Value: "write", Label: "read and write"},
		{Value: "off", Label: "nothing"}}
)

// defaultScopes are those of a key that creates missions.
func defaultScopes() []fieldmark.Scope {
	return []fieldmark.Scope{fieldmark.ScopeMissionCreate, fieldmark.ScopeMissionRead}
}

// defaultKeyForm returns the values of an empty form.
func defaultKeyForm() fieldmark.KeyRequest {
	return fieldmark.KeyRequest{ExpiresInDays: fieldmark.DefaultKeyDays, Scopes: defaultScopes()}
}

// list shows the keys.
func (h *keyHandler) list(req *request) error {
	return h.showKeys(req, http.StatusOK, defaultKeyForm(), nil, nil)
}

// create creates a key. The response is the only place where its token is shown.
// A form that is sent twice is refused: the second key would be shown to no one.
func (h *keyHandler) create(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	form := req.r.PostForm
	k := fieldmark.KeyRequest{Name: strings.TrimSpace(form.Get("name")), Account: form.Get("account"),
		// Networks may be separated by commas or white space.
		Networks: strings.Fields(strings.ReplaceAll(form.Get("networks"), ",", " "))}
	for _, s := range form["scope"] {
		k.Scopes = append(k.Scopes, fieldmark.Scope(s))
	}
	k.ExpiresInDays = fieldmark.DefaultKeyDays
	if days, err := strconv.Atoi(form.Get("days")); err == nil {
		k.ExpiresInDays = days
	}
	k.Test = form.Get("test") != ""
	if k.Test && (k.ExpiresInDays < 0 || k.ExpiresInDays > fieldmark.TestKeyDays) {
		k.ExpiresInDays = fieldmark.TestKeyDays // the choice is for live keys
	}
	k.Agent = fieldmark.AgentAccess(form.Get("agent"))
	if text := form.Get("agentWritesPerDay"); text != "" {
		n, err := strconv.Atoi(text)
		if k.AgentWritesPerDay = n; err != nil || n == 0 {
			k.AgentWritesPerDay = -1 // which is refused beside the field
		}
	}
	made, err := h.keys.CreateAfter(req.r.Context(), req.newestSeen(), k)
	if fieldmark.IsCode(err, fieldmark.CodeVersionMismatch) {
		return h.showKeys(req, http.StatusConflict, k, staleForm("A key"), nil)
	}
	if hasCode(err, fieldmark.CodeValidationFailed, fieldmark.CodeNotFound) {
		return h.showKeys(req, http.StatusUnprocessableEntity, k, req.formErrors(err), nil)
	}
	if err != nil {
		return err
	}
	h.audit(req, "api_key.created", made.ID)
	return h.showKeys(req, http.StatusOK, defaultKeyForm(), nil, &made)
}

// rotate replaces a key and shows the token of the new one.
// The old key stays valid for the grace period, so that clients can be changed one by one.
func (h *keyHandler) rotate(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	id := req.r.PathValue("id")
	form := req.readForm("g-" + id + "-")
	hours, err := strconv.Atoi(form.posted.Get("grace"))
	if err != nil {
		form.addError("grace", "Choose how long the old key stays valid.")
		return h.showKeys(req, http.StatusUnprocessableEntity, defaultKeyForm(), form.errors, nil)
	}
	if !web.Confirmed(req.r) {
		return h.confirmKey(req, id, "Rotate", "The old key stays valid for "+keyGraceWords(hours)+
			". The new one is shown once.")
	}
	made, err := h.keys.Rotate(req.r.Context(), id, fieldmark.KeyRotation{GraceHours: &hours})
	if hasCode(err, fieldmark.CodeKeyNotLive, fieldmark.CodeValidationFailed) {
		return h.showKeys(req, statusOf(err), defaultKeyForm(), req.formErrors(err), nil)
	}
	if err != nil {
		return err
	}
	h.audit(req, "api_key.rotated", id)
	return h.showKeys(req, http.StatusOK, defaultKeyForm(), nil, &made)
}

// keyGraceWords writes how long a replaced key stays valid as the form does.
func keyGraceWords(hours int) string {
	for _, o := range keyGraces {
		if o.Value == strconv.Itoa(hours) && hours > 0 {
			return o.Label
		}
	}
	return strconv.Itoa(hours) + " hours"
}

// confirmKey shows a confirmation before a key is rotated or revoked.
// The confirmation names the key, because rows of a table are easily mistaken.
func (h *keyHandler) confirmKey(req *request, id, verb, text string) error {
	keys, err := h.keys.List(req.r.Context())
	if err != nil {
		return err
	}
	i := slices.IndexFunc(keys, func(k fieldmark.Key) bool { return k.ID == id })
	if i < 0 {
		return fieldmark.Errorf(fieldmark.CodeNotFound, "This key does not exist.")
	}
	return h.confirm(req, web.Confirmation{Title: fmt.Sprintf("%s the key “%s”?", verb, keys[i].Name), Text: text,
		Button: verb + " key", Back: keysPath})
}

// newestSeen returns the newest id of the list when the form was opened; nil if the form does not have it.
// The service compares it in the transaction that creates the next one.
func (req *request) newestSeen() *string { return web.SeenID(req.r.PostForm) }

// showKeys also shows the form again, or a key that was created just now.
func (h *keyHandler) showKeys(
	req *request, status int, form fieldmark.KeyRequest, bad []web.FormError, made *fieldmark.NewKey,
) error {
	keys, err := h.keys.List(req.r.Context())
	if err != nil {
		return err
	}
	now := time.Now()
	d := keysData{Name: form.Name, Test: form.Test, Networks: strings.Join(form.Networks, "\n"),
		Newest: web.NewestID(keys, func(k *fieldmark.Key) string { return k.ID }), Created: made,
		Graces: keyGraces, Reauthenticated: req.session.Reauthenticated(now),
		Reauth: reauthForm(req, h.signOn, keysPath)}
	for _, k := range keys {
		line := keyRow{Key: k, Status: k.State(now)}
		// It is shown as a warning: the old key ends soon.
		line.UsedAfterRotation = k.ReplacedAt != nil && k.LastUsedAt != nil &&
			k.LastUsedAt.Std().After(k.ReplacedAt.Std())
		d.Keys = append(d.Keys, line)
	}
	for _, s := range fieldmark.Scopes() {
		d.Scopes = append(d.Scopes, option{
			Value: string(s), Label: scopeLabels[s], Selected: slices.Contains(form.Scopes, s),
		})
	}
	for _, l := range keyLifetimes {
		l.Selected = l.Value == strconv.Itoa(form.ExpiresInDays)
		d.Lifetimes = append(d.Lifetimes, l)
	}
	for _, a := range keyAgents {
		a.Selected = a.Value == string(form.Agent)
		d.Agents = append(d.Agents, a)
	}
	d.AgentWrites = "100"
	if bad != nil {
		d.AgentWrites = cmp.Or(req.r.PostForm.Get("agentWritesPerDay"), d.AgentWrites)
	}
	if d.Accounts, err = accountChoices(req, h.accounts, form.Account); err != nil {
		return err
	}
	return h.show(req, status, "api-keys", web.Page{Title: "API keys", Errors: bad, Data: d})
}

// scopeLabels describe scopes.
// They are the texts of the checkboxes.
var scopeLabels = map[fieldmark.Scope]string{
	fieldmark.ScopeMissionCreate:  "create missions",
	fieldmark.ScopeMissionRead:    "read missions",
	fieldmark.ScopeMissionUpdate:  "edit missions",
	fieldmark.ScopeMissionCancel:  "cancel missions",
	fieldmark.ScopeMissionOperate: "plan and move missions",
	fieldmark.ScopeWebhookManage:  "manage webhooks, read events",
	fieldmark.ScopeBrandManage:    "manage the claimed brand",
	fieldmark.ScopeAccountManage:  "manage sub-accounts and their keys",
	fieldmark.ScopeKeyTest:        "create test keys",
	fieldmark.ScopeAdmin:          "administer everything (/api/admin)",
}

// revoke revokes a key, with a reason, after a confirmation.
func (h *keyHandler) revoke(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	id := req.r.PathValue("id")
	form := req.readForm("r-" + id + "-")
	why := form.text("reason", "Reason", fieldmark.MaxRevokeReason)
	if why == "" && form.errors == nil {
		form.addError("reason", "Enter a reason. The audit log stores it.")
	}
	if form.errors != nil {
		return h.showKeys(req, http.StatusUnprocessableEntity, defaultKeyForm(), form.errors, nil)
	}
	if !web.Confirmed(req.r) {
		return h.confirmKey(req, id, "Revoke", "Requests with this key are rejected at once. Reason: "+why)
	}
	if _, err := h.keys.Revoke(req.r.Context(), id, why); err != nil {
		return err
	}
	h.audit(req, "api_key.revoked", id)
	return req.redirectWithNotice(keysPath+"#"+id, "revoked")
}
