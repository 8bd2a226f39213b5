package wasm

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/wasm/scoring"
)

// Scorer scores brands by one module at a time, which it compiles when it is needed. It is
// for background work: one brand is scored at a time. The zero value is ready.
type Scorer struct {
	mu     sync.Mutex
	engine *Engine // with module alone; nil before the first score
	module *Module
}

// Score scores a brand by the module with a digest as of now; load returns the module if it
// is another one than before. Trends are of the past revisions in state. A brand without facts
// is pending. Errors of the module are a *Fault.
// The module stays compiled, because background work scores thousands of brands by the same one.
func (s *Scorer) Score(ctx context.Context, digest fieldmark.Digest, load func(context.Context) ([]byte, error),
	state *fieldmark.BrandState, now time.Time) (fieldmark.Score, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state.Facts == nil {
		return fieldmark.NewScore(state.Brand, fieldmark.PendingAssessment()), nil
	}
	if s.module == nil || s.module.Ref().Digest != digest {
		if err := s.load(ctx, load); err != nil {
			return fieldmark.Score{}, fmt.Errorf("load module %s: %w", digest, err)
		}
	}
	a, err := s.module.Evaluate(ctx, state.Facts, now)
	if err != nil {
		return fieldmark.Score{}, err
	}
	a.FactsDigest = state.FactsDigest
	score := fieldmark.NewScore(state.Brand, a)
	scoring.SetVisibility(&score, state, now)
	return score, s.module.SetTrends(ctx, &score, state, now)
}

// Ages are the ages of facts at which a score changes, in ascending order.
func (s *Scorer) Ages() []time.Duration {
	ages := scoring.AgeLimits()
	return ages[:]
}

// load replaces the module. An engine ends with everything that it compiled.
// The old one is closed after the new one was loaded: an upload that does not load changes nothing.
func (s *Scorer) load(ctx context.Context, load func(context.Context) ([]byte, error)) error {
	body, err := load(ctx)
	if err != nil {
		return err
	}
	engine, err := New(Config{Instances: 1, WASI: true})
	if err != nil {
		return err
	}
	module, err := engine.Load(ctx, body)
	if err != nil {
		_ = engine.Close(ctx) // the error of Load has the reason
		return err
	}
	if s.engine != nil {
		err = s.engine.Close(ctx)
	}
	s.engine, s.module = engine, module
	return err
}

// Close ends the module.
func (s *Scorer) Close(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.engine == nil {
		return nil
	}
	engine := s.engine
	s.engine, s.module = nil, nil
	return engine.Close(ctx)
}
