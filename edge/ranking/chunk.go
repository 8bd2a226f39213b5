package ranking

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// chunk is a part of a sorted list. It never changes.
//
// In a list by slug it has keys, so that a lookup reads one row. Each row is read from another place in memory, and
// among a million brands that costs more than all else in a lookup.
type chunk struct {
	rows  []*Row
	index slugIndex // of every keyStep-th row; empty in other lists
	keys  []uint64  // of every row, as in index; they lie side by side, eight in a line of the processor's cache
}

// keyStep is the number of rows for each key of the index: their keys are one line of the processor's cache, so a
// lookup reads few lines of the index and then one or two of the keys. The keys of a million brands are 9 MB.
const keyStep = 8

// addIndex adds the index and the keys of a chunk of a list by slug.
func (c *chunk) addIndex() {
	c.index = newSlugIndex((len(c.rows)+keyStep-1)/keyStep, c.rows[len(c.rows)-1],
		func(i int) *Row { return c.rows[i*keyStep] })
	c.keys = make([]uint64, len(c.rows))
	for i, r := range c.rows {
		c.keys[i] = c.index.key(r.slug)
	}
}

// find returns the row of a slug in a chunk of a list by slug, or nil.
func (c *chunk) find(slug fieldmark.Slug) *Row {
	from, to := c.index.narrow(slug)
	key := c.index.key(slug)
	from, to = from*keyStep, min(to*keyStep, len(c.rows))
	for from < to && c.keys[from] < key {
		from++
	}
	end := from
	for end < to && c.keys[end] == key { // slugs that differ later
		end++
	}
	rows := c.rows[from:end]
	i, ok := slices.BinarySearchFunc(rows, slug, func(r *Row, slug fieldmark.Slug) int {
		return strings.Compare(string(r.slug), string(slug))
	})
	if !ok {
		return nil
	}
	return rows[i]
}

// slugIndex narrows the search for a slug among sorted rows. Its keys lie side by side in memory.
type slugIndex struct {
	skip int      // how many bytes all slugs have in common at their start
	keys []uint64 // the next eight bytes of the slug of each indexed row
}

// newSlugIndex indexes n rows that are in the order of their slugs, of which last is not before the last of them.
func newSlugIndex(n int, last *Row, row func(i int) *Row) slugIndex {
	first, x := row(0).slug, slugIndex{keys: make([]uint64, n)}
	for x.skip < min(len(first), len(last.slug)) && first[x.skip] == last.slug[x.skip] {
		x.skip++
	}
	for i := range x.keys {
		x.keys[i] = x.key(row(i).slug)
	}
	return x
}

// key returns the key of a slug. Slugs have no byte 0, so keys are in the order of slugs.
func (x *slugIndex) key(slug fieldmark.Slug) uint64 {
	var b [8]byte
	if len(slug) > x.skip {
		copy(b[:], slug[x.skip:])
	}
	return binary.BigEndian.Uint64(b[:])
}

// narrow returns the range of indexed rows after one of which, or at which, a slug is if it exists. It does not
// compare what all slugs have in common: a slug that begins in another way does not exist, and is in any range.
func (x *slugIndex) narrow(slug fieldmark.Slug) (from, to int) {
	key := x.key(slug)
	from, _ = slices.BinarySearch(x.keys, key)
	to = from
	for to < len(x.keys) && x.keys[to] == key { // slugs that differ later
		to++
	}
	return max(from-1, 0), to
}
