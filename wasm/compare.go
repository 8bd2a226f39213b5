package wasm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/wasm/abi"
)

const (
	maxMovers  = 20 // moves reported; people do not read more
	maxReasons = 5  // reasons per brand
)

// Compare scores every brand that each passes to its argument with two modules, at
// the time now, and returns what activating the second would change. Brands without
// facts are ignored. An error of each ends the comparison. A fault of the old
// module is an error too; faults of the new one are counted.
// It has an engine apart from that of the edges, so that a module under examination never takes an
// instance away from requests. It reads a brand at a time, so its memory does not grow with them,
// but for two integers for each.
func Compare(ctx context.Context, from, to []byte, now time.Time,
	each func(func(fieldmark.BrandState) error) error) (_ fieldmark.ModuleComparison, err error) {
	engine, err := New(Config{Instances: 1, WASI: true})
	if err != nil {
		return fieldmark.ModuleComparison{}, err
	}
	defer func() { err = errors.Join(err, engine.Close(context.WithoutCancel(ctx))) }()
	c := comparison{now: now}
	if c.from, err = engine.Load(ctx, from); err == nil {
		c.to, err = engine.Load(ctx, to)
	}
	if err != nil {
		return fieldmark.ModuleComparison{}, err
	}
	if err := each(func(state fieldmark.BrandState) error { return c.add(ctx, state) }); err != nil {
		return fieldmark.ModuleComparison{}, err
	}
	return c.result(), nil
}

// ScoreFunc scores facts by one of several modules as of a time. It returns nil if they have no score by it,
// also because the module fails on them.
type ScoreFunc func(ctx context.Context, module int, facts *fieldmark.Facts, at time.Time) (*fieldmark.Milli, error)

// With loads modules, and calls fn with a function that scores by them until fn returns.
func With(ctx context.Context, modules [][]byte, fn func(ScoreFunc) error) (err error) {
	engine, err := New(Config{Instances: 1, WASI: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close(context.WithoutCancel(ctx))) }()
	loaded := make([]*Module, len(modules))
	for i := range modules {
		if loaded[i], err = engine.Load(ctx, modules[i]); err != nil {
			return err
		}
	}
	return fn(func(ctx context.Context, module int, facts *fieldmark.Facts,
		at time.Time) (*fieldmark.Milli, error) {
		a, err := loaded[module].Assess(ctx, facts, at)
		if _, fault := errors.AsType[*Fault](err); fault {
			return nil, nil
		}
		return a.Score, err
	})
}

// comparison is the state of one Compare.
type comparison struct {
	from, to *Module
	now      time.Time
	out      fieldmark.ModuleComparison
	before   []int64 // scores of the brands that both modules score, in the same order
	after    []int64
	moves    fieldmark.Milli // sum of their absolute moves
	movers   []mover         // the largest first
}

type mover struct {
	size fieldmark.Milli
	move fieldmark.ModuleMove
}

// lostScore is the size of the move of a brand that gains or loses its score:
// larger than any other.
const lostScore = 101 * fieldmark.MilliOne

