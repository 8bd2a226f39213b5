package chart_test

import (
	"math"
	"strconv"
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

// TestChartEdges: charts of no data, of gaps, of zeros and of huge values stay in their frame and
// have a number and a table.
func TestChartEdges(t *testing.T) {
	point := func(c fieldmark.MetricCounts, micros int64) fieldmark.MetricPoint {
		return fieldmark.MetricPoint{MetricCounts: c, P50Micros: micros, P99Micros: micros}
	}
	zero := point(fieldmark.MetricCounts{}, 0)
	busy := point(fieldmark.MetricCounts{Requests: 60, Hits: 60, Errors: 7}, 2000)
	huge := point(fieldmark.MetricCounts{Requests: math.MaxInt64, Hits: 1 << 60, Misses: 1 << 60, Errors: 3e12,
		Held: math.MaxInt64, Sent: 1}, math.MaxInt64)
	for name, row := range map[string]struct {
		points                                []fieldmark.MetricPoint
		requests, hits, latency, errors, held string // now
		gaps                                  int    // in the line of the latency
	}{
		"zeros":      {[]fieldmark.MetricPoint{zero, zero, zero}, "0/s", "–", "–", "0", "0", 0},
		"one point":  {[]fieldmark.MetricPoint{busy}, "1/s", "100 %", "2 ms", "7", "0", 1},
		"node off":   {[]fieldmark.MetricPoint{busy, busy, zero, zero, busy}, "1/s", "100 %", "2 ms", "7", "0", 2},
		"now off":    {[]fieldmark.MetricPoint{busy, zero}, "0/s", "–", "–", "0", "0", 1},
		"huge":       {[]fieldmark.MetricPoint{zero, huge}, "154P/s", "50 %", "9.22T s", "3T", "9.22E", 1},
		"huge, then": {[]fieldmark.MetricPoint{huge, busy}, "1/s", "100 %", "2 ms", "7", "0", 1},
	} {
		now := map[string]string{"requests": row.requests, "hits": row.hits, "latency": row.latency,
			"errors": row.errors}
		for _, c := range chart.Charts(fieldmark.Metrics{StepSeconds: 60, Points: row.points}) {
			if want := now[c.Key]; want != "" && c.Series[0].Now != want {
				t.Errorf("%s: %s is %q, want %q", name, c.Key, c.Series[0].Now, want)
			}
			if c.Key == "deliveries" && c.Series[1].Now != row.held {
				t.Errorf("%s: %q are held, want %q", name, c.Series[1].Now, row.held)
			}
			if len(c.Rows) != len(row.points) || c.Top == "" {
				t.Errorf("%s: %s has %d rows and the top %q", name, c.Key, len(c.Rows), c.Top)
			}
			for _, s := range c.Series {
				if parts := strings.Count(s.Path, "M"); c.Key == "latency" && parts != row.gaps {
					t.Errorf("%s: the latency has %d parts, want %d", name, parts, row.gaps)
				}
				checkFrame(t, name+", "+c.Key, s.Path+" "+s.Area)
			}
		}
	}
}

// checkFrame fails for a path that leaves the frame.
func checkFrame(t *testing.T, name, path string) {
	t.Helper()
	for _, number := range strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune("MLZh ", r) }) {
		if v, err := strconv.ParseFloat(number, 64); err != nil || v < 0 || v > chart.Width {
			t.Errorf("%s: %q in %q", name, number, path)
		}
	}
}

func TestFormat(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.1234: "0.123", 1.5: "1.5", 12.34: "12.3", 123.4: "123",
		9999: "9999", 12_300: "12.3k", 4_500_000: "4.5M", 2e9: "2G", math.NaN(): "–"} {
		if got := chart.Format(v, ""); got != want {
			t.Errorf("%g: %q, want %q", v, got, want)
		}
	}
	for v, want := range map[float64]string{0.25: "0.25 ms", 999: "999 ms", 1500: "1.5 s", 50_000: "50 s"} {
		if got := chart.Format(v, " ms"); got != want {
			t.Errorf("%g ms: %q, want %q", v, got, want)
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
