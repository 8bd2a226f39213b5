package study

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/visibility/estimate"
)

// Conditions of a ranking besides those of fieldmark.MinVisibilityPrompts.
const (
	minAnswered   = 90 // percent of the planned answers
	minOfQuestion = 3  // answers to each question
	// maxHalfWidth is the half-width of a mention rate above which brands are not ranked.
	maxHalfWidth = 150 // thousandths
	// minReviewed is how many of 50 matches of a name that is a common word must be right.
	minReviewed, ofReviewed = 47, 50
)

// million is the unit of shares of answers.
const million = 1_000_000

// digestOf returns the digest of a study, from those of its documents.
func digestOf(documents []fieldmark.Digest) fieldmark.Digest {
	var lines []string
	for _, d := range documents {
		lines = append(lines, string(d))
	}
	slices.Sort(lines)
	return fieldmark.DigestOf(sha256.Sum256([]byte(strings.Join(lines, "\n"))))
}

// Result computes what the checked documents of one study show; there is at least one. It does not depend
// on their order, nor on the names of prompts.
func Result(documents []*Document) fieldmark.StudyResult {
	documents = slices.Clone(documents)
	slices.SortFunc(documents, func(a, b *Document) int { return strings.Compare(a.Engine, b.Engine) })
	d := documents[0]
	r := fieldmark.StudyResult{StudyRef: fieldmark.StudyRef{ID: d.Study, Niche: d.Niche, Locale: d.Locale},
		PromptSet: d.PromptSet, PromptSetHash: d.PromptSetHash, PanelHash: d.PanelHash, Provider: d.Provider,
		Provenance: d.Provenance, Methodology: fieldmark.VisibilityMethodology}
	t := newTable(documents)
	var all []*engineTable
	for _, d := range documents {
		r.Documents = append(r.Documents, d.Digest())
		from, _ := time.Parse(time.RFC3339Nano, d.From) // both were checked
		to, _ := time.Parse(time.RFC3339Nano, d.To)
		if at := fieldmark.At(from); r.From.IsZero() || at.Std().Before(r.From.Std()) {
			r.From = at
		}
		if at := fieldmark.At(to); at.Std().After(r.To.Std()) {
			r.To = at
		}
		e := t.engine(d)
		all = append(all, e)
		r.Engines = append(r.Engines, fieldmark.StudyEngine{Engine: d.Engine, Model: d.Model, Surface: d.Surface,
			Search: d.Search, Reason: e.reason, Agreement: d.Agreement})
	}
	r.Digest = digestOf(r.Documents)
	r.Interval = fieldmark.IntervalQuestions
	if len(t.days) >= estimate.MinDays {
		r.Interval = fieldmark.IntervalQuestionsDays
	}
	t.results(all, &r)
	return r
}

// results computes the results of engines, and the mean of those that count. It goes brand by brand:
// the rates of one brand are used by two results, and those of all brands of a large study take gigabytes.
func (t *table) results(all []*engineTable, r *fieldmark.StudyResult) {
	// An engine that cannot be ranked, or does not search, is shown, but does not change the mean of the others.
	counted := fieldmark.CountedEngines(r.Engines)
	memories, ofMean := memoriesOf(r.Engines, counted)
	var ofEngine []*builder
	var ofCounted []*engineTable
	for i, e := range all {
		ofEngine = append(ofEngine, newBuilder(t, r.Engines[i], e))
	}
	var head fieldmark.StudyEngine
	for _, i := range counted {
		ofCounted = append(ofCounted, all[i])
		// One sampler has one agreement for all engines; of several, the worst is that of the mean.
		if a := r.Engines[i].Agreement; a != nil && (head.Agreement == nil || a.Kappa < head.Agreement.Kappa) {
			head.Agreement = a
		}
	}
	ofAll := newBuilder(t, head, ofCounted...)
	for _, slug := range t.brands {
		parts := make([]rates, len(all))
		for i, e := range all {
			parts[i] = e.ratesOf(slug)
		}
		memory := func(of []int) (mentions []estimate.Ratio) {
			for _, k := range of {
				mentions = append(mentions, parts[k].mention...)
			}
			return mentions
		}
		for i := range all {
			ofEngine[i].add(slug, parts[i], memory(memories[i]))
		}
		var joined rates
		for _, i := range counted {
			joined.join(&parts[i])
		}
		ofAll.add(slug, joined, memory(ofMean))
	}
	for i, b := range ofEngine {
		r.Engines[i] = b.ranked()
	}
	r.All = ofAll.ranked()
}

