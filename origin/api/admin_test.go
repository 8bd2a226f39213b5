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
	w := newWorld(t, nil)
	var m fieldmark.Mission
	w.must(201, ask{method: "POST", path: fieldmark.PathMissions, key: w.creator, body: goodMission}, &m)
	moves := adminPath + "missions/" + m.ID + "/transitions"

	w.must(200, ask{method: "POST", path: moves, key: w.admin,
		body: `{"status":"on_hold","reason":{"code":"WEATHER","text":"storm"}}`}, &m)
	if m.Status != fieldmark.MissionOnHold || m.StatusReason == nil || m.StatusReason.Code != "WEATHER" {
		t.Errorf("moved to %s for %v, want ON_HOLD for WEATHER", m.Status, m.StatusReason)
	}
	rec := w.send(ask{method: "POST", path: moves, key: w.admin, body: `{"status":"CLOSED"}`})
	if p := w.problem(rec); rec.Code != 409 || p.Code != fieldmark.CodeInvalidTransition || len(p.Allowed) == 0 {
		t.Errorf("forbidden move: %d %+v, want 409 with what is allowed", rec.Code, p)
	}
	rec = w.send(ask{method: "POST", path: moves, key: w.admin, body: `{"status":"LOST","reason":{"code":"low case"}}`})
	if p := w.problem(rec); rec.Code != 422 || len(p.Errors) != 2 {
		t.Errorf("unknown status and bad reason: %d %+v, want 422 with both", rec.Code, p)
	}
	w.must(200, ask{method: "POST", path: adminPath + "missions/" + m.ID + "/complete", key: w.admin}, &m)
	if m.Status != fieldmark.MissionCompleted || m.CompletedAt == nil {
		t.Errorf("completed mission is %s at %v", m.Status, m.CompletedAt)
	}
	var page fieldmark.List[fieldmark.Mission]
	w.must(200, ask{method: "GET", path: adminPath + "missions?status=COMPLETED", key: w.admin}, &page)
	if len(page.Data) != 1 {
		t.Errorf("%d completed missions, want 1", len(page.Data))
	}
}

func TestBrands(t *testing.T) {
	w := newWorld(t, nil)
	put := ask{method: "PUT", path: adminPath + "brands/acme", key: w.admin,
		body: `{"name":"Acme","url":"https://acme.example/","niche":"tools","language":"en","public":true}`}
	var b fieldmark.Brand
	w.must(200, put, &b)
	if b.Slug != "acme" || b.Name != "Acme" || !b.Public {
		t.Errorf("stored %+v", b)
	}
	put.body = `{"slug":"emca","name":"Acme","url":"https://acme.example/","niche":"tools","language":"en","logo":"x"}`
	rec := w.send(put)
	if p := w.problem(rec); rec.Code != 422 || len(p.Errors) != 2 {
		t.Errorf("other slug and unknown member: %d %+v, want 422 with both", rec.Code, p)
	}
	put.path = adminPath + "brands/Not%20a%20slug"
	if rec := w.send(put); rec.Code != 404 {
		t.Errorf("PUT %s: %d, want 404", put.path, rec.Code)
	}
	w.must(202, ask{method: "POST", path: adminPath + "brands/acme/audit", key: w.admin}, nil)
	if rec := w.send(ask{method: "POST", path: adminPath + "brands/nobody/audit", key: w.admin}); rec.Code != 404 {
		t.Errorf("audit of an unknown brand: %d, want 404", rec.Code)
	}
}

