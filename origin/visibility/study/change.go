package study

import (
	"slices"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/visibility/estimate"
)

// metrics are compared between studies.
var metrics = []fieldmark.StudyMetric{fieldmark.MetricMention, fieldmark.MetricCitation}

// Changes compares two documents of one engine, and returns the brands whose rate changed, at most one
// change of each. Documents of other questions, panels, places or search modes have none.
func Changes(now, then *Document) (changes []fieldmark.VisibilityChange) {
	if now.Engine != then.Engine || now.PromptSetHash != then.PromptSetHash || now.PanelHash != then.PanelHash ||
		now.Locale != then.Locale || now.Search != then.Search || now.Surface != then.Surface {
		return nil
	}
	newest, earlier := newTable([]*Document{now}), newTable([]*Document{then})
	a, b := newest.engine(now), earlier.engine(then)
	for _, metric := range metrics {
		nows, thens := commonValues(a, b, metric)
		for slug, value := range nows {
			old, ok := thens[slug]
			done := slices.ContainsFunc(changes, func(c fieldmark.VisibilityChange) bool {
				return string(c.Slug) == slug
			})
			if !ok || done {
				continue
			}
			c, changed := estimate.Compare(value, old, meanOfOthers(nows, slug), meanOfOthers(thens, slug),
				now.Model != then.Model)
			if changed {
				changes = append(changes, fieldmark.VisibilityChange{Slug: fieldmark.Slug(slug), Niche: now.Niche,
					Metric: metric, Engine: now.Engine, From: mean(old), To: mean(value),
					Change: fieldmark.RateChange{Value: thousandths(c.Value), Low: thousandths(c.Low),
						High: thousandths(c.High)},
					Cause: string(c.Cause), Studies: [2]fieldmark.Digest{then.Digest(), now.Digest()}})
			}
		}
	}
	slices.SortFunc(changes, func(a, b fieldmark.VisibilityChange) int { return compareSlugs(a.Slug, b.Slug) })
	return changes
}

func compareSlugs(a, b fieldmark.Slug) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// commonValues returns the values of each brand for the questions that both documents answered.
func commonValues(a, b *engineTable, metric fieldmark.StudyMetric) (nows, thens map[string][]int64) {
	var common [][2]int
	for q, i := range a.table.questions {
		if j, ok := b.table.questions[q]; ok && a.has(i, metric) && b.has(j, metric) {
			common = append(common, [2]int{i, j})
		}
	}
	slices.SortFunc(common, func(x, y [2]int) int { return x[0] - y[0] })
	nows, thens = map[string][]int64{}, map[string][]int64{}
	for slug := range a.mentions {
		if b.mentions[slug] == nil {
			continue
		}
		for _, c := range common {
			nows[slug] = append(nows[slug], a.valueOf(slug, c[0], metric))
			thens[slug] = append(thens[slug], b.valueOf(slug, c[1], metric))
		}
	}
	return nows, thens
}

// counts returns what the metric counts of a brand, and its denominators, by cell.
func (e *engineTable) counts(brand string, metric fieldmark.StudyMetric) (num, den []int) {
	if metric == fieldmark.MetricCitation {
		return e.citations[brand], e.cited
	}
	return e.mentions[brand], e.answers
}

// has reports whether a question has anything in the denominator of a metric.
func (e *engineTable) has(q int, metric fieldmark.StudyMetric) bool {
	_, den := e.counts("", metric)
	days := e.table.width()
	return sum(den[q*days:][:days]) > 0
}

// valueOf returns the rate of a brand in the answers to a question, in billionths.
func (e *engineTable) valueOf(brand string, q int, metric fieldmark.StudyMetric) int64 {
	num, den := e.counts(brand, metric)
	days := e.table.width()
	return int64(sum(num[q*days:][:days])) * 1_000_000_000 / int64(sum(den[q*days:][:days]))
}

func sum(list []int) (n int) {
	for _, v := range list {
		n += v
	}
	return n
}

// meanOfOthers returns the mean of the values of all brands but one.
func meanOfOthers(values map[string][]int64, brand string) []int64 {
	others := make([]int64, len(values[brand]))
	for slug, list := range values {
		if slug == brand {
			continue
		}
		for i, v := range list {
			others[i] += v
		}
	}
	for i := range others {
		others[i] /= int64(max(len(values)-1, 1))
	}
	return others
}

// mean returns the mean of values in billionths as a rate.
func mean(values []int64) fieldmark.Milli {
	var total int64
	for _, v := range values {
		total += v
	}
	return thousandths(total / int64(len(values)) / 1000)
}

// thousandths rounds millionths to the nearest.
func thousandths(v int64) fieldmark.Milli {
	if v < 0 {
		return -thousandths(-v)
	}
	return fieldmark.Milli((v + 500) / 1000)
}