// memoriesOf returns for each engine the indexes of those that are the same model without a search, and those of
// the engines that count, each once.
func memoriesOf(engines []fieldmark.StudyEngine, counted []int) (all [][]int, ofMean []int) {
	all = make([][]int, len(engines))
	for i := range engines {
		for k := range engines {
			// Another model has learned other texts: only the same one without a search shows what a search adds.
			if engines[i].Search == fieldmark.SearchOff || engines[k].Search != fieldmark.SearchOff ||
				engines[i].Model != engines[k].Model {
				continue
			}
			all[i] = append(all[i], k)
			if slices.Contains(counted, i) && !slices.Contains(ofMean, k) {
				ofMean = append(ofMean, k)
			}
		}
	}
	return all, ofMean
}

// rate returns the ratio of counts over denominators in the answers of an engine, or false if the
// denominators are 0. Both are by cell.
func (e *engineTable) rate(num, den []int32, of int) (estimate.Ratio, bool) {
	r := estimate.Ratio{Questions: len(e.ofQuestion), Days: e.table.width(), Of: of,
		Num: make([]int64, len(num)), Den: make([]int64, len(num))}
	for c := range num {
		// Each question weighs the same, however often it was asked.
		answers := e.ofQuestion[c/r.Days]
		if answers == 0 || den[c] == 0 {
			continue
		}
		r.Num[c], r.Den[c] = share(int(num[c]), answers), share(int(den[c]), answers)
	}
	if of == 0 {
		return r, false
	}
	r.Prepare()
	return r, true
}

// share returns k/n in millionths, rounded half up.
// It is the only division of shares, so that rounding is the same everywhere.
func share(k, n int) int64 { return (2*int64(k)*million + int64(n)) / (2 * int64(n)) }

// visibilityWeights are the weights of mention rate, citation rate and share of voice; those of absent
// rates are dropped.
var visibilityWeights = [...]int64{35, 30, 25}

// engineWeight is the weight of an engine: a common multiple of every sum of visibilityWeights that
// includes the first, so that engines weigh the same whichever rates they have.
const engineWeight = 16_380

// rates are the ratios of a brand in one engine or several.
type rates struct {
	mention, first, top3, citation, voice, score []estimate.Ratio
}

// join adds the ratios of another engine.
func (r *rates) join(other *rates) {
	r.mention, r.first = append(r.mention, other.mention...), append(r.first, other.first...)
	r.top3, r.citation = append(r.top3, other.top3...), append(r.citation, other.citation...)
	r.voice, r.score = append(r.voice, other.voice...), append(r.score, other.score...)
}

// ratesOf returns the ratios of a brand, or none without answers.
func (e *engineTable) ratesOf(brand string) (all rates) {
	// An engine without answers has no rates; as zero it would halve the mean.
	if e.total == 0 {
		return all
	}
	n := e.numerators(brand)
	mention, _ := e.rate(n.mentions, e.answers, e.total)
	first, _ := e.rate(n.first, e.answers, e.total)
	top3, _ := e.rate(n.top3, e.answers, e.total)
	all.mention, all.first, all.top3 = []estimate.Ratio{mention}, []estimate.Ratio{first}, []estimate.Ratio{top3}
	weight, parts := visibilityWeights[0], []estimate.Ratio{mention}
	parts[0].Weight = visibilityWeights[0]
	add := func(to *[]estimate.Ratio, num, den []int32, of int, w int64) {
		if r, ok := e.rate(num, den, of); ok {
			*to = append(*to, r)
			r.Weight = w
			weight, parts = weight+w, append(parts, r)
		}
	}
	add(&all.citation, n.citations, e.cited, e.citedTotal, visibilityWeights[1])
	add(&all.voice, n.mentions, e.named, e.namedTotal, visibilityWeights[2])
	for i := range parts {
		// Exact in integers: engineWeight is a multiple of each possible sum.
		parts[i].Weight *= engineWeight / weight
	}
	all.score = parts
	return all
}

// builder builds the result of engines; their mean if there are several.
type builder struct {
	table   *table
	engines []*engineTable
	result  fieldmark.StudyEngine
	values  map[fieldmark.StudyMetric][][]int64 // by question, of the brands of order
	order   []int                               // indexes of brands that can be ranked
}

// newBuilder takes what is known of the engine besides its counts; of a mean, nearly nothing.
func newBuilder(t *table, head fieldmark.StudyEngine, engines ...*engineTable) *builder {
	b := &builder{table: t, engines: engines, result: head, values: map[fieldmark.StudyMetric][][]int64{}}
	b.result.Brands = []fieldmark.StudyBrand{}
	r, searched := &b.result, 0
	hit := map[int]bool{}
	for _, e := range engines {
		r.Answers, r.Failed, searched = r.Answers+e.total, r.Failed+e.failed, searched+e.searched
		r.Reason = cmp.Or(r.Reason, e.reason)
		for q, n := range e.ofQuestion {
			if n > 0 {
				hit[q] = true
			}
		}
	}
	r.Questions = len(hit)
	if r.Answers > 0 {
		part := fieldmark.Milli(share(searched, r.Answers) / 1000)
		r.Searched, r.PanelMean = &part, panelMean(engines)
	}
	return b
}

