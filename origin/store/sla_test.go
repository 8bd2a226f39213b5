package store_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin/sla"
	"github.com/fieldmark/fieldmark/origin/store"
)

// TestSweepPlans checks that the sweeper's queries read only the rows that are due.
func TestSweepPlans(t *testing.T) {
	cfg := storetest.New(t)
	s := open(t, cfg)
	const missions, due = 20_000, 20
	now := time.Now()
	if err := s.Fill(t.Context(), "big", missions); err != nil {
		t.Fatal(err)
	}
	if err := s.FillSLA(t.Context(), now.UnixMicro(), due); err != nil {
		t.Fatal(err)
	}
	if storetest.Engine() == storetest.Postgres {
		// The database may be one of an earlier test, whose deleted rows are still in the indexes and statistics.
		storetest.Exec(t, cfg, `VACUUM ANALYZE`)
	}
	plans, read, err := s.ExplainSweep(t.Context(), now.UnixMicro(), 256, 0)
	if err != nil {
		t.Fatal(err)
	}
	indexes := []string{"sla_due", "sla_stale", "payment_check", "pending_alert_due"}
	for i, index := range slices.Concat(indexes, indexes) {
		whole := strings.ReplaceAll(strings.Join(plans[i], "\n"), "SCAN CONSTANT ROW", "")
		// which may scan an empty table
		if !strings.Contains(whole, index) && !(i%4 >= 2 && storetest.Engine() == storetest.Postgres) {
			t.Errorf("the question does not use %s:\n%s", index, whole)
		}
		if strings.Contains(whole, "SCAN") || strings.Contains(whole, "Seq Scan on sla") ||
			strings.Contains(whole, "TEMP B-TREE") {
			t.Errorf("the question reads or sorts too much:\n%s", whole)
		}
	}
	if read > due {
		t.Errorf("%d rows are read for %d that are due:\n%s", read, due, slices.Concat(plans...))
	}
	claimed := claimClocks(t, s, "one", now, 256)
	again := claimClocks(t, s, "two", now, 256)
	if len(claimed) != due || len(again) != 0 {
		t.Errorf("claimed %d clocks and then %d, want %d and none", len(claimed), len(again), due)
	}
}

// TestOlderOrigin: an origin from before the columns of due times adds an SLA, and closes a mission that has a due
// time. The first is listed after its next change, and the second no longer after the due times were cleared.
func TestOlderOrigin(t *testing.T) {
	cfg := storetest.New(t)
	s := open(t, cfg)
	if err := s.Fill(t.Context(), "big", 2); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if err := s.FillSLA(t.Context(), now.UnixMicro(), 1); err != nil {
		t.Fatal(err)
	}
	storetest.Exec(t, cfg, `UPDATE mission SET status = 'NEW'`)
	due := fieldmark.At(now)
	listed := func() int {
		t.Helper()
		list, err := s.Missions(t.Context(), store.MissionQuery{Account: "big", Order: store.ByDeadline, Limit: 5})
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	if n := listed(); n != 0 {
		t.Fatalf("%d missions have a due time", n)
	}
	all, err := s.Missions(t.Context(), store.MissionQuery{Account: "big", Limit: 5})
	if err != nil || len(all) != 2 {
		t.Fatalf("%d missions, %v", len(all), err)
	}
	change := func(do func(ctx context.Context, tx *store.Tx) error) {
		t.Helper()
		if err := s.Write(t.Context(), do); err != nil {
			t.Fatal(err)
		}
	}
	change(func(ctx context.Context, tx *store.Tx) error {
		for i := range all {
			timer := sla.Timer{SLAClock: fieldmark.SLAClock{State: fieldmark.SLARunning, DueAt: &due}}
			if err := tx.PutSLA(ctx, &all[i], &store.SLA{Policy: "LOW", Timers: []sla.Timer{timer}}); err != nil {
				return err
			}
		}
		return nil
	})
	if n := listed(); n != 2 {
		t.Fatalf("%d missions have a due time after their change, want 2", n)
	}
	for _, want := range []bool{false, true, false} {
		if left, err := s.EndedSLAs(t.Context()); err != nil || left != want {
			t.Errorf("due times of ended missions: %v, %v; want %v", left, err, want)
		}
		if want {
			change(func(ctx context.Context, tx *store.Tx) error { return tx.ClearEndedSLAs(ctx) })
		} else if listed() == 2 {
			storetest.Exec(t, cfg, `UPDATE mission SET status = 'CLOSED' WHERE id = '`+all[0].ID+`'`)
		}
	}
	if n := listed(); n != 1 {
		t.Errorf("%d missions have a due time after one ended, want 1", n)
	}
}

func claimClocks(t testing.TB, s *store.Store, owner string, now time.Time, limit int) (ids []string) {
	t.Helper()
	err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) (err error) {
		ids, err = tx.ClaimSLAs(ctx, owner, now, now.Add(time.Minute), limit, false)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// BenchmarkSweep runs the sweeper's queries when nothing is due, and claims and releases
// 256 timers, with few missions and with one million missions of which 100,000 have
// running timers. The cost depends only on the number of timers that are due.
func BenchmarkSweep(b *testing.B) {
	for _, engine := range []struct {
		name string
		at   func() store.Config
	}{
		{"sqlite", func() store.Config { return store.Config{Path: b.TempDir() + "/record.db"} }},
		{"postgres", func() store.Config { return storetest.DurablePostgres(b) }},
	} {
		for _, size := range []struct {
			name     string
			missions int
		}{{"1e4", 10_000}, {"1e6", 1_000_000}} {
			s := filled(b, engine.at(), size.missions)
			now := time.Now()
			b.Run(engine.name+"/missions="+size.name+"/none-due", func(b *testing.B) {
				for b.Loop() {
					if n := len(claimClocks(b, s, "one", now.Add(-time.Hour), 256)); n != 0 {
						b.Fatalf("%d are due", n)
					}
				}
			})
			b.Run(engine.name+"/missions="+size.name+"/256-due", func(b *testing.B) {
				for b.Loop() {
					if n := len(claimClocks(b, s, "one", now, 256)); n != 256 {
						b.Fatalf("%d are due", n)
					}
					err := s.Write(b.Context(), func(ctx context.Context,
						tx *store.Tx) error {
						return tx.ReleaseLeases(ctx, "one")
					})
					if err != nil {
						b.Fatal(err)
					}
				}
			})
			s.Close()
		}
	}
}

func filled(b *testing.B, cfg store.Config, missions int) *store.Store {
	b.Helper()
	s, err := store.Open(b.Context(), cfg)
	if err == nil {
		err = s.Fill(b.Context(), "big", missions)
	}
	if err == nil {
		err = s.FillSLA(b.Context(), time.Now().UnixMicro(), 256)
	}
	if err != nil {
		b.Fatal(err)
	}
	return s
}
