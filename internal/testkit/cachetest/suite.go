package cachetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/internal/timeout"
)

// Run runs the tests that every combination of tiers must pass. Each call of node
// returns another process of one fleet, joined to one log. size is the number of
// bytes in an entry; with large entries the memory stores none. shared says whether
// the fleet has a shared tier.
func Run(t *testing.T, node func(testing.TB) *cache.Cache, size int, shared bool) {
	s := suite{node: node, size: size, shared: shared}
	t.Run("content", s.content)
	t.Run("concurrent misses", s.concurrent)
	t.Run("purged", s.purged)
	t.Run("purged hard", s.purgedHard)
	t.Run("all entries purged", s.purgedAll)
	t.Run("purge during a fill", s.purgedDuringFill)
	t.Run("source unavailable", s.unavailable)
	t.Run("gone at the source", s.gone)
	t.Run("fill that panics", s.panics)
}

// suite has the arguments of Run.
type suite struct {
	node   func(testing.TB) *cache.Cache
	size   int
	shared bool
}

// key is different in each test, because the tests share a tier.
func key(t *testing.T) string { return "suite/" + t.Name() }

// entry returns an entry whose body starts with text.
func (s *suite) entry(text string, asOf int64) *cache.Entry {
	// The size decides which tier can store the entry: large ones are in none.
	body := append([]byte(text+"\n"), make([]byte, s.size)...)
	return &cache.Entry{Body: body, Status: 200, Tags: []string{"brand:a", "module"}, AsOf: asOf,
		Fresh: time.Minute, Stale: time.Minute, OnError: time.Hour}
}

// fetch returns the first line of the body. The limit is generous, so that only a deadlock reaches it.
func (s *suite) fetch(c *cache.Cache, key string, fill cache.Fill) (string, cache.Source, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	e, from, err := c.Fetch(ctx, key, c.SharedFill(key, startTimeout, nil, fill))
	if err != nil {
		return "", from, err
	}
	text, _, _ := bytes.Cut(e.Body, []byte{'\n'})
	return string(text), from, nil
}

// want checks what a process gets for the key of the test, and returns where it came from.
func (s *suite) want(t *testing.T, c *cache.Cache, want string, fill cache.Fill) cache.Source {
	t.Helper()
	got, from, err := s.fetch(c, key(t), fill)
	if err != nil || got != want {
		t.Errorf("fetch: got %q (%s, %v), want %q", got, from, err, want)
	}
	return from
}

// returns is a source that has an entry of a version.
func (s *suite) returns(text string, asOf int64) cache.Fill {
	return func(context.Context) (*cache.Entry, error) { return s.entry(text, asOf), nil }
}

// fails is a source that is not available: what a test gets then comes from a tier.
func fails(context.Context) (*cache.Entry, error) { return nil, errors.New("source unavailable") }

// replicated waits until another process of a sharing fleet can read the entry.
func (s *suite) replicated(t *testing.T, text string, fill cache.Fill) *cache.Cache {
	t.Helper()
	other := s.node(t)
	if s.shared {
		probe, tries := s.node(t), 0
		waittest.Until(t, "the fleet has "+text, func() bool {
			got, _, err := s.fetch(probe, key(t), fails)
			if tries++; err != nil && tries%100 == 0 {
				s.want(t, s.node(t), text, fill) // a write that Redis was too slow for is dropped
			}
			return err == nil && got == text
		})
	}
	return other
}

// content checks that every member of an entry survives the tiers.
func (s *suite) content(t *testing.T) {
	a := s.node(t)
	full := s.entry("full", 7)
	// 203 is no status that a default could produce.
	full.Head, full.Type, full.ETag, full.Status = []byte("head"), "text/plain", `"tag"`, 203
	fill := func(context.Context) (*cache.Entry, error) { e := *full; return &e, nil }
	s.want(t, a, "full", fill)
	b := s.replicated(t, "full", fill)
	// Without a shared tier another process would fill for itself.
	if !s.shared {
		b = a
	}
	e, _, err := b.Fetch(t.Context(), key(t), b.SharedFill(key(t), startTimeout, nil, fails))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(e.AsOf, e.Status, string(e.Head), e.Type, e.ETag, e.Tags, len(e.Body), e.Fresh, e.Stale,
		e.OnError)
	if want := fmt.Sprint(7, 203, "head", "text/plain", `"tag"`, full.Tags, len(full.Body), full.Fresh, full.Stale,
		full.OnError); got != want {
		t.Errorf("entry: got %s, want %s", got, want)
	}
}

// concurrent checks that many requests of several processes for one cold key cause one fill.
func (s *suite) concurrent(t *testing.T) {
	nodes := []*cache.Cache{s.node(t)}
	if s.shared {
		nodes = append(nodes, s.node(t), s.node(t))
	}
	const lease = 2 * time.Second * timeout.Scale // after which another process fills
	const rounds = 30                             // far more than are needed, even on a busy machine
	for round := 1; ; round++ {
		k := fmt.Sprint(key(t), round)
		var fills atomic.Int64
		var wg sync.WaitGroup
		began := time.Now()
		for _, c := range nodes {
			for range 100 {
				wg.Go(func() {
					got, from, err := s.fetch(c, k, func(context.Context) (*cache.Entry, error) {
						fills.Add(1)
						return s.entry("one", 1), nil
					})
					if err != nil || got != "one" {
						t.Errorf("fetch: got %q (%s, %v), want one", got, from, err)
					}
				})
			}
		}
		wg.Wait()
		n, took := fills.Load(), time.Since(began)
		if n == 1 {
			return
		}
		if took < lease || round == rounds {
			t.Fatalf("fills of one cold key by %d processes: got %d within %s, want 1", len(nodes), n, took)
		}
	}
}