// add adds a brand with its rates in the engines, and in the same models without a search.
func (b *builder) add(slug string, all rates, memory []estimate.Ratio) {
	r := &b.result
	if r.Answers == 0 {
		return
	}
	brand := fieldmark.StudyBrand{Slug: fieldmark.Slug(slug), MentionRate: rateOf(all.mention),
		FirstRate: rateOf(all.first), Top3Rate: rateOf(all.top3), CitationRate: rateOf(all.citation),
		ShareOfVoice: rateOf(all.voice), Accuracy: accuracy(slug, b.engines), MemoryRate: rateOf(memory)}
	v := estimate.Estimate(all.score...)
	brand.Score, brand.Interval = 100*v.Value, fieldmark.Range{Low: 100 * v.Low, High: 100 * v.High}
	switch {
	case r.Reason != "":
		brand.Reason = r.Reason
	case b.table.words[slug]:
		brand.Reason = "its name is a common word and the matches are not reviewed"
	// A rank within so wide an interval would be mostly chance.
	case brand.MentionRate.High-brand.MentionRate.Low > 2*maxHalfWidth:
		brand.Reason = "the interval is wider than 15 points on each side"
	default:
		b.order = append(b.order, len(r.Brands))
		for metric, list := range map[fieldmark.StudyMetric][]estimate.Ratio{
			fieldmark.MetricMention: all.mention, fieldmark.MetricCitation: all.citation,
			fieldmark.MetricVoice: all.voice, fieldmark.MetricFirst: all.first,
		} {
			if len(list) > 0 {
				b.values[metric] = append(b.values[metric], estimate.Values(list...))
			}
		}
	}
	r.Brands = append(r.Brands, brand)
}

// ranked returns the result with the ranks of its brands.
func (b *builder) ranked() fieldmark.StudyEngine {
	for metric, list := range b.values {
		for _, p := range estimate.Rank(list) {
			brand := &b.result.Brands[b.order[p.Brand]]
			if brand.Ranks == nil {
				brand.Ranks = map[fieldmark.StudyMetric]fieldmark.StudyRank{}
			}
			brand.Ranks[metric] = fieldmark.StudyRank{Low: p.Low, High: p.High, Of: len(list), Group: p.Group}
		}
	}
	return b.result
}

// panelMean is the mean mention rate of all brands of the panel, over engines with answers.
// It describes how easy the questions are: a rate is to be read beside it.
func panelMean(engines []*engineTable) *fieldmark.Milli {
	var sum, of int64 // of millionths; of brands and questions
	for _, e := range engines {
		for q, n := range e.ofQuestion {
			if n == 0 {
				continue
			}
			named := 0
			for _, k := range e.named[q*e.table.width():][:e.table.width()] {
				named += int(k)
			}
			sum, of = sum+share(named, n), of+int64(e.panel)
		}
	}
	if of == 0 {
		return nil
	}
	return new(fieldmark.Milli((2*sum + 1000*of) / (2000 * of)))
}

// rateOf estimates the mean of ratios; nil without any.
// nil is encoded as an absent member: a rate of no answers is not zero.
func rateOf(all []estimate.Ratio) *fieldmark.Rate {
	if len(all) == 0 {
		return nil
	}
	v := estimate.Estimate(all...)
	return &fieldmark.Rate{Value: v.Value, Low: v.Low, High: v.High, Of: v.Of, Questions: v.Questions, Few: v.Few}
}

// accuracy estimates the share of right statements about a brand; the days of statements are not known.
// Only of statements that people graded, which are a sample.
func accuracy(brand string, engines []*engineTable) *fieldmark.Rate {
	var all []estimate.Ratio
	for _, e := range engines {
		r := estimate.Ratio{Questions: len(e.ofQuestion), Days: 1, Num: make([]int64, len(e.ofQuestion)),
			Den: make([]int64, len(e.ofQuestion))}
		for q, n := range e.statements[brand] {
			if n > 0 {
				r.Num[q], r.Den[q] = share(e.right[brand][q], n), million
				r.Of += n
			}
		}
		// An engine without graded statements has no share, rather than one of 0 %.
		if r.Of > 0 {
			all = append(all, r)
		}
	}
	return rateOf(all)
}
