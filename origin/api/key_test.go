package api_test

import (
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
)

func TestKeyLife(t *testing.T) {
	w := newWorld(t, nil)
	var acme fieldmark.Account
	w.must(200, ask{method: "PUT", path: adminPath + "accounts/acme", key: w.admin, body: `{"name":"Acme"}`}, &acme)
	if rec := w.send(ask{method: "PUT", path: adminPath + "accounts/No", key: w.admin,
		body: `{"name":""}`}); rec.Code != 422 {
		t.Errorf("a bad account: %d, want 422: %s", rec.Code, rec.Body)
	}
	var k, next fieldmark.NewKey
	w.must(201, ask{method: "POST", path: adminPath + "keys", key: w.admin,
		body: `{"name":"desk","account":"acme","scopes":["mission:read"],"expiresInDays":20,` +
			`"networks":["198.51.100.0/24"]}`}, &k)
	if k.Account != "acme" {
		t.Errorf("a key of %s, want acme's", k.Account)
	}
	read := ask{method: "GET", path: fieldmark.PathMissions, key: k.Token,
		header: map[string]string{fieldmark.HeaderNode: nodeToken, fieldmark.HeaderClient: "198.51.100.1"}}
	if rec := w.send(read); rec.Code != 200 || rec.Header().Get(fieldmark.HeaderKeyExpires) != k.ExpiresAt.String() {
		t.Errorf("from its network: %d with %s %q, want 200 with %s", rec.Code, fieldmark.HeaderKeyExpires,
			rec.Header().Get(fieldmark.HeaderKeyExpires), k.ExpiresAt)
	}
	read.header[fieldmark.HeaderClient] = "192.0.3.1"
	if p := w.problem(w.send(read)); p.Code != fieldmark.CodeIPNotAllowed {
		t.Errorf("from elsewhere: %+v, want ip_not_allowed", p)
	}
	read.header = map[string]string{fieldmark.HeaderClient: "198.51.100.1"} // only an edge is believed
	if p := w.problem(w.send(read)); p.Code != fieldmark.CodeIPNotAllowed {
		t.Errorf("with a claim of its own: %+v, want ip_not_allowed", p)
	}
	w.must(201, ask{method: "POST", path: adminPath + "keys/" + k.ID + "/rotate", key: w.admin,
		body: `{"graceHours":0}`}, &next)
	read.header = map[string]string{fieldmark.HeaderNode: nodeToken, fieldmark.HeaderClient: "198.51.100.1"}
	if p := w.problem(w.send(read)); p.Code != fieldmark.CodeExpiredAPIKey {
		t.Errorf("the old key without a grace: %+v, want expired_api_key", p)
	}
	read.key = next.Token
	w.must(200, read, nil)
	w.must(200, ask{method: "POST", path: adminPath + "keys/" + next.ID + "/revoke", key: w.admin,
		body: `{"reason":"over"}`}, nil)
	if p := w.problem(w.send(read)); p.Code != fieldmark.CodeInvalidAPIKey {
		t.Errorf("the revoked key: %+v, want invalid_api_key", p)
	}
	if rec := w.send(ask{method: "GET", path: fieldmark.PathMissions,
		key: w.longLived()}); rec.Header().Get(fieldmark.HeaderKeyExpires) != "" {
		t.Errorf("a key with a year to go says that it ends")
	}
	for _, token := range []string{k.Token, next.Token} {
		if strings.Contains(w.log.String(), token) {
			t.Errorf("the log holds a token")
		}
	}
}

// TestAuditLogOfAPI calls an act that notes itself, one that is noted by the
// door, and one that fails.
func TestAuditLogOfAPI(t *testing.T) {
	w := newWorld(t, nil)
	w.must(200, ask{method: "PUT", path: adminPath + "brands/acme", key: w.admin,
		body: `{"name":"Acme","url":"https://acme.example/","niche":"tools","language":"en","public":true}`}, nil)
	w.must(202, ask{method: "POST", path: adminPath + "brands/acme/audit", key: w.admin}, nil)
	w.send(ask{method: "POST", path: adminPath + "brands/nobody/audit", key: w.admin})
	var page fieldmark.List[fieldmark.AuditEntry]
	w.must(200, ask{method: "GET", path: adminPath + "audit-log?limit=1", key: w.admin}, &page)
	if len(page.Data) != 1 || page.Data[0].Act != "brand.audit" || page.Data[0].Target != "brands/acme/audit" ||
		page.Data[0].Kind != fieldmark.ActorKey || !page.HasMore {
		t.Fatalf("the newest entry %+v, want the audit that was asked for", page)
	}
	w.must(200, ask{method: "GET", path: adminPath + "audit-log?cursor=" + page.NextCursor, key: w.admin}, &page)
	if len(page.Data) != 1 || page.Data[0].Act != "brand.put" || page.HasMore {
		t.Errorf("the page after %+v, want the brand alone", page)
	}
	var v fieldmark.AuditVerdict
	w.must(200, ask{method: "GET", path: adminPath + "audit-log/verdict", key: w.admin}, &v)
	if v.Entries != 2 || v.Broken != 0 {
		t.Errorf("verdict %+v, want 2 entries that hold", v)
	}
	if rec := w.send(ask{method: "GET", path: adminPath + "audit-log?cursor=x", key: w.admin}); rec.Code != 400 {
		t.Errorf("a made-up cursor: %d, want 400", rec.Code)
	}
}

// longLived is a key with a year to go.
func (w *world) longLived() string {
	w.t.Helper()
	k, err := w.service.Access.Keys.Create(w.t.Context(), "", fieldmark.KeyRequest{Name: "test",
		Scopes: []fieldmark.Scope{fieldmark.ScopeMissionRead}})
	if err != nil {
		w.t.Fatal(err)
	}
	return k.Token
}
