package ranking

import (
	"hash/maphash"
	"iter"
	"slices"

	"github.com/fieldmark/fieldmark"
)

// slugTable finds rows by slug. It never changes: a table made from it by a change shares all shards but those that
// changed.
//
// It is a hash table, because a batch looks up a thousand slugs: among a million rows, each line of memory that a
// lookup reads comes from another place, and a search in a sorted list reads eight more.
type slugTable struct {
	shards []shard // a power of two, so that a hash selects one by its bits
	size   int
}

// shard is a hash table with linear probing. A third of its slots are empty.
type shard []slot

// slot has a row and the half of the hash that selects its place, so that a lookup reads no row of another slug.
type slot struct {
	tag uint32
	row *Row
}

// shardSize is how many rows a shard has on average in a new table, and half of what it may grow to: a change copies
// one shard and the list of shards.
const shardSize = 1024

// slugSeed is random, so that slugs that share a place cannot be chosen.
var slugSeed = maphash.MakeSeed()

// newSlugTable returns a table of n rows.
func newSlugTable(rows iter.Seq[*Row], n int) slugTable {
	t := slugTable{shards: make([]shard, 1), size: n}
	for len(t.shards)*shardSize < n {
		t.shards = append(t.shards, t.shards...)
	}
	parts := make([][]slot, len(t.shards))
	for r := range rows {
		i, tag := t.place(r.slug)
		parts[i] = append(parts[i], slot{tag, r})
	}
	for i, slots := range parts {
		t.shards[i] = newShard(slots)
	}
	return t
}

// place returns the shard of a slug, and its tag there.
func (t *slugTable) place(slug fieldmark.Slug) (shard int, tag uint32) {
	h := maphash.String(slugSeed, string(slug))
	return int(h>>32) & (len(t.shards) - 1), uint32(h)
}

// newShard returns a shard with slots, none of which is empty.
func newShard(slots []slot) shard {
	s := make(shard, len(slots)+len(slots)/2+1)
	for _, added := range slots {
		i := s.first(added.tag)
		for s[i].row != nil {
			i = s.next(i)
		}
		s[i] = added
	}
	return s
}

// first returns the slot at which the search for a tag begins.
func (s shard) first(tag uint32) int { return int(uint64(tag) * uint64(len(s)) >> 32) }

// next returns the slot at which a search goes on after slot i.
func (s shard) next(i int) int {
	if i++; i < len(s) {
		return i
	}
	return 0
}

// find returns the row of a slug, or nil.
func (t *slugTable) find(slug fieldmark.Slug) *Row {
	i, tag := t.place(slug)
	s := t.shards[i]
	for i = s.first(tag); ; i = s.next(i) {
		if s[i].row == nil || s[i].tag == tag && s[i].row.slug == slug {
			return s[i].row
		}
	}
}

// apply returns the table without the rows of out, which must be in it, and with those of in, which must not be in
// it once those are gone.
func (t *slugTable) apply(out, in []*Row) slugTable {
	next := slugTable{shards: slices.Clone(t.shards), size: t.size - len(out) + len(in)}
	gone, changed := map[*Row]bool{}, map[int][]slot{}
	for _, r := range out {
		i, _ := t.place(r.slug)
		gone[r] = true
		if changed[i] == nil {
			changed[i] = []slot{} // the shard only loses rows
		}
	}
	for _, r := range in {
		i, tag := t.place(r.slug)
		changed[i] = append(changed[i], slot{tag, r})
	}
	for i, slots := range changed {
		for _, old := range t.shards[i] {
			if old.row != nil && !gone[old.row] {
				slots = append(slots, old)
			}
		}
		next.shards[i] = newShard(slots)
	}
	return next
}

// crowded reports whether shards have grown so far that a table with more of them is due.
func (t *slugTable) crowded() bool { return t.size > 2*shardSize*len(t.shards) }
