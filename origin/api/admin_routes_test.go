package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
)

const adminPath = fieldmark.PathAdminAPI

func TestMoveAndComplete(t *testing.T) {
	fx := newFixture(t, nil)
	var m fieldmark.Mission
	fx.mustSend(201, request{method: "POST", path: fieldmark.PathMissions, key: fx.creator, body: goodMission}, &m)
	moves := adminPath + "missions/" + m.ID + "/transitions"

	fx.mustSend(200, request{method: "POST", path: moves, key: fx.admin,
		body: `{"status":"on_hold","reason":{"code":"WEATHER","text":"storm"}}`}, &m)
	if m.Status != fieldmark.MissionOnHold || m.StatusReason == nil || m.StatusReason.Code != "WEATHER" {
		t.Errorf("moved to %s for %v, want ON_HOLD for WEATHER", m.Status, m.StatusReason)
	}
	rec := fx.send(request{method: "POST", path: moves, key: fx.admin, body: `{"status":"CLOSED"}`})
	if p := fx.problem(rec); rec.Code != 409 || p.Code != fieldmark.CodeInvalidTransition || len(p.Allowed) == 0 {
		t.Errorf("forbidden move: %d %+v, want 409 with what is allowed", rec.Code, p)
	}
	rec = fx.send(request{method: "POST", path: moves, key: fx.admin,
		body: `{"status":"LOST","reason":{"code":"low case"}}`})
	if p := fx.problem(rec); rec.Code != 422 || len(p.Errors) != 2 {
		t.Errorf("unknown status and bad reason: %d %+v, want 422 with both", rec.Code, p)
	}
	fx.mustSend(200, request{method: "POST", path: adminPath + "missions/" + m.ID + "/complete", key: fx.admin}, &m)
	if m.Status != fieldmark.MissionCompleted || m.CompletedAt == nil {
		t.Errorf("completed mission is %s at %v", m.Status, m.CompletedAt)
	}
	var page fieldmark.List[fieldmark.Mission]
	fx.mustSend(200, request{method: "GET", path: adminPath + "missions?status=COMPLETED", key: fx.admin}, &page)
	if len(page.Data) != 1 {
		t.Errorf("%d completed missions, want 1", len(page.Data))
	}
}

func TestBrands(t *testing.T) {
	fx := newFixture(t, nil)
	put := request{method: "PUT", path: adminPath + "brands/acme", key: fx.admin,
		body: `{"name":"Acme","url":"https://acme.example/","niche":"tools","language":"en","public":true}`}
	var b fieldmark.Brand
	fx.mustSend(200, put, &b)
	if b.Slug != "acme" || b.Name != "Acme" || !b.Public {
		t.Errorf("stored %+v", b)
	}
	put.body = `{"slug":"emca","name":"Acme","url":"https://acme.example/","niche":"tools","language":"en","logo":"x"}`
	rec := fx.send(put)
	if p := fx.problem(rec); rec.Code != 422 || len(p.Errors) != 2 {
		t.Errorf("other slug and unknown member: %d %+v, want 422 with both", rec.Code, p)
	}
	put.path = adminPath + "brands/Not%20a%20slug"
	if rec := fx.send(put); rec.Code != 404 {
		t.Errorf("PUT %s: %d, want 404", put.path, rec.Code)
	}
	fx.mustSend(202, request{method: "POST", path: adminPath + "brands/acme/audit", key: fx.admin}, nil)
	if rec := fx.send(request{method: "POST", path: adminPath + "brands/nobody/audit",
		key: fx.admin}); rec.Code != 404 {
		t.Errorf("audit of an unknown brand: %d, want 404", rec.Code)
	}
}

