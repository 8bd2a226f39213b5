package origin_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
)

// TestOutages: while some edge reports there is no outage, a gap of two minutes is not an outage, a
// longer one is an outage from the last report to the next, and the record drops what is
// older than 90 days.
func TestOutages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		nodes := []string{"nod_06m7xv8e0w3v3ac3zvc1h0gmw4", "nod_06m7xv8e0w3v3ac3zvc1h0gmw5"}
		start := time.Now()
		report := func(node int) {
			t.Helper()
			if err := w.Modules.ReportNode(t.Context(), fieldmark.NodeReport{Node: nodes[node]}); err != nil {
				t.Fatal(err)
			}
		}
		want := func(since time.Duration, outages ...string) {
			t.Helper()
			status, err := w.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range status.Outages {
				got = append(got, fmt.Sprint(o.Began.Std().Sub(start), "-", o.Ended.Std().Sub(start)))
			}
			if strings.Join(got, ", ") != strings.Join(outages, ", ") || !status.Since.IsZero() &&
				status.Since.Std().Sub(start) != since || status.Since.IsZero() != (since < 0) {
				t.Errorf("after %s: %v since %s, want %v since %s", time.Since(start), got, status.Since, outages,
					since)
			}
		}
		want(-1)
		report(0)
		want(0)
		for i := range 20 { // each node reports every minute
			time.Sleep(30 * time.Second)
			report(i % 2)
		}
		time.Sleep(fieldmark.OutageAfter)
		report(1)
		want(0)
		time.Sleep(fieldmark.OutageAfter + time.Second)
		report(0)
		want(0, "12m0s-14m1s")
		time.Sleep(24 * time.Hour)
		report(0)
		report(1)
		want(0, "14m1s-24h14m1s", "12m0s-14m1s")
		time.Sleep(fieldmark.OutageWindow - time.Hour)
		stop := w.run(t) // prunes
		synctest.Wait()
		stop()
		report(1)
		want(24*time.Hour+14*time.Minute+time.Second, "24h14m1s-2183h14m1s")
	})
}
