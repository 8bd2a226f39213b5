package study

import (
	"cmp"
	"slices"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/visibility/estimate"
)

// metrics are compared between studies.
var metrics = []fieldmark.StudyMetric{fieldmark.MetricMention, fieldmark.MetricCitation}

// Changes compares two documents of one engine, and returns the brands whose rate changed, at most one
// change of each. Documents of other questions, panels, places or search modes have none.
// A difference between documents that asked different things would be one of the method, not of the brand.
func Changes(now, then *Document) (changes []fieldmark.VisibilityChange) {
	if now.Engine != then.Engine || now.PromptSetHash != then.PromptSetHash || now.PanelHash != then.PanelHash ||
		now.Locale != then.Locale || now.Search != then.Search || now.Surface != then.Surface {
		return nil
	}
	newest, earlier := newTable([]*Document{now}), newTable([]*Document{then})
	a, b := newest.engine(now), earlier.engine(then)
	// Mentions first: a brand whose both rates changed has one event, about the rate that people read first.
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
			// The mean of the other brands separates a change of the engine from one of the brand.
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
	// Maps have no order, and events are compared in tests and by their readers.
	slices.SortFunc(changes, func(a, b fieldmark.VisibilityChange) int { return cmp.Compare(a.Slug, b.Slug) })
	return changes
}

// commonValues returns the values of each brand for the questions that both documents answered.
// Questions that only one of both answered would shift the mean without a change of any rate.
func commonValues(a, b *engineTable, metric fieldmark.StudyMetric) (nows, thens map[string][]int64) {
	var common [][2]int
	for q, i := range a.table.questions {
		if j, ok := b.table.questions[q]; ok && a.has(i, metric) && b.has(j, metric) {
			common = append(common, [2]int{i, j})
		}
	}
	slices.SortFunc(common, func(x, y [2]int) int { return x[0] - y[0] })
	nows, thens = map[string][]int64{}, map[string][]int64{}
	for _, slug := range a.table.brands {
		if _, both := slices.BinarySearch(b.table.brands, slug); !both {
			continue
		}
		now, then := a.counts(slug, metric), b.counts(slug, metric)
		for _, c := range common {
			nows[slug] = append(nows[slug], a.valueOf(now, c[0], metric))
			thens[slug] = append(thens[slug], b.valueOf(then, c[1], metric))
		}
	}
	return nows, thens
}

// MentionValues returns the mention rate of a brand in each question with an answer, in billionths: the pilot of a
// study whose size is to be known. It is empty if the brand is not in the panel.
func MentionValues(d *Document, brand string) (values []int64) {
	t := newTable([]*Document{d})
	if !slices.Contains(t.brands, brand) {
		return nil
	}
	e := t.engine(d)
	counts := e.counts(brand, fieldmark.MetricMention)
	for q := range e.ofQuestion {
		if e.has(q, fieldmark.MetricMention) {
			values = append(values, e.valueOf(counts, q, fieldmark.MetricMention))
		}
	}
	return values
}

// counts returns what the metric counts of a brand, by cell.
// Citations have their own denominator: an answer without sources cannot cite.
func (e *engineTable) counts(brand string, metric fieldmark.StudyMetric) []int32 {
	if metric == fieldmark.MetricCitation {
		return e.numerators(brand).citations
	}
	return e.numerators(brand).mentions
}

// denominators returns the denominators of the metric, by cell.
func (e *engineTable) denominators(metric fieldmark.StudyMetric) []int32 {
	if metric == fieldmark.MetricCitation {
		return e.cited
	}
	return e.answers
}

// has reports whether a question has anything in the denominator of a metric.
// A rate of nothing is absent, not zero.
func (e *engineTable) has(q int, metric fieldmark.StudyMetric) bool {
	days := e.table.width()
	return sum(e.denominators(metric)[q*days:][:days]) > 0
}

// valueOf returns the share of counts in the answers to a question, in billionths.
// Billionths keep the differences of small rates in integers, which are the same on every machine.
func (e *engineTable) valueOf(counts []int32, q int, metric fieldmark.StudyMetric) int64 {
	days := e.table.width()
	return sum(counts[q*days:][:days]) * 1_000_000_000 / sum(e.denominators(metric)[q*days:][:days])
}

func sum(list []int32) (n int64) {
	for _, v := range list {
		n += int64(v)
	}
	return n
}

// meanOfOthers returns the mean of the values of all brands but one.
// The brand itself would explain a part of the change that it is compared with.
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
// It divides to millionths first, as results are rounded, so that both show the same digits.
func mean(values []int64) fieldmark.Milli {
	var total int64
	for _, v := range values {
		total += v
	}
	return thousandths(total / int64(len(values)) / 1000)
}

// thousandths rounds millionths to the nearest.
// Half is rounded away from 0, so that a rise and a fall of one size look alike.
func thousandths(v int64) fieldmark.Milli {
	if v < 0 {
		return -thousandths(-v)
	}
	return fieldmark.Milli((v + 500) / 1000)
}
