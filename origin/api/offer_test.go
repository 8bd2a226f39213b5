package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fieldmark/fieldmark"
)

const subAccounts = fieldmark.PathAccount + "/sub-accounts"

// setOffer gives an account an offer.
func (fx *fixture) setOffer(account, offer string) {
	fx.t.Helper()
	fx.mustSend(200, request{method: "PUT", path: adminPath + "accounts/" + account, key: fx.admin,
		body: fmt.Sprintf(`{"name":"A","offer":%q}`, offer)}, nil)
}

// putOffer creates or replaces an offer.
func (fx *fixture) putOffer(id, body string) (o fieldmark.Offer) {
	fx.t.Helper()
	fx.mustSend(200, request{method: "PUT", path: adminPath + "offers/" + id, key: fx.admin, body: body}, &o)
	return o
}

// code sends a request that must be refused, and returns the code and the response.
func (fx *fixture) refused(a request) (fieldmark.Code, http.Header) {
	fx.t.Helper()
	rec := fx.send(a)
	if rec.Code < 400 {
		fx.t.Fatalf("%s %s %s: status %d %s, want a refusal", a.method, a.path, a.body, rec.Code, rec.Body)
	}
	return fx.problem(rec).Code, rec.Header()
}

// An offer has versions, is replaced only at the version that was read, and is deleted only when
// no account has it.
func TestOffers(t *testing.T) {
	fx := newFixture(t, nil)
	const path = adminPath + "offers"
	var all fieldmark.List[fieldmark.Offer]
	fx.mustSend(200, request{method: "GET", path: path, key: fx.admin}, &all)
	var ids []string
	for _, o := range all.Data {
		ids = append(ids, o.ID)
	}
	if want := []string{"enterprise", "group", "standard"}; !slices.Equal(ids, want) {
		t.Errorf("a new database has the offers %v, want %v", ids, want)
	}
	o := fx.putOffer("gold", `{"name":"Gold","kind":"standard","limits":{"missionsPerDay":2}}`)
	if again := fx.putOffer("gold",
		`{"name":"Gold","kind":"standard","limits":{"missionsPerDay":2}}`); again.Version != 1 ||
		o.Version != 1 {
		t.Errorf("the same offer twice has the versions %d and %d, want 1", o.Version, again.Version)
	}
	if o = fx.putOffer("gold", `{"name":"Gold","kind":"standard","limits":{"missionsPerDay":3}}`); o.Version != 2 {
		t.Errorf("a changed offer has version %d, want 2", o.Version)
	}
	fx.setOffer("other", "gold")
	for _, tt := range []struct {
		name string
		a    request
		want fieldmark.Code
	}{
		{"replace an old version", request{method: "PUT", path: path + "/gold", body: `{"name":"G","kind":"standard"}`,
			header: map[string]string{"If-Match": `"1"`}}, fieldmark.CodeVersionMismatch},
		{"delete an old version", request{method: "DELETE", path: path + "/gold",
			header: map[string]string{"If-Match": `"1"`}}, fieldmark.CodeVersionMismatch},
		{"delete one in use", request{method: "DELETE", path: path + "/gold"}, fieldmark.CodeOfferInUse},
		{"delete none", request{method: "DELETE", path: path + "/none"}, fieldmark.CodeNotFound},
		{"an id with a dot", request{method: "PUT", path: path + "/a.b", body: `{"name":"G","kind":"standard"}`},
			fieldmark.CodeValidationFailed},
		{"the scope of administrators", request{method: "PUT", path: path + "/gold",
			body: `{"name":"G","kind":"standard","scopes":["admin:*"]}`}, fieldmark.CodeValidationFailed},
		{"sub-accounts under a standard offer", request{method: "PUT", path: path + "/gold",
			body: `{"name":"G","kind":"standard","scopes":["account:manage"]}`}, fieldmark.CodeValidationFailed},
		{"an account with an unknown offer", request{method: "PUT", path: adminPath + "accounts/other",
			body: `{"name":"A","offer":"none"}`}, fieldmark.CodeValidationFailed},
	} {
		tt.a.key = fx.admin
		if code, _ := fx.refused(tt.a); code != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, code, tt.want)
		}
	}
	fx.setOffer("other", "")
	fx.mustSend(204, request{method: "DELETE", path: path + "/gold", key: fx.admin,
		header: map[string]string{"If-Match": `"2"`}}, nil)
}

