package admin_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/store"
)

// TestOverview: the first page is green only without an issue, and has a chart and a table for
// every number in each range.
func TestOverview(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	if body := b.page("/admin", "No scoring module is active", `<li class="critical">`); strings.Contains(body,
		"Everything works") {
		t.Error("the overview is green without a module")
	}
	for query, points := range map[string]int{"": 60, "?range=24h": 96, "?range=7d": 84, "?range=90d": 90,
		"?range=x": 60} {
		body := b.page("/admin"+query, `aria-current="true"`)
		if charts, rows := strings.Count(body, "<figure"), strings.Count(body, `<tr><th scope="row">`); charts != 8 ||
			rows != 8*points {
			t.Errorf("%s: %d charts with %d rows, want 8 with %d", query, charts, rows, 8*points)
		}
	}
}

// TestNodeOverdue: an edge that does not report is listed as not reporting until an administrator removes it.
func TestNodeOverdue(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	since := fieldmark.At(time.Now())
	r := fieldmark.NodeReport{Node: fieldmark.NewID(fieldmark.PrefixNode, time.Now()), Name: hostile,
		RedisDownSince: &since}
	if err := b.service.Modules.ReportNode(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	checkEscaped(t, b.page("/admin/nodes", "running", "Redis unreachable"))
	err := b.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		r.SeenAt = fieldmark.At(time.Now().Add(-time.Hour))
		_, err := tx.PutNode(ctx, r)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	b.page("/admin/nodes", ">not reporting<", "Remove edge")
	b.post("/admin/nodes/"+r.Node+"/remove", url.Values{}, "/admin/nodes")
	b.page("/admin/nodes", "No edge has reported recently.")
}

// TestWebhookReplays: the page of an endpoint filters messages, and sends messages again only
// after a confirmation.
func TestWebhookReplays(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	made, err := b.service.Webhooks.CreateEndpoint(t.Context(), access.DefaultAccount,
		fieldmark.EndpointRequest{URL: "https://192.0.2.1/hook", Events: []string{fieldmark.AllMissionEvents}})
	if err != nil {
		t.Fatal(err)
	}
	b.mission(fieldmark.MissionRequest{ExternalID: "1", Source: "crm", Title: "t"})
	page := "/admin/webhooks/" + made.ID
	for query, found := range map[string]bool{"": true, "?type=mission.*": true,
		"?type=mission.created&state=due": true,
		"?type=sla.*":                     false, "?state=failed": false} {
		for _, path := range []string{page, "/admin/webhooks"} {
			if body := b.page(path + query); strings.Contains(body, "<code>mission.created</code></a>") != found {
				t.Errorf("%s%s shows the message: %t, want %t", path, query, !found, found)
			}
		}
	}
	for _, do := range []string{"recover", "replay"} {
		b.rejected(page, url.Values{"do": {do}, "since": {"2026-11-01T00:00"}}, 422, "Confirm that receivers")
		b.rejected(page, url.Values{"do": {do}, "since": {"x"}, "confirm": {"yes"}}, 422, "enter a date and a time")
		b.post(page, url.Values{"do": {do}, "since": {"2026-11-01T00:00"}, "confirm": {"yes"}}, page)
	}
	b.page(page, "events after 0", "failed since", "data-live")
}