func TestImportAndListBrands(t *testing.T) {
	w := newWorld(t, nil)
	var records []string
	for i := range 450 {
		records = append(records,
			fmt.Sprintf(`{"slug":"b%04d","name":"Brand %d","url":"https://b%d.example/","niche":"tools","language":"en",`+
				`"description":"%s","createdAt":""}`, i, i, i, strings.Repeat("x", 300)))
	}
	records = append(records, `{"slug":"Bad Slug","name":"x","url":"ftp://x","niche":"tools","language":"en"}`)
	body := "[" + strings.Join(records, ",") + "]"
	if len(body) < 2*fieldmark.MaxBody {
		t.Fatalf("the import has %d bytes and does not try the larger limit", len(body))
	}
	var report fieldmark.ImportReport
	w.must(200, ask{method: "POST", path: adminPath + "brands/import", key: w.admin, body: body}, &report)
	if report.Added != 450 || len(report.Rejected) != 2 || report.Rejected[0].Pointer != "/450/slug" {
		t.Errorf("report %d added, rejected %v", report.Added, report.Rejected)
	}

	seen, path := 0, adminPath+"brands?limit=200"
	for path != "" {
		var page fieldmark.List[fieldmark.Brand]
		w.must(200, ask{method: "GET", path: path, key: w.admin}, &page)
		seen += len(page.Data)
		path = ""
		if page.HasMore {
			path = adminPath + "brands?limit=200&cursor=" + page.NextCursor
		}
	}
	if seen != 450 {
		t.Errorf("all pages list %d brands, want 450", seen)
	}

	many := w.send(ask{method: "POST", path: adminPath + "brands/import", key: w.admin, body: "[{}" +
		strings.Repeat(",{}", 1_000_000) + "]"})
	if p := w.problem(many); p.Code != fieldmark.CodeBodyTooLarge || !strings.Contains(p.Detail,
		"400000 members and elements") {
		t.Errorf("a million records: %+v, want %s", p, fieldmark.CodeBodyTooLarge)
	}
	rec := w.send(ask{method: "POST", path: adminPath + "brands/import", key: w.admin,
		body: `[{"slug":"c","nmae":"x"},{"slug":7}]`})
	if p := w.problem(rec); rec.Code != 422 || len(p.Errors) != 2 {
		t.Errorf("records of the wrong form: %d %+v, want 422 with both", rec.Code, p)
	}
}

func TestKeys(t *testing.T) {
	w := newWorld(t, nil)
	var k fieldmark.NewKey
	w.must(201, ask{method: "POST", path: adminPath + "keys", key: w.admin,
		body: `{"name":"crm","scopes":["mission:create"],"expiresInDays":-1}`}, &k)
	if _, err := fieldmark.ParseKeyToken(k.Token); err != nil || k.ExpiresAt != nil {
		t.Errorf("new key %+v: %v", k.Key, err)
	}
	open := ask{method: "POST", path: fieldmark.PathMissions, key: k.Token, body: goodMission}
	w.must(201, open, nil)

	var all fieldmark.List[fieldmark.Key]
	rec := w.must(200, ask{method: "GET", path: adminPath + "keys", key: w.admin}, &all)
	if strings.Contains(rec.Body.String(), k.Token) || len(all.Data) != 5 {
		t.Errorf("the list has %d keys, want 5 and no token: %s", len(all.Data), rec.Body)
	}
	w.must(200, ask{method: "POST", path: adminPath + "keys/" + k.ID + "/revoke", key: w.admin}, nil)
	if rec := w.send(open); rec.Code != http.StatusUnauthorized {
		t.Errorf("revoked key: %d, want 401", rec.Code)
	}
	rec = w.send(ask{method: "POST", path: adminPath + "keys", key: w.admin,
		body: `{"name":"","scopes":["root","mission:read"],"expiresInDays":9999}`})
	if p := w.problem(rec); rec.Code != 422 || len(p.Errors) != 3 {
		t.Errorf("three faults: %d %+v, want 422 with all of them", rec.Code, p)
	}
}

func TestWebhooks(t *testing.T) {
	w := newWorld(t, nil)
	rec := w.send(ask{method: "POST", path: adminPath + "webhooks", key: w.admin,
		body: `{"url":"https://receiver.example/","events":["mission.*","nothing.*"],"ttlSeconds":-1}`})
	if p := w.problem(rec); rec.Code != 422 || len(p.Errors) != 2 {
		t.Errorf("two faults: %d %+v, want 422 with both", rec.Code, p)
	}
	var none fieldmark.List[fieldmark.Endpoint]
	rec = w.must(200, ask{method: "GET", path: adminPath + "webhooks", key: w.admin}, &none)
	if got := strings.TrimSpace(rec.Body.String()); got != `{"data":[],"hasMore":false}` {
		t.Errorf("no endpoints: %s", got)
	}
	var deliveries fieldmark.List[fieldmark.Delivery]
	w.must(200, ask{method: "GET", path: adminPath + "deliveries?limit=10", key: w.admin}, &deliveries)
	if rec := w.send(ask{method: "DELETE", path: adminPath + "webhooks/whk_00000000000000000000000000",
		key: w.admin}); rec.Code != 404 {
		t.Errorf("deleting an unknown endpoint: %d, want 404", rec.Code)
	}
}
