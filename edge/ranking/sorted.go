package ranking

import (
	"iter"
	"slices"
	"sort"

	"github.com/fieldmark/fieldmark"
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
	bySlug  bool                // whether compare is compareSlugs
	chunks  []*chunk            // none is empty
	starts  []int               // the place of each chunk's first row
	size    int
	index   slugIndex // of the first row of each chunk of a list by slug
}

// newSortedList sorts rows in place and keeps them.
func newSortedList(compare func(a, b *Row) int, rows []*Row) *sortedList {
	return (&sortedList{compare: compare}).fill(rows)
}

// newSlugList is newSortedList by slug, for find.
func newSlugList(rows []*Row) *sortedList {
	return (&sortedList{compare: compareSlugs, bySlug: true}).fill(rows)
}

// fill returns a list in the order of l with rows, which it sorts in place and keeps.
func (l *sortedList) fill(rows []*Row) *sortedList {
	slices.SortFunc(rows, l.compare)
	return l.with(l.appendChunks(nil, rows, chunkSize))
}

// with returns a list in the order of l with chunks.
func (l *sortedList) with(chunks []*chunk) *sortedList {
	next := &sortedList{compare: l.compare, bySlug: l.bySlug, chunks: chunks, starts: make([]int, len(chunks))}
	for i, c := range chunks {
		next.starts[i] = next.size
		next.size += len(c.rows)
	}
	if l.bySlug && len(chunks) > 0 {
		rows := chunks[len(chunks)-1].rows
		next.index = newSlugIndex(len(chunks), rows[len(rows)-1], func(i int) *Row { return chunks[i].rows[0] })
	}
	return next
}

// appendChunks appends sorted rows in chunks of size, of which the last may be shorter.
func (l *sortedList) appendChunks(chunks []*chunk, rows []*Row, size int) []*chunk {
	for part := range slices.Chunk(rows, size) {
		c := &chunk{rows: part}
		if l.bySlug {
			c.addIndex()
		}
		chunks = append(chunks, c)
	}
	return chunks
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
			for _, r := range c.rows[skip:] {
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
	i := sort.Search(len(l.chunks), func(i int) bool { return compare(l.chunks[i].rows[0]) > 0 })
	return max(i-1, 0)
}

// find returns the row of a slug in a list by slug, or nil.
func (l *sortedList) find(slug fieldmark.Slug) *Row {
	if l.size == 0 {
		return nil
	}
	from, to := l.index.narrow(slug)
	if to-from > 1 { // first slugs that differ after what the index has of them
		near := l.chunks[from:to]
		after := sort.Search(len(near), func(i int) bool { return near[i].rows[0].slug > slug })
		from += max(after-1, 0)
	}
	return l.chunks[from].find(slug)
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
			c = slices.Clone(l.chunks[i].rows)
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
	chunks := make([]*chunk, 0, len(l.chunks)+len(touched))
	for i, c := range l.chunks {
		switch changed, ok := touched[i]; {
		case !ok:
			chunks = append(chunks, c)
		case len(changed) > 2*chunkSize:
			chunks = l.appendChunks(chunks, changed, chunkSize)
		default:
			chunks = l.appendChunks(chunks, changed, 2*chunkSize)
		}
	}
	return l.with(chunks)
}
