package site

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/ui"
	"github.com/fieldmark/fieldmark/wasm/scoring"
)

// The size of a sparkline in CSS pixels, its margin, and the least part of the
// scale it spans: a tenth of a point must not look like a mountain.
const (
	sparkWidth  = 72
	sparkHeight = 24
	sparkMargin = 3
	sparkSpan   = 12 * fieldmark.MilliOne
)

// sparkDays are what the points of a sparkline before the last look back to.
var sparkDays = [3]int{90, 30, 7}

// spark is a brand's last ninety days as a line.
type spark struct {
	Line string // SVG path
	X, Y string // of the present
	Text string // the same in words
}

// newSpark draws what a brand scored 90, 30 and 7 days ago, nil where it had no
// score, and now. It returns nil where there is no past.
func newSpark(past [3]*fieldmark.Milli, now fieldmark.Milli) *spark {
	type point struct {
		day int
		at  fieldmark.Milli
	}
	var points []point
	for i, p := range past {
		if p != nil {
			points = append(points, point{sparkDays[i], *p})
		}
	}
	if len(points) == 0 {
		return nil
	}
	points = append(points, point{0, now})
	low, high := now, now
	for _, p := range points {
		low, high = min(low, p.at), max(high, p.at)
	}
	if short := sparkSpan - (high - low); short > 0 {
		low, high = low-short/2, high+short/2
	}
	s := &spark{Text: fmt.Sprintf("%s %d days ago, %s now", decimal(points[0].at), points[0].day, decimal(now))}
	var line strings.Builder
	for i, p := range points {
		s.X = fmt.Sprintf("%.1f",
			sparkMargin+float64(sparkDays[0]-p.day)/float64(sparkDays[0])*(sparkWidth-2*sparkMargin))
		s.Y = fmt.Sprintf("%.1f", sparkMargin+float64(high-p.at)/float64(high-low)*(sparkHeight-2*sparkMargin))
		fmt.Fprintf(&line, "%c%s %s", "ML"[min(i, 1)], s.X, s.Y)
	}
	s.Line = line.String()
	return s
}

// maxChanges is how many changes of a history are marked and listed, the newest:
// more would fill a screen of a phone.
const maxChanges = 12

// maxMoved is how many signals of one change are named, those that moved most.
const maxMoved = 4

// chart is a brand's history as a picture and in words.
type chart struct {
	Line, Band  string // SVG paths in a field of 1000 by 1000
	Marks       []mark
	Rules       []rule
	First, Last fieldmark.Time
	Text        string // the picture in words
	Changes     []changed
}

// rule is a line across the chart at which a grade begins.
type rule struct {
	Text string
	Y    string // of its line
}

// mark is a place in the chart where something changed.
type mark struct {
	X, Y string // as lengths; no Y for a module, which is a line from top to bottom
	Text string
}

// changed is a change in words.
type changed struct {
	At     fieldmark.Time
	Module *fieldmark.ModuleRef // nil for a change of facts
	Score  *fieldmark.Milli
	Moved  *fieldmark.Milli
	What   []string // gates, then signals
}

// sample is the score at a time. Two samples of one time are a step.
type sample struct {
	at    time.Time
	score *fieldmark.Milli
	span  *fieldmark.Range
}

// chartTop is how much of the chart lies above a score of 100 and below one of
// 0, in hundredths of its height: room for the line's own width.
const chartTop = 3

// newChart draws a history of at least two days; it returns nil for a shorter one.
func newChart(h *fieldmark.ScoreHistory) *chart {
	if h == nil || len(h.Points) < 2 {
		return nil
	}
	samples := samplesOf(h)
	first, last := samples[0].at, samples[len(samples)-1].at
	c := &chart{First: fieldmark.At(first), Last: fieldmark.At(last)}
	across := func(at time.Time) float64 {
		return min(max(float64(at.Sub(first))/float64(last.Sub(first)), 0), 1)
	}
	c.draw(samples, across)
	for _, g := range scoring.Rules().Grades {
		if g.Min > 0 {
			c.Rules = append(c.Rules, rule{fmt.Sprintf("%s from %s", g.Grade, g.Min),
				fmt.Sprintf("%.1f%%", down(g.Min))})
		}
	}
	for _, it := range slices.Backward(h.Changes) {
		line := changed{At: it.At, Module: it.Module, Score: it.Score, Moved: it.Moved, What: causesOf(&it)}
		if line.Moved != nil && *line.Moved == 0 && line.What == nil {
			continue // new facts that change no points
		}
		if len(c.Changes) == maxChanges {
			break
		}
		c.Changes = append(c.Changes, line)
		x := fmt.Sprintf("%.2f%%", 100*across(it.At.Std()))
		switch {
		case it.Kind == fieldmark.ChangeModule && it.Module != nil:
			if it.At.Std().After(first) {
				c.Marks = append(c.Marks,
					mark{X: x, Text: fmt.Sprintf("%s: module %s %s", dayOf(it.At), plain(it.Module.Name),
						plain(it.Module.Version))})
			}
		case it.Score != nil:
			c.Marks = append(c.Marks, mark{X: x, Y: fmt.Sprintf("%.2f%%", down(*it.Score)),
				Text: fmt.Sprintf("%s: %s", dayOf(it.At), decimal(*it.Score))})
		}
	}
	return c
}

