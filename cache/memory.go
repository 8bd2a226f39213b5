package cache

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/dgraph-io/ristretto/v2"
)

const (
	// entryOverhead is what an entry costs besides its bytes: the Entry, its
	// box, and ristretto's three maps.
	entryOverhead = 512
	// costStep is what costs are rounded up to, so that a refresh which changes
	// a few digits need not tell ristretto of a new cost.
	costStep = 64
	// typicalEntry is the size we expect of an entry, to size ristretto's
	// frequency sketch: a badge with its head, key and book-keeping.
	typicalEntry = 2 << 10
	// countersPerEntry is what ristretto's manual asks for.
	countersPerEntry = 10
	// maxEntryFraction is the part of a shard one entry may take. Admitting a larger
	// one would displace dozens, and ristretto displaces them even when it
	// then turns the large one away.
	maxEntryFraction = 64
	// getBuffer is ristretto's own recommendation.
	getBuffer = 64
	// cleanupSeconds is how often ristretto looks for what its TTL ended. We
	// use none, so it may sleep.
	cleanupSeconds = 24 * 60 * 60
)

// slot is the value ristretto holds. It stays while entries come and go in it,
// so that a refresh is seen at once and needs nothing of ristretto.
type slot struct {
	key   string
	entry atomic.Pointer[Entry]
	early atomic.Bool // somebody has drawn the early refresh of entry
	cost  int64       // as ristretto knows it; under shard.mu
}

// shard is one ristretto instance and the only place that writes to it.
//
// Ristretto loses a second Set of a key it has not yet applied, drops Sets
// when its buffer is full, does not evict when an update grows, and panics on
// a Set during Close. So there is one writer at a time, which waits until its
// change is applied (a few microseconds on a filler's goroutine, whose
// waiters have been served already); a box that would outgrow the bound is
// taken out and put in again as new, which does evict; and closed is under
// the same lock. None of this is needed for an answer to be right.
type shard struct {
	store   *ristretto.Cache[uint64, *slot]
	largest int64 // cost above which an entry is not kept
	dropped atomic.Int64
	evicted atomic.Int64
	entries atomic.Int64

	mu     sync.Mutex
	closed bool

	flights flights
}

func newShard(bytes int64) (*shard, error) {
	s := &shard{largest: bytes / maxEntryFraction}
	s.flights.byKey = map[string]*flight{}
	store, err := ristretto.NewCache(&ristretto.Config[uint64, *slot]{
		MaxCost:            bytes,
		NumCounters:        countersPerEntry * max(bytes/typicalEntry, 1),
		BufferItems:        getBuffer,
		IgnoreInternalCost: true,

		TtlTickerDurationInSec: cleanupSeconds,
		// The key is a hash already; the box has the whole key to compare.
		KeyToHash: func(hash uint64) (uint64, uint64) { return hash, 0 },
		OnReject:  func(*ristretto.Item[*slot]) { s.dropped.Add(1) },
		OnEvict:   func(*ristretto.Item[*slot]) { s.evicted.Add(1); s.entries.Add(-1) },
	})
	if err != nil {
		return nil, fmt.Errorf("make a ristretto of %d bytes: %w", bytes, err)
	}
	s.store = store
	return s, nil
}

// get finds the box of a key. Two keys with one hash never see each other.
func (s *shard) get(hash uint64, key string) *slot {
	b, ok := s.store.Get(hash)
	if !ok || b.key != key {
		return nil
	}
	return b
}

// put keeps e under key. It returns how many entries were dropped (e itself)
// and evicted for it.
func (s *shard) put(hash uint64, key string, e *Entry) (dropped, evicted int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 1, 0
	}
	droppedBefore, evictedBefore := s.dropped.Load(), s.evicted.Load()
	cost := costOf(key, e)
	b, found := s.store.Get(hash)
	removed := false
	switch {
	case cost > s.largest:
		if found { // or the smaller one would be served stale for ever
			s.remove(hash)
		}
		return 1, 0
	case found && b.key == key && cost == b.cost:
		b.replace(e)
		return 0, 0
	case found && b.key == key && cost-b.cost <= s.store.RemainingCost():
		b.replace(e)
	case found:
		// Another key's box, or one that grows past the bound.
		s.remove(hash)
		removed = true
		fallthrough
	default:
		b = &slot{key: key}
		b.entry.Store(e)
	}
	b.cost = cost
	if !s.store.Set(hash, b, cost) {
		s.dropped.Add(1)
	}
	s.store.Wait()
	if dropped = s.dropped.Load() - droppedBefore; dropped == 0 && (!found || removed) {
		s.entries.Add(1)
	}
	return dropped, s.evicted.Load() - evictedBefore
}

func (b *slot) replace(e *Entry) {
	b.entry.Store(e)
	b.early.Store(false)
}

// remove takes out what is there under hash.
func (s *shard) remove(hash uint64) {
	s.entries.Add(-1)
	s.store.Del(hash)
	s.store.Wait()
}

func costOf(key string, e *Entry) int64 {
	n := len(key) + len(e.Head) + len(e.Body) + len(e.Type) + len(e.ETag)
	for _, tag := range e.Tags {
		n += len(tag)
	}
	cost := int64(n) + max(e.Weight, 0) + entryOverhead
	return (cost + costStep - 1) / costStep * costStep
}

func (s *shard) used() int64 {
	return s.store.MaxCost() - s.store.RemainingCost()
}

func (s *shard) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.store.Close()
}