// Keys of an account whose offer is narrowed lose the scopes at once; keys for the admin API keep
// theirs.
func TestScopesOfAnOffer(t *testing.T) {
	fx := newFixture(t, nil)
	fx.putOffer("reader", `{"name":"Reader","kind":"standard","scopes":["mission:read"],"maxKeyDays":30}`)
	read := request{method: "GET", path: fieldmark.PathMissions, key: fx.otherKey}
	open := request{method: "POST", path: fieldmark.PathMissions, key: fx.otherKey,
		body: `{"source":"crm","externalId":"1","title":"Mast"}`}
	fx.mustSend(201, open, nil)
	fx.setOffer("other", "reader")
	fx.mustSend(200, read, nil)
	if code, _ := fx.refused(open); code != fieldmark.CodeInsufficientScope {
		t.Errorf("create a mission: %s, want %s", code, fieldmark.CodeInsufficientScope)
	}
	for _, body := range []string{`{"name":"k","account":"other","scopes":["mission:create"],"expiresInDays":30}`,
		`{"name":"k","account":"other","scopes":["mission:read"],"expiresInDays":31}`,
		`{"name":"k","account":"other","scopes":["account:manage"],"expiresInDays":30}`} {
		if code, _ := fx.refused(request{method: "POST", path: adminPath + "keys", key: fx.admin,
			body: body}); code != fieldmark.CodeValidationFailed {
			t.Errorf("a key %s: %s, want %s", body, code, fieldmark.CodeValidationFailed)
		}
	}
	var use fieldmark.AccountUse
	fx.mustSend(200, request{method: "GET", path: fieldmark.PathAccount, key: fx.otherKey}, &use)
	if use.Offer != "Reader" || !slices.Equal(use.Scopes, []fieldmark.Scope{fieldmark.ScopeMissionRead}) {
		t.Errorf("the account is %+v; want the offer Reader with the scope mission:read", use)
	}
}

// groupKeys are of a group account with two sub-accounts.
type groupKeys struct {
	manager, one, two string
}

func (fx *fixture) newGroup(account string) groupKeys {
	fx.t.Helper()
	fx.setOffer(account, "group")
	g := groupKeys{manager: fx.key(account, fieldmark.ScopeAccountManage)}
	for name, token := range map[string]*string{"one": &g.one, "two": &g.two} {
		var a fieldmark.SubAccount
		fx.mustSend(201, request{method: "POST", path: subAccounts, key: g.manager,
			body: fmt.Sprintf(`{"id":%q,"name":"Shop"}`, name)}, &a)
		if want := account + "." + name; a.ID != want {
			fx.t.Errorf("the sub-account is %s, want %s", a.ID, want)
		}
		var k fieldmark.NewKey
		fx.mustSend(201, request{method: "POST", path: subAccounts + "/" + a.ID + "/keys", key: g.manager,
			body: `{"name":"k","scopes":["mission:create","mission:read","webhook:manage"]}`}, &k)
		*token = k.Token
	}
	return g
}

// mission returns a request that creates a mission.
func missionOf(key, name string) request {
	return request{method: "POST", path: fieldmark.PathMissions, key: key,
		body: fmt.Sprintf(`{"source":"crm","externalId":%q,"title":"Mast"}`, name)}
}

// The keys of two sub-accounts on two origins share the missions a day and the endpoints of their
// group. A raised limit applies at once. What exists already is not refused.
func TestGroupSharesLimits(t *testing.T) { synctest.Test(t, testGroupSharesLimits) } // within one day

