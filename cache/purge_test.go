package cache_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark/cache"
)

func TestSoftPurge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, cache.Config{})
		old := &source{text: "old", tags: []string{"brand:acme", "module"}, asOf: 7}
		fetch(c, "k", old)
		fetch(c, "other", &source{text: "other", tags: []string{"brand:zeta"}, asOf: 7})
		synctest.Wait()
		c.Purge(7, "brand:acme")
		want(t, "an event the entry knows", state(c, "k"), "fresh")
		c.Purge(8, "module", "nothing")
		want(t, "an event it does not know", state(c, "k"), "stale")
		want(t, "an entry without the tag", state(c, "other"), "fresh")

		s := &source{text: "new", tags: old.tags, asOf: 8, delay: 100 * time.Millisecond}
		want(t, "while the refresh runs", fetch(c, "k", s), "stale old")
		want(t, "while the refresh runs, again", fetch(c, "k", s), "stale old")
		time.Sleep(101 * time.Millisecond)
		want(t, "after it", fetch(c, "k", s), "hit new")
		c.Purge(6, "module")
		want(t, "an older event comes late", state(c, "k"), "fresh")
	})
}

// The guaranteed second consists of 800 ms for the cache and 200 ms for the fill.
func TestLateReaderOfAPurgedEntryWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, cache.Config{})
		old := &source{text: "old", tags: []string{"b"}, asOf: 1, onError: time.Hour}
		fetch(c, "k", old)
		fetch(c, "l", old)
		time.Sleep(10 * time.Second)
		c.Purge(2, "b")
		for i := range 10 { // further purges of the tag must not extend the time
			time.Sleep(79 * time.Millisecond)
			c.Purge(int64(3+i), "b")
		}
		time.Sleep(20 * time.Millisecond)
		want(t, "state after 810 ms", state(c, "k"), "error-only")
		s := &source{text: "new", tags: old.tags, asOf: 12, delay: 100 * time.Millisecond}
		want(t, "first reader after 810 ms", fetch(c, "k", s), "fill new")
		bad := &source{err: context.DeadlineExceeded}
		want(t, "the same with the origin away", fetch(c, "l", bad), "on-error old")
	})
}

func TestPurgedWithoutWindowsIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, cache.Config{})
		_, _, err := c.Fetch(t.Context(), "k", func(context.Context) (*cache.Entry, error) {
			return &cache.Entry{Fresh: minute, Tags: []string{"b"}, AsOf: 1}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		want(t, "before", state(c, "k"), "fresh")
		c.Purge(2, "b")
		want(t, "after", state(c, "k"), "miss")
	})
}

func TestHardPurge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, cache.Config{})
		s := &source{text: "secret", tags: []string{"b"}, asOf: 1, onError: time.Hour}
		fetch(c, "k", s)
		c.PurgeHard(2, "b")
		want(t, "state", state(c, "k"), "miss")
		want(t, "origin away", fetch(c, "k", &source{err: context.Canceled}), "error: context canceled")
		time.Sleep(1100 * time.Millisecond)
		want(t, "a fill that still gives what was purged", fetch(c, "k", s), "error: "+cache.ErrPurged.Error())
		time.Sleep(1100 * time.Millisecond)
		s.set("public", 2)
		want(t, "a fill that knows", fetch(c, "k", s), "fill public")
	})
}

// What names no tag and no event is as new as the start of its fill.
func TestPurgeOfEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, cache.Config{})
		s := &source{text: "style sheet", delay: 100 * time.Millisecond}
		fetch(c, "k", s)
		c.InvalidateBefore(3)
		want(t, "made before", state(c, "k"), "stale")
		time.Sleep(time.Hour)
		want(t, "made after", fetch(c, "k", s), "fill style sheet")
		want(t, "state", state(c, "k"), "fresh")
		c.InvalidateBeforeHard(4)
		want(t, "made before a hard one", state(c, "k"), "miss")
		want(t, "made after it", fetch(c, "k", s), "fill style sheet")
		go func() {
			time.Sleep(50 * time.Millisecond)
			c.InvalidateBeforeHard(5)
		}()
		want(t, "begun before it", fetch(c, "l", s), "fill style sheet")
		want(t, "the first, after the third", state(c, "k"), "miss")
		want(t, "the second, made again", state(c, "l"), "fresh")
	})
}

func TestHardPurgeWhileReadersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, cache.Config{})
		old := &source{text: "secret", tags: []string{"b"}, asOf: 1, onError: time.Hour}
		fetch(c, "k", old)
		time.Sleep(15 * minute)
		bad := &source{err: context.Canceled, delay: time.Second}
		go func() {
			time.Sleep(500 * time.Millisecond)
			c.PurgeHard(2, "b")
		}()
		want(t, "the entry to fall back on was purged meanwhile", fetch(c, "k", bad), "error: context canceled")
	})
}

func TestLateFillAfterPurge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, cache.Config{})
		slow := &source{text: "old", tags: []string{"b"}, asOf: 1, delay: time.Second}
		early := make(chan string)
		go func() { early <- fetch(c, "k", slow) }()
		time.Sleep(500 * time.Millisecond)
		c.Purge(2, "b")
		slow.set("new", 2)
		// Both readers wait for a fill that began before the purge. They detect it
		// and get its entry while a refresh runs.
		want(t, "a reader after the purge", fetch(c, "k", slow), "stale old")
		want(t, "the reader before it", <-early, "stale old")
		time.Sleep(1001 * time.Millisecond)
		want(t, "and then", fetch(c, "k", slow), "hit new")
		if n := slow.fills.Load(); n != 2 {
			t.Errorf("fills: got %d, want 2", n)
		}
	})
}

