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
	return (&sortedList{compare: compare}).fill(rows)
}

// fill returns a list in the order of l with rows, which it sorts in place and keeps.
func (l *sortedList) fill(rows []*Row) *sortedList {
	slices.SortFunc(rows, l.compare)
	return l.with(slices.Collect(slices.Chunk(rows, chunkSize)))
}

// with returns a list in the order of l with chunks.
func (l *sortedList) with(chunks [][]*Row) *sortedList {
	next := &sortedList{compare: l.compare, chunks: chunks, starts: make([]int, len(chunks))}
	for i, c := range chunks {
		next.starts[i] = next.size
		next.size += len(c)
	}
	return next
}

// from yields the rows from a place on.
func (l *sortedList) from(place int) iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		if place >= l.size {
			return
		}
		first := sort.SearchInts(l.starts, place+1) - 1
		skip := place - l.starts[first]
		for _, c := range l.chunks[first:] {
			for _, r := range c[skip:] {
				if !yield(r) {
					return
				}
			}
			skip = 0
		}
	}
}

// chunkOf returns the chunk that holds a row, or would hold it.
func (l *sortedList) chunkOf(compare func(r *Row) int) int {
	i := sort.Search(len(l.chunks), func(i int) bool { return compare(l.chunks[i][0]) > 0 })
	return max(i-1, 0)
}

// apply returns the list without the rows of out and with those of in. The former
// must be in it; the latter must not, once those are gone.
func (l *sortedList) apply(out, in []*Row) *sortedList {
	if len(out) == 0 && len(in) == 0 {
		return l
	}
	if len(l.chunks) == 0 {
		return l.fill(slices.Clone(in))
	}
	touched := map[int][]*Row{}
	find := func(r *Row) (int, []*Row) {
		i := l.chunkOf(func(other *Row) int { return l.compare(other, r) })
		c, ok := touched[i]
		if !ok {
			c = slices.Clone(l.chunks[i])
		}
		return i, c
	}
	for _, r := range out {
		i, c := find(r)
		if at, ok := slices.BinarySearchFunc(c, r, l.compare); ok {
			c = slices.Delete(c, at, at+1)
		}
		touched[i] = c
	}
	for _, r := range in {
		i, c := find(r)
		at, _ := slices.BinarySearchFunc(c, r, l.compare)
		touched[i] = slices.Insert(c, at, r)
	}
	chunks := make([][]*Row, 0, len(l.chunks)+len(touched))
	for i, c := range l.chunks {
		switch changed, ok := touched[i]; {
		case !ok:
			chunks = append(chunks, c)
		case len(changed) > 2*chunkSize:
			chunks = slices.AppendSeq(chunks, slices.Chunk(changed, chunkSize))
		case len(changed) > 0:
			chunks = append(chunks, changed)
		}
	}
	return l.with(chunks)
}