func testGroupSharesLimits(t *testing.T) {
	fx := newFixture(t, nil)
	second := openFixture(t, fx.at, nil)
	fx.putOffer("group", `{"name":"Group","kind":"group","limits":{"missionsPerDay":3,"endpoints":2,`+
		`"readsPerMinute":50,"writesPerMinute":20}}`)
	g := fx.newGroup("other")
	fx.mustSend(201, missionOf(g.one, "1"), nil)
	second.mustSend(201, missionOf(g.two, "2"), nil)
	fx.mustSend(201, missionOf(g.one, "3"), nil)
	for _, origin := range []*fixture{fx, second} {
		code, h := origin.refused(missionOf(g.two, "4"))
		if wait, err := strconv.Atoi(h.Get("Retry-After")); code != fieldmark.CodeDailyLimit || err != nil ||
			wait < 1 || wait > 86400 {
			t.Errorf("the fourth mission: %s after %q; want %s, and at most a day", code, h.Get("Retry-After"),
				fieldmark.CodeDailyLimit)
		}
		origin.mustSend(200, missionOf(g.one, "1"), nil)
	}
	var batch fieldmark.BatchReport
	fx.mustSend(200, request{method: "POST", path: fieldmark.PathMissionBatch, key: g.one, body: `{"missions":[` +
		missionOf("", "1").body + `,` + missionOf("", "5").body + `]}`}, &batch)
	if len(batch.Results) != 2 || batch.Results[1].Status != http.StatusTooManyRequests {
		t.Errorf("a batch of an old and a new mission: %+v; want the new one refused", batch)
	}
	fx.mustSend(200, request{method: "PUT", path: adminPath + "offers/group", key: fx.admin, body: `{"name":"Group",` +
		`"kind":"group","limits":{"missionsPerDay":4,"endpoints":2,"readsPerMinute":50,"writesPerMinute":20}}`}, nil)
	second.mustSend(201, missionOf(g.two, "4"), nil)

	hook := request{method: "POST", path: hooksPath, key: g.one, body: fmt.Sprintf(`{"url":%q}`, receiver(t))}
	fx.mustSend(201, hook, nil)
	hook.key = g.two
	second.mustSend(201, hook, nil)
	if code, _ := fx.refused(hook); code != fieldmark.CodeTooMany {
		t.Errorf("the third endpoint of a group that may have two: %s, want %s", code, fieldmark.CodeTooMany)
	}
	var use fieldmark.AccountUse
	second.mustSend(200, request{method: "GET", path: fieldmark.PathAccount, key: g.two}, &use)
	if use.Parent != "other" || use.Limits.MissionsPerDay != 4 || use.Used.MissionsToday != 4 ||
		use.Used.Endpoints != 2 {
		t.Errorf("the use of a sub-account is %+v; want the limits and the use of its group", use)
	}

	quota := fx.send(request{method: "GET", path: fieldmark.PathMissions, key: g.two,
		header: map[string]string{fieldmark.HeaderNode: nodeToken}}).Header().Get(fieldmark.HeaderQuota)
	if !strings.HasSuffix(quota, ";g=other;gr=50;gw=20") {
		t.Errorf("edges get the quota %q; want the rates of the group", quota)
	}
	var missions fieldmark.List[json.RawMessage]
	for key, want := range map[string]int{g.one: 2, fx.otherKey: 0} {
		fx.mustSend(200, request{method: "GET", path: fieldmark.PathMissions, key: key}, &missions)
		if len(missions.Data) != want {
			t.Errorf("a member sees %d missions of the group, want %d", len(missions.Data), want)
		}
	}
}

