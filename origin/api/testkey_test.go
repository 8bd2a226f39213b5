package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
)

// testKeyOf makes a test key of an account with the API for administrators.
func (fx *fixture) testKeyOf(account string, scopes ...fieldmark.Scope) fieldmark.NewKey {
	fx.t.Helper()
	if scopes == nil {
		scopes = []fieldmark.Scope{"mission:create", "mission:read", "mission:update", "mission:cancel",
			"mission:operate", "webhook:manage"}
	}
	body, err := json.Marshal(fieldmark.KeyRequest{Name: "sandbox", Account: account, Scopes: scopes, Test: true})
	if err != nil {
		fx.t.Fatal(err)
	}
	var made fieldmark.NewKey
	fx.mustSend(201, request{"POST", "/api/admin/v1/keys", fx.admin, string(body), nil}, &made)
	return made
}

// TestTestKeys creates test keys in both ways and checks what they are and how many there may be.
func TestTestKeys(t *testing.T) {
	fx := newFixture(t, nil)
	made := fx.testKeyOf("other")
	if !strings.HasPrefix(made.Token, "fm_test_") || made.Account != "other~test" || !made.Test {
		t.Errorf("test key: %+v", made)
	}
	if days := made.ExpiresAt.Std().Sub(made.CreatedAt.Std()).Hours() / 24; days < 89 || days > 91 {
		t.Errorf("a test key lives for %v days, want %d", days, fieldmark.TestKeyDays)
	}
	for _, bad := range []string{
		`{"name":"x","scopes":["admin:*"],"test":true}`,
		`{"name":"x","scopes":["mission:read","brand:manage"],"test":true}`,
		`{"name":"x","scopes":["key:test"],"test":true}`,
		`{"name":"x","scopes":["mission:read"],"test":true,"expiresInDays":91}`,
		`{"name":"x","scopes":["mission:read"],"test":true,"expiresInDays":-1}`,
	} {
		fx.mustSend(422, request{"POST", "/api/admin/v1/keys", fx.admin, bad, nil}, nil)
	}
	for _, door := range []request{
		{"POST", "/api/admin/v1/keys", fx.admin,
			`{"name":"x","scopes":["mission:read"],"test":true,"account":"other~test"}`, nil},
		{"POST", "/api/admin/v1/keys", fx.admin, `{"name":"x","scopes":["admin:*"],"account":"other~test"}`, nil},
		{"POST", "/api/admin/v1/calendars", fx.admin, `{"name":"x","account":"other~test","scope":"ALL"}`, nil},
		{"POST", "/api/admin/v1/technician-links", fx.admin,
			`{"account":"other~test","assignee":{"id":"t1","name":"T"}}`, nil},
	} {
		fx.mustSend(404, door, nil)
	}
	fx.mustSend(422, request{"PUT", "/api/admin/v1/accounts/other~test", fx.admin, `{"name":"x"}`, nil}, nil)

	live := fx.key("other", fieldmark.ScopeKeyTest)
	own := request{"POST", fieldmark.PathTestKeys, live, `{"name":"mine"}`, nil}
	var second fieldmark.NewKey
	fx.mustSend(201, own, &second)
	if second.Account != "other~test" || len(second.Scopes) != 6 {
		t.Errorf("a test key made with a live key: %+v", second)
	}
	fx.mustSend(201, own, nil)
	fx.mustSend(422, own, nil) // the world has three
	fx.mustSend(422, request{"POST", "/api/admin/v1/keys", fx.admin,
		`{"name":"x","scopes":["mission:read"],"test":true,"account":"other"}`, nil}, nil)
	fx.mustSend(404, request{"DELETE", fieldmark.PathTestKeys + "/" + made.ID, fx.key("default",
		fieldmark.ScopeKeyTest), "", nil}, nil)
	fx.mustSend(204, request{"DELETE", fieldmark.PathTestKeys + "/" + made.ID, live, "", nil}, nil)
	var list fieldmark.List[fieldmark.Key]
	fx.mustSend(200, request{"GET", fieldmark.PathTestKeys, live, "", nil}, &list)
	if len(list.Data) != 3 || list.Data[2].RevokedAt == nil {
		t.Errorf("test keys: %+v", list.Data)
	}
	fx.mustSend(201, own, nil)

	var rotated fieldmark.NewKey
	fx.mustSend(201, request{"POST", "/api/admin/v1/keys/" + second.ID + "/rotate", fx.admin, "", nil}, &rotated)
	if !strings.HasPrefix(rotated.Token, "fm_test_") || !rotated.Test {
		t.Errorf("a rotated test key: %+v", rotated)
	}
}

