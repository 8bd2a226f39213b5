package origin_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/store"
)

// An origin that has nothing to do reads what is due, and little else: workers of what is not used, such as test
// worlds and CDNs, send no query to the database.
func TestIdleOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var queries, commits atomic.Int64
		cfg := storetest.New(t)
		cfg.Hooks = store.Hooks{
			Query:  func(time.Duration) { queries.Add(1) },
			Commit: func(time.Duration, int) { commits.Add(1) },
		}
		w := openFixture(t, cfg, func(c *origin.Config) { c.Scorer = pointScorer{} })
		defer w.run(t)()
		time.Sleep(time.Hour) // the jobs of each hour have run
		queries.Store(0)
		commits.Store(0)
		const minutes = 10
		time.Sleep(minutes * time.Minute)
		looks := int64(time.Minute / job.IdleInterval)
		if w.Store.Shared() {
			looks = int64(time.Minute / job.PollInterval)
		}
		// The jobs of each minute, such as those that review endpoints and write metrics, and the reads
		// of what is due after their transactions.
		const ofMinute = 10
		n, m := queries.Load()/minutes, commits.Load()/minutes
		t.Logf("%d queries and %d transactions a minute", n, m)
		if n > looks+ofMinute || m > ofMinute {
			t.Errorf("%d queries and %d transactions a minute, want %d and %d at most", n, m, looks+ofMinute, ofMinute)
		}
	})
}

// The first of what an idle origin has had none of is served at once: a CDN, a test world, its clock, its reset, and
// what becomes due with time.
func TestFirstAfterIdling(t *testing.T) {
	varnish := receive(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Fieldmark-Purge", "1") })
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		defer w.run(t)()
		ctx := t.Context()
		w.putPolicy(t, quick(fieldmark.PriorityHigh))
		idle := func() { time.Sleep(2*job.IdleInterval + 300*time.Millisecond) }
		soon := func(what string, done func() bool) {
			t.Helper()
			for began := time.Now(); !done(); time.Sleep(10 * time.Millisecond) {
				if time.Since(began) > 2*job.PollInterval {
					t.Fatalf("%s took longer than %s", what, 2*job.PollInterval)
				}
			}
		}

		idle()
		_, err := w.CDNs.Put(ctx, "first", fieldmark.CDNRequest{Token: "secret-of-the-first-cdn",
			CDNSettings: fieldmark.CDNSettings{Kind: fieldmark.CDNVarnish, URLs: []string{varnish.URL}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Purge(ctx, "", fieldmark.PurgeRequest{Tags: []fieldmark.Tag{"brand:acme"}}); err != nil {
			t.Fatal(err)
		}
		soon("the first purge", func() bool { return varnish.got.Load() > 0 })
		if err := w.CDNs.Delete(ctx, "first"); err != nil {
			t.Fatal(err)
		}

		idle()
		_, err = w.Access.Keys.CreateTest(ctx, access.DefaultAccount, fieldmark.TestKeyRequest{Name: "t"})
		if err != nil {
			t.Fatal(err)
		}
		world := fieldmark.TestAccount(access.DefaultAccount)
		breaches := func() (n int) {
			for _, e := range w.events(t) {
				if e.Type == fieldmark.EventSLABreached {
					n++
				}
			}
			return n
		}
		for i, account := range []string{world, access.DefaultAccount} {
			if _, _, err := w.Missions.Create(ctx, account, request(fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute) // the targets of each mission
		const metrics = 3
		soon("the first breaches", func() bool { return breaches() == 2*metrics })

		idle()
		began := time.Now()
		goal := fieldmark.At(began.Add(24 * time.Hour))
		c, err := w.TestClocks.Advance(ctx, world, fieldmark.TestClockRequest{Now: goal, Wait: "20s"})
		if took := time.Since(began); err != nil || c.State != fieldmark.TestClockReady || took > 2*job.PollInterval ||
			c.OffsetSeconds < 23*60*60 {
			t.Errorf("the first advance of a clock is %+v after %s, %v", c, took, err)
		}

		idle()
		if _, err := w.TestWorlds.Reset(ctx, access.DefaultAccount); err != nil {
			t.Fatal(err)
		}
		soon("the first reset", func() bool {
			s, err := w.TestWorlds.Get(ctx, access.DefaultAccount)
			return err == nil && s.State == fieldmark.TestWorldReady
		})
	})
}
