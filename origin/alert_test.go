package origin_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/alert"
	"github.com/fieldmark/fieldmark/origin/mission"
)

// fire sends the notification of one alert that fires and returns the report.
func (w *fixture) fire(t testing.TB, key string, cooldown time.Duration) fieldmark.AlertReport {
	t.Helper()
	n, err := alert.Decode([]byte(fmt.Sprintf(
		`{"groupKey":%q,"status":"firing","alerts":[{"status":"firing","labels":{"alertname":"Down"}}]}`, key)))
	if err != nil {
		t.Fatal(err)
	}
	report, err := w.Missions.ReceiveAlerts(t.Context(), access.DefaultAccount, n,
		mission.AlertOptions{Options: alert.Options{Source: "am"}, Cooldown: cooldown})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// Each pending alert opens one mission, whichever origin claims it.
func TestTwoOriginsOpenPendingAlerts(t *testing.T) {
	a, b := pair(t)
	const alerts = 40
	var all sync.WaitGroup
	for i := range alerts {
		all.Go(func() {
			w := []*fixture{a, b}[i%2]
			id := w.fire(t, fmt.Sprint(i), time.Minute).Missions[0].ID
			if _, err := w.Missions.Complete(t.Context(), id); err != nil {
				t.Error(err)
			}
			// on a slow machine the second is over
			if r := w.fire(t, fmt.Sprint(i), time.Second); r.Merged+r.Created != 1 {
				t.Errorf("alert %d: %+v, want it merged", i, r)
			}
		})
	}
	all.Wait()
	for _, w := range []*fixture{a, b} {
		stop := w.run(t)
		defer stop()
	}
	count := func() int {
		page, err := a.Missions.List(t.Context(), access.DefaultAccount,
			fieldmark.MissionFilter{Limit: fieldmark.MaxMissionLimit})
		if err != nil {
			t.Fatal(err)
		}
		return len(page.Data)
	}
	waittest.Until(t, "every alert has a second mission", func() bool { return count() >= 2*alerts })
	if v, err := a.Stats(t.Context(), 100); count() != 2*alerts || v.Due != 0 || err != nil {
		t.Errorf("%d missions, %d timers due, %v; want %d and none", count(), v.Due, err, 2*alerts)
	}
}
