package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
)

// A group has a bounded number of sub-accounts, removed ones included, and a sub-account a bounded
// number of live keys.
func TestSubAccountBounds(t *testing.T) {
	fx := newFixture(t, nil)
	fx.setOffer("other", "group")
	manager := fx.key("other", fieldmark.ScopeAccountManage)
	add := func(i int) request {
		return request{method: "POST", path: subAccounts, key: manager, body: fmt.Sprintf(`{"id":"s%d","name":"S"}`, i)}
	}
	for i := range fieldmark.MaxSubAccounts {
		fx.mustSend(201, add(i), nil)
	}
	if code, _ := fx.refused(add(fieldmark.MaxSubAccounts)); code != fieldmark.CodeTooMany {
		t.Errorf("one sub-account too many: %s, want %s", code, fieldmark.CodeTooMany)
	}
	key := request{method: "POST", path: subAccounts + "/other.s0/keys", key: manager,
		body: `{"name":"k","scopes":["mission:read"]}`}
	var first fieldmark.NewKey
	fx.mustSend(201, key, &first)
	for range fieldmark.MaxSubAccountKeys - 1 {
		fx.mustSend(201, key, nil)
	}
	if code, _ := fx.refused(key); code != fieldmark.CodeTooMany {
		t.Errorf("one key too many: %s, want %s", code, fieldmark.CodeTooMany)
	}
	fx.mustSend(204, request{method: "DELETE", path: subAccounts + "/other.s0/keys/" + first.ID, key: manager}, nil)
	fx.mustSend(201, key, nil) // a revoked key is not counted

	fx.mustSend(204, request{method: "DELETE", path: subAccounts + "/other.s1", key: manager}, nil)
	fx.mustSend(201, add(fieldmark.MaxSubAccounts), nil) // a removed sub-account is not counted
	for _, edit := range []string{
		`UPDATE account SET removed_at = created_at WHERE parent = 'other' AND id <> 'other.s0'`,
		// Ten times as many as can live, with the 101 that exist.
		`INSERT INTO account (id, name, note, created_at, parent, removed_at)
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 899)
			SELECT 'other.x' || CAST(i AS TEXT), 'S', '', 1, 'other', 1 FROM n`,
	} {
		fx.exec(edit)
	}
	if code, _ := fx.refused(add(2000)); code != fieldmark.CodeTooMany {
		t.Errorf("a sub-account after a thousand: %s, want %s", code, fieldmark.CodeTooMany)
	}
	fx.exec(`DELETE FROM account WHERE id = 'other.x1'`)
	fx.mustSend(201, add(2000), nil)
}

// The missions a day of an offer hold for alerts too. Alerting tools drop an alert after 429, so
// they get 503 and a time to retry; alerts about missions that exist are received.
func TestAlertsBeyondTheDailyLimit(t *testing.T) { synctest.Test(t, testAlertsBeyondTheDailyLimit) } // within one day

func testAlertsBeyondTheDailyLimit(t *testing.T) {
	fx := newFixture(t, nil)
	fx.putOffer("small", `{"name":"Small","kind":"standard","limits":{"missionsPerDay":1}}`)
	fx.setOffer(access.DefaultAccount, "small")
	fx.wantReport("the first", alertmanager, group("g", "Down/warning"), "1: 1c 0m 0r 0i")
	second := request{method: "POST", path: alertmanager, key: fx.creator, body: group("h", "Slow/warning")}
	rec := fx.send(second)
	if p := fx.problem(rec); rec.Code != http.StatusServiceUnavailable || p.Code != fieldmark.CodeOverloaded ||
		rec.Header().Get("Retry-After") == "" || !strings.Contains(p.Detail, "offer allows a day") {
		t.Errorf("a second mission: %d %s %q after %q; want 503 %s that names the offer, and Retry-After", rec.Code,
			p.Code, p.Detail, rec.Header().Get("Retry-After"), fieldmark.CodeOverloaded)
	}
	fx.wantReport("a repetition", alertmanager, group("g", "Down/warning"), "1: 0c 1m 0r 0i")
	if n := fx.missions(); n != 1 {
		t.Errorf("%d missions, want 1", n)
	}
	fx.setOffer(access.DefaultAccount, "")
	fx.mustSend(200, second, nil)
}

