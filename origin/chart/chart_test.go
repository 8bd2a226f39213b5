package chart_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/chart"
)

// TestCharts: every chart has a line for each series, a row for each point, the newest
// value and a scale that contains all values.
func TestCharts(t *testing.T) {
	m := fieldmark.Metrics{StepSeconds: 60}
	for i := range int64(60) {
		p := fieldmark.MetricPoint{At: fieldmark.At(time.Unix(60*i, 0))}
		if i != 30 { // a minute without requests
			p.MetricCounts = fieldmark.MetricCounts{Requests: 60 * i, Hits: 3, Misses: 1, Sent: i, Held: 200}
			p.P50Micros, p.P99Micros = 1500, 20_000
		}
		m.Points = append(m.Points, p)
	}
	want := map[string]struct{ top, now string }{
		"requests": {"100/s", "59/s"}, "hits": {"100 %", "75 %"}, "latency": {"20 ms", "1.5 ms"},
		"errors": {"1", "0"}, "fetches": {"1", "0"}, "deliveries": {"200", "59"}, "sla": {"1", "0"},
		"audits": {"1", "0"},
	}
	charts := chart.Charts(m)
	if len(charts) != len(want) {
		t.Fatalf("%d charts, want %d", len(charts), len(want))
	}
	for _, c := range charts {
		if w := want[c.Key]; c.Top != w.top || c.Series[0].Now != w.now || len(c.Rows) != 60 {
			t.Errorf("%s: top %q, now %q, %d rows; want %q, %q, 60", c.Key, c.Top, c.Series[0].Now, len(c.Rows), w.top,
				w.now)
		}
		for _, s := range c.Series {
			parts := strings.Count(s.Path, "M")
			if gap := c.Key == "hits" || c.Key == "latency"; gap && parts != 2 || !gap && parts != 1 {
				t.Errorf("%s %s has %d parts", c.Key, s.Name, parts)
			}
			if strings.Contains(s.Path+s.Area, "NaN") || strings.Contains(s.Path, "-") {
				t.Errorf("%s %s leaves the chart: %s", c.Key, s.Name, s.Path)
			}
		}
	}
	if charts := chart.Charts(fieldmark.Metrics{}); len(charts) != len(want) || charts[0].Series[0].Path != "" {
		t.Errorf("no points: %+v", charts)
	}
}

func TestFormat(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.1234: "0.123", 1.5: "1.5", 12.34: "12.3", 123.4: "123",
		9999: "9999", 12_300: "12.3k", 4_500_000: "4.5M", 2e9: "2G", math.NaN(): "–"} {
		if got := chart.Format(v, ""); got != want {
			t.Errorf("%g: %q, want %q", v, got, want)
		}
	}
}

func TestSparkline(t *testing.T) {
	for _, row := range []struct {
		values []float64
		width  int
		want   string
	}{
		{nil, 8, ""}, {[]float64{0, 0}, 8, "▁▁"}, {[]float64{9, 0, 4, 8}, 3, "▁▅█"},
		{[]float64{1, math.NaN(), 1}, 8, "█ █"},
	} {
		if got := chart.Sparkline(row.values, row.width); got != row.want {
			t.Errorf("%v in %d: %q, want %q", row.values, row.width, got, row.want)
		}
	}
}