func TestImportAndListBrands(t *testing.T) {
	fx := newFixture(t, nil)
	var records []string
	for i := range 450 {
		records = append(records,
			fmt.Sprintf(`{"slug":"b%04d","name":"Brand %d","url":"https://b%d.example/","niche":"tools",`+
				`"language":"en",`+
				`"description":"%s","createdAt":""}`, i, i, i, strings.Repeat("x", 300)))
	}
	records = append(records, `{"slug":"Bad Slug","name":"x","url":"ftp://x","niche":"tools","language":"en"}`)
	body := "[" + strings.Join(records, ",") + "]"
	if len(body) < 2*fieldmark.MaxBody {
		t.Fatalf("the import has %d bytes and does not try the larger limit", len(body))
	}
	var report fieldmark.ImportReport
	fx.mustSend(200, request{method: "POST", path: adminPath + "brands/import", key: fx.admin, body: body}, &report)
	if report.Added != 450 || len(report.Rejected) != 2 || report.Rejected[0].Pointer != "/450/slug" {
		t.Errorf("report %d added, rejected %v", report.Added, report.Rejected)
	}

	seen, path := 0, adminPath+"brands?limit=200"
	for path != "" {
		var page fieldmark.List[fieldmark.Brand]
		fx.mustSend(200, request{method: "GET", path: path, key: fx.admin}, &page)
		seen += len(page.Data)
		path = ""
		if page.HasMore {
			path = adminPath + "brands?limit=200&cursor=" + page.NextCursor
		}
	}
	if seen != 450 {
		t.Errorf("all pages list %d brands, want 450", seen)
	}

	many := fx.send(request{method: "POST", path: adminPath + "brands/import", key: fx.admin, body: "[{}" +
		strings.Repeat(",{}", 1_000_000) + "]"})
	if p := fx.problem(many); p.Code != fieldmark.CodeBodyTooLarge || !strings.Contains(p.Detail,
		"400000 members and elements") {
		t.Errorf("a million records: %+v, want %s", p, fieldmark.CodeBodyTooLarge)
	}
	rec := fx.send(request{method: "POST", path: adminPath + "brands/import", key: fx.admin,
		body: `[{"slug":"c","nmae":"x"},{"slug":7}]`})
	if p := fx.problem(rec); rec.Code != 422 || len(p.Errors) != 2 {
		t.Errorf("records of the wrong form: %d %+v, want 422 with both", rec.Code, p)
	}
}

func TestKeys(t *testing.T) {
	fx := newFixture(t, nil)
	var k fieldmark.NewKey
	fx.mustSend(201, request{method: "POST", path: adminPath + "keys", key: fx.admin,
		body: `{"name":"crm","scopes":["mission:create"],"expiresInDays":-1}`}, &k)
	if _, err := fieldmark.ParseKeyToken(k.Token); err != nil || k.ExpiresAt != nil {
		t.Errorf("new key %+v: %v", k.Key, err)
	}
	open := request{method: "POST", path: fieldmark.PathMissions, key: k.Token, body: goodMission}
	fx.mustSend(201, open, nil)

	var all fieldmark.List[fieldmark.Key]
	rec := fx.mustSend(200, request{method: "GET", path: adminPath + "keys", key: fx.admin}, &all)
	if strings.Contains(rec.Body.String(), k.Token) || len(all.Data) != 5 {
		t.Errorf("the list has %d keys, want 5 and no token: %s", len(all.Data), rec.Body)
	}
	fx.mustSend(200, request{method: "POST", path: adminPath + "keys/" + k.ID + "/revoke", key: fx.admin}, nil)
	if rec := fx.send(open); rec.Code != http.StatusUnauthorized {
		t.Errorf("revoked key: %d, want 401", rec.Code)
	}
	rec = fx.send(request{method: "POST", path: adminPath + "keys", key: fx.admin,
		body: `{"name":"","scopes":["root","mission:read"],"expiresInDays":9999}`})
	if p := fx.problem(rec); rec.Code != 422 || len(p.Errors) != 3 {
		t.Errorf("three faults: %d %+v, want 422 with all of them", rec.Code, p)
	}
}

func TestWebhooks(t *testing.T) {
	fx := newFixture(t, nil)
	rec := fx.send(request{method: "POST", path: adminPath + "webhooks", key: fx.admin,
		body: `{"url":"https://receiver.example/","events":["mission.*","nothing.*"],"ttlSeconds":-1}`})
	if p := fx.problem(rec); rec.Code != 422 || len(p.Errors) != 2 {
		t.Errorf("two faults: %d %+v, want 422 with both", rec.Code, p)
	}
	var none fieldmark.List[fieldmark.Endpoint]
	rec = fx.mustSend(200, request{method: "GET", path: adminPath + "webhooks", key: fx.admin}, &none)
	if got := strings.TrimSpace(rec.Body.String()); got != `{"data":[],"hasMore":false}` {
		t.Errorf("no endpoints: %s", got)
	}
	var deliveries fieldmark.List[fieldmark.Delivery]
	fx.mustSend(200, request{method: "GET", path: adminPath + "deliveries?limit=10", key: fx.admin}, &deliveries)
	if rec := fx.send(request{method: "DELETE", path: adminPath + "webhooks/whk_00000000000000000000000000",
		key: fx.admin}); rec.Code != 404 {
		t.Errorf("deleting an unknown endpoint: %d, want 404", rec.Code)
	}
}