// db check names what breaks the rules of offers, sub-accounts and requests for keys.
func TestCheckOfOffers(t *testing.T) {
	fx := newFixture(t, nil)
	fx.putOffer("group", `{"name":"Group","kind":"group","limits":{"missionsPerDay":9}}`)
	g := fx.newGroup("other")
	fx.mustSend(201, missionOf(g.one, "1"), nil)
	request := fx.issuedRequest()
	if err := fx.store.Check(t.Context()); err != nil {
		t.Fatalf("db check before: %v", err)
	}
	for _, tt := range []struct{ rule, broken, edit, undo string }{
		{"a sub-account is directly below an account, whose id begins its own", "other.one",
			`UPDATE account SET parent = 'default' WHERE id = 'other.one'`,
			`UPDATE account SET parent = 'other' WHERE id = 'other.one'`},
		{"a sub-account is directly below an account, whose id begins its own", "other.one",
			`UPDATE account SET offer = 'standard' WHERE id = 'other.one'`,
			`UPDATE account SET offer = NULL WHERE id = 'other.one'`},
		{"an account with sub-accounts has a group offer", "other",
			`UPDATE account SET offer = 'standard' WHERE id = 'other'`,
			`UPDATE account SET offer = 'group' WHERE id = 'other'`},
		{"an account with sub-accounts has a group offer", "other",
			`UPDATE account SET offer = NULL WHERE id = 'other'`,
			`UPDATE account SET offer = 'group' WHERE id = 'other'`},
		{"a removed sub-account has neither live keys nor endpoints", "other.two",
			`UPDATE account SET removed_at = 5 WHERE id = 'other.two'`,
			`UPDATE account SET removed_at = NULL WHERE id = 'other.two'`},
		{"missions a day are counted for the account that has the limits", "other.one",
			`UPDATE account_use SET account = 'other.one'`, `UPDATE account_use SET account = 'other'`},
		{"a request for an API key is in a known state, and ends later than it was sent", request.ID,
			`UPDATE access_request SET ends_at = 1`, fmt.Sprintf(`UPDATE access_request SET ends_at = %d`,
				request.DeletedAt.Micros())},
		{"a request for an API key is in a known state, and ends later than it was sent", request.ID,
			`UPDATE access_request SET state = 'open'`, `UPDATE access_request SET state = 'issued'`},
		{"an issued request names its key", request.ID,
			`UPDATE access_request SET body = REPLACE(body, '"keyId":"key_', '"keyId":"kez_')`,
			`UPDATE access_request SET body = REPLACE(body, '"keyId":"kez_', '"keyId":"key_')`},
		{"an approved request names an account", request.ID,
			`UPDATE access_request SET state = 'approved', body = REPLACE(body, '"account":"acme"', '"account":"no"')`,
			`UPDATE access_request SET state = 'issued', body = REPLACE(body, '"account":"no"', '"account":"acme"')`},
	} {
		fx.exec(tt.edit)
		err := fx.store.Check(t.Context())
		if err == nil || !strings.Contains(err.Error(), tt.rule+": not "+tt.broken) {
			t.Errorf("after %s: %v; want %q of %s", tt.edit, err, tt.rule, tt.broken)
		}
		fx.exec(tt.undo)
	}
	if err := fx.store.Check(t.Context()); err != nil {
		t.Errorf("db check after: %v", err)
	}
}

// issuedRequest sends a request for a key, approves it and has the key shown.
func (fx *fixture) issuedRequest() fieldmark.AccessRequest {
	fx.t.Helper()
	ctx, requests := fx.t.Context(), fx.service.AccessRequests
	made, err := requests.Open(ctx, access.ParseCaller("192.0.2.7", ""), fieldmark.AccessRequestForm{
		Organization: `Acme ","keyId":"x"`, Name: "Ann", Email: "ann@acme.example",
		Purpose: "Our billing creates a mission for each broken meter.", Offer: fieldmark.OfferStandard,
		Scopes: []fieldmark.Scope{fieldmark.ScopeMissionCreate}})
	if err == nil {
		_, err = requests.Approve(ctx, made.ID, fieldmark.AccessApproval{Account: "acme", NewAccount: true,
			Scopes: []fieldmark.Scope{fieldmark.ScopeMissionCreate}})
	}
	if err == nil {
		_, err = requests.Issue(ctx, made.Secret)
	}
	if err != nil {
		fx.t.Fatal(err)
	}
	r, err := requests.Get(ctx, made.ID)
	if err != nil {
		fx.t.Fatal(err)
	}
	return r
}
