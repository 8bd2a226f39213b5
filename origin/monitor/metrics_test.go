package monitor_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// sum adds the requests of a range.
func (in *installation) sum(r fieldmark.MetricRange, points int) (requests int64) {
	in.t.Helper()
	m := must[fieldmark.Metrics](in.t)(in.Monitor.Metrics(in.t.Context(), r))
	if len(m.Points) != points {
		in.t.Errorf("%s has %d points, want %d", r, len(m.Points), points)
	}
	for _, p := range m.Points {
		requests += p.Requests
	}
	return requests
}

// TestMetrics: the minutes of edges are added once, however often they are reported; those of
// all nodes are one sum; every range contains them, and old rows are deleted.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := install(t)
		first := time.Now().Truncate(time.Minute)
		minutes := []fieldmark.MetricBucket{}
		for i := range 3 {
			b := fieldmark.MetricBucket{At: fieldmark.At(first.Add(time.Duration(i) * time.Minute)),
				Latency: make([]int64, 16)}
			b.Requests, b.Latency[6] = 10, 10
			minutes = append(minutes, b)
		}
		time.Sleep(4 * time.Minute)
		n := in.report(func(r *fieldmark.NodeReport) { r.Buckets = minutes[:2] })
		in.report(func(r *fieldmark.NodeReport) { r.Node, r.Buckets = n.Node, minutes }) // the response was lost
		in.report(func(r *fieldmark.NodeReport) { r.Name, r.Buckets = "edge-2:8080", minutes })
		in.report(func(r *fieldmark.NodeReport) {
			r.Buckets = []fieldmark.MetricBucket{{At: fieldmark.At(time.Now().Add(time.Hour)),
				MetricCounts: fieldmark.MetricCounts{Requests: 1000}}} // its clock is wrong
		})
		if got := in.sum(fieldmark.Range1h, 60); got != 60 {
			t.Errorf("%d requests, want 60", got)
		}
		m := must[fieldmark.Metrics](t)(in.Monitor.Metrics(t.Context(), fieldmark.Range1h))
		for _, p := range m.Points {
			if p.Requests > 0 && (p.P50Micros != 750 || p.P99Micros != 995) { // between 0.5 and 1 ms
				t.Errorf("p50 and p99 are %d and %d µs, want 750 and 995", p.P50Micros, p.P99Micros)
			}
		}
		if _, err := in.Monitor.Metrics(t.Context(), "2h"); !fieldmark.IsCode(err, fieldmark.CodeInvalidParameter) {
			t.Errorf("an unknown range: %v", err)
		}
		time.Sleep(25 * time.Hour)
		for r, row := range map[fieldmark.MetricRange]struct {
			points int
			want   int64
		}{fieldmark.Range24h: {96, 0}, fieldmark.Range7d: {84, 60}, fieldmark.Range90d: {90, 60}} {
			if got := in.sum(r, row.points); got != row.want {
				t.Errorf("%s: %d requests a day later, want %d", r, got, row.want)
			}
		}
		in.write(func(ctx context.Context, tx *store.Tx) error {
			return tx.PruneMetrics(ctx, time.Now().AddDate(0, 0, 8))
		})
		rows := func(step time.Duration) int {
			return len(must[[]fieldmark.MetricBucket](t)(in.store.Metrics(t.Context(), step, time.Time{})))
		}
		if minutes, hours := rows(store.MetricMinute), rows(store.MetricHour); minutes != 0 || hours == 0 {
			t.Errorf("after 8 days: %d minutes and %d hours, want none and some", minutes, hours)
		}
	})
}

// TestRecord: an origin adds what it counts to the current minute.
func TestRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := install(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- in.Monitor.Run(ctx) }()
		synctest.Wait() // it has read the counters
		in.events.Store(5)
		time.Sleep(3 * time.Minute)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		breached := int64(0)
		for _, p := range must[fieldmark.Metrics](t)(in.Monitor.Metrics(t.Context(), fieldmark.Range1h)).Points {
			breached += p.SLABreached
		}
		if breached != 5 {
			t.Errorf("%d breaches are counted, want 5", breached)
		}
	})
}

// TestModuleMissing: an installation whose module was not activated says so.
func TestModuleMissing(t *testing.T) {
	in := installWith(t, nil)
	if list := in.issues(); len(list) != 1 || list[0].Code != fieldmark.IssueModuleMissing {
		t.Errorf("issues %+v, want %s", list, fieldmark.IssueModuleMissing)
	}
	if err := in.Modules.ActivateBytes(t.Context(), testModule.Ref, testModule.Bytes); err != nil {
		t.Fatal(err)
	}
	if list := in.issues(); len(list) > 0 {
		t.Errorf("after the activation: %+v, want no issue", list)
	}
}

// TestMetricsAreBounded: a process that runs for months keeps 7 days of minutes and 90 days of
// hours, and counts none of them twice.
func TestMetricsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := install(t)
		const day = 24 * time.Hour
		age := func(step time.Duration) (rows int, oldest time.Duration) {
			list := must[[]fieldmark.MetricBucket](t)(in.store.Metrics(t.Context(), step, time.Time{}))
			return len(list), time.Since(list[0].At.Std())
		}
		for range 100 { // one count in the first and in the last minute of a day
			for range 2 {
				in.write(func(ctx context.Context, tx *store.Tx) error {
					b := fieldmark.MetricBucket{At: fieldmark.At(time.Now()), Latency: make([]int64, 16)}
					b.Requests = 1
					return tx.AddMetric(ctx, b)
				})
				time.Sleep(day / 2)
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- in.Monitor.Run(ctx) }() // prunes when it starts
			synctest.Wait()
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if n, oldest := age(store.MetricMinute); n != 14 || oldest > 7*day {
			t.Errorf("%d minutes up to %v old, want 14 in 7 days", n, oldest)
		}
		if n, oldest := age(store.MetricHour); n != 180 || oldest > 90*day {
			t.Errorf("%d hours up to %v old, want 180 in 90 days", n, oldest)
		}
		if got := in.sum(fieldmark.Range90d, 90); got < 178 || got > 180 {
			t.Errorf("%d requests in 90 days, want two a day", got)
		}
	})
}
