package admin_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/recordtest"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/store"
)

// BenchmarkOperatorPages measures the pages of an operator in a database of 100,000 missions and
// 1,000,000 deliveries, of which one in fifty or nine in ten are unsent, half of them to
// endpoints that fail. The goal is 100 ms for each. FIELDMARK_TEST_ENGINE=postgres measures
// PostgreSQL.
func BenchmarkOperatorPages(b *testing.B) {
	for name, unsent := range map[string]int{"sent": 2, "unsent": 90} {
		b.Run(name, func(b *testing.B) { benchmarkOperator(b, unsent) })
	}
}

func benchmarkOperator(b *testing.B, unsent int) {
	cfg := benchDatabase(b)
	db, err := store.Open(b.Context(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	console := newBrowserOf(b, db, false)
	console.signIn()
	const endpoints = 10
	ids := console.endpoints(endpoints)
	recordtest.Fill(b, cfg, recordtest.Size{Missions: 100_000, OpenEvery: 2, Deliveries: 1_000_000 / endpoints,
		Unsent: unsent, AuditLog: 100_000, Keys: 200, Metrics: true})
	for i := range 100 {
		report := fieldmark.NodeReport{Node: fieldmark.NewID(fieldmark.PrefixNode, time.Now()),
			Name: fmt.Sprintf("edge-%d:8080", i), StartedAt: fieldmark.At(time.Now())}
		if err := console.service.Modules.ReportNode(b.Context(), report); err != nil {
			b.Fatal(err)
		}
	}
	newest, err := db.Deliveries(b.Context(), store.DeliveryFilter{Endpoint: ids[0], Limit: 1}, time.Now())
	if err != nil {
		b.Fatal(err)
	}
	names := strings.NewReplacer("ENDPOINT", ids[0], "DELIVERY", newest[0].ID)
	for _, path := range []string{
		"/admin", "/admin?range=24h", "/admin?range=7d", "/admin?range=90d", "/admin/webhooks",
		"/admin/webhooks?state=failed", "/admin/webhooks?type=sla.*", "/admin/webhooks?state=held",
		"/admin/webhooks/ENDPOINT", "/admin/webhooks/ENDPOINT?state=failed", "/admin/webhooks/ENDPOINT?state=held",
		"/admin/webhooks/ENDPOINT?type=sla.*&state=done", "/admin/webhooks/ENDPOINT/deliveries/DELIVERY",
		"/admin/nodes", "/admin/audit-log", "/admin/accounts", "/admin/api-keys", "/admin/certificates",
		"/admin/modules", "/admin/settings", "/admin/calendars", "/admin/brands", "/admin/missions",
	} {
		b.Run(path, func(b *testing.B) { console.measure(b, names.Replace(path), 200) })
	}
	b.Run("issues", func(b *testing.B) {
		for b.Loop() {
			if _, err := console.service.Monitor.Issues(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// endpoints creates endpoints, every second of which fails.
func (b *browser) endpoints(n int) (ids []string) {
	b.t.Helper()
	for i := range n {
		made, err := b.service.Webhooks.CreateEndpoint(b.t.Context(), access.DefaultAccount,
			fieldmark.EndpointRequest{URL: fmt.Sprintf("https://192.0.2.%d/hook", i+1), Events: []string{"*"}})
		if err != nil {
			b.t.Fatal(err)
		}
		ids = append(ids, made.ID)
		if i%2 == 0 {
			continue
		}
		err = b.store.Write(b.t.Context(), func(ctx context.Context, tx *store.Tx) error {
			return tx.PutEndpointHealth(ctx, made.ID, `{"failingSince":"2026-01-01T00:00:00.000Z","failed":9,`+
				`"lastError":"answered 500","circuit":"open","probeAt":"2100-01-01T00:00:00.000Z"}`,
				time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
		})
		if err != nil {
			b.t.Fatal(err)
		}
	}
	return ids
}
