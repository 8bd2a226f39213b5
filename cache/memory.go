package cache

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/dgraph-io/ristretto/v2"
)

const (
	// entryOverhead is the size of an entry besides its bytes: the Entry, its slot,
	// and its place in ristretto's three maps.
	entryOverhead = 512
	// costStep is the multiple that costs are rounded up to, so that a refresh
	// which changes a few digits does not change the cost in ristretto.
	costStep = 64
	// typicalEntry is the expected size of an entry, which sizes ristretto's
	// frequency sketch: a badge with its head, key and bookkeeping.
	typicalEntry = 2 << 10
	// countersPerEntry is the factor that ristretto's manual recommends.
	countersPerEntry = 10
	// maxEntryFraction limits one entry to 1/64 of a shard. To admit a larger one
	// ristretto evicts dozens of others, even if it then rejects the large one.
	maxEntryFraction = 64
	// getBuffer is the value that ristretto recommends.
	getBuffer = 64
	// cleanupSeconds is the interval of ristretto's TTL cleanup. TTLs are not used,
	// because they double the cost of a lookup and free memory late.
	cleanupSeconds = 24 * 60 * 60
)

// slot is the value stored in ristretto. It stays while its entry is replaced, so
// that a refresh is visible at once and needs no Set. ristretto stores only the hash
// of the key; comparing the whole key makes a collision a miss.
type slot struct {
	key   string
	entry atomic.Pointer[Entry]
	early atomic.Bool // a reader has drawn the early refresh of entry
	cost  int64       // as known to ristretto; under shard.mu
}

// shard is one ristretto instance and the only place that writes to it.
//
// Ristretto loses a second Set of a key that it has not applied yet, drops Sets
// when its buffer is full (41 to 83 % of a burst, measured), does not evict when an
// update grows an entry, and panics on a Set during Close. So there is one writer
// at a time, which waits until its change is applied: a few microseconds on the
// goroutine of a fill whose waiters already have their entry. A slot that would
// grow past the limit is removed and added as new, which does evict. closed is
// under the same lock. Correctness does not depend on any of this.
type shard struct {
	store   *ristretto.Cache[uint64, *slot]
	largest int64 // cost above which an entry is not stored
	dropped atomic.Int64
	evicted atomic.Int64
	entries atomic.Int64

	mu     sync.Mutex
	closed bool

	flights flights
}

// newShard creates a shard of at most this many bytes.
func newShard(bytes int64) (*shard, error) {
	s := &shard{largest: bytes / maxEntryFraction}
	s.flights.byKey = map[string]*flight{}
	store, err := ristretto.NewCache(&ristretto.Config[uint64, *slot]{
		MaxCost:            bytes,
		NumCounters:        countersPerEntry * max(bytes/typicalEntry, 1),
		BufferItems:        getBuffer,
		IgnoreInternalCost: true,

		TtlTickerDurationInSec: cleanupSeconds,
		// The key is already a hash; the slot has the whole key to compare.
		KeyToHash: func(hash uint64) (uint64, uint64) { return hash, 0 },
		OnReject:  func(*ristretto.Item[*slot]) { s.dropped.Add(1) },
		OnEvict:   func(*ristretto.Item[*slot]) { s.evicted.Add(1); s.entries.Add(-1) },
	})
	if err != nil {
		return nil, fmt.Errorf("create a ristretto cache of %d bytes: %w", bytes, err)
	}
	s.store = store
	return s, nil
}

// get returns the slot of a key, or nil.
func (s *shard) get(hash uint64, key string) *slot {
	b, ok := s.store.Get(hash)
	if !ok || b.key != key {
		return nil
	}
	return b
}

// put stores e under key. It returns how many entries were dropped (e itself) and
// evicted for it.
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
		if found { // or the smaller entry would be served stale forever
			s.remove(hash)
		}
		return 1, 0
	case found && b.key == key && cost == b.cost:
		b.replace(e)
		return 0, 0
	case found && b.key == key && cost-b.cost <= s.store.RemainingCost():
		b.replace(e)
	case found:
		// The slot of another key, or one that would grow past the limit.
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

// replace stores a refreshed entry and allows its early refresh again.
func (b *slot) replace(e *Entry) {
	b.entry.Store(e)
	b.early.Store(false)
}

// remove removes the slot under hash.
func (s *shard) remove(hash uint64) {
	s.entries.Add(-1)
	s.store.Del(hash)
	s.store.Wait()
}

// costOf returns the accounted size of an entry in bytes, a multiple of costStep.
func costOf(key string, e *Entry) int64 {
	n := len(key) + len(e.Head) + len(e.Body) + len(e.Type) + len(e.ETag)
	for _, tag := range e.Tags {
		n += len(tag)
	}
	cost := int64(n) + max(e.Weight, 0) + entryOverhead
	return (cost + costStep - 1) / costStep * costStep
}

// used returns the accounted size of all entries.
func (s *shard) used() int64 {
	return s.store.MaxCost() - s.store.RemainingCost()
}

// close frees the memory. Later calls of put have no effect.
func (s *shard) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.store.Close()
}
