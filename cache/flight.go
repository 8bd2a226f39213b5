package cache

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

const (
	// keepResult is how long a finished fill is available to further callers, so
	// that an entry ristretto did not admit is not filled twice in a row.
	keepResult = 50 * time.Millisecond
	// keepFailure is how long a fill is not repeated after it failed or could only
	// return a stale entry. It limits the load on a failing source to one request
	// per key and second.
	keepFailure = time.Second
	// maxFills limits the running fills, hanging ones included: each has about 8 kB
	// of stack, and a source should not get more requests at once.
	maxFills = 4096
	// maxRefreshes limits the fills that no caller waits for. After a purge of
	// everything the source is left to the callers that do wait.
	maxRefreshes = 64
	// closeTimeout is how long Close waits for fills that ignore their context.
	closeTimeout = 5 * time.Second
)

// Errors of the cache. Errors of fills are returned unchanged.
var (
	// ErrFillTimeout: the fill exceeded Config.FillTimeout.
	ErrFillTimeout = errors.New("cache: the fill ran past its deadline")
	// ErrBusy: too many fills are running to start another.
	ErrBusy = errors.New("cache: too many fills under way")
	// ErrPurged: hard purges arrived during every attempt to fill the entry.
	ErrPurged = errors.New("cache: purged while it was being filled")
	// ErrGone, wrapped in a fill's error, says that the resource no longer exists:
	// no old entry is served in its place.
	ErrGone = errors.New("cache: gone at the source")
	// ErrRefused, wrapped in a fill's error, says that the fill was refused because
	// of the caller that started it, for example by a rate limit. The result is not
	// kept, and other callers waiting for the key start fills of their own.
	ErrRefused = errors.New("cache: the fill was refused to its caller")
	// ErrUncacheable, wrapped in a fill's error, says that only the callers already
	// waiting may get its outcome: it is not kept for later ones.
	ErrUncacheable = errors.New("cache: the outcome is not kept")
	// ErrClosed: the cache was closed.
	ErrClosed = errors.New("cache: closed")
)

// PanicError is the error of a fill that panicked.
type PanicError struct {
	// Value is the value passed to panic; nil if the fill called runtime.Goexit.
	Value any
	// Stack is the stack trace of the panic.
	Stack []byte
}

// Error describes the panic without its stack.
func (e *PanicError) Error() string { return fmt.Sprintf("BUG: fill panicked: %v", e.Value) }

// flight is one fill: running until done is closed, and available for a while
// after. golang.org/x/sync/singleflight cannot detach a fill from its first caller
// or keep a result.
type flight struct {
	key    string
	done   chan struct{}
	cancel context.CancelFunc
	purges int64 // tagTable.purges and epoch at the start
	epoch  int64
	all    int64 // the newest purge of everything at the start
	began  int64

	// Set before done is closed, then never again.
	entry *Entry
	err   error
	ended bool        // under flights.mu
	timer *time.Timer // removes the flight from the table; under flights.mu
}

// flights is the table of fills of one shard.
type flights struct {
	mu     sync.Mutex
	byKey  map[string]*flight
	closed bool
}

// startFill starts a fill of key and stores it in the table, replacing any other.
// The caller holds s.flights.mu.
func (c *Cache) startFill(s *shard, hash uint64, key string, fill Fill, waitedFor bool) (*flight, error) {
	limit := int64(maxRefreshes)
	if waitedFor {
		limit = maxFills
	}
	if s.flights.closed {
		return nil, ErrClosed
	}
	if c.inFlight.Add(1) > limit {
		c.inFlight.Add(-1)
		return nil, ErrBusy
	}
	if old := s.flights.byKey[key]; old != nil && old.timer != nil {
		old.timer.Stop()
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.fillTimeout)
	f := &flight{
		key:    strings.Clone(key),
		done:   make(chan struct{}),
		cancel: cancel,
		purges: c.tags.purges.Load(),
		epoch:  c.tags.epoch.Load(),
		all:    c.tags.all.soft.Load(),
		began:  c.now(),
	}
	s.flights.byKey[f.key] = f
	c.fills.Go(func() { c.runFill(ctx, s, hash, f, fill) })
	return f, nil
}

// runFill runs a fill. If the fill ignores its deadline, the flight ends without it
// and its result is discarded.
func (c *Cache) runFill(ctx context.Context, s *shard, hash uint64, f *flight, fill Fill) {
	defer c.inFlight.Add(-1)
	defer f.cancel()
	c.fills.Add(1)
	stop := context.AfterFunc(ctx, func() {
		defer c.fills.Done()
		err := ErrClosed
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = ErrFillTimeout
		}
		c.finishFill(s, hash, f, nil, err)
	})
	var e *Entry
	var err error
	returned := false
	defer func() { // also on runtime.Goexit, which no recover sees
		if !returned {
			err = &PanicError{Value: recover(), Stack: debug.Stack()}
			e = nil
			c.events.FillPanicked()
		}
		if stop() {
			c.fills.Done()
		}
		c.finishFill(s, hash, f, e, err)
	}()
	e, err = fill(ctx)
	returned = true
	if e == nil && err == nil {
		err = errors.New("BUG: fill returned neither an entry nor an error")
	}
}

// finishFill hands the outcome to the waiters, then stores the entry. Only the
// first call for a flight has an effect.
func (c *Cache) finishFill(s *shard, hash uint64, f *flight, e *Entry, err error) {
	now := c.now()
	keep := keepFailure
	var stored *Entry
	if errors.Is(err, ErrGone) {
		keep = keepResult
	}
	if err == nil {
		stored = c.stamp(e, f, now)
		if c.state(stored, now) == Fresh {
			keep = keepResult
		}
	}
	s.flights.mu.Lock()
	if f.ended {
		s.flights.mu.Unlock()
		return
	}
	f.ended, f.entry, f.err = true, stored, err
	close(f.done)
	if (errors.Is(err, ErrRefused) || errors.Is(err, ErrUncacheable)) && s.flights.byKey[f.key] == f {
		delete(s.flights.byKey, f.key)
	}
	s.flights.mu.Unlock()

	defer s.flights.removeAfter(f, keep) // counted from when memory has the entry
	if err != nil {
		c.events.FillFailed(err)
		return
	}
	c.events.Filled(time.Duration(now - f.began))
	dropped, evicted := s.put(hash, f.key, stored)
	if dropped > 0 {
		c.events.Dropped()
	}
	if evicted > 0 {
		c.events.Evicted(int(evicted))
	}
}

// removeAfter removes f from the table after a while, unless another flight has
// replaced it.
func (t *flights) removeAfter(f *flight, keep time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byKey[f.key] == f && !t.closed {
		f.timer = time.AfterFunc(keep, func() { t.remove(f) })
	}
}

// remove removes f from the table, unless another flight has replaced it.
func (t *flights) remove(f *flight) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byKey[f.key] == f {
		delete(t.byKey, f.key)
	}
}

// close cancels the running fills and prevents new ones.
func (t *flights) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for _, f := range t.byKey {
		if f.timer != nil {
			f.timer.Stop()
		}
		f.cancel()
	}
}
