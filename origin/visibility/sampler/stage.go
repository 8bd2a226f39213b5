package sampler

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/fieldmark/fieldmark/internal/atomicfile"
	"github.com/fieldmark/fieldmark/origin/visibility/estimate"
	"github.com/fieldmark/fieldmark/origin/visibility/plan"
)

// A study whose interval has a width to reach (Options.Until) asks a random part of its questions, in two stages
// (Stein). The first one, a pilot of estimate.PilotQuestions on the days of the plan, or an earlier study, shows how
// much questions differ, which decides how many are asked. The second one asks the others on as many further days.
// Nothing is looked at in between: a study that stops when its interval is narrow enough stops too early.

// stages decide which questions a study asks on which day.
type stages struct {
	plan  *plan.Plan
	state begun
	order map[string]int // of questions, at random
	size  atomic.Int64   // questions of a study with a width to reach; 0: not known yet
}

// ErrTooFew says that no number of answers to the questions of a set gives the width that is to be reached.
var ErrTooFew = errors.New("the set has too few questions")

// ErrStages says that a plan cannot be asked in two stages.
var ErrStages = errors.New("the plan cannot be asked until a half-width is reached")

// checkStages returns what is wrong with asking a plan in two stages.
func checkStages(p *plan.Plan, until int, ownPilot bool) error {
	switch {
	case until == 0:
		return nil
	case p.Brand == "":
		return fmt.Errorf("%w: it must name the brand whose mention rate is meant", ErrStages)
	case ownPilot && 2*p.Schedule.Days > plan.MaxDays:
		return fmt.Errorf("%w: two stages of %d days are more than %d days", ErrStages, p.Schedule.Days, plan.MaxDays)
	case ownPilot && len(questionsOf(p)) < estimate.PilotQuestions:
		return fmt.Errorf("%w: a pilot has %d questions; the set has %d", ErrStages, estimate.PilotQuestions,
			len(questionsOf(p)))
	}
	return nil
}

// isPilot reports whether the first stage is a part of the study.
func (g *stages) isPilot() bool { return g.state.Until > 0 && g.state.OwnPilot }

// days returns how many days the study has, or may have as long as its size is not known.
func (g *stages) days() int {
	if size := g.size.Load(); g.isPilot() && (size == 0 || size > estimate.PilotQuestions) {
		return 2 * g.plan.Schedule.Days
	}
	return g.plan.Schedule.Days
}

// needsSize reports whether the second stage depends on answers of the first.
func (g *stages) needsSize() bool { return g.isPilot() && g.size.Load() == 0 }

// isAsked reports whether a prompt is asked on a day. A question that names a brand is answered with it, so it counts
// for no rate and is asked only on request.
func (g *stages) isAsked(prompt, day int) bool {
	q := &g.plan.Prompts.Prompts[prompt]
	second := day >= g.plan.Schedule.Days
	if q.Branded {
		return g.state.Branded && !second
	}
	if g.state.Until == 0 {
		return true
	}
	place, size := g.order[questionOf(q)], int(g.size.Load())
	switch {
	case !g.isPilot():
		return place < size
	case second:
		return estimate.PilotQuestions <= place && place < size
	}
	return place < estimate.PilotQuestions
}

// questionOf names the question of a prompt: paraphrases are one.
func questionOf(q *plan.Prompt) string {
	if q.Group != "" {
		return "group " + q.Group
	}
	return "prompt " + q.ID
}

// questionsOf lists the questions of a plan without those that name a brand, sorted.
func questionsOf(p *plan.Plan) (all []string) {
	for i := range p.Prompts.Prompts {
		if q := &p.Prompts.Prompts[i]; !q.Branded {
			all = append(all, questionOf(q))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// orderOf returns the place of each question in the random order in which stages take them.
func orderOf(p *plan.Plan) map[string]int {
	all := questionsOf(p)
	seed := sha256.Sum256([]byte(strings.Join([]string{p.Study, string(p.Hash), "questions"}, "\n")))
	rand.New(rand.NewChaCha8(seed)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	order := map[string]int{}
	for i, q := range all {
		order[q] = i
	}
	return order
}

// fixSize decides from the answers of the first stage how many questions the study has, and stores it: it stays the
// same after every start. If the set has too few, there is no second stage.
func fixSize(s *Study) error {
	counters, err := s.count(nil)
	if err != nil {
		return err
	}
	r, err := reachOf(counters, s.Plan, float64(s.state.Until)/10)
	size := r.Questions
	if err != nil {
		size = estimate.PilotQuestions
	}
	return errors.Join(err, s.setSize(s.path(stateFile), size))
}

// setSize stores the number of questions in the file of the state.
func (g *stages) setSize(file string, size int) error {
	g.state.Questions = size
	text, err := json.Marshal(g.state)
	if err != nil {
		return fmt.Errorf("store the size of the study: %w", err)
	}
	if err := atomicfile.Write(file, append(text, '\n')); err != nil {
		return err
	}
	g.size.Store(int64(size))
	return nil
}
