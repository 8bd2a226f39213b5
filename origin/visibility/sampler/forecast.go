package sampler

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/visibility/engine"
	"github.com/fieldmark/fieldmark/origin/visibility/estimate"
	"github.com/fieldmark/fieldmark/origin/visibility/plan"
	"github.com/fieldmark/fieldmark/origin/visibility/study"
)

// What a call is assumed to use, for the likely cost: a question of a sentence, an answer of half a page, one search
// whose results are read once.
const (
	assumedInput    = 100 // tokens
	assumedOutput   = 700
	assumedSearch   = 8_000 // tokens that are read of the results of a search
	assumedSearches = 1
)

// Forecast is what a plan will cost and show, before anything is sent.
type Forecast struct {
	Study     string           `json:"study"`
	PlanHash  fieldmark.Digest `json:"planHash"`
	Prompts   int              `json:"prompts"`
	Questions int              `json:"questions"` // without paraphrases and branded prompts
	Branded   []string         `json:"branded"`   // ids of prompts that name a brand of the panel
	Days      int              `json:"days"`
	Runs      int              `json:"runs"`
	Engines   []EngineForecast `json:"engines"`
	Calls     int              `json:"calls"`
	Likely    int64            `json:"likelyNano"` // nano-dollars
	Worst     int64            `json:"worstNano"`
	Budget    int64            `json:"budgetNano"`
	Widths    []Width          `json:"halfWidths"`
	Missing   []string         `json:"missing"`         // for a ranking
	Reach     *Reach           `json:"reach,omitempty"` // only with a pilot
	// Notes describe what the sums assume.
	Notes []string `json:"notes"`
}

// EngineForecast is what one engine will cost.
type EngineForecast struct {
	Engine  string `json:"engine"`
	Calls   int    `json:"calls"`
	Input   int    `json:"inputTokens"` // assumed, of one call
	Output  int    `json:"outputTokens"`
	Likely  int64  `json:"likelyNano"`
	Reserve int64  `json:"reserveNano"` // of one call
	Worst   int64  `json:"worstNano"`
}

// Width is the half-width of the 95 % interval of a rate in percent points, by the correlation of the answers to one
// question.
type Width struct {
	Rate int     `json:"ratePercent"`
	At03 float64 `json:"correlation03"`
	At05 float64 `json:"correlation05"`
	At07 float64 `json:"correlation07"`
}

// ForecastOf returns the forecast of a plan. It needs no key.
// A forecast sends nothing, so it can be made before there is a contract with a vendor.
func ForecastOf(p *plan.Plan, branded bool) Forecast {
	f := Forecast{Study: p.Study, PlanHash: p.Hash, Days: p.Schedule.Days, Runs: p.Schedule.Runs, Budget: p.Budget,
		Branded: []string{}, Missing: []string{}}
	questions := map[string]bool{}
	for _, q := range p.Prompts.Prompts {
		if q.Branded {
			f.Branded = append(f.Branded, q.ID)
		}
		if q.Branded && !branded {
			continue
		}
		f.Prompts++
		if !q.Branded {
			// Paraphrases are one question; a prompt without a group is one by its id.
			questions[questionOf(&q)] = true
		}
	}
	f.Questions = len(questions)
	for i := range p.Engines {
		e := forecastEngine(&p.Engines[i], f.Prompts*f.Days*f.Runs)
		f.Engines = append(f.Engines, e)
		f.Calls, f.Likely, f.Worst = f.Calls+e.Calls, add(f.Likely, e.Likely), add(f.Worst, e.Worst)
	}
	// A rate and its complement have the same width, so rates above 50 % need no row.
	for _, rate := range []int{10, 30, 50} {
		w := func(correlation float64) float64 { return halfWidth(f.Questions, f.Days*f.Runs, rate, correlation) }
		f.Widths = append(f.Widths, Width{Rate: rate, At03: w(0.3), At05: w(0.5), At07: w(0.7)})
	}
	f.Missing = append(f.Missing, f.missing(p)...)
	f.Notes = []string{
		fmt.Sprintf("likely: %d tokens of question, %d of answer, %d search of %d tokens a call", assumedInput,
			assumedOutput, assumedSearches, assumedSearch),
		"worst: every call uses its whole reserve; a call starts only if its reserve is left, so the last reserve " +
			"is never spent",
		"the limit holds for the prices of the plan: compare the sum of status with the bill"}
	return f
}

// forecastEngine assumes the same for every question, because their answers are not known.
func forecastEngine(e *plan.Engine, calls int) EngineForecast {
	f := EngineForecast{Engine: e.ID, Calls: calls, Input: assumedInput, Output: min(assumedOutput, e.MaxOutputTokens),
		Reserve: Reserve(e)}
	a := engine.Answer{}
	if e.Search != engine.SearchOff {
		f.Input += assumedSearches * assumedSearch
		a.Searches = assumedSearches
	}
	a.Usage = engine.Usage{Input: int64(f.Input), Output: int64(f.Output)}
	f.Likely, f.Worst = times(calls, costOf(e, &a)), times(calls, f.Reserve)
	return f
}

// times and add stay at the largest number, as the worst cost of a study of a million calls can exceed it.
func times(n int, cost int64) int64 {
	if cost > 0 && int64(n) > math.MaxInt64/cost {
		return math.MaxInt64
	}
	return int64(n) * cost
}

