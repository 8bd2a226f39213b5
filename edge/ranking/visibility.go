package ranking

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// VisibilityQuery is a checked request for a page of a leaderboard by visibility.
type VisibilityQuery struct {
	Filter fieldmark.VisibilityFilter
	Limit  int
	Cursor string // empty: the first page
}

// VisibilityParameters are the parameters that ParseVisibility accepts.
const VisibilityParameters = "basis, niche, locale, engine, metric, minConfidence, limit and cursor"

// Metrics are the metrics of a leaderboard by visibility; the first is the default.
var Metrics = [...]fieldmark.StudyMetric{fieldmark.MetricMention, fieldmark.MetricCitation, fieldmark.MetricVoice,
	fieldmark.MetricFirst}

// ParseVisibility parses the parameters of a leaderboard by visibility and returns all problems at once.
// Parameters without a value count as absent if lenient, as a form sends what was left empty; unknown
// returns the problem of a parameter that is not known, nil ignores it.
func ParseVisibility(args iter.Seq2[[]byte, []byte], lenient bool, confidence func(string) (fieldmark.Milli, bool),
	unknown func(name string) *fieldmark.FieldError) (q VisibilityQuery, bad []fieldmark.FieldError) {
	q.Filter.Metric, q.Limit = Metrics[0], fieldmark.MaxBoardLimit
	minConfidence, limit := "", ""
	into := map[string]*string{"basis": &q.Filter.Basis, "niche": &q.Filter.Niche, "locale": &q.Filter.Locale,
		"engine": &q.Filter.Engine, "metric": (*string)(&q.Filter.Metric), "minConfidence": &minConfidence,
		"limit": &limit, "cursor": &q.Cursor}
	seen := map[string]bool{}
	add := func(key, code, detail string) {
		bad = append(bad, fieldmark.FieldError{Pointer: "?" + key, Code: code, Detail: detail})
	}
	for k, v := range args {
		key := string(k)
		to := into[key]
		switch {
		case lenient && len(v) == 0:
			continue
		case to == nil:
			if problem := unknown(key); problem != nil {
				bad = append(bad, *problem)
			}
			continue
		case seen[key]:
			add(key, "conflict", "must be given once")
		}
		seen[key], *to = true, string(v)
	}
	if !fieldmark.ValidSlug(q.Filter.Niche) {
		add("niche", "required", "must be the slug of a niche: questions of two niches have no common scale")
	}
	if q.Filter.Engine != "" && !fieldmark.ValidSlug(q.Filter.Engine) {
		add("engine", "pattern", "must be the name of an engine")
	}
	if q.Filter.Locale != "" && !ValidLanguageRange(q.Filter.Locale) {
		add("locale", "format", "must be a language tag such as de-AT")
	}
	if !slices.Contains(Metrics[:], q.Filter.Metric) {
		add("metric", "enum", "must be mention, citation, voice or first")
	}
	if seen["minConfidence"] {
		var ok bool
		if q.Filter.MinConfidence, ok = confidence(minConfidence); !ok {
			add("minConfidence", "range", "must be 0 to 1 with at most two decimals, or low, medium or high")
		}
	}
	if seen["limit"] {
		n, err := strconv.Atoi(limit)
		if q.Limit = n; err != nil || n < 1 || n > fieldmark.MaxBoardLimit {
			add("limit", "range", "must be 1 to "+strconv.Itoa(fieldmark.MaxBoardLimit))
		}
	}
	return q, bad
}

// Key identifies the page among all pages of the newest studies.
func (q *VisibilityQuery) Key() string {
	f := &q.Filter
	return strings.Join([]string{f.Niche, f.Locale, f.Engine, string(f.Metric), f.MinConfidence.String(),
		strconv.Itoa(q.Limit), strconv.Quote(q.Cursor)}, "/")
}

// scope returns the filter under which the cursors of a list are made.
func (q *VisibilityQuery) scope() fieldmark.BoardFilter {
	f := &q.Filter
	return fieldmark.BoardFilter{Basis: f.Basis, Niche: f.Niche, MinConfidence: f.MinConfidence,
		Language: f.Locale + " " + f.Engine + " " + string(f.Metric)}
}

