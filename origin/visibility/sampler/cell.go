package sampler

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark/origin/visibility/plan"
)

// Cell is one question to one engine: a run of a prompt on a day.
type Cell struct {
	Engine, Prompt int // indexes in the plan
	Day, Run       int // from 0

	// Due is when it is asked at the earliest.
	Due time.Time
}

// id names the cell in the journal, and its answer among the files of answers: 2026-11-24/openai.q1.0.
func (c Cell) id(p *plan.Plan) string {
	return fmt.Sprintf("%s/%s.%s.%d", dayName(p, c.Day), p.Engines[c.Engine].ID, p.Prompts.Prompts[c.Prompt].ID, c.Run)
}

// dayName is the date in the zone of the plan, which people of that place would call the day.
func dayName(p *plan.Plan, day int) string { return p.Schedule.Date(day) }

// cellsOf returns the cells of a day in the order in which they are asked. It is random, so that what changes
// during a day meets all engines and questions alike, and the same after every start of the process. Calls are
// spread evenly over the window of the day.
func (s *Study) cellsOf(day int) []Cell {
	p := s.Plan
	var cells []Cell
	for e := range p.Engines {
		for q := range p.Prompts.Prompts {
			if !s.isAsked(q, day) {
				continue
			}
			for run := range p.Schedule.Runs {
				cells = append(cells, Cell{Engine: e, Prompt: q, Day: day, Run: run})
			}
		}
	}
	// The day is part of the seed, so that no question has the same hour every day.
	seed := sha256.Sum256([]byte(strings.Join([]string{p.Study, string(p.Hash), dayName(p, day)}, "\n")))
	rand.New(rand.NewChaCha8(seed)).Shuffle(len(cells), func(i, j int) { cells[i], cells[j] = cells[j], cells[i] })
	// Clocks can change within the window.
	start := p.Schedule.At(day, p.Schedule.Start)
	width := p.Schedule.At(day, p.Schedule.End).Sub(start)
	for i := range cells {
		// Divided first: the width times the number of a cell can exceed 64 bits of nanoseconds.
		cells[i].Due = start.Add(width / time.Duration(len(cells)) * time.Duration(i))
	}
	return cells
}
