package sampler

import (
	"errors"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/visibility/engine"
	"github.com/fieldmark/fieldmark/origin/visibility/panel"
	"github.com/fieldmark/fieldmark/origin/visibility/study"
)

// ErrNotOver means that a study can still get answers. Interim counts are not exported: a study that is stopped when
// its result pleases has no valid interval.
var ErrNotOver = errors.New("the study is not over: interim counts are not exported")

// Export counts the answers on disk, one document for each engine that answered. Warnings say what a reader
// of the counts should know.
func (s *Study) Export(now time.Time) (documents []*study.Document, warnings []string, err error) {
	// The end is fixed by the plan, before any answer is known.
	if !s.IsOver(now) {
		return nil, nil, ErrNotOver
	}
	// All answers are read again, so that an export does not depend on counts of an earlier release.
	counters, err := s.count(nil)
	if err != nil {
		return nil, nil, err
	}
	reviews, err := s.Reviews()
	if err != nil {
		return nil, nil, err
	}
	grades, agreement, err := s.grades()
	if err != nil {
		return nil, nil, err
	}
	if agreement != nil && agreement.Kappa < fieldmark.MinKappa {
		warnings = append(warnings, fmt.Sprintf("graders disagree (Cohen's kappa %.2f of %d statements, below %.1f): "+
			"no grade counts", float64(agreement.Kappa)/1000, agreement.Statements, fieldmark.MinKappa/1000.0))
	}
	for i, c := range counters {
		// A vendor may replace a model under one name; the string in the answers shows it.
		if models := c.Models(); len(models) > 1 {
			warnings = append(warnings, fmt.Sprintf("%s changed its model during the study: only the answers of %s "+
				"count, those of others are failed calls", s.Plan.Engines[i].ID, c.model()))
		}
		for _, g := range grades {
			if g.Engine == i {
				c.grade(g.Brand, g.Prompt, g.Right)
			}
		}
		d := c.Document()
		// A document without cells would be refused by the import.
		if len(d.Cells) == 0 {
			warnings = append(warnings, s.Plan.Engines[i].ID+" was never asked")
			continue
		}
		d.Review, d.Agreement = reviews, agreement
		checked, err := study.ParseJSON(d.Bytes()) // as its reader sees it: the digest is that of an import
		if err != nil {
			return nil, nil, fmt.Errorf("export %s: %w", d.Engine, err)
		}
		documents = append(documents, checked)
	}
	return documents, warnings, nil
}

// count reads all answers, and returns a Counter for each engine. See, if it is not nil, gets each answer.
// It needs no key and no network.
func (s *Study) count(see func(c Cell, a *engine.Answer, r *panel.Reading)) ([]*Counter, error) {
	var counters []*Counter
	for i := range s.Plan.Engines {
		c := NewCounter(s.Plan, &s.Plan.Engines[i])
		c.days = s.days()
		counters = append(counters, c)
	}
	for day := range s.days() {
		for _, c := range s.cellsOf(day) {
			id := c.id(s.Plan)
			r := s.book.cells[id]
			// A call that was never made is no failure of the engine.
			if r == nil || r.state == stateOpen {
				continue // missed
			}
			counter := counters[c.Engine]
			if r.state != stateDone { // failed or lost: asked, and no answer
				counter.Fail(c.Prompt, c.Day)
				continue
			}
			a, err := s.readAnswer(&r.entry)
			if err != nil {
				return nil, err
			}
			reading := counter.Add(c.Prompt, c.Day, &a)
			counter.lines = append(counter.lines, id+" "+string(r.entry.Answer))
			if see != nil {
				see(c, &a, &reading)
			}
		}
	}
	return counters, nil
}

// Prune removes the answers of days that are older than the plan keeps, and returns how many. Their digests stay
// in the journal.
func (s *Study) Prune(now time.Time) (removed int, err error) {
	for _, e := range s.done() {
		for day := range s.days() {
			// Kept for so many days after the day of the answer, not after the study.
			until := s.Plan.Schedule.Day(day + 1 + s.Plan.Keep)
			if dayName(s.Plan, day) != e.Cell[:len(time.DateOnly)] || now.Before(until) {
				continue
			}
			gone, err := remove(s.answerPath(e.Cell))
			if err != nil {
				return removed, fmt.Errorf("remove an answer: %w", err)
			}
			if gone {
				removed++
			}
		}
	}
	return removed, nil
}
