package site

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/ui"
)

// whisker is a value with its interval on an axis from 0 to 100 %: the places are SVG lengths.
type whisker struct {
	At        string // of the dot; empty: only the interval is known
	Low, High string
	Mean      string // of the panel; empty: none
	Weak      bool   // it cannot be ranked: the interval is dashed
}

// newWhisker places a rate, which is not nil.
func newWhisker(r *fieldmark.Rate, mean *fieldmark.Milli, weak bool) *whisker {
	w := &whisker{Low: percentOf(100 * r.Low), High: percentOf(100 * r.High), Weak: weak}
	if !r.Few {
		w.At = percentOf(100 * r.Value)
	}
	if mean != nil {
		w.Mean = percentOf(100 * *mean)
	}
	return w
}

// rateWords writes a share with its interval in whole percent; of one that too few questions vary, the
// only bound that it has.
func rateWords(r *fieldmark.Rate) string {
	switch {
	case r == nil || !r.Few:
		return rate(r)
	case r.Value > fieldmark.MilliOne/2:
		return fmt.Sprintf("above %d%%", int(r.Low/10))
	}
	return fmt.Sprintf("below %d%%", int((r.High+9)/10))
}

// plot is a dot-and-whisker plot of one rate, a line for all engines and for each.
type plot struct {
	Name  string // of the rate
	Lines []plotLine
}

type plotLine struct {
	Engine  string // empty: all engines
	About   string // model and kind of search
	Whisker *whisker
	Rate    *fieldmark.Rate
	Reason  string // why it is not ranked
}

// visibilityView is the visibility on a brand's page.
type visibilityView struct {
	*fieldmark.Visibility
	Headline string          // the mention rate in a sentence
	Memory   *fieldmark.Rate // the mention rate of the same models without a search; nil: they were not asked so
	Ranked   bool
	Plots    []plot
	Board    string // address of the leaderboard of its niche; empty if the brand has no rank in it
	History  *studyHistory
}

// newVisibilityView returns nil without a measurement.
func newVisibilityView(v *fieldmark.Visibility, h *fieldmark.ScoreHistory) *visibilityView {
	if v == nil {
		return nil
	}
	view := &visibilityView{Visibility: v, Ranked: v.Quality == fieldmark.VisibilityRanked}
	lines := v.Engines
	if v.All != nil {
		lines = append([]fieldmark.EngineVisibility{*v.All}, lines...)
	}
	for _, kind := range []struct {
		name string
		rate func(e *fieldmark.EngineVisibility) *fieldmark.Rate
		mean bool // the mean of the panel is of this rate
	}{
		{"Named in answers", func(e *fieldmark.EngineVisibility) *fieldmark.Rate { return e.MentionRate }, true},
		{"Cited in answers that cite", func(e *fieldmark.EngineVisibility) *fieldmark.Rate { return e.CitationRate },
			false},
	} {
		p := plot{Name: kind.name}
		for i := range lines {
			e := &lines[i]
			r := kind.rate(e)
			if r == nil {
				continue
			}
			mean := e.PanelMean
			if !kind.mean {
				mean = nil
			}
			p.Lines = append(p.Lines, plotLine{Engine: plain(e.Engine), About: aboutMean(e), Rate: r,
				Whisker: newWhisker(r, mean, e.Reason != "" || !e.Counted), Reason: plain(e.Reason)})
		}
		if len(p.Lines) > 0 {
			view.Plots = append(view.Plots, p)
		}
	}
	view.Headline = visibilityHeadline(v)
	if v.All != nil {
		view.Memory = v.All.MemoryRate
	}
	if v.Study != nil && v.Rank != nil {
		view.Board = VisibilityPath(v.Study.Niche)
	}
	if v.Study != nil && h != nil {
		view.History = newStudyHistory(v, h)
	}
	return view
}

// visibilityHeadline returns how often the brand was named, and in how many answers to how many questions.
func visibilityHeadline(v *fieldmark.Visibility) string {
	if v.All == nil || v.All.MentionRate == nil {
		return ""
	}
	r := v.All.MentionRate
	text := fmt.Sprintf("Named in %s of answers", rateWords(r))
	if r.Few {
		text = fmt.Sprintf("Too few questions tell more about it than: named in %s of answers", rateWords(r))
	}
	text += fmt.Sprintf(", %s, %s", ui.Count(v.All.MentionRate.Questions, "question", "questions"),
		ui.Count(r.Of, "answer", "answers"))
	if v.Study != nil {
		text += ", " + spanOf(v.Study.From, v.Study.To)
	}
	var engines []string
	for i := range v.Engines {
		if e := &v.Engines[i]; e.Counted {
			engines = append(engines, plain(e.Engine))
		}
	}
	return text + ", " + strings.Join(engines, ", ") + "."
}

