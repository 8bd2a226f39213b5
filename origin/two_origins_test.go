package origin_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/store"
)

// pair returns two origins on one database, which only PostgreSQL allows.
func pair(t testing.TB) (a, b *fixture) {
	t.Helper()
	a = newFixture(t)
	return a, openFixture(t, a.At)
}

func TestTwoOriginsShareTheWork(t *testing.T) {
	a, b := pair(t)
	var mu sync.Mutex
	times := map[string]int{}
	r := receive(t, func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		times[r.URL.Path+" "+r.Header.Get("webhook-id")]++
	})
	const endpoints = 10
	for i := range endpoints {
		createEndpoint(t, a, fmt.Sprintf("%s/%d", r.URL, i), "mission.created")
	}
	stopA, stopB := a.run(t), b.run(t)
	defer stopA()
	defer stopB()
	missions := 0
	for round := 0; a.sent() == 0 || b.sent() == 0; round++ {
		if round == 10 {
			t.Fatalf("of %d missions the origins sent %d and %d messages, want some each", missions, a.sent(), b.sent())
		}
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() { openMission(t, []*fixture{a, b}[i%2], fmt.Sprint(round, "-", i)) })
		}
		all.Wait()
		missions += 50
		waittest.Until(t, "every message arrived", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(times) == endpoints*missions
		})
		waittest.Until(t, "all deliveries are done", allDone(a, t))
	}
	stopA() // has written its log
	stopB()
	mu.Lock()
	defer mu.Unlock()
	for message, n := range times {
		if n != 1 {
			t.Errorf("%s arrived %d times", message, n)
		}
	}
	if by := []int{a.sent(), b.sent()}; by[0]+by[1] != endpoints*missions {
		t.Errorf("the origins sent %v, want %d together", by, endpoints*missions)
	}
}

// sent counts the webhooks that this origin logged as sent.
func (w *fixture) sent() int { return strings.Count(w.logged(), "msg=webhook") }

// A change at one origin is active at the other at once.
func TestTwoOriginsAgree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pair(t)
		ctx := t.Context()
		if a.Store.Log() != b.Store.Log() {
			t.Errorf("logs %q and %q, want one", a.Store.Log(), b.Store.Log())
		}
		k := createKey(t, a, intake)
		if _, err := b.Access.Keys.Authenticate(ctx, k.Token, access.Caller{}); err != nil {
			t.Errorf("a key of the other origin: %v", err)
		}
		if _, err := a.Access.Keys.Revoke(ctx, k.ID, ""); err != nil {
			t.Fatal(err)
		}
		_, err := b.Access.Keys.Authenticate(ctx, k.Token, access.Caller{})
		wantCode(t, "a key the other origin revoked", err, fieldmark.CodeInvalidAPIKey)

		head := a.head(t)
		woken := make(chan time.Duration)
		began := time.Now()
		go func() {
			page, err := b.Events.After(ctx, fieldmark.EventCursor{Number: head}, 20*time.Second, 0)
			if err != nil || len(page.Events) != 1 {
				t.Errorf("waited for the other's event: %+v, %v", page, err)
			}
			woken <- time.Since(began)
		}()
		putBrand(t, a, acme)
		if took := <-woken; took > time.Second { // virtual; it looks every half second
			t.Errorf("another origin's event was seen after %v", took)
		}
	})
}

// The same mission sent to two origins concurrently is one mission.
func TestTwoOriginsRace(t *testing.T) {
	a, b := pair(t)
	var mu sync.Mutex
	made, ids := 0, map[string]bool{}
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			m, created, err := []*fixture{a, b}[i%2].Missions.Create(t.Context(), access.DefaultAccount,
				request("same"))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Errorf("open: %v", err)
			}
			if ids[m.ID] = true; created {
				made++
			}
		})
	}
	all.Wait()
	if made != 1 || len(ids) != 1 {
		t.Errorf("%d missions were created under %d ids, want 1 and 1", made, len(ids))
	}
}

func TestLeasesOfOthers(t *testing.T) {
	r := receive(t, status(200))
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		if !w.Store.Shared() {
			return // TestLeasesAreFreedAtStart
		}
		createEndpoint(t, w, r.URL, "mission.created")
		openMission(t, w, "a")
		err := w.Store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			jobs, err := claimAll(ctx, tx, "other", time.Now(), time.Now().Add(time.Minute))
			if err == nil && len(jobs) != 1 {
				t.Errorf("claimed %d, want 1", len(jobs))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		stop := w.run(t)
		defer stop()
		time.Sleep(59 * time.Second) // virtual
		if n := r.got.Load(); n != 0 {
			t.Errorf("%d requests while another origin held the delivery", n)
		}
		time.Sleep(3 * time.Second)
		if n := r.got.Load(); n != 1 {
			t.Errorf("%d requests after the lease was over, want 1", n)
		}
	})
}

// A worker that works for longer than its lease renews it; a worker that lost its
// lease does not undo what its successor does.
func TestLeaseIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		createEndpoint(t, w, "http://127.0.0.1:9/", "mission.created")
		openMission(t, w, "a")
		write := func(fn func(context.Context, *store.Tx) error) {
			t.Helper()
			if err := w.Store.Write(t.Context(), fn); err != nil {
				t.Fatal(err)
			}
		}
		claim := func(owner string) (jobs []store.Job) {
			write(func(ctx context.Context, tx *store.Tx) (err error) {
				jobs, err = claimAll(ctx, tx, owner, time.Now(), time.Now().Add(15*time.Second))
				return err
			})
			return jobs
		}
		first := claim("first")
		time.Sleep(14 * time.Second) // virtual
		write(func(ctx context.Context, tx *store.Tx) error {
			held := store.Lease{Kind: store.LeaseDelivery, ID: first[0].ID}
			return tx.RenewLease(ctx, held, "first", time.Now(), time.Now().Add(15*time.Second))
		})
		time.Sleep(14 * time.Second)
		if early := claim("second"); len(first) != 1 || len(early) != 0 {
			t.Fatalf("claimed %d, and %d under a renewed lease; want 1, 0", len(first), len(early))
		}
		time.Sleep(2 * time.Second)
		if late := claim("second"); len(late) != 1 {
			t.Fatalf("claimed %d after the lease was over, want 1", len(late))
		}
		attempt := store.Attempt{Delivery: first[0].ID, Owner: "first", Number: 1, At: time.Now(),
			State: fieldmark.DeliveryDue,
			Error: "late", DueAt: time.Now()}
		write(func(ctx context.Context, tx *store.Tx) error { return tx.RecordAttempt(ctx, attempt) })
		if d := w.deliveries(t)[0]; d.Attempts != 0 || len(claim("third")) != 0 {
			t.Errorf("the loser of a lease recorded a failure: %+v", d)
		}
		attempt.Owner, attempt.State, attempt.Error = "second", fieldmark.DeliveryDone, ""
		write(func(ctx context.Context, tx *store.Tx) error { return tx.RecordAttempt(ctx, attempt) })
		if d := w.deliveries(t)[0]; d.Attempts != 1 || d.State != fieldmark.DeliveryDone {
			t.Errorf("the holder of the lease recorded a success: %+v", d)
		}
	})
}
