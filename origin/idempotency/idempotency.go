package idempotency

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/keyring"
	"github.com/fieldmark/fieldmark/origin/store"
)

const (
	// Retention is how long a request may be sent again under its key.
	Retention = 24 * time.Hour
	// inFlightWait is how long a repeated request waits for the response to the
	// first. Responses rarely take longer under load, so most repeats receive it.
	inFlightWait  = time.Second
	inFlightRetry = time.Second // the Retry-After of a repeat whose wait timed out

	pruneInterval = time.Hour
	// pruneBatch limits the responses that one transaction deletes: all of a day
	// would delay other writers.
	pruneBatch = 1000
)

// Key identifies a request that has effects and may be sent again.
type Key struct {
	Account string
	Name    string           // chosen by the client; empty: the request has no key
	Request fieldmark.Digest // of its method, address and body
}

// owner identifies the key to which a saved response is sealed.
func (k Key) owner() string { return k.Account + " " + k.Name }

// Response is the response to a request.
type Response struct {
	Status  int
	Fields  map[string]string // header fields that depend on the effect
	Body    []byte
	Mission string // id of the mission it is about; empty: none or several

	Replayed bool // it is the response to an earlier request with the key
}

// Config configures a Service. All fields are required.
type Config struct {
	Store  *store.Store
	Cipher keyring.Cipher // seals responses that may hold a secret
	Jobs   *job.Runner
	Log    *slog.Logger
}

// Service saves responses. Its methods may be called from any goroutine.
type Service struct {
	store    *store.Store
	cipher   keyring.Cipher
	jobs     *job.Runner
	log      *slog.Logger
	inFlight inFlight
}

// New returns a Service that has started nothing.
func New(cfg Config) *Service {
	return &Service{store: cfg.Store, cipher: cfg.Cipher, jobs: cfg.Jobs, log: cfg.Log,
		inFlight: inFlight{done: make(map[string]chan struct{})}}
}

// Run deletes responses that are older than Retention, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	s.jobs.AtStartAndEvery(ctx, pruneInterval, "prune saved responses", s.prune)
	return nil
}

func (s *Service) prune(ctx context.Context) error {
	for {
		var n int64
		err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			n, err = tx.PruneSavedResponses(ctx, time.Now().Add(-Retention), pruneBatch)
			return err
		})
		if err != nil || n < pruneBatch {
			return err
		}
	}
}

// Begin returns the response that was saved under a key. Otherwise it marks this
// request as in flight until the caller calls end. A different request under the
// same key is CodeIdempotencyReused. A request that arrives while another is in
// flight waits for it, and is CodeIdempotencyInFlight after inFlightWait.
func (s *Service) Begin(ctx context.Context, k Key) (saved Response, end func(), err error) {
	end, err = s.inFlight.acquire(ctx, k.owner())
	if err != nil {
		return Response{}, nil, err
	}
	row, err := s.store.SavedResponse(ctx, k.Account, k.Name, time.Now().Add(-Retention))
	if err == nil {
		saved, err = s.replay(k, row)
	} else if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	if err != nil {
		end()
		return Response{}, nil, err
	}
	return saved, end, nil
}

// Load returns the response that was saved under a key, as the transaction reads
// it. Replayed is false if no response was saved.
func (s *Service) Load(ctx context.Context, tx *store.Tx, k Key) (Response, error) {
	row, err := tx.SavedResponse(ctx, k.Account, k.Name, time.Now().Add(-Retention))
	if errors.Is(err, store.ErrNotFound) {
		return Response{}, nil
	}
	if err != nil {
		return Response{}, err
	}
	return s.replay(k, row)
}

// Save saves a response in the transaction of the effects.
func (s *Service) Save(ctx context.Context, tx *store.Tx, k Key, r Response) error {
	return tx.SaveResponse(ctx, store.SavedResponse{
		Account: k.Account, Key: k.Name, Request: k.Request, Mission: r.Mission,
		Status: r.Status, Fields: r.Fields, Body: r.Body, At: time.Now(),
	})
}

// SaveRefusal saves the response to a request that had no effect. If another
// process saved a response meanwhile, it returns that.
func (s *Service) SaveRefusal(ctx context.Context, k Key, r Response) (saved Response, err error) {
	ahead := store.Prefetch{Responses: []store.ResponseKey{{Account: k.Account, Key: k.Name}}}
	err = s.store.WriteWithPrefetch(ctx, ahead, func(ctx context.Context, tx *store.Tx) error {
		if saved, err = s.Load(ctx, tx, k); err != nil || saved.Replayed {
			return err
		}
		saved = r
		return s.Save(ctx, tx, k, r)
	})
	return saved, err
}

// reserved is the status of a saved response that is a reservation.
const reserved = 0

// replay returns the response of a row if it belongs to the same request.
func (s *Service) replay(k Key, row store.SavedResponse) (Response, error) {
	if row.Request != k.Request {
		return Response{}, fieldmark.Errorf(fieldmark.CodeIdempotencyReused,
			"the key was sent with another method, address or body before")
	}
	if row.Status == reserved {
		e := fieldmark.Errorf(fieldmark.CodeIdempotencyInFlight,
			"the first request with this key is still being answered, or its server stopped before it was: "+
				"if this does not change, check what the first request did before you send another under a new key")
		e.RetryAfter = inFlightRetry
		return Response{}, e
	}
	if row.Sealed {
		plain, err := s.cipher.Open(k.owner(), string(row.Body))
		if err != nil {
			return Response{}, fmt.Errorf("read a saved response: %w", err)
		}
		row.Body = []byte(plain)
	}
	return Response{Status: row.Status, Fields: row.Fields, Body: row.Body, Mission: row.Mission, Replayed: true}, nil
}

// inFlight holds the keys of the requests that this process is handling. Requests
// in other processes are serialized by their transactions.
type inFlight struct {
	mu   sync.Mutex
	done map[string]chan struct{} // closed when the response is complete
}

// acquire waits until no other request holds the key, and holds it until the caller
// calls release.
func (f *inFlight) acquire(ctx context.Context, key string) (release func(), err error) {
	timeout := time.NewTimer(inFlightWait)
	defer timeout.Stop()
	for {
		other := f.tryAcquire(key)
		if other == nil {
			return func() { f.release(key) }, nil
		}
		select {
		case <-other:
		case <-timeout.C:
			e := fieldmark.Errorf(fieldmark.CodeIdempotencyInFlight,
				"the first request with this key is still being answered")
			e.RetryAfter = inFlightRetry
			return nil, e
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the answer to an earlier request: %w", ctx.Err())
		}
	}
}

// tryAcquire acquires a key, or returns the channel of the request that holds it.
func (f *inFlight) tryAcquire(key string) chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if other, ok := f.done[key]; ok {
		return other
	}
	f.done[key] = make(chan struct{})
	return nil
}

func (f *inFlight) release(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.done[key])
	delete(f.done, key)
}