// spanOf writes the days from one to another.
func spanOf(from, to fieldmark.Time) string {
	if dayOf(from) == dayOf(to) {
		return dayOf(to)
	}
	return dayOf(from) + " to " + dayOf(to)
}

// searches are the kinds of search of an engine in words.
var searches = map[string]string{"auto": "searches when it decides to", "required": "always searches",
	"off": "without search"}

// aboutEngine describes how an engine was asked.
func aboutEngine(e *fieldmark.EngineVisibility) string {
	var parts []string
	if e.Model != "" {
		parts = append(parts, plain(e.Model))
	}
	switch e.Surface {
	case fieldmark.SurfaceAPI:
		parts = append(parts, "API")
	case fieldmark.SurfaceApp:
		parts = append(parts, "app")
	}
	if words := searches[e.Search]; words != "" {
		parts = append(parts, words)
	}
	return strings.Join(parts, ", ")
}

// aboutMean is aboutEngine, and that the engine is not part of the mean. An engine with a reason says it in its row.
func aboutMean(e *fieldmark.EngineVisibility) string {
	about := aboutEngine(e)
	if !e.Counted && e.Reason == "" {
		about += ", not part of the mean"
	}
	return about
}

// VisibilityPath is the address of the leaderboard by visibility of a niche.
func VisibilityPath(niche string) string {
	return "/?" + url.Values{"basis": {fieldmark.BasisVisibility}, "niche": {niche}}.Encode()
}

// VisibilityPage is the data of a leaderboard by visibility.
type VisibilityPage struct {
	BaseURL string                    // scheme and host of the site, without a slash at the end
	Board   fieldmark.VisibilityBoard // without a study if no niche is named, or none can be ranked
	Cursor  string                    // of this request; empty on the first page
	Niches  []Choice
}

// visibilityPageView is what templates/visibility.html shows.
type visibilityPageView struct {
	Head    head
	Page    *VisibilityPage
	Groups  []visibilityGroup
	Metrics []metricChoice
	Metric  string // in words
	Next    string // address of the next page; empty on the last
	Asked   string // when the questions were asked
	Mean    string // the engines whose mean is shown
	Outside string // the other engines of the study; empty: the mean is of all
}

// visibilityGroup is a group of brands that do not differ significantly from its first.
type visibilityGroup struct {
	fieldmark.VisibilityGroup
	Lines []visibilityLine
}

type visibilityLine struct {
	fieldmark.VisibilityEntry
	Whisker *whisker
	Words   string
}

type metricChoice struct {
	Value fieldmark.StudyMetric
	Text  string
}

// metrics are the metrics of a study in words, the default first.
var metrics = []metricChoice{{fieldmark.MetricMention, "named"}, {fieldmark.MetricCitation, "cited"},
	{fieldmark.MetricVoice, "share of voice"}, {fieldmark.MetricFirst, "named first"}}

func newVisibilityPageView(c chrome, p *VisibilityPage) *visibilityPageView {
	b := &p.Board
	v := &visibilityPageView{Page: p, Metrics: metrics, Groups: groupsOf(b)}
	for _, m := range metrics {
		if m.Value == b.Filters.Metric {
			v.Metric = m.Text
		}
	}
	v.Head = head{chrome: c, Title: "Visibility in AI answers", Kind: "website", Here: "/", Base: p.BaseURL,
		Description: "Brands by how often answer engines name and cite them, with 95 % intervals and ranges of ranks."}
	if b.Filters.Niche != "" {
		v.Head.Title += ": " + nicheName(b.Filters.Niche)
	}
	if b.Study.ID != "" {
		v.Head.Canonical = p.BaseURL + VisibilityPath(b.Filters.Niche)
		v.Head.Index = p.Cursor == ""
		v.Asked = spanOf(b.Study.From, b.Study.To)
	}
	var outside []string
	for _, e := range b.Engines {
		if !slices.Contains(b.Counted, e) {
			outside = append(outside, plain(e))
		}
	}
	v.Mean, v.Outside = plain(strings.Join(b.Counted, ", ")), strings.Join(outside, ", ")
	if b.NextCursor != "" {
		next := url.Values{"basis": {fieldmark.BasisVisibility}, "niche": {b.Filters.Niche}, "cursor": {b.NextCursor},
			"metric": {string(b.Filters.Metric)}, "limit": {fmt.Sprint(len(b.Items))}}
		for name, value := range map[string]string{"engine": b.Filters.Engine, "locale": b.Filters.Locale} {
			if value != "" {
				next.Set(name, value)
			}
		}
		v.Next = "/?" + next.Encode()
	}
	return v
}