// add compares the scores of one brand.
func (c *comparison) add(ctx context.Context, state fieldmark.BrandState) error {
	if state.Facts == nil {
		return nil
	}
	old, err := c.from.Assess(ctx, state.Facts, c.now)
	if err != nil {
		return fmt.Errorf("score %s: %w", state.Brand.Slug, err)
	}
	c.out.Brands++
	next, err := c.to.Assess(ctx, state.Facts, c.now)
	if _, fault := errors.AsType[*Fault](err); fault {
		if c.out.Faults++; c.out.Faults == 1 {
			c.out.FirstFault = string(state.Brand.Slug) + ": " + err.Error()
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("score %s: %w", state.Brand.Slug, err)
	}
	if err := c.checkDirections(ctx, &state); err != nil {
		return err
	}
	if old.Grade != next.Grade {
		c.out.GradesChanged++
	}
	var size fieldmark.Milli
	switch {
	case old.Score != nil && next.Score != nil:
		c.before, c.after = append(c.before, int64(*old.Score)), append(c.after, int64(*next.Score))
		size = max(*next.Score-*old.Score, *old.Score-*next.Score)
		c.moves += size
		c.out.LargestMove = max(c.out.LargestMove, size)
	case old.Score != nil || next.Score != nil:
		size = lostScore
	}
	if size == 0 {
		return nil
	}
	c.out.Moved++
	c.insertMover(mover{size: size, move: fieldmark.ModuleMove{
		Slug: state.Brand.Slug, From: old.Score, To: next.Score, Grades: [2]fieldmark.Grade{old.Grade, next.Grade},
	}}, &old, &next)
	return nil
}

// directionStep is how far a fact is moved to test its direction: one unit (a word,
// a link, a yes). A module can be built to score one exact value in any way; a step
// in both directions avoids that value.
const directionStep = 1000

// checkDirections moves each fact of a brand one step up and one step down, and
// counts the brand if the score moves against the direction that the new module
// declares.
func (c *comparison) checkDirections(ctx context.Context, state *fieldmark.BrandState) error {
	b, err := c.to.bind(state.Facts)
	if err != nil {
		return nil // the module could not score it either, which was counted
	}
	before, ok, err := c.shown(ctx, &b)
	if err != nil || !ok {
		return err
	}
	for i := range c.to.manifest.Inputs {
		in := &c.to.manifest.Inputs[i]
		if in.Direction == abi.None || b.states[i] != abi.StateMeasured {
			continue
		}
		own := b.values[i]
		for _, step := range [2]int64{directionStep, -directionStep} {
			b.values[i] = own + step
			after, ok, err := c.shown(ctx, &b)
			if err != nil {
				return err
			}
			grew := after - before
			if step < 0 {
				grew = -grew
			}
			if ok && (in.Direction == abi.Up && grew < 0 || in.Direction == abi.Down && grew > 0) {
				if c.out.DirectionsBroken++; c.out.DirectionsBroken == 1 {
					c.out.FirstDirection = fmt.Sprintf("%s: %s is declared %s, but from %s to %s the score goes "+
						"from %s to %s", state.Brand.Slug, in.Name,
						in.Direction, fieldmark.Milli(own), fieldmark.Milli(own+step), scoreText(before),
						scoreText(after))
				}
				return nil
			}
		}
		b.values[i] = own
	}
	return nil
}

func scoreText(shown int64) string {
	if shown == int64(abi.NoScore) {
		return "none"
	}
	return fieldmark.Milli(shown).String()
}

// shown returns the score of the new module for bound facts, in thousandths with
// gates applied. A fault is not an error here, because no brand has these values.
func (c *comparison) shown(ctx context.Context, b *binding) (score int64, ok bool, err error) {
	var result abi.Result
	if err := c.to.Score(ctx, b.values, b.states, &result); err != nil {
		if _, fault := errors.AsType[*Fault](err); fault {
			return 0, false, nil
		}
		return 0, false, err
	}
	return c.to.manifest.Shown(&result), true, nil
}

// insertMover keeps the largest moves; among equal ones the first. Reasons are
// computed only for those kept.
// An insertion into twenty elements costs less than sorting all moves at the end.
func (c *comparison) insertMover(m mover, old, next *fieldmark.Assessment) {
	at, _ := slices.BinarySearchFunc(c.movers, m, func(a, b mover) int {
		if a.size >= b.size {
			return -1
		}
		return 1
	})
	if at == maxMovers {
		return
	}
	m.move.Reasons = reasons(old, next)
	c.movers = slices.Insert(c.movers, at, m)
	c.movers = c.movers[:min(len(c.movers), maxMovers)]
}

// reasons returns the signals and gates that differ, the largest difference first.
// A gate counts as a limit of 100 where it does not apply, so that it is compared like points.
func reasons(old, next *fieldmark.Assessment) []fieldmark.ModuleReason {
	all := []fieldmark.ModuleReason{}
	index := map[string]int{}
	note := func(id, label string, missing fieldmark.Milli) *fieldmark.ModuleReason {
		at, ok := index[id]
		if !ok {
			at = len(all)
			index[id] = at
			all = append(all, fieldmark.ModuleReason{ID: id, Label: label, From: missing, To: missing})
		}
		return &all[at]
	}
	for side, a := range []*fieldmark.Assessment{old, next} {
		set := func(r *fieldmark.ModuleReason, v fieldmark.Milli) {
			if side == 0 {
				r.From = v
			} else {
				r.To = v
			}
		}
		for i := range a.Components {
			for _, s := range a.Components[i].Signals {
				set(note(s.ID, s.Label, 0), s.Points)
			}
		}
		for _, g := range a.Gates {
			set(note("gate:"+g.ID, g.Reason, 100*fieldmark.MilliOne), fieldmark.Milli(g.Limit)*fieldmark.MilliOne)
		}
	}
	all = slices.DeleteFunc(all, func(r fieldmark.ModuleReason) bool { return r.From == r.To })
	slices.SortStableFunc(all, func(a, b fieldmark.ModuleReason) int {
		return cmp.Compare(max(b.To-b.From, b.From-b.To), max(a.To-a.From, a.From-a.To))
	})
	return all[:min(len(all), maxReasons)]
}

// result returns the summary of all compared brands.
// The mean is rounded half up in integers, so that every node prints the same.
func (c *comparison) result() fieldmark.ModuleComparison {
	out := c.out
	out.Movers = []fieldmark.ModuleMove{}
	for _, m := range c.movers {
		out.Movers = append(out.Movers, m.move)
	}
	out.RankCorrelation = fieldmark.MilliOne
	if out.Brands > 0 {
		out.GradeShare = fieldmark.Milli(out.GradesChanged) * fieldmark.MilliOne / fieldmark.Milli(out.Brands)
	}
	if n := len(c.before); n > 0 {
		out.MeanMove = (2*c.moves + fieldmark.Milli(n)) / (2 * fieldmark.Milli(n))
		out.RankCorrelation = fieldmark.Milli(math.Round(1000 * spearman(c.before, c.after)))
	}
	return out
}

// spearman returns the rank correlation of two lists of scores; equal scores share
// the mean of their ranks. It is 1 if all scores of a list are equal.
// It is Pearson's correlation of the ranks, which is right with ties as well. The usual formula
// with squared differences of ranks is not.
func spearman(a, b []int64) float64 {
	ra, rb := ranks(a), ranks(b)
	mean := float64(len(a)+1) / 2
	var both, ofA, ofB float64
	for i := range ra {
		da, db := ra[i]-mean, rb[i]-mean
		both += da * db
		ofA += da * da
		ofB += db * db
	}
	if ofA == 0 || ofB == 0 {
		return 1
	}
	return both / math.Sqrt(ofA*ofB)
}

// ranks returns the rank of each score, the highest first; equal scores share their
// mean rank.
func ranks(scores []int64) []float64 {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(scores[j], scores[i]) })
	out := make([]float64, len(scores))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && scores[order[j]] == scores[order[i]] {
			j++
		}
		for _, at := range order[i:j] {
			out[at] = float64(i+j+1) / 2
		}
		i = j
	}
	return out
}
