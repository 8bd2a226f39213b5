package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin/store"
)

func write(t *testing.T, s *store.Store, fn func(context.Context, *store.Tx) error) {
	t.Helper()
	if err := s.Write(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// TestBudgets spends budgets as fast as they allow for two windows: no window contains more
// than the quota, whenever it begins, and the wait of a refusal is exact.
func TestBudgets(t *testing.T) {
	s := storetest.Open(t, storetest.New(t))
	for _, b := range []store.Budget{
		{Quota: 2, Window: time.Hour, Burst: 2}, {Quota: 6, Window: 24 * time.Hour, Burst: 2},
		{Quota: 5, Window: time.Hour, Burst: 3}, {Quota: 20, Window: 24 * time.Hour, Burst: 5},
		{Quota: 1, Window: time.Minute, Burst: 1},
	} {
		b.Name = fmt.Sprintf("%d in %s by %d", b.Quota, b.Window, b.Burst)
		start := time.UnixMicro(1_700_000_000_000_000)
		var used []time.Time
		spend := func(at time.Time) (refused *store.BudgetError) {
			err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.Spend(ctx, at, b) })
			if err != nil && !errors.As(err, &refused) {
				t.Fatal(err)
			}
			return refused
		}
		for now := start; now.Sub(start) < 2*b.Window; {
			refused := spend(now)
			if refused == nil {
				used = append(used, now)
				continue
			}
			if refused.RetryAfter > time.Microsecond && spend(now.Add(refused.RetryAfter-time.Microsecond)) == nil {
				t.Errorf("%s: a use was allowed before the wait of %s was over", b.Name, refused.RetryAfter)
			}
			now = now.Add(refused.RetryAfter)
		}
		if n := len(used); n < b.Quota || !used[b.Burst-1].Equal(start) || used[b.Burst].Equal(start) {
			t.Errorf("%s: %d uses, want %d at once", b.Name, n, b.Burst)
		}
		for i := b.Quota; i < len(used); i++ {
			if used[i].Sub(used[i-b.Quota]) < b.Window {
				t.Errorf("%s: %d uses within %s", b.Name, b.Quota+1, used[i].Sub(used[i-b.Quota]))
			}
		}
	}
}

// TestBudgetsTogether checks that a refusal by one budget spends none, and names the first.
func TestBudgetsTogether(t *testing.T) {
	s, now := storetest.Open(t, storetest.New(t)), time.Now()
	wide := store.Budget{Name: "wide", Quota: 3, Window: time.Hour, Burst: 3}
	narrow := store.Budget{Name: "narrow", Quota: 1, Window: time.Hour, Burst: 1}
	spend := func(budgets ...store.Budget) error {
		return s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			return tx.Spend(ctx, now, budgets...)
		})
	}
	if err := spend(wide, narrow); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		refused, ok := errors.AsType[*store.BudgetError](spend(wide, narrow))
		if !ok || refused.Budget.Name != "narrow" {
			t.Fatalf("refused by %+v, want the narrow budget", refused)
		}
	}
	for i := range 2 {
		if err := spend(wide); err != nil {
			t.Errorf("use %d of the wide budget: %v", i+2, err)
		}
	}
	refused, _ := errors.AsType[*store.BudgetError](spend(wide, narrow))
	if refused == nil || refused.Budget.Name != "wide" {
		t.Errorf("refused by %+v, want the wide budget, which is the first", refused)
	}
	// What a clock spent that was a day ahead is not spent for a day.
	now = now.Add(-24 * time.Hour)
	if err := spend(narrow); err != nil {
		t.Errorf("after a clock that was ahead: %v, want one use", err)
	}
	refused, _ = errors.AsType[*store.BudgetError](spend(narrow))
	if refused == nil || (refused.RetryAfter-time.Hour).Abs() > time.Millisecond { // the database has microseconds
		t.Errorf("and then: %+v, want a wait of an hour", refused)
	}
}

