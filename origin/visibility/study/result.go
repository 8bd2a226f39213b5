package study

import (
	"cmp"
	"crypto/sha256"
	"fmt"
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

// Digest returns the digest of a study, from those of its documents.
func Digest(documents []*Document) fieldmark.Digest {
	var lines []string
	for _, d := range documents {
		lines = append(lines, string(d.Digest()))
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
	r := fieldmark.StudyResult{StudyRef: fieldmark.StudyRef{ID: d.Study, Digest: Digest(documents), Niche: d.Niche,
		Locale: d.Locale}, PromptSet: d.PromptSet, PromptSetHash: d.PromptSetHash, PanelHash: d.PanelHash,
		Provider: d.Provider, Provenance: d.Provenance, Methodology: fieldmark.VisibilityMethodology}
	t := newTable(documents)
	var counted, all []*engineTable
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
		if e.reason == "" {
			counted = append(counted, e)
		}
		all = append(all, e)
	}
	if counted == nil {
		counted = all
	}
	r.Interval = fieldmark.IntervalQuestions
	if len(t.days) >= estimate.MinDays {
		r.Interval = fieldmark.IntervalQuestionsDays
	}
	for i, e := range all {
		d := documents[i]
		result := t.result(e)
		result.Engine, result.Model, result.Surface, result.Search = d.Engine, d.Model, d.Surface, d.Search
		r.Engines = append(r.Engines, result)
	}
	r.All = t.result(counted...)
	return r
}

// table has the questions and days of all documents of a study.
type table struct {
	brands    []string // with a slug, sorted
	questions map[string]int
	days      []string
	words     map[string]bool // brands whose name is a common word and that are not reviewed
}

// question returns the unit of a prompt: paraphrases are one question.
func question(p Prompt) string {
	if p.Group != "" {
		return "group " + p.Group
	}
	return "prompt " + p.ID
}

func newTable(documents []*Document) *table {
	t := &table{questions: map[string]int{}, words: map[string]bool{}}
	var questions []string
	for _, d := range documents {
		for _, b := range d.Brands {
			if !isUnknown(b) {
				t.brands = append(t.brands, b)
			}
		}
		for _, p := range d.Prompts {
			if !p.Branded {
				questions = append(questions, question(p))
			}
		}
		t.days = append(t.days, d.Days...)
		for _, r := range d.Review {
			if r.Word && r.Right*ofReviewed < minReviewed*r.Hits || r.Word && r.Hits == 0 {
				t.words[r.Brand] = true
			}
		}
	}
	for _, list := range []*[]string{&t.brands, &questions, &t.days} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	for i, q := range questions {
		t.questions[q] = i
	}
	return t
}

// engineTable has the counts of one engine by question and day.
type engineTable struct {
	table                                *table
	answers, cited, named                []int // by cell
	ofQuestion, failedOf                 []int // by question
	mentions, first, top3, citations     map[string][]int
	right, statements                    map[string][]int // by question
	total, failed, searched, planned     int
	panel                                int // brands, with those that the registry does not know
	citedTotal, namedTotal, questionsHit int
	reason                               string
}

func (t *table) width() int { return max(len(t.days), 1) }

func (t *table) engine(d *Document) *engineTable {
	n := len(t.questions) * t.width()
	e := &engineTable{table: t, answers: make([]int, n), cited: make([]int, n), named: make([]int, n),
		ofQuestion: make([]int, len(t.questions)), failedOf: make([]int, len(t.questions)),
		mentions: map[string][]int{}, first: map[string][]int{}, top3: map[string][]int{},
		citations: map[string][]int{}, right: map[string][]int{}, statements: map[string][]int{}}
	for _, b := range t.brands {
		e.mentions[b], e.first[b] = make([]int, n), make([]int, n)
		e.top3[b], e.citations[b] = make([]int, n), make([]int, n)
	}
	// at returns the question and the cell of a row.
	at := func(prompt, day int) (q, cell int, ok bool) {
		p := d.Prompts[prompt]
		if p.Branded {
			return 0, 0, false
		}
		q = t.questions[question(p)]
		if len(d.Days) > 0 {
			day, _ = slices.BinarySearch(t.days, d.Days[day])
		}
		return q, q*t.width() + day, true
	}
	for _, r := range d.Cells {
		q, cell, ok := at(r.Prompt, r.Day)
		if !ok {
			continue
		}
		e.answers[cell], e.cited[cell] = e.answers[cell]+r.Answers, e.cited[cell]+r.Cited
		e.ofQuestion[q], e.failedOf[q] = e.ofQuestion[q]+r.Answers, e.failedOf[q]+r.Failed
		e.total, e.failed, e.searched = e.total+r.Answers, e.failed+r.Failed, e.searched+r.Searched
		e.citedTotal += r.Cited
	}
	for _, c := range d.Counts {
		_, cell, ok := at(c.Prompt, c.Day)
		if !ok {
			continue
		}
		e.named[cell] += c.Mentions
		e.namedTotal += c.Mentions
		if !isUnknown(c.Brand) {
			e.mentions[c.Brand][cell] += c.Mentions
			e.first[c.Brand][cell] += c.First
			e.top3[c.Brand][cell] += c.Top3
			e.citations[c.Brand][cell] += c.Citations
		}
	}
	e.panel = len(d.Brands)
	e.addAccuracy(d)
	for _, n := range e.ofQuestion {
		if n > 0 {
			e.questionsHit++
		}
	}
	e.planned = max(d.Planned, e.total+e.failed)
	e.reason = e.shortOf(d)
	return e
}

func (e *engineTable) addAccuracy(d *Document) {
	for _, a := range d.Accuracy {
		if isUnknown(a.Brand) || d.Prompts[a.Prompt].Branded {
			continue
		}
		if e.right[a.Brand] == nil {
			e.right[a.Brand] = make([]int, len(e.ofQuestion))
			e.statements[a.Brand] = make([]int, len(e.ofQuestion))
		}
		q := e.table.questions[question(d.Prompts[a.Prompt])]
		e.right[a.Brand][q] += a.Right
		e.statements[a.Brand][q] += a.Statements
	}
}

// shortOf returns why an engine cannot be ranked, or an empty string.
func (e *engineTable) shortOf(d *Document) string {
	planned, least := e.planned, 0
	for q, n := range e.ofQuestion {
		if n+e.failedOf[q] > 0 && (least == 0 || n < least) {
			least = n
		}
		if n+e.failedOf[q] > 0 && n+e.failedOf[q] < fieldmark.MinVisibilityRuns {
			return "a question was asked fewer than 5 times"
		}
	}
	switch {
	case e.questionsHit < fieldmark.MinVisibilityPrompts:
		return fmt.Sprintf("fewer than %d questions", fieldmark.MinVisibilityPrompts)
	case len(d.Days) < estimate.MinDays:
		return fmt.Sprintf("fewer than %d days", estimate.MinDays)
	case 100*e.total < minAnswered*planned:
		return "fewer than 90 % of the planned answers"
	case least < minOfQuestion:
		return "a question with fewer than 3 answers"
	}
	return ""
}

// rate returns the ratio of counts over denominators in the answers of an engine, or false if the
// denominators are 0. Both are by cell.
func (e *engineTable) rate(num, den []int, of int) (estimate.Ratio, bool) {
	r := estimate.Ratio{Questions: len(e.ofQuestion), Days: e.table.width(), Of: of,
		Num: make([]int64, len(num)), Den: make([]int64, len(num))}
	for c := range num {
		answers := e.ofQuestion[c/r.Days]
		if answers == 0 || den[c] == 0 {
			continue
		}
		r.Num[c], r.Den[c] = share(num[c], answers), share(den[c], answers)
	}
	return r, of > 0
}

// share returns k/n in millionths, rounded half up.
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

func ratesOf(brand string, engines []*engineTable) (all rates) {
	for _, e := range engines {
		if e.total == 0 {
			continue
		}
		mention, _ := e.rate(e.mentions[brand], e.answers, e.total)
		first, _ := e.rate(e.first[brand], e.answers, e.total)
		top3, _ := e.rate(e.top3[brand], e.answers, e.total)
		all.mention, all.first = append(all.mention, mention), append(all.first, first)
		all.top3 = append(all.top3, top3)
		weight, parts := visibilityWeights[0], []estimate.Ratio{mention}
		parts[0].Weight = visibilityWeights[0]
		add := func(to *[]estimate.Ratio, num, den []int, of int, w int64) {
			if r, ok := e.rate(num, den, of); ok {
				*to = append(*to, r)
				r.Weight = w
				weight, parts = weight+w, append(parts, r)
			}
		}
		add(&all.citation, e.citations[brand], e.cited, e.citedTotal, visibilityWeights[1])
		add(&all.voice, e.mentions[brand], e.named, e.namedTotal, visibilityWeights[2])
		for i := range parts {
			parts[i].Weight *= engineWeight / weight
		}
		all.score = append(all.score, parts...)
	}
	return all
}

// result computes the result of engines; their mean if there are several.
func (t *table) result(engines ...*engineTable) fieldmark.StudyEngine {
	r := fieldmark.StudyEngine{Brands: []fieldmark.StudyBrand{}}
	searched := 0
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
	if r.Answers == 0 {
		return r
	}
	part := fieldmark.Milli(share(searched, r.Answers) / 1000)
	r.Searched, r.PanelMean = &part, panelMean(engines)
	values := map[fieldmark.StudyMetric][][]int64{}
	var ranked []int
	for _, slug := range t.brands {
		all := ratesOf(slug, engines)
		b := fieldmark.StudyBrand{Slug: fieldmark.Slug(slug), MentionRate: rateOf(all.mention),
			FirstRate: rateOf(all.first), Top3Rate: rateOf(all.top3), CitationRate: rateOf(all.citation),
			ShareOfVoice: rateOf(all.voice), Accuracy: accuracy(slug, engines)}
		v := estimate.Estimate(all.score...)
		b.Score, b.Interval = 100*v.Value, fieldmark.Range{Low: 100 * v.Low, High: 100 * v.High}
		switch {
		case r.Reason != "":
			b.Reason = r.Reason
		case t.words[slug]:
			b.Reason = "its name is a common word and the matches are not reviewed"
		case b.MentionRate.High-b.MentionRate.Low > 2*maxHalfWidth:
			b.Reason = "the interval is wider than 15 points on each side"
		default:
			ranked = append(ranked, len(r.Brands))
			for metric, list := range map[fieldmark.StudyMetric][]estimate.Ratio{
				fieldmark.MetricMention: all.mention, fieldmark.MetricCitation: all.citation,
				fieldmark.MetricVoice: all.voice, fieldmark.MetricFirst: all.first,
			} {
				if len(list) > 0 {
					values[metric] = append(values[metric], estimate.Values(list...))
				}
			}
		}
		r.Brands = append(r.Brands, b)
	}
	for metric, list := range values {
		for _, p := range estimate.Rank(list) {
			b := &r.Brands[ranked[p.Brand]]
			if b.Ranks == nil {
				b.Ranks = map[fieldmark.StudyMetric]fieldmark.StudyRank{}
			}
			b.Ranks[metric] = fieldmark.StudyRank{Low: p.Low, High: p.High, Of: len(list), Group: p.Group}
		}
	}
	return r
}

// panelMean is the mean mention rate of all brands of the panel, over engines with answers.
func panelMean(engines []*engineTable) *fieldmark.Milli {
	var sum, of int64 // of millionths; of brands and questions
	for _, e := range engines {
		for q, n := range e.ofQuestion {
			if n == 0 {
				continue
			}
			named := 0
			for _, k := range e.named[q*e.table.width():][:e.table.width()] {
				named += k
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
func rateOf(all []estimate.Ratio) *fieldmark.Rate {
	if len(all) == 0 {
		return nil
	}
	v := estimate.Estimate(all...)
	return &fieldmark.Rate{Value: v.Value, Low: v.Low, High: v.High, Of: v.Of, Questions: v.Questions, Few: v.Few}
}

// accuracy estimates the share of right statements about a brand; the days of statements are not known.
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
		if r.Of > 0 {
			all = append(all, r)
		}
	}
	return rateOf(all)
}
