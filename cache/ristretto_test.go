package cache_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/fieldmark/fieldmark/cache"
)

// Regression tests for the behaviour of ristretto listed at shard. Each fails with
// plain Set and Get.

func TestGetRightAfterSet(t *testing.T) {
	c := open(t, cache.Config{})
	for i := range 10_000 {
		key := fmt.Sprint(i)
		s := &source{text: "a"}
		fetch(c, key, s)
		if got := fetch(c, key, s); got != "hit a" {
			t.Fatalf("key %s right after its fill: got %q, want \"hit a\"", key, got)
		}
	}
}

func TestSecondSetOfANewKey(t *testing.T) {
	c := open(t, cache.Config{})
	for i := range 2_000 {
		key := fmt.Sprint(i)
		fetch(c, key, &source{text: "old", tags: []string{"b"}, asOf: int64(i)})
		c.Purge(int64(i+1), "b")
		// Callers waiting for the second fill, and all later ones, must see it.
		second := &source{text: "new", tags: []string{"b"}, asOf: int64(i + 1)}
		for fetch(c, key, second) == "stale old" {
		}
		if got := fetch(c, key, second); got != "hit new" {
			t.Fatalf("key %s after its second fill: got %q, want \"hit new\"", key, got)
		}
		if n := second.fills.Load(); n != 1 {
			t.Fatalf("key %s: got %d second fills, want 1", key, n)
		}
	}
}

func TestSetsInABurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, cache.Config{Bytes: 64 << 20})
		const n = 20_000
		for g := range 8 {
			go func() {
				for i := g; i < n; i += 8 {
					fetch(c, fmt.Sprint(i), &source{text: "a"})
				}
			}()
		}
		synctest.Wait()
		kept := 0
		for i := range n {
			if state(c, fmt.Sprint(i)) == "fresh" {
				kept++
			}
		}
		if kept != n {
			t.Errorf("kept of a burst that fits: got %d of %d", kept, n)
		}
	})
}

func TestGrowthByUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const bound = 1 << 20
		c := open(t, cache.Config{Bytes: bound, Shards: 1})
		const keys = 1000
		for size := 100; size < bound/64; size *= 2 {
			for i := range keys {
				_, _, err := c.Fetch(t.Context(), fmt.Sprint(i), func(context.Context) (*cache.Entry, error) {
					return &cache.Entry{Body: make([]byte, size), Fresh: time.Second, Stale: time.Second}, nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
			held := 0
			for i := range keys {
				if e, st := c.Get(fmt.Sprint(i)); st != cache.Miss {
					held += len(e.Body)
				}
			}
			if used := c.Used(); used > bound || int64(held) > used || held == 0 {
				t.Fatalf("size %d: got %d bytes held, %d accounted, want at most %d", size, held, used, bound)
			}
			time.Sleep(10 * time.Second) // all are filled again, with a larger size
		}
	})
}

func nothing(context.Context) (*cache.Entry, error) { return nil, fmt.Errorf("nothing") }

func TestBytesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const bound = 4 << 20
		var evicted, dropped atomic.Int64
		c := open(t, cache.Config{Bytes: bound, Shards: 2, Events: cache.Events{
			Evicted: func(n int) { evicted.Add(int64(n)) }, Dropped: func() { dropped.Add(1) }}})
		const n = 20_000
		for i := range n {
			fetch(c, fmt.Sprint(i), &source{text: "0123456789"})
		}
		synctest.Wait()
		kept, held := 0, int64(0)
		for i := range n {
			if e, st := c.Get(fmt.Sprint(i)); st != cache.Miss {
				kept++
				held += int64(len(e.Body)) + 512
			}
		}
		if used := c.Used(); used > bound || held > used || used < bound*9/10 {
			t.Errorf("got %d accounted, at least %d held, want both within %d and it well used", used, held, bound)
		}
		if int64(kept)+evicted.Load()+dropped.Load() != n {
			t.Errorf("entries: got %d kept, %d evicted, %d dropped, want %d in sum", kept, evicted.Load(),
				dropped.Load(), n)
		}
	})
}

func TestOversizeIsNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dropped atomic.Int64
		c := open(t, cache.Config{Bytes: 8 << 20, Shards: 1, Events: cache.Events{Dropped: func() { dropped.Add(1) }}})
		size := 100
		fill := func(context.Context) (*cache.Entry, error) {
			return &cache.Entry{Body: make([]byte, size), Fresh: time.Second, Stale: time.Hour}, nil
		}
		fetchSize := func(what string, wantSize int, wantSource cache.Source) {
			t.Helper()
			e, src, err := c.Fetch(t.Context(), "k", fill)
			if err != nil || len(e.Body) != wantSize || src != wantSource {
				t.Errorf("%s: got %v, %v, want %d bytes, %v", what, src, err, wantSize, wantSource)
			}
			synctest.Wait()
		}
		fetchSize("small", 100, cache.SourceFill)
		time.Sleep(2 * time.Second)
		size = 128 << 10
		fetchSize("expired", 100, cache.SourceStale)
		fetchSize("the large one, at hand from its fill", size, cache.SourceHit)
		want(t, "the small one must not come back", state(c, "k"), "miss")
		time.Sleep(100 * time.Millisecond)
		fetchSize("the large one again", size, cache.SourceFill)
		if dropped.Load() != 2 || c.Used() != 0 {
			t.Errorf("got %d dropped, %d bytes used, want 2 and 0", dropped.Load(), c.Used())
		}
	})
}

func TestBorrowedKeyIsNotRetained(t *testing.T) {
	c := open(t, cache.Config{})
	buf := []byte("brand/acme")
	key := unsafe.String(&buf[0], len(buf))
	want(t, "filled", fetch(c, key, &source{text: "acme"}), "fill acme")
	copy(buf, "brand/zeta")
	want(t, "the buffer's new key", fetch(c, key, &source{text: "zeta"}), "fill zeta")
	want(t, "the old key", fetch(c, "brand/acme", &source{}), "hit acme")
	want(t, "the new key", fetch(c, "brand/zeta", &source{}), "hit zeta")
}

func TestEntryIsACopy(t *testing.T) {
	c := open(t, cache.Config{})
	shared := &cache.Entry{Status: 404, Fresh: minute, Tags: []string{"b"}}
	var wg sync.WaitGroup
	for i := range 100 { // for the race detector
		wg.Go(func() {
			_, _, err := c.Fetch(context.Background(), fmt.Sprint(i), func(context.Context) (*cache.Entry,
				error) {
				return shared, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}
