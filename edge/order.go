package edge

import (
	"iter"
	"slices"
	"sort"
)

// chunkSize is how many lines a chunk of an order begins with, and half of what
// it may grow to: a change copies one chunk and the list of chunks, which at a
// million lines are of about the same size.
const chunkSize = 1024

// order is a sorted list of lines that never changes. A list made from it by a
// change shares all chunks but those that changed: a change to a million lines
// copies some thirty kilobytes, and old rankings that cursors point into cost
// next to nothing.
type order struct {
	compare func(a, b *line) int // no two different lines are equal
	chunks  [][]*line            // none is empty
	starts  []int                // the place of each chunk's first line
	size    int
}

// newOrder takes lines over and sorts them.
func newOrder(compare func(a, b *line) int, lines []*line) *order {
	slices.SortFunc(lines, compare)
	var chunks [][]*line
	for c := range slices.Chunk(lines, chunkSize) {
		chunks = append(chunks, c)
	}
	return newChunks(compare, chunks)
}

func newChunks(compare func(a, b *line) int, chunks [][]*line) *order {
	o := &order{compare: compare, chunks: chunks, starts: make([]int, len(chunks))}
	for i, c := range chunks {
		o.starts[i] = o.size
		o.size += len(c)
	}
	return o
}

// from yields the lines from a place on.
func (o *order) from(place int) iter.Seq[*line] {
	return func(yield func(*line) bool) {
		if place >= o.size {
			return
		}
		first := sort.SearchInts(o.starts, place+1) - 1
		for i, c := range o.chunks[first:] {
			if i == 0 {
				c = c[place-o.starts[first]:]
			}
			for _, l := range c {
				if !yield(l) {
					return
				}
			}
		}
	}
}

// chunkOf returns the chunk a line is in, or would be.
func (o *order) chunkOf(compare func(l *line) int) int {
	i := sort.Search(len(o.chunks), func(i int) bool { return compare(o.chunks[i][0]) > 0 })
	return max(i-1, 0)
}

// find returns the line that compare says is the one, where it is negative for
// lines before it and positive for those after; nil if there is none.
func (o *order) find(compare func(l *line) int) *line {
	if o.size == 0 {
		return nil
	}
	c := o.chunks[o.chunkOf(compare)]
	i := sort.Search(len(c), func(i int) bool { return compare(c[i]) >= 0 })
	if i < len(c) && compare(c[i]) == 0 {
		return c[i]
	}
	return nil
}

// with returns the order with lines taken out and put in. What is taken out
// must be in it, and what is put in must not, once that is gone.
func (o *order) with(out, in []*line) *order {
	if len(out) == 0 && len(in) == 0 {
		return o
	}
	if len(o.chunks) == 0 {
		return newOrder(o.compare, slices.Clone(in))
	}
	touched := map[int][]*line{}
	chunk := func(l *line) (int, []*line) {
		i := o.chunkOf(func(other *line) int { return o.compare(other, l) })
		c, ok := touched[i]
		if !ok {
			c = slices.Clone(o.chunks[i])
		}
		return i, c
	}
	for _, l := range out {
		i, c := chunk(l)
		if at, ok := slices.BinarySearchFunc(c, l, o.compare); ok {
			c = slices.Delete(c, at, at+1)
		}
		touched[i] = c
	}
	for _, l := range in {
		i, c := chunk(l)
		at, _ := slices.BinarySearchFunc(c, l, o.compare)
		touched[i] = slices.Insert(c, at, l)
	}
	chunks := make([][]*line, 0, len(o.chunks)+len(touched))
	for i, c := range o.chunks {
		if mine, ok := touched[i]; ok {
			c = mine
		}
		for len(c) > 2*chunkSize {
			chunks = append(chunks, c[:chunkSize:chunkSize])
			c = c[chunkSize:]
		}
		if len(c) > 0 {
			chunks = append(chunks, c)
		}
	}
	return newChunks(o.compare, chunks)
}
