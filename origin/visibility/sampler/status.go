package sampler

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/visibility/study"
)

// Status is the state of a study.
type Status struct {
	Study    string           `json:"study"`
	PlanHash fieldmark.Digest `json:"planHash"`
	From     string           `json:"from"` // dates
	To       string           `json:"to"`
	Engines  []EngineStatus   `json:"engines"`
	Spent    int64            `json:"spentNano"` // nano-dollars, with the reserves of lost calls and of those under way
	Budget   int64            `json:"budgetNano"`
	Over     bool             `json:"over"`
	Busy     bool             `json:"busy"` // a process works on it
	// Next is when the next question is due, RFC 3339; empty if none will be. One that is due already counts.
	Next string `json:"next,omitempty"`
	// Unranked is why the study cannot be ranked any more; empty if it still can.
	Unranked []string `json:"unranked,omitempty"`
}

// EngineStatus is the state of an engine in a study.
// Its counts of calls add up to Of, with those that are open.
type EngineStatus struct {
	Engine string         `json:"engine"`
	Of     int            `json:"of"` // planned calls
	Done   int            `json:"done"`
	Failed int            `json:"failed"`
	Lost   int            `json:"lost"`   // sent when the process was killed: paid, without an answer
	Missed int            `json:"missed"` // of days that are over
	Spent  int64          `json:"spentNano"`
	Models map[string]int `json:"models"` // answers by model string
	// MentionRate is that of the operator's own brand, after the study is over.
	MentionRate *fieldmark.Rate `json:"mentionRate,omitempty"`
}

// Conditions of a ranking that missing answers can break.
const (
	// The limits of a ranking, as package study has them (minAnswered).
	maxMissing    = 10 // percent of the planned answers
	minOfQuestion = 3  // answers to each question
)

// Status returns the state of the study. Rates come from the answers on disk, and only after the study is over.
func (s *Study) Status(now time.Time) Status {
	p := s.Plan
	st := Status{Study: p.Study, PlanHash: p.Hash, From: dayName(p, 0), To: dayName(p, s.days()-1),
		Budget: p.Budget, Over: s.IsOver(now), Busy: s.lock != nil || s.isBusy()}
	st.Engines = make([]EngineStatus, len(p.Engines))
	left := make([]map[int]int, len(p.Engines)) // answers that a question has or can still get
	for i := range p.Engines {
		st.Engines[i] = EngineStatus{Engine: p.Engines[i].ID, Models: map[string]int{}}
		left[i] = map[int]int{}
	}
	var next time.Time
	// One moment for all engines, so that the sums agree.
	s.mu.Lock()
	for day := range s.days() {
		isOver := !now.Before(p.Schedule.Day(day + 1))
		for _, c := range s.cellsOf(day) {
			e := &st.Engines[c.Engine]
			e.Of++
			r := s.book.cells[c.id(p)]
			// Days follow each other, and so do the cells of a day.
			if next.IsZero() && !isOver && (r == nil || r.state == stateOpen) {
				next = c.Due
			}
			if e.add(r, isOver, st.Busy) {
				left[c.Engine][c.Prompt]++
			} else {
				// The question is there with none left.
				left[c.Engine][c.Prompt] += 0
			}
		}
	}
	if !next.IsZero() {
		st.Next = next.Format(time.RFC3339)
	}
	st.Spent = s.spentLocked()
	for i := range st.Engines {
		st.Engines[i].Spent = s.book.spent[st.Engines[i].Engine]
	}
	s.mu.Unlock()
	for i := range st.Engines {
		st.Unranked = append(st.Unranked, s.unranked(&st.Engines[i], left[i])...)
	}
	return st
}

// add counts a cell, and reports whether it has or can still get an answer.
func (e *EngineStatus) add(r *record, isOver, busy bool) bool {
	switch {
	case r != nil && r.state == stateDone:
		e.Done++
		e.Models[r.entry.Model]++
		return true
	case r != nil && r.state == stateFailed:
		e.Failed++
	case r != nil && r.state == stateSent && busy:
		return true // under way
	case r != nil && r.state == stateSent:
		e.Lost++
	case isOver:
		e.Missed++
	default:
		return true
	}
	return false
}

// unranked returns why an engine cannot be ranked any more. left has the answers that each question has or can get.
func (s *Study) unranked(e *EngineStatus, left map[int]int) (why []string) {
	if gone := e.Failed + e.Lost + e.Missed; 100*gone > maxMissing*e.Of {
		why = append(why, fmt.Sprintf(
			"%s: %d of %d answers are missing (%d failed, %d lost, %d missed), more than %d %%",
			e.Engine, gone, e.Of, e.Failed, e.Lost, e.Missed, maxMissing))
	}
	var short []string
	for q, n := range left {
		if n < minOfQuestion && s.Plan.Schedule.Days*s.Plan.Schedule.Runs >= minOfQuestion {
			short = append(short, s.Plan.Prompts.Prompts[q].ID)
		}
	}
	if len(short) > 0 {
		why = append(why, fmt.Sprintf("%s: %d questions have fewer than %d answers: %s", e.Engine, len(short),
			minOfQuestion, strings.Join(sorted(short), ", ")))
	}
	if len(e.Models) > 1 {
		why = append(why, fmt.Sprintf("%s: it changed its model: %s", e.Engine, strings.Join(namesOf(e.Models), ", ")))
	}
	return why
}

// AddRates adds the rates of the operator's own brand to a status of a study that is over.
func (s *Study) AddRates(st *Status) error {
	if !st.Over || s.Plan.Brand == "" {
		return nil
	}
	counters, err := s.count(nil)
	if err != nil {
		// Rates cannot be computed again from answers that were removed.
		if errors.Is(err, errPruned) {
			return nil
		}
		return err
	}
	for i, c := range counters {
		d := c.Document()
		if len(d.Cells) == 0 {
			continue
		}
		r := study.Result([]*study.Document{d})
		for _, b := range r.All.Brands {
			if string(b.Slug) == s.Plan.Brand {
				st.Engines[i].MentionRate = b.MentionRate
			}
		}
	}
	return nil
}

// Dollars formats nano-dollars with the digits of a cent, and more where they are not zero.
func Dollars(nano int64) string {
	// Integers, because a float cannot hold a nano-dollar of a large sum.
	text := fmt.Sprintf("%d.%09d", nano/1e9, nano%1e9)
	for strings.HasSuffix(text, "0") && len(text)-strings.IndexByte(text, '.') > 3 {
		text = text[:len(text)-1]
	}
	return text
}

// remove removes a file, and reports whether it was there.
func remove(name string) (bool, error) {
	err := os.Remove(name)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
