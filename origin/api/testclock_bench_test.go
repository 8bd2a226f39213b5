package api_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/api"
	"github.com/fieldmark/fieldmark/origin/store"
)

// BenchmarkIntakeBesideWorlds opens live missions from 64 concurrent clients, in turns while 100 test worlds
// advance and while none does: ratio is the rate beside them to that without, the median of the turns. The goal
// is 0.95.
func BenchmarkIntakeBesideWorlds(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) {
		benchBesideWorlds(b, store.Config{Path: filepath.Join(b.TempDir(), "record.db")})
	})
	b.Run("postgres", func(b *testing.B) { benchBesideWorlds(b, storetest.DurablePostgres(b)) })
}

// openAtOnce opens n missions from benchClients concurrent clients, and returns how long it took.
func (fx *fixture) openAtOnce(n int) time.Duration {
	var left atomic.Int64
	left.Store(int64(n))
	var all sync.WaitGroup
	began := time.Now()
	for range benchClients {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				body := fmt.Sprintf(`{"source":"bench","externalId":"%d","title":"Mend the door"}`,
					missionNumber.Add(1))
				fx.mustSend(201, request{"POST", fieldmark.PathMissions, fx.creator, body, nil}, nil)
			}
		})
	}
	all.Wait()
	return time.Since(began)
}

// BenchmarkIntakeBesideDrain opens live missions from 64 concurrent clients, in turns while an edge sends what it
// accepted without an origin, 64 at once, and while none does. ratio is the rate beside it to that without, the
// median of the turns; the goal is 0.9. beside/s is what the edge sends meanwhile, alone/s what it sends without other
// clients, and share the rate of that to the one of the clients alone, the median of the turns.
func BenchmarkIntakeBesideDrain(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) {
		benchBesideDrain(b, store.Config{Path: filepath.Join(b.TempDir(), "record.db")})
	})
	b.Run("postgres", func(b *testing.B) { benchBesideDrain(b, storetest.DurablePostgres(b)) })
}

func benchBesideDrain(b *testing.B, at store.Config) {
	const turns = 9
	fx := openFixture(b, at, func(cfg *api.Config) { cfg.Log = nil })
	key := fx.newKey(access.DefaultAccount, fieldmark.ScopeMissionCreate).ID
	drain := func(stop *atomic.Bool, most int64) (sent int64) {
		var n atomic.Int64
		var all sync.WaitGroup
		for range benchClients {
			all.Go(func() {
				for !stop.Load() && n.Add(1) <= most {
					id := fmt.Sprint(missionNumber.Add(1))
					fx.drain(200, fx.spooled("bench."+id, key, id))
				}
			})
		}
		all.Wait()
		return min(n.Load(), most)
	}
	var ratios, shares []float64
	var drained int64
	var beside, draining time.Duration
	each := max(b.N/turns, 1000)
	for range turns {
		alone := fx.openAtOnce(each)
		var stop atomic.Bool
		done := make(chan int64)
		go func() { done <- drain(&stop, 1<<40) }()
		took := fx.openAtOnce(each)
		stop.Store(true)
		drained += <-done
		beside += took
		ratios = append(ratios, alone.Seconds()/took.Seconds())
		var never atomic.Bool
		began := time.Now()
		drain(&never, int64(each))
		draining += time.Since(began)
		shares = append(shares, alone.Seconds()/time.Since(began).Seconds())
	}
	slices.Sort(ratios)
	slices.Sort(shares)
	b.ReportMetric(ratios[turns/2], "ratio")
	b.ReportMetric(shares[turns/2], "share")
	b.ReportMetric(float64(drained)/beside.Seconds(), "beside/s")
	b.ReportMetric(float64(turns*each)/draining.Seconds(), "alone/s")
}

func benchBesideWorlds(b *testing.B, at store.Config) {
	const worlds, turns = 100, 9
	fx := openFixture(b, at, func(cfg *api.Config) { cfg.Log = nil })
	ctx := b.Context()
	accounts := make([]string, worlds)
	for i := range accounts {
		account := fmt.Sprintf("w%d", i)
		if err := fx.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			return tx.PutAccount(ctx, account, fieldmark.At(time.Now()))
		}); err != nil {
			b.Fatal(err)
		}
		fx.testKeyOf(account)
		accounts[i] = fieldmark.TestAccount(account)
	}
	fx.run()
	each := func(fn func(account string) error) {
		b.Helper()
		var all sync.WaitGroup
		for _, account := range accounts {
			all.Go(func() {
				if err := fn(account); err != nil {
					b.Error(err)
				}
			})
		}
		all.Wait()
	}
	intake := func() time.Duration { return fx.openAtOnce(max(b.N/turns, 1000)) }
	advancing := func() (n int) {
		for _, account := range accounts {
			c, err := fx.service.TestClocks.Get(ctx, account)
			if err == nil && c.State == fieldmark.TestClockAdvancing {
				n++
			}
		}
		return n
	}
	var ratios []float64
	fired := 0
	for turn := range turns {
		each(func(account string) error { // together more is due than the live clients leave time for
			_, _, err := fx.service.Missions.Create(ctx, account, fieldmark.MissionRequest{Source: "s",
				ExternalID: fmt.Sprint(turn), Title: "Due", Priority: "p1"})
			return err
		})
		alone := intake()
		each(func(account string) error {
			c, err := fx.service.TestClocks.Get(ctx, account)
			if err == nil {
				goal := fieldmark.At(c.Now.Std().Add(30 * 24 * time.Hour))
				_, err = fx.service.TestClocks.Advance(ctx, account, fieldmark.TestClockRequest{Now: goal})
			}
			return err
		})
		ratios = append(ratios, alone.Seconds()/intake().Seconds())
		if advancing() == 0 {
			b.Error("no world advanced any more at the end of a turn")
		}
		for advancing() > 0 {
			time.Sleep(10 * time.Millisecond)
		}
		for _, account := range accounts {
			c, err := fx.service.TestClocks.Get(context.WithoutCancel(ctx), account)
			if err != nil {
				b.Fatal(err)
			}
			fired += c.Fired.SLA
		}
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[turns/2], "ratio")
	b.ReportMetric(float64(fired)/turns/worlds, "fired/world")
}
