package cache

import (
	"hash/maphash"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// stripeBits is the number of bits of a hash that select a stripe. The table takes
	// 400 kB. Each tag has two stripes, as in a Bloom filter, and is purged if both
	// are. Two tags have the same two once in 268 million, and after a thousand purges
	// an entry is needlessly refreshed once in 75.
	stripeBits = 14
	// numStripes is the size of the tag table.
	numStripes = 1 << stripeBits

	// allTags in deadlines.tags marks an entry with more than MaxTags tags: it is
	// affected by every purge.
	allTags = MaxTags + 1

	// purgePeriod divides the time after a purge. An entry purged in the current or
	// the previous period may be served while its refresh runs, an older one may
	// not. So no reader sees an old value for more than two periods, which leaves
	// time for a fill within the promised second.
	purgePeriod = 400 * time.Millisecond
)

// stripe holds the purges of all tags that have it.
type stripe struct {
	soft   atomic.Int64 // highest event purged, soft or hard
	hard   atomic.Int64 // highest event purged hard
	recent atomic.Pointer[purgeHistory]
}

// purgeHistory separates the purges of the latest period from earlier ones. With a
// single time per stripe, frequent purges of one tag would extend the grace period
// forever.
type purgeHistory struct {
	period int64
	newest int64 // highest event purged up to the end of period
	older  int64 // highest event purged before period
}

// raise records a purge. Callers hold tagTable.mu.
func (s *stripe) raise(event, period int64, hard bool) {
	if event <= s.soft.Load() && !hard {
		return
	}
	w := purgeHistory{period: period, newest: event}
	if old := s.recent.Load(); old != nil {
		w.newest = max(event, old.newest)
		w.older = old.older
		if old.period < period {
			w.older = old.newest
		}
	}
	s.recent.Store(&w)
	if hard && event > s.hard.Load() {
		s.hard.Store(event) // before soft: a reader that sees soft must see hard
	}
	s.soft.Store(max(event, s.soft.Load()))
}

// graceOver returns the highest event whose purge is too old for the entry to be
// served while a refresh runs.
func (s *stripe) graceOver(period int64) int64 {
	w := s.recent.Load()
	switch {
	case w == nil:
		return math.MinInt64
	case w.period+1 < period:
		return w.newest
	}
	return w.older
}

// reset removes all purges.
func (s *stripe) reset() {
	s.soft.Store(0)
	s.hard.Store(0)
	s.recent.Store(nil)
}

// tagTable decides whether an entry was purged, without an index of keys: a purge
// writes the event number into the two stripes of the tag, and a hit compares them
// with the entry's AsOf. The table has a fixed size, and purging a tag of a million
// entries is two stores. An index would grow with the entries, and a fill that ends
// after the purge would restore the old value.
type tagTable struct {
	seed    maphash.Seed
	stripes []stripe
	all     stripe // raised by InvalidateBefore: affects every entry
	anyTag  stripe // raised by every purge, for entries with too many tags

	purges atomic.Int64 // number of purges of any kind, to detect one since a point in time
	epoch  atomic.Int64 // number of resets

	mu sync.Mutex // serializes writers; readers never take it
}

func newTagTable() *tagTable {
	return &tagTable{seed: maphash.MakeSeed(), stripes: make([]stripe, numStripes)}
}

// stripePair is the two stripes of a tag, as indexes into tagTable.stripes.
type stripePair [2]uint16

// pair returns the stripes of a tag.
func (t *tagTable) pair(tag string) stripePair {
	h := maphash.String(t.seed, tag)
	return stripePair{uint16(h % numStripes), uint16(h >> stripeBits % numStripes)}
}

// setStripes computes the stripes of an entry.
func (t *tagTable) setStripes(e *Entry) {
	if len(e.Tags) > MaxTags {
		e.deadlines.tags = allTags
		return
	}
	e.deadlines.tags = uint8(len(e.Tags))
	for i, tag := range e.Tags {
		e.deadlines.stripes[i] = t.pair(tag)
	}
}

// purge raises the stripes of tags.
func (t *tagTable) purge(event, now int64, hard bool, tags []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.purges.Add(1)
	slot := now / int64(purgePeriod)
	for _, tag := range tags {
		for _, i := range t.pair(tag) {
			t.stripes[i].raise(event, slot, hard)
		}
	}
	if len(tags) > 0 {
		t.anyTag.raise(event, slot, hard)
	}
}

// purgeAll raises the stripe that affects every entry.
func (t *tagTable) purgeAll(event, now int64, hard bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.purges.Add(1)
	t.all.raise(event, now/int64(purgePeriod), hard)
}

// reset clears all event numbers.
func (t *tagTable) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.purges.Add(1)
	t.epoch.Add(1) // before the numbers: no old entry may look fresh in between
	for i := range t.stripes {
		t.stripes[i].reset()
	}
	t.all.reset()
	t.anyTag.reset()
}

// purged reports whether e is older than a purge that affects it. Every hit calls
// it.
func (t *tagTable) purged(e *Entry) bool {
	h := &e.deadlines
	if t.all.soft.Load() > h.asOf || t.epoch.Load() != h.epoch {
		return true
	}
	if h.tags == allTags {
		return t.anyTag.soft.Load() > h.asOf
	}
	for _, p := range h.stripes[:h.tags] {
		if t.stripes[p[0]].soft.Load() > h.asOf && t.stripes[p[1]].soft.Load() > h.asOf {
			return true
		}
	}
	return false
}

// hardPurged reports whether a hard purge affects e.
func (t *tagTable) hardPurged(e *Entry) bool {
	h := &e.deadlines
	if t.all.hard.Load() > h.asOf {
		return true
	}
	if h.tags == allTags {
		return t.anyTag.hard.Load() > h.asOf
	}
	for _, p := range h.stripes[:h.tags] {
		if t.stripes[p[0]].hard.Load() > h.asOf && t.stripes[p[1]].hard.Load() > h.asOf {
			return true
		}
	}
	return false
}

// graceOver reports whether the purge of e is so old that readers must wait for the
// new entry.
func (t *tagTable) graceOver(e *Entry, now int64) bool {
	h := &e.deadlines
	slot := now / int64(purgePeriod)
	if t.epoch.Load() != h.epoch || t.all.graceOver(slot) > h.asOf {
		return true
	}
	if h.tags == allTags {
		return t.anyTag.graceOver(slot) > h.asOf
	}
	for _, p := range h.stripes[:h.tags] {
		if t.stripes[p[0]].graceOver(slot) > h.asOf && t.stripes[p[1]].graceOver(slot) > h.asOf {
			return true
		}
	}
	return false
}