// TestHostPauses reserves a host: no other process gets it until it is released and its pause is
// over, or the reservation expires.
func TestHostPauses(t *testing.T) {
	s, now := storetest.Open(t, storetest.New(t)), time.UnixMicro(1_700_000_000_000_000)
	acquire := func(at, until time.Time) (next time.Time, ok bool) {
		write(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
			next, ok, err = tx.AcquireHost(ctx, "acme.example", at, until)
			return err
		})
		return next, ok
	}
	until := now.Add(20 * time.Second)
	if _, ok := acquire(now, until); !ok {
		t.Fatal("the first request did not get the host")
	}
	if next, ok := acquire(now.Add(time.Second), until); ok || !next.Equal(until) {
		t.Errorf("a second request at once: %t, next %s, want %s", ok, next, until)
	}
	release := func(until, next time.Time) {
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			return tx.ReleaseHost(ctx, "acme.example", until, next)
		})
	}
	pause := now.Add(3 * time.Second)
	release(until.Add(1), pause) // of another reservation, no microsecond later
	release(until, pause)
	if next, ok := acquire(pause.Add(-time.Microsecond), until); ok || !next.Equal(pause) {
		t.Errorf("before the pause is over: %t, next %s, want %s", ok, next, pause)
	}
	if _, ok := acquire(pause, until); !ok {
		t.Error("the pause is over, and the host is not free")
	}
	if _, ok := acquire(until, until.Add(time.Second)); !ok {
		t.Error("the reservation of a dead process did not expire")
	}
	release(until, pause)
	if _, ok := acquire(until, until); ok {
		t.Error("a reservation that expired was released by its first owner")
	}
	before := now.Add(-24 * time.Hour)
	if _, ok := acquire(before, before.Add(time.Second)); !ok {
		t.Error("a clock that was a day ahead keeps the host for a day")
	}
}

// TestSiteCheckQueue walks checks through the queue: order, leases, outcomes, expiry.
func TestSiteCheckQueue(t *testing.T) {
	s, now := storetest.Open(t, storetest.New(t)), time.UnixMicro(1_700_000_000_000_000)
	var ids []string
	for i := range 3 {
		id := fieldmark.NewRandomID(fieldmark.PrefixCheck)
		ids = append(ids, id)
		at := fieldmark.At(now.Add(time.Duration(i) * time.Second))
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			return tx.AddSiteCheck(ctx, fieldmark.SiteCheck{ID: id, State: fieldmark.SiteCheckQueued,
				Host: "acme.example",
				URL:  fmt.Sprintf("https://acme.example/%d", i), CreatedAt: at,
				ExpiresAt: fieldmark.At(now.Add(time.Hour))})
		})
	}
	for i, id := range ids {
		if c, err := s.SiteCheck(t.Context(), id); err != nil || c.Position != i+1 {
			t.Errorf("check %d: position %d, %v", i, c.Position, err)
		}
	}
	claim := func(owner string, at time.Time) (jobs []store.SiteCheckJob) {
		write(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
			jobs, err = tx.ClaimSiteChecks(ctx, owner, at, at.Add(10*time.Second), 2)
			return err
		})
		return jobs
	}
	first := claim("a", now.Add(5*time.Second))
	if len(first) != 2 || first[0].Attempts != 1 {
		t.Fatalf("claimed %+v", first)
	}
	if rest := claim("b", now.Add(6*time.Second)); len(rest) != 1 || rest[0].ID != ids[2] {
		t.Errorf("another worker claimed %+v, want the third", rest)
	}
	again := claim("b", now.Add(15*time.Second)) // the lease of a is over
	if len(again) != 2 || again[0].Attempts != 2 {
		t.Fatalf("claimed again %+v", again)
	}
	end := func(j store.SiteCheckJob, state fieldmark.SiteCheckState) {
		at := fieldmark.At(now.Add(20 * time.Second))
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			return tx.EndSiteCheck(ctx, j, &fieldmark.SiteCheck{State: state, FinishedAt: &at,
				Report: &fieldmark.SiteCheckReport{}})
		})
	}
	end(first[0], fieldmark.SiteCheckFailed) // has lost its lease
	end(again[0], fieldmark.SiteCheckDone)
	c, err := s.SiteCheck(t.Context(), again[0].ID)
	if err != nil || c.State != fieldmark.SiteCheckDone || c.Position != 0 || c.FinishedAt == nil {
		t.Errorf("ended: %+v, %v", c, err)
	}
	if r, err := s.SiteCheckReport(t.Context(), again[0].ID); err != nil || r == nil {
		t.Errorf("report %v, %v", r, err)
	}
	if _, err := s.RecentSiteCheck(t.Context(), c.URL, now.Add(20*time.Second)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a check that ended too long ago: %v", err)
	}
	if r, err := s.RecentSiteCheck(t.Context(), c.URL, now.Add(19*time.Second)); err != nil || r.ID != c.ID {
		t.Errorf("a recent check: %+v, %v", r, err)
	}
	if waiting, running, err := s.CountSiteChecks(t.Context()); err != nil || waiting != 0 || running != 2 {
		t.Errorf("%d wait, %d run, %v", waiting, running, err)
	}
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		return tx.PruneSiteChecks(ctx, now.Add(time.Hour))
	})
	if _, err := s.SiteCheck(t.Context(), ids[0]); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an expired check: %v", err)
	}
}
