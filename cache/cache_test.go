package cache_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark/cache"
)

const (
	minute = time.Minute
	tenMin = 10 * time.Minute
)

// open creates a cache that is closed when the test ends.
func open(t testing.TB, cfg cache.Config) *cache.Cache {
	t.Helper()
	if cfg.Bytes == 0 {
		cfg.Bytes = 8 << 20
	}
	c, err := cache.New(cfg)
	if err != nil {
		t.Fatalf("New(%+v): %v", cfg, err)
	}
	t.Cleanup(c.Close)
	return c
}

// source is the backend of fills. It counts them.
type source struct {
	fills atomic.Int64

	mu   sync.Mutex // over what a test changes between fills
	text string
	asOf int64

	tags    []string
	delay   time.Duration
	err     error
	onError time.Duration
}

func (s *source) fill(ctx context.Context) (*cache.Entry, error) {
	s.fills.Add(1)
	s.mu.Lock()
	text, asOf := s.text, s.asOf
	s.mu.Unlock()
	e := &cache.Entry{Body: []byte(text), Status: 200, Tags: s.tags, AsOf: asOf, Fresh: minute, Stale: tenMin,
		OnError: s.onError}
	if s.delay > 0 { // not a select with time.After(0), which crashes the race detector in a synctest bubble
		select {
		case <-time.After(s.delay):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return e, s.err
}

// set changes what later fills return.
func (s *source) set(text string, asOf int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text, s.asOf = text, asOf
}

// fetch returns the outcome of a Fetch as one string: source and body, or error.
func fetch(c *cache.Cache, key string, s *source) string {
	e, src, err := c.Fetch(context.Background(), key, s.fill)
	return outcome(e, src, err)
}

func outcome(e *cache.Entry, src cache.Source, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	return src.String() + " " + string(e.Body)
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// state returns the state of key, in a synctest bubble: a fill answers its readers before its entry
// is in memory.
func state(c *cache.Cache, key string) string {
	synctest.Wait()
	_, st := c.Get(key)
	return st.String()
}

func TestLifetime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, cache.Config{})
		s := &source{text: "a", onError: time.Hour}
		want(t, "before any fill", state(c, "k"), "miss")
		want(t, "first fetch", fetch(c, "k", s), "fill a")
		synctest.Wait()
		// Jitter moves every end by up to a tenth of Fresh.
		for _, tc := range []struct {
			after time.Duration
			want  string
		}{
			{53 * time.Second, "fresh"},
			{67 * time.Second, "stale"},
			{tenMin + 53*time.Second, "stale"},
			{tenMin + 67*time.Second, "error-only"},
			{time.Hour + 53*time.Second, "error-only"},
			{time.Hour + 67*time.Second, "miss"},
		} {
			born := time.Now()
			c2 := open(t, cache.Config{})
			fetch(c2, "k", s)
			time.Sleep(tc.after - time.Since(born))
			want(t, "state after "+tc.after.String(), state(c2, "k"), tc.want)
		}
	})
}

func TestJitterSpreadsExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, cache.Config{})
		s := &source{text: "a"}
		for i := range 200 {
			fetch(c, fmt.Sprint(i), s)
		}
		time.Sleep(minute)
		fresh := 0
		for i := range 200 {
			if state(c, fmt.Sprint(i)) == "fresh" {
				fresh++
			}
		}
		if fresh < 50 || fresh > 150 {
			t.Errorf("of 200 entries filled together and read at their lifetime: got %d fresh, want about half", fresh)
		}
	})
}

func TestCreationTimeFromSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tc := range []struct {
			name string
			born time.Duration
			want string
		}{
			{"half a life ago", -30 * time.Second, "fresh"},
			{"a life ago", -70 * time.Second, "stale"},
			{"in the future, asked after a life", time.Hour, "fresh"},
		} {
			c := open(t, cache.Config{})
			_, _, err := c.Fetch(t.Context(), "k", func(context.Context) (*cache.Entry, error) {
				return &cache.Entry{Born: time.Now().Add(tc.born), Fresh: minute, Stale: minute}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			want(t, "born "+tc.name, state(c, "k"), tc.want)
			time.Sleep(67 * time.Second)
			if got := state(c, "k"); got == "fresh" {
				t.Errorf("born %s, after a life in the cache: got %s, want not fresh", tc.name, got)
			}
		}
	})
}

func TestStaleWhileOneRefreshRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, cache.Config{})
		s := &source{text: "old"}
		fetch(c, "k", s)
		time.Sleep(2 * minute)
		s2 := &source{text: "new", delay: time.Second}
		for range 100 {
			want(t, "stale", fetch(c, "k", s2), "stale old")
		}
		time.Sleep(1100 * time.Millisecond)
		want(t, "after the refresh", fetch(c, "k", s2), "hit new")
		if n := s2.fills.Load(); n != 1 {
			t.Errorf("refreshes for 100 stale readers: got %d, want 1", n)
		}
	})
}

func TestConcurrentMissesShareOneFill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shared, missed atomic.Int64
		c := open(t, cache.Config{Events: cache.Events{Coalesced: func() { shared.Add(1) },
			Miss: func() { missed.Add(1) }}})
		s := &source{text: "a", delay: 300 * time.Millisecond}
		got := make(chan string, 1000)
		start := time.Now()
		for range 1000 {
			go func() { got <- fetch(c, "k", s) }()
		}
		count := map[string]int{}
		for range 1000 {
			count[<-got]++
		}
		if count["fill a"] != 1 || count["shared a"] != 999 || s.fills.Load() != 1 {
			t.Errorf("1000 at once: got %v after %d fills, want 1 fill and 999 shared", count, s.fills.Load())
		}
		if shared.Load() != 999 || missed.Load() != 1 {
			t.Errorf("events: got %d shared, %d missed, want 999 and 1", shared.Load(), missed.Load())
		}
		if took := time.Since(start); took != s.delay {
			t.Errorf("time: got %s, want %s", took, s.delay)
		}
	})
}

func TestWaiterHasItsOwnDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, cache.Config{})
		s := &source{text: "a", delay: time.Second}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, src, err := c.Fetch(ctx, "k", s.fill)
		if !errors.Is(err, context.DeadlineExceeded) || src != cache.SourceNone {
			t.Errorf("impatient leader: got %v, %v, want none and its deadline", src, err)
		}
		if took := time.Since(start); took != 100*time.Millisecond {
			t.Errorf("impatient leader waited %s, want 100ms", took)
		}
		want(t, "patient follower", fetch(c, "k", s), "shared a")
		if n := s.fills.Load(); n != 1 {
			t.Errorf("a leader that leaves must not cancel its fill: got %d fills, want 1", n)
		}
	})
}

func TestFillFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, cache.Config{})
		bad := &source{err: errors.New("origin away")}
		want(t, "nothing to fall back on", fetch(c, "k", bad), "error: origin away")
		want(t, "again at once", fetch(c, "k", bad), "error: origin away")
		if n := bad.fills.Load(); n != 1 {
			t.Errorf("fills within a second of a failure: got %d, want 1", n)
		}
		time.Sleep(1100 * time.Millisecond)
		good := &source{text: "a", onError: time.Hour}
		want(t, "a second later", fetch(c, "k", good), "fill a")
		time.Sleep(15 * minute)
		bad.fills.Store(0)
		for range 10 {
			want(t, "expired, origin away", fetch(c, "k", bad), "on-error a")
		}
		if n := bad.fills.Load(); n != 1 {
			t.Errorf("fills for ten readers on error: got %d, want 1", n)
		}
		time.Sleep(2 * time.Hour)
		want(t, "past the error window", fetch(c, "k", bad), "error: origin away")
	})
}

// A refusal concerns one caller: it is neither shared with other callers waiting
// for the same key nor kept.
func TestRefusedFill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, cache.Config{})
		s := &source{text: "one", delay: time.Second}
		refused := &source{text: "none", delay: time.Second, err: fmt.Errorf("%w: too much", cache.ErrRefused)}
		var all sync.WaitGroup
		var got [5]string
		for i := range got {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				if i == 0 {
					got[i] = fetch(c, "k", refused)
				} else {
					got[i] = fetch(c, "k", s)
				}
			})
		}
		all.Wait()
		want(t, "the caller who is refused", got[0], "error: cache: the fill was refused to its caller: too much")
		for i, g := range got[1:] {
			if g != "fill one" && g != "shared one" {
				t.Errorf("waiting caller %d: %s, want the entry", i+1, g)
			}
		}
		if n := s.fills.Load(); n != 1 {
			t.Errorf("waiting callers caused %d fills, want 1", n)
		}
		want(t, "refused for another key", fetch(c, "other", refused),
			"error: cache: the fill was refused to its caller: too much")
		want(t, "at once after it", fetch(c, "other", s), "fill one")
	})
}

func TestDeadlineFallsBackOnOldEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, cache.Config{})
		fetch(c, "k", &source{text: "old", onError: time.Hour})
		time.Sleep(15 * minute)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		slow := &source{text: "new", delay: time.Second}
		want(t, "slow fill, short deadline", outcome(c.Fetch(ctx, "k", slow.fill)), "on-error old")
	})
}

func TestNegativeEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, cache.Config{})
		fills := 0
		fill := func(context.Context) (*cache.Entry, error) {
			fills++
			return &cache.Entry{Status: 404, Fresh: 2 * time.Second}, nil
		}
		for range 20 { // 1.7 s
			e, _, err := c.Fetch(t.Context(), "nobody", fill)
			if err != nil || e.Status != 404 {
				t.Fatalf("got %+v, %v, want status 404", e, err)
			}
			time.Sleep(85 * time.Millisecond)
		}
		if fills != 1 {
			t.Errorf("fills within the lifetime: got %d, want 1", fills)
		}
		time.Sleep(time.Second)
		if _, _, err := c.Fetch(t.Context(), "nobody", fill); err != nil || fills != 2 {
			t.Errorf("after the lifetime: got %d fills, %v, want 2", fills, err)
		}
	})
}

func TestUncacheableIsCoalescedButNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, cache.Config{})
		fills := 0
		fill := func(context.Context) (*cache.Entry, error) {
			fills++
			return &cache.Entry{Body: []byte("a")}, nil
		}
		for range 3 {
			want(t, "no lifetime at all", outcome(c.Fetch(t.Context(), "k", fill)), "fill a")
		}
		if fills != 3 {
			t.Errorf("fills: got %d, want 3", fills)
		}
	})
}

func TestPanickingFill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var panics, failures atomic.Int64
		c := open(t, cache.Config{Events: cache.Events{FillPanicked: func() { panics.Add(1) },
			FillFailed: func(error) { failures.Add(1) }}})
		for key, fill := range map[string]cache.Fill{
			"BUG: fill panicked: oops": func(context.Context) (*cache.Entry,
				error) {
				panic("oops")
			},
			"BUG: fill panicked: <nil>": func(context.Context) (*cache.Entry,
				error) {
				runtime.Goexit()
				return nil, nil
			},
			"BUG: fill returned neither an entry nor an error": func(context.Context) (*cache.Entry,
				error) {
				return nil, nil
			},
		} {
			want(t, "broken fill", outcome(c.Fetch(t.Context(), key, fill)), "error: "+key)
		}
		want(t, "another key", fetch(c, "k", &source{text: "a"}), "fill a")
		synctest.Wait() // a fill is counted after its readers have their error
		if panics.Load() != 2 || failures.Load() != 3 {
			t.Errorf("events: got %d panics, %d failures, want 2 and 3", panics.Load(), failures.Load())
		}
	})
}

func TestHangingFillAffectsOnlyItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, cache.Config{FillTimeout: 2 * time.Second})
		release := make(chan struct{})
		hang := func(context.Context) (*cache.Entry, error) {
			<-release
			return &cache.Entry{Body: []byte("late"), Fresh: minute}, nil
		}
		start := time.Now()
		_, _, err := c.Fetch(t.Context(), "k", hang)
		if !errors.Is(err, cache.ErrFillTimeout) || time.Since(start) != 2*time.Second {
			t.Errorf("hanging fill: got %v after %s, want the timeout after 2s", err, time.Since(start))
		}
		time.Sleep(1100 * time.Millisecond)
		want(t, "a new filler", fetch(c, "k", &source{text: "new"}), "fill new")
		close(release)
		synctest.Wait()
		want(t, "after the hanging one came back", fetch(c, "k", &source{}), "hit new")
	})
}

