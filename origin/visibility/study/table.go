package study

import (
	"fmt"
	"slices"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/visibility/estimate"
)

// table has the questions and days of all documents of a study.
type table struct {
	brands    []string // with a slug, sorted
	questions map[string]int
	days      []string
	words     map[string]bool // brands whose name is a common word and that are not reviewed
}

// question returns the unit of a prompt: paraphrases are one question.
// The kind is part of the name, because a group and a prompt may have the same id.
func question(p Prompt) string {
	if p.Group != "" {
		return "group " + p.Group
	}
	return "prompt " + p.ID
}

// newTable unites the questions and days of the documents of a study, one for each engine. Branded prompts are left
// out: an answer to a question that names a brand shows nothing about visibility.
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
			// In integers, so that 47 of 50 is exactly the limit.
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
	answers, cited, named                []int32 // by cell
	ofQuestion, failedOf                 []int   // by question
	rows                                 map[string][]row
	right, statements                    map[string][]int // by question
	total, failed, searched, planned     int
	panel                                int // brands, with those that are not in the registry
	citedTotal, namedTotal, questionsHit int
	reason                               string
}

// row has the counts of a brand in a cell. Most brands are in few cells of a large study.
type row struct{ cell, mentions, first, top3, citations int32 }

// A study without days is one block.
func (t *table) width() int { return max(len(t.days), 1) }

// engine counts a document into the cells of the table. The document was checked, so its indexes are valid.
func (t *table) engine(d *Document) *engineTable {
	n := len(t.questions) * t.width()
	e := &engineTable{table: t, answers: make([]int32, n), cited: make([]int32, n), named: make([]int32, n),
		ofQuestion: make([]int, len(t.questions)), failedOf: make([]int, len(t.questions)),
		rows: map[string][]row{}, right: map[string][]int{}, statements: map[string][]int{}}
	// at returns the question and the cell of a row.
	at := func(prompt, day int) (q, cell int, ok bool) {
		p := d.Prompts[prompt]
		if p.Branded {
			return 0, 0, false
		}
		q = t.questions[question(p)]
		if len(d.Days) > 0 {
			// Engines may have been asked on different days, so an index of the document is not one of the table.
			day, _ = slices.BinarySearch(t.days, d.Days[day])
		}
		return q, q*t.width() + day, true
	}
	for _, r := range d.Cells {
		q, cell, ok := at(r.Prompt, r.Day)
		if !ok {
			continue
		}
		e.answers[cell], e.cited[cell] = e.answers[cell]+int32(r.Answers), e.cited[cell]+int32(r.Cited)
		e.ofQuestion[q], e.failedOf[q] = e.ofQuestion[q]+r.Answers, e.failedOf[q]+r.Failed
		e.total, e.failed, e.searched = e.total+r.Answers, e.failed+r.Failed, e.searched+r.Searched
		e.citedTotal += r.Cited
	}
	for _, c := range d.Counts {
		_, cell, ok := at(c.Prompt, c.Day)
		if !ok {
			continue
		}
		e.named[cell] += int32(c.Mentions)
		e.namedTotal += c.Mentions
		// An unknown brand has no page, but its mentions are part of the share of voice of the others.
		if !isUnknown(c.Brand) {
			e.rows[c.Brand] = append(e.rows[c.Brand], row{int32(cell), int32(c.Mentions), int32(c.First),
				int32(c.Top3), int32(c.Citations)})
		}
	}
	e.panel = len(d.Brands)
	e.addAccuracy(d)
	for _, n := range e.ofQuestion {
		if n > 0 {
			e.questionsHit++
		}
	}
	// The number that a document states is its own claim; it is at least what the document has.
	e.planned = max(d.Planned, e.total+e.failed)
	e.reason = e.shortOf(d)
	return e
}

// numerators are the counts of a brand by cell. Sums of the paraphrases of a question stay below 2^31: a cell
// has at most 1,000 answers, and there are at most 1,000 prompts.
type numerators struct{ mentions, first, top3, citations []int32 }

// numerators spreads the rows of a brand over all cells. One allocation for four lists: a ranking computes them for
// each brand and engine.
func (e *engineTable) numerators(brand string) numerators {
	size := len(e.answers)
	all := make([]int32, 4*size)
	n := numerators{all[:size], all[size : 2*size], all[2*size : 3*size], all[3*size:]}
	for _, r := range e.rows[brand] {
		n.mentions[r.cell] += r.mentions
		n.first[r.cell] += r.first
		n.top3[r.cell] += r.top3
		n.citations[r.cell] += r.citations
	}
	return n
}

// addAccuracy counts the statements about brands by question, like mentions, so that their interval is computed over
// questions and not over answers.
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
	// A question with few answers has the weight of all others, so it may not be the noisiest.
	case least < minOfQuestion:
		return "a question with fewer than 3 answers"
	}
	return ""
}
