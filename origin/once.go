package origin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Act is a Service inside a transaction: what it does is there with everything
// else of the transaction, or not at all.
type Act struct {
	s  *Service
	tx *store.Tx
}

// act runs fn in a transaction.
func (s *Service) act(ctx context.Context, fn func(context.Context, *Act) error) error {
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return fn(ctx, &Act{s, tx}) })
}

// actForeseen is act of a function that may be run again (see
// store.WriteForeseen), and that may open the missions of intakes.
func (s *Service) actForeseen(ctx context.Context, once Once, opens []Intake, fn func(context.Context, *Act) error) error {
	var ahead store.Prefetch
	if once.Key != "" {
		ahead.Responses = []store.ResponseKey{{Account: once.Account, Key: once.Key}}
	}
	for i := range opens {
		if m := &opens[i].row; m.Fingerprint != "" {
			ahead.Missions = append(ahead.Missions, store.MissionKey{Account: m.Account, Source: m.Source, ExternalID: m.ExternalID})
		}
	}
	return s.store.WriteWithPrefetch(ctx, ahead, func(ctx context.Context, tx *store.Tx) error { return fn(ctx, &Act{s, tx}) })
}

// Bounds of remembering answers.
const (
	// OnceFor is how long a request may be sent again under its key.
	OnceFor = 24 * time.Hour
	// inFlightPatience is how long a repeat waits for the answer to the first: as
	// long as that usually takes on a busy day, so that most repeats get it.
	inFlightPatience = time.Second
	inFlightRetry    = time.Second // what a repeat is told to wait after that
)

// Once names a request that has effects and may be sent again.
type Once struct {
	Account string
	Key     string           // the caller's; empty: the request has no name and is simply done
	Request fieldmark.Digest // of its method, address and body
}

// Answer is what a request is answered with.
type Answer struct {
	Status  int
	Fields  map[string]string // of the header; those that tell of the effect
	Body    []byte
	Mission string // the id of the one it is about, if it is about one

	Replayed bool // it was given before
}

// Begin is the first step of answering a request under a key. It returns the
// answer that was given before, if there is one; another request under the same
// key is CodeIdempotencyReused, and one that comes while the first is being
// answered waits a little and is then CodeIdempotencyInFlight. Until end is
// called, this request is the one being answered.
func (s *Service) Begin(ctx context.Context, once Once) (answer Answer, end func(), err error) {
	end, err = s.inFlight.enter(ctx, once.Account+" "+once.Key)
	if err != nil {
		return Answer{}, nil, err
	}
	row, err := s.store.SavedResponse(ctx, once.Account, once.Key, time.Now().Add(-OnceFor))
	if err == nil {
		answer, err = s.replayed(once, row)
	} else if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	if err != nil {
		end()
		return Answer{}, nil, err
	}
	return answer, end, nil
}

// Do gives a request its effects. Under a key it has them once: the answer is
// kept with them, in the same transaction, for OnceFor. What act may open it says
// beforehand, for the sake of speed. It may be run a second time, all that the
// first did to the record undone; so it must have no other effects than those and
// what it returns.
func (s *Service) Do(ctx context.Context, once Once, act func(context.Context, *Act) (Answer, error), opens ...Intake) (answer Answer, err error) {
	if once.Key != "" {
		return s.keep(ctx, once, opens, act)
	}
	err = s.actForeseen(ctx, once, opens, func(ctx context.Context, a *Act) (err error) {
		answer, err = act(ctx, a)
		return err
	})
	return answer, err
}

// KeepRefusal keeps the answer to a request that changed nothing, and so needs
// no transaction with anything else.
func (s *Service) KeepRefusal(ctx context.Context, once Once, refusal Answer) (Answer, error) {
	return s.keep(ctx, once, nil, func(context.Context, *Act) (Answer, error) { return refusal, nil })
}

// keep runs act and keeps its answer, unless another process kept one meanwhile.
func (s *Service) keep(ctx context.Context, once Once, opens []Intake, act func(context.Context, *Act) (Answer, error)) (answer Answer, err error) {
	err = s.actForeseen(ctx, once, opens, func(ctx context.Context, a *Act) error {
		now := time.Now()
		row, err := a.tx.SavedResponse(ctx, once.Account, once.Key, now.Add(-OnceFor))
		if err == nil {
			answer, err = s.replayed(once, row)
			return err
		}
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if answer, err = act(ctx, a); err != nil {
			return err
		}
		return a.tx.SaveResponse(ctx, store.SavedResponse{
			Account: once.Account, Key: once.Key, Request: once.Request, Mission: answer.Mission,
			Status: answer.Status, Fields: answer.Fields, Body: answer.Body, At: now,
		})
	})
	return answer, err
}