func TestPurgeDuringSlowFills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, cache.Config{})
		slow := &source{text: "old", tags: []string{"b"}, asOf: 1, delay: 2 * time.Second}
		go func() {
			time.Sleep(time.Second)
			slow.set("new", 2)
			c.Purge(2, "b")
		}()
		want(t, "a fill that ends a second after the purge", fetch(c, "k", slow), "fill new")
		if n := slow.fills.Load(); n != 2 {
			t.Errorf("fills: got %d, want 2", n)
		}
	})
}

// A derived entry whose parts are served on error is stale from the start. Filling
// it repeatedly would return the same.
func TestFillReturnsStaleEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, cache.Config{})
		c.Purge(5, "b")
		time.Sleep(time.Second)
		s := &source{text: "old", tags: []string{"b"}, asOf: 1, onError: time.Hour}
		want(t, "first", fetch(c, "k", s), "stale old")
		for range 100 {
			want(t, "then", fetch(c, "k", s), "on-error old")
		}
		if n := s.fills.Load(); n != 1 {
			t.Errorf("fills within a second: got %d, want 1", n)
		}
		c.Purge(6, "unrelated") // an event has occurred, so the fill runs again
		s.set("old", 6)
		want(t, "after another event", fetch(c, "k", s), "fill old")
		want(t, "and", fetch(c, "k", s), "hit old")
	})
}

func TestInvalidateBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, cache.Config{})
		fetch(c, "tagged", &source{text: "a", tags: []string{"b"}, asOf: 5})
		fetch(c, "bare", &source{text: "a", asOf: 5})
		fetch(c, "newer", &source{text: "a", asOf: 9})
		synctest.Wait()
		c.InvalidateBefore(9)
		want(t, "tagged", state(c, "tagged"), "stale")
		want(t, "without tags", state(c, "bare"), "stale")
		want(t, "as new as the gap", state(c, "newer"), "fresh")
		want(t, "fetched", fetch(c, "tagged", &source{text: "b", tags: []string{"b"}, asOf: 9}), "stale a")
		want(t, "refreshed", state(c, "tagged"), "fresh")
	})
}

func TestReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, cache.Config{})
		fetch(c, "k", &source{text: "old", tags: []string{"b"}, asOf: 5000, onError: time.Hour})
		synctest.Wait()
		c.Purge(5000, "b")
		c.Reset()
		want(t, "state", state(c, "k"), "error-only")
		want(t, "the new log begins at 1", fetch(c, "k", &source{text: "new", tags: []string{"b"}, asOf: 1}),
			"fill new")
		want(t, "stored over a higher number", state(c, "k"), "fresh")
		c.Purge(2, "b")
		want(t, "and followed", state(c, "k"), "stale")
	})
}

// Of 20,000 tags a hundred purges of others reach about 3; with one stripe for each tag it was 122.
func TestPurgeReachesFewOtherTags(t *testing.T) {
	c := open(t, cache.Config{})
	for i := range 100 {
		c.Purge(2, fmt.Sprint("purged", i))
	}
	n := 0
	for i := range 20_000 {
		if c.Purged(1, fmt.Sprint("other", i)) {
			n++
		}
	}
	if n > 30 {
		t.Errorf("%d other tags are purged", n)
	}
	for i := range 100 {
		if tag := fmt.Sprint("purged", i); !c.Purged(1, tag) || c.Purged(2, tag) {
			t.Errorf("%s: want purged by event 2", tag)
		}
	}
}

func TestManyTagsAreAffectedByEveryPurge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, cache.Config{})
		var tags []string
		for i := range 50 {
			tags = append(tags, fmt.Sprint("brand:", i))
		}
		s := &source{text: "a", tags: tags, asOf: 1, onError: time.Hour}
		fetch(c, "k", s)
		want(t, "before", state(c, "k"), "fresh")
		c.Purge(2, "brand:49")
		want(t, "after", state(c, "k"), "stale")
		time.Sleep(time.Second)
		want(t, "a second after", state(c, "k"), "error-only")
		c.PurgeHard(3, "brand:49")
		want(t, "after a hard one", state(c, "k"), "miss")
	})
}

func TestFromParts(t *testing.T) {
	at := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	a := &cache.Entry{AsOf: 5, Born: at.Add(time.Minute), Tags: []string{"brand:a", "module"}}
	b := &cache.Entry{AsOf: 3, Born: at, Tags: []string{"brand:a", "module"}}
	for _, parts := range [][]*cache.Entry{{a, b}, {b, a}, {b}} {
		e := new(cache.Entry).From(parts...)
		want(t, "from its parts", fmt.Sprint(e.AsOf, e.Born.Equal(at), e.Tags), "3 true [brand:a module]")
	}
	defer func() {
		want(t, "from parts with different tags", fmt.Sprint(recover()),
			`BUG: an entry from parts with different tags: ["brand:a" "module"] and ["brand:a"]`)
	}()
	new(cache.Entry).From(a, &cache.Entry{AsOf: 3, Tags: []string{"brand:a"}})
}
