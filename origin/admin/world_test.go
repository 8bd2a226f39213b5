package admin_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
)

// TestNoWorldInConsole fills a test world and reads every page of the console that lists something: nothing
// of the world is in it, and no form takes its account.
func TestNoWorldInConsole(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	ctx := t.Context()
	key, err := b.service.Access.Keys.Create(ctx, "default", fieldmark.KeyRequest{Name: "sandbox", Test: true,
		Scopes: []fieldmark.Scope{fieldmark.ScopeMissionCreate}})
	if err != nil {
		t.Fatal(err)
	}
	world := key.Account
	marks := []string{"worldmark"}
	for _, id := range []string{"1", "2"} {
		m, _, err := b.service.Missions.Create(ctx, world, fieldmark.MissionRequest{Source: "worldmark", ExternalID: id,
			Title: "worldmark", Priority: fieldmark.PriorityCritical,
			Payment: &fieldmark.PaymentRequest{Amount: &fieldmark.Money{Value: 5, Currency: "EUR"}}})
		if err != nil {
			t.Fatal(err)
		}
		marks = append(marks, m.ID, m.Payment.ID)
	}
	paths := []string{"/admin", "/admin/api-keys", "/admin/accounts", "/admin/offers", "/admin/missions",
		"/admin/missions?status=open", "/admin/missions?status=NEW", "/admin/missions/new", "/admin/board",
		"/admin/refused",
		"/admin/brands", "/admin/webhooks", "/admin/modules", "/admin/calendars", "/admin/technicians", "/admin/nodes",
		"/admin/cdns", "/admin/certificates", "/admin/access-requests", "/admin/settings", "/admin/audit-log"}
	for _, path := range paths {
		rec := b.do(path, nil)
		if rec.Code != 200 {
			t.Errorf("GET %s: %d", path, rec.Code)
		}
		for _, mark := range marks {
			if strings.Contains(rec.Body.String(), mark) {
				t.Errorf("GET %s has %q of a test world", path, mark)
			}
		}
	}
	if page := b.page("/admin/api-keys"); !strings.Contains(page, "test key") || !strings.Contains(page, "fm_test_") {
		t.Error("the page of keys does not mark a test key")
	}
	of := "?account=" + url.QueryEscape(world)
	for _, path := range []string{"/admin/missions" + of, "/admin/missions/export" + of, "/admin/board" + of} {
		if rec := b.do(path, nil); rec.Code == 200 || strings.Contains(rec.Body.String(), "worldmark") {
			t.Errorf("GET %s: %d, want a refusal", path, rec.Code)
		}
	}
	b.post("/admin/prove", url.Values{"password": {password}, "next": {"/admin/api-keys"}}, "/admin/api-keys")
	for path, form := range map[string]url.Values{
		"/admin/missions":    {"title": {"x"}, "external-id": {"x"}},
		"/admin/webhooks":    {"url": {"https://192.0.2.1/x"}, "newest": {"none"}},
		"/admin/calendars":   {"name": {"x"}, "scope": {"ALL"}, "newest": {"none"}},
		"/admin/technicians": {"assignee-id": {"x"}, "assignee-name": {"x"}},
		"/admin/api-keys":    {"name": {"x"}, "scope": {"mission:read"}, "days": {"30"}, "newest": {key.ID}},
		"/admin/accounts":    {"id": {world}, "name": {"x"}},
	} {
		form.Set("account", world)
		if rec := b.do(path, form); rec.Code < 400 {
			t.Errorf("POST %s with a test account: %d, want a refusal", path, rec.Code)
		}
	}
}