// sinceView is what the newest audit found that the one before had not.
type sinceView struct {
	Audit   fieldmark.Time // the newest
	Changed bool           // it found other facts
	Last    *changed       // the newest change of facts; nil: none since the first audit
	First   fieldmark.Time // the first audit, if Last is nil
}

// Same reports whether the newest change of facts left the score as it was.
func (v *sinceView) Same() bool {
	return v.Last != nil && v.Last.Moved != nil && v.Last.Moved.Tenth() == 0
}

// sinceOf returns nil before the second audit, and where there is no history.
func sinceOf(p *BrandPage) *sinceView {
	if p.History == nil || p.Score.AsOf == nil {
		return nil
	}
	v := &sinceView{Audit: *p.Score.AsOf}
	for i := range p.History.Changes {
		c := &p.History.Changes[i]
		switch {
		case c.Kind != fieldmark.ChangeFacts:
		case c.Moved == nil && c.Signals == nil && c.Gates == nil && v.Last == nil:
			v.First = c.At // nothing to compare with
		default:
			v.Last = &changed{At: c.At, Score: c.Score, Moved: c.Moved, What: causesOf(c)}
			v.Changed = c.At == v.Audit
		}
	}
	if v.Last == nil && (v.First.IsZero() || v.First == v.Audit) {
		return nil
	}
	return v
}

// causesOf names what moved a score: gates, then the signals that moved most.
func causesOf(it *fieldmark.HistoryChange) []string {
	var causes []string
	for _, g := range it.Gates {
		reason := strings.TrimSuffix(plain(g.Reason), ".") // part of a list
		switch {
		case !g.Applied:
			causes = append(causes, "cap lifted: "+reason)
		case g.Limit > 0:
			causes = append(causes, fmt.Sprintf("capped at %d: %s", g.Limit, reason))
		default:
			causes = append(causes, "no score: "+reason)
		}
	}
	for _, s := range it.Signals[:min(len(it.Signals), maxMoved)] {
		causes = append(causes, fmt.Sprintf("%s %s", plain(cmp.Or(s.Label, s.ID)), moved(s.To-s.From)))
	}
	return causes
}

// samplesOf merges the points of a history, which are at the end of each step,
// with its changes, which are at the hour of their audit: the score moves at the
// audit, so the line steps there and passes through the dot that marks it.
func samplesOf(h *fieldmark.ScoreHistory) []sample {
	var samples []sample
	changes := h.Changes
	for _, p := range h.Points {
		for len(changes) > 0 && !changes[0].At.Std().After(p.At.Std()) {
			if c := changes[0]; c.Kind == fieldmark.ChangeFacts {
				at := c.At.Std()
				if n := len(samples); n > 0 {
					samples = append(samples, sample{at, samples[n-1].score, samples[n-1].span})
				}
				samples = append(samples, sample{at, c.Score, spanWith(c.Score, p.Range)})
			}
			changes = changes[1:]
		}
		samples = append(samples, sample{p.At.Std(), p.Score, p.Range})
	}
	return samples
}

// spanWith is the range after a change, as the next point has it: nil without a
// score, and wide enough to hold the score where another change follows.
func spanWith(score *fieldmark.Milli, next *fieldmark.Range) *fieldmark.Range {
	if score == nil || next == nil {
		return nil
	}
	return &fieldmark.Range{Low: min(next.Low, *score), High: max(next.High, *score)}
}

// draw makes the line, the band of the range around it, and the words.
func (c *chart) draw(samples []sample, across func(time.Time) float64) {
	var line, upper strings.Builder
	var lower []string
	var from, to *sample
	low, high := 100*fieldmark.MilliOne, fieldmark.Milli(0)
	band := func() {
		slices.Reverse(lower)
		if upper.Len() > 0 {
			c.Band += upper.String() + strings.Join(lower, "") + "Z"
		}
		upper.Reset()
		lower = nil
	}
	pen := 'M'
	for i := range samples {
		p := &samples[i]
		if p.score == nil {
			band()
			pen = 'M'
			continue
		}
		x := 1000 * across(p.at)
		fmt.Fprintf(&line, "%c%.0f %.0f", pen, x, 10*down(*p.score))
		if p.span != nil {
			fmt.Fprintf(&upper, "%c%.0f %.0f", pen, x, 10*down(p.span.High))
			lower = append(lower, fmt.Sprintf("L%.0f %.0f", x, 10*down(p.span.Low)))
		}
		pen = 'L'
		if from == nil {
			from = p
		}
		to, low, high = p, min(low, *p.score), max(high, *p.score)
	}
	band()
	c.Line = line.String()
	c.Text = fmt.Sprintf("From %s to %s there was no score.", dayOf(c.First), dayOf(c.Last))
	if from != nil {
		c.Text = fmt.Sprintf("From %s on %s to %s on %s; lowest %s, highest %s.", decimal(*from.score),
			dayOf(fieldmark.At(from.at)), decimal(*to.score), dayOf(fieldmark.At(to.at)), decimal(low), decimal(high))
	}
}

