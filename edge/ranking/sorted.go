package ranking

import (
	"iter"
	"slices"
	"sort"
)

// chunkSize is how many rows a chunk of a sorted list begins with, and half of what
// it may grow to: a change copies one chunk and the list of chunks, which at a
// million rows are of about the same size.
const chunkSize = 1024

// sortedList is a list of rows that never changes. A list made from it by a change
// shares all chunks but those that changed: a change to a million rows copies some
// thirty kilobytes.
type sortedList struct {
	compare func(a, b *Row) int // no two different rows are equal
	chunks  [][]*Row            // none is empty
	starts  []int               // the place of each chunk's first row
	size    int
}

// newSortedList sorts rows in place and keeps them.
func newSortedList(compare func(a, b *Row) int, rows []*Row) *sortedList {
	slices.SortFunc(rows, compare)
	var chunks [][]*Row
	for c := range slices.Chunk(rows, chunkSize) {
		chunks = append(chunks, c)
	}
	return newChunks(compare, chunks)
}

func newChunks(compare func(a, b *Row) int, chunks [][]*Row) *sortedList {
	l := &sortedList{compare: compare, chunks: chunks, starts: make([]int, len(chunks))}
	for i, c := range chunks {
		l.starts[i] = l.size
		l.size += len(c)
	}
	return l
}

// from yields the rows from a place on.
func (l *sortedList) from(place int) iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		if place >= l.size {
			return
		}
		first := sort.SearchInts(l.starts, place+1) - 1
		for i, c := range l.chunks[first:] {
			if i == 0 {
				c = c[place-l.starts[first]:]
			}
			for _, r := range c {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// chunkOf returns the chunk that holds a row, or would hold it.
func (l *sortedList) chunkOf(compare func(r *Row) int) int {
	i := sort.Search(len(l.chunks), func(i int) bool { return compare(l.chunks[i][0]) > 0 })
	return max(i-1, 0)
}

// find returns the row for which compare is 0, or nil. compare is
// negative for rows before it and positive for rows after it.
func (l *sortedList) find(compare func(r *Row) int) *Row {
	if l.size == 0 {
		return nil
	}
	c := l.chunks[l.chunkOf(compare)]
	i := sort.Search(len(c), func(i int) bool { return compare(c[i]) >= 0 })
	if i < len(c) && compare(c[i]) == 0 {
		return c[i]
	}
	return nil
}

// apply returns the list without the rows of out and with those of in. The former
// must be in it; the latter must not, once those are gone.
func (l *sortedList) apply(out, in []*Row) *sortedList {
	if len(out) == 0 && len(in) == 0 {
		return l
	}
	if len(l.chunks) == 0 {
		return newSortedList(l.compare, slices.Clone(in))
	}
	touched := map[int][]*Row{}
	chunk := func(r *Row) (int, []*Row) {
		i := l.chunkOf(func(other *Row) int { return l.compare(other, r) })
		c, ok := touched[i]
		if !ok {
			c = slices.Clone(l.chunks[i])
		}
		return i, c
	}
	for _, r := range out {
		i, c := chunk(r)
		if at, ok := slices.BinarySearchFunc(c, r, l.compare); ok {
			c = slices.Delete(c, at, at+1)
		}
		touched[i] = c
	}
	for _, r := range in {
		i, c := chunk(r)
		at, _ := slices.BinarySearchFunc(c, r, l.compare)
		touched[i] = slices.Insert(c, at, r)
	}
	chunks := make([][]*Row, 0, len(l.chunks)+len(touched))
	for i, c := range l.chunks {
		if changed, ok := touched[i]; ok {
			c = changed
		}
		for len(c) > 2*chunkSize {
			chunks = append(chunks, c[:chunkSize:chunkSize])
			c = c[chunkSize:]
		}
		if len(c) > 0 {
			chunks = append(chunks, c)
		}
	}
	return newChunks(l.compare, chunks)
}
