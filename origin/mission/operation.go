package mission

import (
	"context"
	"errors"
	"net/http"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/idempotency"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Operation is a change of missions that runs in one transaction. It changes
// nothing but the database, so the store may roll it back and run it again.
//
// Operations are values so that an HTTP handler can decide what to do outside of the
// transaction: other writers wait for the operation and the rendering of its response only.
type Operation struct {
	run     func(context.Context, *txn) ([]Result, error)
	creates []Request
}

// Result is what an operation did to one mission. Operations other than CreateAll have exactly
// one.
type Result struct {
	Mission fieldmark.Mission
	Note    fieldmark.Note // of AddNote
	Created bool
	Err     *fieldmark.Error // why a mission of CreateAll was refused; then the others are zero
}

// Render returns the response to an operation. It must be a pure function of the results: a
// response that is saved is rendered inside the transaction, which may run twice, and a
// repeated request gets the bytes that the first rendering produced.
type Render func([]Result) (idempotency.Response, error)

// Execute runs an operation and renders its response. If the request has a key, the
// response is saved in the transaction of the operation; if one was saved already,
// Execute changes nothing and returns that.
//
// A dry run (see WithDryRun) neither reads nor saves a response.
//
// A refusal by the operation is returned as an error and is not saved here: the transaction
// that would save it is rolled back. The caller saves it in another transaction (see
// idempotency.Service.SaveRefusal).
func (s *Service) Execute(ctx context.Context, k idempotency.Key, op Operation, render Render) (r idempotency.Response,
	err error) {
	if k.Name == "" || store.IsDryRun(ctx) {
		var results []Result
		err := s.writeAhead(ctx, idempotency.Key{}, op.creates, func(ctx context.Context, t *txn) (err error) {
			if results, err = op.run(ctx, t); err != nil {
				return err
			}
			return t.decide(ctx, results)
		})
		if err != nil {
			return r, err
		}
		decided(ctx)
		return render(results) // after the transaction, which others wait for
	}
	err = s.writeAhead(ctx, k, op.creates, func(ctx context.Context, t *txn) error {
		if r, err = s.responses.Load(ctx, t.tx, k); err != nil || r.Replayed {
			return err
		}
		results, err := op.run(ctx, t)
		if err != nil {
			return err
		}
		if r, err = render(results); err != nil {
			return err
		}
		if err := t.decide(ctx, results); err != nil {
			return err
		}
		return s.responses.Save(ctx, t.tx, k, r)
	})
	if err == nil && !r.Replayed {
		decided(ctx)
	}
	return r, err
}

// Create creates a mission as Service.Create does. The result has Created set if the mission is
// new.
func Create(in Request) Operation {
	return Operation{creates: []Request{in}, run: func(ctx context.Context, t *txn) ([]Result, error) {
		m, created, err := t.create(ctx, in)
		return []Result{{Mission: m, Created: created}}, err
	}}
}

// CreateAll creates several missions. An invalid one is refused in its Result and
// does not affect the others; an internal error creates none.
func CreateAll(in []Request) Operation {
	return Operation{creates: in, run: func(ctx context.Context, t *txn) ([]Result, error) {
		results := make([]Result, len(in))
		for i := range in {
			// A refusal leaves the transaction usable: it comes from reading rows, not from a
			// statement that failed.
			m, created, err := t.create(ctx, in[i])
			if err == nil {
				results[i] = Result{Mission: m, Created: created}
				continue
			}
			refusal, ok := errors.AsType[*fieldmark.Error](err)
			if !ok || created || refusal.Code.Status() >= http.StatusInternalServerError {
				return nil, err // roll back, also a mission that was created in part
			}
			results[i].Err = refusal
		}
		return results, nil
	}}
}

// Move makes one transition of a mission of an account; account "" means any. An invalid
// transition is CodeInvalidTransition with the statuses that are allowed; a version other than
// to.If is CodeVersionMismatch.
func Move(account, id string, to Transition) Operation {
	return one(func(ctx context.Context, t *txn) (fieldmark.Mission, error) { return t.moveTo(ctx, account, id, to) })
}

// Cancel cancels a mission of an account. A canceled mission stays as it is, so that
// the request may be repeated.
func Cancel(account, id string, reason *fieldmark.Reason, at Versions) Operation {
	return one(func(ctx context.Context, t *txn) (fieldmark.Mission, error) {
		return t.cancel(ctx, account, id, reason, at)
	})
}

// Patch applies a merge patch to a mission of an account. A patch that changes
// nothing creates no version and no event.
func Patch(account, id string, patch []byte, at Versions) Operation {
	return one(func(ctx context.Context, t *txn) (fieldmark.Mission, error) {
		return t.patch(ctx, account, id, patch, at)
	})
}

// Plan sets who visits a mission of an account and when, without a transition. A field of plan
// that is nil is removed from the mission. A plan that changes nothing creates no version and
// no event.
func Plan(account, id string, plan fieldmark.MissionPlan, at Versions) Operation {
	return one(func(ctx context.Context, t *txn) (fieldmark.Mission, error) {
		return t.plan(ctx, account, id, plan, at)
	})
}

// Apply runs an operation on one mission without an idempotency key.
func (s *Service) Apply(ctx context.Context, op Operation) (Result, error) {
	var result Result
	_, err := s.Execute(ctx, idempotency.Key{}, op, func(results []Result) (idempotency.Response, error) {
		result = results[0]
		return idempotency.Response{}, nil
	})
	return result, err
}

// one returns an operation on one mission.
func one(change func(context.Context, *txn) (fieldmark.Mission, error)) Operation {
	return Operation{run: func(ctx context.Context, t *txn) ([]Result, error) {
		m, err := change(ctx, t)
		return []Result{{Mission: m}}, err
	}}
}