// down places a score in hundredths of the chart's height from its top.
func down(m fieldmark.Milli) float64 {
	score := float64(min(max(m, 0), 100*fieldmark.MilliOne)) / float64(fieldmark.MilliOne)
	return chartTop + (100-score)*(100-2*chartTop)/100
}

func dayOf(t fieldmark.Time) string { return t.Std().Format("2 Jan 2006") }

// studyHistory is the studies of a brand with the niche and locale of the one that its page shows.
type studyHistory struct {
	Slug     fieldmark.Slug
	From     fieldmark.Time // the end of the first
	Engines  []string
	Measures []studyMeasure // mentions first
}

// studyMeasure is one rate in all studies: a chart for each engine with at least two of them, and a table.
type studyMeasure struct {
	Name   string
	Series []studySeries
	Rows   []studyRow // the oldest first
}

// studySeries is the chart of one engine: SVG paths in a field of 1000 by 1000.
type studySeries struct {
	Engine      string
	About       string
	Line        string // between dots that can be compared
	Ranges      string // the intervals
	Dots        string
	Weak        string // the intervals of studies that cannot be ranked or are not part of the mean
	WeakDots    string
	Breaks      string // lines from top to bottom
	First, Last fieldmark.Time
	Text        string // the picture in words
	Changes     []studyBreak
}

// studyBreak is where a series is broken.
type studyBreak struct {
	At          fieldmark.Time // the end of the first study after it
	What        []fieldmark.StudyChange
	Then, Model string // the two models
}

// studyRow is a study in a table, with a cell for each engine.
type studyRow struct {
	Study fieldmark.StudyRef
	Cells []studyCell
}

type studyCell struct {
	Words  string
	Model  string // in the first study of the engine, and where it changed
	Reason string
}

// rateMeasures are the rates that have a history, the headline first.
var rateMeasures = []struct {
	name string
	of   func(e *fieldmark.EnginePoint) *fieldmark.Rate
}{
	{"Named in answers", func(e *fieldmark.EnginePoint) *fieldmark.Rate { return e.MentionRate }},
	{"Cited in answers that cite", func(e *fieldmark.EnginePoint) *fieldmark.Rate { return e.CitationRate }},
}

// newStudyHistory returns nil unless an engine of the shown study was asked in a second one. Questions of two niches or
// locales have no common scale, so only those of the shown study are included.
func newStudyHistory(v *fieldmark.Visibility, past *fieldmark.ScoreHistory) *studyHistory {
	var studies []fieldmark.StudyPoint
	for _, p := range past.Studies {
		if p.Niche == v.Study.Niche && p.Locale == v.Study.Locale {
			studies = append(studies, p)
		}
	}
	if len(studies) < 2 {
		return nil
	}
	h := &studyHistory{Slug: past.Slug, From: studies[0].To}
	// The document that is linked has a point for each week.
	oldest := past.To.Std().AddDate(0, 0, -7*(fieldmark.MaxHistoryPoints-1))
	if oldest.After(h.From.Std()) {
		h.From = fieldmark.At(oldest)
	}
	for i := range v.Engines {
		h.Engines = append(h.Engines, plain(v.Engines[i].Engine))
	}
	for _, kind := range rateMeasures {
		m := studyMeasure{Name: kind.name}
		for i := range v.Engines {
			s := newStudySeries(&v.Engines[i], studies, kind.of)
			if s != nil {
				m.Series = append(m.Series, *s)
			}
		}
		if len(m.Series) > 0 {
			m.Rows = newStudyRows(v, studies, kind.of)
			h.Measures = append(h.Measures, m)
		}
	}
	if len(h.Measures) == 0 {
		return nil
	}
	return h
}

// seriesMargin is how much of a chart's width lies before the first dot and after the last, in thousandths: room for
// half a dot on a phone.
const seriesMargin = 20

