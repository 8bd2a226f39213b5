package ranking

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// chunk is a part of a sorted list. It never changes.
//
// In a list by slug it has an index, which narrows the search for a slug to a few rows. Each row is read from another
// place in memory, and among a million brands that costs more than all else in a lookup.
type chunk struct {
	rows  []*Row
	index slugIndex // of every keyStep-th row; empty in other lists
}

// keyStep is the number of rows for each key: the keys of a million brands are a megabyte, and a lookup reads about
// three rows of eight.
const keyStep = 8

// addIndex adds the index of a chunk of a list by slug.
func (c *chunk) addIndex() {
	c.index = newSlugIndex((len(c.rows)+keyStep-1)/keyStep, c.rows[len(c.rows)-1],
		func(i int) *Row { return c.rows[i*keyStep] })
}

// find returns the row of a slug in a chunk of a list by slug, or nil.
func (c *chunk) find(slug fieldmark.Slug) *Row {
	from, to, ok := c.index.narrow(slug)
	if !ok {
		return nil
	}
	rows := c.rows[from*keyStep : min(to*keyStep, len(c.rows))]
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
	shared string   // what all slugs begin with
	keys   []uint64 // the next eight bytes of the slug of each indexed row
}

// newSlugIndex indexes n rows that are in the order of their slugs, of which last is not before the last of them.
func newSlugIndex(n int, last *Row, row func(i int) *Row) slugIndex {
	first, shared := row(0).slug, 0
	for shared < min(len(first), len(last.slug)) && first[shared] == last.slug[shared] {
		shared++
	}
	x := slugIndex{shared: string(first[:shared]), keys: make([]uint64, n)}
	for i := range x.keys {
		x.keys[i] = slugKey(string(row(i).slug[shared:]))
	}
	return x
}

// narrow returns the range of indexed rows after one of which, or at which, a slug is if it exists. It does not exist
// if not ok.
func (x *slugIndex) narrow(slug fieldmark.Slug) (from, to int, ok bool) {
	rest, ok := strings.CutPrefix(string(slug), x.shared)
	if !ok {
		return 0, 0, false
	}
	key := slugKey(rest)
	from, _ = slices.BinarySearch(x.keys, key)
	to = from
	for to < len(x.keys) && x.keys[to] == key { // slugs that differ later
		to++
	}
	return max(from-1, 0), to, true
}

// slugKey returns the first eight bytes of text as a number. Slugs have no byte 0, so keys are in the order of texts.
func slugKey(text string) uint64 {
	var b [8]byte
	copy(b[:], text)
	return binary.BigEndian.Uint64(b[:])
}