// groupsOf divides the items of a leaderboard by their groups.
func groupsOf(b *fieldmark.VisibilityBoard) (groups []visibilityGroup) {
	for i := range b.Items {
		it := &b.Items[i]
		if n := len(groups); n == 0 || groups[n-1].N != it.Group {
			at := slices.IndexFunc(b.Groups, func(g fieldmark.VisibilityGroup) bool { return g.N == it.Group })
			groups = append(groups, visibilityGroup{VisibilityGroup: b.Groups[at]})
		}
		r := &fieldmark.Rate{Value: it.Value, Low: it.Low, High: it.High, Few: it.Few}
		last := &groups[len(groups)-1]
		last.Lines = append(last.Lines, visibilityLine{*it, newWhisker(r, b.PanelMean, false), rateWords(r)})
	}
	return groups
}

// validityView is how scores relate to measured answers.
type validityView struct {
	*fieldmark.Validity
	Summary []string // the relation of the score with each rate in a sentence
	Tables  []validityTable
}

type validityTable struct {
	Name  string
	Lines []validityRow
}

type validityRow struct {
	fieldmark.ValidityLine
	*fieldmark.Association // nil: all brands have one value
	Whisker                *whisker
	Words                  string
}

// newValidityView returns nil without a document.
func newValidityView(v *fieldmark.Validity) *validityView {
	if v == nil {
		return nil
	}
	view := &validityView{Validity: v}
	for _, kind := range []struct {
		name, verb string
		of         func(*fieldmark.ValidityLine) *fieldmark.Association
	}{
		{"Citation rate", "cited", func(l *fieldmark.ValidityLine) *fieldmark.Association { return l.Citation }},
		{"Mention rate", "named", func(l *fieldmark.ValidityLine) *fieldmark.Association { return l.Mention }},
	} {
		table := validityTable{Name: kind.name}
		for i := range v.Lines {
			row := validityRow{ValidityLine: v.Lines[i], Association: kind.of(&v.Lines[i]), Words: "cannot tell"}
			if a := row.Association; a != nil {
				row.Whisker = &whisker{At: percentOfTau(a.Tau), Low: percentOfTau(a.Low), High: percentOfTau(a.High),
					Mean: percentOfTau(0), Weak: a.Low <= 0 && a.High >= 0}
				row.Words = fmt.Sprintf("%s (%s to %s)", minus(a.Tau), minus(a.Low), minus(a.High))
				if row.Kind == fieldmark.ValidityScore {
					view.Summary = append(view.Summary, relation(a, kind.verb))
				}
			}
			table.Lines = append(table.Lines, row)
		}
		if len(v.Lines) > 0 {
			view.Tables = append(view.Tables, table)
		}
	}
	return view
}

// percentOfTau places a value of -1 to 1 on an axis.
func percentOfTau(m fieldmark.Milli) string { return percentOf((m + fieldmark.MilliOne) * 50) }

// minus writes a number with the sign of typography, to two decimals.
func minus(m fieldmark.Milli) string {
	text := fmt.Sprintf("%.2f", float64(m)/float64(fieldmark.MilliOne))
	return strings.Replace(text, "-", "−", 1)
}

// relation returns what a study shows of the score and a rate, and no more.
func relation(a *fieldmark.Association, verb string) string {
	if a.Low <= 0 && a.High >= 0 {
		return fmt.Sprintf("No relation of the score with how often brands were %s was found; it lies between %s and "+
			"%s (%d brands).", verb, minus(a.Low), minus(a.High), a.Brands)
	}
	more := "more"
	if a.High < 0 {
		more = "less"
	}
	return fmt.Sprintf("Brands with a higher score were %s %s often in these studies (τ %s, %s to %s, %d brands); "+
		"this does not show that raising the score raises it.", verb, more, minus(a.Tau), minus(a.Low),
		minus(a.High), a.Brands)
}