// A key of a group reaches neither what its offer does not allow nor another group.
func TestGroupBounds(t *testing.T) {
	fx := newFixture(t, nil)
	fx.putOffer("group", `{"name":"Group","kind":"group","scopes":["account:manage","mission:create","mission:read",`+
		`"webhook:manage"]}`)
	g := fx.newGroup("other")
	fx.mustSend(200, request{method: "PUT", path: adminPath + "accounts/rival", key: fx.admin, body: `{"name":"R"}`},
		nil)
	rival := fx.newGroup("rival")
	const one = subAccounts + "/other.one"
	var keys fieldmark.List[fieldmark.Key]
	fx.mustSend(200, request{method: "GET", path: one + "/keys", key: g.manager}, &keys)
	var foreign fieldmark.List[fieldmark.Key]
	fx.mustSend(200, request{method: "GET", path: subAccounts + "/rival.one/keys", key: rival.manager}, &foreign)
	key := func(scope string) string { return fmt.Sprintf(`{"name":"k","scopes":[%q]}`, scope) }
	for _, tt := range []struct {
		name, key, method, path, body string
		want                          fieldmark.Code
	}{
		{"a scope of administrators", g.manager, "POST", one + "/keys", key("admin:*"), fieldmark.CodeValidationFailed},
		{"a manager below a manager", g.manager, "POST", one + "/keys", key("account:manage"),
			fieldmark.CodeValidationFailed},
		{"a scope beyond the offer", g.manager, "POST", one + "/keys", key("mission:cancel"),
			fieldmark.CodeValidationFailed},
		{"a key of another account", g.manager, "POST", one + "/keys",
			`{"name":"k","account":"default","scopes":["mission:read"]}`, fieldmark.CodeValidationFailed},
		{"a key below another group", g.manager, "POST", subAccounts + "/rival.one/keys", key("mission:read"),
			fieldmark.CodeNotFound},
		{"the keys of another group", g.manager, "GET", subAccounts + "/rival.one/keys", "", fieldmark.CodeNotFound},
		{"another group", g.manager, "GET", subAccounts + "/rival.one", "", fieldmark.CodeNotFound},
		{"rename another group", g.manager, "PUT", subAccounts + "/rival.one", `{"name":"X"}`, fieldmark.CodeNotFound},
		{"remove another group", g.manager, "DELETE", subAccounts + "/rival.one", "", fieldmark.CodeNotFound},
		{"remove itself", g.manager, "DELETE", subAccounts + "/other", "", fieldmark.CodeNotFound},
		{"remove the default account", g.manager, "DELETE", subAccounts + "/default", "", fieldmark.CodeNotFound},
		{"revoke a foreign key", g.manager, "DELETE", one + "/keys/" + foreign.Data[0].ID, "", fieldmark.CodeNotFound},
		{"revoke a foreign key there", g.manager, "DELETE", subAccounts + "/rival.one/keys/" + foreign.Data[0].ID, "",
			fieldmark.CodeNotFound},
		{"revoke a key of a sibling", g.manager, "DELETE", subAccounts + "/other.two/keys/" + keys.Data[0].ID, "",
			fieldmark.CodeNotFound},
		{"manage as a sub-account", g.one, "GET", subAccounts, "", fieldmark.CodeInsufficientScope},
		{"an id that is taken", g.manager, "POST", subAccounts, `{"id":"one","name":"S"}`,
			fieldmark.CodeValidationFailed},
		{"an id of a test world", g.manager, "POST", subAccounts, `{"id":"one~test","name":"S"}`,
			fieldmark.CodeValidationFailed},
		{"an id with two levels", g.manager, "POST", subAccounts, `{"id":"one.two","name":"S"}`,
			fieldmark.CodeValidationFailed},
		{"an account of administrators below a group", fx.admin, "PUT", adminPath + "accounts/other.three",
			`{"name":"S"}`, fieldmark.CodeValidationFailed},
		{"another offer for a group", fx.admin, "PUT", adminPath + "accounts/other", `{"name":"O","offer":"standard"}`,
			fieldmark.CodeValidationFailed},
		{"another kind for the offer of a group", fx.admin, "PUT", adminPath + "offers/group",
			`{"name":"O","kind":"standard"}`, fieldmark.CodeValidationFailed},
	} {
		code, _ := fx.refused(request{method: tt.method, path: tt.path, key: tt.key, body: tt.body})
		if code != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, code, tt.want)
		}
	}
	fx.mustSend(204, request{method: "DELETE", path: one + "/keys/" + keys.Data[0].ID, key: g.manager}, nil)
	if code, _ := fx.refused(missionOf(g.one, "1")); code != fieldmark.CodeInvalidAPIKey {
		t.Errorf("a revoked key: %s, want %s", code, fieldmark.CodeInvalidAPIKey)
	}
	fx.mustSend(201, request{method: "POST", path: hooksPath, key: g.two, body: fmt.Sprintf(`{"url":%q}`, receiver(t))},
		nil)
	fx.mustSend(204, request{method: "DELETE", path: subAccounts + "/other.two", key: g.manager}, nil)
	if code, _ := fx.refused(missionOf(g.two, "1")); code != fieldmark.CodeInvalidAPIKey {
		t.Errorf("a key of a removed sub-account: %s, want %s", code, fieldmark.CodeInvalidAPIKey)
	}
	if code, _ := fx.refused(request{method: "POST", path: adminPath + "keys", key: fx.admin,
		body: `{"name":"k","account":"other.two","scopes":["mission:read"]}`}); code != fieldmark.CodeNotFound {
		t.Errorf("a key for a removed sub-account: %s, want %s", code, fieldmark.CodeNotFound)
	}
	hooks, err := fx.service.Webhooks.Endpoints(t.Context(), "other.two")
	if err != nil || len(hooks) != 0 {
		t.Errorf("a removed sub-account has %d endpoints, want 0 (%v)", len(hooks), err)
	}
	var log fieldmark.List[fieldmark.AuditEntry]
	fx.mustSend(200, request{method: "GET", path: adminPath + "audit-log?action=account.removed", key: fx.admin}, &log)
	if len(log.Data) != 1 || log.Data[0].Target != "other.two" || log.Data[0].Kind != fieldmark.ActorKey {
		t.Errorf("the audit log has %+v; want the removal of other.two by a key", log.Data)
	}
	if err := fx.store.Check(t.Context()); err != nil {
		t.Errorf("db check: %v", err)
	}
	fx.exec(`UPDATE account SET parent = 'other' WHERE id = 'rival.one'`)
	if err := fx.store.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "rival.one") {
		t.Errorf("db check with a sub-account of the wrong group: %v; want one error that names it", err)
	}
	fx.exec(`UPDATE account SET parent = 'rival' WHERE id = 'rival.one'`)
}
