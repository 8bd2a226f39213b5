package ranking

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// chunk is a part of a sorted list. It never changes.
//
// In a list by slug it has keys, which narrow the search for a slug to a few rows. Each row is read from another
// place in memory, and among a million brands that costs more than all else in a lookup; the keys lie side by side.
type chunk struct {
	rows   []*Row
	shared string   // what all slugs of the chunk begin with
	keys   []uint64 // the next eight bytes of the slug of every keyStep-th row; none in other lists
}

// keyStep is the number of rows for each key: the keys of a million brands are a megabyte, and a lookup reads about
// three rows of eight.
const keyStep = 8

// addKeys adds the keys of a chunk of a list by slug.
func (c *chunk) addKeys() {
	first, last := c.rows[0].slug, c.rows[len(c.rows)-1].slug
	shared := 0
	for shared < min(len(first), len(last)) && first[shared] == last[shared] {
		shared++
	}
	c.shared = string(first[:shared])
	c.keys = make([]uint64, 0, (len(c.rows)+keyStep-1)/keyStep)
	for rows := range slices.Chunk(c.rows, keyStep) {
		c.keys = append(c.keys, slugKey(string(rows[0].slug[shared:])))
	}
}

// slugKey returns the first eight bytes of text as a number. Slugs have no byte 0, so keys are in the order of texts.
func slugKey(text string) uint64 {
	var b [8]byte
	copy(b[:], text)
	return binary.BigEndian.Uint64(b[:])
}

// find returns the row of a slug in a chunk of a list by slug, or nil.
func (c *chunk) find(slug fieldmark.Slug) *Row {
	rest, ok := strings.CutPrefix(string(slug), c.shared)
	if !ok {
		return nil
	}
	key := slugKey(rest)
	from, _ := slices.BinarySearch(c.keys, key)
	to := from
	for to < len(c.keys) && c.keys[to] == key { // slugs that differ later
		to++
	}
	rows := c.rows[max(from-1, 0)*keyStep : min(to*keyStep, len(c.rows))]
	i, ok := slices.BinarySearchFunc(rows, slug, func(r *Row, slug fieldmark.Slug) int {
		return strings.Compare(string(r.slug), string(slug))
	})
	if !ok {
		return nil
	}
	return rows[i]
}
