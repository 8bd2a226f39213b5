package sampler

import (
	"errors"

	"github.com/fieldmark/fieldmark/origin/visibility/engine"
	"github.com/fieldmark/fieldmark/origin/visibility/plan"
)

// errBudget means that the next call might exceed the budget.
var errBudget = errors.New("the budget is reached")

// million is the unit of prices of tokens.
const million = 1_000_000

// tokens returns the price of n tokens, rounded up. With the limits of a plan it stays within int64.
func tokens(n, price int64) int64 {
	return n/million*price + (n%million*price+million-1)/million
}

// Reserve returns the most that a call can cost: each round of searching reads the whole context again, and is
// billed again.
func Reserve(e *plan.Engine) int64 {
	if e.Prices.Free {
		return 0
	}
	searches := int64(e.MaxSearches)
	if e.Search == engine.SearchOff {
		searches = 0
	}
	return (searches+1)*tokens(int64(e.Prices.Context), e.Prices.Input) +
		tokens(int64(e.MaxOutputTokens), e.Prices.Output) + searches*e.Prices.Search
}

// costOf returns what an answer cost: what the engine reports, else its usage at the prices of the plan.
func costOf(e *plan.Engine, a *engine.Answer) int64 {
	switch {
	case e.Prices.Free:
		return 0
	// What the vendor reports is what it bills; prices of the plan may be old.
	case a.Cost != nil:
		return *a.Cost
	}
	return tokens(a.Usage.Input, e.Prices.Input) + tokens(a.Usage.Output, e.Prices.Output) +
		int64(a.Searches)*e.Prices.Search
}

// reserve takes the reserve of a call from the budget, or returns errBudget.
func (s *Study) reserve(e *plan.Engine) (int64, error) {
	n := Reserve(e)
	s.mu.Lock()
	defer s.mu.Unlock()
	// Checked before a call and with its most expensive outcome, so the sum of the bills stays within the budget.
	if s.spentLocked()+n > s.Plan.Budget {
		return 0, errBudget
	}
	// Until the entry is on disk the reserve is only in memory; concurrent calls see it already.
	s.held[e.ID] += n
	return n, nil
}

// release returns the reserve of a call that was not sent.
// release is called only before a call is sent: what was sent may be billed.
func (s *Study) release(e *plan.Engine, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[e.ID] -= n
}