// purged checks that a purged entry is filled again, and that a purge of another tag changes nothing.
func (s *suite) purged(t *testing.T) {
	a := s.node(t)
	s.want(t, a, "old", s.returns("old", 1))
	b := s.replicated(t, "old", s.returns("old", 1))
	for i, c := range []*cache.Cache{a, b} {
		c.Purge(2, "brand:other")
		c.Purge(2, "brand:a")
		fill := s.returns("new", 2)
		if i == 1 && s.shared {
			fill = fails // it must use the entry of the first process
		}
		waittest.Until(t, "the purged entry was refilled", func() bool {
			got, _, err := s.fetch(c, key(t), fill)
			return err == nil && got == "new"
		})
	}
}

// purgedHard checks that an entry is never served after a hard purge, even if the source fails.
func (s *suite) purgedHard(t *testing.T) {
	a := s.node(t)
	s.want(t, a, "secret", s.returns("secret", 1))
	b := s.replicated(t, "secret", s.returns("secret", 1))
	for _, c := range []*cache.Cache{a, b} {
		c.PurgeHard(2, "brand:a")
		if got, from, err := s.fetch(c, key(t), fails); err == nil {
			t.Errorf("after a hard purge: got %q (%s), want an error", got, from)
		}
	}
}

// purgedAll checks the same of a hard purge of everything.
func (s *suite) purgedAll(t *testing.T) {
	a := s.node(t)
	s.want(t, a, "old", s.returns("old", 1))
	b := s.replicated(t, "old", s.returns("old", 1))
	for _, c := range []*cache.Cache{a, b} {
		c.InvalidateBeforeHard(2)
		if got, from, err := s.fetch(c, key(t), fails); err == nil {
			t.Errorf("after everything was purged hard: got %q (%s), want an error", got, from)
		}
	}
}

// purgedDuringFill checks that what a fill read before a purge is not served as fresh after it.
func (s *suite) purgedDuringFill(t *testing.T) {
	a, b := s.node(t), s.node(t)
	s.want(t, a, "old", func(context.Context) (*cache.Entry, error) {
		a.Purge(2, "brand:a") // an event that the fill has not seen
		b.Purge(2, "brand:a")
		return s.entry("old", 1), nil
	})
	if got := s.want(t, b, "new", s.returns("new", 2)); got == cache.SourceStale {
		t.Errorf("another process's late fill was served as fresh: %s", got)
	}
}

// unavailable checks that a purged entry is served while the source fails, within its OnError.
func (s *suite) unavailable(t *testing.T) {
	a := s.node(t)
	if got, from, err := s.fetch(a, key(t), fails); err == nil {
		t.Errorf("no entry in any tier: got %q (%s), want an error", got, from)
	}
	k := key(t) + "/old"
	if _, _, err := s.fetch(a, k, s.returns("old", 1)); err != nil {
		t.Fatal(err)
	}
	c := a
	if s.shared {
		c = s.node(t)
		waittest.Until(t, "the fleet has the entry", func() bool {
			_, _, err := s.fetch(s.node(t), k,
				fails)
			return err == nil
		})
	}
	c.Purge(2, "brand:a")
	if got, from, err := s.fetch(c, k, fails); err != nil || got != "old" {
		if s.shared || s.size < 1<<10 {
			t.Errorf("purged, source unavailable: got %q (%s, %v), want the old entry", got, from, err)
		}
	}
}

// gone checks that an entry that the source has withdrawn is not served stale.
func (s *suite) gone(t *testing.T) {
	a := s.node(t)
	s.want(t, a, "old", s.returns("old", 1))
	b := s.replicated(t, "old", s.returns("old", 1))
	for _, c := range slices.Compact([]*cache.Cache{a, b}) {
		c.Purge(2, "brand:a")
		waittest.Until(t, "the entry is absent", func() bool {
			_, _, err := s.fetch(c, key(t), func(context.Context) (*cache.Entry, error) {
				return nil, fmt.Errorf("withdrawn: %w", cache.ErrGone)
			})
			return errors.Is(err, cache.ErrGone)
		})
	}
}

// panics checks that a panic in a fill is an error of that request, and does not block the key.
func (s *suite) panics(t *testing.T) {
	a, b := s.node(t), s.node(t)
	_, _, err := s.fetch(a, key(t), func(context.Context) (*cache.Entry, error) { panic("oops") })
	if _, ok := errors.AsType[*cache.PanicError](err); !ok {
		t.Errorf("a fill that panics: got %v, want a PanicError", err)
	}
	s.want(t, b, "fine", s.returns("fine", 1))
}