func TestCloseEndsFills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := cache.New(cache.Config{})
		if err != nil {
			t.Fatal(err)
		}
		s := &source{text: "a", delay: time.Hour}
		got := make(chan error)
		go func() {
			_, _, err := c.Fetch(context.Background(), "k", s.fill)
			got <- err
		}()
		synctest.Wait()
		start := time.Now()
		go c.Close()
		if err := <-got; err == nil {
			t.Errorf("a waiter at Close: got no error")
		}
		if time.Since(start) != 0 {
			t.Errorf("Close waited %s for a fill that obeys its context", time.Since(start))
		}
		synctest.Wait()
		if _, _, err := c.Fetch(t.Context(), "k", s.fill); !errors.Is(err, cache.ErrClosed) {
			t.Errorf("after Close: got %v, want %v", err, cache.ErrClosed)
		}
	})
}

func TestCloseAbandonsAFillThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := cache.New(cache.Config{})
		if err != nil {
			t.Fatal(err)
		}
		release := make(chan struct{})
		go c.Fetch(context.Background(), "k", func(context.Context) (*cache.Entry, error) {
			<-release
			return &cache.Entry{Fresh: minute}, nil
		})
		synctest.Wait()
		start := time.Now()
		c.Close()
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("Close took %s, want 5s", took)
		}
		close(release) // must have no effect now
		synctest.Wait()
	})
}

func TestRefreshesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, cache.Config{})
		s := &source{text: "old", tags: []string{"module"}, asOf: 1}
		for i := range 1000 {
			fetch(c, fmt.Sprint(i), s)
		}
		time.Sleep(time.Second)
		c.Purge(2, "module")
		slow := &source{text: "new", tags: s.tags, asOf: 2, delay: 100 * time.Millisecond}
		for i := range 1000 {
			want(t, "right after the purge", fetch(c, fmt.Sprint(i), slow), "stale old")
		}
		synctest.Wait()
		if n := slow.fills.Load(); n != 64 {
			t.Errorf("refreshes at once: got %d, want 64", n)
		}
		time.Sleep(time.Second)
		for i := range 1000 {
			if e, _, err := c.Fetch(t.Context(), fmt.Sprint(i), slow.fill); err != nil || string(e.Body) != "new" {
				t.Fatalf("a second after the purge: got %v, %v, want new", e, err)
			}
		}
	})
}

func TestEarlyRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, cache.Config{})
		s := &source{text: "a", delay: time.Second}
		fetch(c, "k", s)
		// With a hundred reads a second, the key is refreshed about ln 100 = 4.6
		// fill times before it expires.
		stale := 0
		for range 10 * 60 * 100 {
			if fetch(c, "k", s) != "hit a" {
				stale++
			}
			time.Sleep(10 * time.Millisecond)
		}
		if n := s.fills.Load(); n < 10 || n > 14 || stale > 0 {
			t.Errorf("ten lifetimes: got %d fills and %d readers not served fresh, want 10 to 14 and 0", n, stale)
		}
	})
}

func TestEarlyRefreshThroughGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, cache.Config{})
		s := &source{text: "a", delay: time.Second}
		fetch(c, "k", s)
		synctest.Wait()
		early := 0
		for range 10 * 60 * 100 {
			if _, st := c.Get("k"); st != cache.Fresh {
				early++
				want(t, "the reader early to refresh", fetch(c, "k", s), "hit a")
			}
			time.Sleep(10 * time.Millisecond)
		}
		if n := s.fills.Load(); int(n) != early+1 || n < 10 || n > 14 {
			t.Errorf("ten lifetimes: got %d fills for %d early, want 10 to 14, one for each and the first", n, early)
		}
	})
}

func TestConfigErrors(t *testing.T) {
	_, err := cache.New(cache.Config{Bytes: 5, Shards: 3, FillTimeout: -1})
	if err == nil {
		t.Fatal("got no error")
	}
	want(t, "all complaints at once", err.Error(), "configure cache: bytes: got 5, want at least 1048576\n"+
		"shards: got 3, want a power of two up to 64\nfill timeout: got -1ns, want a positive time")
}
