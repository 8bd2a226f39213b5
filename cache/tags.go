package cache

import (
	"hash/maphash"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// numStripes is the size of the tag table. Two tags share a stripe once in
	// 16,384, which costs one needless refresh; the table costs 400 kB.
	numStripes = 1 << 14

	// allTags in held.tags marks an entry with more than MaxTags tags: it
	// follows every purge instead of its own few.
	allTags = MaxTags + 1

	// purgePeriod divides time after a purge. An entry purged in the present or
	// the previous slot may still be served while its refresh runs, an older
	// one may not: so nobody sees an old value for longer than two slots,
	// which leaves room for a fill within the promised second.
	purgePeriod = 400 * time.Millisecond
)

// stripe remembers the purges of the tags whose hash leads to it.
type stripe struct {
	soft   atomic.Int64 // highest event purged, soft or hard
	hard   atomic.Int64 // highest event purged hard
	recent atomic.Pointer[purgeHistory]
}

// purgeHistory tells the purges of the last slot from those before.
type purgeHistory struct {
	period int64
	newest int64 // highest event purged up to and with slot
	older  int64 // highest event purged before slot
}

// raise lets the stripe know of a purge. Callers hold tagTable.mu.
func (s *stripe) raise(event, slot int64, hard bool) {
	if event <= s.soft.Load() && !hard {
		return
	}
	w := purgeHistory{period: slot, newest: event}
	if old := s.recent.Load(); old != nil {
		w.newest = max(event, old.newest)
		w.older = old.older
		if old.period < slot {
			w.older = old.newest
		}
	}
	s.recent.Store(&w)
	if hard && event > s.hard.Load() {
		s.hard.Store(event) // before soft: whoever sees soft must see hard
	}
	s.soft.Store(max(event, s.soft.Load()))
}

// graceOver returns the highest event whose purge is too old for the entry to be
// served while a refresh runs.
func (s *stripe) graceOver(slot int64) int64 {
	w := s.recent.Load()
	switch {
	case w == nil:
		return math.MinInt64
	case w.period+1 < slot:
		return w.newest
	}
	return w.older
}

func (s *stripe) reset() {
	s.soft.Store(0)
	s.hard.Store(0)
	s.recent.Store(nil)
}

// tagTable answers for any entry whether it was purged, without an index of
// keys: a purge writes the event's number into the stripe of the tag, a hit
// compares it with the entry's AsOf.
type tagTable struct {
	seed    maphash.Seed
	stripes []stripe
	all     stripe // what Lost raises: every entry follows it
	anyTag  stripe // raised with every purge, for entries with too many tags

	purges atomic.Int64 // counts purges of any kind, to tell "since then"
	epoch  atomic.Int64 // counts resets

	mu sync.Mutex // orders writers; readers never take it
}

func newTagTable() *tagTable {
	return &tagTable{seed: maphash.MakeSeed(), stripes: make([]stripe, numStripes)}
}

func (t *tagTable) index(tag string) uint16 {
	return uint16(maphash.String(t.seed, tag) % numStripes)
}

// setStripes works out the stripes of an entry.
func (t *tagTable) setStripes(e *Entry) {
	if len(e.Tags) > MaxTags {
		e.deadlines.tags = allTags
		return
	}
	e.deadlines.tags = uint8(len(e.Tags))
	for i, tag := range e.Tags {
		e.deadlines.stripes[i] = t.index(tag)
	}
}

// purge raises the stripes of tags.
func (t *tagTable) purge(event, now int64, hard bool, tags []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.purges.Add(1)
	slot := now / int64(purgePeriod)
	for _, tag := range tags {
		t.stripes[t.index(tag)].raise(event, slot, hard)
	}
	if len(tags) > 0 {
		t.anyTag.raise(event, slot, hard)
	}
}

// purgeAll raises what every entry follows.
func (t *tagTable) purgeAll(event, now int64, hard bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.purges.Add(1)
	t.all.raise(event, now/int64(purgePeriod), hard)
}

// reset begins a new count of events.
func (t *tagTable) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.purges.Add(1)
	t.epoch.Add(1) // before the numbers go: nothing old may look fresh meanwhile
	for i := range t.stripes {
		t.stripes[i].reset()
	}
	t.all.reset()
	t.anyTag.reset()
}

// purged reports whether e is older than a purge that concerns it. This is
// what every hit runs.
func (t *tagTable) purged(e *Entry) bool {
	h := &e.deadlines
	if t.all.soft.Load() > h.asOf || t.epoch.Load() != h.epoch {
		return true
	}
	if h.tags == allTags {
		return t.anyTag.soft.Load() > h.asOf
	}
	for _, i := range h.stripes[:h.tags] {
		if t.stripes[i].soft.Load() > h.asOf {
			return true
		}
	}
	return false
}

// hardPurged reports whether e was purged hard.
func (t *tagTable) hardPurged(e *Entry) bool {
	h := &e.deadlines
	if t.all.hard.Load() > h.asOf {
		return true
	}
	if h.tags == allTags {
		return t.anyTag.hard.Load() > h.asOf
	}
	for _, i := range h.stripes[:h.tags] {
		if t.stripes[i].hard.Load() > h.asOf {
			return true
		}
	}
	return false
}

// graceOver reports whether a purge of e is so long ago that readers must wait
// for the new entry.
func (t *tagTable) graceOver(e *Entry, now int64) bool {
	h := &e.deadlines
	slot := now / int64(purgePeriod)
	if t.epoch.Load() != h.epoch || t.all.graceOver(slot) > h.asOf {
		return true
	}
	if h.tags == allTags {
		return t.anyTag.graceOver(slot) > h.asOf
	}
	for _, i := range h.stripes[:h.tags] {
		if t.stripes[i].graceOver(slot) > h.asOf {
			return true
		}
	}
	return false
}
