package admin_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/idempotency"
	"github.com/fieldmark/fieldmark/origin/mission"
	"github.com/fieldmark/fieldmark/origin/store"
)

// benchMissions is the number of missions of BenchmarkMissionPages.
const benchMissions = 100_000

// BenchmarkMissionPages measures the pages of a dispatcher in a database of 100,000 missions. The goal is
// 100 ms for each.
func BenchmarkMissionPages(b *testing.B) {
	console := newBrowser(b, false)
	console.signIn()
	console.fill(benchMissions)
	for _, path := range []string{
		"/admin/missions", "/admin/missions?account=default&status=OPEN",
		"/admin/missions?account=default&status=OPEN&sort=due", "/admin/missions?account=default&sort=planned",
		"/admin/missions?account=default&status=OPEN&sort=priority", "/admin/missions?account=default&sort=updated",
		"/admin/missions?account=default&assignee=tech-7", "/admin/missions?account=default&q=mast+4711",
		"/admin/missions?account=default&q=nothing-has-this", "/admin/missions?account=default&q=site:s7",
		"/admin/missions?account=default&q=site:s7&status=CANCELED", "/admin/board?account=default",
	} {
		b.Run(path, func(b *testing.B) {
			for b.Loop() {
				if rec := console.do(path, nil); rec.Code != 200 {
					b.Fatalf("%d %s", rec.Code, rec.Body)
				}
			}
		})
	}
}

// fill creates missions: one in ten is open and a third of those is planned for this week.
func (b *browser) fill(n int) {
	b.t.Helper()
	ctx := b.t.Context()
	if _, _, err := b.service.Access.Accounts.Put(ctx, access.DefaultAccount, fieldmark.AccountRequest{Name: "Default",
		FilterLabels: []string{"site"}}); err != nil {
		b.t.Fatal(err)
	}
	err := b.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.IndexLabels(ctx, access.DefaultAccount, 500)
	})
	if err != nil {
		b.t.Fatal(err)
	}
	for at := 0; at < n; at += 500 {
		var batch []mission.Request
		for i := at; i < at+500; i++ {
			in, err := mission.NewRequest(access.DefaultAccount, fieldmark.MissionRequest{Source: "crm",
				ExternalID: fmt.Sprintf("INC%07d", i), Title: fmt.Sprintf("Replace the mast %d at the gate", i),
				Priority:    fieldmark.Priorities()[i%4],
				Description: "The mast was hit by a truck and leans towards the road.",
				Labels:      map[string]string{"site": fmt.Sprint("s", i%50), "team": "north"}})
			if err != nil {
				b.t.Fatal(err)
			}
			batch = append(batch, in)
		}
		var made []mission.Result
		_, err := b.service.Missions.Execute(ctx, idempotency.Key{}, mission.CreateAll(batch),
			func(results []mission.Result) (idempotency.Response, error) {
				made = results
				return idempotency.Response{}, nil
			})
		if err != nil {
			b.t.Fatal(err)
		}
		var changes sync.WaitGroup // at the same time, so that they share transactions
		for i, r := range made {
			changes.Go(func() { b.settle(r.Mission, at+i) })
		}
		changes.Wait()
	}
}

// settle plans a mission or cancels it.
func (b *browser) settle(m fieldmark.Mission, i int) {
	b.t.Helper()
	op := mission.Cancel("", m.ID, nil, nil)
	switch {
	case i%30 == 0:
		start := time.Now().Truncate(time.Hour).Add(time.Duration(i%960) * time.Hour)
		op = mission.Plan("", m.ID, fieldmark.MissionPlan{Assignee: &fieldmark.Assignee{ID: fmt.Sprint("tech-", i%40)},
			Scheduled: &fieldmark.Span{Start: fieldmark.At(start), End: fieldmark.At(start.Add(time.Hour))}}, nil)
	case i%10 == 0:
		return
	}
	if _, err := b.service.Missions.Apply(b.t.Context(), op); err != nil {
		b.t.Error(err)
	}
}