// TestWhatATestKeyMayNot sends what a test key is refused.
func TestWhatATestKeyMayNot(t *testing.T) {
	fx := newFixture(t, nil)
	key := fx.testKeyOf("default").Token
	for _, a := range []request{
		{"GET", "/api/admin/v1/keys", key, "", nil},
		{"GET", "/api/admin/v1/missions", key, "", nil},
		{"POST", fieldmark.PathTestKeys, key, `{"name":"x"}`, nil},
		{"GET", "/api/public/v1/account/sub-accounts", key, "", nil},
	} {
		rec := fx.send(a)
		if a.path == "/api/public/v1/account/sub-accounts" && rec.Code == http.StatusNotFound {
			continue // another path
		}
		if p := fx.problem(rec); p.Code != fieldmark.CodeTestKey || rec.Code != 403 {
			t.Errorf("%s %s: %d %s, want 403 %s", a.method, a.path, rec.Code, p.Code, fieldmark.CodeTestKey)
		}
	}
	quota := fx.send(request{"GET", fieldmark.PathMissions, key, "",
		map[string]string{fieldmark.HeaderNode: nodeToken}}).Header().Get(fieldmark.HeaderQuota)
	if want := ";g=default~test;gr=300;gw=150"; !strings.HasSuffix(quota, want) {
		t.Errorf("%s of a test key = %q, want the end %q", fieldmark.HeaderQuota, quota, want)
	}
}

// TestWorldIsApart opens missions with the same identifiers in a live account and in its test world.
func TestWorldIsApart(t *testing.T) {
	fx := newFixture(t, nil)
	key := fx.testKeyOf("default").Token
	open := func(key, title string, status int) (m fieldmark.Mission) {
		t.Helper()
		fx.mustSend(status, request{"POST", fieldmark.PathMissions, key, fmt.Sprintf(
			`{"source":"crm","externalId":"1","title":%q,"payment":{"amount":{"value":100,"currency":"EUR"}}}`,
			title), nil}, &m)
		return m
	}
	world := open(key, "in the world", 201)
	live := open(fx.creator, "in earnest", 201)
	open(key, "in the world", 200)
	fx.mustSend(404, request{"GET", fieldmark.PathMissions + "/" + world.ID, fx.reader, "", nil}, nil)
	fx.mustSend(404, request{"GET", fieldmark.PathMissions + "/" + live.ID, key, "", nil}, nil)

	lists := func(path, key string) (ids []string) {
		t.Helper()
		var page fieldmark.List[struct {
			ID        string `json:"id"`
			MissionID string `json:"missionId"`
		}]
		fx.mustSend(200, request{"GET", path, key, "", nil}, &page)
		for _, one := range page.Data {
			if one.MissionID != "" {
				one.ID = one.MissionID
			}
			ids = append(ids, one.ID)
		}
		return ids
	}
	for path, want := range map[string]string{
		"/api/admin/v1/missions":                                 live.ID,
		"/api/admin/v1/missions?status=NEW":                      live.ID,
		"/api/admin/v1/missions?world=test":                      world.ID,
		"/api/admin/v1/missions?world=test&status=NEW":           world.ID,
		"/api/admin/v1/missions?account=default~test&world=test": world.ID,
		"/api/admin/v1/payments":                                 live.ID,
		"/api/admin/v1/payments?status=PENDING":                  live.ID,
		"/api/admin/v1/payments?world=test":                      world.ID,
		"/api/admin/v1/payments?world=test&status=PENDING":       world.ID,
	} {
		if ids := lists(path, fx.admin); len(ids) != 1 || ids[0] != want {
			t.Errorf("GET %s lists %v, want %s", path, ids, want)
		}
	}
	fx.mustSend(400, request{"GET", "/api/admin/v1/missions?account=default~test", fx.admin, "", nil}, nil)
	fx.mustSend(400, request{"GET", "/api/admin/v1/missions?account=default&world=test", fx.admin, "", nil}, nil)
	if ids := lists(fieldmark.PathMissions, key); len(ids) != 1 || ids[0] != world.ID {
		t.Errorf("missions of a test key: %v, want %s", ids, world.ID)
	}
	fx.checkDatabase()
}

// checkDatabase checks the consistency of the database.
func (fx *fixture) checkDatabase() {
	fx.t.Helper()
	findings, err := fx.store.Inspect(fx.t.Context())
	if err != nil {
		fx.t.Fatal(err)
	}
	for _, f := range findings {
		if len(f.Broken) > 0 {
			fx.t.Errorf("%s: %v", f.Rule, f.Broken)
		}
	}
}
