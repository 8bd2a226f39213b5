package chart

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
)

// Size of the coordinates of paths. The page stretches them to the width of the chart.
const (
	Width  = 600
	Height = 120
)

// Series is a line of a chart. A value that is NaN interrupts it.
// Path and Area are set by Charts.
type Series struct {
	Name   string
	Values []float64
	Path   string // of the line, as the attribute d
	Area   string // of the area below the line
	Now    string // the newest value, with its unit
}

// Chart is a set of lines with one scale, which begins at 0.
type Chart struct {
	Key    string // stable name
	Title  string
	Unit   string // of every value, with a leading space where it has one
	Top    string // the value at the upper edge, with its unit
	Series []Series
	Rows   []Row // oldest first
}

// Row is a row of the table of a chart.
type Row struct {
	At     time.Time
	Values []string
}

// line describes a series: what it takes from a point.
// A point has the counts of a period of the given seconds.
type line struct {
	name  string
	value func(p *fieldmark.MetricPoint, seconds float64) float64
}

// kinds are all charts.
// The order is that of the pages and of the command top.
var kinds = []struct {
	key, title, unit string
	lines            []line
}{
	{"requests", "Requests", "/s", []line{{"requests", func(p *fieldmark.MetricPoint, seconds float64) float64 {
		return float64(p.Requests) / seconds
	}}}},
	{"hits", "Cache hit ratio", " %", []line{{"hits", func(p *fieldmark.MetricPoint, _ float64) float64 {
		return 100 * float64(p.Hits) / float64(p.Hits+p.Misses) // NaN without a lookup
	}}}},
	{"latency", "Latency", " ms", []line{
		{"p50", func(p *fieldmark.MetricPoint, _ float64) float64 { return millis(p, p.P50Micros) }},
		{"p99", func(p *fieldmark.MetricPoint, _ float64) float64 { return millis(p, p.P99Micros) }}}},
	{"errors", "Errors", "", []line{number("status 5xx", func(p *fieldmark.MetricPoint) int64 { return p.Errors })}},
	{"fetches", "Origin fetches", "",
		[]line{number("fetches", func(p *fieldmark.MetricPoint) int64 { return p.Fetches })}},
	{"deliveries", "Webhook deliveries", "", []line{
		number("sent", func(p *fieldmark.MetricPoint) int64 { return p.Sent }),
		number("held", func(p *fieldmark.MetricPoint) int64 { return p.Held }),
		number("failed", func(p *fieldmark.MetricPoint) int64 { return p.Failed })}},
	{"sla", "SLA", "", []line{
		number("met", func(p *fieldmark.MetricPoint) int64 { return p.SLAMet }),
		number("at risk", func(p *fieldmark.MetricPoint) int64 { return p.SLAAtRisk }),
		number("breached", func(p *fieldmark.MetricPoint) int64 { return p.SLABreached })}},
	{"audits", "Audits", "", []line{number("audits", func(p *fieldmark.MetricPoint) int64 { return p.Audits })}},
}

// number returns a line of counts.
func number(name string, of func(*fieldmark.MetricPoint) int64) line {
	return line{name, func(p *fieldmark.MetricPoint, _ float64) float64 { return float64(of(p)) }}
}

// millis is NaN for a period without requests, which has no duration.
func millis(p *fieldmark.MetricPoint, micros int64) float64 {
	if p.Requests == 0 {
		return math.NaN()
	}
	return float64(micros) / 1000
}

