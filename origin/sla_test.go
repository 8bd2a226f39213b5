package origin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/store"
)

// quick returns a policy whose targets are at risk within seconds: the thresholds
// are percentages of a minute.
func quick(p fieldmark.Priority) fieldmark.SLAPolicy {
	return fieldmark.SLAPolicy{Priority: p, ResponseMinutes: 1, OnsiteMinutes: 1, ResolutionMinutes: 1,
		Calendar:      fieldmark.CalendarAlways,
		AtRiskPercent: []int{1, 2, 3}}
}

func (w *fixture) putPolicy(t testing.TB, p fieldmark.SLAPolicy) {
	t.Helper()
	if _, err := w.Missions.SLA.PutPolicy(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

// clockEvents counts the events of SLA timers by mission, metric, type and
// threshold.
func (w *fixture) clockEvents(t testing.TB) map[string]int {
	t.Helper()
	times := map[string]int{}
	for after := int64(0); ; {
		page, err := w.Events.After(context.Background(), fieldmark.EventCursor{Number: after}, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Events) == 0 {
			return times
		}
		for _, e := range page.Events {
			after = e.Number
			var d fieldmark.SLAAtRiskEvent
			if strings.HasPrefix(string(e.Type), "sla.") {
				if err := json.Unmarshal(e.Data, &d); err != nil {
					t.Fatal(err)
				}
				times[fmt.Sprint(d.ID, d.Metric, e.Type, d.ThresholdPercent)]++
			}
		}
	}
}

func TestTwoOriginsShareTheSweeping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pair(t)
		a.putPolicy(t, quick(fieldmark.PriorityHigh))
		for _, w := range []*fixture{a, b} {
			stop := w.run(t)
			defer stop()
		}
		const each = 3 * 3 // metrics and thresholds
		missions := 0
		var by [2]int
		for round := 0; by[0] == 0 || by[1] == 0; round++ {
			if round == 5 {
				t.Fatalf("the origins told %v of %d missions, want some each", by, missions)
			}
			var all sync.WaitGroup
			for i := range 300 { // more than one origin claims at once
				all.Go(func() { openMission(t, []*fixture{a, b}[i%2], fmt.Sprint(round, "-", i)) })
			}
			all.Wait()
			missions += 300
			// Virtual: past every threshold, and longer while the origins wait for each other's transactions, but
			// ending before the minute does.
			for s := 1; s <= 10 || s <= 40 && by[0]+by[1] < missions*each; s++ {
				time.Sleep(time.Second)
				by = [2]int{strings.Count(a.logged(), "msg=deadline"), strings.Count(b.logged(), "msg=deadline")}
			}
		}
		told := a.clockEvents(t)
		for what, n := range told {
			if n != 1 {
				t.Errorf("%s was told %d times", what, n)
			}
		}
		if len(told) != missions*each || by[0]+by[1] != len(told) {
			t.Errorf("%d thresholds were told, by the origins %v; want %d of %d missions", len(told), by, missions*each,
				missions)
		}
	})
}

// Timers claimed by a worker that died are claimed by another after the lease
// expires, and the events that it emitted are not emitted again.
func TestTimersOfAnExpiredLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		w.putPolicy(t, quick(fieldmark.PriorityHigh))
		m := openMission(t, w, "a")
		time.Sleep(700 * time.Millisecond) // virtual; past the first threshold
		if v, err := w.Stats(t.Context(), 100); v.Due != 1 || v.MaxDelay != 100*time.Millisecond ||
			v.Missions[fieldmark.MissionNew] != 1 || err != nil {
			t.Errorf("stats %+v, %v; want one clock 100 ms late and a mission that waits", v, err)
		}
		claim := func(owner string) (claimed []string) {
			err := w.Store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) (err error) {
				claimed, err = tx.ClaimSLAs(ctx, owner, time.Now(), time.Now().Add(10*time.Second), 64, false)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return claimed
		}
		if first, second := claim("dead"), claim("late"); !cmp.Equal(first, []string{m.ID}) || len(second) != 0 {
			t.Fatalf("claimed %v, and %v of it again", first, second)
		}
		time.Sleep(11 * time.Second)
		if third := claim("heir"); !cmp.Equal(third, []string{m.ID}) {
			t.Fatalf("claimed %v after the lease was over", third)
		}
		time.Sleep(11 * time.Second)
		for range 3 { // origins that run one after the other
			stop := w.run(t)
			time.Sleep(15 * time.Second)
			stop()
		}
		for what, n := range w.clockEvents(t) {
			if n != 1 {
				t.Errorf("%s was told %d times", what, n)
			}
		}
		if n := len(w.clockEvents(t)); n != 3*4 { // three thresholds and a breach
			t.Errorf("%d events of clocks, want 12", n)
		}
	})
}

// Payments become due on completion if the origin is configured so.
func TestPaymentDueOnCompletion(t *testing.T) {
	w := newFixture(t)
	other, err := origin.New(origin.Config{Store: w.Store, Secret: appSecret, PaymentDueOn: fieldmark.MissionCompleted})
	if err != nil {
		t.Fatal(err)
	}
	r := request("a")
	r.Payment = &fieldmark.PaymentRequest{Amount: &fieldmark.Money{Value: 1, Currency: "EUR"}}
	m, _, err := other.Missions.Create(t.Context(), access.DefaultAccount, r)
	if err != nil {
		t.Fatal(err)
	}
	if m, err = other.Missions.Complete(t.Context(), m.ID); err != nil || m.Payment.Status != fieldmark.PaymentDue {
		t.Errorf("completed: %+v, %v", m.Payment, err)
	}
	if m, err = other.Missions.Transition(t.Context(), m.ID, fieldmark.MissionClosed, nil); err != nil ||
		m.Payment.Version != 2 {
		t.Errorf("closed: %+v, %v; want no change", m.Payment, err)
	}
}
