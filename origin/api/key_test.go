package api_test

import (
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
)

func TestKeyLifecycle(t *testing.T) {
	fx := newFixture(t, nil)
	var acme fieldmark.Account
	fx.mustSend(200, request{method: "PUT", path: adminPath + "accounts/acme", key: fx.admin, body: `{"name":"Acme"}`},
		&acme)
	if rec := fx.send(request{method: "PUT", path: adminPath + "accounts/No", key: fx.admin,
		body: `{"name":""}`}); rec.Code != 422 {
		t.Errorf("a bad account: %d, want 422: %s", rec.Code, rec.Body)
	}
	var k, next fieldmark.NewKey
	fx.mustSend(201, request{method: "POST", path: adminPath + "keys", key: fx.admin,
		body: `{"name":"console","account":"acme","scopes":["mission:read"],"expiresInDays":20,` +
			`"networks":["198.51.100.0/24"]}`}, &k)
	if k.Account != "acme" {
		t.Errorf("a key of %s, want acme's", k.Account)
	}
	read := request{method: "GET", path: fieldmark.PathMissions, key: k.Token,
		header: map[string]string{fieldmark.HeaderNode: nodeToken, fieldmark.HeaderClient: "198.51.100.1"}}
	if rec := fx.send(read); rec.Code != 200 || rec.Header().Get(fieldmark.HeaderKeyExpires) != k.ExpiresAt.String() {
		t.Errorf("from its network: %d with %s %q, want 200 with %s", rec.Code, fieldmark.HeaderKeyExpires,
			rec.Header().Get(fieldmark.HeaderKeyExpires), k.ExpiresAt)
	}
	read.header[fieldmark.HeaderClient] = "192.0.3.1"
	if p := fx.problem(fx.send(read)); p.Code != fieldmark.CodeIPNotAllowed {
		t.Errorf("from elsewhere: %+v, want ip_not_allowed", p)
	}
	read.header = map[string]string{fieldmark.HeaderClient: "198.51.100.1"} // no edge: ignored
	if p := fx.problem(fx.send(read)); p.Code != fieldmark.CodeIPNotAllowed {
		t.Errorf("with a claim of its own: %+v, want ip_not_allowed", p)
	}
	fx.mustSend(201, request{method: "POST", path: adminPath + "keys/" + k.ID + "/rotate", key: fx.admin,
		body: `{"graceHours":0}`}, &next)
	read.header = map[string]string{fieldmark.HeaderNode: nodeToken, fieldmark.HeaderClient: "198.51.100.1"}
	if p := fx.problem(fx.send(read)); p.Code != fieldmark.CodeExpiredAPIKey {
		t.Errorf("the old key without a grace: %+v, want expired_api_key", p)
	}
	read.key = next.Token
	fx.mustSend(200, read, nil)
	fx.mustSend(200, request{method: "POST", path: adminPath + "keys/" + next.ID + "/revoke", key: fx.admin,
		body: `{"reason":"over"}`}, nil)
	if p := fx.problem(fx.send(read)); p.Code != fieldmark.CodeInvalidAPIKey {
		t.Errorf("the revoked key: %+v, want invalid_api_key", p)
	}
	if rec := fx.send(request{method: "GET", path: fieldmark.PathMissions,
		key: fx.longLived()}); rec.Header().Get(fieldmark.HeaderKeyExpires) != "" {
		t.Errorf("a key with a year to go says that it ends")
	}
	for _, token := range []string{k.Token, next.Token} {
		if strings.Contains(fx.log.String(), token) {
			t.Errorf("the log holds a token")
		}
	}
}

// TestAuditLogOfAPI: an action has one audit log entry, whether the service or the API adds it, and a failed
// action has none.
func TestAuditLogOfAPI(t *testing.T) {
	fx := newFixture(t, nil)
	fx.mustSend(200, request{method: "PUT", path: adminPath + "brands/acme", key: fx.admin,
		body: `{"name":"Acme","url":"https://acme.example/","niche":"tools","language":"en","public":true}`}, nil)
	fx.mustSend(202, request{method: "POST", path: adminPath + "brands/acme/audit", key: fx.admin}, nil)
	fx.send(request{method: "POST", path: adminPath + "brands/nobody/audit", key: fx.admin})
	var page fieldmark.List[fieldmark.AuditEntry]
	fx.mustSend(200, request{method: "GET", path: adminPath + "audit-log?limit=1", key: fx.admin}, &page)
	if len(page.Data) != 1 || page.Data[0].Act != "brand.audit_requested" ||
		page.Data[0].Target != "acme" ||
		page.Data[0].Kind != fieldmark.ActorKey || !page.HasMore {
		t.Fatalf("the newest entry %+v, want the audit that was asked for", page)
	}
	fx.mustSend(200, request{method: "GET", path: adminPath + "audit-log?cursor=" + page.NextCursor, key: fx.admin},
		&page)
	if len(page.Data) != 1 || page.Data[0].Act != "brand.changed" || page.HasMore {
		t.Errorf("the page after %+v, want the brand alone", page)
	}
	var v fieldmark.AuditVerdict
	fx.mustSend(200, request{method: "GET", path: adminPath + "audit-log/verdict", key: fx.admin}, &v)
	if v.Entries != 2 || v.Broken != 0 {
		t.Errorf("verdict %+v, want 2 entries that hold", v)
	}
	if rec := fx.send(request{method: "GET", path: adminPath + "audit-log?cursor=x", key: fx.admin}); rec.Code != 400 {
		t.Errorf("a made-up cursor: %d, want 400", rec.Code)
	}
}

// longLived returns a key that expires in a year.
func (fx *fixture) longLived() string {
	fx.t.Helper()
	k, err := fx.service.Access.Keys.Create(fx.t.Context(), "", fieldmark.KeyRequest{Name: "test",
		Scopes: []fieldmark.Scope{fieldmark.ScopeMissionRead}})
	if err != nil {
		fx.t.Fatal(err)
	}
	return k.Token
}