// Charts returns all charts of metrics.
// All lines of a chart have one scale, so that they can be compared.
func Charts(m fieldmark.Metrics) []Chart {
	charts := make([]Chart, 0, len(kinds))
	for _, k := range kinds {
		c := Chart{Key: k.key, Title: k.title, Unit: k.unit, Rows: make([]Row, len(m.Points))}
		highest := 0.0
		for _, l := range k.lines {
			s := Series{Name: l.name, Values: make([]float64, len(m.Points))}
			for i := range m.Points {
				v := l.value(&m.Points[i], float64(m.StepSeconds))
				s.Values[i] = v
				if v > highest {
					highest = v
				}
				c.Rows[i].At = m.Points[i].At.Std()
				c.Rows[i].Values = append(c.Rows[i].Values, Format(v, k.unit))
			}
			// Without points the newest value is written as a gap.
			s.Now = Format(math.NaN(), k.unit)
			if n := len(s.Values); n > 0 {
				s.Now = Format(s.Values[n-1], k.unit)
			}
			c.Series = append(c.Series, s)
		}
		top := ceiling(highest)
		// A ratio has a fixed scale: 99 and 97 percent must not look far apart.
		if k.key == "hits" {
			top = 100
		}
		c.Top = Format(top, k.unit)
		for i := range c.Series {
			c.Series[i].Path, c.Series[i].Area = paths(c.Series[i].Values, top)
		}
		charts = append(charts, c)
	}
	return charts
}

// ceiling returns the least 1, 2 or 5 times a power of ten that is not below v; 1 for 0.
func ceiling(v float64) float64 {
	if v <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, f := range []float64{1, 2, 5} {
		if v <= f*power {
			return f * power
		}
	}
	return 10 * power
}

// paths returns the path of a line and of the area below it. A value alone between gaps is a
// short line, so that it is seen.
func paths(values []float64, top float64) (line, area string) {
	x := func(i int) string {
		return strconv.FormatFloat(float64(i)*Width/float64(max(len(values)-1, 1)), 'f', 1, 64)
	}
	var l, a strings.Builder
	for i := 0; i < len(values); i++ {
		if math.IsNaN(values[i]) {
			continue
		}
		begin := i
		l.WriteByte('M')
		a.WriteString("M" + x(i) + " " + strconv.Itoa(Height) + "L")
		for ; i < len(values) && !math.IsNaN(values[i]); i++ {
			y := strconv.FormatFloat(Height-values[i]/top*Height, 'f', 1, 64)
			l.WriteString(x(i) + " " + y + " ")
			a.WriteString(x(i) + " " + y + " ")
		}
		if i == begin+1 {
			l.WriteString("h2")
		}
		a.WriteString(x(i-1) + " " + strconv.Itoa(Height) + "Z")
	}
	return strings.TrimSpace(l.String()), a.String()
}

// prefixes are those of the SI for powers of a thousand.
const prefixes = "kMGTPE"

// Format writes a value with three significant digits and its unit; NaN is a dash. A second and more is not written in
// milliseconds, because "50k ms" is hard to read as a time.
func Format(v float64, unit string) string {
	switch {
	case unit == " ms" && v >= 1e3:
		return Format(v/1e3, " s")
	case math.IsNaN(v):
		return "–"
	case v < 1e4:
		return trim(v) + unit
	}
	prefix := 0
	for v /= 1e3; v >= 1e3 && prefix < len(prefixes)-1; prefix++ {
		v /= 1e3
	}
	return trim(v) + prefixes[prefix:prefix+1] + unit
}

// trim writes a number with at most three significant digits, but every digit before the point.
func trim(v float64) string {
	digits := 2
	switch {
	case v >= 100 || v == math.Trunc(v):
		digits = 0
	case v >= 10:
		digits = 1
	case v < 1 && v > 0:
		digits = 3
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// blocks are the heights of a sparkline.
var blocks = []rune("▁▂▃▄▅▆▇█")

// Sparkline draws the newest values as one line of text of at most a width. A gap is a space.
func Sparkline(values []float64, width int) string {
	values = values[max(len(values)-width, 0):]
	top := 0.0
	for _, v := range values {
		if v > top {
			top = v
		}
	}
	var b strings.Builder
	for _, v := range values {
		switch {
		case math.IsNaN(v):
			b.WriteByte(' ')
		case top == 0:
			b.WriteRune(blocks[0])
		default:
			b.WriteRune(blocks[min(int(v/top*float64(len(blocks))), len(blocks)-1)])
		}
	}
	return b.String()
}