func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Reach is how many questions are needed for a half-width of the mention rate of the operator's own brand.
type Reach struct {
	Brand     string  `json:"brand"`
	HalfWidth float64 `json:"halfWidthPoints"` // wanted
	Questions int     `json:"questions"`       // that it needs
	Has       int     `json:"has"`             // of the plan
	Best      float64 `json:"bestPoints"`      // what these can give, however often they are asked
}

// ErrNoPilot means that a study cannot be the pilot of a plan.
var ErrNoPilot = errors.New("it cannot be the pilot")

// ReachOf returns how many questions a plan needs for a half-width in points, by an earlier study as its pilot: the
// first of two stages. The variance between questions is that of the engine on which the brand varies most. The
// second stage has that many questions and no further look, so its interval holds at its level. The error is ErrTooFew
// if the plan has fewer.
func ReachOf(pilot *Study, p *plan.Plan, points float64, now time.Time) (r Reach, err error) {
	switch {
	case p.Brand == "" || p.Brand != pilot.Plan.Brand:
		return r, fmt.Errorf("%w: both plans must name the same brand", ErrNoPilot)
	case p.Prompts.ID != pilot.Plan.Prompts.ID:
		return r, fmt.Errorf("%w: it asked questions of the set %s, not %s", ErrNoPilot, pilot.Plan.Prompts.ID,
			p.Prompts.ID)
	case !pilot.IsOver(now):
		return r, fmt.Errorf("%w: %w", ErrNoPilot, ErrNotOver)
	}
	counters, err := pilot.count(nil)
	if err != nil {
		return r, err
	}
	return reachOf(counters, p, points)
}

// reachOf computes the reach from the counts of a first stage.
func reachOf(counters []*Counter, p *plan.Plan, points float64) (Reach, error) {
	r := Reach{Brand: p.Brand, HalfWidth: points, Has: len(questionsOf(p))}
	for _, c := range counters {
		values := study.MentionValues(c.Document(), p.Brand)
		// As of planned answers, one in ten may be missing.
		if 10*len(values) < 9*estimate.PilotQuestions {
			continue
		}
		r.Questions = max(r.Questions, estimate.QuestionsFor(values, int64(math.Round(points*10_000))))
		r.Best = max(r.Best, math.Round(float64(estimate.HalfWidthOf(values, max(r.Has, 1)))/1_000)/10)
	}
	if r.Questions == 0 {
		return r, fmt.Errorf("%w: no engine answered %d of its questions", ErrNoPilot, estimate.PilotQuestions)
	}
	if r.Questions > r.Has {
		return r, fmt.Errorf("%w: ±%.1f points is the best that these %d questions can give at any price; "+
			"±%.1f needs about %d", ErrTooFew, r.Best, r.Has, r.HalfWidth, r.Questions)
	}
	return r, nil
}

// missing returns what a plan lacks so that its result can be ranked.
func (f *Forecast) missing(p *plan.Plan) (all []string) {
	if f.Questions < fieldmark.MinVisibilityPrompts {
		all = append(all, fmt.Sprintf("%d questions without a brand name; it has %d", fieldmark.MinVisibilityPrompts,
			f.Questions))
	}
	if f.Days < estimate.MinDays {
		all = append(all, fmt.Sprintf("%d days; it has %d", estimate.MinDays, f.Days))
	}
	if f.Days*f.Runs < fieldmark.MinVisibilityRuns {
		all = append(all, fmt.Sprintf("%d answers to each question; it has %d", fieldmark.MinVisibilityRuns,
			f.Days*f.Runs))
	}
	if len(p.Panel) < fieldmark.MinVisibilityBrands {
		all = append(all, fmt.Sprintf("%d brands for a leaderboard; the panel has %d", fieldmark.MinVisibilityBrands,
			len(p.Panel)))
	}
	// Of the likely cost: the worst one is far above what studies use.
	if f.Likely > f.Budget {
		all = append(all, fmt.Sprintf("a budget of about $%s; it has $%s", Dollars(f.Likely), Dollars(f.Budget)))
	}
	for i := range p.Panel {
		// Without a review, its matches may be the word and not the brand.
		if p.Panel[i].IsWord() {
			all = append(all, "a review of "+p.Panel[i].Slug+", whose name is a common word")
		}
	}
	return all
}

// halfWidth returns the half-width in percent points that questions × answers give at a rate, where the answers to
// one question have a correlation.
func halfWidth(questions, answers, percent int, correlation float64) float64 {
	// One question has no spread, so nothing is known.
	if questions < 2 {
		return 100
	}
	m, n, p := float64(questions), float64(answers), float64(percent)/100
	// The design effect of clusters (Kish): correlated answers count for fewer independent ones.
	effective := m * n / (1 + (n-1)*correlation)
	if m*min(p, 1-p) < estimate.FewQuestions/2 { // about so few questions will vary
		effective = min(effective, m)
	}
	c := float64(estimate.T975(questions-1)) / million
	// The half-width of Wilson's interval, with the quantile of Student's t for few questions.
	return math.Round(1000*c*math.Sqrt(p*(1-p)*effective+c*c/4)/(effective+c*c)) / 10
}

// namesOf returns keys in a fixed order, for texts.
func namesOf(m map[string]int) []string { return slices.Sorted(maps.Keys(m)) }

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}