// snapshotDigits is the length of a snapshot's id, which has the form of the beginning of a digest.
const snapshotDigits = 16

// VisibilityBoard lists the brands of a study that can be ranked and are listed here, by a metric in the
// mean of engines or in one engine. The error has CodeNotFound if the study has no such engine.
func (s *Snapshot) VisibilityBoard(r *fieldmark.StudyResult, q *VisibilityQuery, key CursorKey) (
	b fieldmark.VisibilityBoard, err error) {
	b = fieldmark.VisibilityBoard{Items: []fieldmark.VisibilityEntry{}, Study: r.StudyRef, Interval: r.Interval,
		Methodology: r.Methodology, Filters: q.Filter, Groups: []fieldmark.VisibilityGroup{},
		Note: fieldmark.VisibilityNote, Provider: r.Provider, Provenance: r.Provenance}
	of := &r.All
	for i := range r.Engines {
		b.Engines = append(b.Engines, r.Engines[i].Engine)
		if r.Engines[i].Engine == q.Filter.Engine {
			of = &r.Engines[i]
		}
	}
	for _, i := range fieldmark.CountedEngines(r.Engines) {
		b.Counted = append(b.Counted, r.Engines[i].Engine)
	}
	if of.Engine != q.Filter.Engine {
		return b, fieldmark.Errorf(fieldmark.CodeNotFound, "the study has no answers of this engine")
	}
	offset, id := 0, strings.TrimPrefix(string(r.Digest), "sha256:")[:snapshotDigits]
	if q.Cursor != "" {
		of, at, ok := key.Decode(q.Cursor, q.scope())
		if !ok {
			return b, fieldmark.Errorf(fieldmark.CodeInvalidCursor,
				"a cursor belongs to the filters it came with; start again without it")
		}
		if of != id {
			return b, fieldmark.Errorf(fieldmark.CodeCursorExpired,
				"a newer study of the niche can be ranked; start again without a cursor")
		}
		offset = at
	}
	b.Questions, b.Answers = of.Questions, of.Answers
	if q.Filter.Metric == fieldmark.MetricMention {
		b.PanelMean = of.PanelMean
	}
	items := s.visibilityEntries(of, &q.Filter)
	b.Total = len(items)
	for i := range items {
		if last := len(b.Groups) - 1; last < 0 || b.Groups[last].N != items[i].Group {
			b.Groups = append(b.Groups, fieldmark.VisibilityGroup{N: items[i].Group, From: i + 1, To: i + 1})
		} else {
			b.Groups[last].To = i + 1
		}
	}
	end := min(offset+q.Limit, len(items))
	b.Items = append(b.Items, items[min(offset, end):end]...)
	if end < len(items) {
		b.NextCursor = key.Encode(id, end, q.scope())
	}
	return b, nil
}

// visibilityEntries lists the brands of an engine by group and then by value.
func (s *Snapshot) visibilityEntries(of *fieldmark.StudyEngine,
	f *fieldmark.VisibilityFilter) (items []fieldmark.VisibilityEntry) {
	for i := range of.Brands {
		brand := &of.Brands[i]
		rank, ranked := brand.Ranks[f.Metric]
		rate, row := brand.Rate(f.Metric), s.Row(brand.Slug)
		if !ranked || rate == nil || row == nil || !row.Listed() || row.certainty < f.MinConfidence {
			continue
		}
		items = append(items, fieldmark.VisibilityEntry{Slug: brand.Slug, Name: row.name, Value: rate.Value,
			Low: rate.Low, High: rate.High, Few: rate.Few, RankLow: rank.Low, RankHigh: rank.High, Group: rank.Group,
			Answers: rate.Of})
	}
	slices.SortFunc(items, func(x, y fieldmark.VisibilityEntry) int {
		return cmp.Or(cmp.Compare(x.Group, y.Group), cmp.Compare(y.Value, x.Value), cmp.Compare(x.Slug, y.Slug))
	})
	return items
}
