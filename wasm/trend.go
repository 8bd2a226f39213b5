package wasm

import (
	"context"
	"errors"
	"time"

	"github.com/fieldmark/fieldmark"
)

// EvaluatePast is Evaluate for the score alone: without a range. Replicates are most of the cost of an assessment.
func (m *Module) EvaluatePast(ctx context.Context, facts *fieldmark.Facts, at time.Time) (fieldmark.Assessment, error) {
	bare := *facts
	bare.Replicates = nil
	return m.Evaluate(ctx, &bare, at)
}

// SetTrends scores the earlier facts of a state and sets how far the score has moved since. A module that cannot
// score the past can still score the present: its faults leave trends out.
func (m *Module) SetTrends(ctx context.Context, score *fieldmark.Score, state *fieldmark.BrandState,
	now time.Time) error {
	past := make([]*fieldmark.Milli, len(state.Past))
	for i := range state.Past {
		r := &state.Past[i]
		a, err := m.EvaluatePast(ctx, r.Facts, r.LastAt.Std())
		if err == nil {
			past[i] = a.Score
		} else if _, fault := errors.AsType[*Fault](err); !fault {
			return err
		}
	}
	if n := len(past); n > 0 && past[n-1] != nil {
		score.Previous = &fieldmark.PastScore{Score: *past[n-1], AsOf: state.Past[n-1].LastAt}
	}
	if score.Score == nil {
		return nil
	}
	trends := [...]**fieldmark.Milli{&score.Trend.D7, &score.Trend.D30, &score.Trend.D90}
	for i, at := range fieldmark.TrendTimes(now) {
		var then *fieldmark.Milli
		if state.FactsSince != nil && !state.FactsSince.Std().After(at) {
			then = score.Score
		} else {
			for j := range state.Past {
				if !state.Past[j].FirstAt.Std().After(at) {
					then = past[j]
				}
			}
		}
		if then != nil {
			moved := *score.Score - *then
			*trends[i] = &moved
		}
	}
	return nil
}
