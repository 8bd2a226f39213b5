package sampler

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/visibility/engine"
	"github.com/fieldmark/fieldmark/origin/visibility/panel"
	"github.com/fieldmark/fieldmark/origin/visibility/plan"
	"github.com/fieldmark/fieldmark/origin/visibility/study"
)

// Counter counts the answers of one engine.
type Counter struct {
	plan     *plan.Plan
	engine   *plan.Engine
	cells    map[[2]int]*study.Cell // by prompt and day
	counts   map[[2]int]map[int]*study.Count
	accuracy map[[2]int]*study.Accuracy // by brand and prompt
	answers  []answer
	lines    []string
	days     int // of the study
}

// answer is an answer that is not counted yet: only those of the commonest model are.
type answer struct {
	prompt, day int
	model       string
	searched    bool
	reading     panel.Reading
}

// NewCounter returns a Counter without answers.
func NewCounter(p *plan.Plan, e *plan.Engine) *Counter {
	return &Counter{plan: p, engine: e, cells: map[[2]int]*study.Cell{},
		counts: map[[2]int]map[int]*study.Count{}, accuracy: map[[2]int]*study.Accuracy{}, days: p.Schedule.Days}
}

// Add adds an answer to a prompt on a day, both by index, and returns what it says.
func (c *Counter) Add(prompt, day int, a *engine.Answer) panel.Reading {
	// Not counted yet: which model is the commonest is known only when all answers were read.
	r := c.plan.Matcher().Read(a.Text, a.Cited, a.Retrieved)
	c.answers = append(c.answers, answer{prompt, day, a.Model, a.Searched, r})
	return r
}

// Fail adds a call without an answer.
func (c *Counter) Fail(prompt, day int) { c.cell(prompt, day).Failed++ }

// cell returns a new cell for the first call of a prompt on a day.
func (c *Counter) cell(prompt, day int) *study.Cell {
	// Cells without a call are left out of the document, so that it has no zeros.
	key := [2]int{prompt, day}
	if c.cells[key] == nil {
		c.cells[key] = &study.Cell{Prompt: prompt, Day: day}
		c.counts[key] = map[int]*study.Count{}
	}
	return c.cells[key]
}

// Models returns how many answers each model gave.
func (c *Counter) Models() map[string]int {
	models := map[string]int{}
	for _, a := range c.answers {
		models[a.model]++
	}
	return models
}

// model returns the commonest model string, the first in order if there are several.
func (c *Counter) model() string {
	best, most := c.engine.Model, 0
	for name, n := range c.Models() {
		// Ties are broken by name, because maps have no order.
		if n > most || n == most && name < best {
			best, most = name, n
		}
	}
	return best
}

// Document returns the counts in form 2. An engine that changed its model during a study is two engines: the
// answers of the rarer model count as failed.
func (c *Counter) Document() *study.Document {
	p := c.plan
	d := &study.Document{Form: fieldmark.FormStudy, Study: p.Study, PlanHash: p.Hash, Engine: c.engine.ID,
		Model: c.model(), Surface: fieldmark.SurfaceAPI, Search: c.engine.Search, Locale: p.Locale,
		Niche: p.Prompts.Niche, PromptSet: p.Prompts.ID + " " + p.Prompts.Version, PromptSetHash: p.PromptsHash,
		PanelHash: p.PanelHash, Matcher: panel.Version, Provider: p.Provider, Provenance: p.Prompts.Provenance,
		From: p.Schedule.Day(0).UTC().Format(time.RFC3339),
		To:   p.Schedule.Day(c.days).Add(-time.Second).UTC().Format(time.RFC3339)}
	for _, a := range c.answers {
		// Two models can differ more than two brands; together they would have a rate that neither has.
		if a.model != d.Model {
			c.Fail(a.prompt, a.day)
			continue
		}
		c.count(&a)
	}
	c.answers = nil
	for i := range p.Panel {
		d.Brands = append(d.Brands, p.Panel[i].Slug)
	}
	// Prompts that were never asked are left out, and the others get new indexes.
	used := map[int]int{}
	for i, q := range p.Prompts.Prompts {
		if !slices.ContainsFunc(c.keys(), func(k [2]int) bool { return k[0] == i }) {
			continue
		}
		used[i] = len(d.Prompts)
		d.Prompts = append(d.Prompts, study.Prompt{ID: q.ID, Group: q.Group, Intent: q.Intent, Branded: q.Branded})
		if !q.Branded {
			// Branded prompts are not ranked, so their absence is no shortage.
			d.Planned += p.Schedule.Days * p.Schedule.Runs
		}
	}
	days := map[int]int{}
	for _, key := range c.keys() {
		if _, seen := days[key[1]]; !seen {
			days[key[1]] = len(d.Days)
			d.Days = append(d.Days, dayName(p, key[1]))
		}
		cell := *c.cells[key]
		cell.Prompt, cell.Day = used[key[0]], days[key[1]]
		d.Cells = append(d.Cells, cell)
		for b := range p.Panel {
			if n := c.counts[key][b]; n != nil {
				n.Brand, n.Prompt, n.Day = p.Panel[b].Slug, cell.Prompt, cell.Day
				d.Counts = append(d.Counts, *n)
			}
		}
	}
	for key, a := range c.accuracy {
		a.Brand, a.Prompt = p.Panel[key[0]].Slug, used[key[1]]
		d.Accuracy = append(d.Accuracy, *a)
	}
	slices.SortFunc(d.Accuracy, func(a, b study.Accuracy) int {
		return cmp.Or(strings.Compare(a.Brand, b.Brand), cmp.Compare(a.Prompt, b.Prompt))
	})
	if len(c.lines) > 0 {
		// Sorted, so that the digest does not depend on the order of the days on disk.
		slices.Sort(c.lines)
		d.AnswersDigest = fieldmark.DigestOf(sha256.Sum256([]byte(strings.Join(c.lines, "\n"))))
	}
	return d
}

// keys returns prompt and day of all cells, in order.
// Sorted, because documents are compared by their digests.
func (c *Counter) keys() (all [][2]int) {
	for key := range c.cells {
		all = append(all, key)
	}
	slices.SortFunc(all, func(a, b [2]int) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	return all
}

// count adds an answer to its cell.
func (c *Counter) count(a *answer) {
	cell, key := c.cell(a.prompt, a.day), [2]int{a.prompt, a.day}
	cell.Answers++
	if a.searched {
		cell.Searched++
	}
	if a.reading.HasCitation {
		cell.Cited++
	}
	of := func(brand int) *study.Count {
		if c.counts[key][brand] == nil {
			c.counts[key][brand] = &study.Count{}
		}
		return c.counts[key][brand]
	}
	// By first mention; a brand that is named twice counts once.
	for place, brand := range a.reading.Order {
		n := of(brand)
		n.Mentions++
		if place == 0 {
			n.First++
		}
		if place < 3 {
			n.Top3++
		}
	}
	for _, brand := range a.reading.Cited {
		of(brand).Citations++
	}
	for _, brand := range a.reading.Retrieved {
		of(brand).Retrieved++
	}
	for _, st := range a.reading.Statements {
		c.grade(st.Brand, a.prompt, st.Right)
	}
}

// grade adds a checked statement.
func (c *Counter) grade(brand, prompt int, right bool) {
	key := [2]int{brand, prompt}
	if c.accuracy[key] == nil {
		c.accuracy[key] = &study.Accuracy{}
	}
	c.accuracy[key].Statements++
	if right {
		c.accuracy[key].Right++
	}
}
