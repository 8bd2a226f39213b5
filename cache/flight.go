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
	// keepResult is how long a finished fill stays at hand for those who come
	// next, so that an entry ristretto did not take is not filled twice in a
	// row.
	keepResult = 50 * time.Millisecond
	// keepFailure is how long a failed fill, or one that could only give an
	// entry already stale, is not tried again: a source in trouble is asked
	// once a second for each key.
	keepFailure = time.Second
	// maxFills bounds the fills under way, hanging ones included: about 8 kB
	// of stack each, more than a source should be asked at once anyway.
	maxFills = 4096
	// maxRefreshes bounds those that nobody waits for, so that a purge of
	// everything leaves the source to the readers who do wait.
	maxRefreshes = 64
	// closeTimeout is how long Close waits for a fill that ignores the end of
	// its context before it leaves it behind.
	closeTimeout = 5 * time.Second
)

// Errors of the cache itself; all others come from fills as they are.
var (
	// ErrFillTimeout: the fill ran past Config.FillTimeout.
	ErrFillTimeout = errors.New("cache: the fill ran past its deadline")
	// ErrBusy: too many fills are under way to begin another.
	ErrBusy = errors.New("cache: too many fills under way")
	// ErrPurged: the entry was purged hard as fast as it was filled.
	ErrPurged = errors.New("cache: purged while it was being filled")
	// ErrGone, wrapped into a fill's error, says that what the key stands for
	// exists no longer: nothing old is served in its place.
	ErrGone = errors.New("cache: gone at the source")
	// ErrRefused, wrapped into a fill's error, says that the fill was refused
	// because of the caller that began it, as by a limit of that caller. It is not
	// remembered, and others who wait for the key begin fills of their own.
	ErrRefused = errors.New("cache: the fill was refused to its caller")
	// ErrClosed: the cache was closed.
	ErrClosed = errors.New("cache: closed")
)

// PanicError is what the waiters of a panicking fill get.
type PanicError struct {
	// Value is what the fill panicked with, nil if it ended its goroutine.
	Value any
	// Stack is where.
	Stack []byte
}

// Error tells of the panic without its stack.
func (e *PanicError) Error() string { return fmt.Sprintf("BUG: fill panicked: %v", e.Value) }

// flight is one fill: under way until done is closed, at hand for a while
// after.
type flight struct {
	key    string
	done   chan struct{}
	cancel context.CancelFunc
	purges int64 // tagTable.purges and epoch when it began
	epoch  int64
	began  int64

	// Set before done is closed, then never again.
	entry *Entry
	err   error
	ended bool        // under flights.mu
	timer *time.Timer // takes it out of the table; under flights.mu
}

// flights is the table of one shard.
type flights struct {
	mu     sync.Mutex
	byKey  map[string]*flight
	closed bool
}

// startFill starts a fill of key and enters it in the table in place of any other.
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
		began:  c.now(),
	}
	s.flights.byKey[f.key] = f
	c.fills.Go(func() { c.runFill(ctx, s, hash, f, fill) })
	return f, nil
}

// runFill fills. A fill that ignores its deadline is left to itself: the flight
// ends without it, and what it returns later is thrown away.
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

// finishFill hands the outcome to the waiters, then to memory. Only the first call
// for a flight counts.
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
	if errors.Is(err, ErrRefused) && s.flights.byKey[f.key] == f {
		delete(s.flights.byKey, f.key)
	}
	s.flights.mu.Unlock()

	defer s.flights.removeAfter(f, keep) // from when memory has it, if it takes it
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

// removeAfter takes f out of the table after a while, unless another took its
// place.
func (t *flights) removeAfter(f *flight, keep time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byKey[f.key] == f && !t.closed {
		f.timer = time.AfterFunc(keep, func() { t.remove(f) })
	}
}

func (t *flights) remove(f *flight) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byKey[f.key] == f {
		delete(t.byKey, f.key)
	}
}

// close ends what is under way and lets nothing new begin.
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
