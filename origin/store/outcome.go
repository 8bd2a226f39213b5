package store

import (
	"context"
	"sync/atomic"
)

// Outcome records whether a write may have been committed. It is safe for
// concurrent use.
type Outcome struct{ committed atomic.Bool }

// MayHaveCommitted reports whether a write under the context of the Outcome was
// committed, or ended without an answer to its COMMIT. False means that the
// database is as it was.
func (o *Outcome) MayHaveCommitted() bool { return o.committed.Load() }

type outcomeKey struct{}

// WithOutcome returns a context under which writes are recorded in o.
func WithOutcome(ctx context.Context, o *Outcome) context.Context {
	return context.WithValue(ctx, outcomeKey{}, o)
}

// recordOutcome records the end of w in the Outcome of ctx, if there is one.
func recordOutcome(ctx context.Context, w *write) {
	o, ok := ctx.Value(outcomeKey{}).(*Outcome)
	if ok && w.wrote && (w.succeeded() || w.uncertain) {
		o.committed.Store(true)
	}
}