// newStudySeries draws one rate of an engine; it returns nil with fewer than two studies that have it.
func newStudySeries(e *fieldmark.EngineVisibility, studies []fieldmark.StudyPoint,
	of func(*fieldmark.EnginePoint) *fieldmark.Rate) *studySeries {
	s := &studySeries{Engine: plain(e.Engine), About: aboutMean(e)}
	var line, breaks strings.Builder
	var intervals, dots [2]strings.Builder // the second of each: weak
	var before *fieldmark.EnginePoint      // with a rate
	var rates []*fieldmark.Rate
	var changed []fieldmark.StudyChange // since then
	first, last := spanOfEngine(e.Engine, studies, of)
	at, connected := 0.0, false
	for i := range studies {
		p := pointOf(&studies[i], e.Engine)
		if p == nil {
			continue
		}
		changed = mergeChanges(changed, p.Changed)
		r := of(p)
		if r == nil {
			continue // the changes are marked at the next study that has the rate
		}
		x := placeOf(studies[i].To, first, last)
		if before != nil && len(changed) > 0 {
			connected = false
			fmt.Fprintf(&breaks, "M%.0f 0V1000", (at+x)/2)
			s.Changes = append(s.Changes, studyBreak{At: studies[i].To, What: changed, Then: plain(before.Model),
				Model: plain(p.Model)})
		}
		weak := 0
		if p.Reason != "" || p.Search == fieldmark.SearchOff && !e.Counted {
			weak = 1
		}
		fmt.Fprintf(&intervals[weak], "M%.0f %dV%d", x, 1000-r.Low, 1000-r.High)
		if !r.Few {
			pen := 'M'
			if connected {
				pen = 'L'
			}
			fmt.Fprintf(&line, "%c%.0f %d", pen, x, 1000-r.Value)
			fmt.Fprintf(&dots[weak], "M%.0f %dh0", x, 1000-r.Value)
		}
		connected = !r.Few
		before, at, changed, rates = p, x, nil, append(rates, r)
	}
	if len(rates) < 2 {
		return nil
	}
	s.Line, s.Breaks, s.Ranges, s.Weak = line.String(), breaks.String(), intervals[0].String(), intervals[1].String()
	s.Dots, s.WeakDots = dots[0].String(), dots[1].String()
	s.First, s.Last = first, last
	s.Text = fmt.Sprintf("%s until %s: %s. %s until %s: %s. All are in the table.", s.Engine, dayOf(first),
		rateWords(rates[0]), ui.Count(len(rates), "study", "studies"), dayOf(last), rateWords(rates[len(rates)-1]))
	return s
}

// spanOfEngine returns the ends of the first and the last study in which an engine has a rate.
func spanOfEngine(engine string, studies []fieldmark.StudyPoint,
	of func(*fieldmark.EnginePoint) *fieldmark.Rate) (first, last fieldmark.Time) {
	for i := range studies {
		if p := pointOf(&studies[i], engine); p != nil && of(p) != nil {
			if first.IsZero() {
				first = studies[i].To
			}
			last = studies[i].To
		}
	}
	return first, last
}

// placeOf places a time between two others, in thousandths of a chart's width.
func placeOf(at, first, last fieldmark.Time) float64 {
	whole := last.Std().Sub(first.Std())
	if whole <= 0 {
		return 500 // two studies of one day
	}
	return seriesMargin + (1000-2*seriesMargin)*float64(at.Std().Sub(first.Std()))/float64(whole)
}

// pointOf returns what a study showed of an engine, nil if it was not asked.
func pointOf(p *fieldmark.StudyPoint, engine string) *fieldmark.EnginePoint {
	i := slices.IndexFunc(p.Engines, func(e fieldmark.EnginePoint) bool { return e.Engine == engine })
	if i < 0 {
		return nil
	}
	return &p.Engines[i]
}

// mergeChanges adds changes that are not in a list yet.
func mergeChanges(list, more []fieldmark.StudyChange) []fieldmark.StudyChange {
	for _, c := range more {
		if !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	return list
}

// newStudyRows returns a row for each study, the oldest first. A cell names the model in the first study of its engine,
// and where it differs from that of the study before.
func newStudyRows(v *fieldmark.Visibility, studies []fieldmark.StudyPoint,
	of func(*fieldmark.EnginePoint) *fieldmark.Rate) (rows []studyRow) {
	models := map[string]string{} // by engine, of its study before
	for i := range studies {
		row := studyRow{Study: studies[i].StudyRef}
		for j := range v.Engines {
			engine, cell := v.Engines[j].Engine, studyCell{Words: rateWords(nil)}
			if p := pointOf(&studies[i], engine); p != nil {
				cell = studyCell{Words: rateWords(of(p)), Reason: plain(p.Reason)}
				if p.Model != models[engine] {
					cell.Model = plain(p.Model)
				}
				models[engine] = p.Model
			}
			row.Cells = append(row.Cells, cell)
		}
		rows = append(rows, row)
	}
	return rows
}