// replayed is the kept answer, if it is one to the same request.
func (s *Service) replayed(once Once, row store.SavedResponse) (Answer, error) {
	if row.Request != once.Request {
		return Answer{}, fieldmark.Errorf(fieldmark.CodeIdempotencyReused, "the key was sent with another method, address or body before")
	}
	if row.Status == reserved {
		e := fieldmark.Errorf(fieldmark.CodeIdempotencyInFlight, "the first request with this key is still being answered, or its server stopped before it was: "+
			"if this does not change, check what the first request did before you send another under a new key")
		e.RetryAfter = inFlightRetry
		return Answer{}, e
	}
	if row.Sealed {
		plain, err := s.keyring.SavedResponse.Open(once.Account+" "+once.Key, string(row.Body))
		if err != nil {
			return Answer{}, fmt.Errorf("read a saved response: %w", err)
		}
		row.Body = []byte(plain)
	}
	return Answer{Status: row.Status, Fields: row.Fields, Body: row.Body, Mission: row.Mission, Replayed: true}, nil
}

// reserved is the status of a request that has no answer yet.
const reserved = 0

// Reservation is an Idempotency-Key that one request has taken: its response is
// saved under it, or it is released. Where neither happens, because the process
// ends, repeats are refused with CodeIdempotencyInFlight until OnceFor is over, so
// that the request runs at most once.
type Reservation struct {
	s       *Service
	once    Once
	outcome *store.Outcome
}

// Reserve takes a key for a request whose effects are not one transaction with its
// response: what it sends, checks for long or does in portions. It returns the
// response that was saved before, if there is one, and no Reservation with it.
func (s *Service) Reserve(ctx context.Context, once Once) (r *Reservation, answer Answer, err error) {
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		now := time.Now()
		row, err := tx.SavedResponse(ctx, once.Account, once.Key, now.Add(-OnceFor))
		if err == nil {
			answer, err = s.replayed(once, row)
			return err
		}
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		return tx.SaveResponse(ctx, store.SavedResponse{Account: once.Account, Key: once.Key, Request: once.Request, Status: reserved, At: now})
	})
	if err != nil || answer.Replayed {
		return nil, answer, err
	}
	return &Reservation{s: s, once: once, outcome: &store.Outcome{}}, Answer{}, nil
}

// Context returns the context under which the request must have its effects, so
// that Release knows of them.
func (r *Reservation) Context(ctx context.Context) context.Context {
	return store.WithOutcome(ctx, r.outcome)
}

// Save keeps the response for OnceFor. It is encrypted, as it may hold a secret
// that is shown once.
func (r *Reservation) Save(ctx context.Context, a Answer) error {
	body := r.s.keyring.SavedResponse.Seal(r.once.Account+" "+r.once.Key, string(a.Body))
	return r.s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.SaveResponse(ctx, store.SavedResponse{Account: r.once.Account, Key: r.once.Key, Request: r.once.Request,
			Status: a.Status, Fields: a.Fields, Body: []byte(body), Sealed: true, At: time.Now()})
	})
}

// Release frees the key of a request that failed, so that it may be repeated. If
// the request may have had an effect, because it wrote something before it failed
// or the outcome of a commit is unknown, the key stays reserved: a repeat would
// have the effect twice.
func (r *Reservation) Release(ctx context.Context) error {
	if r.outcome.MayHaveCommitted() {
		r.s.log.Warn("idempotency key stays reserved: its request failed after it may have had an effect", slog.String("account", r.once.Account))
		return nil
	}
	return r.s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.DeleteSavedResponse(ctx, r.once.Account, r.once.Key)
	})
}

// inFlight are the keys of requests that this process is answering. Those that
// another process answers are found in the record, once it is done: writers wait
// for each other.
type inFlight struct {
	mu   sync.Mutex
	done map[string]chan struct{} // closed when the request was answered
}

// enter waits until no other request has the key, and takes it until the
// function it returns is called.
func (f *inFlight) enter(ctx context.Context, key string) (leave func(), err error) {
	patience := time.NewTimer(inFlightPatience)
	defer patience.Stop()
	for {
		other := f.take(key)
		if other == nil {
			return func() { f.leave(key) }, nil
		}
		select {
		case <-other:
		case <-patience.C:
			e := fieldmark.Errorf(fieldmark.CodeIdempotencyInFlight, "the first request with this key is still being answered")
			e.RetryAfter = inFlightRetry
			return nil, e
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the answer to an earlier request: %w", ctx.Err())
		}
	}
}

// take takes a key, or says what to wait for.
func (f *inFlight) take(key string) chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if other, ok := f.done[key]; ok {
		return other
	}
	f.done[key] = make(chan struct{})
	return nil
}

func (f *inFlight) leave(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.done[key])
	delete(f.done, key)
}

// sweepBatch bounds how many kept answers one transaction deletes: a day's worth
// at once would make everybody wait.
const sweepBatch = 1000

// sweepOnce deletes the answers that are no longer kept.
func (s *Service) sweepOnce(ctx context.Context) error {
	for {
		var n int64
		err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			n, err = tx.PruneSavedResponses(ctx, time.Now().Add(-OnceFor), sweepBatch)
			return err
		})
		if err != nil || n < sweepBatch {
			return err
		}
	}
}
